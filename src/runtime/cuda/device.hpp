// A GPU, or a logical part of one, as a device of the runtime: one stream in a context, memory from the pool of that,
// kernels by NVRTC, products by cuBLASLt, convolutions by cuDNN.
//
// All work of a device but copies of arguments and from other GPUs goes into its one stream, and the order of that
// stream is why memory may be used as it is:
// - a temporary, a result or an argument that ends while kernels still read it: the memory goes back to the pool in the
//   order of the stream, after them;
// - the workspace of a function, which the next call uses again, and that of products and convolutions, which all of
//   them share: the next use comes after the last one;
// - a copy from the host: the data is taken into pinned memory before copy_in returns, and a piece of that is used
//   again when an event after the copy out of it has passed (staging.hpp); the host's memory may change at once;
// - a copy of an argument of a call runs in a stream of its own, while this one still computes the call before. It goes
//   to memory that this one has read to the end, and this one waits for it (uploads.hpp says how);
// - a copy to the host waits for the stream up to itself;
// - a copy from another GPU runs in a stream of its own, after all that both were asked for so far: the one has by then
//   written the source, the other has read what lay at the destination. Both compute on, and what touches the bytes
//   later waits for the copy (peer_copies.hpp);
// - recorded work (Device::record) is captured from another stream, which holds nothing else, and launched here
//   like a kernel.
// Two parts of one GPU are two streams of one context, like any others.
//
// What a launch, a product or a convolution needs is there when prepare() has returned: code loaded and looked at, an
// algorithm chosen, workspace taken. What is left to fail is the driver itself.
#pragma once

#include "runtime/device/backend.hpp"

namespace croton::runtime::cuda {

/// cuda0, cuda1, ...: the GPUs that the driver finds, or parts of them where the flag logical_devices asks for that;
/// none where there are simulated ones. The driver is asked once for each value of the flags cuda_driver and cuda_root;
/// where there is no driver that costs a search for a library.
const Backend& backend();

}  // namespace croton::runtime::cuda
