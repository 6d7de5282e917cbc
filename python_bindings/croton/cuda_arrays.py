"""Copies to the host of other packages' arrays on CUDA devices, through `__cuda_array_interface__`."""

import ctypes
import operator
import threading

import numpy

from . import _croton

_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE


def host_copy(x):
    """A NumPy array with the elements of x. DeviceError if the CUDA driver is missing or fails; TypeError for masked
    arrays, and for an invalid interface."""
    interface = x.__cuda_array_interface__
    what = f"an array of {type(x).__module__} on a CUDA device"
    try:
        masked = interface.get("mask") is not None
        shape, dtype = _integers(interface["shape"]), numpy.dtype(interface["typestr"])
        pointer, strides = operator.index(interface["data"][0]), interface.get("strides")
        strides = _contiguous(shape, dtype.itemsize) if strides is None else _integers(strides)
        first, last = _byte_range(shape, strides, dtype.itemsize)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise _croton.TypeError(f"{what}: its __cuda_array_interface__ is not understood: {error!r}") from error
    if masked:
        raise _croton.TypeError(f"{what} has a mask, which Croton does not support")
    if 0 in shape:
        return numpy.empty(shape, dtype)
    buffer = numpy.empty(last - first, numpy.uint8)
    _Driver(what).copy(buffer, pointer + first, interface.get("stream"))
    return numpy.ndarray(shape, dtype, buffer, -first, strides)


def _integers(values):
    return tuple(operator.index(value) for value in values)


def _byte_range(shape, strides, itemsize):
    """The offsets of an array's first byte and of the one after its last, relative to its data pointer."""
    spans = [stride * (size - 1) for stride, size in zip(strides, shape, strict=True)]
    first = sum(span for span in spans if span < 0)
    last = sum(span for span in spans if span > 0) + itemsize
    if min(shape, default=0) < 0 or last - first >= 2**63:
        raise ValueError(f"no array has the shape {shape} and the strides {strides}")
    return first, last


def _contiguous(shape, itemsize):
    strides = []
    for size in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= size
    return tuple(strides)


class _Driver:
    """The CUDA driver of the flag cuda_driver, or the system's."""

    def __init__(self, what):
        self._what = what
        name = _croton.flag("cuda_driver") or "libcuda.so.1"
        try:
            self._library = ctypes.CDLL(name)
        except OSError as error:
            raise _croton.DeviceError(
                f"{what} cannot be copied to the host, because the CUDA driver is missing: {error}") from error
        self._call("cuInit", 0)

    def _call(self, name, *arguments):
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise _croton.DeviceError(
                f"{self._what} cannot be copied to the host: {name} of the CUDA driver failed with error {code}")

    def _device(self, pointer):
        """The device that owns the memory."""
        number = ctypes.c_int(0)
        if hasattr(self._library, "cuPointerGetAttribute"):
            self._call("cuPointerGetAttribute", ctypes.byref(number), _ORDINAL, ctypes.c_uint64(pointer))
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), number)
        return device

    def copy(self, buffer, pointer, stream):
        """Fills a NumPy buffer from the device, after the work of the interface's `stream`. Runs on another thread, so
        that the caller's thread keeps its current context, which may be that of another package."""
        errors = []

        def work():
            try:
                self._copy(buffer, pointer, stream)
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]

    def _copy(self, buffer, pointer, stream):
        device, context = self._device(pointer), ctypes.c_void_p()
        copies, pinned = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        try:
            self._call("cuCtxSetCurrent", context)
            if stream is not None:
                self._call("cuStreamSynchronize", ctypes.c_void_p(stream))
            self._call("cuStreamCreate", ctypes.byref(copies), _NON_BLOCKING)
            self._call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(buffer.nbytes), _PORTABLE)
            size = ctypes.c_size_t(buffer.nbytes)
            self._call("cuMemcpyDtoHAsync_v2", pinned, ctypes.c_uint64(pointer), size, copies)
            self._call("cuStreamSynchronize", copies)
            ctypes.memmove(buffer.ctypes.data, pinned, buffer.nbytes)
        finally:
            if pinned:
                self._library.cuMemFreeHost(pinned)
            if copies:
                self._library.cuStreamDestroy_v2(copies)
            self._library.cuDevicePrimaryCtxRelease_v2(device)
