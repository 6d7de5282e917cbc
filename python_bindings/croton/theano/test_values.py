"""compute_test_value: the value of an expression for the test values of its inputs, computed when it is built, so that
mistakes raise in the line that contains them."""

import warnings

from croton import _croton

from .configuration import config


def of(variable):
    """The test value of a variable; AttributeError if there is none."""
    if hasattr(variable, "data"):  # a constant
        return variable.data
    if hasattr(variable, "get_value"):
        return variable.get_value(borrow=True)
    return variable.tag.test_value


def enabled():
    """Whether test values are computed."""
    return config._values["compute_test_value"] != "off"


def inherit(variable, whole, row=None):
    """Sets a variable's test value to that of another one, or to a row of it, if that has one."""
    if variable is whole or hasattr(variable, "data"):
        return
    try:
        value = of(whole)
        variable.tag.test_value = value if row is None else value[row]
    except (AttributeError, IndexError):
        pass  # an error is raised where the test value is needed


def derive(variable):
    """Sets tag.test_value of a new variable from those of its inputs, if the flag compute_test_value is on. For an
    input without one: nothing (ignore), a warning (warn), AttributeError (raise)."""
    mode = config._values["compute_test_value"]
    if mode == "off" or variable.owner is None:
        return
    test_values = {}
    for x in variable.owner.inputs:
        try:
            test_values[x] = of(x)
        except AttributeError:
            message = (f"Cannot compute test value: input {x} of {variable.owner} is missing default value. Set it as "
                       "x.tag.test_value")
            if mode == "raise":
                raise AttributeError(message) from None
            if mode == "warn":
                warnings.warn(message, stacklevel=3)
            return
    config._values["compute_test_value"] = "off"
    try:
        replaced = [x._croton for x in test_values if not _has_value(x)]
        values = [value for x, value in test_values.items() if not _has_value(x)]
        inputs = [_croton.variable(x.dtype, list(x.sizes)) for x in replaced]
        copy = _croton.clone(variable._croton, dict(zip(replaced, inputs)))
        f = _croton.function(inputs, copy, on_unused_input="ignore", no_default_updates=True, allow_input_downcast=True)
        variable.tag.test_value = f(*values)
    finally:
        config._values["compute_test_value"] = mode


def _has_value(x):
    return hasattr(x, "get_value") or hasattr(x, "data")
