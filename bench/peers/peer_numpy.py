"""Plain NumPy: an array per operation."""
import time

import common
import fits

options = common.settings("numpy")
start = time.perf_counter()
import numpy as np

import_s = time.perf_counter() - start


def build(name, weights, inputs):
    if name in fits.SAMPLES:
        return fits.trainer(name, weights, inputs, common.cross_entropy)
    return common.numpy_work(name, weights, inputs), lambda: weights


blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
common.run(options, build, {"numpy": np.__version__, "blas": f"{blas['name']} {blas['version']}"}, import_s)
