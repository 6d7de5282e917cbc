"""Runs one unit: a child process runs its cases one by one and is restarted after a hang or a crash."""
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Hang(Exception):
    pass


class Crash(Exception):
    pass


class Child:
    def __init__(self, unit, folder, options, environment):
        answer_read, answer_write = os.pipe()
        ask_read, ask_write = os.pipe()
        self.output = tempfile.TemporaryFile()
        python = os.path.abspath(options.python) if os.sep in options.python else options.python
        command = [python, os.path.join(HERE, "child.py"), "--suite", unit.suite, "--package", options.package,
                   "--sources", os.path.abspath(folder), "--file", unit.file, "--read", str(ask_read), "--write",
                   str(answer_write)]
        if options.strict:
            command.append("--strict")
        self.process = subprocess.Popen(command, pass_fds=(ask_read, answer_write), stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=subprocess.STDOUT, env=environment,
                                        cwd=environment["HOME"], start_new_session=True)
        os.close(ask_read)
        os.close(answer_write)
        self.ask, self.answers, self.buffer = ask_write, answer_read, b""

    def answer(self, timeout):
        """The next JSON line of the child; raises Hang or Crash."""
        end = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self.answers, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                left = end - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise Hang(f"no end within {timeout:g} seconds")
                part = os.read(self.answers, 1 << 16)
                if not part:
                    raise Crash(self.death())
                self.buffer += part
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def request(self, case, timeout):
        try:
            os.write(self.ask, (json.dumps(case) + "\n").encode())
        except BrokenPipeError:
            raise Crash(self.death()) from None
        return self.answer(timeout)

    def death(self):
        code = self.process.wait()
        if code < 0:
            return f"the process died of {signal.Signals(-code).name}"
        return f"the process ended with code {code}"

    def tail(self):
        self.output.seek(0, os.SEEK_END)
        self.output.seek(max(0, self.output.tell() - 3000))
        return self.output.read().decode(errors="replace")

    def stop(self):
        os.close(self.ask)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.answers)
        self.output.close()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.stop()


def _environment(home, folders):
    environment = dict(os.environ, HOME=home, KERAS_BACKEND="theano", PYTHONDONTWRITEBYTECODE="1", MPLBACKEND="Agg",
                       PYTHONHASHSEED="0")
    # The child runs in its own folder.
    paths = [os.path.abspath(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    if folders.get("theano"):
        environment["SUITES_THEANO"] = os.path.abspath(folders["theano"])
    return environment


def run_unit(unit, folders, options, known):
    """Yields the outcomes of a unit's cases: dicts with case, status (passed, failed, missing op, internals, not
    counted) and reason."""
    folder = folders[unit.suite]
    with tempfile.TemporaryDirectory(prefix="suites_") as home:
        yield from _run(unit, folder, options, known, _environment(home, folders))


def _run(unit, folder, options, known, environment):
    child, collected = _start(unit, folder, options, environment)
    with open(os.path.join(folder, unit.file), encoding="utf-8") as file:
        source = file.read()
    reference = known.passed_by_theano(unit)
    names = list(dict.fromkeys([*collected["cases"], *reference,
                                *(error["case"] for error in collected["errors"] if error["case"])]))
    names = unit.select(names, source)
    if not names and collected["errors"]:
        names = ["(import)"]
    if options.case:
        names = [name for name in names if any(part in name for part in options.case)]
    try:
        for name in names:
            case = unit.case_name(name)
            reason = known.internal(case)
            if reason:
                yield {"case": case, "status": "internals", "reason": reason}
                continue
            if case in known.not_passed:
                yield {"case": case, "status": "not counted", "reason": "Theano itself does not pass it here"}
                continue
            if name not in collected["cases"]:
                outcome = _uncollected(case, name, collected)
            else:
                if child is None:
                    child, collected_again = _start(unit, folder, options, environment)
                if child is None:
                    outcome = {"case": case, "status": "failed", "reason": collected_again["errors"][0]["reason"]}
                else:
                    child, outcome = _ask(child, case, name, options)
            if outcome["status"] == "not counted" and case in known.passes:
                outcome.update(status="failed", reason="skipped, and Theano passes it: " + outcome.get("reason", ""))
            if collected["missing"] and outcome["status"] in ("failed", "missing op"):
                outcome["missing_at_import"] = collected["missing"]
            yield outcome
    finally:
        if child is not None:
            child.stop()


def _ask(child, case, name, options):
    """One case's outcome, and the child, or None if the case ended it."""
    try:
        return child, _outcome(case, child.request(name, options.timeout))
    except (Hang, Crash) as error:
        outcome = {"case": case, "status": "failed", "reason": f"{type(error).__name__}: {error}", "text": child.tail()}
        child.kill()
        return None, outcome


def _start(unit, folder, options, environment):
    child = Child(unit, folder, options, environment)
    try:
        return child, child.answer(options.import_timeout)
    except (Hang, Crash) as error:
        text = child.tail()
        child.kill()
        return None, {"cases": [], "missing": [], "errors": [
            {"case": "", "reason": f"{type(error).__name__} at import: {error}", "kind": "failed", "text": text}]}


def _uncollected(case, name, collected):
    """A case that Theano passes and that was not collected, because of an error of its file or class."""
    errors = collected["errors"]
    owner = [error for error in errors if error["case"] and name.startswith(error["case"])] or \
        [error for error in errors if not error["case"]]
    if not owner:
        return {"case": case, "status": "failed", "reason": "not collected"}
    status = "missing op" if owner[0]["kind"] == "missing" else "failed"
    return {"case": case, "status": status, "reason": "at import: " + owner[0]["reason"], "text": owner[0].get("text", "")}


def _outcome(case, answer):
    answer = dict(answer, case=case)
    outcome = answer.pop("outcome")
    kind = answer.pop("kind", None)
    if outcome == "passed":
        answer["status"] = "passed"
    elif outcome == "skipped":
        answer["status"] = "not counted"
    else:
        answer["status"] = "missing op" if kind == "missing" else "failed"
    return answer
