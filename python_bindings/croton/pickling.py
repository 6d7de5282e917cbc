"""Pickles of shared variables: value, name, device, and which axes have size 1 for good. Default updates are not kept."""

import warnings

from . import _croton


def reduce_shared(x):
    """What pickle and copy keep of a shared variable."""
    target = x.home if x.pinned else None
    return shared_again, (x.get_value(), x.name, target, x.broadcastable)


def shared_again(value, name, target, broadcastable):
    """The variable of a pickle. Where its device is missing it goes to the default device, with a warning."""
    options = {"name": name, "broadcastable": list(broadcastable)}
    try:
        return _croton.shared(value, target=target, **options)
    except (_croton.DeviceError, _croton.ValueError, _croton.ConfigError) as error:
        if target is None:
            raise
        warnings.warn(f"the shared variable {name or 'without a name'} was stored on {target}, which this machine does not have; "
                      f"it is loaded to the default device ({error})", RuntimeWarning, stacklevel=2)
        return _croton.shared(value, **options)
