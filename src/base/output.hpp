// Files that a program leaves for its user, as base/file.hpp writes them: every call can be made to fail by the fault
// hook, every failure is a FileError that names the file.
#pragma once

#include "base/file.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace croton::base {

/// Writes a file by Folder::publish: it holds its old or its new content at any time. A folder of that name is refused.
void write_file(const std::filesystem::path& path, std::span<const std::byte> content);

/// Creates what is missing of the path to a folder.
void make_folders(const std::filesystem::path& path);

/// A new file that grows at its end and can be read meanwhile.
class AppendFile {
 public:
  /// None if there is a file of that name.
  static std::optional<AppendFile> create(const std::filesystem::path& path);

  /// Takes from the front of `content` what it has written: all of it, unless a FileError says why not. A later call
  /// with the rest goes on where this one stopped.
  void append(std::vector<std::byte>& content);

 private:
  AppendFile(Descriptor file, std::filesystem::path path);

  Descriptor file_;
  std::filesystem::path path_;
};

}  // namespace croton::base
