"""compute-sanitizer over a program that launches every kind of kernel (tests/ops/test_every_kernel.cpp).

Only Croton's kernels are checked, by their names; libraries' kernels have separate findings. A planted fault, which the
tool must find first, shows that the tool works on this machine and that the names match.
"""
import re

import libraries
import places

TOOLS = {"memcheck": "memory", "racecheck": "race"}  # with the fault that each must find
ERROR_STATUS = 99  # given to a program in which it found something
SUMMARY = re.compile(r"(ERROR SUMMARY: (\d+) errors?$|RACECHECK SUMMARY: (\d+) hazards?.*)", re.MULTILINE)
# Family or routine, and the beginning of a digest.
KERNELS = "^[a-z0-9_]+_[0-9a-f]{12}(_finish)?$"


def findings(output):
    """(number of errors, the summaries); None if there is no summary."""
    summaries = SUMMARY.findall(output)
    found = sum(int(errors or hazards) for _, errors, hazards in summaries)
    return (found if summaries else None), "; ".join(s[0] for s in summaries)


def marked(output):
    return "\n".join([line for line in output.splitlines() if line.startswith("=========")][:15])


def examine(context, tool, deadline):
    if context.records.is_done("suite", tool):
        return
    result = lambda status, seconds=None, **fields: context.result("suite", tool, status, seconds, **fields)
    program = context.options.named.get("compute-sanitizer") or places.tool("compute-sanitizer") or \
        libraries.path_of(context, "compute-sanitizer", deadline.left())
    if not program:
        return result("not available", why="compute-sanitizer was not found")
    command = [program, "--tool", tool, "--error-exitcode", str(ERROR_STATUS), "--print-limit", "20", "--kernel-name",
               f"regex={KERNELS}"]
    if tool == "memcheck":
        command += ["--report-api-errors", "no"]  # of libraries: names of kernels do not filter them

    def run(*arguments):
        env = context.env("device=cpu", CROTON_TEST_DEVICES=context.device, CROTON_TEST_SIMULATOR="0")
        return context.run(tool, [*command, *arguments], deadline.left(), env)

    planted = run(context.programs.path("croton_gpu_smoke"), "--device", context.device, "--plant", TOOLS[tool])
    found, summary = findings(planted.output)
    if planted.timed_out:
        return result("not reached", planted.seconds, why="no time was left")
    if not found:
        why = summary or next((line for line in planted.output.splitlines() if "error" in line.lower()), planted.why())
        return result("not available", planted.seconds, why=f"it does not find a planted fault: {why}"[:400])
    done = run(context.programs.path("croton_op_tests"), "[every_kernel]")
    found, summary = findings(done.output)
    if done.timed_out:
        return result("not reached", done.seconds, why="no time was left")
    if found is None:
        return result("failed", done.seconds, why=f"no summary; {done.why()}", first=done.tail())
    if found:
        return result("failed", done.seconds, why=summary, first=marked(done.output))
    if done.status != 0:
        return result("failed", done.seconds, why=f"nothing found, but the program {done.why()}", first=done.tail())
    return result("passed", done.seconds, why=f"{summary}; a planted fault was found")
