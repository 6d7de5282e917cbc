#include "runtime/cuda/libraries/nvrtc.hpp"

#include <algorithm>
#include <charconv>
#include <croton/error.hpp>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/compilation.hpp"
#include "base/memory.hpp"
#include "codegen/emit.hpp"
#include "runtime/cuda/toolkit/found_library.hpp"

namespace croton::runtime::cuda {
namespace {

// From the NVRTC guide (docs.nvidia.com/cuda/nvrtc): results are an enum, programs are opaque pointers. Unchanged since
// CUDA 7.
using Program = void*;
constexpr int success = 0;
constexpr int error_invalid_option = 5;
constexpr int error_compilation = 6;

using CreateProgram = int(Program*, const char* source, const char* name, int headers, const char* const* texts,
                          const char* const* names);
using CompileProgram = int(Program, int options, const char* const* texts);
using DestroyProgram = int(Program*);
using GetSize = int(Program, std::size_t*);
using GetBytes = int(Program, char*);

}  // namespace

struct Nvrtc::Functions {
  explicit Functions(SharedLibrary& library)
      : version(library.function<int(int*, int*)>("nvrtcVersion")),
        error_text(library.function<const char*(int)>("nvrtcGetErrorString")),
        architecture_count(library.function<int(int*)>("nvrtcGetNumSupportedArchs")),
        architectures(library.function<int(int*)>("nvrtcGetSupportedArchs")),
        create(library.function<CreateProgram>("nvrtcCreateProgram")),
        compile(library.function<CompileProgram>("nvrtcCompileProgram")),
        destroy(library.function<DestroyProgram>("nvrtcDestroyProgram")),
        log_size(library.function<GetSize>("nvrtcGetProgramLogSize")),
        log(library.function<GetBytes>("nvrtcGetProgramLog")),
        ptx_size(library.function<GetSize>("nvrtcGetPTXSize")),
        ptx(library.function<GetBytes>("nvrtcGetPTX")),
        cubin_size(library.function<GetSize>("nvrtcGetCUBINSize")),
        cubin(library.function<GetBytes>("nvrtcGetCUBIN")) {}

  int (*version)(int*, int*);
  const char* (*error_text)(int);
  int (*architecture_count)(int*);
  int (*architectures)(int*);
  CreateProgram* create;
  CompileProgram* compile;
  DestroyProgram* destroy;
  GetSize* log_size;
  GetBytes* log;
  GetSize* ptx_size;
  GetBytes* ptx;
  GetSize* cubin_size;
  GetBytes* cubin;

  void check(int result, const char* what) const {
    if (result != success) throw DeviceError(fmt::format("NVRTC: {} failed: {}", what, error_text(result)));
  }

  std::vector<char> fetch(Program program, GetSize* get_size, GetBytes* get, const char* what) const {
    std::size_t size = 0;
    check(get_size(program, &size), what);
    std::vector<char> bytes(size);
    if (size > 0) check(get(program, bytes.data()), what);
    return bytes;
  }

