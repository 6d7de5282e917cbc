"""Calls public functions of Croton with meaningless arguments, and reports the calls that end in a wrong way.

    python wild_calls.py --seed 1 --calls 3000 --log FILE      the calls 0 to 2999
    python wild_calls.py --seed 1 --only 1234 --log FILE       that call alone, with its traceback

Each call is written to the log before it is made, so that the last line there is the call that ended the process, if
one did. A call depends only on its number and the seed. Each fault is printed as a line of JSON. test_wild_calls.py
runs this.
"""

import argparse
import datetime
import decimal
import faulthandler
import fractions
import inspect
import json
import os
import random
import re
import resource
import sys
import traceback
import warnings

import numpy as np

import croton
import croton.tensor as T

# By design these do what a test must not do: name -> why.
SKIPPED = {
    "set_flag": "changes the flags of the process for all later calls",
    "use": "changes where the process computes",
    "log_device_placement": "prints each placement from then on",
    "Trace": "writes a file, and watches all later calls",
}
OPERATORS = """add sub mul truediv floordiv mod pow matmul and or xor radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror
               rxor neg pos abs invert lt le gt ge eq getitem""".split()
# Internals that users need not know; file names of Croton are not lines of the user's program.
FORBIDDEN = re.compile(r"std::|nanobind::|_M_|bad_cast|tolist|\b\w+\.(?:cpp|hpp|cc|h):\d+")
SECONDS = 10
MEMORY = 12 << 30  # of address space: a call that requests all memory gets an error


class Unhelpful:
    """An object whose every method raises an error."""

    def __index__(self):
        raise ZeroDivisionError("an error of the user")

    __float__ = __len__ = __iter__ = __array__ = __bool__ = __index__


def variables():
    inputs = [croton.variable(dtype, shape, name) for dtype, shape, name in [
        ("float32", (), "s"), ("float32", (None,), "v"), ("float64", (None, None), "m"), ("float32", (2, None, 1), "t"),
        ("int64", (), "i"), ("int32", (None,), "iv"), ("uint8", (None, 3), "um"), ("bool", (None,), "bv"),
        ("complex64", (None, 2), "zm"), ("float16", (None,) * 4, "h4"), ("bfloat16", (), "b")]]
    v, m = inputs[1], inputs[2]
    return inputs + [v + 1, T.exp(m), m.T, v[1:3], v.sum(), croton.constant(3), croton.constant(np.arange(6.0).reshape(2, 3))]


def shared_variables():
    return [croton.shared(np.arange(3, dtype="float32"), "w"), croton.shared(2, "n"), croton.shared(np.eye(2), "e")]


def functions():
    v, i = T.fvector("v"), T.lscalar("i")
    return [croton.function([v], v * 2, name="doubled"), croton.function([v, croton.In(i, value=1)], [v + 1, i], name="two")]


def streams():
    return [croton.RandomStreams(1), croton.MrgRandomStreams(1), croton.NumpyRandomStreams(1)]


VARIABLES, SHARED, FUNCTIONS, STREAMS = variables(), shared_variables(), functions(), streams()
INTS = [0, 1, -1, 2, 3, -2, 5, 64, 65, 1000, 2**15, 2**31 - 1, 2**31, -2**31, 2**41, 2**62, 2**63 - 1, 2**63, -2**63, 2**64 - 1, 2**64,
        10**30, -10**30]
FLOATS = [0.0, -0.0, 0.5, -1.5, 1e-300, 1e300, float("nan"), float("inf"), -float("inf")]
TEXTS = ["", "x", "axis", "float32", "floatX", "raise", "wrap", "valid", "same", "fro", "i,j->ij", "ij,jk", "\0", "\udc80", "ß" * 50, "a" * 5000,
         "channels_first", "__class__", "{}", "%s%n"]
NUMPY_KINDS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "longdouble", "complex64",
               "complex128", "clongdouble", "datetime64[D]", "timedelta64[s]", "S3", "U3", "V4", "i4,f8"]
OTHERS = [None, True, False, ..., NotImplemented, int, float, object, np.ndarray, np.float32, croton.Variable, lambda *a: None, lambda x: x,
          lambda: VARIABLES[1], len, datetime.date(2020, 1, 1), datetime.timedelta(1), decimal.Decimal("1.5"), fractions.Fraction(1, 3), 1j,
          complex(float("nan"), 1), range(3), iter([1, 2]), {1, 2}, frozenset(), b"", b"abc", bytearray(b"ab"), memoryview(b"abc"),
          memoryview(np.zeros((2, 2))), np, object(), Unhelpful(), np.dtype("float32"), np.dtype("M8[s]"), np.random.RandomState(1), slice(None)]


