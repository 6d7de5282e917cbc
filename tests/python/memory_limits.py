"""Compiles a kernel, or trains a compiled model (which needs threads), in processes with limits of additional memory:
either it works, or MemoryError is raised, nothing is changed, and the same call works when there is memory. If LLVM
gets no memory, it ends the process.

usage: memory_limits.py [--step MIB] [--most MIB]
"""

import argparse
import subprocess
import sys

PROGRAM = """
import resource, sys, numpy as np, croton, croton.tensor as T
room, warm = int(sys.argv[1]), sys.argv[2] == "warm"
x, m, s = T.fvector("x"), T.fmatrix("m"), croton.shared(np.ones(3, "float32"))
if warm: croton.function([x], T.exp(x) + 1)(np.ones(3, "float32"))  # LLVM is there, and has compiled
f = croton.function([m], [croton.nnet.softmax(T.dot(m, m.T) + s.sum()), T.tanh(m).sum(axis=0)], updates=[(s, s * 2 + m.sum())])
a = np.ones((40, 40), "float32")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
now, most = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (room << 20), most))
try:
    f(a)
    result = "worked"
except MemoryError as error:
    result = f"MemoryError: {error}"
resource.setrlimit(resource.RLIMIT_AS, (now, most))
if result != "worked":
    assert s.get_value().tolist() == [1, 1, 1] and s.version == 0, s.get_value()
    f(a)
assert s.get_value().tolist() == [1602, 1602, 1602]
print(result)
"""

TRAINING = """
import resource, sys, numpy as np, croton
model = croton.nn.Sequential([croton.nn.Dense(8, input_shape=(4,)), croton.nn.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
model.fit(x, y, epochs=1, batch_size=8, verbose=0)
before = [w.copy() for w in model.get_weights()]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
now, most = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20), most))
try:
    model.fit(x, y, epochs=2, batch_size=8, verbose=0)
    result = "worked"
except MemoryError as error:
    result = f"MemoryError: {error}"
resource.setrlimit(resource.RLIMIT_AS, (now, most))
if result != "worked":
    model.fit(x, y, epochs=2, batch_size=8, verbose=0)
assert all(np.isfinite(w).all() for w in model.get_weights()) and not np.array_equal(before[0], model.get_weights()[0])
print(result)
"""


def result_at(room, start):
    command = [sys.executable, "-c", TRAINING if start == "training" else PROGRAM, str(room), start]
    env = {"CROTON_FLAGS": "cache=false", "OPENBLAS_NUM_THREADS": "1"}
    import os

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | env)
    if done.returncode != 0:
        return f"exit {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}"
    return done.stdout.strip()


def wrong_limits(step, most, starts=("warm", "cold")):
    """The wrong results; and, for each start, the least memory with which the call worked."""
    wrong, works = [], {}
    for start in starts:
        for room in range(0 if start == "training" else 4, most + 1, step):
            result = result_at(room, start)
            if result == "worked":
                works.setdefault(start, room)
            elif not result.startswith("MemoryError: "):
                wrong.append(f"{start}, {room} MiB: {result}")
    return wrong, works


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, default=4)
    parser.add_argument("--most", type=int, default=800)
    args = parser.parse_args()
    wrong, works = wrong_limits(args.step, args.most)
    more_wrong, more_work = wrong_limits(1, 24, ["training"])
    wrong, works = wrong + more_wrong, works | more_work
    print(*wrong, sep="\n")
    print(f"limits up to {args.most} MiB in steps of {args.step}: {len(wrong)} wrong; least room that was enough: {works}")
    sys.exit(1 if wrong or len(works) != 3 else 0)


if __name__ == "__main__":
    main()
