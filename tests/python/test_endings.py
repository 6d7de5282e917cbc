"""Endings while calls run: of the call, by Ctrl-C; of the process, with daemon threads in calls; and of its child after a fork."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pytest

import croton
import croton.tensor as T
from memory_limits import wrong_limits


def interrupt_after(seconds):
    def send():
        time.sleep(seconds)
        send.at, send.used = time.monotonic(), time.process_time()
        os.kill(os.getpid(), signal.SIGINT)

    send.at = None
    threading.Thread(target=send, daemon=True).start()
    return send


def slow(seconds):
    return croton.HostOp("slow", lambda v: (v.dtype, v.shape), lambda v: (time.sleep(seconds), v + 1)[1])


@pytest.mark.parametrize("updated", [False, True])
def test_ctrl_c_ends_a_call_between_its_steps_with_nothing_changed(updated):
    # Its steps run no Python code that could check for signals, except the sleeps.
    op, s, x = slow(0.002), croton.shared(np.ones(3), name="s"), T.dvector("x")
    steps, _ = croton.scan(lambda p: T.sqrt(op(p)), outputs_info=[x], n_steps=5000)
    f = croton.function([x], steps[-1], updates=[(s, s + steps[-1])] if updated else [])
    sent = interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        f(np.ones(3))
    assert time.monotonic() - sent.at < 0.2 + 0.3  # of 10 s; the second part is for a loaded machine
    assert s.get_value().tolist() == [1, 1, 1] and s.version == 0


@pytest.mark.parametrize("mode", ["reference", "verify"])
def test_ctrl_c_ends_a_loop_that_the_reference_evaluator_runs(mode):
    x, n = T.dscalar("x"), T.lscalar("n")
    with croton.change_flags(mode=mode):
        steps, _ = croton.scan(lambda p: T.tanh(p * x + 1), outputs_info=[x], n_steps=n)
        f = croton.function([x, n], steps[-1])
        sent = interrupt_after(0.2)
        with pytest.raises(KeyboardInterrupt):
            f(0.5, 30_000_000)
    assert time.monotonic() - sent.at < 0.5


def test_ctrl_c_ends_one_long_launch():
    n = T.lscalar("n")
    f = croton.function([n], T.exp(T.sin(T.arange(n) * 1.0)).sum())
    f(10)
    sent = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        f(10**11)  # minutes
    assert time.monotonic() - sent.at < 1.5


def test_signals_meet_no_library_in_the_middle():
    program = """
