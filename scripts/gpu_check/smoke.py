"""The first tier: whether each part of the CUDA back-end works at all. It ends with go or no-go."""
import libraries
from earlier import CEILINGS
from lines import objects
from words import sentence

LIMIT = 90
CHECK_S = 30  # one check that takes longer has hung
LIBRARY_S = 60  # for checks of NVIDIA's libraries, which may come from a slow disk
ENDING = "end of the process"


def doctor(context, deadline):
    done, parts = libraries.examine(context, min(45, deadline.left()))
    needed = ["NVRTC", "CUDA driver"] if context.options.real else []
    text = lambda part: sentence(part.get("text", "").split("\n")[0]) or "no reason given"
    why = [f"{name}: {text(parts[name]) if name in parts else 'nothing was said of it'}" for name in needed
           if parts.get(name, {}).get("state") != "ok"]
    why += [f"{p['part']}: {text(p)}" for p in parts.values() if p["state"] == "WRONG" and p["part"] not in needed]
    if not why and (done.timed_out or done.status not in (0, 1) or not parts):
        why = [done.why()]
    status = "passed" if not why else "not reached" if done.timed_out and deadline.left() < 1 else "failed"
    context.result("smoke", "doctor", status, done.seconds, why="; ".join(why))


def follow(context, process, deadline):
    """Records the checks of one process as it prints them, also the one during which it was lost. Returns how it was
    lost, if that was before its first check."""
    current, since, silence, begun = None, deadline.left(), context.options.silence or CHECK_S, False
    while True:
        line = process.next_line(min(1, deadline.left()))
        if line is None:
            break
        found = objects(line)
        if "begin" in found:
            current, since, begun = found["begin"], deadline.left(), True
        elif "check" in found:
            context.result("smoke", found["check"], found["status"], found["seconds"], why=found.get("why", ""))
            current, since = None, deadline.left()
        if deadline.left() <= 0:
            process.end()
            return None
        most = silence if context.options.silence or not (current or "").startswith("cu") else LIBRARY_S
        if since - deadline.left() > most:
            process.end()
            if not begun:
                return f"gave no answer in {most:g} s, before its first check"
            context.result("smoke", current or ENDING, "failed", most, why=f"no answer in {most:g} s")
            return None
    done = process.wait(5)
    if not begun:
        return f"{done.why()} before its first check: {done.tail(3)}"
    if current:
        context.result("smoke", current, "failed", why=f"the process {done.why()}: {done.tail(3)}"[:600])
    elif done.status is None or done.status < 0:
        context.result("smoke", ENDING, "failed", why=f"the process {done.why()}: {done.tail(3)}"[:600])
    return None


def checks(context, deadline):
    """Runs each check once. A failure ends its process, so that a lost device affects no other check."""
    base = [context.programs.path("croton_gpu_smoke"), "--device", context.device, "--stop", "1"]
    if context.options.small:
        base += ["--small", "1"]
    listed = context.run("smoke", base + ["--list", "1"], min(context.options.silence or 20, deadline.left()), context.env())
    names = listed.output.splitlines() if listed.good else []
    if not names:
        late = deadline.left() < 1
        context.result("smoke", "list of checks", "not reached" if late else "failed",
                       why="no time was left" if late else listed.why() + ": " + listed.tail(2))
    context.records.expect("smoke", [*names, CEILINGS])
    is_done = context.records.is_done
    if ENDING in context.records.of("smoke"):  # of an earlier run: its check is unknown
        context.records.replace("smoke", ENDING)
        is_done = context.records.is_new
    while deadline.left() > 0:
        left = [name for name in names if not is_done("smoke", name)]
        if not left:
            break
        done = [name for name in names if name not in left]
        process = context.start("smoke", base + ["--skip", ";".join(done)], context.env())
        lost = follow(context, process, deadline)
        if deadline.left() > 0 and (lost or not any(is_done("smoke", name) for name in left)):  # else it is lost again
            context.result("smoke", left[0], "failed", why=f"the program {lost or 'did not run it'}"[:600])
            break


def ceilings(context, deadline):
    """Measures the peak rates of copies and products, also for the benchmark."""
    name = CEILINGS
    if context.records.is_done("smoke", name):
        return
    if deadline.left() < 2:
        context.result("smoke", name, "not reached", why="no time was left")
        return
    scale = context.options.scale
    command = [context.programs.path("croton_gpu_bench"), "--device", context.device, "--workloads", "", "--scale",
               str(scale), "--copy-mib", str(max(1, 2048 // scale))]
    done = context.run("ceilings", command, deadline.left(), context.env())
    found = [line for line in map(objects, done.output.splitlines()) if "ceiling" in line]
    for line in found:
        context.records.add("measured", run="ceilings", **line)
    faults = [line for line in found if "error" in line]
    if done.timed_out:
        context.result("smoke", name, "not reached", done.seconds, why="no time was left")
    elif not found and done.good:
        context.result("smoke", name, "not available", done.seconds, why="the device has no driver")
    elif faults or not done.good:
        why = faults[0]["error"] if faults else f"{done.why()}: {done.tail(2)}"
        status = "not available" if faults and not context.options.real else "failed"
        context.result("smoke", name, status, done.seconds, why=why)
    else:
        context.result("smoke", name, "passed", done.seconds, why=", ".join(
            f"{line['ceiling']} {line['median'] / 1e12:.3f} T{line['unit']}" for line in found))


def run_tier(context, deadline):
    doctor(context, deadline)
    checks(context, deadline)
    ceilings(context, deadline)
    results = context.records.of("smoke")
    bad = [r for status in ("failed", "not reached") for r in results.values() if r["status"] == status]
    fault = sentence(f"{bad[0]['name']}: {bad[0].get('why') or bad[0]['status']}") if bad else ""
    context.records.add("verdict", tier="smoke", go=not bad, fault=fault)
    print("GO" if not bad else f"NO-GO: {fault}", flush=True)
    return not bad
