"""No public call ends the process, hangs, or raises an error that only Croton's authors understand.

Public functions and methods are called with meaningless arguments (wild_calls.py), in separate processes.
CROTON_WILD_CALLS=100000 makes more calls, CROTON_WILD_SEED=7 other calls: a failure is reproduced by
`python tests/python/wild_calls.py --seed SEED --only NUMBER --log /dev/null`.
"""

import json
import os
import pathlib
import random
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parent / "wild_calls.py"
CALLS = int(os.environ.get("CROTON_WILD_CALLS", "3000"))
SEED = int(os.environ.get("CROTON_WILD_SEED") or random.SystemRandom().randrange(10**6))
MOST_ENDINGS = 5  # of processes, each of which may take the time of a hang


def children(log, seed, calls):
    """The faults of a process, and how it ended (unless it ended as it should), until all calls have been made."""
    first = 0
    for _ in range(MOST_ENDINGS):
        done = subprocess.run([sys.executable, PROGRAM, "--seed", str(seed), "--first", str(first), "--calls", str(calls), "--log", log],
                              capture_output=True, text=True, errors="replace", timeout=60 + calls / 50)
        lines = done.stdout.splitlines()
        found = [json.loads(line) for line in lines if line.startswith("{")]
        yield from (f"{fault['call']}\n    {fault['fault']}" for fault in found)
        if done.returncode == 0 and lines[-1:] == ["done"]:
            return
        last = (log.read_text(errors="replace").splitlines() or ["before the first call"])[-1]
        how = "hangs" if "Timeout (" in done.stderr else f"ends the process ({done.returncode})"
        yield f"{last}\n    {how}: {done.stderr[-2000:]}"
        if not last.split(" ")[0].isdigit():
            return
        first = int(last.split(" ")[0]) + 1


def test_wild_calls(tmp_path):
    print(f"seed {SEED}, {CALLS} calls")
    faults = list(children(tmp_path / "calls", SEED, CALLS))
    assert not faults, f"seed {SEED}: {len(faults)} of {CALLS} calls end wrongly:\n" + "\n".join(faults[:20])


def planted(tmp_path, body):
    """The output and the log for one function with a fault."""
    program = tmp_path / "planted.py"
    program.write_text(f"import sys; sys.path.insert(0, {str(PROGRAM.parent)!r})\nimport wild_calls\n"
                       f"def fault(*args, **kwargs):\n    {body}\n"
                       "wild_calls.targets = lambda: [('fault', fault, None)]\nwild_calls.SECONDS = 1\nwild_calls.main()\n")
    log = tmp_path / "calls"
    done = subprocess.run([sys.executable, program, "--seed", "1", "--calls", "1", "--log", log], capture_output=True, text=True, timeout=60)
    return done, log.read_text()


def test_faults_are_found(tmp_path):
    done, log = planted(tmp_path, "raise ValueError('vector::_M_range_check')")
    assert "_M_" in json.loads(done.stdout.splitlines()[0])["fault"] and log.startswith("0 fault(")
    done, log = planted(tmp_path, "raise TypeError('take (gather.cpp:319): no')")
    assert "gather.cpp:319" in json.loads(done.stdout.splitlines()[0])["fault"]
    done, log = planted(tmp_path, "raise SystemError('x')")
    assert "SystemError" in json.loads(done.stdout.splitlines()[0])["fault"]
    done, log = planted(tmp_path, "import os; os.abort()")
    assert done.returncode < 0 and log.startswith("0 fault(")
    done, log = planted(tmp_path, "import time; time.sleep(30)")
    assert "Timeout (" in done.stderr and done.returncode != 0 and log.startswith("0 fault(")
