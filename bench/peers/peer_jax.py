"""JAX on the CPU: every workload is one function under jax.jit, and steps donate their weights' memory."""
import os
import time

import cnn
import common
import fits

options = common.settings("jax")
os.environ["JAX_PLATFORMS"] = "cpu"
start = time.perf_counter()
import jax
import jax.numpy as jnp

import_s = time.perf_counter() - start
jax.config.update("jax_enable_x64", True)  # for black_scholes; the rest is float32 because its inputs are
if "JAX_COMPILATION_CACHE_DIR" in os.environ:  # everything goes into the cache, also small or quickly compiled code
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def loss_of(logits, targets):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], axis=1)
    return -jnp.mean(picked)


def mlp_loss(weights, x, targets):
    w1, w2, w3 = weights
    return loss_of(jax.nn.relu(jax.nn.relu(x @ w1) @ w2) @ w3, targets)


def logreg_loss(weights, x, targets):
    return loss_of(x @ weights[0] + weights[1], targets)


def lstm(weights, x):
    w, u, b = weights
    size = u.shape[0]

    def step(states, z):
        h, c = states
        z = z + h @ u
        i, f, o = (jax.nn.sigmoid(z[:, k * size:(k + 1) * size]) for k in (0, 1, 3))
        c = f * c + i * jnp.tanh(z[:, 2 * size:3 * size])
        return (o * jnp.tanh(c), c), None
    zero = jnp.zeros((x.shape[0], size), x.dtype)
    (h, _), _ = jax.lax.scan(step, (zero, zero), jnp.swapaxes(x, 0, 1) @ w + b)
    return h


def lstm_loss(weights, x, targets):
    return jnp.mean((lstm(weights, x) - targets)**2)


def cnn_loss(weights, x, targets):
    kernel, bias, dense, dense_bias = weights
    layout = ("NHWC", "HWIO", "NHWC")
    active = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=layout) + bias
    return loss_of(jax.nn.relu(active).max(axis=(1, 2)) @ dense + dense_bias, targets)


def adam(weights, means, squares, count, slopes):
    """All parameters after a step."""
    count = count + 1
    rate = cnn.rate_at(count, jnp.sqrt)
    means = [m + (1 - cnn.BETA_1) * (g - m) for m, g in zip(means, slopes)]
    squares = [v + (1 - cnn.BETA_2) * (g * g - v) for v, g in zip(squares, slopes)]
    weights = [w - rate * m / (jnp.sqrt(v) + cnn.EPSILON) for w, m, v in zip(weights, means, squares)]
    return weights, means, squares, count


def adam_begins(weights):
    return weights, [jnp.zeros_like(w) for w in weights], [jnp.zeros_like(w) for w in weights], jnp.zeros((), "float32")


def cnn_training(weights, inputs):
    state = [adam_begins(weights)]

    def step(state, x, targets):
        value, slopes = jax.value_and_grad(cnn_loss)(state[0], x, targets)
        return value, adam(*state, slopes)

    compiled = jax.jit(step, donate_argnums=0)

    def call():
        value, state[0] = jax.block_until_ready(compiled(state[0], *inputs))
        return [value]
    return call, lambda: state[0][0]


def normalised(z, gamma, beta, moving):
    """(result, the running averages after it)"""
    now = z.mean(axis=(0, 1, 2)), z.var(axis=(0, 1, 2))
    moving = [fits.KEPT * average + (1 - fits.KEPT) * one for average, one in zip(moving, now)]
    return (z - now[0]) * jax.lax.rsqrt(now[1] + fits.EPSILON) * gamma + beta, moving


def mlp_logits(weights, moving, x):
    w1, b1, w2, b2 = weights
    return jax.nn.relu(x @ w1 + b1) @ w2 + b2, moving


