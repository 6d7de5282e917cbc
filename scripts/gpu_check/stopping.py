"""Handling of signals that stop the check: it cleans up, prints a line, and exits with 128 plus the signal's number.
Imported first, because a signal may come while Python still reads the other files."""
import os
import signal

actions = []  # functions of the signal's name: each may return a text for the line; the last one is called first


def stop(number, frame):
    name = signal.Signals(number).name
    said = [action(name) for action in reversed(actions)]
    # Not by print(): the signal may have come during another one.
    os.write(2, ("; ".join(["stopped by " + name, *filter(None, said)]) + "\n").encode())
    os._exit(128 + number)


for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN:  # under nohup it continues
        signal.signal(one, stop)
