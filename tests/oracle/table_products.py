"""Products."""

import numpy as np

from samples import COMPLEX, between, plain
from table import always, call, row

DTYPES = ["float64", "float32", "float16", "int32", "int64", "int8", "complex64", "complex128"]
NEAR = dict(ulp={"float16": 4, "float32": 200, "float64": 200, "complex64": 64, "complex128": 64}, absolute=1e-5,
            why="the order of additions is the library's; the error grows with the inner size and with cancellation")
INNER = [(((5, 7), (7, 3)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((1, 1), (1, 1)), ((40, 33), (33, 20))),
         (((5, 7), (7,)), ((3, 0), (0,)), ((1, 1), (1,))), (((7,), (7, 3)), ((0,), (0, 2))), (((7,), (7,)), ((0,), (0,)), ((1,), (1,)))]
for shapes in INNER:
    row("dot", np.dot, plain, plain, shapes=shapes, dtypes=DTYPES, **NEAR,
        refusals=[([np.ones((2, 3)), np.ones((2, 3))], call()), ([np.ones(3), np.ones(4)], call())])
