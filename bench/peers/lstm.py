"""The LSTM of lstm_forward and lstm_step in NumPy: the input's product for all steps at once, the rest step by step.

weights: w (features, 4 size), u (size, 4 size), b (4 size), with the gates i, f, c and o in adjacent columns; x is
(batch, time, features).
"""


def sigmoid(z):
    import numpy as np
    return 1 / (1 + np.exp(-z))


def run(weights, x):
    """(h, c, gates) of each step, with the states after it; the zeros before the first step come first."""
    import numpy as np
    w, u, b = weights
    size = len(u)
    h = c = np.zeros((len(x), size), x.dtype)
    passed = [(h, c, None)]
    for z in (x @ w + b).swapaxes(0, 1):
        z = z + h @ u
        i, f, o = (sigmoid(z[:, k * size:(k + 1) * size]) for k in (0, 1, 3))
        g = np.tanh(z[:, 2 * size:3 * size])
        c = f * c + i * g
        h = o * np.tanh(c)
        passed.append((h, c, (i, f, g, o)))
    return passed


def forward(weights, x):
    return run(weights, x)[-1][0]


def gradients(weights, x, target):
    """(loss, gradients with respect to w, u and b) for loss = mean((h - target)^2), where h is the last state."""
    import numpy as np
    w, u, b = weights
    passed = run(weights, x)
    off = passed[-1][0] - target
    dh, dc, du = off * off.dtype.type(2 / off.size), np.zeros_like(off), np.zeros_like(u)
    slopes = np.empty((x.shape[1], len(x), len(b)), x.dtype)
    for t in reversed(range(x.shape[1])):
        (h, c_before, _), (_, c, (i, f, g, o)) = passed[t:t + 2]
        squashed = np.tanh(c)
        dc = dc + dh * o * (1 - squashed * squashed)
        np.concatenate([dc * g * i * (1 - i), dc * c_before * f * (1 - f), dc * i * (1 - g * g),
                        dh * squashed * o * (1 - o)], axis=1, out=slopes[t])
        du += h.T @ slopes[t]
        dh = slopes[t] @ u.T
        dc = dc * f
    rows = slopes.swapaxes(0, 1).reshape(-1, len(b))
    return (off * off).mean(), (x.reshape(len(rows), -1).T @ rows, du, rows.sum(axis=0))
