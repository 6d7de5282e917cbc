"""Conditions that are checked when a function is called."""

import numpy

from croton import _croton

from .wrapping import as_variable, wrap


class Assert:
    """Assert(message)(x, *conditions): x, if no condition has an element that is 0; else AssertionError, or the given
    exception."""

    def __init__(self, msg="Theano Assert failed!", exc_type=AssertionError):
        self.msg, self.exc_type = msg, exc_type

    def __call__(self, value, *conds):
        value = as_variable(value)
        conditions = [as_variable(c) for c in conds]
        for c in conditions:
            if c.ndim != 0:
                raise AssertionError(f"conditions of an assertion are scalars; {c} has {c.ndim} dimensions")
        message, exc_type = self.msg, self.exc_type

        def results(x, *_):
            return x.dtype, list(x.shape)

        def compute(x, *values):
            if not all(numpy.all(value) for value in values):
                raise exc_type(message)
            return x

        op = _croton.HostOp("Assert", results, compute, lambda inputs, outputs, gs: [gs[0]] + [None] * len(conditions))
        return wrap(op(value._croton, *[c._croton for c in conditions]))

    def __eq__(self, other):
        return type(self) is type(other) and (self.msg, self.exc_type) == (other.msg, other.exc_type)

    def __hash__(self):
        return hash((Assert, self.msg))


assert_op = Assert()
