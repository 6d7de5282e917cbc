// Text of CUDA kernels to programs that the simulator runs. The text begins with
// codegen_templates/common/device_simulator.hpp where NVRTC's begins with device_cuda.cuh; all else is the same.
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
/// template. `checked` puts a call before every access of memory. The first `prelude_size` bytes of the text, whole
/// declarations, stand in front of other texts too; from byte `users_begin` on it is a user's. InternalError where the
/// text does not compile, ValueError where there is a user's.
std::vector<std::byte> compile(std::string_view text, std::span<const std::string> kernels, bool checked,
                               std::size_t prelude_size = 0, std::size_t users_begin = std::string_view::npos);

/// A loaded object file of compile(). Never changes, so that any number of launches may share it.
class Program {
 public:
  using Entry = void (*)(void** arguments);

  struct SharedVariable {
    std::string name;
    std::size_t offset = 0;  // in the block's shared memory
    std::size_t size = 0;
  };

  /// Of the whole program, not of a block: `__device__` variables, and constants of all kinds.
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
    unsigned most_threads = 0;  // by __launch_bounds__; 0 where there is none, or the program is not checked
  };

  /// `text` is what was compiled, for messages that show a line; it may be left empty. DeviceError for damaged objects.
  explicit Program(std::span<const std::byte> object, std::string text = {});

  /// InternalError where the program was compiled without this name among its kernels.
  Kernel kernel(const std::string& name) const;

  bool is_checked() const { return checked_; }
  /// Whether a kernel may wait for other threads of its block.
  bool waits() const { return waits_; }
  /// Whether a kernel may ask again and again for what another thread writes: it uses locks, or reads that are atomic
  /// or volatile.
  bool spins() const { return spins_; }
  /// Bytes of shared memory without the part whose size is given at launch; that part begins there.
  std::size_t shared_bytes() const { return shared_bytes_; }
  const std::vector<SharedVariable>& shared_variables() const { return shared_variables_; }
  const std::vector<DeviceVariable>& device_variables() const { return device_variables_; }

  /// "line 12: `text of it`", and the lines that called the function of that line, for a place as the code numbers
  /// them.
  std::string describe_place(unsigned place) const;
  /// A function of the text whose address the text takes; `type` is equal where the processor calls them alike.
  struct Function {
    const void* address = nullptr;
    unsigned type = 0;
  };
  /// The one that a pointer may be called for, or nullptr.
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
  std::vector<Function> functions_;                     // that pointers may be called for
  std::vector<std::span<const std::uint32_t>> places_;  // the lines of each, from 0; the innermost comes first
};

/// The program of a text with `checked`, from the cache on disk or compiled; the object goes into the cache unless
/// `prelude_size` is 0. `*found` tells which, where it is asked for.
std::shared_ptr<const Program> checked_program(const std::string& text, std::span<const std::string> kernels,
                                               std::size_t prelude_size, bool* found = nullptr);

}  // namespace croton::runtime::simulator
