"""theano.tests.disturb_mem: other addresses for what is allocated next."""

import random

_kept = []


def disturb_mem():
    """Keeps a random number of small objects, so that an order that hangs on addresses shows."""
    _kept[:] = [[None] * 4 for _ in range(random.randrange(1000))]
