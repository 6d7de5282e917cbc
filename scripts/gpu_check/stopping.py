"""What a signal does that asks the check to stop: what has to be left in order is, a line says so, and the exit status is
128 and the signal's number. Imported before all else, as it may come while Python still reads the other files."""
import os
import signal

actions = []  # of (the signal's name): each may give a text for the line; the last one goes first


def stop(number, frame):
    name = signal.Signals(number).name
    said = [action(name) for action in reversed(actions)]
    # Not by print(): the signal may have come inside of another.
    os.write(2, ("; ".join(["stopped by " + name, *filter(None, said)]) + "\n").encode())
    os._exit(128 + number)


for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN:  # under nohup it goes on
        signal.signal(one, stop)
