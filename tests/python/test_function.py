"""Compiling and calling: arguments, outputs, updates, givens, inspection of functions."""

import json

import numpy as np
import pytest

import croton
import croton.tensor as T


def test_one_output_or_a_list():
    x = T.fvector("x")
    a = np.arange(3, dtype=np.float32)
    one = croton.function([x], x * 2)(a)
    assert isinstance(one, np.ndarray) and one.dtype == np.float32
    several = croton.function([x], [x * 2])(a)
    assert isinstance(several, list) and len(several) == 1
    assert croton.function([x], x.sum())(a).shape == ()
    assert croton.function([], [])() == []


def test_calls_by_position_and_name():
    x, y, z = T.fscalar("x"), T.fscalar("y"), T.fscalar("z")
    f = croton.function([x, y, z], x * 100 + y * 10 + z)
    assert f(1, 2, 3) == f(z=3, y=2, x=1) == f(1, z=3, y=2) == 123


def test_defaults_and_names_of_inputs():
    x, y = T.fscalar("x"), T.fscalar()
    f = croton.function([x, croton.In(y, name="scale", value=0.5)], x * y)
    assert f(3) == 1.5 and f(3, 2) == 6 and f(3, scale=4) == 12
    g = croton.function([croton.In(x, value=2.0), y], x * y)
    assert "missing" in str(pytest.raises(croton.TypeError, g, 1).value)


def test_three_states_of_casting():
    x = T.fscalar("x")
    wide = np.array(0.1)
    absent = croton.function([x], x)
    assert absent(0.1) == np.float32(0.1)
    assert pytest.raises(croton.TypeError, absent, wide)
    assert croton.function([x], x, allow_input_downcast=True)(wide) == np.float32(0.1)
    refusing = croton.function([x], x, allow_input_downcast=False)
    assert pytest.raises(croton.TypeError, refusing, 0.1)
    strict = croton.function([croton.In(x, strict=True)], x)
    assert pytest.raises(croton.TypeError, strict, np.array(1, np.int8))
    assert strict(np.array(1, np.float32)) == 1
    with croton.change_flags(floatX="float64"):
        assert pytest.raises(croton.TypeError, absent, 0.1)


def test_numbers_lists_and_numpy_scalars_by_value():
    b, i, v = T.bscalar("b"), T.ivector("i"), T.fvector("v")
    f = croton.function([b], b)
    assert f(100) == 100 and f(np.int64(5)) == 5
    assert pytest.raises(croton.TypeError, f, 300)
    assert pytest.raises(croton.TypeError, f, np.array(5, np.int64))  # for an array, its dtype counts
    g = croton.function([i], i)
    assert g([1, 2, 3]).tolist() == [1, 2, 3] and g((4, 5)).tolist() == [4, 5] and g([]).shape == (0,)
    assert pytest.raises(croton.TypeError, g, [1, 2**40])
    h = croton.function([v], v)
    assert h([0.5, 1]).tolist() == [0.5, 1]
    assert pytest.raises(croton.TypeError, h, [0.1])  # float32 has no 0.1


def test_updates_see_the_old_values():
    a, b = croton.shared(np.float32(1), "a"), croton.shared(np.float32(2), "b")
    swap = croton.function([], [a + b], updates={a: b, b: a})
    assert swap()[0] == 3 and (a.get_value(), b.get_value()) == (2, 1)
    pairs = croton.function([], updates=[(a, a * 10)])
    assert pairs() == [] and a.get_value() == 20


def test_shared_variables():
    value = np.ones((2, 3), np.float32)
    w = croton.shared(value, name="w")
    assert (w.name, w.dtype, w.ndim) == ("w", "float32", 2) and isinstance(w, croton.Variable)
    value[:] = 7
    assert (w.get_value() == 1).all()
    before = w.version
    w.set_value(np.zeros((5, 1), np.float32))
    assert w.get_value().shape == (5, 1) and w.version == before + 1
    s = croton.shared(np.float32(0))
    s.set_value(0.1)
    assert s.get_value() == np.float32(0.1)
    assert pytest.raises(croton.TypeError, w.set_value, 3.0)
    assert croton.shared(3).dtype == "int64" and croton.shared(0.5).dtype == "float64"
    counter = croton.shared(0)
    counter.set_default_update(counter + 1)
    f = croton.function([], counter)
    assert [int(f()), int(f()), int(counter.get_value())] == [0, 1, 2]
    assert croton.function([], counter, no_default_updates=True)() == 2 == counter.get_value()


