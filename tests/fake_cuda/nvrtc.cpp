// An NVRTC whose machine code is the names of the kernels and the text itself, which the fake driver passes to the
// runner.
#include <algorithm>
#include <cstring>
#include <string>

#include "fake_cuda/control.hpp"

namespace {

struct Program {
  std::string text, cubin, ptx;
};

constexpr int success = 0, error_invalid_input = 3, error_compilation = 6;
constexpr int architectures[] = {75, 80, 90};
constexpr const char log_text[] = "";

/// The names with which kernels are defined: CT_KERNEL void NAME(, or with CT_LAUNCH_BOUNDS(...) before the name.
std::string kernel_lines(const std::string& text, const std::string& before, const std::string& after) {
  const std::string mark = "\nCT_KERNEL void ", bounds = "CT_LAUNCH_BOUNDS(";
  std::string lines;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    std::size_t begin = at + mark.size();
    if (text.compare(begin, bounds.size(), bounds) == 0) begin = text.find(") ", begin) + 2;
    lines += before + text.substr(begin, text.find('(', begin) - begin) + after + "\n";
  }
  return lines;
}

int copy(const std::string& from, char* to) {
  std::memcpy(to, from.c_str(), from.size() + 1);
  return success;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return success;
}
const char* nvrtcGetErrorString(int code) { return code == error_compilation ? "compilation" : "another error"; }
int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(architectures));
  return success;
}
int nvrtcGetSupportedArchs(int* all) {
  std::ranges::copy(architectures, all);
  return success;
}

int nvrtcCreateProgram(Program** program, const char* text, const char*, int headers, const char* const*,
                       const char* const*) {
  if (const int wanted = fake_cuda::enter("nvrtcCreateProgram"); wanted != 0) return wanted;
  if (headers != 0) return error_invalid_input;
  *program = new Program{text, {}, {}};
  return success;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return success;
}

int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  if (const int wanted = fake_cuda::enter("nvrtcCompileProgram"); wanted != 0) return wanted;
  const bool machine_code = std::any_of(options, options + count, [](const char* option) {
    return std::string(option).starts_with("--gpu-architecture=sm_");
  });
  const std::string& text = program->text;
  if (machine_code) {
    program->cubin =
        "\x7f"
        "ELF\n" +
        kernel_lines(text, "kernel ", "") + fake_cuda::text_mark + text;
  }
  program->ptx = ".version 8.0\n" + kernel_lines(text, ".entry ", "(") + fake_cuda::text_mark + text;
  return success;
}

// Sizes include the zero at the end.
int nvrtcGetProgramLogSize(Program*, std::size_t* bytes) {
  *bytes = sizeof log_text;
  return success;
}
int nvrtcGetProgramLog(Program*, char* to) { return copy(log_text, to); }
int nvrtcGetPTXSize(Program* program, std::size_t* bytes) {
  *bytes = program->ptx.size() + 1;
  return success;
}
int nvrtcGetPTX(Program* program, char* to) { return copy(program->ptx, to); }
int nvrtcGetCUBINSize(Program* program, std::size_t* bytes) {
  *bytes = program->cubin.size() + 1;
  return success;
}
int nvrtcGetCUBIN(Program* program, char* to) { return copy(program->cubin, to); }
}