def scalar(rng):
    kind = rng.choice(NUMPY_KINDS)
    return np.zeros(1, kind)[0] if rng.random() < 0.5 else np.ones(1, kind)[0]


def array(rng):
    if rng.random() < 0.2:
        return np.array([object(), None, 1][:rng.randrange(4)], object)
    shape = rng.choice([(), (0,), (1,), (3,), (2, 3), (2, 0, 2), (1,) * 5, (1,) * 32])
    a = np.zeros(shape, rng.choice(NUMPY_KINDS))
    change = rng.random()
    if change < 0.1:
        a = a.byteswap().view(a.dtype.newbyteorder())
    elif change < 0.2:
        a = a[..., ::-1] if a.ndim else a
    elif change < 0.3:
        a.flags.writeable = False
    elif change < 0.35:
        a = np.lib.stride_tricks.as_strided(a, a.shape, (0,) * a.ndim)
    return a


def wild(rng, depth=0):
    """A value of any kind."""
    pick = rng.randrange(14 if depth < 2 else 10)
    if pick < 3:
        return rng.choice(VARIABLES + SHARED)
    if pick < 5:
        return rng.choice(INTS)
    if pick == 5:
        return rng.choice(FLOATS)
    if pick == 6:
        return rng.choice(TEXTS)
    if pick == 7:
        return scalar(rng)
    if pick == 8:
        return array(rng)
    if pick == 9:
        return rng.choice(OTHERS + FUNCTIONS)
    if pick == 10:
        return slice(*(wild(rng, 2) for _ in range(3)))
    items = [wild(rng, depth + 1) for _ in range(rng.randrange(4))]
    if pick == 11:
        return tuple(items)
    if pick == 12:
        return items
    return {key: wild(rng, depth + 1) for key in (rng.choice(["x", 1, "axis", VARIABLES[0], SHARED[0]]) for _ in items)}


# Typical values of parameters with these names.
USUAL = {
    "axis": [0, 1, -1, None, [0, 1]], "axes": [0, [0, 1], [1, 0]], "dtype": ["float32", "int64", "floatX", np.float64, None],
    "acc_dtype": ["float64", None], "shape": [(2, 3), [VARIABLES[4], 2], 3], "size": [(2, 3), None], "name": ["a", None],
    "mode": ["raise", "wrap", "constant", "valid"], "keepdims": [True, False], "n": [0, 1, 3], "ndim": [1, 2], "step": [1, 2],
    "pattern": [0, 1, "x"], "indices": [0, [0, 1], VARIABLES[5]], "inputs": [VARIABLES[:2]], "outputs": [VARIABLES[1:3], VARIABLES[1]],
    "updates": [[(SHARED[0], SHARED[0] + 1)], None], "cost": [VARIABLES[1].sum()], "wrt": [VARIABLES[1], VARIABLES[1:3]],
    "fn": [lambda *a: a[0] if a else VARIABLES[0]], "sequences": [VARIABLES[1]], "n_steps": [3, None], "seed": [1, 2**40],
}


def plausible(rng, name=None):
    """A value that many parameters accept, so that calls get past the first checks of their arguments."""
    if name in USUAL:
        return rng.choice(USUAL[name])
    return rng.choice([rng.choice(VARIABLES), rng.choice(VARIABLES + SHARED), rng.choice([0, 1, -1, 2]), [0, 1], None, rng.choice([True, False]),
                       np.ones((2, 3), "float32"), "float32", [rng.choice(VARIABLES)] * 2])


def parameters(function):
    """Names of the parameters, and the number of required ones."""
    signatures = getattr(function, "__nb_signature__", None)
    if signatures:
        found = re.findall(r"(?:\(|, )(\*{0,2})(\w+)(?:: [^=,()]*)?( = )?", signatures[0][0].split("->")[0])
        found = [(name, bool(stars or default)) for stars, name, default in found if name != "self"]
        return [name for name, _ in found], sum(not free for _, free in found)
    try:
        found = [p for name, p in inspect.signature(function).parameters.items() if name != "self"]
    except (TypeError, ValueError):
        return ["x", "y"], 1
    return [p.name for p in found], sum(p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD for p in found)


