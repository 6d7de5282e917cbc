"""Operations written in Python: theano.Op with make_node and perform, and as_op. They run on the host when a function
is called; `grad`, `R_op`, `infer_shape` are used as in Theano."""

import importlib
import itertools
import pickle

import numpy

from croton import _croton

from . import debug_mode, graph, types
from .cloning import clone
from .gradients import Lop
from .graph import Apply, Variable
from .types import DisconnectedVariable, NullVariable
from .variables import TensorVariable
from .wrapping import as_variable, register, unwrap, wrap

_counter = itertools.count()


class MethodNotDefined(Exception):
    """A method that an op does not have."""


class Op:
    """Base of operations written in Python.

    make_node(*inputs) returns an Apply of the op, its inputs and its outputs with their types; or itypes and otypes
    list the types. perform(node, inputs, output_storage) computes: output_storage[i][0] = array. grad(inputs,
    output_gradients) returns a gradient for each input, infer_shape(node, shapes) the shapes of the outputs; without it
    they are found by perform.
    """

    __props__ = None
    default_output = None
    itypes = None
    otypes = None
    view_map = {}
    destroy_map = {}

    def make_node(self, *inputs):
        if self.itypes is None or self.otypes is None:
            raise NotImplementedError("You can either define itypes and otypes, or implement make_node")
        if len(inputs) != len(self.itypes):
            raise ValueError(f"We expected {len(self.itypes)} inputs but got {len(inputs)}.")
        inputs = [as_variable(x) for x in inputs]
        if not all(x.type == t for x, t in zip(inputs, self.itypes)):
            raise TypeError(f"We expected inputs of types '{self.itypes}' but got types "
                            f"'{[x.type for x in inputs]}'")
        return Apply(self, inputs, [t() for t in self.otypes])

    def __call__(self, *inputs, **kwargs):
        as_list = kwargs.pop("return_list", False)
        outputs = self.make_node(*inputs, **kwargs).outputs
        if self.default_output is not None and not as_list:
            return outputs[self.default_output]
        return outputs[0] if len(outputs) == 1 and not as_list else list(outputs)

    def _compute_outputs(self, node):
        """Sets the outputs of a node, which so far have only types, to the results of the op."""
        if all(isinstance(x, TensorVariable) and x._croton is not None for x in [*node.inputs, *node.outputs]):
            for declared, variable in zip(node.outputs, _applied(self, node)):
                declared._croton = variable
                register(declared)

    def perform(self, node, inputs, output_storage):
        raise NotImplementedError(f"{self} has no perform; Croton does not support C code of ops: write perform, or a "
                                  "croton.KernelOp, whose C++ is compiled into kernels of every device")

    def grad(self, inputs, output_grads):
        raise NotImplementedError(f"{self} has no grad")

    def L_op(self, inputs, outputs, output_grads):
        return self.grad(inputs, output_grads)

    def _props(self):
        return tuple(getattr(self, name) for name in self.__props__ or ())

    def __eq__(self, other):
        if self.__props__ is None:
            return self is other
        return type(self) is type(other) and self._props() == other._props()

    def __hash__(self):
        if self.__props__ is None:
            return id(self)
        return hash((type(self), self._props()))

    def __str__(self):
        if not self.__props__:
            return type(self).__name__
        return f"{type(self).__name__}{{{', '.join(f'{n}={getattr(self, n)!r}' for n in self.__props__)}}}"

    __repr__ = __str__


PureOp = CLinkerOp = Op


class COp(Op):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("Croton does not support ops in C; write a croton.KernelOp, whose C++ is compiled "
                                  "into kernels of every device, or an Op with perform")


class _Performer:
    """Runs perform of one application, and keeps the results between the calls for shapes and for values."""

    def __init__(self, op, node):
        self.op, self.node = op, node
        self.results = None

    def run(self, arrays):
        storage = [[None] for _ in self.node.outputs]
        inputs = [numpy.array(a) for a in arrays]  # perform may write to them
        self.op.perform(self.node, inputs, storage)
        debug_mode.check_perform(self.op, self.node, arrays, inputs, [cell[0] for cell in storage])
        return [numpy.asarray(cell[0], dtype=out.type.dtype) for cell, out in zip(storage, self.node.outputs)]

    def all(self, *arrays):
        return self.run(arrays)

    def shapes(self, *arrays):
        self.results = self.run(arrays)
        flat = [n for value in self.results for n in value.shape]
        return numpy.array(flat, "int64")

    def after_shapes(self, *arrays):
        if self.results is not None:
            results, self.results = self.results, None
            return results
        return self.run(arrays[:-1])


