// Text of kernels to native code of this machine, inside the process. libcroton_llvm.so (src/llvm) does the work. It is
// loaded when the first kernel is compiled, so that programs on a GPU that find all their kernels in the cache never
// pay for LLVM. No LLVM type appears here.
//
// Numbers: IEEE 754, nothing contracted, nothing reassociated, square roots correctly rounded. The same text gives the
// same bits in every mode, on every processor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct CrotonLlvmApi;

namespace croton::runtime::cpu {

struct CompileOptions {
  enum class Mode {
    cpu,                // C++17 without headers, optimised and vectorised
    cpu_trapping,       // the same; arithmetic that is undefined in C++ ends the process
    simulator,          // CUDA device text (after common/device_simulator.hpp) to host functions
    simulator_checked,  // the same, with a call before every access to memory
  };
  Mode mode = Mode::cpu;
  /// The part of the text that a user wrote for the simulator. If there is such a part, a text that does not compile is
  /// the user's mistake (ValueError).
  std::size_t users_begin = 0, users_size = 0;
  /// Prefer vectors of 512 bits over 256. Unset: if the processor has AVX-512BW and VL.
  std::optional<bool> vectorize_512;
  /// The level of optimisation, from 0 to 3 (the flag llvm_level).
  std::int64_t level = 3;
  /// The number of bytes at the beginning of the text that other texts have too (codegen::prelude): whole declarations
  /// up to the end of a line, which a process parses once.
  std::size_t prelude_size = 0;
};

/// The time that compilations took.
struct CompileTimes {
  std::chrono::nanoseconds clang{}, llvm{};

  void add(const CompileTimes& more) {
    clang += more.clang;
    llvm += more.llvm;
  }
  /// Adds it to the time of this thread's stage.
  void note() const;
};

/// Loaded native code. The addresses are valid until its last owner ends.
class Module {
 public:
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// The address of an exported function or variable; nullptr if there is none with this name.
  void* symbol(const std::string& name) const;

  /// The same as a pointer to a function or object; InternalError if there is none with this name.
  template <typename Pointee>
  Pointee* get(const std::string& name) const {
    return reinterpret_cast<Pointee*>(require(name));
  }

 private:
  friend class Compiler;
  Module(const CrotonLlvmApi& api, void* handle) : api_(api), handle_(handle) {}
  void* require(const std::string& name) const;

  const CrotonLlvmApi& api_;
  void* handle_;
};

/// The compiler of the process. All functions may be called from several threads at once.
class Compiler {
 public:
  /// Loads libcroton_llvm.so at the first call: from the folder of the object that holds this function (libcroton.so),
  /// or else from the folder of set_library_folder. DeviceError, with the places searched and the packages to install,
  /// if that fails; the next call tries again.
  static Compiler& instance();

  /// Whether instance() would succeed; if not, `*why` gets the message of its error.
  static bool available(std::string* why = nullptr);

  /// A second place to search, for programs that keep the library elsewhere. No effect once it is loaded.
  static void set_library_folder(std::filesystem::path folder);

  /// LLVM's version, the processor and its features, which decide the object together with text and options. For keys
  /// of the cache.
  std::string identity() const;

  /// Text to an object file. InternalError, with Clang's messages and the lines around them, if the text does not
  /// compile.
  std::vector<std::byte> compile(std::string_view source, const CompileOptions& options = {},
                                 CompileTimes* times = nullptr) const;

  /// Text to assembly, for people to read.
  std::string assembly(std::string_view source, const CompileOptions& options = {}) const;

  /// Links an object file of compile() into the process. `symbols` are the names that its code may call, in addition to
  /// those that the compiler itself needs (memcpy, fma, ...). DeviceError if the bytes are not an object file for this
  /// machine or need a name that is not given. LLVM checks only the form of the file: bytes from a disk must have
  /// passed a checksum before.
  std::shared_ptr<Module> load(std::span<const std::byte> object,
                               std::span<const std::pair<std::string, void*>> symbols = {}) const;

 private:
  explicit Compiler(const CrotonLlvmApi& api) : api_(api) {}
  std::string run(std::string_view source, const CompileOptions& options, bool assembly, CompileTimes* times) const;

  const CrotonLlvmApi& api_;
};

}  // namespace croton::runtime::cpu
