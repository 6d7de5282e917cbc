"""Bugs of Croton that the oracle has found and that are not fixed yet: it skips and counts them, and docs/use/ops.md
prints them. Each: the operation, its dtypes (or None for all), a part of the message, and the reason."""

KNOWN = []


MET = set()  # the entries of KNOWN that occurred: fixed ones must be removed from the list


def known(name, dtype, problem):
    found = [at for at, (n, dtypes, part, _) in enumerate(KNOWN)
             if name == n and (dtypes is None or dtype in dtypes) and part in problem]
    MET.update(found)
    return bool(found)


def mended():
    left = [fault for at, fault in enumerate(KNOWN) if at not in MET]
    return [f"{name} of {', '.join(dtypes or ['all dtypes'])}: {why}" for name, dtypes, _, why in left]
