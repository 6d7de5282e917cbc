"""JAX on a GPU: every workload is one function under jax.jit; training gives its weights' memory away."""
import os

import gpu_common as common

options = common.start("jax", "jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

jax.config.update("jax_default_matmul_precision", "highest")  # float32 products in float32, as all programs here

EXPRESSIONS = {"axpy_chain": lambda x: jnp.tanh(1.5 * x + 0.25) * jax.nn.sigmoid(x) + jnp.exp(-x * x),
               "softmax_rows": lambda x: jax.nn.softmax(x, axis=1),
               "reduce_sum_0": lambda x: x.sum(axis=0),
               "reduce_sum_1": lambda x: x.sum(axis=1),
               "reduce_sum_all": lambda x: x.sum()}
last = []  # what the newest call gave


def mlp_loss(weights, x, targets):
    logits = jax.nn.relu(jax.nn.relu(x @ weights[0]) @ weights[1]) @ weights[2]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], axis=1))


def train(weights, x, targets):
    value, slopes = jax.value_and_grad(mlp_loss)(weights, x, targets)
    return value, [w - 0.1 * g for w, g in zip(weights, slopes)]


def build(name, variant, weights, inputs):
    inputs = [jnp.asarray(a) for a in inputs]
    if name == "mlp_step":
        compiled, state = jax.jit(train, donate_argnums=0), [[jnp.array(w) for w in weights]]

        def step():
            value, state[0] = compiled(state[0], *inputs)
            last[:] = [value, *state[0]]
        return step, lambda: [jax.device_get(w) for w in state[0]]
    key = name if name in EXPRESSIONS else name.rsplit("_", 1)[0]
    compiled = jax.jit(EXPRESSIONS[key])

    def step():
        last[:] = [compiled(inputs[0])]
    return step, lambda: [jax.device_get(last[0])]


common.run(options, {"jax": jax.__version__, "device": str(jax.devices()[0]), "products": "float32, no TF32"}, ["jit"],
           build, lambda: jax.block_until_ready(last))
