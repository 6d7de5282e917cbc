#include "runtime/cuda/toolkit.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "base/environment.hpp"

namespace croton::runtime::cuda {
namespace fs = std::filesystem;
namespace {

#if defined(__aarch64__)
constexpr std::string_view target = "sbsa-linux";
#else
constexpr std::string_view target = "x86_64-linux";
#endif

std::mutex settings_mutex;
std::string root_setting;
std::vector<fs::path> extra_folders;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The folders below `parent` whose name begins with `prefix`, the highest name first (cuda-13.0 before cuda-12.9,
// cuda-9.2 last: a longer number is a higher one).
std::vector<fs::path> folders_with_prefix(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator item(parent, error), end; !error && item != end; item.increment(error)) {
    if (item->path().filename().string().starts_with(prefix) && is_folder(item->path())) found.push_back(item->path());
  }
  std::ranges::sort(found, std::greater{}, [](const fs::path& path) {
    const std::string name = path.filename().string();
    return std::pair(name.size(), name);
  });
  return found;
}

enum class Kind { libraries, programs };

class FolderList {
 public:
  FolderList(std::string_view wheel, Kind kind) : wheel_(wheel), kind_(kind) {}

  void add(const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);  // /usr/local/cuda is a link to one of its neighbours
    if (error || !is_folder(real) || std::ranges::find(folders_, real) != folders_.end()) return;
    folders_.push_back(real);
  }

  // What a toolkit's folder has.
  void add_toolkit(const fs::path& root) {
    if (kind_ == Kind::programs) return add(root / "bin");
    add(root / "lib64");
    add(root / "targets" / target / "lib");
    add(root / "lib");
  }

  // Packages of PyPI: one common folder since CUDA 13, one for each library before.
  void add_site_packages(const fs::path& folder) {
    const fs::path nvidia = folder / "nvidia";
    if (!is_folder(nvidia)) return;
    const char* const leaf = kind_ == Kind::programs ? "bin" : "lib";
    for (const fs::path& common : folders_with_prefix(nvidia, "cu1")) add(common / leaf);
    add(nvidia / wheel_ / leaf);
  }

  void add_prefix(const fs::path& prefix) {
    for (const fs::path& python : folders_with_prefix(prefix / "lib", "python3")) {
      add_site_packages(python / "site-packages");
      add_site_packages(python / "dist-packages");
    }
  }

  std::vector<fs::path> take() { return std::move(folders_); }

 private:
  std::string_view wheel_;
  Kind kind_;
  std::vector<fs::path> folders_;
};

// The site-packages folder that this very library is installed in, if any.
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

void add_python(FolderList& list) {
  if (const fs::path own = own_site_packages(); !own.empty()) list.add_site_packages(own);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto prefix = base::environment(name);
    if (!prefix || !fs::path(*prefix).is_absolute()) continue;
    list.add_prefix(*prefix);
    list.add_toolkit(*prefix);
  }
}

void add_installed(FolderList& list) {
  for (const fs::path& root : folders_with_prefix("/usr/local", "cuda-")) list.add_toolkit(root);
  list.add_toolkit("/opt/cuda");
}

void add_user_python(FolderList& list) {
  if (const auto home = base::environment("HOME"); home && fs::path(*home).is_absolute()) {
    list.add_prefix(fs::path(*home) / ".local");
  }
  list.add_prefix("/usr/local");
  list.add_prefix("/usr");
}

}  // namespace

void set_cuda_root(std::string root) {
  std::lock_guard lock(settings_mutex);
  root_setting = std::move(root);
}

std::string cuda_root() {
  std::lock_guard lock(settings_mutex);
  return root_setting;
}

bool toolkit_hidden() { return cuda_root() == "none"; }

void add_library_folder(fs::path folder) {
  std::lock_guard lock(settings_mutex);
  if (std::ranges::find(extra_folders, folder) == extra_folders.end()) extra_folders.push_back(std::move(folder));
}

namespace {

std::vector<fs::path> find_folders(std::string_view wheel, Kind kind) {
  FolderList list(wheel, kind);
  const std::string root = cuda_root();
  if (root == "none") return {};
  if (!root.empty()) {
    list.add_toolkit(root);
    list.add_site_packages(root);
    list.add(root);
    return list.take();
  }
  add_environment(list);
  const std::vector<fs::path> extra = [] {
    std::lock_guard lock(settings_mutex);
    return extra_folders;
  }();
  for (const fs::path& folder : extra) {
    list.add_site_packages(folder);
    list.add(folder);
  }
  list.add_toolkit("/usr/local/cuda");  // the administrator's choice among the installed ones
  add_installed(list);
  add_python(list);
  add_user_python(list);
  return list.take();
}

}  // namespace

std::vector<fs::path> library_folders(std::string_view wheel) { return find_folders(wheel, Kind::libraries); }
std::vector<fs::path> program_folders(std::string_view wheel) { return find_folders(wheel, Kind::programs); }

bool search_system() { return cuda_root().empty(); }

}  // namespace croton::runtime::cuda
