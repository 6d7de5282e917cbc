"""Programs that run under a limit, and what they print, line by line as they print it."""
import dataclasses
import os
import queue
import shutil
import signal
import subprocess
import threading
import time

RUNNING = set()  # processes that end with this one
_END = object()


class Log:
    """What programs print, with their names in front, written at once; it stops growing at `most` bytes."""

    def __init__(self, path, most=12 << 20):
        self.file, self.left, self.lock = open(path, "w", buffering=1, errors="replace"), most, threading.Lock()

    def add(self, name, line):
        text = f"[{name}] {line[:2000]}\n"
        with self.lock:
            if self.left > 0:
                self.left -= len(text)
                self.file.write(text if self.left > 0 else "the log is full\n")


@dataclasses.dataclass
class Done:
    """How a program ended. One that could not be started has `status` 127."""
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
        if self.timed_out:
            return "ran past its limit"
        return f"was ended by {signal.Signals(-self.status).name}" if self.status < 0 else \
            f"ended with status {self.status}"


class Process:
    """A program whose lines are read as they come. It ends with this script, also where that is killed."""

    def __init__(self, name, command, env=None, cwd=None, log=None):
        self.name, self.begin, self.log, self.output, self.status = name, time.monotonic(), log, [], None
        self.lines = queue.Queue()
        tied = [shutil.which("setpriv"), "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        try:
            self.process = subprocess.Popen([*tied, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
        except OSError as error:
            self.process, self.status = None, 127
            self.output.append(str(error))
            self.lines.put(_END)
            return
        RUNNING.add(self.process)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for raw in self.process.stdout:
            line = raw.decode(errors="replace").rstrip("\n")
            self.output.append(line)
            del self.output[:-4000]
            if self.log:
                self.log.add(self.name, line)
            self.lines.put(line)
        self.lines.put(_END)

    def send(self, text):
        """A line for the program's input; nothing where it has ended."""
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except (OSError, AttributeError):
            pass

    def next_line(self, seconds):
        """The next line, "" where none came in time, None at the end of the output."""
        try:
            line = self.lines.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return ""
        if line is _END:
            self.lines.put(_END)
            return None
        return line

    def end(self):
        """Ends it, if it has not ended, with all that it started. The exit status."""
        if self.process is not None:
            if self.process.poll() is None:
                kill(self.process)
            self.status = self.process.wait()
            RUNNING.discard(self.process)
        return self.status

    def wait(self, seconds):
        """Reads to the end, or kills it after so many seconds."""
        end = time.monotonic() + seconds
        while (line := self.next_line(end - time.monotonic())) is not None:
            if not line and time.monotonic() >= end:
                break
        timed_out = line is not None
        if not timed_out and self.process is not None:
            try:
                self.process.wait(max(end - time.monotonic(), 1))
            except subprocess.TimeoutExpired:
                timed_out = True
        return Done(self.end(), "\n".join(self.output), time.monotonic() - self.begin, timed_out)


def run(name, command, limit, env=None, cwd=None, log=None):
    return Process(name, command, env, cwd, log).wait(limit)


def kill(process):
    """Ends a program that was started here, with its children: they are a session of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    for process in list(RUNNING):
        kill(process)
