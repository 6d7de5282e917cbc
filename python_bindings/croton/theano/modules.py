"""The modules that programs import from Theano: a table from the name of the module to the names in it.

Modules that are files of this package need no entry. A name that Croton does not have is an `absent` class: its use
raises an error that names the nearest replacement.
"""

import builtins
import collections
import functools
import io
import operator
import pickle
import queue
import sys
import types as python_types

import numpy

from . import (asserts, cloning, comparing, compiling, configuration, debug_mode, graph, looping, modes, op, pickling,
               printing, random_states, random_streams, raw_random, scalars, sharing, tensor, types, updates, variables,
               wrapping)
from .tensor import arrays, elementwise, extra_ops, nlinalg, op_classes, slinalg, sort, subtensor
from .tensor.nnet import convolution, functions, neighbours, normalization
from .tensor.signal import pool

_PREFIX = __package__ + "."


class Absent(NotImplementedError):
    """A name of Theano that Croton does not have."""


class _Absent:
    """Base of the classes of `absent`."""


def absent(name, nearest):
    """A class for a name that Croton does not have: it can be imported and used in isinstance; its construction raises
    NotImplementedError that names the nearest replacement."""
    def __init__(self, *args, **kwargs):
        raise Absent(f"{name} does not exist in Croton; the nearest is {nearest}")

    return type(name.rpartition(".")[2], (_Absent,), {
        "__init__": __init__, "__doc__": f"Does not exist in Croton; the nearest is {nearest}."})


def is_absent(thing):
    """Whether it is a class of `absent`."""
    return isinstance(thing, type) and issubclass(thing, _Absent)


def _names(module, *names):
    return {name: getattr(module, name) for name in names}


def _public(*modules):
    return {name: value for module in modules for name, value in vars(module).items()
            if not name.startswith("_") or name.startswith("_convert_to_") or name == "_allclose"}


def _false(*args, **kwargs):
    return False


def _identity(x, *args, **kwargs):
    return x


_CHANGE = dict(change_flags=configuration.change_flags)


