"""The trainings fit_mlp, fit_cnn and fit_tiny: their sizes and data for all peers, and the steps in NumPy.

A training is a function `fit(rows)`: it trains on these samples, batch by batch, and returns their mean loss and, for
classes, the accuracy. Only kernels begin with given values; biases and beta begin with 0, gamma with 1. As a program it
prints the expected results of the first steps, which bench/reference.cpp contains.
"""
import cnn

SAMPLES = {"fit_mlp": 2048, "fit_cnn": 512, "fit_tiny": 1024}  # per epoch
BATCH = {"fit_mlp": 32, "fit_cnn": 32, "fit_tiny": 1}
KEPT, EPSILON = 0.9, 1e-3  # of batch normalisation: the momentum of the running averages, and epsilon of the variance


def inputs_of(name, uniform, classes):
    """(kernels, [samples, targets])"""
    count = SAMPLES[name]
    if name == "fit_mlp":
        kernels = [uniform(1103, -0.08, 0.08, 784, 128), uniform(1104, -0.2, 0.2, 128, 10)]
        return kernels, [uniform(1101, -1, 1, count, 784), classes(1102, count)]
    if name == "fit_cnn":
        kernels = [uniform(1203, -0.2, 0.2, 3, 3, 1, 16), uniform(1204, -0.12, 0.12, 3, 3, 16, 32),
                   uniform(1205, -0.07, 0.07, 1152, 10)]
        return kernels, [uniform(1201, 0, 1, count, 28, 28, 1), classes(1202, count)]
    return [uniform(1303, -1, 1, 4, 1)], [uniform(1301, -1, 1, count, 4), uniform(1302, -1, 1, count, 1)]


def parameters(name, kernels, filled):
    """All trained parameters, from the kernels and from `filled(size, value)`, in the order of the layers."""
    if name == "fit_cnn":
        normal = lambda kernel: [kernel, filled(kernel.shape[-1], 1), filled(kernel.shape[-1], 0)]
        return [*normal(kernels[0]), *normal(kernels[1]), kernels[2], filled(10, 0)]
    return [w for kernel in kernels for w in (kernel, filled(kernel.shape[-1], 0))]


def averages(name, filled):
    """The running averages of batch normalisation: a mean and a variance for each layer that has them."""
    return [filled(size, value) for size in (16, 32) for value in (0, 1)] if name == "fit_cnn" else []


def means(name, sums, rows):
    """The result of fit, from the sums over all samples of the loss and of right answers."""
    loss, hits = (float(total) / len(rows) for total in sums)
    return [loss] if name == "fit_tiny" else [loss, hits]


# ---- steps in NumPy: (loss, right answers, gradients)


def tiny(weights, _, x, targets, __):
    w, b = weights
    off = x @ w + b - targets
    d = off * off.dtype.type(2 / off.size)
    return (off * off).mean(), 0, (x.T @ d, d.sum(axis=0))


def right(logits, targets):
    return int((logits.argmax(axis=1) == targets).sum())


def mlp(weights, _, x, targets, cross_entropy):
    import numpy as np
    w1, b1, w2, b2 = weights
    h = np.maximum(x @ w1 + b1, 0)
    logits = h @ w2 + b2
    loss, d = cross_entropy(logits, targets)
    back = (d @ w2.T) * (h > 0)
    return loss, right(logits, targets), (x.T @ back, back.sum(axis=0), h.T @ d, d.sum(axis=0))


def windows(x):
    """A row for each window of 3 x 3 with stride 2: the elements of the window."""
    import numpy as np
    view = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, ::2]
    return np.moveaxis(view, 3, 5).reshape(-1, 9 * x.shape[3])


def normalise(z, gamma, beta, moving):
    """(result, its operands); updates the running averages."""
    import numpy as np
    number = z.dtype.type
    mean, variance = z.mean(axis=0), z.var(axis=0)
    for average, now in zip(moving, (mean, variance)):
        average += number(1 - KEPT) * (now - average)
    scale = 1 / np.sqrt(variance + number(EPSILON))
    normal = (z - mean) * scale
    return normal * gamma + beta, (normal, scale * gamma)


def normalise_back(d, normal, scale):
    """Gradients with respect to (z, gamma, beta)."""
    by_gamma, by_beta = (d * normal).sum(axis=0), d.sum(axis=0)
    return scale * (d - (by_beta + normal * by_gamma) / d.dtype.type(len(d))), by_gamma, by_beta


def convnet(weights, moving, x, targets, cross_entropy):
    import numpy as np
    kernel1, gamma1, beta1, kernel2, gamma2, beta2, dense, bias = weights
    flat1, flat2 = kernel1.reshape(-1, 16), kernel2.reshape(-1, 32)
    under1 = windows(x)
    z1, made1 = normalise(under1 @ flat1, gamma1, beta1, moving[:2])
    h1 = np.maximum(z1, 0).reshape(len(x), 13, 13, 16)
    under2 = windows(h1)
    z2, made2 = normalise(under2 @ flat2, gamma2, beta2, moving[2:])
    h2 = np.maximum(z2, 0).reshape(len(x), -1)
    logits = h2 @ dense + bias
    loss, d = cross_entropy(logits, targets)
    slope2, *by_normal2 = normalise_back((d @ dense.T).reshape(z2.shape) * (z2 > 0), *made2)
    parts = (slope2 @ flat2.T).reshape(len(x), 6, 6, 9, 16)
    back = np.zeros_like(h1)
    for tap in range(9):
        back[:, tap // 3:tap // 3 + 11:2, tap % 3:tap % 3 + 11:2] += parts[:, :, :, tap]
    slope1, *by_normal1 = normalise_back(back.reshape(z1.shape) * (z1 > 0), *made1)
    slopes = ((under1.T @ slope1).reshape(kernel1.shape), *by_normal1, (under2.T @ slope2).reshape(kernel2.shape),
              *by_normal2, h2.T @ d, d.sum(axis=0))
    return loss, right(logits, targets), slopes


def trainer(name, kernels, inputs, cross_entropy):
    """fit(rows) in NumPy."""
    import numpy as np
    x, targets = inputs
    filled = lambda size, value: np.full(size, value, x.dtype)
    weights, moving = parameters(name, kernels, filled), averages(name, filled)
    step = {"fit_mlp": mlp, "fit_cnn": convnet, "fit_tiny": tiny}[name]
    update = cnn.adam(weights)

    def fit(rows):
        total = hits = 0
        for chosen in rows.reshape(-1, BATCH[name]):
            loss, correct, slopes = step(weights, moving, x[chosen], targets[chosen], cross_entropy)
            update(slopes)
            total, hits = total + loss * len(chosen), hits + correct
        return means(name, (total, hits), rows)
    return fit


def first_steps(name, fit, count):
    """The losses and accuracies of the first steps, in the order of the samples."""
    import numpy as np
    steps = [fit(rows) for rows in np.arange(count * BATCH[name]).reshape(count, -1)]
    return [list(values) for values in zip(*steps)]


if __name__ == "__main__":
    import common
    for workload in SAMPLES:
        print(workload, common.reference(workload))
