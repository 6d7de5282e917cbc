#include "runtime/cuda/toolkit/toolkit.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/config.hpp"
#include "base/environment.hpp"
#include "runtime/support/search_folders.hpp"

namespace croton::runtime::cuda {
namespace fs = std::filesystem;
namespace {

#if defined(__aarch64__)
constexpr std::string_view target = "sbsa-linux";
#else
constexpr std::string_view target = "x86_64-linux";
#endif

/// The facts about each part for the search, in the order of ToolkitPart.
struct PartRow {
  std::string_view flag;
  std::string_view wheel;   // the folder in site-packages/nvidia of its package for CUDA 12
  std::string_view folder;  // of a toolkit, where a program may be in addition to bin
  bool program;
};
constexpr std::array<PartRow, part_count> part_rows{
    {{"cuda_nvrtc", "cuda_nvrtc", "", false},
     {"cuda_blaslt", "cublas", "", false},
     {"cuda_dnn", "cudnn", "", false},
     {"cuda_nvdisasm", "cuda_nvdisasm", "", true},
     {"cuda_sanitizer", "cuda_sanitizer_api", "compute-sanitizer", true}}};

const PartRow& row_of(ToolkitPart part) { return part_rows[static_cast<std::size_t>(part)]; }

std::mutex settings_mutex;
ToolkitSettings current;
std::vector<fs::path> extra_folders;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

class FolderList {
 public:
  explicit FolderList(const PartRow& part) : part_(part) {}

  void add(const fs::path& folder, Place place) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);  // /usr/local/cuda is a link to one of its neighbours
    if (error || !is_folder(real) || std::ranges::find(folders_, real, &SearchFolder::path) != folders_.end()) return;
    folders_.push_back({real, place});
  }

  // The subfolders of a toolkit; an environment of Python has its own programs and conda's packages in the same ones.
  void add_toolkit(const fs::path& root, Place place = Place::toolkit) {
    if (part_.program) {
      add(root / "bin", place);
      if (!part_.folder.empty()) add(root / part_.folder, place);
      return;
    }
    add(root / "lib64", place);
    add(root / "targets" / target / "lib", place);
    add(root / "lib", place);
  }

  // Packages of PyPI: one common folder since CUDA 13, one for each library before.
  void add_site_packages(const fs::path& folder) {
    const fs::path nvidia = folder / "nvidia";
    if (!is_folder(nvidia)) return;
    const char* const leaf = part_.program ? "bin" : "lib";
    for (const fs::path& common : folders_with_prefix(nvidia, "cu1")) add(common / leaf, Place::python_package);
    add(nvidia / part_.wheel / leaf, Place::python_package);
  }

  void add_prefix(const fs::path& prefix) {
    for (const fs::path& folder : package_folders(prefix)) add_site_packages(folder);
  }

  std::vector<SearchFolder> take() { return std::move(folders_); }

 private:
  const PartRow& part_;
  std::vector<SearchFolder> folders_;
};

// The site-packages folder of this library itself, if any.
fs::path own_site_packages() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_site_packages), &info) == 0 || info.dli_fname == nullptr) return {};
  for (fs::path above = fs::path(info.dli_fname).parent_path(); above.has_relative_path();
       above = above.parent_path()) {
    if (above.filename() == "site-packages" || above.filename() == "dist-packages") return above;
  }
  return {};
}

void add_environment(FolderList& list) {
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const auto root = base::environment(name); root && fs::path(*root).is_absolute()) list.add_toolkit(*root);
  }
}

void add_extra(FolderList& list) {
  const std::vector<fs::path> extra = [] {
    std::lock_guard lock(settings_mutex);
    return extra_folders;
  }();
  for (const fs::path& folder : extra) {
    list.add_site_packages(folder);
    list.add(folder, Place::named);
  }
}

// In the order in which Python itself finds a package: first the environment, then the Python of PATH.
void add_python(FolderList& list) {
  if (const fs::path own = own_site_packages(); !own.empty()) list.add_site_packages(own);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto prefix = base::environment(name);
    if (!prefix || !fs::path(*prefix).is_absolute()) continue;
    list.add_prefix(*prefix);
    list.add_toolkit(*prefix, Place::python_package);
  }
  for (const fs::path& folder : base::environment_folders("PYTHONPATH")) list.add_site_packages(folder);
  const fs::path prefix = prefix_of_python();
  if (prefix.empty()) return;
  list.add_prefix(prefix);
  if (is_environment(prefix)) list.add_toolkit(prefix, Place::python_package);
}

void add_installed(FolderList& list, const fs::path& system) {
  const fs::path local = system / "usr/local", opt = system / "opt";
  const auto add_all = [&](const fs::path& parent, std::string_view prefix) {
    for (const fs::path& root : folders_with_prefix(parent, prefix)) list.add_toolkit(root);
  };
  list.add_toolkit(local / "cuda");  // the administrator's choice among the installed ones
  add_all(local, "cuda-");
  list.add_toolkit(opt / "cuda");
  add_all(opt, "cuda-");
  add_all(opt / "nvidia", "cuda");
}

void add_user_python(FolderList& list, const fs::path& system) {
  if (const auto home = base::environment("HOME"); home && fs::path(*home).is_absolute()) {
    list.add_prefix(fs::path(*home) / ".local");
  }
  list.add_prefix(system / "usr/local");
  list.add_prefix(system / "usr");
}

}  // namespace

std::string_view flag_of(ToolkitPart part) { return row_of(part).flag; }

std::string_view name_of(Place place) {
  switch (place) {
    case Place::named:
      return "named by a flag";
    case Place::toolkit:
      return "toolkit";
    case Place::python_package:
      return "Python package";
    case Place::system:
      break;
  }
  return "system";
}

void set_toolkit(ToolkitSettings settings) {
  std::lock_guard lock(settings_mutex);
  current = std::move(settings);
}

void set_toolkit(const base::Flags& flags) {
  set_toolkit(ToolkitSettings{
      .root = flags.cuda_root,
      .files = {flags.cuda_nvrtc, flags.cuda_blaslt, flags.cuda_dnn, flags.cuda_nvdisasm, flags.cuda_sanitizer}});
}

ToolkitSettings toolkit() {
  std::lock_guard lock(settings_mutex);
  return current;
}

void set_cuda_root(std::string root) {
  std::lock_guard lock(settings_mutex);
  current.root = std::move(root);
}

std::string cuda_root() { return toolkit().root; }

bool toolkit_hidden() { return cuda_root() == "none"; }

void add_library_folder(fs::path folder) {
  std::lock_guard lock(settings_mutex);
  if (std::ranges::find(extra_folders, folder) == extra_folders.end()) extra_folders.push_back(std::move(folder));
}

std::vector<SearchFolder> search_folders(ToolkitPart part, const ToolkitSettings& settings) {
  FolderList list(row_of(part));
  const std::string& root = settings.root;
  if (root == "none") return {};
  if (!root.empty()) {
    list.add_toolkit(root);
    list.add_site_packages(root);
    list.add(root, Place::named);
    return list.take();
  }
  add_environment(list);
  add_extra(list);
  add_installed(list, settings.system);
  add_python(list);
  add_user_python(list, settings.system);
  return list.take();
}

bool search_system(const ToolkitSettings& settings) { return settings.root.empty(); }

}  // namespace croton::runtime::cuda
