// Reading environment variables. In a program that runs with more rights than its caller (set-user-id, file
// capabilities) the environment belongs to the caller, who must not choose which files we load or write: there, every
// variable counts as unset.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace croton::base {

/// True where the kernel marked the process as running with rights that its caller lacks (AT_SECURE).
bool secure_execution();

/// The value of an environment variable; none where it is unset, empty, or the process runs in secure execution.
std::optional<std::string> environment(const char* name);

/// The absolute folders of a variable such as PATH: a relative one would be another in every folder that a program is
/// started in.
std::vector<std::filesystem::path> environment_folders(const char* name);

}  // namespace croton::base
