"""PyTorch on the CPU: eager, and the same functions under torch.compile (which needs a C++ compiler)."""
import time

import cnn
import common
import fits

options = common.settings("torch", ["eager", "compile"])
start = time.perf_counter()
import torch

import_s = time.perf_counter() - start
torch.set_num_threads(options.threads)
torch.set_grad_enabled(False)  # torch.func.grad_and_value works nevertheless
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


def lstm(weights, x):
    w, u, b = weights
    h = c = x.new_zeros(len(x), len(u))
    for z in (x.transpose(0, 1) @ w + b).unbind(0):
        i, f, g, o = (z + h @ u).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


def lstm_loss(weights, x, targets):
    return torch.nn.functional.mse_loss(lstm(weights, x), targets)


def lstm_module(weights):
    """PyTorch's own layer: the same order of gates, the weights of a gate in rows, and a second bias, which remains
    0."""
    w, u, b = weights
    module = torch.nn.LSTM(*w.shape[:1], len(u), batch_first=True)
    for parameter, values in zip(module.parameters(), (w.T, u.T, b, torch.zeros_like(b))):
        parameter.copy_(values)
    module.bias_hh_l0.requires_grad_(False)
    return module


def lstm_module_training(weights, x, targets):
    module = lstm_module(weights)
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=common.RATES["lstm_step"])

    @torch.enable_grad()
    def call():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(x)[0][:, -1], targets)
        loss.backward()
        optimizer.step()
        return [loss]
    return call, lambda: [p.detach().T if p.ndim == 2 else p.detach() for p in trained]


def cnn_loss(weights, x, targets):
    kernel, bias, dense, dense_bias = weights
    active = torch.relu(torch.nn.functional.conv2d(x, kernel, bias))
    return torch.nn.functional.cross_entropy(active.flatten(2).max(dim=2).values @ dense + dense_bias, targets)


def cnn_training(weights, x, targets):
    weights[0] = weights[0].permute(3, 2, 0, 1).contiguous()  # channels first, which is PyTorch's own order
    x = x.permute(0, 3, 1, 2).contiguous()
    means, squares = [torch.zeros_like(w) for w in weights], [torch.zeros_like(w) for w in weights]
    count = torch.zeros(())

    @compiled
    def step(weights, means, squares, count, x, targets):
        slopes, value = torch.func.grad_and_value(cnn_loss)(weights, x, targets)
        count.add_(1)
        rate = cnn.rate_at(count, torch.sqrt)
        for w, m, v, g in zip(weights, means, squares, slopes):
            m.lerp_(g, 1 - cnn.BETA_1)
            v.lerp_(g * g, 1 - cnn.BETA_2)
            w.sub_(rate * m / (v.sqrt() + cnn.EPSILON))
        return value
    return lambda: [step(weights, means, squares, count, x, targets)], lambda: weights


def training(name, weights, inputs):
    if name == "lstm_step" and options.variant == "eager":
        return lstm_module_training(weights, *inputs)
    loss = {"mlp_step": mlp_loss, "logreg_step": logreg_loss, "lstm_step": lstm_loss}[name]

    @compiled
    def step(weights, x, targets):
        slopes, value = torch.func.grad_and_value(loss)(weights, x, targets)
        for w, g in zip(weights, slopes):
            w.sub_(common.RATES[name] * g)
        return value
    return lambda: [step(weights, *inputs)], lambda: weights


def network(name, kernels):
    """The layers of a training with the given kernels, which PyTorch keeps with outputs and channels first."""
    nn = torch.nn
    normal = lambda size: nn.BatchNorm2d(size, eps=fits.EPSILON, momentum=1 - fits.KEPT)
    layers = {"fit_mlp": lambda: [nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)],
              "fit_cnn": lambda: [nn.Conv2d(1, 16, 3, 2, bias=False), normal(16), nn.ReLU(),
                                  nn.Conv2d(16, 32, 3, 2, bias=False), normal(32), nn.ReLU(),
                                  nn.Flatten(), nn.Linear(1152, 10)],
              "fit_tiny": lambda: [nn.Linear(4, 1)]}[name]()
    if name == "fit_cnn":
        kernels[2] = kernels[2].reshape(6, 6, 32, 10).permute(2, 0, 1, 3).reshape(1152, 10)
    for layer, kernel in zip([one for one in layers if isinstance(one, (nn.Linear, nn.Conv2d))], kernels, strict=True):
        layer.weight.copy_(kernel.T if kernel.ndim == 2 else kernel.permute(3, 2, 0, 1))
        if layer.bias is not None:
            layer.bias.zero_()
    return nn.Sequential(*layers)


def fitting(name, kernels, x, targets):
    model = network(name, kernels)
    fused = options.variant == "eager"  # one call for all parameters; torch.compile makes its own
    optimizer = torch.optim.Adam(model.parameters(), lr=cnn.RATE, eps=cnn.EPSILON, fused=fused)
    loss_of = torch.nn.MSELoss() if name == "fit_tiny" else torch.nn.CrossEntropyLoss()
    if name == "fit_cnn":
        x = x.permute(0, 3, 1, 2).contiguous()

    @compiled
    def step(x, targets):
        optimizer.zero_grad()
        result = model(x)
        loss = loss_of(result, targets)
        loss.backward()
        optimizer.step()
        return loss.detach(), 0 if name == "fit_tiny" else (result.argmax(dim=1) == targets).sum()

    @torch.enable_grad()
    def fit(rows):
        total = hits = 0
        for chosen in torch.from_numpy(rows).split(fits.BATCH[name]):
            loss, right = step(x[chosen], targets[chosen])
            total, hits = total + loss * len(chosen), hits + right
        return fits.means(name, (total, hits), rows)
    return fit


def build(name, weights, inputs):
    if name in fits.SAMPLES:
        return fitting(name, weights, *inputs)
    if name == "cnn_step":
        return cnn_training(weights, *inputs)
    if name in common.RATES:
        return training(name, weights, inputs)
    x = inputs[0]
    if name == "lstm_forward" and options.variant == "eager":
        module = lstm_module(weights)
        return lambda: [module(x)[0][:, -1]], None
    if name == "lstm_forward":
        forward = compiled(lstm)
        return lambda: [forward(weights, x)], None
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
