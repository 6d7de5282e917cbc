"""Signal processing: pooling, and convolution without channels."""

from . import conv, pool  # noqa: F401
