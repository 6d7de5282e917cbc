#include "runtime/cuda/nvdisasm.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "runtime/cuda/toolkit.hpp"

namespace croton::runtime::cuda {
namespace fs = std::filesystem;
namespace {

constexpr const char* title = "nvdisasm (the disassembler of CUDA)";

/// The absolute folders of PATH: a relative one would be another in every folder that a program is started in.
std::vector<fs::path> path_folders() {
  std::vector<fs::path> folders;
  std::string rest = base::environment("PATH").value_or("");
  while (!rest.empty()) {
    const std::string entry = rest.substr(0, rest.find(':'));
    rest.erase(0, entry.size() + 1);
    if (fs::path(entry).is_absolute()) folders.emplace_back(entry);
  }
  return folders;
}

}  // namespace

ProgramSearch find_nvdisasm() {
  ProgramSearch search;
  std::vector<fs::path> folders = program_folders("cuda_nvdisasm");
  if (search_system()) {
    for (fs::path& folder : path_folders()) {
      if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
    }
  }
  for (const fs::path& folder : folders) {
    const fs::path file = folder / "nvdisasm";
    std::error_code error;
    if (!fs::is_regular_file(file, error)) {
      search.candidates.push_back(file.string() + ": no such file");
    } else if (const std::string reason = base::why_untrusted(file); !reason.empty()) {
      search.candidates.push_back(file.string() + ": refused: " + reason);
    } else {
      search.candidates.push_back(file.string() + ": found");
      search.path = file;
      break;
    }
  }
  return search;
}

bool can_disassemble(std::string* why) {
  const ProgramSearch search = find_nvdisasm();
  if (!search.path.empty()) return true;
  if (why == nullptr) return false;
  *why = fmt::format("{} was not found. Tried:\n", title);
  if (toolkit_hidden()) *why = fmt::format("{} is hidden by cuda_root=none. ", title);
  for (const std::string& candidate : search.candidates) *why += "  " + candidate + "\n";
  *why +=
      "It is part of: the CUDA toolkit (Debian and Ubuntu: cuda-nvdisasm-13-0), or from PyPI: pip install "
      "nvidia-cuda-nvdisasm";
  return false;
}

std::string disassemble(std::span<const std::byte> cubin, bool lines) {
  std::string why;
  if (!can_disassemble(&why)) throw DeviceError(why);
  const fs::path program = find_nvdisasm().path;
  std::vector<std::string> arguments{"-c"};
  if (lines) arguments.emplace_back("-gi");
  arguments.emplace_back(base::input_path);
  const base::Finished finished = base::run_program(program, arguments, cubin);
  if (finished.status != 0) {
    throw DeviceError(fmt::format("{} cannot read this cubin (exit status {}); it may be older than the compiler: {}",
                                  program.string(), finished.status, finished.errors));
  }
  return finished.output;
}

}  // namespace croton::runtime::cuda