def test_givens_and_unused_inputs(capfd):
    x, y = T.fscalar("x"), T.fscalar("y")
    assert croton.function([y], x * 2, givens={x: y + 1})(3) == 8
    assert croton.function([y], x * 2, givens=[(x, y)])(3) == 6
    assert pytest.raises(croton.ValueError, croton.function, [x, y], x)
    assert croton.function([x, y], x, on_unused_input="ignore")(1, 2) == 1
    croton.function([x, y], x, on_unused_input="warn")
    assert "y" in capfd.readouterr().err


def test_names_and_copies():
    x, total = T.fscalar("x"), croton.shared(np.float32(0))
    f = croton.function([x], x, updates=[(total, total + x)], name="add_up")
    g = f.copy()
    f(1), g(2)
    assert f.name == g.name == "add_up" and total.get_value() == 3 and f.counts().calls == 1
    assert repr(f) == "<croton.Function add_up(x)>" and f.inputs == [x]


def test_looking_into_a_function():
    x = T.fmatrix("x")
    f = croton.function([x], (T.exp(x) * 2).sum(axis=1))
    f(np.ones((2, 3), np.float32))
    assert "exp" in f.graph() and "kernel" in f.plan() and isinstance(f.rewrites(), str)
    assert croton.debugprint(f) == f.graph()
    kernel, = f.kernels()
    assert kernel.target == "cpu" and "exp" in kernel.expression and kernel.source in kernel.unit
    cuda, = f.kernels("cuda:sm_90")
    assert cuda.target == "cuda:sm_90" and cuda.source in f.source("cuda:sm_90") and cuda.source != kernel.source
    assert cuda.lines == kernel.lines and kernel.name in repr(kernel)
    assert f.product_count == 0 and f.counts().calls == 1


def test_ptx_or_the_reason_why_not():
    x = T.fvector("x")
    kernel, = croton.function([x], T.exp(x) + 1).kernels("cuda:sm_90")
    try:
        text = kernel.ptx()
    except croton.DeviceError as error:
        assert "nvrtc" in str(error).lower()
    else:
        assert ".target sm_90" in text


def test_evaluation_by_the_reference():
    x = T.fvector("x")
    a = np.array([1, 2, 3], np.float32)
    with croton.change_flags(mode="reference"):
        slow = croton.function([x], T.exp(x).sum())
    np.testing.assert_allclose(slow(a), np.exp(a).sum(), rtol=1e-6)


DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_all_dtypes_go_in_and_out(dtype):
    x = T.variable(dtype, (None, None))
    a = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    result = croton.function([x], x.T)(a)
    assert result.dtype == a.dtype and (result == a.T).all()


def test_a_schedule_is_shown_before_it_is_used():
    x = T.fmatrix("x")
    f = croton.function([x], T.nnet.softmax(x))
    (kernel,) = f.kernels("cuda:sm_90")
    (other,) = f.kernels("cuda:sm_90", schedule=kernel.name + ".threads=64")
    assert "threads=256" in kernel.schedule and "threads=64" in other.schedule
    assert kernel.expression == other.expression and kernel.launch != other.launch
    difference = f.schedule_difference("cuda:sm_90", "threads=64")
    assert difference.startswith(kernel.name) and "of 64 threads" in difference


def test_schedules_have_reasons():
    x = T.fmatrix("x")
    f = croton.function([x], T.nnet.softmax(x))
    (shown,) = f.schedule("cuda:sm_90", shapes=[(4096, 1024)])
    assert shown.family == "row" and shown.device == "cuda:sm_90" and shown.sizes == (4096, 1024)
    assert shown.blocks == 512 and "held=1: all operands that are read several times" in shown.reasons
    assert shown.schedule in str(shown) and all(reason in str(shown) for reason in shown.reasons)
    assert repr(shown) == f"<croton.KernelSchedule {shown.name} on cuda:sm_90: {shown.schedule}>"
    f(np.ones((3, 5), np.float32))
    (called,) = f.schedule()
    assert called.device == "cpu" and called.sizes == (3, 5) and called.schedule.startswith("grain=")


