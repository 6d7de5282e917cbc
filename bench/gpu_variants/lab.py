"""Buffers on the device, and how kernels are started, compared and timed there."""
import ctypes
import dataclasses
import functools
import itertools
import math
import statistics
import time

import numpy as np

from experiment import FLOAT, Step, f32, f64, i64, instance, u32, u64

SAMPLES = 21
SAMPLE_SECONDS = 0.8e-3
NAN_WORD = 0x7fffffff  # a float32 NaN


@dataclasses.dataclass
class Times:
    """Seconds: the median and the first and last deciles."""
    median: float
    low: float
    high: float


class Memory:
    """The buffers of an experiment on the device."""

    def __init__(self, lab, experiment):
        self.lab, self.experiment, self.taken, self.extra = lab, experiment, [], []
        self.places = []  # for each set: {name: address}
        single = {}
        for i in range(experiment.sets):
            places = {}
            for name, buffer in experiment.buffers.items():
                if not buffer.each and i > 0:
                    places[name] = single[name]
                    continue
                address = self.take(self.taken, buffer.size + 256) + buffer.offset
                places[name] = single[name] = address
                self.fill(name, address, i)
            self.places.append(places)
        lab.gpu.wait()

    def take(self, of, size):
        """Allocates; the address is freed with the others in the list `of`."""
        of.append(self.lab.gpu.allocate(size))
        return of[-1]

    def fill(self, name, address, number=0):
        """Writes the initial values of a buffer of set `number`."""
        buffer = self.experiment.buffers[name]
        if buffer.noise:
            seed, low, high = buffer.noise
            self.lab.write_words("noise", address, buffer.size, u64(seed + 1000 * number), f32(low), f32(high))
        else:
            self.lab.write_words("fill", address, buffer.size, u32(buffer.word))

    def poison(self, name, address):
        """Fills a buffer with NaN."""
        self.lab.write_words("fill", address, self.experiment.buffers[name].size, u32(NAN_WORD))

    def argument(self, value, places):
        """A ctypes value for a step's argument."""
        if isinstance(value, str):
            return u64(places[value])
        if callable(value):
            value = value(places)
        if isinstance(value, np.ndarray):
            address = self.take(self.extra, value.nbytes)
            self.lab.gpu.write(address, value)
            return u64(address)
        return value

    def drop_extra(self):
        """Frees the arrays of arguments."""
        while self.extra:
            self.lab.gpu.free(self.extra.pop())

    def release(self):
        """Frees everything."""
        self.drop_extra()
        while self.taken:
            self.lab.gpu.free(self.taken.pop())


class Reader:
    """Elements of the first set's buffers, as NumPy arrays."""

    def __init__(self, lab, memory):
        self.gpu, self.places = lab.gpu, memory.places[0]

    def __call__(self, name, first, count):
        array = np.empty(count, np.float32)
        self.gpu.read(array, self.places[name] + FLOAT * first)
        return array

    def columns(self, name, rows, columns, first, count):
        array = np.empty((rows, count), np.float32)
        self.gpu.read_pitched(array, self.places[name] + FLOAT * first, FLOAT * columns)
        return array


class Lab:
    """Starts kernels, compares buffers, and measures times."""

    def __init__(self, gpu, compiler):
        self.gpu, self.compiler = gpu, compiler
        self.result = gpu.allocate(16)
        compiler.request(instance(*kernel) for kernel in (("reference.cu", "noise"), ("reference.cu", "fill"),
                                                          ("reference.cu", "compare"), ("launch.cu", "wait_for")))

    def bound(self, step, arguments):
        """The launch of a step as a function without arguments."""
        function = self.gpu.function(self.compiler, step.kernel)
        pointers = (ctypes.c_void_p * max(1, len(arguments)))(*(ctypes.addressof(value) for value in arguments))

        def launch(kept=arguments):  # the pointers are to these
            self.gpu.launch(function, step, pointers)
        return launch

    def do(self, step):
        """Enqueues a step whose arguments are ctypes values."""
        self.bound(step, step.args)()

    def write_words(self, kernel, address, size, *args):
        """Enqueues `noise` or `fill` of reference.cu for `size` bytes."""
        words = size // 4
        self.do(Step(instance("reference.cu", kernel), (2048 if words > 1 << 20 else 64, 1), 256,
                     [u64(address), i64(words), *args]))

    def compare(self, got, want, count, floor):
        """Returns (the largest error, the number of words that differ)."""
        self.gpu.write(self.result, np.zeros(2, np.uint64))
        self.do(Step(instance("reference.cu", "compare"), (1024 if count > 1 << 18 else 32, 1), 256,
                     [u64(got), u64(want), i64(count), f64(floor), u64(self.result)]))
        words = np.empty(2, np.uint64)
        self.gpu.read(words, self.result)
        return float(words[:1].view(np.float64)[0]), int(words[1])

    def time(self, runs, graph, samples=SAMPLES, aim=SAMPLE_SECONDS):
        """Times of one run; `runs`: one function for each set, in turn."""
        turn = itertools.cycle(runs)

        def several(count):
            for _ in range(count):
                next(turn)()

        def host_seconds(work):
            begin = time.perf_counter()
            work()
            return time.perf_counter() - begin

        several(len(runs))  # warms up
        self.gpu.wait()
        first = max(2, min(len(runs), 4))
        enqueue = host_seconds(lambda: several(first)) / first
        self.gpu.wait()
        estimate = self.gpu.seconds(lambda: self.hold(enqueue * first), lambda: several(first)) / first
        count = min(400, max(2 if not graph else 20, math.ceil(aim / max(estimate, 1e-7))))
        work = functools.partial(several, count)
        if graph:
            work = self.gpu.record(work)
            work()
        held = 20e-6 + (enqueue * count if not graph else 100e-6)
        times = sorted(self.gpu.seconds(lambda: self.hold(held), work) / count for _ in range(samples))
        return Times(statistics.median(times), times[len(times) // 10], times[-1 - len(times) // 10])

    def hold(self, seconds):
        """Keeps the stream busy for 1.5 times as long."""
        self.do(Step(instance("launch.cu", "wait_for"), (1, 1), 32, [u64(int(min(1.5 * seconds, 5e-3) * 1e9))]))

    def copy_rate(self, size, sets):
        """Bytes per second, read and written, of the driver's copy of `size` bytes."""
        pairs = [(self.gpu.allocate(size), self.gpu.allocate(size)) for _ in range(sets)]
        for source, _ in pairs:
            self.write_words("noise", source, size, u64(7), f32(-1), f32(1))
        times = self.time([lambda pair=pair: self.gpu.copy(pair[1], pair[0], size) for pair in pairs], graph=False)
        for pair in pairs:
            for address in pair:
                self.gpu.free(address)
        return 2 * size / times.median
