"""A program with types, which test_stubs.py checks against the package's stubs."""

import numpy as np

import croton
import croton.tensor as T

x: croton.Variable = T.fmatrix("x")
w: croton.SharedVariable = croton.shared(np.zeros(3, np.float32), name="w")
y = T.dot(x, w) + 1.0
cost: croton.Variable = (y**2).mean(axis=0) + T.sqr(w).sum() * T.nnet.sigmoid(y).max()
f: croton.Function = croton.function([x, croton.In(y, value=1.0)], [cost, T.exp(y)], updates=[(w, w - croton.grad(cost, w))])
name: str = f.name
results = f(np.ones((2, 3), np.float32))
text: str = f.kernels("cuda:sm_90")[0].source
lines: list[str] = f.kernels()[0].lines
value = w.get_value() + 1
a, b = T.vectors("a", "b")
both: croton.Variable = T.add(a, b).reshape((2, 3))
images, labels = croton.io.digits()
with croton.device("cpu"), croton.change_flags(floatX="float64"):
    pass
try:
    f()
except croton.ShapeError as error:
    print(error)
