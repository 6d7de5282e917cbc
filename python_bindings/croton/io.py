"""Data to try programs with, shipped inside the library: no file is needed and nothing is downloaded."""

from ._croton.io import *  # noqa: F403
