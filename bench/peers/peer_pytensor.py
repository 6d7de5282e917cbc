"""PyTensor, the heir of Theano, with its two linkers: numba, and C++ by way of a compiler."""
import os
import time

import common

options = common.settings("pytensor", ["numba", "c"])
flags = {"numba": "linker=numba", "c": f"linker=cvm,openmp={options.threads > 1}"}[options.variant]
os.environ["PYTENSOR_FLAGS"] = ",".join([os.environ.get("PYTENSOR_FLAGS", ""), "floatX=float32", flags]).strip(",")
start = time.perf_counter()
import pytensor
import pytensor.tensor as pt

import_s = time.perf_counter() - start

EXPRESSIONS = {"axpy_chain": lambda x: pt.tanh(1.5 * x + 0.25) * pt.sigmoid(x) + pt.exp(-x * x),
               "black_scholes": lambda *a: common.black_scholes(*a, pt.log, pt.exp, pt.sqrt, pt.erf),
               "softmax_rows": lambda x: pt.special.softmax(x, axis=1),
               "layernorm_rows": lambda *a: common.layer_norm(*a, pt.sqrt),
               **common.PLAIN}


def symbols(arrays):
    return [pt.TensorType(a.dtype, shape=(None,) * a.ndim)() for a in arrays]


def training(name, weights, inputs):
    weights = [pytensor.shared(w, borrow=True) for w in weights]
    x, targets = symbols(inputs)
    if name == "mlp_step":
        w1, w2, w3 = weights
        logits = pt.maximum(pt.maximum(x @ w1, 0) @ w2, 0) @ w3
    else:
        logits = x @ weights[0] + weights[1]
    loss = -pt.mean(pt.special.log_softmax(logits, axis=1)[pt.arange(targets.shape[0]), targets])
    updates = [(w, w - common.RATES[name] * g) for w, g in zip(weights, pytensor.grad(loss, weights))]
    step = pytensor.function([x, targets], loss, updates=updates)
    return lambda: [step(*inputs)], lambda: [w.get_value(borrow=True) for w in weights]


def build(name, weights, inputs):
    if name in common.RATES:
        return training(name, weights, inputs)
    if name == "call_shared":
        function = pytensor.function([], pytensor.shared(inputs[0]) * 2)
        return lambda: [function()], None
    arguments = symbols(inputs)
    if name.startswith("graph_"):
        result = common.fan_out(arguments[0], int(name.split("_")[1]), pt.tanh)
    else:
        expression = EXPRESSIONS["axpy_chain" if name.startswith("axpy_chain_") else name]
        with pytensor.config.change_flags(floatX=inputs[0].dtype.name):  # the type of numbers in expressions
            result = expression(*arguments)
    function = pytensor.function(arguments, result)
    if name == "black_scholes":  # two results
        return lambda: function(*inputs), None
    if len(inputs) == 1:
        x = inputs[0]
        return lambda: [function(x)], None
    return lambda: [function(*inputs)], None


common.run(options, build, {"pytensor": pytensor.__version__}, import_s)