def is_wanted(name, thing):
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    return not name.startswith("_") and callable(thing) and name not in SKIPPED and not is_error


def targets():
    """(name, function of a random generator that returns the callable)."""
    found = []
    for module, prefix in ((croton, "croton."), (T, "croton.tensor."), (croton.nnet, "croton.nnet.")):
        seen = {id(getattr(croton, name)) for name in dir(croton)} if module is T else set()
        for name in sorted(dir(module)):
            thing = getattr(module, name)
            if is_wanted(name, thing) and id(thing) not in seen:
                found.append((prefix + name, thing, None))
    for owners, kind in ((VARIABLES, croton.Variable), (SHARED, croton.SharedVariable), (FUNCTIONS, croton.Function)):
        for name in sorted(dir(kind)):
            if is_wanted(name, getattr(kind, name)) or name.strip("_") in OPERATORS and name.startswith("__"):
                found.append((f"{kind.__name__}.{name}", name, owners))
    found.append(("Function.__call__", "__call__", FUNCTIONS))
    for stream in STREAMS:
        kind = type(stream).__name__
        found += [(f"{kind}.{name}", name, [stream]) for name in sorted(dir(stream)) if is_wanted(name, getattr(stream, name))]
    return found


def keyword(rng, names):
    name = rng.choice(names) if names and rng.random() < 0.9 else rng.choice(["axis", "dtype", "nonsense", "axs", "self", ""])
    return name[:-1] if rng.random() < 0.1 else name


def planned(targets, seed, number):
    """The call with this number: its name, the callable, arguments and keywords."""
    rng = random.Random(f"{seed}:{number}")
    name, thing, owners = targets[rng.randrange(len(targets))]
    if owners is not None:
        owner = rng.choice(owners)
        function = getattr(owner, thing)
        names, needed = parameters(getattr(type(owner), thing))
    else:
        function = thing
        names, needed = parameters(getattr(thing, "__init__", thing) if inspect.isclass(thing) else thing)
    count = rng.randrange(needed, len(names) + 1) if rng.random() < 0.9 else rng.randrange(6)
    mostly = rng.choice([0.2, 0.6, 0.9])
    value = lambda name=None: plausible(rng, name) if rng.random() < mostly else wild(rng)  # noqa: E731
    arguments = [value(names[i] if i < len(names) else None) for i in range(count)]
    if arguments and rng.random() < 0.2:  # otherwise they are right, which leads furthest
        arguments = [plausible(rng, name) for name in (names + [None] * count)[:count]]
        arguments[rng.randrange(count)] = rng.choice(INTS)
    keywords = {}
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        key = keyword(rng, names[len(arguments):])
        keywords[key] = value(key)
    return name, function, arguments, keywords


def shown(value):
    try:
        text = repr(value)
    except BaseException as error:
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    text = text.replace("\n", " ")
    return text if len(text) < 200 else text[:200] + "..."


def fault_of(error):
    """The fault in the error of a call; None if it is right."""
    try:
        message = str(error)
    except BaseException as other:
        return f"its message raises {other!r}"
    if isinstance(error, (SystemError, croton.InternalError, UnicodeDecodeError)):
        return f"{type(error).__name__}: {message}"
    word = FORBIDDEN.search(message)
    return f"the word '{word[0]}' in {type(error).__name__}: {message}" if word else None


def run(numbers, seed, log, loudly=False):
    known = targets()
    for number in numbers:
        name, function, arguments, keywords = planned(known, seed, number)
        text = ", ".join([shown(a) for a in arguments] + [f"{key}={shown(value)}" for key, value in keywords.items()])
        line = f"{number} {name}({text})"
        os.write(log, (line + "\n").encode("utf-8", "backslashreplace"))
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        fault = None
        try:
            function(*arguments, **keywords)
        except BaseException as error:
            fault = fault_of(error)
            if loudly:
                traceback.print_exc()
        faulthandler.cancel_dump_traceback_later()
        if fault:
            print(json.dumps({"call": line, "fault": fault[:600]}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--calls", type=int, default=3000, help="up to this number")
    parser.add_argument("--only", type=int)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    numbers = range(options.first, options.calls) if options.only is None else [options.only]
    run(numbers, options.seed, log, loudly=options.only is not None)
    print("done", flush=True)
    sys.stdout.flush()
    os._exit(0)  # without freeing the objects of the calls


if __name__ == "__main__":
    main()
