"""Ordered updates of shared variables."""

import collections

from .sharing import SharedVariable


class OrderedUpdates(collections.OrderedDict):
    """An ordered dict of updates; the keys are shared variables (else TypeError)."""

    def __init__(self, *entries, **named):
        super().__init__()
        for key, value in collections.OrderedDict(*entries, **named).items():
            self[key] = value

    def __setitem__(self, key, value):
        if not isinstance(key, SharedVariable):
            raise TypeError("OrderedUpdates keys must inherit from SharedVariable", key)
        super().__setitem__(key, value)

    def update(self, other=None):
        """Adds other updates. KeyError for a variable that has a different one."""
        for key, value in dict(other or {}).items():
            if key in self and self[key] is not value:
                raise KeyError("Collision", key)
            self[key] = value

    def __add__(self, other):
        result = OrderedUpdates()
        result.update(self)
        result.update(other)
        return result

    __radd__ = __add__
