// The interface between Croton and libcroton_llvm.so: C structs and function pointers, no LLVM types, no C++ types.
// The object is loaded with dlopen at the first CPU or simulator compile (runtime/cpu/compiler.cpp), because relocating
// LLVM costs 15 ms that a program without kernels to compile should not pay. Both sides include this file; `version`
// guards against a libcroton_llvm.so of another build.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// Receives the text or bytes that a function of the interface produces: called at most once, with the whole result.
struct CrotonSink {
  void* context;
  void (*write)(void* context, const char* data, std::size_t size);
};

/// A name that loaded code may refer to, and its address.
struct CrotonSymbol {
  const char* name;
  void* address;
};

enum CrotonMode : std::int32_t {
  croton_mode_cpu = 0,
  croton_mode_simulator = 1,
  croton_mode_simulator_checked = 2,
  croton_mode_cpu_trapping = 3  // arithmetic that is undefined in C++ ends the process
};
inline bool is_for_cpu(std::int32_t mode) { return mode == croton_mode_cpu || mode == croton_mode_cpu_trapping; }
enum CrotonOutput : std::int32_t { croton_output_object = 0, croton_output_assembly = 1 };
enum CrotonWidth : std::int32_t { croton_width_host = 0, croton_width_256 = 1, croton_width_512 = 2 };

/// How long a compilation took.
struct CrotonCompileTimes {
  std::int64_t clang_ns;  // text to LLVM IR
  std::int64_t llvm_ns;   // LLVM IR to machine code
};

struct CrotonCompileRequest {
  const char* source;
  std::size_t source_size;
  std::int32_t mode;    // CrotonMode
  std::int32_t output;  // CrotonOutput
  std::int32_t width;   // CrotonWidth: the preferred width of vectors
  std::int32_t level;   // optimisation level, 0 to 3; at most 1 for the simulator
  // Size of the prefix of `source` that other texts share: whole declarations up to the end of a line, parsed once for
  // all of them. May be 0.
  std::size_t prelude_size;
  // The part of `source` that a user wrote for the simulator; it may be hostile. May be empty.
  std::size_t users_begin;
  std::size_t users_size;
  CrotonCompileTimes* times;      // filled in if not null
  std::int32_t guards_divisions;  // integer divisions in `source` never end the process; for texts of users
};

/// Functions may be called from several threads at once. Those that return an int return 0 for success, else `messages`
/// receives the reason.
struct CrotonLlvmApi {
  std::int32_t version;

  /// LLVM version, target triple, CPU and features of the generated code; valid while the object is loaded.
  const char* (*identity)();

  int (*compile)(const CrotonCompileRequest* request, CrotonSink output, CrotonSink messages);

  /// Links an object file into the process; `unload` releases `*module`. The bytes are copied.
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
