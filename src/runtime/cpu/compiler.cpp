#include "runtime/cpu/compiler.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <croton/error.hpp>
#include <cstdlib>
#include <mutex>
#include <set>

#include "base/compilation.hpp"
#include "base/deep_call.hpp"
#include "base/memory.hpp"
#include "base/stage.hpp"
#include "codegen/emit.hpp"
#include "llvm/croton_api.hpp"

namespace croton::runtime::cpu {
namespace {

constexpr const char* library_name = "libcroton_llvm.so";
constexpr std::string_view text_name = "kernel.cpp:";  // how messages begin (src/llvm/frontend.cpp)

CrotonSink sink_into(std::string& text) {
  return {&text, [](void* context, const char* data, std::size_t size) {
            static_cast<std::string*>(context)->assign(data, size);
          }};
}

// ---- Finding the library

std::mutex library_mutex;
const CrotonLlvmApi* loaded_api = nullptr;  // guarded by library_mutex, as is the folder

// LLVM ends the process if it gets no memory. Measured (VmPeak): 254 MiB to load it and for the first kernel; 10 MiB,
// and 100 bytes per byte of text, for later ones; 25 to 235 MiB for a thread of their own, with its arena of malloc's.
constexpr std::size_t library_bytes = std::size_t{320} << 20, compiler_bytes = std::size_t{256} << 20,
                      linker_bytes = std::size_t{64} << 20, bytes_per_byte_of_text = 128;

// For texts of users: src/llvm/token_checks.cpp refuses texts for which Clang would need more.
constexpr std::size_t deep_stack_bytes = std::size_t{256} << 20;

std::atomic<bool> process_ends{false};

std::filesystem::path& extra_folder() {
  static std::filesystem::path folder;
  return folder;
}

std::filesystem::path folder_of_this_object() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&folder_of_this_object), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, ignored);
  return file.parent_path();
}

// The interface of one file; or nullptr, and the reason is added to `why`.
const CrotonLlvmApi* open(const std::filesystem::path& file, std::string& why) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    why += "\n  " + file.string() + ": no such file";
    return nullptr;
  }
  const base::Headroom room(library_bytes, "loading LLVM");
  void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    why += "\n  " + (reason != nullptr ? std::string(reason) : file.string() + ": dlopen failed");
    return nullptr;
  }
  const auto entry = reinterpret_cast<CrotonLlvmEntry>(dlsym(handle, croton_llvm_entry_name));
  const CrotonLlvmApi* api = entry != nullptr ? entry() : nullptr;
  if (api == nullptr || api->version != croton_llvm_api_version) {
    why += "\n  " + file.string() + ": belongs to another version of Croton";
    dlclose(handle);
    return nullptr;
  }
  std::atexit([] { process_ends = true; });  // runs before LLVM's own handlers, which were registered earlier
  return api;                                // never closed: kernels may run until the process ends
}

const CrotonLlvmApi* find_library(std::string& why) {
  const base::Compilation compilation;
  const std::lock_guard lock(library_mutex);
  if (loaded_api != nullptr) return loaded_api;
  why = std::string("the CPU compiler and the CUDA simulator need ") + library_name +
        ", which was not found or not usable. Searched:";
  for (const std::filesystem::path& folder : {folder_of_this_object(), extra_folder()}) {
    if (!folder.empty() && loaded_api == nullptr) loaded_api = open(folder / library_name, why);
  }
  why +=
      "\nIt is built with Croton where LLVM and Clang 19 are installed (Debian and Ubuntu: llvm-19-dev libclang-19-dev "
      "libclang-cpp19-dev) and runs where their libraries are (libllvm19 libclang-cpp19).";
  return loaded_api;
}

// ---- Messages

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// The numbers of the lines, from 1, that messages name.
std::set<std::size_t> lines_named(std::string_view messages) {
  std::set<std::size_t> named;
  for (std::string_view line : lines_of(messages)) {
    if (!line.starts_with(text_name)) continue;
    line.remove_prefix(text_name.size());
    std::size_t number = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), number).ec == std::errc{}) named.insert(number);
  }
  return named;
}

// The named lines and those near them, with numbers; the named ones have a mark, and dots replace the lines between.
std::string excerpt(std::string_view source, const std::set<std::size_t>& named) {
  constexpr std::size_t around = 3;
  const std::vector<std::string_view> lines = lines_of(source);
  std::string text;
  std::size_t last = 0;
  for (std::size_t number = 1; number <= lines.size(); ++number) {
    const auto next = named.lower_bound(number > around ? number - around : 1);
    if (next == named.end() || *next > number + around) continue;
    if (number != last + 1) text += "        ...\n";
    const std::string digits = std::to_string(number);
    text += (named.contains(number) ? "> " : "  ") + std::string(6 - std::min<std::size_t>(digits.size(), 6), ' ') +
            digits + " | " + std::string(lines[number - 1]) + "\n";
    last = number;
  }
  return text;
}

