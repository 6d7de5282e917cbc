#include "runtime/cuda/inspect/program.hpp"

#include <croton/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "runtime/cuda/toolkit/found_library.hpp"

namespace croton::runtime::cuda {
namespace fs = std::filesystem;
namespace {

struct Description {
  const char* file;
  const char* title;
  const char* package;
};

constexpr Description nvdisasm{
    "nvdisasm", "nvdisasm (the disassembler of CUDA)",
    "the CUDA toolkit (Debian and Ubuntu: cuda-nvdisasm-13-0), or from PyPI: pip install nvidia-cuda-nvdisasm"};
constexpr Description sanitizer{"compute-sanitizer", "compute-sanitizer (the checker of kernels on a GPU)",
                                "the CUDA toolkit (Debian and Ubuntu: cuda-sanitizer-13-0), or from PyPI: pip install "
                                "nvidia-cuda-sanitizer-api"};

const Description& description_of(ToolkitPart part) { return part == ToolkitPart::nvdisasm ? nvdisasm : sanitizer; }

struct Candidate {
  fs::path file;
  Place place;
};

/// The best first.
std::vector<Candidate> candidates_of(ToolkitPart part, const ToolkitSettings& settings) {
  if (const fs::path named = settings.file(part); !named.empty()) return {{named, Place::named}};
  std::vector<SearchFolder> folders = search_folders(part, settings);
  if (search_system(settings)) {
    for (fs::path& folder : base::environment_folders("PATH")) {
      if (std::ranges::find(folders, folder, &SearchFolder::path) == folders.end())
        folders.push_back({std::move(folder), Place::system});
    }
  }
  std::vector<Candidate> candidates;
  for (const SearchFolder& folder : folders)
    candidates.push_back({folder.path / description_of(part).file, folder.place});
  return candidates;
}

/// The reason that the file cannot be run; empty if it can.
std::string fault_of(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return "no such file";
  if (const std::string reason = base::why_untrusted(file); !reason.empty()) return "refused: " + reason;
  return ::access(file.c_str(), X_OK) == 0 ? "" : "not a program: it may not be executed";
}

std::string explain(ToolkitPart part, const ProgramSearch& search) {
  const Description& program = description_of(part);
  std::string text = toolkit_hidden() ? fmt::format("{} is hidden by cuda_root=none. ", program.title)
                                      : fmt::format("{} was not found. Tried:\n", program.title);
  for (const std::string& candidate : search.candidates) text += "  " + candidate + "\n";
  return text + fmt::format("It is part of: {}", program.package);
}

}  // namespace

ProgramSearch find_program(ToolkitPart part) {
  ProgramSearch search;
  const ToolkitSettings settings = toolkit();
  if (settings.root == "none") return search;
  for (const Candidate& candidate : candidates_of(part, settings)) {
    const std::string fault = fault_of(candidate.file);
    search.candidates.push_back(fmt::format("{}: {}", candidate.file.string(), fault.empty() ? "found" : fault));
    if (!fault.empty()) continue;
    search.path = candidate.file;
    search.place = candidate.place;
    break;
  }
  return search;
}

ProgramSearch require_program(ToolkitPart part) {
  ProgramSearch search = find_program(part);
  if (!search.path.empty()) return search;
  const std::string named = toolkit().file(part);
  if (!named.empty() && !toolkit_hidden()) throw_unusable(part, named, explain(part, search));
  throw DeviceError(explain(part, search));
}

std::string version_in(const std::string& printed) {
  for (const std::string_view mark : {", V", "Version "}) {
    const std::size_t at = printed.find(mark);
    if (at == printed.npos) continue;
    const std::size_t begin = at + mark.size();
    return printed.substr(begin, printed.find_first_not_of("0123456789.", begin) - begin);
  }
  return "";
}

std::string version_of_program(const fs::path& program) {
  return version_in(base::run_program(program, {"--version"}, {}).output);
}

}  // namespace croton::runtime::cuda
