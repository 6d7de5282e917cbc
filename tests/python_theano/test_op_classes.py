"""Op classes: what owner.op shows, and objects of them that are called."""

import numpy
import pytest

import croton.theano as theano
import croton.theano.tensor as T
from croton.theano.tensor.sort import ArgSortOp, SortOp, TopKOp


def test_a_call_of_an_op_shows_that_op_and_its_inputs():
    x = T.matrix("x")
    op = TopKOp(axis=0, sorted=False)
    values, positions = op(x, 2)
    assert values.owner is positions.owner and values.owner.op is op and values.owner.inputs[0] is x
    array = numpy.array([[1.0, 5.0], [3.0, 2.0], [2.0, 4.0]], theano.config.floatX)
    found, at = theano.function([x], [values, positions])(array)
    assert numpy.array_equal(numpy.sort(found, axis=0), [[2.0, 4.0], [3.0, 5.0]])
    assert numpy.array_equal(numpy.sort(at, axis=0), [[1, 0], [2, 2]])


def test_the_graph_of_a_function_has_the_op():
    x = T.vector("x")
    f = theano.function([x], T.sort(x) + 1)
    assert [type(node.op) for node in f.maker.fgraph.toposort()][0] is SortOp


def test_ops_are_compared_by_class_and_parameters():
    assert SortOp("mergesort") == SortOp("mergesort") and hash(SortOp("mergesort")) == hash(SortOp("quicksort"))
    assert SortOp("mergesort") != SortOp("quicksort") and SortOp("mergesort") != ArgSortOp("mergesort")


def test_parameters_are_checked_when_an_op_is_made():
    with pytest.raises(TypeError, match="idx_dtype"):
        TopKOp(sorted=False, idx_dtype="float32")
    with pytest.raises(ValueError, match="Neither return_values nor return_indices"):
        TopKOp(sorted=False, return_values=False, return_indices=False)


def test_an_op_that_is_only_shown_cannot_be_applied():
    x = T.vector("x")
    with pytest.raises(NotImplementedError, match="subtensor"):
        x[1:].owner.op(x)
