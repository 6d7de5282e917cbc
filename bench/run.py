#!/usr/bin/env python3
"""Times Croton beside NumPy, JAX and hand-written C++, checks all of them, and writes the tables (README.md).

    cmake --build build/release --target croton_bench
    python3 bench/run.py [--quick] [--python PYTHON]

PYTHON is an interpreter that has bench/peers/requirements.txt; without it one is made by venv and pip in a temporary
folder. Only the standard library is needed here.
"""
import argparse
import contextlib
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
WORKLOADS = ["axpy_chain_1e3", "axpy_chain_1e6", "axpy_chain_1e7", "black_scholes", "softmax_rows", "layernorm_rows",
             "reduce_sum_0", "reduce_sum_1", "reduce_sum_all", "transpose_add", "mlp_step", "logreg_step", "call_arg",
             "call_shared"]
QUICK = ["axpy_chain_1e3", "axpy_chain_1e6", "softmax_rows", "layernorm_rows", "logreg_step", "call_arg"]
COMPILED = {"mlp_step": 3, "graph_1000": 3, "graph_10000": 1}  # how often at most: JAX needs half a minute for the last
GFLOP = {"mlp_step": 8.05, "logreg_step": 0.0188}  # of matrix products
GEMM = "gemm_1000"  # two products a second tell the rate: 2 GFLOP each
SAME = 1e-5  # by how much checksums of different programs may differ


class Runner:
    """Starts the programs, each in its own process and with its disk caches in a folder of ours."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.python = options.python or make_python(folder)
        self.hand = build_hand(folder)
        self.commands = {"croton": [options.croton_bench],
                         "numpy": [self.python, os.path.join(PEERS, "peer_numpy.py")],
                         "jax": [self.python, os.path.join(PEERS, "peer_jax.py")]}

    def measure(self, program, threads, flags, cache):
        """The JSON object that the program writes; None if it does not end well."""
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".json") as out:
            command = self.commands[program] + ["--threads", str(threads), "--json", out.name] + flags
            return self.run(command, cache) and json.load(out)

    def measure_hand(self, threads, budget, quick):
        command = [self.hand, str(threads), str(budget)] + (["reduced"] if quick else [])
        text = self.run(pinned(threads) + command, self.folder)
        return text and json.loads(text.stdout)

    def run(self, command, cache):
        print("  ", *[os.path.basename(part) for part in command], file=sys.stderr, flush=True)
        try:
            done = subprocess.run(command, env=environment(cache), capture_output=True, text=True,
                                  timeout=self.options.limit)
        except subprocess.TimeoutExpired:
            print(f"    took more than {self.options.limit} s", file=sys.stderr)
            return None
        if done.returncode != 0:
            print(done.stderr[-2000:], file=sys.stderr)
        return done if done.returncode in (0, 1) else None  # 1: a workload failed, and the JSON says which


def environment(cache):
    """Ours, with the caches in the given folder and without settings that others would not have."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CROTON_", "JAX_", "XLA_"))}
    return kept | {"CROTON_FLAGS": "cache_dir=" + subfolder(cache, "croton"), "JAX_COMPILATION_CACHE_DIR":
                   subfolder(cache, "jax"), "PYTHONDONTWRITEBYTECODE": "1"}


def subfolder(folder, name):
    path = os.path.join(folder, name)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def pinned(threads):
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    return ["taskset", "-c", ",".join(map(str, cores))]


def make_python(folder):
    print("installing the peers", file=sys.stderr)
    venv = os.path.join(folder, "venv")
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = os.path.join(venv, "bin", "python")
    requirements = os.path.join(PEERS, "requirements.txt")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
    return python


def build_hand(folder):
    program = os.path.join(folder, "hand")
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++20", "-O3", "-march=native", "-ffast-math", "-fopenmp",
                    os.path.join(PEERS, "hand.cpp"), "-o", program], check=True)
    return program


# ---- the rounds


def time_calls(runner, options):
    """{threads: {program: [JSON of each round]}}; the programs take turns, so that a slow minute meets all of them."""
    found = {t: {} for t in options.threads}
    cache = subfolder(runner.folder, "cache")
    for _ in range(options.rounds):
        for threads in options.threads:
            for program in runner.commands:
                extra = [] if program == "croton" else [GEMM]
                flags = ["--workloads", ",".join(options.workloads + extra), "--budget", str(options.budget)]
                found[threads].setdefault(program, []).append(runner.measure(program, threads, flags, cache))
            found[threads].setdefault("hand", []).append(runner.measure_hand(threads, options.budget, options.quick))
    return {t: {p: [r for r in rounds if r] for p, rounds in programs.items()} for t, programs in found.items()}


