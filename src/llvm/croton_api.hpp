// The border between Croton and libcroton_llvm.so: plain C structs and function pointers, no LLVM types, no C++ types.
// The object is loaded with dlopen at the first CPU or simulator compile (runtime/cpu/compiler.cpp), because relocating
// LLVM costs 15 ms that a program without kernels to compile should not pay. Both sides include this file; `version`
// guards against a libcroton_llvm.so of another build.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// Where a function of the interface puts text or bytes: called at most once with the whole result.
struct CrotonSink {
  void* context;
  void (*write)(void* context, const char* data, std::size_t size);
};

/// A name that loaded code may refer to, and where it is.
struct CrotonSymbol {
  const char* name;
  void* address;
};

enum CrotonMode : std::int32_t {
  croton_mode_cpu = 0,
  croton_mode_simulator = 1,
  croton_mode_simulator_checked = 2,
  croton_mode_cpu_trapping = 3  // arithmetic that C++ leaves undefined ends the process
};
inline bool is_for_cpu(std::int32_t mode) { return mode == croton_mode_cpu || mode == croton_mode_cpu_trapping; }
enum CrotonOutput : std::int32_t { croton_output_object = 0, croton_output_assembly = 1 };
enum CrotonWidth : std::int32_t { croton_width_host = 0, croton_width_256 = 1, croton_width_512 = 2 };

/// How long a compilation took.
struct CrotonCompileTimes {
  std::int64_t clang_ns;  // text to LLVM's representation
  std::int64_t llvm_ns;   // that to machine code
};

struct CrotonCompileRequest {
  const char* source;
  std::size_t source_size;
  std::int32_t mode;    // CrotonMode
  std::int32_t output;  // CrotonOutput
  std::int32_t width;   // CrotonWidth: how wide vectors are preferred
  std::int32_t level;   // 0 to 3: how hard the optimiser works; the simulator's code is optimised to level 1 at most
  // How much of `source`, from its beginning, other texts begin with too: whole declarations up to the end of a line,
  // parsed once for all of them. May be 0.
  std::size_t prelude_size;
  // Which part of `source` is text of a user for the simulator, which may be hostile. May be empty.
  std::size_t users_begin;
  std::size_t users_size;
  CrotonCompileTimes* times;      // filled in where not null
  std::int32_t guards_divisions;  // those of integers in `source`, which has text of a user, never end the process
};

/// Functions may be called from several threads at once. Those that return an int give 0 for success; then `messages`
/// is left alone, else it gets the reason.
struct CrotonLlvmApi {
  std::int32_t version;

  /// LLVM version, target triple, CPU and features that code is made for; lives as long as the object is loaded.
  const char* (*identity)();

  int (*compile)(const CrotonCompileRequest* request, CrotonSink output, CrotonSink messages);

  /// Links an object file into the process; `*module` is given back with `unload`. The bytes are copied.
  int (*load)(const char* object, std::size_t size, const CrotonSymbol* symbols, std::size_t symbol_count,
              void** module, CrotonSink messages);

  /// The address of an exported name of a module, or nullptr.
  void* (*symbol)(void* module, const char* name);

  void (*unload)(void* module);
};
}

/// Raised whenever a struct above changes.
inline constexpr std::int32_t croton_llvm_api_version = 6;

/// The name and type of the only function that libcroton_llvm.so exports.
inline constexpr const char* croton_llvm_entry_name = "croton_llvm_api";
using CrotonLlvmEntry = const CrotonLlvmApi* (*)();
