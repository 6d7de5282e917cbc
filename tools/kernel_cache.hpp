// The kernel cache for the tool's commands: the folder that the flags name.
#pragma once

#include <fmt/format.h>

#include <cstdint>
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

/// "17 bytes", "4.5 KiB", "1.2 MiB".
inline std::string bytes_text(std::uint64_t bytes) {
  const auto count = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", count / 1024);
  return fmt::format("{:.1f} MiB", count / (1024 * 1024));
}

}  // namespace croton::tool
