"""The device: memory, launches, events and graphs, through CuPy and the driver."""
import ctypes
import hashlib
import subprocess

import cupy
from cupy.cuda import driver, runtime

DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE = 3, 2, 1  # cudaMemcpyKind


class Attribute(ctypes.Structure):
    """CUlaunchAttribute of cuda.h."""
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int * 16)]


class Config(ctypes.Structure):
    """CUlaunchConfig of cuda.h."""
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)),
                ("count", ctypes.c_uint)]


class Gpu:
    """The device through CuPy: memory, launches, events, graphs."""

    EARLY = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

    def __init__(self):
        properties = runtime.getDeviceProperties(0)
        self.name, self.sms = properties["name"].decode(), properties["multiProcessorCount"]
        self.arch = f"sm_{properties['major']}{properties['minor']}"
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.modules, self.functions = {}, {}
        self.libcuda = ctypes.CDLL("libcuda.so.1")
        self.attribute = Attribute(self.EARLY, 0, (ctypes.c_int * 16)(1))

    def allocate(self, size):
        """An address; it lives until `free`."""
        return runtime.malloc(size)

    def free(self, address):
        runtime.free(address)

    def wait(self):
        self.stream.synchronize()

    def copy(self, to, source, size):
        runtime.memcpyAsync(to, source, size, DEVICE_TO_DEVICE, self.stream.ptr)

    def read(self, array, address):
        runtime.memcpyAsync(array.ctypes.data, address, array.nbytes, DEVICE_TO_HOST, self.stream.ptr)
        self.wait()

    def write(self, address, array):
        runtime.memcpyAsync(address, array.ctypes.data, array.nbytes, HOST_TO_DEVICE, self.stream.ptr)
        self.wait()

    def read_pitched(self, array, address, pitch):
        """Rows of `array` that are `pitch` bytes apart on the device."""
        self.wait()
        rows, width = array.shape[0], array.nbytes // array.shape[0]
        runtime.memcpy2D(array.ctypes.data, width, address, pitch, width, rows, DEVICE_TO_HOST)

    def function(self, compiler, kernel):
        """The handle of a kernel."""
        if kernel not in self.functions:
            code, names, _ = compiler.get(kernel)
            key = hashlib.sha256(code).hexdigest()
            if key not in self.modules:
                self.modules[key] = cupy.cuda.function.Module()
                self.modules[key].load(code)
            self.functions[kernel] = self.modules[key].get_function(names[kernel.split(": ", 1)[1]])
        return self.functions[kernel].ptr

    def about(self, function, block, shared):
        """Registers, bytes of local memory a thread, and blocks that fit a multiprocessor."""
        if shared > 48 * 1024:
            driver.funcSetAttribute(function, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        return {"registers": driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_NUM_REGS, function),
                "local": driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function),
                "resident": driver.occupancyMaxActiveBlocksPerMultiprocessor(function, block, shared)}

    def launch(self, function, step, parameters):
        """Enqueues a step; `parameters`: an array of pointers to the arguments."""
        (x, y), pointers = step.grid, ctypes.addressof(parameters)
        if step.mode == "cooperative":
            driver.launchCooperativeKernel(function, x, y, 1, step.block, 1, 1, step.shared, self.stream.ptr, pointers)
        elif step.mode == "early":
            config = Config((ctypes.c_uint * 7)(x, y, 1, step.block, 1, 1, step.shared), self.stream.ptr,
                            ctypes.pointer(self.attribute), 1)
            failed = self.libcuda.cuLaunchKernelEx(ctypes.byref(config), ctypes.c_void_p(function),
                                                   ctypes.c_void_p(pointers), None)
            if failed:
                raise RuntimeError(f"cuLaunchKernelEx: error {failed}")
        else:
            driver.launchKernel(function, x, y, 1, step.block, 1, 1, step.shared, self.stream.ptr, pointers, 0)

    def record(self, work):
        """Records the launches of `work` as a graph; returns a function that enqueues it."""
        self.wait()
        with self.stream:
            self.stream.begin_capture(runtime.streamCaptureModeRelaxed)
            try:
                work()
            finally:
                graph = self.stream.end_capture()
        graph.upload(self.stream)
        return lambda: graph.launch(self.stream)

    def seconds(self, before, work):
        """The time of the launches of `work` between two events. Those of `before` are enqueued first."""
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        before()
        start.record(self.stream)
        work()
        end.record(self.stream)
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end) * 1e-3


def driver_version():
    """The version of the driver and the clocks of the multiprocessors and the memory."""
    try:
        return subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
