"""compute_test_value: what an expression is of the test values of its inputs, computed when it is built, so that
mistakes show in the line that makes them."""

import warnings

from croton import _croton

from .configuration import config


def of(variable):
    """The test value of a variable; AttributeError where there is none."""
    if hasattr(variable, "data"):  # a constant
        return variable.data
    if hasattr(variable, "get_value"):
        return variable.get_value(borrow=True)
    return variable.tag.test_value


def wanted():
    """Whether test values are computed."""
    return config._values["compute_test_value"] != "off"


def give(variable, whole, row=None):
    """Gives a variable the test value of another one, or a row of it, if that has one."""
    if variable is whole or hasattr(variable, "data"):
        return
    try:
        value = of(whole)
        variable.tag.test_value = value if row is None else value[row]
    except (AttributeError, IndexError):
        pass  # what needs it says so


def derive(variable):
    """Sets tag.test_value of a new variable from those of its inputs, if the flag compute_test_value says so. Where one
    has none: nothing (ignore), a warning (warn), AttributeError (raise)."""
    mode = config._values["compute_test_value"]
    if mode == "off" or variable.owner is None:
        return
    given = {}
    for x in variable.owner.inputs:
        try:
            given[x] = of(x)
        except AttributeError:
            message = (f"Cannot compute test value: input {x} of {variable.owner} is missing default value. Give it by "
                       "x.tag.test_value")
            if mode == "raise":
                raise AttributeError(message) from None
            if mode == "warn":
                warnings.warn(message, stacklevel=3)
            return
    config._values["compute_test_value"] = "off"
    try:
        stand_ins = [x._croton for x in given if not _fixed(x)]
        values = [value for x, value in given.items() if not _fixed(x)]
        ends = [_croton.variable(x.dtype, list(x.sizes)) for x in stand_ins]
        copy = _croton.clone(variable._croton, dict(zip(stand_ins, ends)))
        f = _croton.function(ends, copy, on_unused_input="ignore", no_default_updates=True, allow_input_downcast=True)
        variable.tag.test_value = f(*values)
    finally:
        config._values["compute_test_value"] = mode


def _fixed(x):
    return hasattr(x, "get_value") or hasattr(x, "data")