def _table():
    gof = {**_names(graph, "Variable", "Apply"), "Constant": variables.TensorConstant,
           **_names(op, "Op", "PureOp", "COp", "CLinkerOp"), "Type": types.Type, "Generic": types.Generic,
           "generic": types.generic, "MissingInputError": compiling.MissingInputError,
           "FunctionGraph": compiling.FunctionGraph, "NullType": types.NullType,
           "hash": hash, "utils": None, "graph": None, "op": None, "type": None,
           "Optimizer": absent("gof.Optimizer", "Croton's own rules; the flag rules_off disables some"),
           "local_optimizer": absent("gof.local_optimizer", "Croton's own rules; the flag rules_off disables some"),
           "EquilibriumOptimizer": absent("gof.EquilibriumOptimizer", "Croton's own rules"),
           "PatternSub": absent("gof.PatternSub", "Croton's own rules")}
    utils = {"scratchpad": graph.scratchpad, "MethodNotDefined": op.MethodNotDefined, "undef": object(),
             "flatten": _flatten, "hash_from_file": None, "hash_from_code": None}
    sharedvalue = {**_names(sharing, "SharedVariable", "shared"), "generic": types.generic,
                   "shared_constructor": _identity}
    compile_ = {**_names(compiling, "In", "Out", "Param", "Function", "FunctionMaker", "SymbolicInput",
                         "SymbolicOutput", "function", "pfunc", "UnusedInputError"),
                **_names(pickling, "function_dump"),
                **_names(sharing, "SharedVariable", "shared"), **_names(debug_mode, "DebugMode"),
                **_names(modes, "Mode", "FAST_RUN", "FAST_COMPILE", "get_mode", "get_default_mode", "predefined_modes",
                         "register_mode", "MonitorMode", "NanGuardMode"),
                **_names(op, "as_op", "OpFromGraph", "FromFunctionOp"), "std_fgraph": None,
                "config": configuration.config,
                "ViewOp": absent("compile.ViewOp", "the variable itself"),
                "DeepCopyOp": absent("compile.DeepCopyOp", "the variable itself"),
                **_names(op_classes, "Rebroadcast", "SpecifyShape"),
                "orig_function": compiling.function, "rebuild_collect_shared": absent(
                    "compile.rebuild_collect_shared", "theano.function itself")}
    ops = {"as_op": op.as_op, "FromFunctionOp": op.FromFunctionOp,
           **_names(arrays, "specify_shape", "shape", "shape_i"),
           **_names(op_classes, "Rebroadcast", "SpecifyShape", "Shape", "Shape_i"), "view_op": _identity,
           "deep_copy_op": _identity, **{name: compile_[name] for name in ("ViewOp", "DeepCopyOp")}}
    conv = {"conv2d": convolution.old_conv2d, "ConvOp": absent("nnet.conv.ConvOp", "theano.tensor.nnet.conv2d")}
    cuda = {"cuda_available": False, "cuda_enabled": False, "use": sharing.use, "CudaNdarrayType": types.TensorType,
            "shared_constructor": sharing.shared_constructor,
            "float32_shared_constructor": sharing.shared_constructor,
            "CudaNdarraySharedVariable": sharing.TensorSharedVariable, "gpu_contiguous": _identity,
            "unuse": lambda *a, **k: None}
    gpu_basic = {"gpu_contiguous": _identity, "host_from_gpu": _identity, "gpu_from_host": _identity,
                 "as_gpuarray_variable": _identity, "as_cuda_ndarray_variable": _identity,
                 "gpu_alloc_empty": absent("gpu_alloc_empty", "theano.tensor.zeros"),
                 "GpuFromHost": lambda *a: _identity,
                 "HostFromGpu": lambda *a: _identity}
    dnn = {"dnn_available": _false, "dnn_present": _false, "dnn_conv": _dnn_conv, "dnn_pool": _dnn_pool,
           "GpuDnnPool": absent("GpuDnnPool", "theano.tensor.signal.pool.pool_2d"),
           "GpuDnnConvDesc": absent("GpuDnnConvDesc", "theano.tensor.nnet.conv2d"),
           "GpuDnnConvGradI": absent("GpuDnnConvGradI", "theano.tensor.nnet.conv2d_grad_wrt_inputs"),
           "GpuDnnSoftmax": absent("GpuDnnSoftmax", "theano.tensor.nnet.softmax")}
    gpuarray = {"shared_constructor": sharing.shared_constructor, "gpuarray_shared_constructor":
                sharing.shared_constructor, "change_flags": configuration.change_flags, "use": sharing.use,
                "pygpu_activated": False, "pygpu": None, "GpuArrayType": types.TensorType,
                "GpuArraySharedVariable": sharing.TensorSharedVariable, "GpuArrayVariable": variables.TensorVariable,
                "GpuArrayConstant": variables.TensorConstant}
    six = _six()
    scan_utils = {"equal_computations": comparing.equal_computations, "until": looping.until, "clone": cloning.clone,
                  "safe_new": absent("scan_utils.safe_new", "x.type()"),
                  "expand_empty": absent("scan_utils.expand_empty", "theano.scan")}
    inputs_to = {"inputs": graph.inputs}
    table = {
        "configparser": {"config": configuration.config, **_CHANGE, "THEANO_FLAGS": "", "_config_var_list": [],
                         "AddConfigVar": _add_config_var, "EnumStr": _config_kind, "BoolParam": _config_kind,
                         "IntParam": _config_kind, "StrParam": _config_kind, "FloatParam": _config_kind,
                         "ConfigParam": _config_kind, "TheanoConfigParser": configuration.Config},
        "configdefaults": {"config": configuration.config, "python_int_bitwidth": lambda: 64,
                           "local_bitwidth": lambda: 64},
        "configuration": None,
        "version": {"version": "1.0.5", "full_version": "1.0.5", "short_version": "1.0.5"},
        "gof": gof, "gof.graph": {**_public(graph, comparing), **inputs_to, **gof}, "gof.op": gof, "gof.type": gof,
        "gof.utils": {**utils, **inputs_to}, "gof.null_type": {"NullType": types.NullType},
        "gof.fg": {"MissingInputError": compiling.MissingInputError, "FunctionGraph": compiling.FunctionGraph},
        "gof.opt": gof, "gof.link": {"WrapLinker": absent("gof.WrapLinker", "theano.printing.Print")},
        "gof.toolbox": {"Feature": type("Feature", (), {})},
        "gof.optdb": {"Query": absent("gof.Query", "a mode's name")},
        "compile": compile_, "compile.function_module": {**compile_, "UnusedInputError": compiling.UnusedInputError},
        "compile.pfunc": compile_, "compile.io": compile_, "compile.sharedvalue": sharedvalue, "compile.ops": ops,
        "compile.builders": {"OpFromGraph": op.OpFromGraph},
        "compile.mode": {**_public(modes), **_names(debug_mode, "DebugMode"), "AddDestroyHandler": absent(
            "AddDestroyHandler", "nothing: buffers are planned"), "optdb": None},
        "compile.debugmode": _public(debug_mode), "compile.nanguardmode": {"NanGuardMode": modes.NanGuardMode},
        "compile.monitormode": {"MonitorMode": modes.MonitorMode}, "compile.profiling": {"ProfileStats": absent(
            "ProfileStats", "Croton's flag print_timings and trace")},
        "compile.profilemode": {"ProfileMode": modes.Mode},
        "updates": {"OrderedUpdates": updates.OrderedUpdates},
        "scan_module": {**_names(looping, "scan", "map", "reduce", "foldl", "foldr", "until", "scan_checkpoints")},
        "scan_module.scan": {"scan": looping.scan}, "scan_module.scan_utils": scan_utils,
        "scan_module.scan_views": _names(looping, "map", "reduce", "foldl", "foldr"),
        "scan_module.scan_op": {"Scan": looping.Scan},
        "scan_module.scan_opt": {},
        "raise_op": {"Raise": absent("Raise", "theano.tensor.opt.Assert"), **_names(asserts, "Assert", "assert_op")},
        "compat": {**six, "exc_message": lambda e: e.args[0] if e.args else str(e), "izip": zip, "imap": map,
                   "OrderedDict": collections.OrderedDict, "PY3": True, "DefaultOrderedDict": collections.OrderedDict,
                   "operator_div": operator.truediv, "decode": lambda x: x.decode("utf-8"), "decode_iter": iter},
        "compat.six": six, "compat.six.moves": six,
        "compat.python2x": {"OrderedDict": collections.OrderedDict, "any": any, "all": all,
                            "partial": functools.partial},
        "misc": {}, "misc.pkl_utils": {"dump": _dump, "load": _load, "Unpickler": pickle.Unpickler,
                                       "StripPickler": pickle.Pickler},
        "misc.safe_asarray": {"_asarray": configuration.asarray},
        "misc.may_share_memory": {"may_share_memory": _may_share_memory},
        "misc.strutil": {"render_string": absent("render_string", "Python's format")},
        "misc.ordered_set": {"OrderedSet": _ordered_set()}, "misc.frozendict": {"frozendict": dict},
        "sandbox": {}, "sandbox.rng_mrg": {"MRG_RandomStreams": random_streams.MRG_RandomStreams,
                                           "guess_n_streams": _guess_n_streams},
        "sandbox.cuda": cuda, "sandbox.cuda.dnn": dnn, "sandbox.cuda.basic_ops": gpu_basic,
        "sandbox.cuda.type": {"CudaNdarrayType": types.TensorType}, "sandbox.cuda.var": cuda,
        "sandbox.cuda.rng_curand": {"CURAND_RandomStreams": random_streams.MRG_RandomStreams},
        "sandbox.cuda.blas": {"GpuCorrMM": absent("GpuCorrMM", "theano.tensor.nnet.conv2d"),
                              "GpuCorrMM_gradInputs": absent("GpuCorrMM_gradInputs",
                                                             "theano.tensor.nnet.conv2d_grad_wrt_inputs")},
        "sandbox.neighbours": _public(neighbours), "sandbox.neighbourhoods": _public(neighbours),
        "sandbox.softsign": {"softsign": functions.softsign}, "sandbox.linalg": {**_public(nlinalg, slinalg)},
        "sandbox.gpuarray": gpuarray, "sandbox.gpuarray.dnn": dnn, "sandbox.gpuarray.basic_ops": gpu_basic,
        "gpuarray": gpuarray, "gpuarray.dnn": dnn, "gpuarray.basic_ops": gpu_basic, "gpuarray.type": gpuarray,
        "gpuarray.subtensor": {}, "gpuarray.tests": {},
        "sparse": _sparse(), "sparse.basic": _sparse(), "sparse.sandbox": {}, "sparse.sandbox.sp": {},
        "sparse.type": _sparse(),
        "scalar": scalars.names(), "scalar.basic": scalars.names(),
        "tensor.basic": _public(arrays, elementwise, extra_ops, sort, subtensor, op_classes, tensor),
        "tensor.subtensor": {**_public(subtensor), **op_classes.op_classes()},
        "tensor.type": {"TensorType": types.TensorType},
        "tensor.var": {**_names(types, "DisconnectedVariable", "NullVariable"), **_public(wrapping, variables),
                       "_tensor_py_operators": tensor._tensor_py_operators},
        "tensor.sharedvar": {**_names(sharing, "SharedVariable", "TensorSharedVariable", "shared"),
                             "tensor_constructor": sharing.shared, "scalar_constructor": sharing.shared,
                             "ScalarSharedVariable": sharing.TensorSharedVariable},
        "tensor.shared_randomstreams": {"RandomStreams": random_streams.RandomStreams,
                                        "RandomStreamsBase": random_streams.RandomStreams,
                                        "RandomStateSharedVariable":
                                        random_states.RandomStateSharedVariable,
                                        "randomstate_constructor": random_states.shared_state},
        "tensor.xlogx": {"xlogx": elementwise.xlogx, "xlogy0": elementwise.xlogy0},
        "tensor.elemwise": {"Elemwise": elementwise.Elemwise, **_names(
            op_classes, "DimShuffle", "Sum", "Prod", "ProdWithoutZeros", "All", "Any", "CAReduce", "CAReduceDtype",
            "Max", "Min")},
        "tensor.opt": {**_names(op_classes, "MakeVector", "Shape_i"), "make_vector": op_classes.MakeVector(), **_names(
            asserts, "Assert", "assert_op"), "ShapeFeature": absent(
            "ShapeFeature", "x.shape"), "register_canonicalize": lambda *a, **k: _identity,
            "register_stabilize": lambda *a, **k: _identity, "register_specialize": lambda *a, **k: _identity},
        "tensor.blas": {"batched_dot": arrays.batched_dot, "batched_tensordot": arrays.batched_tensordot,
                        "gemm": _gemm, "ger": lambda a, alpha, x, y: a + alpha * arrays.outer(x, y)},
        "tensor.inplace": elementwise.inplace_functions(), "tensor.utils": {"hash_from_ndarray": printing.hex_digest},
        "tensor.io": {"load": arrays.load}, "tensor.raw_random": {
            **_public(raw_random), "_infer_ndim_bcast": raw_random._infer_ndim_bcast, "numpy": numpy, "np": numpy},
        "tensor.nnet.nnet": _public(functions), "tensor.nnet.basic": _public(functions), "tensor.nnet.conv": conv,
        "tensor.nnet.abstract_conv": _public(convolution), "tensor.nnet.bn": _public(normalization),
        "tensor.nnet.sigm": {**_names(functions, "ultra_fast_sigmoid", "hard_sigmoid", "sigmoid", "softplus")},
        "tensor.nnet.ctc": {"ctc": functions.ctc}, "tensor.nnet.Conv3D": {"conv3D": absent(
            "conv3D", "theano.tensor.nnet.conv3d")}, "tensor.nnet.conv3d2d": {"conv3d": _conv3d2d},
        "tensor.nnet.blocksparse": {"sparse_block_dot": absent("sparse_block_dot", "batched_dot of indexed blocks")},
        "tensor.nnet.corr": {"CorrMM": convolution.AbstractConv2d},
        "tensor.signal.downsample": {**_names(pool, "max_pool_2d", "max_pool_2d_same_size"), "DownsampleFactorMax":
                                     pool.Pool},
        "typed_list": {"TypedListType": absent("TypedListType", "a Python list of variables"), "make_list": absent(
            "typed_list.make_list", "theano.tensor.stack")},
        "d3viz": {"d3viz": absent("d3viz", "theano.printing.debugprint")},
    }
    return {name: names for name, names in table.items() if names is not None}


