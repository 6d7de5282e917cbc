"""theano.ifelse: lazy branches."""

from .branching import ifelse  # noqa: F401
