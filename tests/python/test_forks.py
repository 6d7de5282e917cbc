"""Processes that are forked while other threads compile or call, in threads that then return, and around passes of data
(docs/use/multiprocessing.md). Each runs in a separate process, whose children are killed if they hang."""

import os
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import os, signal, sys, threading, time, numpy as np, croton, croton.tensor as T

x = T.fvector("x")

def fresh(k):
    return croton.function([x], T.tanh(x * k).sum())

def child(work):
    '''What a child does: it is killed where it hangs.'''
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        try:
            work()
            status = 0
        except croton.Error as error:
            status = 3 if "while another thread was compiling" in str(error) else 4
            if status == 4: print(error, file=sys.stderr)
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def run(program, **flags):
    flags = ",".join(f"{name}={value}" for name, value in {"cache": "false", "threads": "2", **flags}.items())
    done = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(program)], capture_output=True, text=True, timeout=240,
                          env=os.environ | {"CROTON_FLAGS": flags})
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done.stdout.split()


def test_a_child_forked_while_another_thread_compiles_says_so():
    counts = run("""
        ones = np.ones(8, "float32")
        bound = fresh(0.5)
        bound(ones)
        stop = False

        def compile_all_the_time():
            k = 1.0
            while not stop:
                k += 1
                fresh(k)(ones)

        def work():
            bound(ones)  # what is there works
            fresh(0.25)(ones)

        threading.Thread(target=compile_all_the_time, daemon=True).start()
        ends = []
        for i in range(24):
            time.sleep(0.013)
            ends.append(child(work))
        stop = True
        assert set(ends) <= {0, 3}, ends
        print(ends.count(0), ends.count(3))
        """)
    assert int(counts[1]) > 0, counts


def test_a_child_forked_while_other_threads_call_works():
    assert run("""
        ones = np.ones(64, "float32")
        fs = [fresh(k) for k in (2.0, 3.0, 4.0)]
        for f in fs: f(ones)
        stop = False

        def call(f):
            while not stop:
                f(ones)
                np.asarray(croton.shared(ones).get_value())

        for f in fs[:2]: threading.Thread(target=call, args=(f,), daemon=True).start()

        def work():
            fs[2](ones)
            croton.shared(ones).get_value()
            with croton.change_flags(warn=False):
                croton.shared(ones).get_value()

        def compile():
            work()
            fresh(0.25)(ones)

        ends = {child(compile if i % 16 == 0 else work) for i in range(96)}
        stop = True
        print(*ends)
        """) == ["0"]


@pytest.mark.parametrize("work", ["pass", "f(many)", "fresh(2.0)(many)", "d(square)"])
def test_a_child_forked_in_a_thread_ends_when_that_returns(work):
    """The thread pool's workers do not keep it alive."""
    assert run(f"""
        many, square = np.ones(1 << 20, "float32"), np.ones((500, 500), "float32")
        m = T.fmatrix("m")
        f, d = fresh(1.0), croton.function([m], T.dot(m, m) + 1)
        f(many), d(square)
        pids = []

        def fork():
            pids.append(os.fork())
            if pids[0] == 0:
                signal.alarm(20)
                {work}

        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
        if pids[0]: print(os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]))
        """) == ["0"]


def test_a_pass_with_a_thread_of_its_own_is_an_error_in_a_child():
    assert run("""
        data = croton.nn.Dataset.from_arrays(np.arange(64.0), np.arange(64.0), batch_size=4).prefetch(2)
        batches = iter(data)
        next(batches)
        time.sleep(0.1)  # the thread sleeps: there is enough

        def work():
            global batches
            try:
                next(batches)
            except croton.Error as error:
                assert "begin another pass" in str(error)
            else:
                raise AssertionError("a batch of a thread that is not here")
            del batches
            assert len(list(data)) == 16

        print(child(work))
        assert len(list(batches)) == 15
        """) == ["0"]


def test_signals_in_a_child_forked_in_a_thread_end_a_compilation():
    assert run("""
        y = x
        for i in range(100000): y = T.sin(y) * (1.5 + i % 7)
        pids = []

        def stop(*_):
            raise KeyboardInterrupt

        def fork():
            pids.append(os.fork())
            if pids[0]: return
            signal.signal(signal.SIGALRM, stop)  # the thread is the main one here
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            begin = time.process_time()  # others may have the machine
            try:
                for _ in range(20): croton.function([x], y)
            except KeyboardInterrupt:
                os._exit(0 if time.process_time() - begin < 1.5 else 1)
            os._exit(2)

        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]))
        """) == ["0"]


def test_the_end_of_a_child_does_not_wait_for_threads_of_its_parent():
    assert run("""
        inside = threading.Event()
        op = croton.HostOp("op", lambda v: (v.dtype, v.shape), lambda v: (inside.set(), time.sleep(20), v)[2])
        f = croton.function([x], op(x))
        threading.Thread(target=f, args=(np.ones(2, "float32"),), daemon=True).start()
        inside.wait()
        begin = time.monotonic()
        pid = os.fork()
        if pid == 0: sys.exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(status, time.monotonic() - begin < 3, flush=True)
        os._exit(0)
        """) == ["0", "True"]