def make():
    """Makes the modules of the table, and sets each as an attribute of its parent."""
    table = _table()
    for name in sorted(table):
        full = _PREFIX + name
        module = sys.modules.get(full)
        if module is None:
            module = python_types.ModuleType(full, f"theano.{name}, as in Theano.")
            module.__path__ = []  # it may have submodules
            sys.modules[full] = module
            parent, _, last = full.rpartition(".")
            # The module tensor.xlogx has the name of a function; programs write T.xlogx.xlogy0.
            if last == "xlogx" or not isinstance(getattr(sys.modules[parent], last, None), python_types.FunctionType):
                setattr(sys.modules[parent], last, module)
        for key, value in table[name].items():
            if value is not None:
                setattr(module, key, value)
    # Programs get these by `from theano.tensor import *`.
    theano = sys.modules[__package__]
    for module in (tensor, sys.modules[_PREFIX + "tensor.basic"], sys.modules[_PREFIX + "tensor.raw_random"]):
        module.theano, module.config, module.gof = theano, configuration.config, sys.modules[_PREFIX + "gof"]
        module.compile, module.scal = sys.modules[_PREFIX + "compile"], sys.modules[_PREFIX + "scalar"]
    sys.modules[_PREFIX + "tensor.raw_random"].tensor = tensor
    nnet = sys.modules[_PREFIX + "tensor.nnet"]
    for name in ("nnet", "conv", "abstract_conv", "bn", "sigm"):
        setattr(nnet, name, sys.modules[f"{_PREFIX}tensor.nnet.{name}"])


