// Launches: a kernel that is loaded, what the driver knows of it, and how it is put into a stream.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

/// A kernel of a module (module.hpp), which stays loaded for it.
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
  Kernel(std::shared_ptr<const LoadedCode> code, std::string name, FunctionHandle function)
      : code_(std::move(code)), name_(std::move(name)), function_(function) {}

  std::shared_ptr<const LoadedCode> code_;
  std::string name_;
  FunctionHandle function_;
  KernelFacts facts_;
};

}  // namespace croton::runtime::cuda
