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

    make_node(*inputs) gives an Apply of the op, inputs and outputs of the types that it has; or itypes and otypes say
    them. perform(node, inputs, output_storage) computes: output_storage[i][0] = array. grad(inputs, output_gradients)
    gives a gradient for each input, infer_shape(node, shapes) the shapes of the outputs; without it perform is asked.
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
        """Makes the outputs that a node was given, which say their types, what the op computes."""
        if all(isinstance(x, TensorVariable) and x._croton is not None for x in [*node.inputs, *node.outputs]):
            for declared, variable in zip(node.outputs, _applied(self, node)):
                declared._croton = variable
                register(declared)

    def perform(self, node, inputs, output_storage):
        raise NotImplementedError(f"{self} has no perform; C code of ops is not there in Croton: write perform, or a "
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
        raise NotImplementedError("ops in C are not there in Croton; write a croton.KernelOp, whose C++ is compiled into "
                                  "kernels of every device, or an Op with perform")


class _Computed:
    """perform of one application: runs it, and keeps the results until those who read them have."""

    def __init__(self, op, node):
        self.op, self.node = op, node
        self.kept = None

    def run(self, arrays):
        storage = [[None] for _ in self.node.outputs]
        inputs = [numpy.array(a) for a in arrays]  # perform may write to them
        self.op.perform(self.node, inputs, storage)
        debug_mode.check_perform(self.op, self.node, arrays, inputs, [cell[0] for cell in storage])
        return [numpy.asarray(cell[0], dtype=out.type.dtype) for cell, out in zip(storage, self.node.outputs)]

    def all(self, *arrays):
        return self.run(arrays)

    def shapes(self, *arrays):
        self.kept = self.run(arrays)
        flat = [n for value in self.kept for n in value.shape]
        return numpy.array(flat, "int64")

    def after_shapes(self, *arrays):
        if self.kept is not None:
            results, self.kept = self.kept, None
            return results
        return self.run(arrays[:-1])


def _gradient(op, node, drop):
    """The op's gradient with Croton's variables; `drop`: an input behind the op's own is there."""

    def gradient(inputs, outputs, gs):
        ins, outs = [wrap(x) for x in inputs[:len(node.inputs)]], [wrap(x) for x in outputs]
        given = [types.DisconnectedType()() if g is None else wrap(g) for g in gs]
        for i, (g, out) in enumerate(zip(given, outs)):
            if isinstance(g, DisconnectedVariable) and out.dtype.startswith("float"):
                given[i] = wrap(_croton.zeros_like(out._croton))
        found = op.L_op(ins, outs, given) if type(op).L_op is not Op.L_op else op.grad(ins, given)
        if len(found) != len(ins):
            raise ValueError(f"{op} returned the wrong number of gradient terms: {len(found)} for {len(ins)} inputs")
        result = [_croton_gradient(x, g) for x, g in zip(ins, found)]
        return result + [None] * drop

    return gradient


def _croton_gradient(x, g):
    """What a rule of the user gave for x as Croton takes it: None where nothing flows."""
    if g is None or isinstance(g, DisconnectedVariable):
        return None
    if isinstance(g, NullVariable):  # of x itself: there is none, which is an error only where it is wanted
        is_real = x.dtype.startswith("float")
        return _croton.undefined_grad(x._croton if is_real else _croton.zeros_like(x._croton), g.type.why_null)
    return as_variable(g)._croton


def _applied(op, node):
    """Croton's variables of the outputs of an application: results of a callback."""
    computed = _Computed(op, node)
    inputs = [unwrap(x) for x in node.inputs]
    name = "".join(c if c.isalnum() else "_" for c in type(op).__name__)
    sizes = _inferred(op, node)
    drop = 0
    if sizes is None:
        drop = 1
        total = sum(out.type.ndim for out in node.outputs)
        ask = _croton.HostOp(name + "_shape", lambda *xs: ("int64", [total]), computed.shapes,
                             lambda ins, outs, gs: [None] * len(ins))
        shape = ask(*inputs)
        inputs = [*inputs, shape]
        sizes, at = [], 0
        for out in node.outputs:
            sizes.append([1 if b else shape[at + i] for i, b in enumerate(out.type.broadcastable)])
            at += out.type.ndim
    kinds = [(out.type.dtype, list(size)) for out, size in zip(node.outputs, sizes)]
    compute = computed.after_shapes if drop else computed.all
    host = _croton.HostOp(name, lambda *xs: kinds, compute, _gradient(op, node, drop))
    made = host(*inputs)
    made = made if isinstance(made, (list, tuple)) else [made]
    for variable, declared in zip(made, node.outputs):
        variable.name = declared.name
    return made


def _inferred(op, node):
    """The sizes of the outputs by infer_shape, or None."""
    if not hasattr(op, "infer_shape"):
        return [[] for _ in node.outputs] if all(out.type.ndim == 0 for out in node.outputs) else None
    shapes = [tuple(wrap(list(x._croton.shape))) if isinstance(x, TensorVariable) else None for x in node.inputs]
    try:
        found = op.infer_shape(node, shapes)
    except (NotImplementedError, MethodNotDefined):
        return None
    if any(s is None for s in found):
        return None
    sizes = []
    for shape, out in zip(found, node.outputs):
        elements = list(shape)
        sizes.append([1 if b else unwrap(as_variable(n)) if isinstance(n, Variable) else int(n)
                      for n, b in zip(elements, out.type.broadcastable)])
    return sizes


class FromFunctionOp(Op):
    """A Python function as an op: as_op."""

    def __init__(self, fn, itypes, otypes, infer_shape):
        self.fn, self.itypes, self.otypes = fn, itypes, otypes
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        if infer_shape is not None:
            self.infer_shape = infer_shape

    def __str__(self):
        return f"FromFunctionOp{{{self.fn.__name__}}}"

    def __reduce__(self):
        """By the name of the function that as_op decorates, which then means the op."""
        if _named(self.fn.__module__, self.fn.__name__) is not self:
            raise pickle.PicklingError(f"{self.fn.__module__}.{self.fn.__name__} is not this op: what as_op decorates "
                                       "can be pickled where it has a name in its module")
        return _named, (self.fn.__module__, self.fn.__name__)

    def perform(self, node, inputs, outputs):
        found = self.fn(*inputs)
        if not isinstance(found, (list, tuple)):
            found = (found,)
        if len(found) != len(outputs):
            raise ValueError(f"{self.fn.__name__} gives {len(found)} results; {len(outputs)} were declared")
        for cell, value in zip(outputs, found):
            cell[0] = value


def _named(module, name):
    return getattr(importlib.import_module(module), name, None)


def as_op(itypes, otypes, infer_shape=None):
    """Decorator: a function of arrays as an op of variables of the types itypes, which gives variables of otypes."""
    itypes = list(itypes) if isinstance(itypes, (list, tuple)) else [itypes]
    otypes = list(otypes) if isinstance(otypes, (list, tuple)) else [otypes]
    if any(not isinstance(t, types.Type) for t in itypes):
        raise TypeError("itypes has to be a list of Theano types")
    if any(not isinstance(t, types.Type) for t in otypes):
        raise TypeError("otypes has to be a list of Theano types")
    return lambda fn: FromFunctionOp(fn, itypes, otypes, infer_shape)


class OpFromGraph:
    """A graph as an op: OpFromGraph([x, y], [x + y])(a, b). grad_overrides and lop_overrides replace its gradient, by a
    function, a graph as an op, or a list with one for each input ("default" is the graph's own). The R-operator follows
    the gradient; rop_overrides are not looked at."""

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
            ins, outs, given = wrap(list(inputs)), wrap(list(outputs)), [wrap(g) for g in gs]

            def by(rule):
                if isinstance(rule, OpFromGraph):  # a graph of the same arguments, one after the other
                    found = rule(*ins, *(outs if is_lop else []), *given)
                    return found if isinstance(found, list) else [found]
                return rule(ins, outs, given) if is_lop else rule(ins, given)

            if not isinstance(override, (list, tuple)):
                return [_croton_gradient(x, g) for x, g in zip(ins, by(override), strict=True)]
            found = [self._default(i, ins, given) if rule == "default" else by(rule) if callable(rule) else rule
                     for i, rule in enumerate(override)]
            return [_croton_gradient(x, g) for x, g in zip(ins, found, strict=True)]

        return gradient

    def _default(self, i, inputs, gradients):
        """The graph's own gradient by one input."""
        inside = clone(self.outputs, dict(zip(self.inputs, inputs)))
        return Lop(inside, inputs[i], gradients, disconnected_inputs="ignore")

    def connection_pattern(self, node=None):
        """For each input, and then each shared variable, a list: does a gradient flow to it from each output, and does
        the output depend on the shared variable?"""
        pattern = []
        for x in self.inputs:
            found = [_croton.grad(None, [unwrap(x)], None, "ignore", False,
                                  {unwrap(y): _croton.ones_like(unwrap(y))}, "None")[0] for y in self.outputs]
            pattern.append([g is not None for g in found])
        behind = [graph.ancestors([y]) for y in self.outputs]
        shared = [x for x in graph.inputs(self.outputs) if hasattr(x, "set_value")]
        return pattern + [[x in ancestors for ancestors in behind] for x in shared]

    def __call__(self, *inputs, **kwargs):
        if len(inputs) != len(self.inputs):
            raise ValueError(f"{len(inputs)} inputs; {len(self.inputs)} are needed")
        checked = [t.type.filter_variable(as_variable(x)) for x, t in zip(inputs, self.inputs)]
        made = self._op(*[x._croton for x in checked])
        return wrap(list(made)) if isinstance(made, (list, tuple)) else wrap(made)


