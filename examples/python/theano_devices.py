"""A Theano program of two GPUs: storage is pinned, work follows the flag `device`.

    CROTON_FLAGS=cuda_simulator=2 python -m croton.theano theano_devices.py [FIRST [SECOND]]    (cuda0 cuda1)
"""

import sys

import numpy
import theano
import theano.gpuarray
import theano.sandbox.cuda

first, second = (sys.argv[1:] + ["cuda0", "cuda1"][len(sys.argv) - 1:])[:2]

theano.sandbox.cuda.use(first)
theano.config.floatX = "float32"
x = theano.gpuarray.shared_constructor(numpy.asarray([1, 2, 3], dtype=theano.config.floatX), target=first)
f = theano.function([], x * 2)
print(f())
with theano.gpuarray.change_flags(device=second):
    print(f())
    print(f())
    sent = [(copy.source, copy.target, copy.bytes) for copy in f.transfers()]
print("x is stored on", x.target)
print("the second call there sent:", ", ".join(f"{bytes} bytes from {a} to {b}" for a, b, bytes in sent))
print("kernels:", len(f.kernels()))
