"""The error for runs that cannot start."""
import difflib


class Refused(Exception):
    """A check that is not started: its text is one line for the terminal, and the exit status is 2."""


def only_known(option, given, known):
    """Rejects unknown names: a misspelled name must not look like a test that passed, or failed."""
    known = list(known)
    for name in given or []:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.4)
            raise Refused(f"{option}: there is no {name}" + (f"; the nearest is {near[0]}" if near else "") +
                          f", of {', '.join(sorted(known)) or 'none'}")
