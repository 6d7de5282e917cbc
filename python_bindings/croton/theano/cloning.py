"""Expressions with parts replaced."""

from croton import _croton

from .wrapping import as_variable, unwrap, wrap


def clone(output, replace=None, strict=True, share_inputs=True, copy_inputs=None):
    """The expression (or list) with variables replaced, all at once: {old: new} or pairs. strict=False: of other types,
    as long as they can be cast."""
    pairs = list(replace.items() if isinstance(replace, dict) else replace or [])
    checked = {}
    for old, new in pairs:
        new = as_variable(new)
        if not strict and old.ndim == new.ndim and old.dtype != new.dtype:
            new = wrap(_croton.cast(unwrap(new), old.dtype))
        if strict and old.type != new.type:
            new = old.type.filter_variable(new) if old.type.dtype == new.type.dtype and old.ndim == new.ndim and \
                all(b or not a for a, b in zip(old.broadcastable, new.broadcastable)) else _refuse(old, new)
        checked[unwrap(old)] = unwrap(new)
    return wrap(_croton.clone(unwrap(output), checked))


def _refuse(old, new):
    raise TypeError(f"clone: {new} of type {new.type} cannot stand in for {old} of type {old.type}; pass strict=False "
                    "or cast it")