def _gradient(op, node, has_shape):
    """The op's gradient with Croton's variables; has_shape: there is another input after the op's own, the shapes."""

    def gradient(inputs, outputs, gs):
        ins, outs = [wrap(x) for x in inputs[:len(node.inputs)]], [wrap(x) for x in outputs]
        output_grads = [types.DisconnectedType()() if g is None else wrap(g) for g in gs]
        for i, (g, out) in enumerate(zip(output_grads, outs)):
            if isinstance(g, DisconnectedVariable) and out.dtype.startswith("float"):
                output_grads[i] = wrap(_croton.zeros_like(out._croton))
        has_l_op = type(op).L_op is not Op.L_op
        grads = op.L_op(ins, outs, output_grads) if has_l_op else op.grad(ins, output_grads)
        if len(grads) != len(ins):
            raise ValueError(f"{op} returned the wrong number of gradient terms: {len(grads)} for {len(ins)} inputs")
        return [_croton_gradient(x, g) for x, g in zip(ins, grads)] + [None] * has_shape

    return gradient


def _croton_gradient(x, g):
    """A user's gradient of x for Croton: None if it is disconnected."""
    if g is None or isinstance(g, DisconnectedVariable):
        return None
    if isinstance(g, NullVariable):  # undefined, which is an error only if the gradient is needed
        is_real = x.dtype.startswith("float")
        return _croton.undefined_grad(x._croton if is_real else _croton.zeros_like(x._croton), g.type.why_null)
    return as_variable(g)._croton


def _applied(op, node):
    """Croton's variables of the outputs of an application, which are results of a callback."""
    performer = _Performer(op, node)
    inputs = [unwrap(x) for x in node.inputs]
    name = "".join(c if c.isalnum() else "_" for c in type(op).__name__)
    sizes = _inferred(op, node)
    has_shape = sizes is None
    if has_shape:
        total = sum(out.type.ndim for out in node.outputs)
        shape_op = _croton.HostOp(name + "_shape", lambda *xs: ("int64", [total]), performer.shapes,
                                  lambda ins, outs, gs: [None] * len(ins))
        shape = shape_op(*inputs)
        inputs = [*inputs, shape]
        sizes, at = [], 0
        for out in node.outputs:
            sizes.append([1 if b else shape[at + i] for i, b in enumerate(out.type.broadcastable)])
            at += out.type.ndim
    kinds = [(out.type.dtype, list(size)) for out, size in zip(node.outputs, sizes)]
    compute = performer.after_shapes if has_shape else performer.all
    host = _croton.HostOp(name, lambda *xs: kinds, compute, _gradient(op, node, has_shape))
    results = host(*inputs)
    results = results if isinstance(results, (list, tuple)) else [results]
    for variable, declared in zip(results, node.outputs):
        variable.name = declared.name
    return results


def _inferred(op, node):
    """The sizes of the outputs by infer_shape; None if they cannot be inferred."""
    if not hasattr(op, "infer_shape"):
        return [[] for _ in node.outputs] if all(out.type.ndim == 0 for out in node.outputs) else None
    shapes = [tuple(wrap(list(x._croton.shape))) if isinstance(x, TensorVariable) else None for x in node.inputs]
    try:
        inferred = op.infer_shape(node, shapes)
    except (NotImplementedError, MethodNotDefined):
        return None
    if any(s is None for s in inferred):
        return None
    sizes = []
    for shape, out in zip(inferred, node.outputs):
        elements = list(shape)
        sizes.append([1 if b else unwrap(as_variable(n)) if isinstance(n, Variable) else int(n)
                      for n, b in zip(elements, out.type.broadcastable)])
    return sizes


class FromFunctionOp(Op):
    """A Python function as an op, made by as_op."""

    def __init__(self, fn, itypes, otypes, infer_shape):
        self.fn, self.itypes, self.otypes = fn, itypes, otypes
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        if infer_shape is not None:
            self.infer_shape = infer_shape

    def __str__(self):
        return f"FromFunctionOp{{{self.fn.__name__}}}"

    def __reduce__(self):
        """Pickles the op by the name of the decorated function, which refers to the op."""
        if _named(self.fn.__module__, self.fn.__name__) is not self:
            raise pickle.PicklingError(f"{self.fn.__module__}.{self.fn.__name__} is not this op: a function decorated "
                                       "by as_op can be pickled if its name in its module refers to the op")
        return _named, (self.fn.__module__, self.fn.__name__)

    def perform(self, node, inputs, outputs):
        results = self.fn(*inputs)
        if not isinstance(results, (list, tuple)):
            results = (results,)
        if len(results) != len(outputs):
            raise ValueError(f"{self.fn.__name__} gives {len(results)} results; {len(outputs)} were declared")
        for cell, value in zip(outputs, results):
            cell[0] = value


