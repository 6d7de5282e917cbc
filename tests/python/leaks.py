"""Compiled and freed functions leak no memory: for many different functions the memory grows, after the first ones, by
less than 1 KiB each.

usage: leaks.py [COUNT] [FIRST]
"""

import ctypes
import gc
import sys

import numpy as np

import croton
import croton.tensor as T

MOST_BYTES = 1024


def resident():
    """Bytes in use by the process, without malloc's reserves."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def make_and_call(number):
    """A unique function: the order of its operations encodes the number."""
    x, state = T.dvector("x"), croton.shared(np.ones(3))
    y = x
    for bit in range(12):
        y = T.sqrt(abs(y)) + x if number >> bit & 1 else T.maximum(y, x) * x
    f = croton.function([x], [y, y.sum()], updates=[(state, state + y)])
    value, total = f(np.ones(3))
    assert np.isclose(value.sum(), total) and np.allclose(state.get_value(), 1 + value)


def growth(count, first):
    """Bytes per function after the first ones."""
    with croton.change_flags(llvm_level=0, cache=False):
        for number in range(first):
            make_and_call(number)
        before = resident()
        for number in range(first, count):
            make_and_call(number)
        return (resident() - before) / (count - first)


if __name__ == "__main__":
    count, first = (int(word) for word in (sys.argv[1:] + ["2000", "500"][len(sys.argv) - 1 :]))
    each = growth(count, first)
    print(f"{count} functions, {each:.0f} bytes each after the first {first}; at most {MOST_BYTES} are right")
    sys.exit(each > MOST_BYTES)
