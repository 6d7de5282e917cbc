"""The test suite, with the device among the back-ends: ctest's entries, run without ctest."""
import concurrent.futures
import os
import re
import time

from commands import run
from parts import Failed

ONE_TEST_S = 150
WHOLE = ["cuda_failures"]  # its last case looks at what the others did


def properties(test):
    return {p["name"]: p["value"] for p in test.get("properties", [])}


def select(tests, programs, names):
    """(tests to run, names left out): those labelled fast that are programs of the build; `names` narrows them."""
    ours = os.path.join(programs.folder, "bin") + os.sep
    fast = [t for t in tests if "fast" in properties(t).get("LABELS", []) and "command" in t]
    chosen = [t for t in fast if t["command"][0].startswith(ours) and (not names or t["name"] in names)]
    return chosen, [t["name"] for t in fast if not t["command"][0].startswith(ours)]


def environment(test, programs, device, flags):
    env = dict(programs.env)
    for setting in properties(test).get("ENVIRONMENT", []):
        name, value = setting.split("=", 1)
        env[name] = value
    # Tests of all devices are for this one, in place of simulated ones; those of one device keep it.
    if "," in env.get("CROTON_TEST_DEVICES", ","):
        env["CROTON_TEST_DEVICES"] = device
        env["CROTON_FLAGS"] = ",".join(flag for flag in env.get("CROTON_FLAGS", "").split(",")
                                       if not flag.startswith("cuda_simulator="))
    # Where a test does not speak of devices it is about the CPU, which is not the default where there is a GPU.
    env["CROTON_FLAGS"] = ",".join(filter(None, ["device=cpu", env.get("CROTON_FLAGS"), flags]))
    return env


def failures_of(output):
    """What Catch2 says of each failed test case, or the last lines of another program."""
    found = []
    blocks = re.split(r"^-{70,}\n", output, flags=re.M)
    for name, body in zip(blocks[1::2], blocks[2::2]):
        lines = body.split("FAILED:", 1)[-1].strip().splitlines() if "FAILED:" in body else []
        if lines:
            found.append({"case": " / ".join(part.strip() for part in name.strip().splitlines()),
                          "first": "\n".join(lines[:6])})
    return found or [{"case": "", "first": "\n".join(output.strip().splitlines()[-6:])}]


def cases_of(test, env):
    """The commands of its test cases, a process each: a kernel that loses the device spoils one case only."""
    program, *rest = test["command"]
    if rest[:1] != ["-#"] or test["name"] in WHOLE:
        return [test["command"]]
    listed = run([program, *rest, "--list-test-names-only"], 30, env)  # its status is the number of cases
    names = [line.strip() for line in listed.output.splitlines() if line.strip()]
    return [[program, re.sub(r'([\\\[\],"*~])', r"\\\1", name)] for name in names] or [test["command"]]


def merged(results):
    """The result of an entry of ctest from those of its cases."""
    if len(results) == 1:
        return results[0]
    first = dict(results[0], seconds=round(sum(r["seconds"] for r in results), 1), cases=len(results))
    for status in ("not run", "failed"):
        if bad := [r for r in results if r["status"] == status]:
            failures = [f for r in bad for f in r.get("failures", [])]
            first.update(status=status, why=f"{bad[0]['why']}; {len(bad)} of {len(results)}", failures=failures[:20])
    return first


def result_of(test, done):
    skip = properties(test).get("SKIP_RETURN_CODE")
    expected = properties(test).get("PASS_REGULAR_EXPRESSION")
    good = any(re.search(e, done.output, re.S) for e in expected) if expected else done.good
    result = {"name": test["name"], "seconds": round(done.seconds, 1),
              "status": "skipped" if done.status == skip else "passed" if good and not done.timed_out else "failed"}
    if match := re.search(r"(\d+) assertions? in (\d+) test cases?|test cases: *(\d+)", done.output):
        result["cases"] = int(match[2] or match[3])
    if result["status"] == "failed":
        result["why"] = done.why()
        result["failures"] = failures_of(done.output)[:20]
    if result["status"] == "skipped":
        result["why"] = done.tail(2)
    return result


def run_all(programs, device, flags, names, jobs, limit):
    """Runs the tests side by side, those that depend on others after them; what there was no time for is said."""
    end = time.monotonic() + limit
    chosen, left_out = select(programs.tests(), programs, names)
    for folder in ("test_cache", "tests", "cuda_texts"):
        os.makedirs(os.path.join(programs.folder, folder), mode=0o700, exist_ok=True)
    results, log = [], []

    def one(test, command):
        left = end - time.monotonic()
        if left < 1:
            return {"name": test["name"], "seconds": 0, "status": "not run", "why": "no time was left"}
        done = run(command, min(left, ONE_TEST_S), environment(test, programs, device, flags),
                   os.path.join(programs.folder, "tests"))
        log.append(f"---- {test['name']}: {' '.join(command)}\n{done.output}")
        result = result_of(test, done)
        for failure in result.get("failures", []):  # a crash leaves no name behind
            failure["case"] = failure["case"] or (command[1] if command != test["command"] else "")
        return result

    here = {t["name"] for t in chosen}
    later = [t for t in chosen if here.intersection(properties(t).get("DEPENDS", []))]
    for group in ([t for t in chosen if t not in later], later):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            cases = pool.map(lambda t: cases_of(t, environment(t, programs, device, flags)), group)
            futures = [[pool.submit(one, test, command) for command in commands]
                       for test, commands in zip(group, cases)]
            results += [merged([f.result() for f in found]) for found in futures]
    counts = {status: sum(r["status"] == status for r in results)
              for status in ("passed", "failed", "skipped", "not run")}
    fields = {"device": device, "counts": counts, "results": results, "left_out": left_out, "log": "\n".join(log)}
    if not results:
        raise Failed("no test was found", **fields)
    if counts["failed"] or counts["not run"]:
        raise Failed(f"{counts['failed']} of {len(results)} failed, {counts['not run']} not run", **fields)
    return fields
