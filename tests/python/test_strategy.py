"""Training on several devices from Python: bits depend only on the number of shards."""

import numpy as np
import pytest

import croton
import croton.tensor as T
from croton import nn


@pytest.fixture(params=["cpu", "cuda"])
def machine(request):
    """The names of four devices of one kind. The optimiser, which may not change results, is off, because it takes
    long."""
    flags = {"logical_devices": "cpu:4"} if request.param == "cpu" else {"cuda_simulator": 4}
    with croton.change_flags(llvm_level=0, **flags):
        yield [f"{request.param}{i}" for i in range(4)]


@pytest.fixture
def host():
    with croton.change_flags(logical_devices="cpu:8"):
        yield [f"cpu{i}" for i in range(8)]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def bits(arrays):
    return [a.tobytes() for a in arrays]


def copies_agree(model):
    return all(copy.get_value().tobytes() == w.get_value().tobytes() for w in model.weights for copy in w.copies)


def classifier():
    nn.set_seed(3)
    return nn.Sequential([nn.Dense(8, "relu", input_shape=(6,)), nn.Dense(3, "softmax")])


def noisy_classifier():
    nn.set_seed(3)
    return nn.Sequential([nn.Dense(8, "relu", input_shape=(6,)), nn.BatchNormalization(), nn.Dropout(0.4),
                          nn.Dense(3, "softmax")])


X = numbers(19, 6)
Y = X[:, :3].argmax(axis=1).astype(np.int32)


def test_c2_2_variables_of_a_scope_have_copies(machine):
    strategy = nn.MirroredStrategy(machine[:3])
    assert strategy.num_replicas_in_sync == 3 and len(strategy.devices) == 3
    assert nn.MirroredStrategy.current() is None
    with strategy.scope():
        assert nn.MirroredStrategy.current().devices == strategy.devices
        w = croton.shared(numbers(4, 3), name="w")
        pinned = croton.shared(numbers(2), target=machine[1])
        model = classifier()
    assert nn.MirroredStrategy.current() is None
    assert [copy.home for copy in w.copies] == strategy.devices[1:] and pinned.copies == []
    assert all(len(v.copies) == 2 for v in model.weights) and copies_agree(model)
    w.set_value(numbers(4, 3, seed=1))
    assert bits(copy.get_value() for copy in w.copies) == bits([numbers(4, 3, seed=1)] * 2)
    assert croton.shared(numbers(2)).copies == []


def test_c2_2_without_devices_a_strategy_takes_all_gpus():
    with croton.change_flags(cuda_simulator=2):
        assert nn.MirroredStrategy().devices == ["cuda0", "cuda1"]
        assert nn.MirroredStrategy(shards=4).num_replicas_in_sync == 4
    with pytest.raises(croton.DeviceError, match="cpu"):
        nn.MirroredStrategy(["cuda9"])
    with pytest.raises(croton.ValueError):
        nn.MirroredStrategy([])
    with pytest.raises(croton.TypeError, match="a list, not str"):
        nn.MirroredStrategy("cpu")
    with pytest.raises(croton.ValueError):
        nn.MirroredStrategy(["cpu", "cpu"])


def test_a_scope_ends_with_its_block(host):
    strategy = nn.MirroredStrategy(host[:2])
    scope = strategy.scope()
    with pytest.raises(KeyError):
        with scope:
            with nn.MirroredStrategy(host[:1]).scope() as inner:
                assert inner.num_replicas_in_sync == 1
                raise KeyError
    assert nn.MirroredStrategy.current() is None
    with scope as again:
        assert again.num_replicas_in_sync == 2


