"""Products."""

import numpy as np

from samples import between, plain
from table import call, row

DTYPES = ["float64", "float32", "float16", "int32", "int64", "int8", "complex64", "complex128"]
NEAR = dict(ulp={"float16": 4, "float32": 200, "float64": 200, "complex64": 64, "complex128": 64}, absolute=100,
            why="the order of additions is the library's; the error grows with the inner size and with cancellation")
INNER = [(((5, 7), (7, 3)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((1, 1), (1, 1)), ((40, 33), (33, 20))),
         (((5, 7), (7, )), ((3, 0), (0, )), ((1, 1), (1, ))), (((7, ), (7, 3)), ((0, ), (0, 2))),
         (((7, ), (7, )), ((0, ), (0, )), ((1, ), (1, )))]
for shapes in INNER:
    row("dot", np.dot, plain, plain, shapes=shapes, dtypes=DTYPES, **NEAR,
        refusals=[([np.ones((2, 3)), np.ones((2, 3))], call()), ([np.ones(3), np.ones(4)], call())])


def batched(reference):
    """The product of each pair of slices along the first axis."""
    return lambda a, b, **o: np.stack([reference(x, y, **o) for x, y in zip(a, b)]) if len(a) else None


ONES2 = np.ones((2, 3)), np.ones((2, 3))
N_D = [(((2, 3, 4), (2, 4, 5)), ((1, 1, 1), (1, 1, 1)), ((2, 0, 3), (2, 3, 2))), (((5, 7), (7, 3)), ((1, 1), (1, 1)))]
FEW = ["float64", "float32", "int32", "complex64"]
row("dot", np.dot, plain, plain, shapes=(((2, 3, 4), (2, 4, 5)), ((1, 1, 1), (3, 1, 2))), dtypes=FEW, **NEAR)
for shapes in N_D + INNER[1:]:
    row("matmul", np.matmul, plain, plain, shapes=shapes, dtypes=FEW, **NEAR, refusals=[(ONES2, call()),
                                                                                        ([np.ones(()),
                                                                                          np.ones(3)], call())])
row("batched_dot", np.matmul, plain, plain, shapes=N_D[0], dtypes=FEW, **NEAR,
    refusals=[([np.ones((2, 3, 4)), np.ones((3, 4, 5))], call())])
for shapes in (INNER[3], (((3, 4), (2,)), ((1, 0), (3,)))):
    row("outer", np.outer, plain, plain, shapes=shapes, dtypes=FEW, **NEAR)
row("inner", np.inner, plain, plain, shapes=(((5, 7), (3, 7)), ((0, 4), (2, 4)), ((1, 1), (1, 1))), dtypes=FEW, **NEAR,
    refusals=[([np.ones((2, 3)), np.ones((2, 4))], call())])
row("inner", np.inner, plain, plain, shapes=INNER[3], dtypes=FEW, **NEAR)
row("vdot", np.vdot, plain, plain, shapes=(((5, 7), (5, 7)), ((0, 2), (0, 2)), ((1, 1), (1, 1))), dtypes=FEW, **NEAR)
for left, right in (((2, 3, 4), (2, 3, 4)), ((3, 4), (4,)), ((4,), (2, 3, 4)), ((0, 3), (0, 3)), ((2, 0), (2, 0))):
    row("vecdot", np.vecdot, plain, plain, shapes=((left, right),), dtypes=FEW + ["complex128", "float16"],
        refusals=[([np.ones((2, 3)), np.ones((2, 4))], call()), ([np.ones(3), np.ones(())], call())], **NEAR)
for left, right in (((2, 3, 4), (2, 4)), ((3, 4), (4,)), ((3, 4), (5, 4)), ((2, 3, 4), (4,)), ((3, 0), (0,))):
    row("matvec", np.matvec, plain, plain, shapes=((left, right),), dtypes=FEW + ["complex128", "float16"],
        refusals=[([np.ones((2, 3)), np.ones(2)], call()), ([np.ones(3), np.ones(3)], call())], **NEAR)
    row("vecmat", np.vecmat, plain, plain, shapes=((right, left[:-2] + left[:-3:-1]),),
        dtypes=FEW + ["complex128", "float16"],
        refusals=[([np.ones(3), np.ones((2, 3))], call()), ([np.ones(3), np.ones(3)], call())], **NEAR)
row("kron", np.kron, plain, plain, shapes=(((2, 3), (4, 2)), ((1, 1), (3, 2)), ((0, 2), (1, 2))), dtypes=FEW, **NEAR)
row("tensordot", np.tensordot, plain, plain,
    shapes=(((4, 4, 4), (4, 4, 4)), ((1, 1, 1), (1, 1, 1)), ((0, 0, 0), (0, 0, 0))), dtypes=FEW,
    calls=[call(), call(1), call(axes=[[0, 2], [1, 0]]),
           call(axes=[[2], [0]]), call(3)], **NEAR, refusals=[([np.ones((2, 3)), np.ones((2, 3))], call(axes=1)),
                                                              ([np.ones((2, 3)), np.ones((3, 2))], call(axes=3))])
row("batched_tensordot", batched(lambda a, b: np.tensordot(a, b, [[0], [0]])), plain, plain,
    shapes=(((3, 4, 2), (3, 4, 5)), ((1, 1, 1), (1, 1, 1))), dtypes=FEW, build=lambda f, a, b: f(a, b, [[1], [1]]),
    **NEAR)
row("matrix_power", np.linalg.matrix_power, between(-1, 1), shapes=(((4, 4), ), ((1, 1), ), ((2, 2), )),
    calls=[call(2), call(0), call(1), call(5)], dtypes=["float64", "float32", "int32"], wide=False, ulp=200,
    absolute=100, why=NEAR["why"], refusals=[([np.ones((2, 2))], call(-1)), ([np.ones((2, 3))], call(2))])
for spec, shapes in {
        "ij,jk->ik": N_D[1], "ij,jk->ki": N_D[1], "bij,bjk->bik": N_D[0], "i,i->": INNER[3], "i,j->ij": INNER[3]
}.items():
    row("einsum", lambda a, b, spec=spec: np.einsum(spec, a, b), plain, plain, shapes=shapes, dtypes=FEW,
        build=lambda f, a, b, spec=spec: f(spec, a, b), **NEAR)
