// The search for libraries and programs of CUDA: NVRTC, cuBLASLt, cuDNN, nvdisasm and compute-sanitizer come from an
// installed toolkit, from packages of PyPI or conda, or from the distribution. All use one list of folders. The driver
// (libcuda) is not among them: it belongs to the system.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace croton::base {
struct Flags;
}

namespace croton::runtime::cuda {

/// A library or program of CUDA. Each has a flag that names its file.
enum class ToolkitPart { nvrtc, blaslt, dnn, nvdisasm, sanitizer };
inline constexpr std::size_t part_count = 5;

/// "cuda_nvrtc", "cuda_blaslt" and so on: the flag that names a part's file.
std::string_view flag_of(ToolkitPart part);

/// The kind of place of a part.
enum class Place { named, toolkit, python_package, system };

/// "named by a flag", "toolkit", "Python package" or "system".
std::string_view name_of(Place place);

/// A part that was found.
struct FoundPart {
  std::string version;         ///< "13.0"; empty if it is unknown
  std::filesystem::path path;  ///< of the file
  Place place = Place::system;
};

/// The flags for the search.
struct ToolkitSettings {
  /// The flag `cuda_root`: "" searches the usual places, "none" hides all parts, anything else is the only folder to
  /// search.
  std::string root;
  /// For each part the file that its flag names; "" searches.
  std::array<std::string, part_count> files = {};
  /// The root of the machine's toolkits and Python; another folder in tests.
  std::filesystem::path system = "/";

  const std::string& file(ToolkitPart part) const { return files[static_cast<std::size_t>(part)]; }
};

/// Sets the settings from now on. Loaded libraries remain those of the settings that they were loaded for.
void set_toolkit(ToolkitSettings settings);
/// The same from the flags.
void set_toolkit(const base::Flags& flags);
ToolkitSettings toolkit();

/// Sets only the root, and keeps the files.
void set_cuda_root(std::string root);
std::string cuda_root();

/// True when `cuda_root` is "none".
bool toolkit_hidden();

/// Adds a place to the search, after those that the user named and before the installed toolkits: a folder like
/// site-packages, or one that has the libraries themselves.
void add_library_folder(std::filesystem::path folder);

/// A folder in which a part may be.
struct SearchFolder {
  std::filesystem::path path;
  Place place;
  bool operator==(const SearchFolder&) const = default;
};

/// Existing folders that may have the part, the best first. Those of PATH and of the system's loader are not among
/// them.
///
/// With an empty root they are: CUDA_PATH and CUDA_HOME; those of add_library_folder(); toolkits of the machine
/// (/usr/local/cuda, /usr/local/cuda-*, /opt/cuda, /opt/cuda-*, /opt/nvidia/cuda*); Python packages: next to Croton
/// itself, in VIRTUAL_ENV and CONDA_PREFIX, in PYTHONPATH, of the Python in PATH, in ~/.local, of the system.
std::vector<SearchFolder> search_folders(ToolkitPart part, const ToolkitSettings& settings = toolkit());

/// Whether the system's loader (for programs: PATH) is searched as well: not if the user chose a folder.
bool search_system(const ToolkitSettings& settings = toolkit());

}  // namespace croton::runtime::cuda
