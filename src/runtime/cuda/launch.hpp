// Launches: a loaded kernel, the driver's facts about it, and how it enters a stream.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runtime/cuda/driver/stream.hpp"

namespace croton::runtime::cuda {

/// The driver's facts about a kernel.
struct KernelFacts {
  int registers = 0;             ///< of a thread
  std::size_t shared_bytes = 0;  ///< of a block, without the dynamic part
  std::size_t local_bytes = 0;   ///< of a thread: spilled registers and indexed arrays
  int threads_per_block = 0;     ///< the maximum for a launch
  int architecture = 0;          ///< of the running code, which the driver may have made from PTX; 90 for sm_90
};

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t dynamic_shared = 0;  ///< bytes of shared memory besides the kernel's own variables
  bool cooperative = false;        ///< all blocks run at the same time, and may wait for each other
};

/// The code of a module, which is unloaded with its last user.
struct LoadedCode {
  explicit LoadedCode(std::shared_ptr<Context> owner) : context(std::move(owner)) {}
  ~LoadedCode() {
    if (handle != nullptr) context->release(context->driver().cuModuleUnload, handle);
  }
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  std::shared_ptr<Context> context;
  ModuleHandle handle = nullptr;
};

/// A kernel of a module (module.hpp), which stays loaded as long as the kernel exists.
class Kernel {
 public:
  const std::string& name() const { return name_; }
  const KernelFacts& facts() const { return facts_; }

  /// Puts a launch into the stream, which is of the same device, and returns at once. The parameters are those of
  /// generated kernels: one struct of 8-byte values and, if the kernel divides items among its threads, their number.
  /// They are copied. Nothing is launched if there are no blocks.
  void launch(const Stream& stream, const LaunchShape& shape, std::span<const std::uint64_t> parameters,
              std::optional<std::int64_t> points, Where where = {}) const;

  /// The number of blocks of `threads` threads and so many bytes of dynamic shared memory that run at the same time on
  /// the whole device while nothing else does: the maximum for a cooperative launch.
  int resident_blocks(unsigned threads, std::size_t dynamic_shared, Where where = {}) const;

  /// Needed once before launches with that much dynamic shared memory; less is then allowed as well. DeviceError if a
  /// block of the device has less.
  void allow_dynamic_shared(std::size_t bytes, Where where = {}) const;

 private:
  friend class Module;
  Kernel(std::shared_ptr<const LoadedCode> code, std::string name, FunctionHandle function)
      : code_(std::move(code)), name_(std::move(name)), function_(function) {}

  std::shared_ptr<const LoadedCode> code_;
  std::string name_;
  FunctionHandle function_;
  KernelFacts facts_;
};

}  // namespace croton::runtime::cuda
