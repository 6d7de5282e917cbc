"""theano.config: Theano's flags. Flags that Croton also has set Croton's; others are only stored, so that programs that
read or set them run. THEANO_FLAGS and .theanorc are read once, when the package is imported."""

import configparser
import contextlib
import difflib
import functools
import os
import sys
import threading

import numpy

from croton import _croton
from croton.flags import change_flags as croton_change_flags

_FLOATS = ("float16", "float32", "float64")

# Flags that are only stored, with their defaults. A name with a dot is a flag of a section.
_DEFAULTS = {
    "allow_gc": True, "assert_no_cpu_op": "ignore", "autocast_float": "numpy+floatX", "base_compiledir": "",
    "cast_policy": "custom", "check_input": True, "compiledir": "", "compute_test_value": "off",
    "compute_test_value_opt": "off", "contexts": "", "cxx": "", "deterministic": "default",
    "enable_initial_driver_test": True, "exception_verbosity": "low", "force_device": False, "gcc.cxxflags": "",
    "blas.ldflags": "", "gpuarray.preallocate": 0.0, "gpuarray.sched": "default", "dnn.enabled": "auto",
    "dnn.conv.algo_fwd": "small", "dnn.conv.algo_bwd_data": "none", "dnn.conv.algo_bwd_filter": "none",
    "init_gpu_device": "", "int_division": "int", "lib.amdlibm": False,
    "lib.cnmem": 0.0, "linker": "cvm", "mode": "Mode", "nvcc.fastmath": False, "openmp": False,
    "openmp_elemwise_minsize": 200000, "optimizer": "fast_run", "optimizer_excluding": "", "optimizer_including": "",
    "optimizer_verbose": False, "on_opt_error": "warn", "on_shape_error": "warn", "pickle_test_value": True,
    "print_test_value": False, "profile": False, "profile_memory": False, "profile_optimizer": False,
    "profiling.time_thunks": True, "reoptimize_unpickled_function": False, "scan.allow_gc": False,
    "scan.allow_output_prealloc": True, "scan.debug": False, "tensor.cmp_sloppy": 0,
    "tensor.insert_inplace_optimizer_validate_nb": -1, "tensor.local_elemwise_fusion": True, "traceback.limit": 8,
    "traceback.compile_limit": 0, "unittests.rseed": 666,
    "unpickle_function": True, "warn_float64": "ignore", "numpy.seterr_all": "ignore", "cycle_detection": "regular",
    "DebugMode.check_strides": 0, "DebugMode.patience": 10, "DebugMode.check_c": True, "DebugMode.check_py": True,
    "DebugMode.check_finite": True, "DebugMode.warn_input_not_reused": True, "DebugMode.check_preallocated_output": "",
    "DebugMode.check_preallocated_output_ndim": 4, "NanGuardMode.nan_is_error": True,
    "NanGuardMode.inf_is_error": True, "NanGuardMode.big_is_error": True, "conv.assert_shape": False, "metaopt.verbose":
    0, "cmodule.mac_framework_link": False, "cuda.root": "", "pthreads": False, "optimizer_requiring": "",
    "compiledir_format": "", "compile.wait": 5, "compile.timeout": 0, "dnn.conv.algo_bwd": "", "dnn.base_path": "",
    "dnn.include_path": "", "dnn.library_path": "", "dnn.bin_path": "", "gpuarray.cache_path": "",
    "gpuarray.single_stream": True, "nvcc.flags": "", "nvcc.compiler_bindir": "", "nvcc.cudafe": "heuristic",
    "NanGuardMode.action": "raise",
}
_CHOICES = {
    "floatX": _FLOATS, "compute_test_value": ("off", "ignore", "warn", "raise", "pdb"),
    "on_unused_input": ("raise", "warn", "ignore"), "exception_verbosity": ("low", "high"),
    "warn_float64": ("ignore", "warn", "raise", "pdb"), "cast_policy": ("custom", "numpy+floatX"),
    "optimizer": ("fast_run", "o1", "o2", "o3", "o4", "fast_compile", "merge", "unsafe", "None"),
    "int_division": ("int", "raise", "floatX"), "mode": ("Mode", "DebugMode", "FAST_RUN", "NanGuardMode",
                                                         "FAST_COMPILE", "DEBUG_MODE"),
}
_CROTON_FLAGS = {"floatX": "floatX", "on_unused_input": "on_unused_input", "print_active_device": "print_active_device"}


