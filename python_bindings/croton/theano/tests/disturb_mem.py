"""theano.tests.disturb_mem: changes the addresses of later allocations."""

import random

_objects = []


def disturb_mem():
    """Allocates a random number of small objects, so that tests detect an order that depends on addresses."""
    _objects[:] = [[None] * 4 for _ in range(random.randrange(1000))]
