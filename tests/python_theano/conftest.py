"""Theano's API, in a separate process (ctest python_theano): importing croton.theano makes floatX float64."""

import pytest

import croton.theano as theano


@pytest.fixture(autouse=True)
def same_flags():
    """Each test begins with the flags that Theano starts with."""
    before = theano.config.floatX
    yield
    theano.config.floatX = before