  // Texts come with a terminating zero.
  std::string fetch_text(Program program, GetSize* get_size, GetBytes* get, const char* what) const {
    const std::vector<char> bytes = fetch(program, get_size, get, what);
    std::string text(bytes.begin(), bytes.end());
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
};

namespace {

// ---- messages ----

// The numbers n of all "name(n): error" in a log.
std::set<std::size_t> lines_with_errors(std::string_view program, std::string_view log) {
  std::set<std::size_t> lines;
  const std::string opening = std::string(program) + "(";
  for (std::size_t at = log.find(opening); at != log.npos; at = log.find(opening, at + 1)) {
    const std::string_view rest = log.substr(at + opening.size());
    std::size_t line = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), line);
    if (error != std::errc() || line == 0) continue;
    if (std::string_view(end, rest.data() + rest.size()).starts_with("): error")) lines.insert(line);
  }
  return lines;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string explain_failure(std::string_view source, std::string_view program, std::string_view log) {
  constexpr std::size_t around = 3, max_errors = 8;
  const std::vector<std::string_view> lines = split_lines(source);
  std::set<std::size_t> wrong = lines_with_errors(program, log);
  if (log.find("At end of source: error") != log.npos) wrong.insert(lines.size());
  std::set<std::size_t> shown;
  std::size_t errors = 0;
  for (std::size_t line : wrong) {
    if (++errors > max_errors) break;
    for (std::size_t near = line > around ? line - around : 1; near <= std::min(line + around, lines.size()); ++near) {
      shown.insert(near);
    }
  }
  std::string text(log);
  std::size_t before = 0;
  for (std::size_t line : shown) {
    if (line != before + 1) text += "\n  ...";
    text += fmt::format("\n{} {:5} | {}", wrong.contains(line) ? '>' : ' ', line, lines[line - 1]);
    before = line;
  }
  return text;
}

Nvrtc::Nvrtc(std::shared_ptr<SharedLibrary> library)
    : library_(std::move(library)), functions_(std::make_unique<Functions>(*library_)) {
  functions_->check(functions_->version(&version_.first, &version_.second), "reading the version");
  // NVRTC loads this by its name when it compiles; the package of PyPI does not tell it where.
  library_->load_companion(fmt::format("libnvrtc-builtins.so.{}.{}", version_.first, version_.second));
  int count = 0;
  functions_->check(functions_->architecture_count(&count), "listing the architectures");
  architectures_.resize(static_cast<std::size_t>(count));
  functions_->check(functions_->architectures(architectures_.data()), "listing the architectures");
}

Nvrtc::~Nvrtc() = default;

// One compiler for each setting so far. Never destroyed: other threads may still compile while the process ends.
LibraryBySettings<Nvrtc>& Nvrtc::libraries() {
  static auto& libraries = *new LibraryBySettings<Nvrtc>(
      {.part = ToolkitPart::nvrtc,
       .name = "NVRTC",
       .purpose = "the run-time compiler of CUDA",
       .files = {"libnvrtc.so.13", "libnvrtc.so.12"},
       .package =
           "the CUDA toolkit (Debian and Ubuntu: cuda-nvrtc-13-0), or from PyPI: pip install nvidia-cuda-nvrtc"});
  return libraries;
}

const Nvrtc& Nvrtc::instance() { return libraries().get(); }

bool Nvrtc::available(std::string* why) try {
  instance();
  return true;
} catch (const DeviceError& error) {
  if (why != nullptr) *why = error.what();
  return false;
}

FoundPart Nvrtc::found() {
  const Nvrtc& nvrtc = instance();
  const auto [major, minor] = nvrtc.version();
  return {fmt::format("{}.{}", major, minor), nvrtc.path(), libraries().place()};
}

std::vector<SharedLibrary::Attempt> Nvrtc::list_tried() { return libraries().list_tried(); }

std::pair<int, int> Nvrtc::version() const { return version_; }

std::string Nvrtc::identity() const {
  return fmt::format("nvrtc {}.{} build {}", version_.first, version_.second, library_->build());
}

std::filesystem::path Nvrtc::path() const { return library_->path(); }

std::vector<std::string> Nvrtc::architectures() const {
  std::vector<std::string> names;
  for (int number : architectures_) names.push_back(fmt::format("sm_{}", number));
  return names;
}

std::vector<std::string> Nvrtc::options() const {
  // The default device: the host compiler of the simulator compiles the same text, without a mark on each function.
  // --minimal: saves 3 ms of built-in declarations for each program. --fmad=false: only the emitter fuses operations.
  std::vector<std::string> all = {"--std=c++17", "--fmad=false", "--minimal", "--device-as-default-execution-space"};
  // Its own cache (since 12.9) is unchecked, and a second cache after ours would only cost space.
  if (version_ >= std::pair(12, 9)) all.emplace_back("--no-cache");
  return all;
}

void Nvrtc::check_architecture(const std::string& arch) const {
  const bool known_kind = arch.starts_with("sm_") || arch.starts_with("compute_");
  const std::string_view rest = known_kind ? std::string_view(arch).substr(arch.find('_') + 1) : "";
  int number = 0;
  const char* end = std::from_chars(rest.data(), rest.data() + rest.size(), number).ptr;
  const std::string_view variant(end, rest.data() + rest.size());
  const bool known_variant = variant.empty() || variant == "a" || variant == "f";
  if (known_variant && std::ranges::find(architectures_, number) != architectures_.end()) return;
  throw DeviceError(fmt::format("NVRTC {}.{} at {} cannot compile for '{}'; it knows {}, and 'compute_' forms of them",
                                version_.first, version_.second, path().string(), arch,
                                fmt::join(architectures(), ", ")));
}

Nvrtc::Result Nvrtc::compile(std::string_view source, const std::string& arch,
                             std::span<const std::string> extra_options, bool want_ptx,
                             const std::string& program_name) const {
  const base::Compilation compilation;
  check_architecture(arch);
  std::vector<std::string> texts = options();
  texts.push_back("--gpu-architecture=" + arch);
  texts.insert(texts.end(), extra_options.begin(), extra_options.end());
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());

  if (source.find('\0') != source.npos) throw InternalError("the text of a kernel holds a zero byte");
  const std::string terminated(source);
  const auto destroy = [this](Program* program) { functions_->destroy(program); };
  Program program = nullptr;
  functions_->check(functions_->create(&program, terminated.c_str(), program_name.c_str(), 0, nullptr, nullptr),
                    "creating a program");
  const std::unique_ptr<Program, decltype(destroy)> owner(&program, destroy);

  const base::Headroom room((std::size_t{256} << 20) + 128 * source.size(), "compiling a kernel by NVRTC");
  const int outcome = functions_->compile(program, static_cast<int>(pointers.size()), pointers.data());
  Result result;
  result.log = functions_->fetch_text(program, functions_->log_size, functions_->log, "reading the log");
  if (outcome == error_compilation || outcome == error_invalid_option) {
    const std::string explained =
        fmt::format("does not compile for {} (NVRTC {}.{}, options {}):\n{}", arch, version_.first, version_.second,
                    fmt::join(texts, " "), explain_failure(source, program_name, result.log));
    if (codegen::has_user_text(source))
      throw ValueError("a kernel with the text of an operation of yours (KernelOp) " + explained);
    throw InternalError("generated CUDA code " + explained);
  }
  if (outcome != success) {
    throw DeviceError(fmt::format("NVRTC failed for {}: {}\n{}", arch, functions_->error_text(outcome), result.log));
  }
  if (arch.starts_with("sm_")) {
    const std::vector<char> cubin =
        functions_->fetch(program, functions_->cubin_size, functions_->cubin, "reading the cubin");
    const auto bytes = std::as_bytes(std::span(cubin));
    result.cubin.assign(bytes.begin(), bytes.end());
  }
  if (want_ptx) {
    result.ptx = functions_->fetch_text(program, functions_->ptx_size, functions_->ptx, "reading the PTX");
  }
  return result;
}

}  // namespace croton::runtime::cuda
