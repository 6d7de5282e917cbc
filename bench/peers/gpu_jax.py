"""JAX on a GPU: every workload is one function under jax.jit; training donates the memory of its old state."""
import os

import gpu_common as common

options = common.start("jax", "jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

import gpu_workloads

jax.config.update("jax_default_matmul_precision", "highest")  # float32 products in float32, as in all programs here


def layer_norm(x, gamma, beta):
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + gpu_workloads.LAYER_NORM_EPSILON) * gamma + beta


EXPRESSIONS = {"copy": jnp.copy,
               "add": lambda x, y: x + y,
               "axpy_chain": lambda x: jnp.tanh(1.5 * x + 0.25) * jax.nn.sigmoid(x) + jnp.exp(-x * x),
               "transpose": lambda x: x.T,
               "softmax": lambda x: jax.nn.softmax(x, axis=1),
               "layer_norm": layer_norm,
               "layer_norm_grad": lambda x, gamma, beta, dy: jax.vjp(layer_norm, x, gamma, beta)[1](dy),
               "reduce_sum_0": lambda x: x.sum(axis=0),
               "reduce_sum_1": lambda x: x.sum(axis=1),
               "reduce_sum_all": lambda x: x.sum()}
last = []  # the result of the latest call


def mlp_loss(parameters, x, targets):
    weights, biases = parameters[:3], parameters[3:] or [0] * 3
    for i, (w, b) in enumerate(zip(weights, biases)):
        x = jax.nn.relu(x) if i else x
        x = x @ w + b
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), targets[:, None], axis=1))


def mlp_step(parameters, x, targets):
    slopes = jax.grad(mlp_loss)(parameters, x, targets)
    return [p - gpu_workloads.RATE * g for p, g in zip(parameters, slopes)]


def adam_step(state, *gradients):
    (b1, b2), rate, epsilon = (gpu_workloads.ADAM[key] for key in ("betas", "lr", "eps"))
    parameters, means, squares, count = state
    count = count + 1
    means = [b1 * m + (1 - b1) * g for m, g in zip(means, gradients)]
    squares = [b2 * v + (1 - b2) * g * g for v, g in zip(squares, gradients)]
    step, shrink = rate / (1 - b1**count), 1 / (1 - b2**count)
    parameters = [p - step * m / (jnp.sqrt(v * shrink) + epsilon) for p, m, v in zip(parameters, means, squares)]
    return parameters, means, squares, count


def trained(function, first, inputs):
    """A step, and the current state."""
    compiled, state = jax.jit(function, donate_argnums=0), [first]

    def step():
        state[0] = compiled(state[0], *inputs)
        last[:] = state
    return step, lambda: state[0]


def build(kind, variant, weights, inputs):
    if kind == "mlp":
        return trained(mlp_step, weights, inputs)
    if kind == "adam":
        zeros = lambda: [jnp.zeros_like(w) for w in weights]
        step, state = trained(adam_step, (weights, zeros(), zeros(), jnp.zeros((), "float32")), inputs)
        return step, lambda: [a for part in state()[:3] for a in part]
    compiled = jax.jit(EXPRESSIONS[kind])

    def step():
        last[:] = [compiled(*inputs)]
    return step, lambda: jax.tree.leaves(last[0])


def take(array, index):
    array = jax.device_get(array)  # picking rows on the device would be compiled for each shape
    return array if index is None else array[index]


common.run(options, {"jax": jax.__version__, "device": str(jax.devices()[0]), "products": "float32, no TF32"},
           common.Peer(["jit"], {*EXPRESSIONS, "adam", "mlp"}, jnp.array, build, take,
                       lambda: jax.block_until_ready(last)))
