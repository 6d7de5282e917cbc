"""The older name of `parameterized`."""
from parameterized import param, parameterized

__all__ = ["param", "parameterized"]