def _flatten(a):
    if isinstance(a, (list, tuple, set)):
        return [y for x in a for y in _flatten(x)]
    return [a]


def _dnn_conv(img, kerns, border_mode="valid", subsample=(1, 1), conv_mode="conv", dilation=(1, 1), num_groups=1, **_):
    """cuDNN's convolution, by conv2d; conv_mode="cross" does not flip the filters."""
    return convolution.conv2d(img, kerns, border_mode=border_mode, subsample=subsample, filter_flip=conv_mode == "conv",
                              filter_dilation=dilation, num_groups=num_groups)


def _dnn_pool(img, ws, stride=None, mode="max", pad=None):
    """cuDNN's pooling, by pool_2d with ignore_border."""
    function = pool.pool_2d if len(ws) == 2 else pool.pool_3d
    return function(img, ws, True, stride, pad or (0,) * len(ws), mode)


def _gemm(z, alpha, x, y, beta):
    return beta * z + alpha * arrays.dot(x, y)


def _conv3d2d(signals, filters, signals_shape=None, filters_shape=None, border_mode="valid"):
    """The convolution of volumes (batch, time, channels, rows, columns)."""
    out = convolution.conv3d(arrays.dimshuffle(signals, 0, 2, 1, 3, 4), arrays.dimshuffle(filters, 0, 2, 1, 3, 4),
                             border_mode=border_mode)
    return arrays.dimshuffle(out, 0, 2, 1, 3, 4)


