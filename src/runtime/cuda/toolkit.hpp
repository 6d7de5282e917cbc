// Where the libraries of CUDA may be: NVRTC, cuBLASLt, cuDNN and NCCL come from an installed toolkit, from packages of
// PyPI or conda, or from the distribution. One list of folders serves them all. The driver (libcuda) is no part of it:
// it belongs to the system.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime::cuda {

/// The flag `cuda_root`: "" searches the usual places, "none" hides the toolkit, anything else is the only folder that
/// is searched. Libraries loaded before keep serving the root that they were loaded for.
void set_cuda_root(std::string root);
std::string cuda_root();

/// True when `cuda_root` is "none".
bool toolkit_hidden();

/// One more place, searched after those that the user named and before the installed toolkits (the Python package gives
/// its site-packages folders).
void add_library_folder(std::filesystem::path folder);

/// Folders that exist and may hold libraries, best first. `wheel` names the folder below `site-packages/nvidia` of the
/// packages made for CUDA 12 ("cuda_nvrtc", "cublas", "cudnn", "nccl").
std::vector<std::filesystem::path> library_folders(std::string_view wheel);

/// The same for programs, such as nvdisasm: the folders `bin` of toolkits and packages.
std::vector<std::filesystem::path> program_folders(std::string_view wheel);

/// Whether the system's loader (for programs: PATH) may be asked too: not when the user chose a folder.
bool search_system();

}  // namespace croton::runtime::cuda
