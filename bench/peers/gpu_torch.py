"""PyTorch on a GPU: eager, and under torch.compile in its default mode and with CUDA graphs; others on request."""
import os
import types

import gpu_common as common

options = common.start("torch", "torch")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # several programs may compile at the same time
import torch
import torch.nn.functional as F

import gpu_workloads

torch.set_float32_matmul_precision("highest")  # float32 products in float32, as in all programs here
torch.set_grad_enabled(False)  # torch.func works nevertheless
device = "cuda" if torch.cuda.is_available() else "cpu"

MODES = {"compile": "default", "reduce-overhead": "reduce-overhead", "max-autotune": "max-autotune",
         "max-autotune-no-cudagraphs": "max-autotune-no-cudagraphs"}
last = []  # the result of the latest call


def layer_norm(x, gamma, beta):
    return F.layer_norm(x, gamma.shape, gamma, beta, gpu_workloads.LAYER_NORM_EPSILON)


def layer_norm_grad(x, gamma, beta, dy):
    return torch.func.vjp(layer_norm, x, gamma, beta)[1](dy)


EXPRESSIONS = {"copy": torch.clone,
               "add": lambda x, y: x + y,
               "axpy_chain": lambda x: torch.tanh(1.5 * x + 0.25) * torch.sigmoid(x) + torch.exp(-x * x),
               "transpose": lambda x: x.t().contiguous(),
               "softmax": lambda x: torch.softmax(x, 1),
               "layer_norm": layer_norm,
               "layer_norm_grad": layer_norm_grad,
               "reduce_sum_0": lambda x: x.sum(0),
               "reduce_sum_1": lambda x: x.sum(1),
               "reduce_sum_all": lambda x: x.sum()}


def eager_layer_norm_grad(x, gamma, beta, dy):
    """Only the backward pass: the statistics of rows are from one forward pass."""
    with torch.enable_grad():
        parameters = [a.detach().requires_grad_() for a in (x, gamma, beta)]
        y = layer_norm(*parameters)
    return lambda: torch.autograd.grad(y, parameters, dy, retain_graph=True)


def mlp_loss(parameters, x, targets):
    weights, biases = parameters[:3], parameters[3:] or [None] * 3
    for i, (w, b) in enumerate(zip(weights, biases)):
        x = torch.relu(x) if i else x
        x = x @ w if b is None else torch.addmm(b, x, w)
    return F.cross_entropy(x, targets)


def mlp_step(parameters, x, targets):
    for p, slope in zip(parameters, torch.func.grad(mlp_loss)(parameters, x, targets)):
        p.sub_(gpu_workloads.RATE * slope)


def adam_step(parameters, gradients, means, squares, count):
    """The work that torch.compile generates for step() of torch.optim.Adam with foreach=True and capturable=True,
    without its guards on the optimizer, which cost more in each call than the work of small models."""
    (b1, b2), rate, epsilon = (gpu_workloads.ADAM[key] for key in ("betas", "lr", "eps"))
    count.add_(1)
    torch._foreach_lerp_(means, gradients, 1 - b1)
    torch._foreach_mul_(squares, b2)
    torch._foreach_addcmul_(squares, gradients, gradients, 1 - b2)
    roots = torch._foreach_sqrt(squares)
    torch._foreach_div_(roots, (1 - b2**count).sqrt())
    torch._foreach_add_(roots, epsilon)
    torch._foreach_div_(roots, -rate / (1 - b1**count))
    torch._foreach_addcdiv_(parameters, means, roots)


def compiled(function, variant):
    """The compiled function, with its own code object: TorchDynamo stores compiled code per code object, and would
    check that of all other variants and workloads in each call."""
    if variant == "eager":
        return function
    if isinstance(function, types.FunctionType):
        function = types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__)
    return torch.compile(function, mode=MODES[variant], dynamic=False)


def stepper(function, variant, *arguments):
    def step():
        if variant != "eager":
            torch.compiler.cudagraph_mark_step_begin()  # the last result may be overwritten
        last[:] = [function(*arguments)]
    return step


def as_list(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def build_adam(variant, parameters, gradients):
    if variant == "eager":
        optimizer = torch.optim.Adam(parameters, **gpu_workloads.ADAM, fused=True)
        for p, g in zip(parameters, gradients):
            p.grad = g
        state = lambda key: [optimizer.state[p][key] for p in parameters]
        return optimizer.step, lambda: parameters + state("exp_avg") + state("exp_avg_sq")
    means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    count = torch.zeros((), device=device)
    for tensor in (*means, *squares, count):
        torch._dynamo.mark_static_address(tensor)
    step = stepper(compiled(adam_step, variant), variant, parameters, gradients, means, squares, count)
    return step, lambda: parameters + means + squares


def build(kind, variant, weights, inputs):
    if variant != "eager":
        for tensor in (*weights, *inputs):
            torch._dynamo.mark_static_address(tensor)  # CUDA graphs then work on it in place, without copies
    if kind == "adam":
        return build_adam(variant, weights, inputs)
    if kind == "mlp":
        return stepper(compiled(mlp_step, variant), variant, weights, *inputs), lambda: weights
    if kind == "layer_norm_grad" and variant == "eager":
        return stepper(eager_layer_norm_grad(*inputs), variant), lambda: as_list(last[0])
    return stepper(compiled(EXPRESSIONS[kind], variant), variant, *inputs), lambda: as_list(last[0])


def place(array):
    return torch.from_numpy(array).to(device, copy=True)


def take(tensor, index):
    return (tensor if index is None else tensor[torch.from_numpy(index).to(device)]).cpu().numpy()


def product_ceiling(dtype, n=8192):
    """Products of random matrices; separate lines, like those of croton_gpu_bench for its ceilings."""
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    found = common.timing(lambda: a @ b, wait, 0.3)
    rate = lambda key: 2 * n**3 / found[key]
    common.show(program="torch", ceiling="product_" + str(dtype).split(".")[1], unit="flop/s", median=rate("median_s"),
                p10=rate("p90_s"), p90=rate("p10_s"), samples=found["samples"])


def ceilings():
    """Only with the workload of large products, so that only one of several processes measures it."""
    if device == "cuda" and options.scale == 1 and "mlp_big" in (options.workloads or gpu_workloads.WORKLOADS):
        product_ceiling(torch.bfloat16)


def wait():
    if device == "cuda":
        torch.cuda.synchronize()


name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
common.run(options, {"torch": torch.__version__, "device": name, "products": "float32, no TF32"},
           common.Peer(["eager", "compile", "reduce-overhead"], {*EXPRESSIONS, "adam", "mlp"}, place, build, take, wait,
                       ceilings))