def time_first_results(runner, options):
    """{workload: {program: {"cold" or "warm": [JSON of each round]}}}: new processes, one thread."""
    found = {}
    for workload, most in COMPILED.items():
        if options.quick and workload == "graph_10000":
            continue
        for _ in range(min(options.rounds, most)):
            for program in runner.commands:
                states = found.setdefault(workload, {}).setdefault(program, {})
                with tempfile.TemporaryDirectory(dir=runner.folder) as cache:
                    for state in ("cold", "warm"):
                        result = runner.measure(program, 1, ["--mode", "compile", "--workloads", workload], cache)
                        states.setdefault(state, []).append(result)
    return found


# ---- what they mean


def summary(rounds, workload, key="median_s"):
    """The median over the rounds with the lowest and the highest, or None."""
    values = [r["results"][workload][key] for r in rounds if key in r["results"].get(workload, {})]
    return values and {"median_s": statistics.median(values), "low_s": min(values), "high_s": max(values)} or None


def transfer(rounds, workload):
    """The least seconds in which the memory moved the workload's bytes."""
    values = [r["transfer_s"][workload] for r in rounds if workload in r.get("transfer_s", {})]
    return min(values, default=None)


def limit_of(workload, programs):
    """(seconds, why) that the machine needs at least; (None, "") where neither bytes nor products matter."""
    bounds = []
    moved = transfer(programs.get("hand", []), workload)
    if moved:
        bounds.append((moved, "bytes"))
    gemm = [summary(programs.get(p, []), GEMM) for p in ("numpy", "jax")]
    if workload in GFLOP and any(gemm):
        bounds.append((min(g["low_s"] for g in gemm if g) * GFLOP[workload] / 2, "products"))
    return max(bounds, default=(None, ""))


def analyse(found, options):
    """{threads: {workload: {programs, hand, limits and ratios}}}"""
    table = {}
    for threads, programs in found.items():
        for workload in options.workloads:
            row = {p: summary(programs.get(p, []), workload) for p in ("croton", "numpy", "jax", "hand")}
            row["hand_reused"] = summary(programs.get("hand", []), workload, "reused_s")
            row["limit_s"], row["limit_by"] = limit_of(workload, programs)
            peers = {p: row[p]["median_s"] for p in ("numpy", "jax") if row[p]}
            if row["croton"] and peers:
                row["best_peer"] = min(peers, key=peers.get)
                row["peer_over_croton"] = peers[row["best_peer"]] / row["croton"]["median_s"]
            if row["croton"] and row["limit_s"]:
                row["croton_over_limit"] = row["croton"]["median_s"] / row["limit_s"]
            table.setdefault(threads, {})[workload] = row
    return table


def analyse_first(found):
    """{workload: {program: {state: seconds to function(), to the first result}}}, medians over the rounds."""
    table = {}
    for workload, programs in found.items():
        for program, states in programs.items():
            for state, rounds in states.items():
                good = [r["results"][workload] for r in rounds if r and "error" not in r["results"][workload]]
                if not good:
                    continue
                imports = [r["import_s"] for r in rounds if r and r["import_s"]]
                table.setdefault(workload, {}).setdefault(program, {})[state] = {
                    "import_s": statistics.median(imports) if imports else None,
                    "build_s": statistics.median(g["build_s"] for g in good),
                    "first_result_s": statistics.median(g["build_s"] + g["first_call_s"] for g in good),
                    "later_call_s": statistics.median(g["later_call_s"] for g in good), "rounds": len(good)}
    return table


def faults(found, first):
    """One line for each program that failed or disagrees with the others."""
    lines, sums = [], {}
    for threads, programs in found.items():
        for program, rounds in programs.items():
            if not rounds:
                lines.append(f"{program}, {threads} thread(s): no result")
            for workload, record in ((w, r) for one in rounds for w, r in one["results"].items()):
                if "error" in record:
                    lines.append(f"{program}, {threads} thread(s), {workload}: {record['error']}")
                if "checksum" in record:
                    sums.setdefault(workload, {})[program] = record["checksum"]
    for workload, by_program in sums.items():
        low, high = min(by_program.values()), max(by_program.values())
        if high - low > SAME * high:
            lines.append(f"{workload}: the programs disagree: {by_program}")
    for workload, programs in first.items():
        for program, states in programs.items():
            for state, rounds in states.items():
                errors = [r["results"][workload].get("error") if r else "no result" for r in rounds]
                lines += [f"{program}, first result of {workload}, {state}: {e}" for e in errors if e]
    return sorted(set(lines))


# ---- the report


def machine():
    """Model and number of cores: enough to judge the numbers, and nothing that names the machine."""
    model = "unknown CPU"
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), model)
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def stolen_seconds():
    """For how long the hypervisor took cores away, since boot; 0 where that is not known."""
    with contextlib.suppress(OSError, IndexError), open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    return 0


