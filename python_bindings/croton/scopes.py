"""Device scopes: ops that are built in `with croton.device("cuda1"): ...` run on that device; see
docs/use/devices.md."""

import contextlib

from . import _croton


class device(contextlib.ContextDecorator):
    """A scope: ops that the thread builds in it run on the device. Scopes nest; the innermost one counts."""

    def __init__(self, name):
        self.name = name
        self._scopes = []

    def __enter__(self):
        self._scopes.append(_croton.DeviceScope(self.name))
        return self

    def __exit__(self, *error):
        self._scopes.pop()


device_scope = device
