// Folders to search for libraries and programs, read from the disk: folders with a version in their name, and those of
// Python's packages. Nothing is executed to find them, and nobody checks their files here.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace croton::runtime {

/// The folders in `parent` whose name begins with `prefix`, the highest name first: cuda-13.0, cuda-12.9, cuda-9.2.
std::vector<std::filesystem::path> folders_with_prefix(const std::filesystem::path& parent, std::string_view prefix);

/// The folders `site-packages` and `dist-packages` of a Python with this `sys.prefix`, the newest Python first.
std::vector<std::filesystem::path> package_folders(const std::filesystem::path& prefix);

/// `sys.prefix` of the Python that PATH finds as `python3`, or else as `python`; empty if there is none.
std::filesystem::path prefix_of_python();

/// Whether a prefix is an environment of venv or conda, and not a part of the system.
bool is_environment(const std::filesystem::path& prefix);

}  // namespace croton::runtime
