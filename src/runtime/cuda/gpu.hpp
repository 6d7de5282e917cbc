// A GPU, or a logical part of one, as a device of the runtime: one stream, memory from the device's pool, kernels by
// NVRTC, products by cuBLASLt, convolutions by cuDNN.
//
// All work of a Gpu but copies of arguments and from other Gpus goes into its one stream, and the order of that stream
// is why memory may be used as it is:
// - a temporary, a result or an argument that ends while kernels still read it: the memory goes back to the pool in the
//   order of the stream, behind them;
// - the workspace of a function, which the next call uses again, and that of products and convolutions, which all of
//   them share: the next use stands behind the last one;
// - a copy from the host: the data is taken into pinned memory before copy_in returns, and a piece of that is used
//   again when an event behind the copy out of it has passed (staging.hpp); the host's memory may change at once;
// - a copy of an argument of a call runs in a stream of its own, while this one still computes the call before. It goes
// to
//   memory that this one has read to the end, and this one waits for it (uploads.hpp says how);
// - a copy to the host waits for the stream up to itself;
// - a copy from another Gpu runs in a stream of its own, behind what both Gpus were asked for so far: the one has
// written
//   the source then, the other has read what lay at the destination. Both compute on, and what touches the bytes later
//   waits for the copy (peer_copies.hpp);
// - recorded work (Device::record) is captured from another stream, which holds nothing else, and launched here
//   like a kernel.
// Two Gpus that are parts of one physical device are two streams like any others.
//
// What a launch, a product or a convolution needs is there when prepare() has returned: code loaded and looked at, an
// algorithm chosen, workspace taken. What is left to fail is the driver itself.
#pragma once

#include "runtime/device/device.hpp"

#include <memory>
#include <string>

namespace croton::runtime::cuda {

struct FoundGpus {
  int count = 0;
  std::string why;     // in a few words, where there is none
  std::string driver;  // the flag cuda_driver that was in force
};

/// The GPUs that the driver finds under the present flags cuda_driver and cuda_root. It is asked once for each of their
/// values; where there is no driver that costs a search for a library.
const FoundGpus& find_gpus();

/// cuda<number>: part `part` of `parts` of the GPU that the driver calls `gpu`. DeviceError where it cannot be used.
std::unique_ptr<runtime::Device> make_device(int number, int gpu, int part, int parts);

}  // namespace croton::runtime::cuda
