"""One check at a time for a folder: two would write over each other's results."""
import fcntl
import os

from refused import Refused


def lock(folder):
    """Makes the folder, and holds its lock until this process has ended, in any way."""
    os.makedirs(folder, exist_ok=True)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(f"another check writes to {folder} at this moment: wait for it, or name another folder by --out")
    except OSError:  # a file system without locks
        pass
