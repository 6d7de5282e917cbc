// Files that a program writes for its user, by base/file.hpp: the fault hook can make every call fail, and every
// failure is a FileError that names the file.
#pragma once

#include "base/file.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace croton::base {

/// Writes a file by Folder::publish: it has its old or its new content at any time. FileError if the path is a folder.
void write_file(const std::filesystem::path& path, std::span<const std::byte> content);

/// Creates a folder and the missing folders of its path.
void make_folders(const std::filesystem::path& path);

/// A new file that grows at its end and can be read at the same time.
class AppendFile {
 public:
  /// None if there is a file of that name.
  static std::optional<AppendFile> create(const std::filesystem::path& path);

  /// Writes `content` and removes the written bytes from its front: all of them, unless it throws FileError. A later
  /// call with the rest continues after the written bytes.
  void append(std::vector<std::byte>& content);

 private:
  AppendFile(Descriptor file, std::filesystem::path path);

  Descriptor file_;
  std::filesystem::path path_;
};

}  // namespace croton::base
