"""Programs with a time limit, and their output, line by line as it is printed."""
import contextlib
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
ENDING_S = 10    # a process that has not ended so long after SIGKILL hangs in the driver


class Keeper:
    """A process that outlives this one by a moment: it ends the process groups that were started here, and removes the
    folder of their files. So even after SIGKILL nothing disturbs later measurements."""

    def __init__(self, folder):
        reading, self.writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            os.close(self.writing)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            groups = set()
            with open(reading) as lines:  # until the writer has ended
                for number in map(int, lines):
                    groups.add(number) if number > 0 else groups.discard(-number)
            for group in groups:
                kill_group(group)
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
        os.close(reading)

    def watch(self, group):
        os.write(self.writing, f"{group}\n".encode())

    def forget(self, group):
        self.watch(-group)


keeper = None  # a Keeper, where the command line is run


def kill_group(group):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class Log:
    """The output of programs, with their names before it, written at once; it stops growing at `most` bytes."""

    def __init__(self, path, most=12 << 20):
        self.file, self.left, self.lock = open(path, "a", buffering=1, errors="replace"), most, threading.Lock()

    def add(self, name, line):
        text = f"[{name}] {line[:2000]}\n"
        with self.lock, contextlib.suppress(OSError):  # a full disk must not prevent reading from a program
            if self.left > 0:
                self.left -= len(text.encode(errors="replace"))
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
        if self.status is None:
            return "could not be ended"
        return f"was ended by {signal.Signals(-self.status).name}" if self.status < 0 else \
            f"ended with status {self.status}"


class Process:
    """A program whose lines are read as they come. It ends with this script, even if that is killed."""

    def __init__(self, name, command, env=None, cwd=None, log=None):
        self.name, self.begin, self.log, self.output, self.status = name, time.monotonic(), log, [], None
        self.lines = queue.Queue()
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
        except OSError as error:
            self.process, self.status = None, 127
            self.output.append(str(error))
            self.lines.put(_END)
            return
        RUNNING.add(self.process)
        if keeper:
            keeper.watch(self.process.pid)
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
        """Writes a line to the program's input; nothing if it has ended."""
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except (OSError, AttributeError):
            pass

    def next_line(self, seconds):
        """The next line, "" if none came in time, None at the end of the output."""
        try:
            line = self.lines.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return ""
        if line is _END:
            self.lines.put(_END)
            return None
        return line

    def pause(self, paused):
        """Stops all its processes, or continues them."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGSTOP if paused else signal.SIGCONT)

    def end(self):
        """Ends it, if it has not ended, with all processes that it started. The exit status; None if it cannot be
        ended."""
        if self.process is not None:
            kill_group(self.process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.status = self.process.wait(ENDING_S)
            RUNNING.discard(self.process)
            if keeper and self.status is not None:
                keeper.forget(self.process.pid)
        return self.status

    def has_ended(self):
        return self.process is None or self.process.poll() is not None

    def wait(self, seconds):
        """Reads to the end, or kills it after this many seconds."""
        end, silent = time.monotonic() + seconds, 0
        while (line := self.next_line(min(0.25, end - time.monotonic()))) is not None and time.monotonic() < end:
            # Processes that it started may keep its output open.
            silent = silent + 1 if not line and self.has_ended() else 0
            if silent > 4:
                break
        cut = line is not None and silent <= 4  # whether some output was not read, even if it has ended
        timed_out = cut or not self.has_ended() and \
            not self.ends_within(max(end - time.monotonic(), 1 if line is None else 0))
        return Done(self.end(), "\n".join(self.output), time.monotonic() - self.begin, timed_out)

    def ends_within(self, seconds):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.has_ended()


def run(name, command, limit, env=None, cwd=None, log=None):
    return Process(name, command, env, cwd, log).wait(limit)


def end_all():
    for process in list(RUNNING):
        kill_group(process.pid)
