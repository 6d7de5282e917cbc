from . import attrib, skip

__all__ = ["attrib", "skip"]