def _add_config_var(name, doc, configparam=None, root=None, in_c_key=True):
    configuration.config._values.setdefault(name, getattr(configparam, "default", configparam))


class _config_kind:
    def __init__(self, default, *args, **kwargs):
        self.default = default


def _six():
    return {"PY2": False, "PY3": True, "string_types": (str,), "integer_types": (int,), "text_type": str, "binary_type":
            bytes, "class_types": (type,), "iteritems": lambda d: iter(d.items()), "itervalues": lambda d:
            iter(d.values()), "iterkeys": lambda d: iter(d.keys()), "xrange": range, "range": range, "cPickle": pickle,
            "StringIO": io.StringIO, "BytesIO": io.BytesIO, "reduce": functools.reduce,
            "get_unbound_function": lambda f: f,
            "with_metaclass": _with_metaclass, "exec_": builtins.exec, "reraise": _reraise, "b": lambda s:
            s.encode("latin-1"), "u": str, "input": builtins.input, "queue": queue, "OrderedDict":
            collections.OrderedDict, "zip": zip, "map": map, "filter": filter, "builtins": builtins, "moves": None,
            "add_metaclass": lambda meta: lambda cls: meta(cls.__name__, cls.__bases__, dict(cls.__dict__))}


def _with_metaclass(meta, *bases):
    return meta("temporary_class", bases, {})


