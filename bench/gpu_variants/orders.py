"""The orders of additions that kernels promise, in NumPy, and errors."""
import numpy as np


def pairwise(pieces):
    """Joins the consecutive pieces of axis 0, a power of two."""
    while len(pieces) > 1:
        pieces = pieces[0::2] + pieces[1::2]
    return pieces[0]


def in_order(terms):
    """The sum along axis 0, one after the other."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def column_tree(columns):
    """Of axis 0: chunks of 16 rows in order, then pairwise."""
    rows, width = columns.shape
    return pairwise(in_order(columns.reshape(rows // 16, 16, width).swapaxes(0, 1)))


def row_tree(rows):
    """Of axis 1: 128 accumulators in each block of 1024, in order.

    The four of a lane join as (0 + 2) + (1 + 3), then lanes join by halves, then blocks pairwise.
    """
    count, length = rows.shape
    block = min(length, 1024)
    lanes = min(block // 4, 32)
    a = in_order(np.moveaxis(rows.reshape(count, length // block, -1, lanes, 4), 2, 0))
    values = np.moveaxis((a[..., 0] + a[..., 2]) + (a[..., 1] + a[..., 3]), -1, 0)
    while len(values) > 1:
        half = len(values) // 2
        values = values[:half] + values[half:]
    return pairwise(values[0].T)


def relative(got, want, floor):
    """The largest error, relative to max(|want|, floor)."""
    return float(np.max(np.abs(got - want) / np.maximum(np.abs(want), floor)))


def some_rows(rows):
    """The rows that are checked in NumPy."""
    return sorted({0, 1, rows // 3, rows - 1})
