"""JAX on the CPU: every workload is one function under jax.jit, and steps give their weights' memory away."""
import os
import time

import cnn
import common

options = common.settings("jax")
os.environ["JAX_PLATFORMS"] = "cpu"
start = time.perf_counter()
import jax
import jax.numpy as jnp

import_s = time.perf_counter() - start
jax.config.update("jax_enable_x64", True)  # for black_scholes; the rest is float32 because its inputs are
if "JAX_COMPILATION_CACHE_DIR" in os.environ:  # everything goes into the cache, also what is small or quickly made
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


def cnn_training(weights, inputs):
    zeros = [jnp.zeros_like(w) for w in weights]
    state = [(weights, zeros, list(map(jnp.copy, zeros)), jnp.zeros((), "float32"))]

    def step(state, x, targets):
        weights, means, squares, count = state
        value, slopes = jax.value_and_grad(cnn_loss)(weights, x, targets)
        count = count + 1
        rate = cnn.rate_at(count, jnp.sqrt)
        means = [m + (1 - cnn.BETA_1) * (g - m) for m, g in zip(means, slopes)]
        squares = [v + (1 - cnn.BETA_2) * (g * g - v) for v, g in zip(squares, slopes)]
        weights = [w - rate * m / (jnp.sqrt(v) + cnn.EPSILON) for w, m, v in zip(weights, means, squares)]
        return value, (weights, means, squares, count)

    compiled = jax.jit(step, donate_argnums=0)

    def call():
        value, state[0] = jax.block_until_ready(compiled(state[0], *inputs))
        return [value]
    return call, lambda: state[0][0]


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