def show(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def cell(value):
    """A time with half the distance between the lowest and the highest round, where over 3 %."""
    if not value:
        return "-"
    spread = (value["high_s"] - value["low_s"]) / 2 / value["median_s"]
    return show(value["median_s"]) + (f" ±{spread:.0%}" if spread > 0.03 else "")


def call_lines(table):
    for threads, rows in table.items():
        yield from ("", f"## Time per call, {threads} thread{'s' if threads > 1 else ''}", "",
                    "| workload | Croton | NumPy | JAX | best peer / Croton | by hand, fresh (reused) | limit | "
                    "Croton / limit |", "|---|---|---|---|---|---|---|---|")
        for workload, row in rows.items():
            ratio = f"{row['peer_over_croton']:.2f}" if "peer_over_croton" in row else "-"
            hand = f"{cell(row['hand'])} ({cell(row['hand_reused'])})" if row["hand"] else "-"
            limit = f"{show(row['limit_s'])} {row['limit_by']}" if row["limit_s"] else "-"
            distance = f"{row['croton_over_limit']:.2f}" if "croton_over_limit" in row else "-"
            times = " | ".join(cell(row[p]) for p in ("croton", "numpy", "jax"))
            yield f"| {workload} | {times} | {ratio} | {hand} | {limit} | {distance} |"


def first_lines(table):
    yield from ("", "## Time to the first result, new process, 1 thread", "",
                "Cold: empty caches; warm: a second process. Importing the package is apart and not included.", "",
                "| workload | program | import | built: cold, warm | first result: cold, warm | later call |",
                "|---|---|---|---|---|---|")
    for workload, programs in table.items():
        for program, states in programs.items():
            pair = lambda key: ", ".join(show(states[s][key]) for s in ("cold", "warm") if s in states)
            cold = states.get("cold") or states["warm"]
            imported = show(cold["import_s"]) if cold["import_s"] else "-"
            yield (f"| {workload} | {program} | {imported} | {pair('build_s')} | {pair('first_result_s')} | "
                   f"{show(cold['later_call_s'])} |")


def report(result):
    lines = [f"# Croton beside its peers, {result['date']}", "",
             f"{result['machine']}. Median over {result['rounds']} round(s); ± is half the distance between the lowest and "
             "the highest round, where over 3 %. What is measured and how to read it: bench/README.md.", "",
             "Versions: " + ", ".join(f"{k} {v}" for k, v in result["versions"].items()) + ". "
             f"The hypervisor took {result['stolen_s']:.1f} s away during the {result['wall_s'] / 60:.0f} minutes."]
    lines += call_lines(result["calls"])
    if result["first_results"]:
        lines += first_lines(result["first_results"])
    if result["faults"]:
        lines += ["", "## Faults", ""] + [f"- {line}" for line in result["faults"]]
    return "\n".join(lines) + "\n"


def save(result, text, folder):
    slug = re.sub(r"[^a-z0-9]+", "-", result["machine"].lower()).strip("-")
    stem = os.path.join(folder, f"{result['date']}-{slug}")
    os.makedirs(folder, exist_ok=True)
    with open(stem + ".json", "w") as out:
        out.write(json.dumps(result, indent=1) + "\n")
    with open(stem + ".md", "w") as out:
        out.write(text)
    print(f"wrote {os.path.relpath(stem)}.json and .md", file=sys.stderr)


def parse():
    build = os.path.join(os.path.dirname(HERE), "build", "release", "bin", "croton_bench")
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few workloads, one round; saves nothing unless --out")
    parser.add_argument("--croton-bench", default=build, help="the program, if it is not in build/release/bin")
    parser.add_argument("--python", help="interpreter with bench/peers/requirements.txt; default: made by pip")
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, min(2, cores)][:cores])
    parser.add_argument("--workloads", type=lambda t: t.split(","))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--budget", type=float, help="seconds of timing per workload and round")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a process is ended")
    parser.add_argument("--skip-first", action="store_true", help="leave out the time to the first result")
    parser.add_argument("--out", help="folder of the results; default: bench/results")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.budget = options.budget or (0.2 if options.quick else 0.5)
    options.workloads = options.workloads or (QUICK if options.quick else WORKLOADS)
    options.out = options.out or (None if options.quick else os.path.join(HERE, "results"))
    if not os.access(options.croton_bench, os.X_OK):
        parser.error(f"{options.croton_bench} is not there: cmake --build build/release --target croton_bench")
    return options


def main():
    options = parse()
    start, stolen = time.monotonic(), stolen_seconds()
    with tempfile.TemporaryDirectory(prefix="croton-bench-") as folder:
        runner = Runner(options, folder)
        found = time_calls(runner, options)
        first = {} if options.skip_first else time_first_results(runner, options)
    versions = {}
    for rounds in (r for programs in found.values() for r in programs.values() if r):
        versions |= rounds[0]["versions"]
    result = {"date": datetime.date.today().isoformat(), "machine": machine(), "rounds": options.rounds,
              "budget_s": options.budget, "versions": versions, "stolen_s": stolen_seconds() - stolen,
              "wall_s": time.monotonic() - start, "calls": analyse(found, options),
              "first_results": analyse_first(first), "faults": faults(found, first)}
    text = report(result)
    print(text)
    if options.out:
        save(result, text, options.out)
    sys.exit(1 if result["faults"] else 0)


if __name__ == "__main__":
    main()
