"""The parts of an experiment: a workload, its buffers, expected results and variants."""
import ctypes
import dataclasses
import itertools
import math

SMALL_RUN = 64e6  # bytes
FLOAT = 4  # bytes
i32, i64, u32, u64, f32, f64 = (ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_float,
                                ctypes.c_double)


@dataclasses.dataclass
class Step:
    """A launch.

    `kernel` is "file: instance". `args` are ctypes values, names of buffers, and functions of {name: address} that
    return a ctypes value or an array. `mode` is "cooperative", or "early" for a launch that may begin before the
    previous kernel ends.
    """
    kernel: str
    grid: tuple
    block: int
    args: list
    shared: int = 0
    mode: str = ""


@dataclasses.dataclass
class Buffer:
    """An allocation.

    `noise` is (seed, low, high); without it, all words are `word`. With `each`, every set of buffers has its own, else
    all share one. Kernels get the address `offset` bytes after the start of the allocation.
    """
    size: int
    noise: tuple = None
    word: int = 0
    each: bool = True
    offset: int = 0


@dataclasses.dataclass
class Output:
    """A result: buffer `got` is compared with buffer `want`.

    Errors are relative to max(|want|, floor). With `tolerance` 0 the bits must be equal.
    """
    got: str
    want: str
    count: int
    floor: float = 1.0
    tolerance: float = 0.0


@dataclasses.dataclass
class Variant:
    """One schedule: its choices (`facets`) and its launches."""
    facets: dict
    steps: list
    runs: int = 1  # the steps are so many runs


@dataclasses.dataclass
class Experiment:
    """A workload with its variants.

    A run moves at least `moved` bytes. `wanted` are the launches that compute the expected results. Buffers in
    `renewed` are filled again before a checked run. `sampled` is a function of a `Reader`; it returns the largest error
    of the expected results at some places. `tree` is a function of a `Reader`; it returns a list of (name, first,
    values): the results of the fixed tree from element `first` on.
    """
    name: str
    about: str
    moved: int
    buffers: dict
    wanted: list
    outputs: list
    variants: list
    sets: int = 1
    renewed: tuple = ()
    sampled: object = None
    tree: object = None

    @property
    def graph(self):
        """Whether runs are recorded as a CUDA graph and replayed: for kernels of a few microseconds."""
        return 0 < self.moved < SMALL_RUN

    def kernels(self):
        """The kernels of all launches, with repetitions."""
        return [step.kernel for step in itertools.chain(self.wanted, *(v.steps for v in self.variants))]


def instance(file, template, *arguments):
    """The name of a kernel: "file: template<arguments>"."""
    def text(argument):
        return str(argument).lower() if isinstance(argument, bool) else str(argument)
    return f"{file}: {template}" + (f"<{', '.join(map(text, arguments))}>" if arguments else "")


def grid_name(per_sm):
    """The facet of a grid; `per_sm` 0: a tile for each block."""
    return f"{per_sm} blocks an SM" if per_sm else "one pass"


def sets_for(moved, small):
    """The number of sets of buffers that are together about eight times as large as a cache of 60 MB."""
    return 2 if small else max(1, math.ceil(480e6 / moved))
