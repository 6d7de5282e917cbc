"""A peer for tests/gpu_check/check.py: NumPy, with the protocol of the peers on a GPU (bench/peers/gpu_common.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bench", "peers"))
import gpu_common as common

options = common.start("numpy", "numpy")
import numpy as np

EXPRESSIONS = {"axpy_chain": lambda x: np.tanh(1.5 * x + 0.25) / (1 + np.exp(-x)) + np.exp(-x * x),
               "transpose": lambda x: np.ascontiguousarray(x.T),
               "reduce_sum_1": lambda x: x.sum(axis=1)}
last = []


def build(kind, variant, weights, inputs):
    def step():
        last[:] = [EXPRESSIONS[kind](*inputs)]
    return step, lambda: last


common.run(options, {"numpy": np.__version__},
           common.Peer(["plain"], set(EXPRESSIONS), np.array, build, lambda a, index: a if index is None else a[index],
                       lambda: None))
