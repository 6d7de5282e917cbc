// A GPU, or a logical part of one, as a device of the runtime: one stream in a context, memory from the context's pool,
// kernels by NVRTC, products by cuBLASLt, convolutions by cuDNN.
//
// All work of a device, except copies of arguments and from other GPUs, enters its one stream. The order of the stream
// makes the use of memory safe:
// - a temporary, a result or an argument that ends while kernels still read it: its memory goes back to the pool in the
//   order of the stream, after the kernels;
// - the workspace of a function, which the next call reuses, and that of products and convolutions, which all of them
//   share: the next use comes after the last one;
// - a copy from the host: the data is copied to pinned memory before copy_in returns, so the host's memory may change
//   at once; a piece of pinned memory is reused after an event that follows the copy out of it (driver/staging.hpp);
// - a copy of an argument of a call runs in a stream of its own, while the main stream still computes the previous
//   call. It writes memory that the main stream does not read any more, and the main stream waits for it (uploads.hpp);
// - a copy to the host waits for the stream up to itself;
// - a copy from another GPU runs in a stream of its own, after all earlier work of both GPUs: the source is written by
//   then, and the old data at the destination is read. Both GPUs continue to compute, and later work on these bytes
//   waits for the copy (peer_copies.hpp);
// - recorded work (Device::record) is captured from another stream, which has nothing else, and launched here like a
//   kernel.
//
// Two parts of one GPU are two streams of one context, like any others.
//
// When prepare() has returned, all that a launch, a product or a convolution needs exists: loaded code, a chosen
// algorithm, workspace. After that only the driver itself can fail.
#pragma once

#include "runtime/device/backend.hpp"

namespace croton::runtime::cuda {

/// cuda0, cuda1, ...: the GPUs that the driver finds, or parts of them if the flag logical_devices asks for parts; none
/// if there are simulated ones. The driver is asked once for each value of the flags cuda_driver and cuda_root; without
/// a driver that costs a search for its library.
const Backend& backend();

}  // namespace croton::runtime::cuda
