"""ONNX Runtime on the CPU: models of one node per operation, made by the onnx package. It runs inference only."""
import time

import common
import fits

options = common.settings("onnxruntime")
start = time.perf_counter()
import onnxruntime

import_s = time.perf_counter() - start
import numpy as np
import onnx
from onnx import TensorProto, helper


class Model:
    """A graph of float32 values that is extended by a node at a time."""

    def __init__(self, inputs):
        self.nodes, self.constants = [], []
        self.inputs = [helper.make_tensor_value_info(f"in{i}", TensorProto.FLOAT, array.shape)
                       for i, array in enumerate(inputs)]

    def add(self, op, *operands, result=0, **attributes):
        """The value is the node's result with this number; earlier results are omitted."""
        name = f"v{len(self.nodes)}"
        names = [v.name for v in operands]
        self.nodes.append(helper.make_node(op, names, [""] * result + [name], **attributes))
        return Value(self, name)

    def constant(self, value, dtype="float32"):
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return Value(self, name)

    def session(self, result):
        output = helper.make_tensor_value_info(result.name, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "workload", self.inputs, [output], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        return onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


class Value:
    """A name in a model, with the operators that the workloads use."""

    def __init__(self, model, name):
        self.model, self.name = model, name

    def apply(self, op, *others, **attributes):
        others = [v if isinstance(v, Value) else self.model.constant(v) for v in others]
        return self.model.add(op, self, *others, **attributes)

    def __add__(self, other):
        return self.apply("Add", other)

    def __sub__(self, other):
        return self.apply("Sub", other)

    def __mul__(self, other):
        return self.apply("Mul", other)

    def __matmul__(self, other):
        return self.apply("MatMul", other)


def total(x, *axes):
    if not axes:
        return x.apply("ReduceSum", keepdims=0)
    return x.apply("ReduceSum", x.model.constant(axes, "int64"), keepdims=0)


def axpy_chain(x):
    return (x * 1.5 + 0.25).apply("Tanh") * x.apply("Sigmoid") + (x * x).apply("Neg").apply("Exp")


def lstm(x, w, u, b):
    """The operation has the gates in the order i, o, f, c, the weights of a gate in rows, and a second bias."""
    turned = lambda a: np.concatenate([np.split(a, 4, axis=-1)[k] for k in (0, 3, 1, 2)], axis=-1)
    constant = lambda a: x.model.constant(a[np.newaxis])  # the first axis: directions
    bias = np.concatenate([turned(b), np.zeros_like(b)])
    by_time = x.apply("Transpose", perm=[1, 0, 2])
    last = by_time.apply("LSTM", constant(turned(w).T), constant(turned(u).T), constant(bias), hidden_size=len(u),
                         result=1)
    return last.apply("Squeeze", x.model.constant([0], "int64"))


EXPRESSIONS = {"axpy_chain": axpy_chain,
               "softmax_rows": lambda x: x.apply("Softmax", axis=1),
               "layernorm_rows": lambda x, *scale: x.apply("LayerNormalization", *scale, axis=1, epsilon=1e-5),
               "reduce_sum_0": lambda x: total(x, 0),
               "reduce_sum_1": lambda x: total(x, 1),
               "reduce_sum_all": total,
               "transpose_add": lambda x: x + x.apply("Transpose", perm=[1, 0]),
               "gemm_1000": lambda a, b: a @ b,
               "matpow": common.matpow,
               "call_arg": lambda x: x * 2}


def build(name, weights, inputs):
    model = Model(inputs)
    arguments = [Value(model, given.name) for given in model.inputs]
    if name.startswith("graph_"):
        result = common.fan_out(arguments[0], int(name.split("_")[1]), lambda v: v.apply("Tanh"))
    elif name == "lstm_forward":
        result = lstm(arguments[0], *weights)
    else:
        result = EXPRESSIONS["axpy_chain" if name.startswith("axpy_chain_") else name](*arguments)
    session = model.session(result)
    given = {argument.name: array for argument, array in zip(arguments, inputs)}
    return lambda: session.run(None, given), None


# It has no training, no erf in double precision and no shared variables.
common.run(options, build, {"onnxruntime": onnxruntime.__version__}, import_s,
           cannot=[*common.TRAINED, *fits.SAMPLES, "black_scholes", "call_shared"])
