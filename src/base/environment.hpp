// Reading environment variables. In a program that runs with more rights than its caller (set-user-id, file
// capabilities) the environment belongs to the caller, who must not choose the files that Croton loads or writes:
// there, every variable counts as unset.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace croton::base {

/// True if the kernel marked the process as running with rights that its caller lacks (AT_SECURE).
bool secure_execution();

/// The value of an environment variable; none if it is unset or empty, or if the process runs in secure execution.
std::optional<std::string> environment(const char* name);

/// The absolute folders of a variable such as PATH. Relative ones are ignored, because they would depend on the folder
/// in which a program is started.
std::vector<std::filesystem::path> environment_folders(const char* name);

}  // namespace croton::base
