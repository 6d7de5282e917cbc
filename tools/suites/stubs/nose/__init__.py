"""Stand-in for nose, which does not run on present Pythons: only what test files import of it."""
from unittest import SkipTest

from . import plugins, tools

__version__ = "1.3.7"
__all__ = ["SkipTest", "plugins", "tools"]
