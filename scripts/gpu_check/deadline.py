"""Limits of time."""
import time


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()

    def within(self, seconds, kept=0):
        """A deadline after this many seconds, or `kept` seconds before this one if that comes first."""
        return Deadline(min(seconds, self.left() - kept))
