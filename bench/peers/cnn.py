"""The step of cnn_step in NumPy: a convolution with bias and relu, the maximum over all places, a dense layer, Adam.

weights: kernel (3, 3, 1, filters), bias (filters), dense (filters, classes), dense bias (classes); x is (batch, rows,
columns, 1).
"""

RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-7


def rate_at(step, sqrt):
    """Adam's rate of the step, counted from 1, with the corrections of both means."""
    return RATE * sqrt(1 - BETA_2**step) / (1 - BETA_1**step)


def windows(x):
    """(batch, positions, 9): the elements of each window."""
    import numpy as np
    view = np.lib.stride_tricks.sliding_window_view(x[..., 0], (3, 3), axis=(1, 2))
    return view.reshape(len(x), -1, 9)


def gradients(weights, x, targets, cross_entropy):
    import numpy as np
    kernel, bias, dense, dense_bias = weights
    under = windows(x)
    active = np.maximum(under @ kernel.reshape(9, -1) + bias, 0)
    best = active.argmax(axis=1)
    h = np.take_along_axis(active, best[:, None], axis=1)[:, 0]
    loss, d = cross_entropy(h @ dense + dense_bias, targets)
    back = (d @ dense.T) * (h > 0)
    chosen = np.take_along_axis(under[:, :, None], best[:, None, :, None], axis=1)[:, 0]  # (batch, filters, 9)
    of_kernel = (back[..., None] * chosen).sum(axis=0).T.reshape(kernel.shape)
    return loss, (of_kernel, back.sum(axis=0), h.T @ d, d.sum(axis=0))


def adam(weights):
    """Returns a function of the gradients that changes the weights."""
    import numpy as np
    means, squares, count = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights], [0]

    def update(slopes):
        count[0] += 1
        number = weights[0].dtype.type
        rate = number(rate_at(count[0], np.sqrt))
        for w, m, v, g in zip(weights, means, squares, slopes):
            m += number(1 - BETA_1) * (g - m)
            v += number(1 - BETA_2) * (g * g - v)
            w -= rate * m / (np.sqrt(v) + number(EPSILON))
    return update


def stepper(weights, cross_entropy):
    """Returns a function of (x, targets) that returns the loss and changes the weights."""
    update = adam(weights)

    def step(x, targets):
        loss, slopes = gradients(weights, x, targets, cross_entropy)
        update(slopes)
        return loss
    return step
