"""croton.nn: layers, models and training in Keras's terms."""

import _thread
import gc
import io
import pathlib
import re
import threading
import time
import weakref

import numpy as np
import pytest

import croton
import croton.tensor as T
from croton import nn


@pytest.fixture(autouse=True)
def seed():
    nn.set_seed(1)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def small_model(**compiled):
    model = nn.Sequential([nn.Dense(1, input_shape=(2,))])
    model.compile(**{"loss": "mse", "optimizer": nn.SGD(learning_rate=0.1), **compiled})
    return model


X = numbers(40, 2)
Y = (X @ [[1.0], [-2.0]]).astype(np.float32)


# ---- layers ---------------------------------------------------------------------------------------------------------

def test_c2_1_a_dense_network():
    model = nn.Sequential([nn.Dense(128, activation="relu", input_shape=(784,)), nn.Dense(10, activation="softmax")])
    assert [w.shape for w in model.get_weights()] == [(784, 128), (128,), (128, 10), (10,)]
    assert model.count_params() == 101770
    kernel, bias = model.get_weights()[:2]
    limit = np.sqrt(6 / (784 + 128))
    assert not bias.any() and 0.95 * limit < np.abs(kernel).max() <= limit
    np.testing.assert_allclose(model.predict(numbers(5, 784)).sum(axis=1), 1, rtol=1e-5)


def test_c5_6_a_convolutional_network():
    model = nn.Sequential([nn.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)), nn.GlobalMaxPooling2D(),
                           nn.Dense(10)])
    assert model.count_params() == 650
    image = nn.Input((28, 28, 1))
    assert model.layers[0](image).shape == (26, 26, 32)
    assert model.output_shapes == [(10,)]
    # A cross-correlation: the kernel is not flipped.
    kernel = np.zeros((3, 3, 1, 1), np.float32)
    kernel[0, 2] = 1
    shift = nn.Sequential([nn.Conv2D(1, 3, kernel_initializer=kernel, input_shape=(4, 4, 1))])
    x = numbers(1, 4, 4, 1)
    np.testing.assert_array_equal(shift.predict(x)[0, :, :, 0], x[0, 0:2, 2:4, 0])


def test_c5_9_one_lstm_of_two_inputs():
    a, b = nn.Input((140, 256), name="a"), nn.Input((140, 256), name="b")
    reader = nn.LSTM(64)
    both = nn.concatenate([reader(a), reader(b)])
    model = nn.Model([a, b], nn.Dense(1, "sigmoid")(both))
    assert reader.count_params() == 82176 and reader(a).shape == (64,) and both.shape == (128,)
    assert model.count_params() == 82176 + 129
    bias = reader.get_weights()[[w.name for w in reader.weights].index("lstm/bias")]
    assert bias[64:128].tolist() == [1] * 64 and not bias[:64].any() and not bias[128:].any()


