// Text of CUDA kernels to programs that the simulator runs. The text begins with
// codegen_templates/common/device_simulator.hpp, that for NVRTC with device_cuda.cuh; everything else is the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/simulator/range.hpp"

namespace croton::runtime::cpu {
class Module;
}

namespace croton::runtime::simulator {

/// Compiles a text to an object file, which may be kept in a cache (key: text, kernel names, `checked`,
/// cpu::Compiler::identity()). `kernels` are the names of the kernels to be launched, "sum<float>" for an instance of a
/// template. `checked` adds a call before every access to memory. Other texts have the first `prelude_size` bytes as
/// well, whole declarations; from byte `users_begin` on a user wrote the text. If it does not compile, the error is a
/// ValueError for a user's text, and else an InternalError.
std::vector<std::byte> compile(std::string_view text, std::span<const std::string> kernels, bool checked,
                               std::size_t prelude_size = 0, std::size_t users_begin = std::string_view::npos);

/// A loaded object file of compile(). It never changes, so any number of launches may share it.
class Program {
 public:
  using Entry = void (*)(void** arguments);

  struct SharedVariable {
    std::string name;
    std::size_t offset = 0;  // in the block's shared memory
    std::size_t size = 0;
  };

  /// A variable of the whole program: a `__device__` variable, or a constant of any kind.
  struct DeviceVariable {
    std::string name;
    Range range;
    bool is_constant = false;
  };

  struct Kernel {
    Entry entry = nullptr;
    unsigned parameters = 0;
    std::span<const unsigned> parameter_sizes;  // in bytes
    std::size_t parameter_bytes = 0;
    unsigned max_threads = 0;  // by __launch_bounds__; 0 if there is none, or the program is not checked
  };

  /// `text` is the compiled text, for messages that show a line; it may be empty. DeviceError for damaged objects.
  explicit Program(std::span<const std::byte> object, std::string text = {});

  /// InternalError if the program was compiled without this name among its kernels.
  Kernel kernel(const std::string& name) const;

  bool is_checked() const { return checked_; }
  /// Whether a kernel may wait for other threads of its block.
  bool waits() const { return waits_; }
  /// Whether a kernel may spin on memory that another thread writes: it uses locks, or atomic or volatile reads.
  bool spins() const { return spins_; }
  /// Bytes of shared memory without the dynamic part, which begins at this offset.
  std::size_t shared_bytes() const { return shared_bytes_; }
  const std::vector<SharedVariable>& shared_variables() const { return shared_variables_; }
  const std::vector<DeviceVariable>& device_variables() const { return device_variables_; }

  /// "line 12: `text of it`", and the lines that called the function of that line, for the number of a place in the
  /// code.
  std::string describe_place(unsigned place) const;
  /// A function of the text whose address the text takes; `type` is equal if the processor calls them the same way.
  struct Function {
    const void* address = nullptr;
    unsigned type = 0;
  };
  /// The function that a call through the pointer reaches, or nullptr.
  const Function* function(const void* address) const {
    const auto found = std::ranges::find(functions_, address, &Function::address);
    return found != functions_.end() ? &*found : nullptr;
  }

 private:
  std::string describe_line(unsigned line) const;

  std::shared_ptr<cpu::Module> module_;
  std::string text_;
  bool checked_ = false;
  bool waits_ = false;
  bool spins_ = false;
  std::size_t shared_bytes_ = 0;
  std::vector<SharedVariable> shared_variables_;
  std::vector<DeviceVariable> device_variables_;
  std::vector<Function> functions_;                     // that calls through pointers may reach
  std::vector<std::span<const std::uint32_t>> places_;  // the lines of each, from 0, the innermost first
};

/// The program of a text with `checked`, from the cache on disk or compiled; the object is stored in the cache unless
/// `prelude_size` is 0. `*found` gets whether it was in the cache; it may be null.
std::shared_ptr<const Program> checked_program(const std::string& text, std::span<const std::string> kernels,
                                               std::size_t prelude_size, bool* found = nullptr);

}  // namespace croton::runtime::simulator
