// The machine code of a kernel's entries: NVRTC's facts and nvdisasm's figures together.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/cuda/inspect/launch_model.hpp"

namespace croton::runtime::cuda {

/// The entries of a compiled kernel, from the compiler's facts and a cubin with a table of lines. DeviceError without
/// nvdisasm; InternalError if an entry is missing in its listing.
std::vector<EntryCode> entry_codes(const KernelInfo& kernel, std::span<const KernelFacts> facts,
                                   std::span<const std::byte> lined_cubin);

}  // namespace croton::runtime::cuda