SHAPES = [
    (lambda: nn.Dense(3), (5, 4), (5, 3), 15),
    (lambda: nn.Embedding(10, 4), (7,), (7, 4), 40),
    (lambda: nn.BatchNormalization(), (3, 4), (3, 4), 16),
    (lambda: nn.LayerNormalization(axis=-1), (3, 4), (3, 4), 8),
    (lambda: nn.GroupNormalization(groups=2), (3, 4), (3, 4), 8),
    (lambda: nn.InstanceNormalization(), (3, 3, 4), (3, 3, 4), 8),
    (lambda: nn.RMSNormalization(), (4,), (4,), 4),
    (lambda: nn.UnitNormalization(), (4,), (4,), 0),
    (lambda: nn.Dropout(0.5), (4,), (4,), 0),
    (lambda: nn.SpatialDropout1D(0.5), (3, 4), (3, 4), 0),
    (lambda: nn.SpatialDropout2D(0.5, data_format="channels_first"), (4, 3, 3), (4, 3, 3), 0),
    (lambda: nn.SpatialDropout3D(0.5), (2, 3, 3, 4), (2, 3, 3, 4), 0),
    (lambda: nn.GaussianDropout(0.5), (4,), (4,), 0),
    (lambda: nn.GaussianNoise(stddev=0.5), (4,), (4,), 0),
    (lambda: nn.Masking(mask_value=1.0), (3, 4), (3, 4), 0),
    (lambda: nn.Flatten(), (3, 4), (12,), 0),
    (lambda: nn.Reshape((2, -1)), (3, 4), (2, 6), 0),
    (lambda: nn.Permute((2, 1)), (3, 4), (4, 3), 0),
    (lambda: nn.RepeatVector(3), (4,), (3, 4), 0),
    (lambda: nn.TimeDistributed(nn.Dense(2)), (3, 4), (3, 2), 10),
    (lambda: nn.Activation("tanh"), (4,), (4,), 0),
    (lambda: nn.Softmax(), (4,), (4,), 0),
    (lambda: nn.ReLU(max_value=6.0), (4,), (4,), 0),
    (lambda: nn.LeakyReLU(negative_slope=0.1), (4,), (4,), 0),
    (lambda: nn.ELU(alpha=0.5), (4,), (4,), 0),
    (lambda: nn.PReLU(shared_axes=[1]), (3, 4), (3, 4), 4),
    (lambda: nn.Lambda(lambda x: x.sum(axis=1), output_shape=()), (4,), (), 0),
    (lambda: nn.SimpleRNN(3), (5, 4), (3,), 24),
    (lambda: nn.GRU(3, return_sequences=True), (5, 4), (5, 3), 81),
    (lambda: nn.GRU(3, reset_after=False), (5, 4), (3,), 72),
    (lambda: nn.LSTM(3, unit_forget_bias=False), (5, 4), (3,), 96),
    (lambda: nn.Bidirectional(nn.LSTM(3)), (5, 4), (6,), 192),
    (lambda: nn.Bidirectional(nn.GRU(3), merge_mode="sum"), (5, 4), (3,), 162),
    (lambda: nn.Conv1D(2, 3, padding="causal", dilation_rate=2), (9, 4), (9, 2), 26),
    (lambda: nn.Conv2D(2, (3, 1), strides=2, padding="same", use_bias=False), (9, 8, 4), (5, 4, 2), 24),
    (lambda: nn.Conv2D(4, 3, groups=2, data_format="channels_first"), (4, 5, 5), (4, 3, 3), 76),
    (lambda: nn.Conv3D(2, 2), (3, 3, 3, 1), (2, 2, 2, 2), 18),
    (lambda: nn.Conv1DTranspose(2, 3, strides=2), (4, 3), (9, 2), 20),
    (lambda: nn.Conv2DTranspose(2, 2, strides=2), (3, 3, 1), (6, 6, 2), 10),
    (lambda: nn.Conv3DTranspose(1, 2), (2, 2, 2, 1), (3, 3, 3, 1), 9),
    (lambda: nn.DepthwiseConv1D(3, depth_multiplier=2), (5, 4), (3, 8), 32),
    (lambda: nn.DepthwiseConv2D(3), (5, 5, 4), (3, 3, 4), 40),
    (lambda: nn.SeparableConv1D(2, 3), (5, 4), (3, 2), 22),
    (lambda: nn.SeparableConv2D(2, 3, depth_multiplier=2), (5, 5, 4), (3, 3, 2), 90),
    (lambda: nn.MaxPooling1D(), (6, 2), (3, 2), 0),
    (lambda: nn.MaxPooling2D(pool_size=3, strides=1), (6, 6, 2), (4, 4, 2), 0),
    (lambda: nn.MaxPooling3D(), (4, 4, 4, 2), (2, 2, 2, 2), 0),
    (lambda: nn.AveragePooling1D(padding="same"), (5, 2), (3, 2), 0),
    (lambda: nn.AveragePooling2D((2, 3)), (6, 6, 2), (3, 2, 2), 0),
    (lambda: nn.AveragePooling3D(), (4, 4, 4, 2), (2, 2, 2, 2), 0),
    (lambda: nn.GlobalMaxPooling(), (4, 4, 2), (2,), 0),
    (lambda: nn.GlobalMaxPooling1D(), (4, 2), (2,), 0),
    (lambda: nn.GlobalMaxPooling3D(), (4, 4, 4, 2), (2,), 0),
    (lambda: nn.GlobalAveragePooling(), (4, 2), (2,), 0),
    (lambda: nn.GlobalAveragePooling1D(), (4, 2), (2,), 0),
    (lambda: nn.GlobalAveragePooling2D(data_format="channels_first"), (2, 4, 4), (2,), 0),
    (lambda: nn.GlobalAveragePooling3D(), (4, 4, 4, 2), (2,), 0),
    (lambda: nn.ZeroPadding1D((1, 2)), (4, 2), (7, 2), 0),
    (lambda: nn.ZeroPadding2D(((0, 1), (2, 3))), (4, 4, 2), (5, 9, 2), 0),
    (lambda: nn.ZeroPadding3D(1), (2, 2, 2, 2), (4, 4, 4, 2), 0),
    (lambda: nn.Cropping1D(1), (4, 2), (2, 2), 0),
    (lambda: nn.Cropping2D((1, 0)), (4, 4, 2), (2, 4, 2), 0),
    (lambda: nn.Cropping3D(1), (4, 4, 4, 2), (2, 2, 2, 2), 0),
    (lambda: nn.UpSampling1D(3), (4, 2), (12, 2), 0),
    (lambda: nn.UpSampling2D((1, 2), interpolation="bilinear"), (4, 4, 2), (4, 8, 2), 0),
    (lambda: nn.UpSampling3D(), (2, 2, 2, 1), (4, 4, 4, 1), 0),
]


@pytest.mark.parametrize("make, taken, given, parameters", SHAPES)
def test_layers_give_shapes_and_have_parameters(make, taken, given, parameters):
    layer = make()
    assert layer(nn.Input(taken, dtype="int32" if isinstance(layer, nn.Embedding) else None)).shape == given
    assert layer.built and layer.count_params() == parameters
    assert layer.compute_output_shape(taken) == given
    assert type(layer).__doc__


