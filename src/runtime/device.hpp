// Device: what the runtime asks of a machine that has memory of its own. The host is the place that has none of these:
// its memory is the process's, its kernels and products are those of runtime/cpu/.
#pragma once

#include "base/device_memory.hpp"
#include "base/device_name.hpp"
#include "codegen/emit.hpp"
#include "expr/arena.hpp"
#include "runtime/cpu/blas.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace croton::runtime {

struct DeviceFacts {
  enum class Kind : std::uint8_t { host, real, simulated, logical };
  base::DeviceName name;
  Kind kind = Kind::host;
  std::string title;                   // as its maker calls it
  std::size_t memory = 0;              // in bytes
  int major = 0, minor = 0;            // compute capability
  std::string pci;                     // "0000:17:00.0"
};

class Device : public base::DeviceMemory {
 public:
  virtual const DeviceFacts& facts() const = 0;
  std::string name() const final { return facts().name.to_string(); }
  std::uint16_t place() const final { return facts().name.place(); }

  /// From another device; by way of the host where there is no other.
  virtual void copy_from(Device& other, void* to, const void* from, std::size_t bytes);

  /// Makes the text ready to run; compiles it where that has not been done.
  virtual void prepare(const codegen::Text& text) = 0;
  /// Runs a kernel: `parameters` as the text lists them, with addresses of this device.
  virtual void launch(const codegen::Text& text, std::span<std::uint64_t> parameters, std::int64_t items, int blocks,
                      int threads) = 0;
  /// A product whose operands are here.
  virtual void gemm(const cpu::MatrixProduct& product) = 0;
};

/// The device of a place that is not the host. DeviceError that lists those that are. `simulated`: a simulated one,
/// whether or not the flags say that there is any.
Device& device_at(expr::Place place, bool simulated = false);
/// All there are, the host first.
std::vector<DeviceFacts> list_devices();
/// "cpu, cuda0 (simulated), cuda1 (simulated)"
std::string describe_devices();

}  // namespace croton::runtime
