"""Accepts every call and does nothing."""

__all__ = ["show"]


class _Anything(object):
    def __getattr__(self, name):
        return _Anything()

    def __call__(self, *args, **kwargs):
        return _Anything()


def show(*args, **kwargs):
    """Shows nothing."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Anything()
