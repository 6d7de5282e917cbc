"""The main use from Python: a small network learns."""

import numpy as np

import croton
import croton.tensor as T


def network(generator, sizes):
    x, target = T.fmatrix("x"), T.ivector("target")
    h, parameters = x, []
    for i, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:])):
        w = croton.shared(generator.normal(0, 1 / np.sqrt(fan_in), (fan_in, fan_out)).astype(np.float32), name=f"w{i}")
        b = croton.shared(np.zeros(fan_out, np.float32), name=f"b{i}")
        parameters += [w, b]
        h = h @ w + b
        if i < len(sizes) - 2:
            h = T.tanh(h)
    p = T.nnet.softmax(h)
    return x, target, p, parameters


def test_training_lowers_the_loss():
    generator = np.random.default_rng(1)
    data = generator.normal(size=(200, 8)).astype(np.float32)
    labels = (data @ generator.normal(size=(8, 3))).argmax(axis=1).astype(np.int32)
    x, target, p, parameters = network(generator, [8, 16, 3])
    loss = T.nnet.categorical_crossentropy(p, target).mean()
    updates = [(w, w - 0.5 * g) for w, g in zip(parameters, croton.grad(loss, parameters))]
    train = croton.function([x, target], loss, updates=updates, name="train")
    predict = croton.function([x], p.argmax(axis=1))
    losses = [float(train(data, labels)) for _ in range(100)]
    assert losses[0] > 0.8 and losses[-1] < 0.3 * losses[0]
    assert (predict(data) == labels).mean() > 0.9


def test_one_step_is_numpys():
    generator = np.random.default_rng(2)
    data = generator.normal(size=(10, 4)).astype(np.float32)
    labels = generator.integers(0, 3, 10).astype(np.int32)
    x, target, p, (w, b) = network(generator, [4, 3])
    loss = T.nnet.categorical_crossentropy(p, target).mean()
    gw, gb = croton.grad(loss, [w, b])
    before = w.get_value().astype(np.float64)
    croton.function([x, target], updates={w: w - 0.1 * gw, b: b - 0.1 * gb})(data, labels)
    e = np.exp(data @ before)
    delta = e / e.sum(axis=1, keepdims=True)
    delta[np.arange(10), labels] -= 1
    np.testing.assert_allclose(w.get_value(), before - 0.1 * data.T @ delta / 10, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b.get_value(), -0.1 * delta.mean(axis=0), rtol=1e-5, atol=1e-6)


def test_the_shipped_digits():
    images, labels = croton.io.digits()
    assert images.shape == (1797, 64) and images.dtype == np.float32 and labels.dtype == np.int32
    assert images.min() == 0 and images.max() == 1 and set(labels.tolist()) == set(range(10))
    assert croton.io.digits(16)[0].shape == (1797, 256)
