"""Running programs under a limit, and what they printed."""
import dataclasses
import os
import signal
import subprocess
import tempfile
import time

RUNNING = set()  # processes that end with this one


@dataclasses.dataclass
class Done:
    """How a program ended. A program that could not be started has `status` 127."""
    status: int
    output: str  # both streams
    seconds: float
    timed_out: bool = False

    @property
    def good(self):
        return self.status == 0 and not self.timed_out

    def tail(self, lines=15):
        return "\n".join(self.output.strip().splitlines()[-lines:])

    def why(self):
        return "ran past its limit" if self.timed_out else f"ended with status {self.status}"


def run(command, limit, env=None, cwd=None):
    """Runs the program; after `limit` seconds it is ended with all that it started. Output is kept in any case."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        try:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env,
                                       cwd=cwd, start_new_session=True)
        except OSError as error:
            return Done(127, str(error), 0)
        RUNNING.add(process)
        try:
            status, timed_out = process.wait(max(limit, 0.1)), False
        except subprocess.TimeoutExpired:
            end(process)
            status, timed_out = process.wait(), True
        finally:
            RUNNING.discard(process)
        out.seek(0)
        return Done(status, out.read().decode(errors="replace"), time.monotonic() - begin, timed_out)


def end(process):
    """Ends a program that was started here, with its children: they are a session of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    for process in list(RUNNING):
        end(process)