def test_a_function_with_another_schedule():
    x = T.fmatrix("x")
    f = croton.function([x], T.nnet.softmax(x))
    (kernel,) = f.kernels("cuda:sm_90")
    g = f.with_schedule(kernel.name[:10], "threads=64")
    assert g.kernels("cuda:sm_90")[0].threads == 64 and f.kernels("cuda:sm_90")[0].threads == 256
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (g(a) == f(a)).all() and g(x=a).shape == (2, 3)
    with pytest.raises(croton.ValueError, match="no kernel has a name or digest that begins so"):
        f.with_schedule("row_0123456789ab", "threads=64")
    with pytest.raises(croton.ValueError, match="whole warps"):
        f.with_schedule("", "threads=65")


def test_kernels_for_the_shapes_of_a_call():
    x = T.matrix("x")
    f = croton.function([x], T.nnet.softmax(x))
    (kernel,) = f.kernels("cuda:sm_90", shapes=[(4096, 1024)])
    assert kernel.launch == "4096 x 1024: 512 blocks of 256 threads"
    assert (kernel.blocks, kernel.threads, kernel.items, kernel.launches) == (512, 256, 4096, 1)
    assert [(o.bytes, o.passes, o.written) for o in kernel.operands] == [(1 << 24, 1, False), (1 << 24, 1, True)]
    (kernel,) = f.kernels("cuda:sm_90")
    assert kernel.operands == []
    with pytest.raises(croton.TypeError, match="it takes 2 dimension"):
        f.kernels("cuda:sm_90", shapes=[(4096,)])


def test_facts_of_a_kernel_need_nvrtc_or_say_so():
    x = T.fmatrix("x")
    (kernel,) = croton.function([x], x.sum(axis=1)).kernels("cuda:sm_90")
    try:
        (facts,) = kernel.facts()
    except croton.DeviceError as error:
        assert "NVRTC" in str(error)
        return
    assert facts.entry == kernel.name and facts.registers > 0
    assert repr(facts).startswith(kernel.name + ": ")


def test_an_explanation_of_a_gpu_that_is_not_there():
    x = T.fmatrix("x")
    f = croton.function([x], T.nnet.softmax(x), name="softmax")
    e = f.explain("H100", shapes=[(4096, 1024)])
    assert e.machine == "NVIDIA H100 SXM" and e.machine in croton.known_gpus() and e.architecture == "sm_90"
    (step,) = e.steps
    assert step.what == "kernel" and step.bytes == step.least_bytes == 2 * 4096 * 1024 * 4
    assert step.limiter == "memory" and step.measured_seconds is None
    assert 0 < step.share <= 1 and step.share == step.floor_seconds / step.seconds
    assert any("it is a result" in line for line in step.fusion)
    data = json.loads(e.to_json())
    assert data["seconds"] == e.seconds and data["steps"][0]["fusion"] == step.fusion
    assert str(e).startswith("softmax on NVIDIA H100 SXM (sm_90)")
    with pytest.raises(ValueError, match="no machine is named 'R2000'.*NVIDIA H100 SXM"):
        f.explain("R2000", shapes=[(2, 2)])


def test_an_explanation_of_the_host_is_compared_with_measured_times():
    x = T.fmatrix("x")
    w = croton.shared(np.zeros((8, 8), np.float32), name="w")
    f = croton.function([x], [], updates=[(w, w + x)])
    assert f.explain("cpu", shapes=[(8, 8)]).measured_by_modelled is None  # it is not called
    assert not w.get_value().any()
    with croton.Trace() as trace:
        f(np.ones((8, 8), np.float32))
    e = f.explain("cpu", shapes=[(8, 8)], trace=trace)
    assert e.measured_by_modelled == e.steps[0].measured_seconds / e.steps[0].seconds > 0