def convnet_logits(weights, moving, x):
    kernel1, gamma1, beta1, kernel2, gamma2, beta2, dense, bias = weights
    convolved = lambda x, kernel: jax.lax.conv_general_dilated(x, kernel, (2, 2), "VALID",
                                                               dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h, moving1 = normalised(convolved(x, kernel1), gamma1, beta1, moving[:2])
    h, moving2 = normalised(convolved(jax.nn.relu(h), kernel2), gamma2, beta2, moving[2:])
    return jax.nn.relu(h).reshape(len(x), -1) @ dense + bias, [*moving1, *moving2]


def tiny_loss(weights, moving, x, targets):
    return jnp.mean((x @ weights[0] + weights[1] - targets)**2), (0, moving)


def fit_loss(name):
    """A function of (weights, running averages, x, targets) that returns (loss, (right answers, averages after it))."""
    if name == "fit_tiny":
        return tiny_loss

    def loss(weights, moving, x, targets):
        logits, moving = {"fit_mlp": mlp_logits, "fit_cnn": convnet_logits}[name](weights, moving, x)
        return loss_of(logits, targets), (jnp.sum(logits.argmax(axis=1) == targets), moving)
    return loss


def fitting(name, kernels, inputs):
    filled = lambda size, value: jnp.full(size, value, "float32")
    loss_and_slopes = jax.value_and_grad(fit_loss(name), has_aux=True)
    state = [(adam_begins(fits.parameters(name, kernels, filled)), fits.averages(name, filled))]

    def step(state, sums, x, targets, rows):  # picking rows in a separate call would double the calls
        (trained, moving), x, targets = state, x[rows], targets[rows]
        (loss, (hits, moving)), slopes = loss_and_slopes(trained[0], moving, x, targets)
        return (adam(*trained, slopes), moving), sums + jnp.stack([loss * len(x), hits])

    compiled = jax.jit(step, donate_argnums=(0, 1))

    def fit(rows):
        sums = jnp.zeros(2, "float32")
        for chosen in rows.reshape(-1, fits.BATCH[name]):
            state[0], sums = compiled(state[0], sums, *inputs, chosen)
        return fits.means(name, sums, rows)
    return fit


def training(name, weights, inputs):
    loss = {"mlp_step": mlp_loss, "logreg_step": logreg_loss, "lstm_step": lstm_loss}[name]
    state = [weights]

    def step(weights, x, targets):
        value, slopes = jax.value_and_grad(loss)(weights, x, targets)
        return value, [w - common.RATES[name] * g for w, g in zip(weights, slopes)]

    compiled = jax.jit(step, donate_argnums=0)

    def call():
        value, state[0] = jax.block_until_ready(compiled(state[0], *inputs))
        return [value]
    return call, lambda: state[0]


def expression(name):
    """The workload as a function of its inputs."""
    if name.startswith("axpy_chain_"):
        return lambda x: jnp.tanh(1.5 * x + 0.25) * jax.nn.sigmoid(x) + jnp.exp(-x * x)
    if name.startswith("graph_"):
        return lambda x: common.fan_out(x, int(name.split("_")[1]), jnp.tanh)
    return {"black_scholes": lambda *a: common.black_scholes(*a, jnp.log, jnp.exp, jnp.sqrt, jax.scipy.special.erf),
            "softmax_rows": lambda x: jax.nn.softmax(x, axis=1),
            "layernorm_rows": lambda *a: common.layer_norm(*a, jnp.sqrt),
            **common.PLAIN}[name]


def build(name, weights, inputs):
    if name in fits.SAMPLES:
        return fitting(name, weights, inputs)
    if name == "cnn_step":
        return cnn_training(weights, inputs)
    if name in common.RATES:
        return training(name, weights, inputs)
    if name == "call_shared":
        shared = jax.jit(lambda: inputs[0] * 2)
        return lambda: [shared().block_until_ready()], None
    if name == "lstm_forward":
        forward = jax.jit(lstm)
        return lambda: [forward(weights, inputs[0]).block_until_ready()], None
    compiled = jax.jit(expression(name))
    if name == "black_scholes":  # two results
        return lambda: jax.block_until_ready(compiled(*inputs)), None
    if len(inputs) == 1:
        x = inputs[0]
        return lambda: [compiled(x).block_until_ready()], None
    return lambda: [compiled(*inputs).block_until_ready()], None


common.run(options, build, {"jax": jax.__version__}, import_s,
           place=lambda array: jnp.array(array).block_until_ready())
