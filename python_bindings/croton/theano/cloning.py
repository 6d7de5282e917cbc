"""Copies of expressions with some variables replaced."""

from croton import _croton

from .wrapping import as_variable, unwrap, wrap


def clone(output, replace=None, strict=True, share_inputs=True, copy_inputs=None):
    """The expression (or list of expressions) with variables replaced, all at once: {old: new} or pairs. strict=False:
    also by variables of other types, if they can be cast."""
    pairs = list(replace.items() if isinstance(replace, dict) else replace or [])
    checked = {}
    for old, new in pairs:
        new = as_variable(new)
        if not strict and old.ndim == new.ndim and old.dtype != new.dtype:
            new = wrap(_croton.cast(unwrap(new), old.dtype))
        if strict and old.type != new.type:
            new = old.type.filter_variable(new) if old.type.dtype == new.type.dtype and old.ndim == new.ndim and \
                all(b or not a for a, b in zip(old.broadcastable, new.broadcastable)) else _raise_type_error(old, new)
        checked[unwrap(old)] = unwrap(new)
    return wrap(_croton.clone(unwrap(output), checked))


def _raise_type_error(old, new):
    raise TypeError(f"clone: {new} of type {new.type} cannot replace {old} of type {old.type}; pass strict=False "
                    "or cast it")
