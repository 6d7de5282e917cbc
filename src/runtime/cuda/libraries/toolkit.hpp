// Where the libraries and programs of CUDA may be: NVRTC, cuBLASLt, cuDNN, nvdisasm and compute-sanitizer come from an
// installed toolkit, from packages of PyPI or conda, or from the distribution. One list of folders serves them all. The
// driver (libcuda) is no part of it: it belongs to the system.
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

/// What is looked for. Each has a flag that names its file.
enum class ToolkitPart { nvrtc, blaslt, dnn, nvdisasm, sanitizer };
inline constexpr std::size_t part_count = 5;

/// "cuda_nvrtc", "cuda_blaslt" and so on: the flag that names a part's file.
std::string_view flag_of(ToolkitPart part);

/// The kind of place in which a part is found.
enum class Place { named, toolkit, python_package, system };

/// "named by a flag", "toolkit", "Python package" or "system".
std::string_view words_of(Place place);

/// A part that was found.
struct FoundPart {
  std::string version;         ///< "13.0"; empty where it does not tell
  std::filesystem::path path;  ///< of the file
  Place place = Place::system;
};

/// What the flags say about where to look.
struct ToolkitSettings {
  /// The flag `cuda_root`: "" searches the usual places, "none" hides all parts, anything else is the only folder that
  /// is searched.
  std::string root;
  /// Of each part the file that its flag names; "" searches.
  std::array<std::string, part_count> files = {};
  /// Below it are the toolkits and the Python of the machine; another folder in tests.
  std::filesystem::path system = "/";

  const std::string& file(ToolkitPart part) const { return files[static_cast<std::size_t>(part)]; }
};

/// The settings from now on. Libraries that were loaded before keep serving the settings that they were loaded for.
void set_toolkit(ToolkitSettings settings);
/// The same from the flags.
void set_toolkit(const base::Flags& flags);
ToolkitSettings toolkit();

/// The root alone; the files stay as they are.
void set_cuda_root(std::string root);
std::string cuda_root();

/// True when `cuda_root` is "none".
bool toolkit_hidden();

/// One more place, searched after those that the user named and before the installed toolkits: a folder like
/// site-packages, or one that has the libraries themselves.
void add_library_folder(std::filesystem::path folder);

/// A folder in which a part may be.
struct SearchFolder {
  std::filesystem::path path;
  Place place;
  bool operator==(const SearchFolder&) const = default;
};

/// Folders that exist and may hold the part, best first. Those of PATH and of the system's loader are not among them.
///
/// With an empty root they are: CUDA_PATH and CUDA_HOME; what add_library_folder() was given; toolkits of the machine
/// (/usr/local/cuda, /usr/local/cuda-*, /opt/cuda, /opt/cuda-*, /opt/nvidia/cuda*); Python packages: those beside
/// Croton itself, in VIRTUAL_ENV and CONDA_PREFIX, in PYTHONPATH, of the Python that PATH has, in ~/.local, of the
/// system.
std::vector<SearchFolder> search_folders(ToolkitPart part, const ToolkitSettings& settings = toolkit());

/// Whether the system's loader (for programs: PATH) may be asked too: not when the user chose a folder.
bool search_system(const ToolkitSettings& settings = toolkit());

}  // namespace croton::runtime::cuda
