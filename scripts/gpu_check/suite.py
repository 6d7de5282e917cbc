"""The second tier: the tests with the label `gpu`, with the device among the back-ends, and sanitizers at the same
time."""
import concurrent.futures
import os
import time

import catch
import sanitizers

LIMIT = 200
LIST_S = 20      # for the list of its test cases
CASE_S = 90      # a test case without output for this long has hung
MEMORY_MIB = 3072  # of the GPU, for one process with its context, its pool and memory of libraries
# Once a process has lost its device all further test cases fail.
LOST = ("cannot be used any more in this process", "The device is lost")


def properties(test):
    return {p["name"]: p["value"] for p in test.get("properties", [])}


def select(tests, names):
    """The tests with the label, those that use the device most first."""
    chosen = [t for t in tests if "gpu" in properties(t).get("LABELS", []) and "command" in t]
    if names:
        chosen = [t for t in chosen if t["name"] in names]
    return sorted(chosen, key=lambda t: -properties(t).get("COST", 0))


def environment(context, test):
    """Device tests use this device; other tests use the CPU. No texts are kept."""
    variables, flags = {}, ["device=cpu"]
    settings = dict(setting.split("=", 1) for setting in properties(test).get("ENVIRONMENT", []))  # the last of a name
    for name, value in settings.items():
        if name == "CROTON_FLAGS":
            others = ("cuda_simulator=", "logical_devices=", "dump_kernels=", "dump_forms=")
            flags += [flag for flag in value.split(",") if not flag.startswith(others)]
        else:
            variables[name] = value
    variables |= {"CROTON_TEST_DEVICES": context.device, "CROTON_TEST_SIMULATOR": "0"}
    # Many processes share the cores, and results do not depend on the number of threads.
    flags.append("threads=2")
    variables["OPENBLAS_NUM_THREADS"] = "1"
    variables.pop("CROTON_OP_RECORDS", None)
    return context.env(*flags, **variables)


def names_of(context, test, env, deadline):
    """(the names of its test cases, the reason if there are none); Catch2 2 and 3 list them by different options."""
    limit = min(context.options.silence or LIST_S, deadline.left())
    for option in (["--list-test-names-only"], ["--list-tests", "--verbosity", "quiet"]):
        done = context.run(test["name"], [*test["command"], *option], limit, env)  # its status is a number of cases
        if done.timed_out:
            return [], f"no answer in {limit:.3g} s when it was asked for its cases"
        names = [line.strip() for line in done.output.splitlines() if line.strip()]
        if names and "nrecognised" not in done.output:
            return names, ""
    return [], f"no test cases were found: the program {done.why()}: {done.tail(2)}"[:600]


class File:
    """The test cases of one entry of ctest."""

    def __init__(self, context, test, deadline):
        self.context, self.test, self.deadline = context, test, deadline
        self.env, self.name = environment(context, test), test["name"]
        self.names, why = names_of(context, test, self.env, deadline)
        self.count = 0  # processes so far
        if self.names:
            context.records.replace("suite", self.name)
            context.records.expect("suite", map(self.full, self.names))
        elif deadline.left() >= 1:
            context.result("suite", self.name, "failed", why=why)

    def full(self, case):
        return f"{self.name}: {case}"

    def left(self):
        return [case for case in self.names if not self.context.records.is_done("suite", self.full(case))]

    def run(self):
        """Runs all cases in one process; if that is lost, each remaining case in a separate process."""
        cases = self.left()
        if not cases or self.deadline.left() < 1:
            return
        whole = len(cases) == len(self.names)
        # The device must stay usable, so that the error of a lost process is not the failure of the next ones.
        self.process(self.test["command"] if whole else self.command(cases), retried=False)
        for case in self.left():
            if self.deadline.left() < 1:
                return
            self.process(self.command([case]), retried=True)
            if case in self.left() and self.deadline.left() >= 1:
                self.record(case, "failed", why="the program did not run it")

    def command(self, cases):
        return [self.test["command"][0], ",".join(map(catch.pattern, cases))]

    def record(self, case, status, seconds=None, **fields):
        self.context.result("suite", self.full(case), status, seconds, **fields)

    def process(self, command, retried):
        self.count += 1
        report = os.path.join(self.context.folder, f"{self.name}.{self.count}.xml")
        process = self.context.start(self.name, [*command, "-r", "xml", "-o", report, "-d", "yes"], self.env,
                                     self.context.folder)
        reader, since, end = catch.Reader(report), time.monotonic(), None
        silence = self.context.options.silence or CASE_S
        while end is None:
            line = process.next_line(min(0.25, self.deadline.left()))
            at = reader.at
            lost = self.take(reader, retried)
            if reader.at != at:
                since = time.monotonic()
            if line is None:
                end = ""
            elif self.deadline.left() <= 0:
                process.end()
                return
            elif lost:
                end = "lost its device"
            elif time.monotonic() - since > silence:
                end = f"said nothing for {silence:g} s"
        done = process.wait(5) if not end else None
        process.end()
        self.take(reader, retried)
        # The case during which the process ended has failed if it ran alone, and is tried alone otherwise.
        why = f"{end or 'the process ' + done.why()}: {' '.join(process.output[-3:])}"[:600]
        if reader.current and retried:
            self.record(reader.current, "failed", why=why)
        elif done and not reader.current and (done.status is None or done.status < 0):
            self.record("end of the process", "failed", why=why)

    def take(self, reader, retried):
        """Records finished cases. True if the device was lost: then that case is also tried alone."""
        for case, passed, failures, seconds in reader.cases():
            if not passed and not retried and any(mark in failure for failure in failures for mark in LOST):
                return True
            fields = {} if passed else {"why": failures[0] if failures else "", "failures": failures[:20]}
            self.record(case, "passed" if passed else "failed", seconds, **fields)
        return False


def jobs(context):
    """As many processes as there are cores, and memory of the GPU."""
    if context.options.jobs:
        return context.options.jobs
    cores = len(os.sched_getaffinity(0))
    try:
        memory = int(context.gpus[0]["memory.total"].split()[0])
    except (IndexError, KeyError, ValueError):
        return cores
    return max(1, min(cores, memory // MEMORY_MIB))


def listed(context, name):
    """Whether the cases of a file are known from an earlier run."""
    return any(known.startswith(name + ": ") for known in context.records.of("suite"))


def run_tier(context, deadline):
    tests = select(context.programs.tests(), context.options.tests)
    if not tests and not context.options.tests:
        context.result("suite", "tests", "failed", why="no test has the label gpu")
    chosen = [tool for tool in sanitizers.TOOLS if not context.options.tests or "sanitizers" in context.options.tests]
    with concurrent.futures.ThreadPoolExecutor(jobs(context) + len(sanitizers.TOOLS)) as pool:
        # Every file's cases are listed before any runs, so that cases that are not reached have names. A file without a
        # list is missing, too.
        context.records.expect("suite", [test["name"] for test in tests if not listed(context, test["name"])])
        context.records.expect("suite", chosen)
        beside = [pool.submit(sanitizers.examine, context, tool, deadline) for tool in chosen]
        files = list(pool.map(lambda test: File(context, test, deadline), tests))
        running = [pool.submit(file.run) for file in files]
        for future in running + beside:
            future.result()
    return not any(r["status"] == "failed" for r in context.records.of("suite").values())
