"""Calls of microseconds keep the GIL and leave results in the function's memory, which must not be visible to the
user."""

import threading

import numpy as np

import croton
import croton.tensor as T


def test_results_of_earlier_calls_stay():
    x = T.fvector("x")
    f = croton.function([x], [x + 1, x * 2])
    kept = [f(np.full(3, i, "float32")) for i in range(10)]
    for i, (more, twice) in enumerate(kept):
        assert more.tolist() == [i + 1] * 3 and twice.tolist() == [2 * i] * 3
    large = [f(np.full(3000, i, "float32")) for i in range(10)]  # larger than results that are copied
    for i, (more, twice) in enumerate(large):
        assert (more == i + 1).all() and (twice == 2 * i).all()
    assert len({a.__array_interface__["data"][0] for pair in large for a in pair}) == 20


def test_threads_call_one_function():
    x, total = T.fvector("x"), croton.shared(np.zeros((), "int64"))
    f = croton.function([x], x + 1, updates=[(total, total + 1)])
    wrong = []

    def call(number):
        for i in range(2000):
            if not (f(np.full(5, number * 10000 + i, "float32")) == number * 10000 + i + 1).all():
                wrong.append((number, i))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and total.get_value() == 8000


def test_sizes_may_change_from_call_to_call():
    x = T.fvector("x")
    f = croton.function([x], x * 2)
    for size in [3, 0, 100000, 1, 5000, 3]:
        assert (f(np.ones(size, "float32")) == np.full(size, 2)).all() and f(np.ones(size, "float32")).shape == (size,)
