"""The program that check.sh and from_source.sh run with the installed module: a small training, by compiled kernels."""

import importlib.metadata
import pathlib
import sys

import croton
import croton.tensor as T


def loaded(library):
    return library in pathlib.Path("/proc/self/maps").read_text()


package = pathlib.Path(croton.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert importlib.metadata.version("croton")
# Importing is quick because the compiler, with LLVM and Clang, is loaded with the first kernel, and NumPy with the
# first array.
assert not loaded("libcroton_llvm") and "numpy" not in sys.modules
with_compiler = (package / "libcroton_llvm.so").exists()

import numpy as np  # noqa: E402

x, t = T.fmatrix("x"), T.fvector("t")
w = croton.shared(np.zeros(3, np.float32), "w")
cost = ((T.dot(x, w) - t) ** 2).mean()
train = croton.function([x, t], cost, updates=[(w, w - 0.1 * croton.grad(cost, w))])
points = np.random.default_rng(1).normal(size=(100, 3)).astype(np.float32)
truth = np.array([1, -2, 3], np.float32)
for _ in range(200):
    train(points, points @ truth)
np.testing.assert_allclose(w.get_value(), truth, atol=1e-3)
kernel = train.kernels()[0]
assert kernel.lines and all("use.py:" in line for line in kernel.lines), kernel.lines
if with_compiler:
    assert loaded(str(package / "libcroton_llvm.so")) and train.counts().reference_kernels == 0
print(f"trained on {train.counts().compiler}; {kernel.lines[0]}")
