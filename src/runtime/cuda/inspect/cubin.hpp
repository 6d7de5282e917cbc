// Facts about kernels in a cubin. A cubin is an ELF file; the attributes of kernels are in sections of NVIDIA's own
// (.nv.info and others), whose numbers are not documented but have been the same since CUDA 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace croton::runtime::cuda {

struct CubinEntry {
  std::string name;
  std::uint32_t registers = 0;
  std::uint32_t frame_bytes = 0;
  std::uint64_t constant_bytes = 0;  ///< bank 0, which has the parameters, and the kernel's own other banks
};

/// The kernels of a cubin, in the order of their code. Throws DeviceError for bytes that are not a cubin: every offset
/// is checked.
std::vector<CubinEntry> read_cubin(std::span<const std::byte> cubin);

}  // namespace croton::runtime::cuda
