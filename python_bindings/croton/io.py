"""Example data that is part of the library: no file is needed and nothing is downloaded."""

from ._croton.io import *  # noqa: F403
