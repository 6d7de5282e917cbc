"""Makes Theano 1.0.5 itself run on a current Python, for the list of cases that it passes (see README.md)."""
import os
import sys


def prepare():
    """Must run before `import theano`. Its flags: the generated C code needs leniency, and NumPy no longer gives the
    location of BLAS."""
    os.environ.setdefault("THEANO_FLAGS", "floatX=float64,blas.ldflags=-lblas,gcc.cxxflags=-fpermissive -w,"
                          "base_compiledir=" + os.path.join(os.environ.get("TMPDIR", "/tmp"), "suites_theano_compile"))
    # The C form of scan's loop does not compile against Python 3.11; without it scan runs its loop in Python.
    sys.modules["theano.scan_module.scan_perform_ext"] = None
