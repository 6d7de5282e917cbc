"""Modes of compilation. A mode sets how much Croton optimises, and what calls check."""

import contextlib

from croton.flags import change_flags

from .configuration import config


class Mode:
    """A mode of compilation: optimizer=None or "fast_compile" rewrites less; the linker is only stored."""

    flags = {}

    def __init__(self, linker="cvm", optimizer="fast_run"):
        self.linker = linker
        self.optimizer = optimizer
        self.provided_linker, self.provided_optimizer = linker, optimizer

    def scope(self):
        """A scope in which functions are compiled in this mode."""
        fast = self.optimizer in (None, "None", "fast_compile", "merge")
        flags = {**({"optimizer": "fast_compile"} if fast else {}), **self.flags}
        return change_flags(**flags) if flags else contextlib.nullcontext()

    def _same(self, *_):
        return self

    def explain(self, error):
        """The error of a call in this mode's words."""
        return error

    def kind_of(self, kind):
        """The class of functions in this mode, derived from `kind`."""
        return kind

    including = excluding = requiring = register = _same

    def clone(self, link_kwargs=None, optimizer="", **kwargs):
        return type(self)(self.linker, self.optimizer if optimizer == "" else optimizer)

    def __str__(self):
        return f"{type(self).__name__}(linker={self.linker}, optimizer={self.optimizer})"


class NanGuardMode(Mode):
    """A mode that checks the result of every op for nan, infinities and numbers that are too large (Croton's flag
    nan_guard)."""

    def __init__(self, nan_is_error=None, inf_is_error=None, big_is_error=None, optimizer="default", linker=None):
        super().__init__(linker or "vm", "fast_run")
        checks = [name for name, value in (("nan", nan_is_error), ("inf", inf_is_error), ("big", big_is_error))
                  if value is None or value]
        self.flags = {"nan_guard": ",".join(checks)}

    def clone(self, link_kwargs=None, optimizer="", **kwargs):
        return self


class MonitorMode(Mode):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("MonitorMode calls Python before and after each op; Croton fuses ops into kernels. "
                                  "The nearest are theano.printing.Print and NanGuardMode.")


FAST_RUN = Mode("cvm", "fast_run")
FAST_COMPILE = Mode("py", "fast_compile")
predefined_modes = {"FAST_RUN": FAST_RUN, "FAST_COMPILE": FAST_COMPILE, "Mode": FAST_RUN, "None": Mode("py", None),
                    "NanGuardMode": NanGuardMode(),  # DebugMode: debug_mode.py
                    "ProfileMode": FAST_RUN, "PROFILE_MODE": FAST_RUN, "JAX": FAST_RUN, "NUMBA": FAST_RUN}


def get_mode(mode):
    """The mode of a name, or of the flags for None; a Mode is returned as it is. ValueError for an unknown name."""
    if mode is None:
        mode = config.mode
        if mode == "Mode":
            return FAST_COMPILE if config.optimizer in ("fast_compile", "None") else FAST_RUN
    if isinstance(mode, str):
        if mode not in predefined_modes:
            raise ValueError(f"No predefined mode exist for string: {mode}; there are {', '.join(predefined_modes)}")
        return predefined_modes[mode]
    return mode


def get_default_mode():
    """The mode that functions are compiled in by default."""
    return get_mode(None)


def register_mode(name, mode):
    """Registers a mode under a name. ValueError for a name that is taken."""
    if name in predefined_modes:
        raise ValueError(f"Mode name already taken: {name}")
    predefined_modes[name] = mode


default_mode = "Mode"
