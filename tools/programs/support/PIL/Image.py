"""Keeps the array and writes nothing."""


class Image(object):
    """The result of `fromarray`."""

    def __init__(self, array):
        self.array = array

    def save(self, *args, **kwargs):
        """Writes nothing."""


def fromarray(array, *args):
    """An image of the array."""
    return Image(array)
