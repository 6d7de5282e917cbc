#include "runtime/support/search_folders.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/environment.hpp"

namespace croton::runtime {
namespace fs = std::filesystem;
namespace {

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool path_exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// The program as PATH names it, without resolving links; empty if there is none.
fs::path find_on_path(const char* program) {
  for (const fs::path& folder : base::environment_folders("PATH")) {
    if (is_program(folder / program)) return folder / program;
  }
  return {};
}

}  // namespace

std::vector<fs::path> folders_with_prefix(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator item(parent, error), end; !error && item != end; item.increment(error)) {
    if (item->path().filename().string().starts_with(prefix) && is_folder(item->path())) found.push_back(item->path());
  }
  std::ranges::sort(found, std::greater{}, [](const fs::path& path) {
    const std::string name = path.filename().string();
    return std::pair(name.size(), name);  // a longer number is a higher one
  });
  return found;
}

std::vector<fs::path> package_folders(const fs::path& prefix) {
  std::vector<fs::path> folders;
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::path& python : folders_with_prefix(prefix / lib, "python3")) {
      for (const char* leaf : {"site-packages", "dist-packages"}) {
        if (is_folder(python / leaf)) folders.push_back(python / leaf);
      }
    }
  }
  return folders;
}

// As Python itself does: pyvenv.cfg counts where the program is named; without one the links are followed.
fs::path prefix_of_python() {
  fs::path program = find_on_path("python3");
  if (program.empty()) program = find_on_path("python");
  if (program.empty()) return {};
  const fs::path named = program.parent_path().parent_path();
  if (path_exists(named / "pyvenv.cfg")) return named;
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  return error ? fs::path() : real.parent_path().parent_path();
}

bool is_environment(const fs::path& prefix) {
  return path_exists(prefix / "pyvenv.cfg") || path_exists(prefix / "conda-meta");
}

}  // namespace croton::runtime
