"""PyTorch on the CPU: eager, and the same functions under torch.compile (which needs a C++ compiler)."""
import time

import common

options = common.settings("torch", ["eager", "compile"])
start = time.perf_counter()
import torch

import_s = time.perf_counter() - start
torch.set_num_threads(options.threads)
torch.set_grad_enabled(False)  # torch.func.grad_and_value works all the same
compiled = torch.compile if options.variant == "compile" else lambda function: function

EXPRESSIONS = {"axpy_chain": lambda x: torch.tanh(1.5 * x + 0.25) * torch.sigmoid(x) + torch.exp(-x * x),
               "black_scholes": lambda *a: common.black_scholes(*a, torch.log, torch.exp, torch.sqrt, torch.erf),
               "softmax_rows": lambda x: torch.softmax(x, 1),
               "layernorm_rows": lambda x, *scale: torch.nn.functional.layer_norm(x, x.shape[1:], *scale, 1e-5),
               **common.PLAIN}


def mlp_loss(weights, x, targets):
    w1, w2, w3 = weights
    return torch.nn.functional.cross_entropy(torch.relu(torch.relu(x @ w1) @ w2) @ w3, targets)


def logreg_loss(weights, x, targets):
    return torch.nn.functional.cross_entropy(x @ weights[0] + weights[1], targets)


def training(name, weights, inputs):
    loss = {"mlp_step": mlp_loss, "logreg_step": logreg_loss}[name]

    @compiled
    def step(weights, x, targets):
        slopes, value = torch.func.grad_and_value(loss)(weights, x, targets)
        for w, g in zip(weights, slopes):
            w.sub_(common.RATES[name] * g)
        return value
    return lambda: [step(weights, *inputs)], lambda: weights


def build(name, weights, inputs):
    if name in common.RATES:
        return training(name, weights, inputs)
    x = inputs[0]
    if name == "call_shared":
        shared = compiled(lambda: x * 2)
        return lambda: [shared()], None
    if name.startswith("graph_"):
        function = compiled(lambda x: common.fan_out(x, int(name.split("_")[1]), torch.tanh))
    else:
        function = compiled(EXPRESSIONS["axpy_chain" if name.startswith("axpy_chain_") else name])
    if name == "black_scholes":  # two results
        return lambda: function(*inputs), None
    if len(inputs) == 1:
        return lambda: [function(x)], None
    return lambda: [function(*inputs)], None


common.run(options, build, {"torch": torch.__version__}, import_s, place=torch.tensor)