class _Section:
    """A section of flags, such as config.gpuarray."""

    def __init__(self, root, prefix):
        object.__setattr__(self, "_root", root)
        object.__setattr__(self, "_prefix", prefix)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._root._get(f"{self._prefix}.{name}")

    def __setattr__(self, name, value):
        self._root._set(f"{self._prefix}.{name}", value)


class Config:
    """The flags as attributes, readable and assignable: `theano.config.floatX = "float32"`."""

    def __init__(self):
        values = dict(_DEFAULTS)
        values["base_compiledir"] = os.path.join(os.path.expanduser("~"), ".theano")
        values["compiledir"] = values["base_compiledir"]
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_local", threading.local())

    def _get(self, name):
        if name in _CROTON_FLAGS:
            value = _croton.flag(_CROTON_FLAGS[name])
            return value == "true" if value in ("true", "false") else value
        if name == "device":
            device = _croton.flag("device")
            return "cpu" if device == "auto" and not _has_gpu() else "cuda0" if device == "auto" else device
        if name in self._values:
            return self._values[name]
        if any(key.startswith(name + ".") for key in self._values) or name in ("warn", "unittests", "experimental"):
            return _Section(self, name)
        if name.startswith(("warn.", "experimental.")):
            return False
        raise AttributeError(f"there is no flag theano.config.{name}")

    def _set(self, name, value):
        choices = _CHOICES.get(name)
        if choices and str(value) not in choices:
            raise ValueError(f"Invalid value ('{value}') for configuration variable \"{name}\". Valid options are "
                             f"{list(choices)}")
        if name == "device":
            _croton.use(str(value)) if str(value) != "cpu" else _croton.set_flag("device", "cpu")
        elif name in _CROTON_FLAGS:
            _croton.set_flag(_CROTON_FLAGS[name], str(value).lower() if isinstance(value, bool) else str(value))
        else:
            old = self._values.get(name)
            self._values[name] = _converted(old, value)
            if name in ("optimizer", "mode"):
                _set_optimizer(self._values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._get(name)

    def __setattr__(self, name, value):
        self._set(name, value)

    def change_flags(self, *args, **flags):
        return change_flags(*args, **flags)

    def __str__(self):
        names = ["floatX", "device", *self._values]
        return "\n".join(f"{name} = {self._get(name)}" for name in names)


def _has_gpu():
    return any(d.kind == "real" for d in _croton.devices()) if hasattr(_croton, "devices") else False


def _converted(old, value):
    """The value converted to the type of the old one: flags from files are texts."""
    if not isinstance(value, str) or isinstance(old, str) or old is None:
        return value
    if isinstance(old, bool):
        return value.strip().lower() in ("1", "true", "yes")
    try:
        return type(old)(value)
    except ValueError:
        return value


def _set_optimizer(values):
    fast = values["optimizer"] in ("fast_compile", "None", "merge") or values["mode"] == "FAST_COMPILE"
    _croton.set_flag("optimizer", "fast_compile" if fast else "fast_run")


config = Config()


class change_flags(contextlib.ContextDecorator):
    """Changes flags in a scope: `with change_flags(floatX="float32"):`, or as a decorator. Croton's flags change for
    the calling thread only. device="cuda1": functions called in the scope run there (values do not move).
    AttributeError for an unknown flag and ValueError for an invalid value, with no change.
    """

    def __init__(self, args=(), **flags):
        self._flags = {**dict(args), **flags}
        self._undo = []

    def __enter__(self):
        croton_flags, others = {}, {}
        for name, value in self._flags.items():
            name = name.replace("__", ".")
            if name == "device":
                croton_flags["device"] = str(value)
            elif name in _CROTON_FLAGS:
                choices = _CHOICES.get(name)
                if choices and str(value) not in choices:
                    raise ValueError(f"Invalid value ('{value}') for configuration variable \"{name}\". Valid options "
                                     f"are {list(choices)}")
                croton_flags[_CROTON_FLAGS[name]] = value
            else:
                others[name] = (value, config._get(name))  # AttributeError here, before anything changes
        inner = croton_change_flags(**croton_flags)
        inner.__enter__()
        done = []
        try:
            for name, (value, old) in others.items():
                config._set(name, value)
                done.append((name, old))
        except BaseException:
            self._restore(done)
            inner.__exit__()
            raise
        self._undo.append((inner, done))
        return self

    @staticmethod
    def _restore(done):
        for name, old in reversed(done):
            config._set(name, old)

    def __exit__(self, *error):
        inner, done = self._undo.pop()
        self._restore(done)
        inner.__exit__(*error)
        return False

    def __call__(self, function):
        flags = self._flags

        @functools.wraps(function)
        def with_flags(*args, **kwargs):
            with change_flags(**flags):
                return function(*args, **kwargs)

        return with_flags


def _from_file(path):
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path)
    except configparser.Error as error:
        raise ValueError(f"{path}: {error}") from None
    for section in parser.sections():
        for name, value in parser.items(section):
            yield (name if section == "global" else f"{section}.{name}"), value


