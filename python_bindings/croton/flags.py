"""Flags: croton.config.NAME reads and sets them, change_flags changes them for a scope. docs/use/flags.md lists
them."""

import contextlib

from . import _croton


def _from_text(flag):
    if flag.type == "bool":
        return flag.value == "true"
    return int(flag.value) if flag.type == "int" else flag.value


def _to_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


class Config:
    """The flags as attributes: `croton.config.floatX`, `croton.config.threads = 2` (for the whole process)."""

    def __getattr__(self, name):
        if name.startswith("_"):  # Python and notebooks look these up; they are not flags
            raise AttributeError(name)
        for flag in _croton.flags():
            if flag.name == name:
                return _from_text(flag)
        return _croton.flag(name)  # raises ConfigError, which names the nearest flag

    def __setattr__(self, name, value):
        _croton.set_flag(name, _to_text(value))

    def __dir__(self):
        return [flag.name for flag in _croton.flags()]

    def __repr__(self):
        return "\n".join(f"{flag.name} = {flag.value}  ({flag.origin})" for flag in _croton.flags())


class change_flags(contextlib.ContextDecorator):
    """Changes flags for the calling thread: `with croton.change_flags(device="cpu"): ...`; also a decorator.

    Scopes nest, and do not affect other threads. ConfigError, with no change, for a wrong name or value.
    """

    def __init__(self, **flags):
        self._settings = ",".join(f"{name}={self._quoted(_to_text(value))}" for name, value in flags.items())
        self._scopes = []

    @staticmethod
    def _quoted(text):
        quote = "'" if '"' in text else '"'
        return quote + text + quote

    def __enter__(self):
        self._scopes.append(_croton.FlagScope(self._settings))
        return self

    def __exit__(self, *error):
        self._scopes.pop()


config = Config()
