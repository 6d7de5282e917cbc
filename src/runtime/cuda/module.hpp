// Compiled kernels on a device: loaded from cubin or PTX, looked at, launched.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/cuda/stream.hpp"

namespace croton::runtime::cuda {

/// What the driver knows of a kernel.
struct KernelFacts {
  int registers = 0;             ///< of a thread
  std::size_t shared_bytes = 0;  ///< of a block, without the dynamic part
  std::size_t local_bytes = 0;   ///< of a thread: registers spilled, and arrays that are indexed
  int threads_per_block = 0;     ///< the most that a launch may have
  int architecture = 0;          ///< 90: the code that runs, which the driver may have made from PTX
};

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t dynamic_shared = 0;  ///< bytes of shared memory besides the kernel's own variables
  bool cooperative = false;        ///< all blocks run at the same time, and may wait for each other
};

class Kernel;

/// Code on a device. Copies are the same module, which stays loaded until the last of them and of their kernels ends.
class Module {
 public:
  /// Loads machine code, or PTX, which the driver compiles now; it tells them apart. Throws DeviceError, with the
  /// driver's log, where it cannot.
  Module(std::shared_ptr<Device> device, std::span<const std::byte> code, Where where = {});

  /// The kernel with that name. `dynamic_shared` is the most that its launches will ask for.
  Kernel kernel(const std::string& name, std::size_t dynamic_shared = 0, Where where = {}) const;

 private:
  friend class Kernel;
  struct State;
  std::shared_ptr<const State> state_;
};

class Kernel {
 public:
  const std::string& name() const { return name_; }
  const KernelFacts& facts() const { return facts_; }

  /// Puts a launch into the stream, of the same device, and returns at once. The parameters are those of generated
  /// kernels: one struct of 8-byte values and, where there are items to be divided, their number. They are copied. No
  /// blocks are no launch.
  void launch(const Stream& stream, const LaunchShape& shape, std::span<const std::uint64_t> parameters,
              std::optional<std::int64_t> points, Where where = {}) const;

  /// How many blocks of so many threads run at the same time on the whole device while nothing else does: the most of a
  /// cooperative launch.
  int resident_blocks(unsigned threads, Where where = {}) const;

 private:
  friend class Module;
  Kernel(std::shared_ptr<const Module::State> module, std::string name, FunctionHandle function)
      : module_(std::move(module)), name_(std::move(name)), function_(function) {}

  std::shared_ptr<const Module::State> module_;
  std::string name_;
  FunctionHandle function_;
  KernelFacts facts_;
};

}  // namespace croton::runtime::cuda
