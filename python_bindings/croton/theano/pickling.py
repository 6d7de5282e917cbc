"""Pickles of compiled functions."""


def reduce_function(f):
    raise TypeError(f"{f} cannot be pickled yet: keep what builds it, and the values of its shared variables")