def test_c2_3_c2_5_c2_6_c2_7_c2_9_a_step_of_ones_own(machine):
    x, y = X[:10], Y[:10]

    def train(devices, shards):
        strategy = nn.MirroredStrategy(devices, shards=shards)
        with strategy.scope():
            model = classifier()
            adam = nn.Adam(0.05)
            loss_of = nn.SparseCategoricalCrossentropy(reduction="none")

            def step(images, labels):
                loss = nn.compute_average_loss(loss_of(labels, model(images)), global_batch_size=10)
                slopes = nn.gradients(loss, model.trainable_variables)
                assert adam.apply_gradients(zip(slopes, model.trainable_variables)) == []
                return loss

            a, b = T.matrix("x"), T.ivector("y")
            total = strategy.reduce("SUM", strategy.run(step, args=(a, b)))
            learn = strategy.function([a, b], total, name="learn")
            for _ in range(4):
                loss = learn(strategy.split(x), strategy.split(y))
            assert copies_agree(model) and adam.iterations == 4
            return model.get_weights(), float(loss)

    one, loss = train(machine[:1], 1)
    of_one, loss_of_one = train(machine[:1], 4)
    for count in (2, 4):
        weights, loss_of_several = train(machine[:count], 4)
        assert bits(weights) == bits(of_one) and loss_of_several == loss_of_one
    assert loss_of_one == pytest.approx(loss, abs=1e-5)
    for a, b in zip(one, of_one):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_c2_4_c2_8_reductions(host):
    strategy = nn.MirroredStrategy(host[:2], shards=3, main_device="cpu1")
    assert strategy.main_device == "cpu1" and strategy.device_of(2) == "cpu1"
    x, w = T.matrix("x"), T.scalar("w")
    total = strategy.run(lambda v, by: v.sum(axis=0) * by, (x, w))
    same, exponential = strategy.run(lambda v: (v * 2, T.exp(v)), (x,))
    assert len(same) == 3 and len(exponential) == 3
    f = strategy.function([x, w], [strategy.reduce(nn.ReduceOp.SUM, total), strategy.reduce("mean", total),
                                   strategy.reduce("sum", same, axis=0), strategy.reduce("mean", same, axis=0),
                                   strategy.gather(same)])
    rows = numbers(7, 2)
    parts = strategy.split(rows)
    assert [len(part) for part in parts.values] == [3, 2, 2]
    sums, means, sums_of_rows, means_of_rows, gathered = f(parts, 3)
    np.testing.assert_allclose(sums, 3 * rows.sum(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(means, rows.sum(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(sums_of_rows, 2 * rows.sum(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(means_of_rows, 2 * rows.mean(axis=0), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(gathered, 2 * rows)
    assert "(ordered_add): cpu1" in f.function.placement()
    with pytest.raises(croton.ValueError, match="2 parts of x, where there are 3 shards"):
        f(nn.PerReplica([rows, rows]), 1)
    with pytest.raises(croton.TypeError):
        f(parts)
    with pytest.raises(croton.TypeError, match="variables"):
        strategy.reduce("sum", parts)
    with pytest.raises(croton.ValueError, match="'sum'"):
        strategy.reduce("max", total)
    with pytest.raises(croton.TypeError, match="both"):
        nn.PerReplica([rows, x])


def test_c2_7b_data_in_parts(host):
    strategy = nn.MirroredStrategy(host[:4])
    x, y = numbers(11, 2), np.arange(11, dtype=np.int32)
    data = strategy.distribute_dataset(nn.Dataset.from_arrays(x, y, batch_size=6))
    assert data.batches == 2
    assert [[len(part) for part in a] for a, _ in data] == [[2, 2, 1, 1], [2, 1, 1, 1]]
    of_list = strategy.distribute_dataset([(x[:5], y[:5])])
    (parts, labels), = of_list
    assert [len(part) for part in parts] == [2, 1, 1, 1]
    np.testing.assert_array_equal(np.concatenate(labels.values), y[:5])
    with pytest.raises(IndexError):
        parts[4]


def test_what_a_step_raises_comes_out(host):
    strategy = nn.MirroredStrategy(host[:2])
    error = KeyError("here")

    def step(x):
        raise error

    with pytest.raises(KeyError) as raised:
        strategy.run(step, (T.matrix("x"),))
    assert raised.value is error
    assert nn.MirroredStrategy.current() is None
    with pytest.raises(croton.TypeError, match="tuple"):
        strategy.run(step, T.matrix("x"))


def test_running_averages_of_a_step(host):
    strategy = nn.MirroredStrategy(host[:2])
    with strategy.scope():
        norm = nn.BatchNormalization()
        norm.build((2,))
        x = T.matrix("x")

        def step(v):
            context = nn.CallContext(training=True)
            result = norm(v, context)
            nn.MirroredStrategy.keep_averages(context)
            return result

        f = strategy.function([x], strategy.gather(strategy.run(step, (x,))))
    rows = numbers(8, 2)
    f(strategy.split(rows))
    mean = next(w for w in norm.weights if w.name.endswith("moving_mean"))
    np.testing.assert_allclose(mean.get_value(), 0.01 * rows.mean(axis=0), rtol=1e-3, atol=1e-6)
    with pytest.raises(croton.TypeError):
        nn.MirroredStrategy.keep_averages([])


def test_c2_9_c5_1_c5_4_fit_gives_the_same_bits_on_1_2_and_4_devices(machine):
    def train(devices):
        strategy = nn.MirroredStrategy(devices, shards=4)
        with strategy.scope():
            model = noisy_classifier()
            model.compile(loss="sparse_categorical_crossentropy", optimizer=nn.Adam(0.05), metrics=["accuracy"])
        history = model.fit(X, Y, epochs=3, batch_size=8, verbose=0)
        assert copies_agree(model)
        return (bits(model.get_weights()), history.history, model.evaluate(X, Y),
                model.predict(X, batch_size=19).tobytes())

    one, two, four = (train(machine[:count]) for count in (1, 2, 4))
    assert one == two and one == four
    assert np.isfinite(one[1]["loss"]).all()


def test_c5_2_a_parallel_model(host):
    model = classifier()
    before = model.predict(X)
    for gpus in (8, [0, 3], host[:2]):
        parallel = nn.multi_gpu_model(model, gpus=gpus)
        np.testing.assert_allclose(parallel.predict(X), before, rtol=1e-5, atol=1e-6)
        assert bits(parallel.get_weights()) == bits(model.get_weights())
    for wrong in (1, 9, [0], ["cpu0"]):
        with pytest.raises(croton.ValueError, match="cpu, cpu1"):
            nn.multi_gpu_model(model, gpus=wrong)


def test_c5_3_c5_4_c5_5_fit_of_256_samples_on_eight_devices(host, tmp_path):
    x = numbers(300, 6)
    y = np.eye(3, dtype=np.float32)[x[:, :3].argmax(axis=1)]
    model = classifier()
    parallel = nn.multi_gpu_model(model, gpus=8)
    parallel.compile(loss="categorical_crossentropy", optimizer="rmsprop")
    sizes = []

    class Sizes(nn.Callback):
        def on_batch_end(self, batch, logs=None):
            sent = self.model.train_function.transfers()
            sizes.append([t.bytes // 24 for t in sent if t.kind == "input" and t.what.startswith("input")])

    history = parallel.fit(x, y, epochs=20, batch_size=256, verbose=0, callbacks=[Sizes()])
    assert len(history["loss"]) == 20 and history["loss"][-1] < history["loss"][0]
    assert sizes[0] == [32] * 7  # the first device's rows are on it already
    assert sizes[1] == [6, 6, 6, 5, 5, 5, 5]  # of 44
    files = [tmp_path / "parallel.npz", tmp_path / "template.npz"]
    parallel.save_weights(files[0])
    model.save_weights(str(files[1]))
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_model_by_a_strategy(host):
    model = classifier()
    by_two = model.with_strategy(nn.MirroredStrategy(host[:2]))
    by_two.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
    by_two.fit(X, Y, epochs=1, verbose=0)
    assert bits(by_two.get_weights()) == bits(model.get_weights())


def test_the_device_of_a_shard():
    with croton.change_flags(logical_devices="cpu:2"):
        strategy = nn.MirroredStrategy(["cpu0", "cpu1"], shards=4, bucket_bytes=0)
        assert [strategy.device_of(i) for i in range(4)] == ["cpu", "cpu", "cpu1", "cpu1"]
        assert "4 shards" in repr(strategy)