std::int32_t mode_number(CompileOptions::Mode mode) {
  switch (mode) {
    case CompileOptions::Mode::cpu:
      return croton_mode_cpu;
    case CompileOptions::Mode::cpu_trapping:
      return croton_mode_cpu_trapping;
    case CompileOptions::Mode::simulator:
      return croton_mode_simulator;
    case CompileOptions::Mode::simulator_checked:
      return croton_mode_simulator_checked;
  }
  throw InternalError("a compile mode without a number");
}

}  // namespace

Module::~Module() {
  // Objects of static storage may have functions, and are destroyed after LLVM's own. If LLVM is locked for ever, the
  // code stays.
  if (process_ends || base::why_no_compilation() != nullptr) return;
  const base::Compilation compilation;
  api_.unload(handle_);
}

void* Module::symbol(const std::string& name) const { return api_.symbol(handle_, name.c_str()); }

void* Module::require(const std::string& name) const {
  void* address = symbol(name);
  if (address == nullptr) throw InternalError("compiled code has no symbol " + name);
  return address;
}

Compiler& Compiler::instance() {
  std::string why;
  const CrotonLlvmApi* api = find_library(why);
  if (api == nullptr) throw DeviceError(why);
  static Compiler compiler(*api);
  return compiler;
}

bool Compiler::available(std::string* why) {
  if (const char* lost = base::why_no_compilation()) {
    if (why != nullptr) *why = lost;
    return false;
  }
  std::string reason;
  const bool found = find_library(reason) != nullptr;
  if (!found && why != nullptr) *why = reason;
  return found;
}

void Compiler::set_library_folder(std::filesystem::path folder) {
  const std::lock_guard lock(library_mutex);
  extra_folder() = std::move(folder);
}

std::string Compiler::identity() const { return api_.identity(); }

void CompileTimes::note() const {
  base::StageTimer::note("Clang", clang);
  base::StageTimer::note("LLVM", llvm);
}

std::string Compiler::run(std::string_view source, const CompileOptions& options, bool assembly,
                          CompileTimes* times) const {
  const base::Compilation compilation;
  const auto width = !options.vectorize_512   ? croton_width_host
                     : *options.vectorize_512 ? croton_width_512
                                              : croton_width_256;
  CrotonCompileTimes taken{};
  const CrotonCompileRequest request = {source.data(),
                                        source.size(),
                                        mode_number(options.mode),
                                        assembly ? croton_output_assembly : croton_output_object,
                                        width,
                                        static_cast<std::int32_t>(options.level),
                                        options.prelude_size,
                                        options.users_begin,
                                        options.users_size,
                                        &taken,
                                        is_for_cpu(mode_number(options.mode)) && codegen::has_user_text(source)};
  const bool is_users = options.users_size > 0;
  const base::Headroom room(compiler_bytes + bytes_per_byte_of_text * source.size() + (is_users ? deep_stack_bytes : 0),
                            "compiling a kernel");
  std::string output;
  std::string messages;
  bool compiled = false;
  const auto compile = [&] { compiled = api_.compile(&request, sink_into(output), sink_into(messages)) == 0; };
  if (is_users)
    base::call_with_stack(deep_stack_bytes, compile);
  else
    compile();
  if (!compiled) {
    if (is_users) throw ValueError("the text does not compile:\n" + messages);
    const std::string shown = messages + "\n" + excerpt(source, lines_named(messages));
    if (codegen::has_user_text(source))
      throw ValueError("a kernel with the text of an operation of yours (KernelOp) does not compile:\n" + shown);
    throw InternalError("generated code does not compile:\n" + shown);
  }
  if (times != nullptr) *times = {std::chrono::nanoseconds(taken.clang_ns), std::chrono::nanoseconds(taken.llvm_ns)};
  return output;
}

std::vector<std::byte> Compiler::compile(std::string_view source, const CompileOptions& options,
                                         CompileTimes* times) const {
  const std::string object = run(source, options, false, times);
  const auto bytes = std::as_bytes(std::span(object));
  return {bytes.begin(), bytes.end()};
}

std::string Compiler::assembly(std::string_view source, const CompileOptions& options) const {
  return run(source, options, true, nullptr);
}

std::shared_ptr<Module> Compiler::load(std::span<const std::byte> object,
                                       std::span<const std::pair<std::string, void*>> symbols) const {
  const base::Compilation compilation;
  std::vector<CrotonSymbol> names;
  names.reserve(symbols.size());
  for (const auto& [name, address] : symbols) names.push_back({name.c_str(), address});
  const base::Headroom room(linker_bytes, "loading a kernel");
  void* handle = nullptr;
  std::string messages;
  if (api_.load(reinterpret_cast<const char*>(object.data()), object.size(), names.data(), names.size(), &handle,
                sink_into(messages)) != 0) {
    throw DeviceError("an object file of " + std::to_string(object.size()) + " bytes cannot be loaded: " + messages);
  }
  return std::shared_ptr<Module>(new Module(api_, handle));
}

}  // namespace croton::runtime::cpu