import signal, numpy as np, croton, croton.tensor as T
signal.signal(signal.SIGALRM, lambda *_: None)
m, x, w = T.fmatrix("m"), T.ftensor4("x"), T.ftensor4("w")
product, images = croton.function([m], T.dot(m, m)), croton.function([x, w], T.nnet.conv2d(x, w))
M, X, W = np.ones((1000, 1000), "f"), np.ones((4, 16, 28, 28), "f"), np.ones((32, 16, 3, 3), "f")
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
for _ in range(30):
    assert product(M)[0, 0] == 1000 and images(X, W)[0, 0, 0, 0] == 144
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_simulated_kernel_without_memory_to_check_it_is_an_error():
    program = """
import resource, numpy as np, croton, croton.tensor as T
croton.set_flag("cuda_simulator", "1")
x = croton.variable("uint8", [None], "x")
with croton.change_flags(device="cuda0"):
    f = croton.function([x], x + np.uint8(1))
    assert f(np.zeros(5, "uint8")).tolist() == [1] * 5
    big = np.zeros(60_000_000, "uint8")
    used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize"))
    resource.setrlimit(resource.RLIMIT_AS, (used * 1024 + (600 << 20), resource.RLIM_INFINITY))
    try:
        f(big)  # 250 MB of copies fit, 720 MB to remember the accesses (48 bytes for 4 elements) do not
    except croton.OutOfMemory as error:
        assert "to remember accesses in" in str(error)
    else:
        raise AssertionError("there was memory")
    assert f(np.zeros(5, "uint8")).tolist() == [1] * 5
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_ctrl_c_ends_a_compilation():
    x = y = T.dvector("x")
    for i in range(150000):
        y = T.sin(y) * (1.5 + i % 7)
    sent = interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(20):
            croton.function([x], y)
    assert time.process_time() - sent.used < 1  # of this process: others may use the machine
    assert time.monotonic() - sent.at < 10  # nor does it wait for anything


def test_ctrl_c_ends_a_training_behind_a_step():
    model = croton.nn.Sequential([croton.nn.Dense(8, input_shape=(4,)), croton.nn.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
    model.fit(x, y, epochs=1, verbose=0)
    sent = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, epochs=10**7, batch_size=8, verbose=0)
    assert time.monotonic() - sent.at < 0.5
    assert np.isfinite(model.predict(x, verbose=0)).all()


def test_a_handler_that_goes_on_lets_the_call_go_on():
    seen = []
    old = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        op, x = slow(0.002), T.dvector("x")
        steps, _ = croton.scan(lambda p: op(p), outputs_info=[x], n_steps=200)
        f = croton.function([x], steps[-1])
        interrupt_after(0.1)
        assert f(np.zeros(3)).tolist() == [200, 200, 200] and seen == [1]
    finally:
        signal.signal(signal.SIGINT, old)


CALLS = {
    "long": "f, a = croton.function([x], T.exp(x).sum()), np.ones(1 << 20, 'float32')",
    "brief": "f, a = croton.function([x], x * 2), np.ones(8, 'float32')",
    "python": """
        op = croton.HostOp("op", lambda v: (v.dtype, v.shape), lambda v: (time.sleep(0.0005), v + 1)[1])
        f, a = croton.function([x], op(x).sum()), np.ones(8, 'float32')""",
}


@pytest.mark.parametrize("call", CALLS)
def test_the_process_ends_while_daemon_threads_call(call):
    program = "import sys, threading, time, numpy as np, croton, croton.tensor as T\nx = T.fvector('x')\n"
    program += textwrap.dedent(CALLS[call]) + textwrap.dedent("""
        def loop():
            while True: f(a)
        for _ in range(2): threading.Thread(target=loop, daemon=True).start()
        time.sleep(float(sys.argv[1]))
        """)
    for after in ["0.02", "0.03", "0.041"]:
        done = subprocess.run([sys.executable, "-c", program, after], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (after, done.returncode, done.stderr[-1000:])


def test_compiling_with_too_little_memory():
    wrong, works = wrong_limits(step=140, most=704)  # memory_limits.py alone tests all steps of 4 MiB
    assert not wrong and set(works) == {"warm", "cold"}


def test_training_with_too_little_memory_for_its_threads():
    wrong, works = wrong_limits(step=3, most=15, starts=["training"])
    assert not wrong and works["training"] <= 6  # less than a thread's stack


def test_functions_that_are_freed_leave_nothing():
    program = os.path.join(os.path.dirname(__file__), "leaks.py")  # leaks_slow makes 2000 of them
    done = subprocess.run([sys.executable, program, "250", "120"], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"CROTON_FLAGS": ""})
    assert done.returncode == 0, done.stdout + done.stderr


def test_pools_of_processes():
    """docs/use/multiprocessing.md: processes that are started newly, and forks before calls."""
    program = textwrap.dedent("""
        import multiprocessing, sys, numpy as np, croton, croton.tensor as T

        def work(n):
            x = T.dvector("x")
            return float(croton.function([x], T.exp(x).sum())(np.zeros(n)))

        if __name__ == "__main__":
            if sys.argv[1] == "fork": work(3)  # calls that have ended
            with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool: print(pool.map(work, [1, 2, 3]))
        """)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pool.py")
        with open(path, "w") as file:
            file.write(program)
        for method in ["spawn", "fork"]:
            done = subprocess.run([sys.executable, path, method], capture_output=True, text=True, timeout=120)
            assert done.stdout == "[1.0, 2.0, 3.0]\n", (method, done.stderr[-1000:])