def _named(module, name):
    return getattr(importlib.import_module(module), name, None)


def as_op(itypes, otypes, infer_shape=None):
    """Decorator that makes a function of arrays an op with inputs of types itypes and outputs of types otypes."""
    itypes = list(itypes) if isinstance(itypes, (list, tuple)) else [itypes]
    otypes = list(otypes) if isinstance(otypes, (list, tuple)) else [otypes]
    if any(not isinstance(t, types.Type) for t in itypes):
        raise TypeError("itypes has to be a list of Theano types")
    if any(not isinstance(t, types.Type) for t in otypes):
        raise TypeError("otypes has to be a list of Theano types")
    return lambda fn: FromFunctionOp(fn, itypes, otypes, infer_shape)


class OpFromGraph:
    """A graph as an op: OpFromGraph([x, y], [x + y])(a, b). grad_overrides and lop_overrides replace its gradient, by a
    function, an OpFromGraph, or a list with one for each input ("default" is the graph's own). The R-operator is
    derived from the gradient; rop_overrides are ignored."""

    def __init__(self, inputs, outputs, inline=False, lop_overrides="default", grad_overrides="default",
                 rop_overrides="default", name=None, **kwargs):
        if not isinstance(outputs, (list, tuple)):
            raise TypeError(f"outputs must be list, got {type(outputs)}")
        for x in [*inputs, *outputs]:
            if not isinstance(x, Variable):
                raise TypeError(f"Inputs and outputs must be Variable instances, got {x}")
        gradient = None
        override = next((o for o in (lop_overrides, grad_overrides) if o != "default"), None)
        if override is not None:
            is_lop = lop_overrides != "default"
            gradient = self._overridden(override, is_lop)
        self.inputs, self.outputs, self.name = list(inputs), list(outputs), name
        self._op = _croton.OpFromGraph(unwrap(list(inputs)), unwrap(list(outputs)), gradient,
                                       "".join(c if c.isalnum() else "_" for c in name or "OpFromGraph"))

    def _overridden(self, override, is_lop):
        def gradient(inputs, outputs, gs):
            ins, outs, output_grads = wrap(list(inputs)), wrap(list(outputs)), [wrap(g) for g in gs]

            def apply(rule):
                if isinstance(rule, OpFromGraph):  # its inputs are the same arguments, in order
                    grads = rule(*ins, *(outs if is_lop else []), *output_grads)
                    return grads if isinstance(grads, list) else [grads]
                return rule(ins, outs, output_grads) if is_lop else rule(ins, output_grads)

            if not isinstance(override, (list, tuple)):
                return [_croton_gradient(x, g) for x, g in zip(ins, apply(override), strict=True)]
            grads = [self._default(i, ins, output_grads) if rule == "default" else
                     apply(rule) if callable(rule) else rule for i, rule in enumerate(override)]
            return [_croton_gradient(x, g) for x, g in zip(ins, grads, strict=True)]

        return gradient

    def _default(self, i, inputs, gradients):
        """The graph's own gradient by one input."""
        inside = clone(self.outputs, dict(zip(self.inputs, inputs)))
        return Lop(inside, inputs[i], gradients, disconnected_inputs="ignore")

    def connection_pattern(self, node=None):
        """For each input, a list: whether a gradient flows to it from each output; then for each shared variable, a
        list: whether each output depends on it."""
        pattern = []
        for x in self.inputs:
            grads = [_croton.grad(None, [unwrap(x)], None, "ignore", False,
                                  {unwrap(y): _croton.ones_like(unwrap(y))}, "None")[0] for y in self.outputs]
            pattern.append([g is not None for g in grads])
        ancestors = [graph.ancestors([y]) for y in self.outputs]
        shared = [x for x in graph.inputs(self.outputs) if hasattr(x, "set_value")]
        return pattern + [[x in of_output for of_output in ancestors] for x in shared]

    def __call__(self, *inputs, **kwargs):
        if len(inputs) != len(self.inputs):
            raise ValueError(f"{len(inputs)} inputs; {len(self.inputs)} are needed")
        checked = [t.type.filter_variable(as_variable(x)) for x, t in zip(inputs, self.inputs)]
        results = self._op(*[x._croton for x in checked])
        return wrap(list(results)) if isinstance(results, (list, tuple)) else wrap(results)
