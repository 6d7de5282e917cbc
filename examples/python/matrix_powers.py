"""A^n + B^n for two matrices, as a tutorial of TensorFlow compares one GPU with two: both powers on one device, then
one on each, added on the CPU. It shows the placement, the transfers and the times of both, and that both give the same
bits. As in the tutorial, whose recursion ends with M for n < 1, the powers have n + 1 factors. Croton computes powers
by squaring, with 5 products instead of 10; CROTON_FLAGS=rules_off=dot-powers disables this.

Usage: matrix_powers.py [SIZE [N [FIRST SECOND [HOST]]]]    (256 10 cpu0 cpu1 cpu)

The tutorial's own sizes on two GPUs: matrix_powers.py 10000 10 cuda0 cuda1
"""

import sys
import time

import numpy as np

import croton
import croton.tensor as T
import device_names


def matpow(m, n):
    return m if n < 1 else T.dot(m, matpow(m, n - 1))


def powers(a, b, n, first, second, host, name):
    """A^n on one device, B^n on another, their sum on a third. The matrices are stored where they are multiplied."""
    with croton.device(first):
        left = matpow(croton.shared(a, name="A", target=first), n)
        left.name = "A^n"
    with croton.device(second):
        right = matpow(croton.shared(b, name="B", target=second), n)
        right.name = "B^n"
    with croton.device(host):
        total = T.add_n([left, right])
        total.name = "sum"
    return croton.function([], total, name=name)


def timed(f):
    """(result, seconds): the best of three calls, after a first one that does not count."""
    result, best = f(), None
    for _ in range(3):
        start = time.perf_counter()
        result = f()
        seconds = time.perf_counter() - start
        best = seconds if best is None else min(best, seconds)
    return result, best


def main(size=256, n=10, first="cpu0", second="cpu1", host="cpu"):
    device_names.provide([first, second, host])
    random = np.random.default_rng(1)
    a, b = (random.random((int(size), int(size)), dtype=np.float32) for _ in range(2))
    one = powers(a, b, int(n), first, first, host, "one device")
    two = powers(a, b, int(n), first, second, host, "two devices")
    one()  # the log is for the second function only
    croton.log_device_placement(sys.stdout)
    two()
    croton.log_device_placement(None)

    of_one, seconds_of_one = timed(one)
    of_two, seconds_of_two = timed(two)
    remark = device_names.remark(first)
    print(f"one device:  {seconds_of_one:.4f} s{remark}")
    print(f"two devices: {seconds_of_two:.4f} s{remark}, {seconds_of_one / seconds_of_two:.2f} times as fast")
    same, finite = of_one.tobytes() == of_two.tobytes(), bool(np.isfinite(of_one).all())
    print(f"both results {'have the same bits' if same else 'DIFFER'} and are {'finite' if finite else 'NOT finite'}")
    return 0 if same and finite else 1


if __name__ == "__main__":
    if len(sys.argv) == 4 or len(sys.argv) > 6:
        sys.exit("usage: matrix_powers.py [SIZE [N [FIRST SECOND [HOST]]]]")
    sys.exit(main(*sys.argv[1:]))