def _from_text(text):
    for part in text.split(","):
        if not part.strip():
            continue
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"THEANO_FLAGS: '{part}' is not name=value")
        yield name.strip(), value.strip()


_PROPER_NAMES = {name.lower(): name for name in [*_DEFAULTS, *_CROTON_FLAGS, "device", "floatX"]}


def _nearest_flag(name):
    """The flag that an unknown name was most likely meant to be, or None."""
    if name in _PROPER_NAMES.values() or name.startswith(("warn.", "experimental.", "unittests.")):
        return None
    return next(iter(difflib.get_close_matches(name, _PROPER_NAMES.values(), 1, 0.75)), None)


def read_settings():
    """Sets floatX=float64, Theano's default, then the flags of .theanorc (or the files of THEANORC), then of
    THEANO_FLAGS; flags that CROTON_FLAGS sets do not change. If a file is found, it prints a note about Croton's own
    flags. Unknown names are accepted, as in Theano; it prints a warning for one that resembles a known name."""
    set_by_croton = {f.name for f in _croton.flags() if f.origin not in ("", "default")}
    settings = [("floatX", "float64")]
    files = os.environ.get("THEANORC", os.path.join(os.path.expanduser("~"), ".theanorc"))
    found = [path for path in files.split(os.pathsep) if os.path.isfile(path)]
    for path in found:
        settings += _from_file(path)
    settings += _from_text(os.environ.get("THEANO_FLAGS", ""))
    if found:
        print(f"croton.theano: read {', '.join(found)}; Croton's own flags are in CROTON_FLAGS and croton.toml "
              "(`croton flags` lists them)", file=sys.stderr)
    for name, value in settings:
        name = _PROPER_NAMES.get(name.lower(), name)
        if name in set_by_croton and name in (*_CROTON_FLAGS, "device"):
            continue
        if near := _nearest_flag(name):
            print(f"croton.theano: there is no flag {name}; did you mean {near}? It has no effect",
                  file=sys.stderr)
        if name == "device" and value == "cpu":
            _croton.set_flag("device", "cpu")
            continue
        config._set(name, {"true": True, "false": False}.get(value.lower(), value))


def asarray(a, dtype, order=None):
    """numpy.asarray that also accepts the dtype "floatX": theano._asarray."""
    return numpy.asarray(a, dtype=config.floatX if str(dtype) == "floatX" else dtype, order=order)
