"""`python -m croton.theano program.py arguments`: runs a program that imports theano on Croton."""

import os
import runpy
import sys

from . import python2
from .install import install


def main():
    if len(sys.argv) < 2:
        print("usage: python -m croton.theano program.py [arguments], or -m module, or -c text", file=sys.stderr)
        return 2
    install()
    if sys.argv[1] == "-c":
        sys.argv[:] = ["-c", *sys.argv[3:]] if len(sys.argv) > 2 else sys.argv
        sys.path.insert(0, "")
        text = _command
        exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
        return 0
    if sys.argv[1] == "-m":
        del sys.argv[:2]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return 0
    program = sys.argv[1]
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    python2.install()
    python2.run(program)
    return 0


_command = sys.argv[2] if len(sys.argv) > 2 and sys.argv[1] == "-c" else ""

if __name__ == "__main__":
    sys.exit(main())
