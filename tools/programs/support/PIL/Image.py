"""Keeps the array and writes nothing."""


class Image(object):
    """What `fromarray` gives."""

    def __init__(self, array):
        self.array = array

    def save(self, *args, **kwargs):
        """Writes nothing."""


def fromarray(array, *args):
    """An image of the array."""
    return Image(array)
