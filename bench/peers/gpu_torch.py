"""PyTorch on a GPU: eager, and under torch.compile in its default mode and with CUDA graphs; others on request."""
import gpu_common as common

options = common.start("torch", "torch")
import torch

torch.set_float32_matmul_precision("highest")  # float32 products in float32, as all programs here
torch.set_grad_enabled(False)  # torch.func.grad works all the same
device = "cuda" if torch.cuda.is_available() else "cpu"
wait = torch.cuda.synchronize if device == "cuda" else lambda: None

EXPRESSIONS = {"axpy_chain": lambda x: torch.tanh(1.5 * x + 0.25) * torch.sigmoid(x) + torch.exp(-x * x),
               "softmax_rows": lambda x: torch.softmax(x, 1),
               "reduce_sum_0": lambda x: x.sum(0),
               "reduce_sum_1": lambda x: x.sum(1),
               "reduce_sum_all": lambda x: x.sum()}
MODES = {"compile": "default", "reduce-overhead": "reduce-overhead", "max-autotune": "max-autotune",
         "max-autotune-no-cudagraphs": "max-autotune-no-cudagraphs"}
last = []  # what the newest call gave


def mlp_loss(weights, x, targets):
    logits = torch.relu(torch.relu(x @ weights[0]) @ weights[1]) @ weights[2]
    return torch.nn.functional.cross_entropy(logits, targets)


def train(weights, x, targets):
    slopes, value = torch.func.grad_and_value(mlp_loss)(weights, x, targets)
    for w, g in zip(weights, slopes):
        w.sub_(0.1 * g)
    return value


def compiled(function, variant):
    if variant == "eager":
        return function
    torch.compiler.reset()
    return torch.compile(function, mode=MODES[variant], dynamic=False)


def build(name, variant, weights, inputs):
    inputs = [torch.from_numpy(a).to(device) for a in inputs]
    if name == "mlp_step":
        state = tuple(torch.from_numpy(w.copy()).to(device) for w in weights)
        for w in state:
            torch._dynamo.mark_static_address(w)  # CUDA graphs may then update it in place
        function = compiled(train, variant)
        arguments, results = (state, *inputs), lambda: [w.cpu().numpy() for w in state]
    else:
        function = compiled(EXPRESSIONS[name if name in EXPRESSIONS else name.rsplit("_", 1)[0]], variant)
        arguments, results = inputs, lambda: [last[0].cpu().numpy()]

    def step():
        if variant != "eager":
            torch.compiler.cudagraph_mark_step_begin()  # the last result may be overwritten
        last[:] = [function(*arguments)]
    return step, results


def product_ceiling(dtype, n=8192):
    """Products of random matrices; lines of their own, as croton_gpu_bench prints for its ceilings."""
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    found = common.timing(lambda: a @ b, wait, 0.3)
    rate = lambda key: 2 * n**3 / found[key]
    common.show(program="torch", ceiling="product_" + str(dtype).split(".")[1], unit="flop/s", median=rate("median_s"),
                p10=rate("p90_s"), p90=rate("p10_s"), samples=found["samples"])


if device == "cuda" and options.scale == 1:
    product_ceiling(torch.bfloat16)
name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
common.run(options, {"torch": torch.__version__, "device": name, "products": "float32, no TF32"},
           ["eager", "compile", "reduce-overhead"], build, wait)
