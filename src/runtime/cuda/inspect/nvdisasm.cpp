#include "runtime/cuda/inspect/nvdisasm.hpp"

#include <croton/error.hpp>

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/process.hpp"
#include "runtime/cuda/inspect/program.hpp"

namespace croton::runtime::cuda {

bool can_disassemble(std::string* why) try {
  require_program(ToolkitPart::nvdisasm);
  return true;
} catch (const DeviceError& error) {
  if (why != nullptr) *why = error.what();
  return false;
}

std::string disassemble(std::span<const std::byte> cubin, bool lines) {
  const std::filesystem::path program = require_program(ToolkitPart::nvdisasm).path;
  std::vector<std::string> arguments{"-c"};
  if (lines) arguments.emplace_back("-gi");
  arguments.emplace_back(base::input_path);
  const base::ProgramResult finished = base::run_program(program, arguments, cubin);
  if (finished.status != 0) {
    throw DeviceError(fmt::format("{} cannot read this cubin (exit status {}); it may be older than the compiler: {}",
                                  program.string(), finished.status, finished.errors));
  }
  return finished.output;
}

}  // namespace croton::runtime::cuda
