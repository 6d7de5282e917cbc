"""Faults of Croton that the oracle has found and that are not mended yet: it steps around them and counts them, and
docs/ops.md prints them. Each: the operation, its dtypes (or None for all), a part of the message, and the reason."""

KNOWN = [
    ("nnet.layer_norm", ("complex64", "complex128"), "elements differ",
     "divides by the root of the mean of (z - mean)^2, which is not var: that is the mean of |z - mean|^2"),
    ("nnet.softmax_crossentropy", ("int32", "int64", "uint32", "uint64"), "elements differ",
     "of integers it is float64 with the precision of float32 (its softmax is floatX)"),
    ("grad_clip", ("uint64", ), "elements differ", "the gradient by an integer is 0 before it, not that of the rest"),
    ("grad_scale", ("uint64", ), "elements differ", "the gradient by an integer is 0 before it, not that of the rest"),
    ("grad", ("uint64", ), "elements differ", "the gradient by an integer is 0 before a slice, not that of the rest"),
    ("Rop", ("int32", ), "elements differ", "an integer direction is rounded to floatX, though the result is float64"),
    ("nnet.prelu", ("int32", ), "elements differ", "integers are rounded to floatX, though the result is float64"),
    ("nnet.ultra_fast_sigmoid", ("float32", ), "elements differ", "of nan it is 0.9975"),
]


MET = set()  # those of KNOWN that were met: what is mended must leave the list


def known(name, dtype, problem):
    found = [at for at, (n, dtypes, part, _) in enumerate(KNOWN)
             if name == n and (dtypes is None or dtype in dtypes) and part in problem]
    MET.update(found)
    return bool(found)


def mended():
    left = [fault for at, fault in enumerate(KNOWN) if at not in MET]
    return [f"{name} of {', '.join(dtypes or ['all dtypes'])}: {why}" for name, dtypes, _, why in left]