def _reraise(kind, value, traceback=None):
    raise value.with_traceback(traceback)


def _ordered_set():
    class OrderedSet(dict):
        def __init__(self, items=()):
            super().__init__((x, None) for x in items)

        def add(self, x):
            self[x] = None

        def update(self, items):
            for x in items:
                self[x] = None

        def union(self, items):
            both = OrderedSet(self)
            both.update(items)
            return both

    return OrderedSet


def _dump(obj, file_handler, protocol=2, persistent_id=None):
    pickle.dump(obj, file_handler, protocol)


def _load(f, persistent_load=None):
    return pickle.load(f)


def _may_share_memory(a, b, raise_other_type=True):
    """Whether two arrays may share memory."""
    if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
        if raise_other_type:
            raise TypeError("may_share_memory support only ndarray and scipy.sparse, CudaNdarray or GpuArray type")
        return False
    return numpy.may_share_memory(a, b)


def _guess_n_streams(size, warn=False):
    """The number of streams for a draw of known size, and the maximum for others."""
    if isinstance(size, (tuple, list)) and all(isinstance(n, int) for n in size):
        count = 1
        for n in size:
            count *= n
        return max(count // 6, 1) if count > 6 and count // 6 <= 60 * 256 else min(max(count // 6, 1), 60 * 256)
    return 60 * 256


def _sparse():
    nearest = "dense arrays: Croton has no sparse ones yet"
    SparseType = type("SparseType", (types.Type,), {"__doc__": "The type of sparse matrices, which no variable has."})
    SparseVariable = type("SparseVariable", (graph.Variable,), {"__doc__": "A sparse variable; there are none."})
    names = ["csr_matrix", "csc_matrix", "structured_dot", "dense_from_sparse", "csr_from_dense", "csc_from_dense",
             "CSR", "CSC", "CSM", "csm_properties", "true_dot", "sp_sum", "transpose", "mul", "add",
             "as_sparse_variable"]
    return {"SparseType": SparseType, "SparseVariable": SparseVariable, "SparseConstant": SparseVariable,
            "enable_sparse": False, "_is_sparse": _false, "_is_sparse_variable": _false, "_is_dense": lambda x: True,
            "_is_dense_variable": lambda x: isinstance(x, variables.TensorVariable), "basic": None,
            "dot": arrays.dot,
            **{name: absent("sparse." + name, nearest) for name in names}}
