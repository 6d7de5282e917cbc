"""Comparison of expressions by what they compute."""

from croton import _croton

from .cloning import clone
from .wrapping import unwrap


def is_same_graph(var1, var2, givens=None):
    """Whether both compute the same, with the variables in givens replaced."""
    if givens:
        var1, var2 = clone([var1, var2], givens)
    return _croton.equal_computations([var1._croton], [var2._croton])


def equal_computations(xs, ys, in_xs=None, in_ys=None):
    """Whether both lists compute the same, with in_xs equal to in_ys by position."""
    return _croton.equal_computations(unwrap(list(xs)), unwrap(list(ys)), unwrap(list(in_xs or [])),
                                      unwrap(list(in_ys or [])))
