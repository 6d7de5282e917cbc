// The kernel cache for the tool's commands: the folder that the flags name.
#pragma once

#include <filesystem>
#include <string>

#include "base/config.hpp"
#include "runtime/support/cache.hpp"

namespace croton::tool {

/// The folder that programs with the same flags use; empty if there is none.
inline std::filesystem::path cache_folder() {
  const std::string& folder = base::config().cache_dir;
  return folder.empty() ? runtime::KernelCache::default_folder() : std::filesystem::path(folder);
}

}  // namespace croton::tool
