"""CuPy on a GPU: elementwise work under cupy.fuse, the rest as one writes it. It has no gradients, so no mlp_step."""
import gpu_common as common

options = common.start("cupy", "cupy")
import cupy


@cupy.fuse()
def axpy_chain(x):
    return cupy.tanh(1.5 * x + 0.25) / (1 + cupy.exp(-x)) + cupy.exp(-x * x)


def softmax_rows(x):
    e = cupy.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


EXPRESSIONS = {"axpy_chain": axpy_chain, "softmax_rows": softmax_rows, "reduce_sum_0": lambda x: x.sum(axis=0),
               "reduce_sum_1": lambda x: x.sum(axis=1), "reduce_sum_all": lambda x: x.sum()}
last = []  # what the newest call gave


def build(name, variant, weights, inputs):
    function = EXPRESSIONS[name if name in EXPRESSIONS else name.rsplit("_", 1)[0]]
    x = cupy.asarray(inputs[0])

    def step():
        last[:] = [function(x)]
    return step, lambda: [cupy.asnumpy(last[0])]


options.workloads = [name for name in options.workloads if name != "mlp_step"]
device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
common.run(options, {"cupy": cupy.__version__, "device": device}, ["fuse"], build, cupy.cuda.Device().synchronize)
