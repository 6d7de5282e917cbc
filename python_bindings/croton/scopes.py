"""Devices: `with croton.device("cuda1"): ...` says where what is built in it runs. docs/use/devices.md has the
rest."""

import contextlib

from . import _croton


class device(contextlib.ContextDecorator):
    """What the thread builds in the scope runs on that device; scopes nest, the innermost counts."""

    def __init__(self, name):
        self.name = name
        self._scopes = []

    def __enter__(self):
        self._scopes.append(_croton.DeviceScope(self.name))
        return self

    def __exit__(self, *error):
        self._scopes.pop()


device_scope = device
