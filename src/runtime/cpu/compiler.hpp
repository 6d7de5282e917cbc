// Text of kernels to native code of this machine, inside the process. The work is done by libcroton_llvm.so (src/llvm),
// which is loaded when the first kernel is compiled, so that programs that find all their kernels in the cache on a GPU
// never pay for LLVM. No LLVM type appears here.
//
// Numbers: IEEE 754, nothing contracted, nothing reassociated, square roots correctly rounded. The same text gives the
// same bits in every mode, on every processor.
#pragma once

#include <chrono>
#include <cstddef>
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
    cpu_trapping,       // the same; arithmetic that C++ leaves undefined ends the process
    simulator,          // CUDA device text (after common/device_simulator.hpp) to host functions
    simulator_checked,  // the same, with a call before every access of memory
  };
  Mode mode = Mode::cpu;
  /// Which part of the text was written by a user for the simulator. Where there is such a part, it is the user's
  /// mistake (ValueError) if the text does not compile.
  std::size_t users_begin = 0, users_size = 0;
  /// Prefer vectors of 512 bits over 256. Unset: where the processor has AVX-512BW and VL.
  std::optional<bool> vectorize_512;
  /// How hard the optimiser works, from 0 to 3 (the flag llvm_level).
  int level = 3;
  /// How many bytes from the beginning of the text stand in front of other texts too (codegen::prelude): whole
  /// declarations up to the end of a line, which a process parses once.
  std::size_t prelude_size = 0;
};

/// How long compilations took.
struct CompileTimes {
  std::chrono::nanoseconds clang{}, llvm{};

  void add(const CompileTimes& more) {
    clang += more.clang;
    llvm += more.llvm;
  }
  /// To the time of this thread's stage.
  void note() const;
};

/// Loaded native code. The addresses are good until the last owner lets go of it.
class Module {
 public:
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// The address of an exported function or variable; nullptr where there is none of this name.
  void* symbol(const std::string& name) const;

  /// The same as a pointer to a function or object; InternalError where there is none of this name.
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
  /// Loads libcroton_llvm.so at the first call: searched beside the object that holds this function (libcroton.so),
  /// then in the folder of set_library_folder. DeviceError with the places searched and the packages to install where
  /// it cannot be had; the next call tries again.
  static Compiler& instance();

  /// Whether instance() would succeed; else `*why` gets what its error would say.
  static bool available(std::string* why = nullptr);

  /// A second place to search, for programs that keep the library elsewhere. No effect once it is loaded.
  static void set_library_folder(std::filesystem::path folder);

  /// What, beside text and options, decides the object: LLVM's version, the processor and its features. For cache keys.
  std::string identity() const;

  /// Text to an object file. InternalError with Clang's messages and the lines around them where the text does not
  /// compile.
  std::vector<std::byte> compile(std::string_view source, const CompileOptions& options = {},
                                 CompileTimes* times = nullptr) const;

  /// Text to assembly, for people to read.
  std::string assembly(std::string_view source, const CompileOptions& options = {}) const;

  /// Links an object file of compile() into the process. `symbols` are names that its code may call, besides those that
  /// the compiler itself needs (memcpy, fma, ...). DeviceError where the bytes are no object file for this machine or
  /// need a name that is not given. LLVM checks the form of the file only: bytes from a disk must have passed a
  /// checksum before.
  std::shared_ptr<Module> load(std::span<const std::byte> object,
                               std::span<const std::pair<std::string, void*>> symbols = {}) const;

 private:
  explicit Compiler(const CrotonLlvmApi& api) : api_(api) {}
  std::string run(std::string_view source, const CompileOptions& options, bool assembly, CompileTimes* times) const;

  const CrotonLlvmApi& api_;
};

}  // namespace croton::runtime::cpu