def test_layers_of_several_inputs():
    a, b = nn.Input((3, 4)), nn.Input((3, 4))
    x, y = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)
    for make, expected in [(nn.Add, x + y), (nn.Subtract, x - y), (nn.Multiply, x * y), (nn.Average, (x + y) / 2),
                           (nn.Maximum, np.maximum(x, y)), (nn.Minimum, np.minimum(x, y)),
                           (nn.Concatenate, np.concatenate([x, y], -1))]:
        result = nn.Model([a, b], make(name="merged")([a, b])).predict([x, y])
        np.testing.assert_allclose(result, expected, rtol=1e-6, err_msg=make.__name__)
    np.testing.assert_allclose(nn.Model([a, b], nn.Dot(axes=2)([a, b])).predict([x, y]),
                               np.einsum("bik,bjk->bij", x, y), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(nn.Model([a, b], a * b - a + b).predict([x, y]), x * y - x + y, rtol=1e-5, atol=1e-6)


def test_layers_compute_variables():
    layer = nn.Dense(3, activation=T.tanh, kernel_initializer="ones", bias_initializer=nn.Constant(0.5))
    x = T.matrix("x")
    layer.build((2,))
    values = numbers(4, 2)
    np.testing.assert_allclose(croton.function([x], layer(x))(values),
                               np.tanh(values @ np.ones((2, 3), np.float32) + 0.5), rtol=1e-5)
    dropout = nn.Dropout(0.5)
    context = nn.CallContext(training=True)
    dropped = croton.function([x], dropout(x, context))(np.ones((100, 10), np.float32))
    assert set(dropped.ravel().tolist()) == {0, 2}
    assert croton.function([x], dropout(x))(values).tolist() == values.tolist()
    norm = nn.BatchNormalization()
    norm.build((2,))
    y = norm(x, context)
    assert len(context.updates) == 2
    croton.function([x], y, updates=context.updates)(values)
    moving_mean = norm.get_weights()[[w.name.split("/")[1] for w in norm.weights].index("moving_mean")]
    np.testing.assert_allclose(moving_mean, 0.01 * values.mean(axis=0), rtol=1e-4)


def test_weights_of_layers():
    layer = nn.Dense(2, input_shape=(3,), name="first")
    assert layer.name == "first" and layer.type == "Dense" and not layer.built
    layer.build((3,))
    kernel = numbers(3, 2)
    layer.set_weights([kernel, np.zeros(2, np.float32)])
    np.testing.assert_array_equal(layer.get_weights()[0], kernel)
    with pytest.raises(croton.ShapeError):
        layer.set_weights([kernel.T, np.zeros(2, np.float32)])
    assert len(layer.trainable_weights) == 2
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 2
    model = nn.Sequential([layer])
    assert model.layers == [layer] and model.get_layer("first") == layer
    assert isinstance(model.layers[0], nn.Dense) and not isinstance(model.layers[0], nn.Flatten)
    assert len({layer, model.layers[0]}) == 1
    with pytest.raises(croton.ValueError, match="first"):
        model.get_layer("second")


def test_refused_layers():
    with pytest.raises(croton.ValueError, match="rellu.*known are .*relu"):
        nn.Sequential([nn.Dense(2, activation="rellu", input_shape=(3,))])
    with pytest.raises(croton.ShapeError, match="test_nn.py:"):
        nn.Conv2D(3, 3)(nn.Input((28, 28)))
    with pytest.raises(croton.ValueError, match="channels_last"):
        nn.Conv2D(3, 3, data_format="last")
    with pytest.raises(TypeError):
        nn.Dense("two")
    with pytest.raises(croton.TypeError, match="derive"):
        nn.Layer()
    with pytest.raises(croton.TypeError, match="not with str"):
        nn.Dense(2)("x")
    with pytest.raises(croton.TypeError, match="not of int"):
        nn.Sequential([3])


class Scaled(nn.Layer):
    """A user-defined layer."""

    def __init__(self, to, **options):
        super().__init__(**options)
        self.to = to

    def compute_output_shape(self, shape):
        return shape[:-1] + (self.to,)

    def make_weights(self, shape):
        self.kernel = self.add_weight("kernel", (shape[-1], self.to), initializer="ones")
        self.count = self.add_weight("count", (), initializer="zeros", trainable=False)

    def call(self, x, context):
        return x @ self.kernel * (2 if context.training else 1)


def test_a_layer_of_ones_own():
    model = nn.Sequential([Scaled(3, input_shape=(2,)), nn.Dense(1)])
    layer = model.layers[0]
    assert isinstance(layer, Scaled) and layer.to == 3 and model.get_layer(layer.name) is layer
    assert layer.name.startswith("scaled") and layer.type == "Scaled"
    assert layer.count_params() == 7 and [w.name for w in layer.trainable_weights] == [f"{layer.name}/kernel"]
    np.testing.assert_allclose(model.layers[0](nn.Input((2,))).shape, (3,))
    model.compile(loss="mse", optimizer="sgd")
    before = layer.get_weights()[0]
    model.fit(X, Y, epochs=1, verbose=0)
    assert not np.array_equal(layer.get_weights()[0], before)


def test_layers_of_ones_own_are_freed():
    def alive():
        layer = Scaled(3)
        model = nn.Sequential([nn.Dense(2, input_shape=(2,)), layer])
        model.predict(X)
        return weakref.ref(layer), model

    layer, model = alive()
    gc.collect()
    assert layer() is not None and model.predict(X).shape == (40, 3)  # the model needs it
    del model
    gc.collect()
    assert layer() is None


# ---- objects given by their names -----------------------------------------------------------------------------------

def test_c5_3_names():
    model = nn.Sequential([nn.Dense(3, "softmax", input_shape=(2,))])
    model.compile(loss="categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
    assert model.optimizer.name == "rmsprop" and model.optimizer.learning_rate == pytest.approx(1e-3)
    model.compile(loss="categorical_crossentropy", optimizer="adam")
    assert model.optimizer.name == "adam"
    for wrong, message in [({"optimizer": "adm"}, '"adm".*rmsprop'), ({"metrics": ["acuracy"]}, '"acuracy".*accuracy'),
                           ({"loss": "crossentropy"}, '"crossentropy".*categorical_crossentropy')]:
        with pytest.raises(croton.ValueError, match=message):
            model.compile(**{"loss": "mse", "optimizer": "sgd", **wrong})
    with pytest.raises(croton.ValueError, match="glorot_uniform"):
        nn.Dense(3, kernel_initializer="glorot")
    with pytest.raises(croton.ValueError, match="l2"):
        nn.Dense(3, kernel_regularizer="l3")


def test_initializers():
    assert nn.Initializer("zeros")((2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    for make in [nn.RandomUniform(-1, 1), nn.RandomNormal(), nn.TruncatedNormal(stddev=1.0),
                 nn.VarianceScaling(2.0, "fan_in", "uniform"), nn.Initializer("he_normal")]:
        values = make((30, 20), "float32", 1)
        assert values.dtype == np.float32 and values.std() > 0
        np.testing.assert_array_equal(values, make((30, 20), "float32", 1))
    q = nn.Orthogonal(2.0)((4, 3), seed=1)
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(3), atol=1e-5)
    own = nn.Dense(2, kernel_initializer=lambda shape, dtype, seed: np.arange(6.0).reshape(shape))
    own.build((3,))
    assert own.get_weights()[0].tolist() == [[0, 1], [2, 3], [4, 5]] and own.get_weights()[0].dtype == np.float32
    with pytest.raises(croton.ShapeError):
        nn.Dense(2, kernel_initializer=lambda shape, dtype, seed: np.zeros(3)).build((3,))


def test_regularizers_are_added_to_the_loss():
    def loss(regularizer):
        model = nn.Sequential([nn.Dense(1, kernel_initializer="ones", kernel_regularizer=regularizer,
                                        input_shape=(2,))])
        model.compile(loss="mse", optimizer="sgd")
        return model.evaluate(X, Y)

    plain = loss(None)
    assert loss(nn.l2(0.5)) == pytest.approx(plain + 1, rel=1e-5)
    assert loss(nn.l1(0.5)) == pytest.approx(plain + 1, rel=1e-5)
    assert loss(nn.l1_l2(0.5, 1.0)) == pytest.approx(plain + 3, rel=1e-5)
    assert loss("l2") == pytest.approx(plain + 0.02, rel=1e-5)
    assert loss(lambda w: 3 * w.sum()) == pytest.approx(plain + 6, rel=1e-5)


def test_losses():
    t, p = T.matrix("t"), T.matrix("p")
    target, prediction = np.abs(numbers(4, 3)), np.abs(numbers(4, 3, seed=1))

    def value(loss, a=target, b=prediction):
        return croton.function([t, p], loss(t, p))(a.astype(np.float32), b.astype(np.float32))

    assert value(nn.MeanSquaredError()) == pytest.approx(((target - prediction) ** 2).mean(), rel=1e-5)
    assert value(nn.MeanSquaredError(reduction="none")).shape == (4,)
    assert value(nn.MeanAbsoluteError(reduction="sum")) == pytest.approx(
        np.abs(target - prediction).mean(axis=1).sum(), rel=1e-5)
    assert value(nn.Loss(lambda a, b: (a - b).sum(axis=1), reduction="sum")) == pytest.approx(
        (target - prediction).sum(), rel=1e-4)
    assert value(nn.Huber(delta=0.5)) > 0 and value(nn.CosineSimilarity(axis=-1)) < 0
    assert value(nn.Loss("log_cosh")) > 0
    for name in ["KLDivergence", "Poisson", "Hinge"]:
        assert np.isfinite(value(getattr(nn, name)()))
    y = T.ivector("y")
    classes = np.array([0, 2, 1, 1], np.int32)
    probabilities = prediction / prediction.sum(axis=1, keepdims=True)
    each = croton.function([y, p], nn.SparseCategoricalCrossentropy(reduction="none")(y, p))(classes, probabilities)
    np.testing.assert_allclose(each, -np.log(probabilities[np.arange(4), classes]), rtol=1e-5)
    assert value(nn.CategoricalCrossentropy(), np.eye(3)[classes], probabilities) == pytest.approx(
        each.mean(), rel=1e-5)
    logits = croton.function([y, p], nn.SparseCategoricalCrossentropy(from_logits=True)(y, p))(
        classes, np.log(probabilities))
    assert logits == pytest.approx(each.mean(), rel=1e-5)
    weights = T.vector("w")
    weighted = croton.function([t, p, weights], nn.MeanSquaredError()(t, p, weights))
    assert weighted(target, prediction, np.array([4, 0, 0, 0], np.float32)) == pytest.approx(
        ((target - prediction) ** 2).mean(axis=1)[0], rel=1e-5)
    with pytest.raises(croton.ValueError, match='"hubr".*huber'):
        nn.Loss("hubr")


def test_metrics():
    counter = nn.Counter(nn.BinaryAccuracy(threshold=0.25))
    counter.update_state(np.array([1, 0, 1], np.float32), np.array([0.3, 0.3, 0.1], np.float32))
    assert counter.result() == pytest.approx(1 / 3)
    other = nn.Counter(nn.BinaryAccuracy(threshold=0.25))
    other.update_state(np.array([1], np.float32), np.array([0.9], np.float32))
    counter.merge_state(other)
    assert counter.result() == pytest.approx(0.5)
    counter.reset_state()
    assert counter.result() == 0
    target, scores = np.array([0, 0, 1, 1], np.float32), np.array([0.1, 0.6, 0.4, 0.9], np.float32)
    for metric, expected in [(nn.AUC(), 0.75), (nn.Precision(), 0.5), (nn.Recall(), 0.5),
                             (nn.RootMeanSquaredError(), np.sqrt(((target - scores) ** 2).mean())),
                             (nn.Metric(lambda t, p: abs(t - p)), np.abs(target - scores).mean()),
                             (nn.Metric.of_counts("largest", 2, lambda t, p, w: T.stack([p.sum(), w.sum()]).astype(
                                 "float64"), lambda sums: sums[0] / sums[1]), scores.mean())]:
        counter = nn.Counter(metric)
        counter.update_state(target, scores)
        assert counter.result() == pytest.approx(expected, abs=0.01), metric


def test_optimizers():
    for optimizer in [nn.SGD(0.05, momentum=0.9, nesterov=True), nn.RMSprop(0.05, centered=True), nn.Adam(0.1),
                      nn.AdamW(0.1, weight_decay=0.001), nn.Adagrad(0.5), nn.Adadelta(20.0),
                      nn.SGD(nn.ExponentialDecay(0.2, 100, 0.5), clipnorm=1.0),
                      nn.Adam(lambda step: 0.1 / (1 + 0.001 * step), global_clipnorm=5.0), nn.Optimizer("adam")]:
        model = small_model(optimizer=optimizer)
        history = model.fit(X, Y, epochs=15, batch_size=8, verbose=0).history["loss"]
        assert optimizer.iterations == 75
        assert history[-1] < 0.9 * history[0], optimizer
    optimizer = nn.Adam(1e-3)
    optimizer.learning_rate = 0.25
    assert optimizer.learning_rate == 0.25
    with pytest.raises(croton.ValueError):
        optimizer.learning_rate = -1
    with pytest.raises(croton.ValueError):
        nn.SGD(nn.CosineDecay(0.1, 10)).learning_rate = 1.0
    with pytest.raises(croton.ValueError):
        nn.Adam(beta_1=1.0)


def test_an_optimizer_of_ones_own():
    def momentum(parameter, gradient, rate, count, slot):
        v = slot("v")
        new = 0.5 * v - rate.astype("float32") * gradient
        return {v: new, parameter: parameter + new}

    own, shipped = (small_model(optimizer=o) for o in [nn.own_optimizer(momentum, 0.1), nn.SGD(0.1, momentum=0.5)])
    shipped.set_weights(own.get_weights())
    for model in (own, shipped):
        model.fit(X, Y, epochs=3, verbose=0)
    for a, b in zip(own.get_weights(), shipped.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_training_written_out():
    model = nn.Sequential([nn.Dense(1, kernel_initializer="zeros", input_shape=(2,))])
    x, y = T.matrix("x"), T.matrix("y")
    loss = nn.MeanSquaredError()(y, model(x))
    adam = nn.Adam(learning_rate=0.1)
    slopes = nn.gradients(loss, model.trainable_variables)
    updates = adam.apply_gradients(zip(slopes, model.trainable_variables))
    train = croton.function([x, y], loss, updates=updates)
    for _ in range(100):
        last = train(X, Y)
    assert last < 0.01 and adam.iterations == 100
    unconnected = nn.Dense(1, input_shape=(2,))
    unconnected.build((2,))
    assert nn.gradients(loss, unconnected.trainable_weights) == [None, None]
    zeros = nn.gradients(loss, unconnected.trainable_weights, zeros_for_unconnected=True)
    assert zeros[0].eval().tolist() == [[0], [0]]
    with pytest.raises(croton.TypeError, match="pairs"):
        adam.apply_gradients([x])


# ---- models ---------------------------------------------------------------------------------------------------------

def test_summary(capsys):
    model = nn.Sequential([nn.Dense(3, input_shape=(2,)), nn.Dense(1)], name="small")
    model.summary()
    printed = capsys.readouterr().out
    assert "Model: small" in printed and "Parameters: 13 " in printed
    texts = []
    model.summary(print_fn=texts.append)
    assert texts[0] + "\n" == printed


def test_models_of_models():
    encoder = nn.Sequential([nn.Dense(3, "tanh", input_shape=(2,))], name="encoder")
    a, b = nn.Input((2,)), nn.Input((2,))
    model = nn.Model([a, b], [encoder(a) + encoder(b), encoder(a)])
    assert model.count_params() == 9
    left, right = model.predict([X, X])
    np.testing.assert_allclose(left, 2 * right, rtol=1e-5)
    assert nn.Sequential([encoder, nn.Dense(1)]).count_params() == 9 + 4
    x = T.matrix("x")
    np.testing.assert_allclose(croton.function([x], encoder(x))(X), encoder.predict(X), rtol=1e-5)
    assert len(model([x, x])) == 2
    with pytest.raises(croton.ValueError, match="input"):
        nn.Model(a, encoder(b))


def test_several_outputs():
    x = nn.Input((2,))
    model = nn.Model(x, [nn.Dense(1, name="first")(x), nn.Dense(1, name="second")(x)])
    model.compile(loss=["mse", nn.MeanAbsoluteError()], loss_weights=[1.0, 0.5], optimizer="sgd")
    history = model.fit(X, [Y, -Y], epochs=2, verbose=0).history
    assert set(history) == {"loss", "first_loss", "second_loss"}
    assert history["loss"][0] == pytest.approx(history["first_loss"][0] + 0.5 * history["second_loss"][0], rel=1e-4)


def test_without_a_shape_a_model_is_put_together_by_data():
    model = nn.Sequential()
    model.add(nn.Dense(4))
    model.add(nn.Dense(1))
    assert model.predict(X).shape == (40, 1) and model.count_params() == 12 + 5
    first = nn.Sequential([nn.Input((2,)), nn.Dense(4)])
    assert first.count_params() == 12


# ---- fit ------------------------------------------------------------------------------------------------------------

def digits():
    images, labels = croton.io.digits()
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    return images[:1500], labels[:1500], images[1500:], labels[1500:]


def test_fit_reads_digits(tmp_path):
    x, y, test_x, test_y = digits()
    model = nn.Sequential([nn.Dense(64, "relu", input_shape=(64,)), nn.Dense(10, "softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, epochs=12, batch_size=32, verbose=0, validation_data=(test_x, test_y))
    assert set(history.history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert history.epoch == list(range(12)) and len(history["loss"]) == 12
    assert history["accuracy"][-1] > 0.95 and history["loss"][-1] < 0.2 * history["loss"][0]
    loss, accuracy = model.evaluate(test_x, test_y)
    assert accuracy > 0.9 and accuracy == pytest.approx(history["val_accuracy"][-1])
    assert model.evaluate(test_x, test_y, return_dict=True) == {"loss": loss, "accuracy": accuracy}
    assert (model.predict(test_x).argmax(axis=1) == test_y).mean() == pytest.approx(accuracy)
    history.plot(tmp_path / "history.svg")
    assert (tmp_path / "history.svg").read_text() == history.svg()
    assert history.svg().startswith("<svg") and "12 epochs" in repr(history)
    with pytest.raises(croton.ValueError, match="accuracy"):
        history["auc"]
    assert model.train_function.counts().calls == 12 * 47
    with pytest.raises(croton.TypeError, match="for inspection"):
        model.train_function(x, y)


def test_fit_takes_batches():
    batches = [(X[i:i + 10], Y[i:i + 10]) for i in range(0, 40, 10)]

    class Batches:
        def __iter__(self):
            return iter(batches)

    def generator():
        yield from batches

    def trained(data, **options):
        nn.set_seed(1)
        model = small_model()
        history = model.fit(data, epochs=3, verbose=0, **options)
        return model.get_weights(), history["loss"]

    weights, losses = trained(batches)
    assert losses[2] < losses[0]
    for data in [nn.Dataset(batches), nn.Dataset.from_arrays(X, Y, batch_size=10), Batches(), generator,
                 nn.Dataset(generator).prefetch(2), nn.Dataset(batches).map(lambda x, y: (x, y))]:
        others, other_losses = trained(data)
        assert all(np.array_equal(a, b) for a, b in zip(weights, others)), data
        assert other_losses == losses
    weighted, _ = trained([(x, y, np.ones(10, np.float32)) for x, y in batches])
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(weights, weighted))
    forever = (batch for _ in range(100) for batch in batches)
    assert all(np.array_equal(a, b) for a, b in zip(weights, trained(forever, steps_per_epoch=4)[0]))
    with pytest.raises(croton.ValueError, match="gone through once.*steps_per_epoch"):
        trained(generator())
    with pytest.raises(croton.TypeError, match="a batch is a tuple"):
        small_model().fit([X], epochs=1, verbose=0)
    with pytest.raises(croton.TypeError, match="x without y"):
        small_model().fit(X, verbose=0)
    assert small_model().evaluate(batches) == pytest.approx(small_model().evaluate(X, Y), rel=5)
    np.testing.assert_array_equal(small_model().predict(nn.Dataset(batches)).shape, (40, 1))


def test_an_array_that_is_filled_again_is_no_trap():
    def reused():
        x, y = np.empty((10, 2), np.float32), np.empty((10, 1), np.float32)
        for i in range(0, 40, 10):
            x[:], y[:] = X[i:i + 10], Y[i:i + 10]
            yield x, y

    models = [small_model(), small_model()]
    models[1].set_weights(models[0].get_weights())
    models[0].fit(reused, epochs=2, verbose=0)
    models[1].fit(nn.Dataset.from_arrays(X, Y, batch_size=10), epochs=2, verbose=0)
    assert all(np.array_equal(a, b) for a, b in zip(models[0].get_weights(), models[1].get_weights()))


def test_options_of_fit():
    model = small_model()
    history = model.fit(X, Y, 8, epochs=4, verbose=0, validation_split=0.25, validation_freq=2).history
    assert np.isnan(history["val_loss"][0]) and not np.isnan(history["val_loss"][1])
    assert model.optimizer.iterations == 4 * 4
    weights = np.zeros(40, np.float32)
    weights[:10] = 1
    model = small_model(weighted_metrics=["mse"])
    weighted = model.evaluate(X, Y, sample_weight=weights, return_dict=True)
    assert weighted["mse"] == pytest.approx(model.evaluate(X[:10], Y[:10])[0], rel=1e-4)
    classes = (Y[:, 0] > 0).astype(np.int32)
    model = nn.Sequential([nn.Dense(2, "softmax", input_shape=(2,))])
    model.compile(loss="sparse_categorical_crossentropy", optimizer="sgd")
    model.fit(X, classes, epochs=1, verbose=0, class_weight={0: 0.0, 1: 0.0})
    assert model.get_weights()[1].tolist() == [0, 0]
    with pytest.raises(croton.TypeError, match="dict"):
        model.fit(X, classes, verbose=0, class_weight=[1, 2])
    with pytest.raises(croton.ValueError, match="verbose"):
        model.fit(X, classes, verbose=3)
    with pytest.raises(croton.TypeError, match="compile"):
        nn.Sequential([nn.Dense(1, input_shape=(2,))]).fit(X, Y, verbose=0)
    loss = small_model().train_on_batch(X, Y)
    assert isinstance(loss, float) and loss > 0
    assert small_model().test_on_batch(X, Y, return_dict=True).keys() == {"loss"}


def test_datasets():
    data = nn.Dataset.from_arrays(np.arange(10.0), np.arange(10), batch_size=4)
    assert len(data) == 3 and [len(x) for x, _ in data] == [4, 4, 2]
    assert len(nn.Dataset.from_arrays(np.arange(10.0), np.arange(10), batch_size=4, drop_remainder=True)) == 2
    shuffled = nn.Dataset.from_arrays(np.arange(10.0), np.arange(10), batch_size=10, shuffle=True, seed=3)
    first, second = ([x.tolist() for x, _ in shuffled][0] for _ in range(2))
    assert first != second and sorted(first) == sorted(second)  # each pass is a separate epoch
    assert [x.tolist() for x, _ in shuffled.begin(0)][0] == first
    assert [len(x) for x, _ in data.take(2)] == [4, 4] and len(list(data.repeat(2))) == 6
    assert [(x + y).tolist() for x, y in data.map(lambda x, y: (x * 2, y * 10)).take(1)] == [[0, 12, 24, 36]]
    ahead = data.map(lambda x, y: (x, y)).prefetch(3)
    assert len(list(ahead)) == 3
    half = iter(ahead)
    next(half)
    del half  # the thread that makes batches ends, although it needs the interpreter

    def fails():
        yield X, Y
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        list(nn.Dataset(fails).prefetch())
    with pytest.raises(TypeError):
        len(nn.Dataset(fails))
    with pytest.raises(croton.ShapeError):
        nn.Dataset.from_arrays(np.zeros(3), np.zeros(4))


def test_data_from_files(tmp_path):
    files = []
    for i in range(4):
        files.append(tmp_path / f"{i}.npz")
        np.savez(files[-1], x=X[10 * i:10 * i + 10], y=Y[10 * i:10 * i + 10])
    assert [x.shape for x, _ in nn.Dataset.from_files(files)] == [(10, 2)] * 4

    def read(file):
        loaded = np.load(file)
        return loaded["x"], loaded["y"]

    own = list(nn.Dataset.from_files(files, read))
    np.testing.assert_array_equal(np.concatenate([y for _, y in own]), Y)
    with pytest.raises(croton.FileError, match="none.npz"):
        list(nn.Dataset.from_files([tmp_path / "none.npz"]))


# ---- callbacks ------------------------------------------------------------------------------------------------------

class Recorder(nn.Callback):
    def __init__(self):  # without super().__init__(), as many programs write it
        self.calls = []

    def on_train_begin(self, logs=None):
        self.calls.append("train begin")

    def on_train_end(self, logs=None):
        self.calls.append(f"train end {sorted(logs)}")

    def on_epoch_begin(self, epoch, logs=None):
        self.calls.append(f"epoch {epoch}")

    def on_epoch_end(self, epoch, logs=None):
        logs["added"] = 10.0 + epoch
        self.calls.append(f"epoch {epoch} end")

    def on_batch_begin(self, batch, logs=None):
        self.calls.append(f"batch {batch}")

    def on_train_batch_end(self, batch, logs=None):
        self.calls.append(f"batch {batch} end {sorted(logs)}")


def test_c5_8_callbacks_are_called():
    recorder = Recorder()
    model = small_model()
    history = model.fit(X, Y, epochs=2, batch_size=20, verbose=0, callbacks=[recorder])
    assert recorder.calls == ["train begin", "epoch 0", "batch 0", "batch 0 end ['loss']", "batch 1",
                              "batch 1 end ['loss']", "epoch 0 end", "epoch 1", "batch 0", "batch 0 end ['loss']",
                              "batch 1", "batch 1 end ['loss']", "epoch 1 end", "train end ['added', 'loss']"]
    assert history["added"] == [10, 11]
    assert recorder.model is model
    seen = []
    model.fit(X, Y, epochs=3, verbose=0,
              callbacks=nn.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch)))
    assert seen == [0, 1, 2]
    with pytest.raises(TypeError, match="on_epoch_end"):
        nn.LambdaCallback(on_epoch=print)
    with pytest.raises(croton.TypeError, match="is a class"):
        model.fit(X, Y, verbose=0, callbacks=[Recorder])


@pytest.mark.parametrize("method", ["on_train_begin", "on_epoch_begin", "on_batch_begin", "on_batch_end",
                                    "on_epoch_end", "on_train_end"])
def test_exceptions_of_callbacks_come_out_as_they_are(method):
    class Refusal(Exception):
        pass

    refusal = Refusal("enough")

    def refuse(*arguments):
        raise refusal

    with pytest.raises(Refusal) as raised:
        small_model().fit(X, Y, epochs=2, verbose=0, callbacks=[nn.LambdaCallback(**{method: refuse})])
    assert raised.value is refusal
    assert any(entry.name == "refuse" for entry in raised.traceback)


def test_exceptions_of_data_come_out_as_they_are():
    failure = LookupError("no such file")

    def data():
        yield X, Y
        raise failure

    with pytest.raises(LookupError) as raised:
        small_model().fit(data, epochs=2, verbose=0)
    assert raised.value is failure
    with pytest.raises(LookupError):
        small_model().evaluate(data)


def test_ctrl_c_ends_a_training_behind_a_batch():
    model = small_model()
    ended = []

    class Interrupted(nn.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                _thread.interrupt_main()

        def on_train_end(self, logs=None):
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, epochs=1000, batch_size=10, verbose=0, callbacks=[Interrupted()])
    assert not ended and 8 <= model.optimizer.iterations <= 10
    assert len(model.fit(X, Y, epochs=2, verbose=0)["loss"]) == 2  # and it can continue


def test_other_threads_run_while_a_model_learns():
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    x, y, _, _ = digits()
    model = nn.Sequential([nn.Dense(512, "relu", input_shape=(64,)), nn.Dense(10, "softmax")])
    model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
    model.fit(x, y, epochs=1, verbose=0)
    thread.start()
    try:
        before = counted[0]
        model.fit(x, y, epochs=5, verbose=0)
        assert counted[0] > before + 5
    finally:
        stop.set()
        thread.join()


def test_a_callback_ends_the_training():
    class Enough(nn.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                self.model.stop_training = True

    assert len(small_model().fit(X, Y, epochs=9, verbose=0, callbacks=[Enough()]).epoch) == 2
    model = small_model(metrics=["auc"])
    model.fit(X, (Y > 0).astype(np.float32), verbose=0)
    assert [model.better(name) for name in ("loss", "auc", "score")] == ["min", "max", "auto"]
    with pytest.raises(AttributeError):
        small_model().stop_training


def test_shipped_callbacks(tmp_path):
    model = small_model()
    out = io.StringIO()
    history = model.fit(
        X, Y, epochs=3, verbose=0, validation_split=0.25,
        callbacks=[nn.LearningRateScheduler(lambda epoch, rate: rate / 2), nn.CSVLogger(tmp_path / "log.csv"),
                   nn.StreamLogger(out), nn.ModelCheckpoint(tmp_path / "at-{epoch:02d}.npz", save_weights_only=True),
                   nn.TensorBoard(tmp_path / "events"), nn.TerminateOnNaN()])
    assert history["learning_rate"] == pytest.approx([0.05, 0.025, 0.0125])
    assert (tmp_path / "log.csv").read_text().splitlines()[0] == "epoch,learning_rate,loss,val_loss"
    assert out.getvalue().splitlines()[2].startswith("epoch 3: loss: ")
    assert sorted(file.name for file in tmp_path.glob("*.npz")) == ["at-01.npz", "at-02.npz", "at-03.npz"]
    assert list((tmp_path / "events" / "train").iterdir())
    assert isinstance(nn.EarlyStopping(), nn.Callback)

    class Loss(nn.Callback):
        def on_epoch_end(self, epoch, logs):
            logs["score"] = [3.0, 5.0, 4.0, 4.5, 2.0][epoch]

    stopped = small_model().fit(X, Y, epochs=5, verbose=0,
                                callbacks=[Loss(), nn.EarlyStopping("score", patience=2, mode="max")])
    assert len(stopped.epoch) == 4
    with pytest.raises(croton.ValueError, match="score"):
        small_model().fit(X, Y, epochs=5, verbose=0, callbacks=[Loss(), nn.EarlyStopping("score")])
    with pytest.raises(croton.ValueError, match="'min'"):
        nn.EarlyStopping(mode="smaller")
    reduced = small_model().fit(X, Y, epochs=5, verbose=0,
                                callbacks=[Loss(), nn.ReduceLROnPlateau("score", 0.5, 2, "max")])
    assert reduced["learning_rate"][-1] < 0.1

    def broken(epoch, rate):
        return "fast"

    with pytest.raises(croton.TypeError, match="a learning rate is a number, not str"):
        small_model().fit(X, Y, verbose=0, callbacks=[nn.LearningRateScheduler(broken)])


# ---- files ----------------------------------------------------------------------------------------------------------

def test_weights_are_saved_and_loaded(tmp_path):
    first, second = small_model(), small_model()
    assert not np.array_equal(first.get_weights()[0], second.get_weights()[0])
    for name in ["weights.safetensors", "weights.npz"]:
        first.save_weights(tmp_path / name)
        second.load_weights(str(tmp_path / name))
        assert all(np.array_equal(a, b) for a, b in zip(first.get_weights(), second.get_weights()))
        second.save_weights(tmp_path / ("again-" + name))
        assert (tmp_path / name).read_bytes() == (tmp_path / ("again-" + name)).read_bytes()
        second.set_weights([np.zeros((2, 1), np.float32), np.zeros(1, np.float32)])
    saved = np.load(tmp_path / "weights.npz")
    np.testing.assert_array_equal(saved["dense/kernel"], first.get_weights()[0])
    with pytest.raises(croton.ValueError, match="h5"):
        first.save_weights(tmp_path / "weights.h5")
    with pytest.raises(croton.FileError):
        first.load_weights(tmp_path / "none.npz")


def test_a_training_goes_on_from_a_checkpoint(tmp_path):
    def model():
        nn.set_seed(1)
        made = nn.Sequential([nn.Dense(4, "relu", input_shape=(2,), name="a"), nn.Dropout(0.3, name="b"),
                              nn.Dense(1, name="c")])
        made.compile(loss="mse", optimizer="adam")
        return made

    whole = model()
    whole.fit(X, Y, epochs=4, verbose=0)
    first, second = model(), model()
    first.fit(X, Y, epochs=2, verbose=0)
    first.save_checkpoint(tmp_path / "half.safetensors")
    second.load_checkpoint(tmp_path / "half.safetensors")
    assert second.fit(X, Y, epochs=4, verbose=0).epoch == [2, 3]
    assert all(np.array_equal(a, b) for a, b in zip(whole.get_weights(), second.get_weights()))


# ---- names ----------------------------------------------------------------------------------------------------------

def test_everything_has_a_name_and_a_docstring():
    for name in nn.__all__:
        thing = getattr(nn, name)
        assert thing.__doc__, name
    assert croton.nn is nn and "nn" in croton.__all__


def test_the_placement_log_and_traces(tmp_path):
    x = T.vector("x")
    f = croton.function([x], T.exp(x) * 2, name="f")
    out = io.StringIO()
    croton.log_device_placement(out)
    f(np.ones(3, np.float32))
    croton.log_device_placement(None)
    f(np.ones(3, np.float32))
    assert out.getvalue().splitlines()[1] == "f runs here:"
    with croton.Trace() as trace:
        f(np.ones(3, np.float32))
    f(np.ones(3, np.float32))
    assert [event.function for event in trace.events] == ["f"] and trace.events[0].what == "kernel"
    trace.write(str(tmp_path / "trace.json"))
    assert "traceEvents" in (tmp_path / "trace.json").read_text()


def test_the_program_of_the_documentation(capsys):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "use" / "networks.md").read_text()
    program, printed = re.search(r"```python\n(.*?)```\n```text\n(.*?)```", page, re.DOTALL).groups()
    exec(program, {})
    assert capsys.readouterr().out == printed
