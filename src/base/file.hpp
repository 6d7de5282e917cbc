// Access to files, the only code that makes the operating system's calls for files. All that Croton reads or writes
// goes through it, so that the same checks hold everywhere (only whole regular files, sizes checked before memory is
// allocated, no half-written file under a final name) and tests can make any of these calls fail.
//
// Failures are croton::FileError, whose message names the file, the operation and the reason. A file that does not
// exist is not a failure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace croton::base {

/// The kinds of calls that this file makes.
enum class FileCall { open, make_folder, status, read, write, sync, rename, remove, list };

/// The effect of a fault hook on a call: `error` != 0 makes the call fail with that errno, `at_most` shortens one read
/// or write.
struct Fault {
  int error = 0;
  std::size_t at_most = std::numeric_limits<std::size_t>::max();
};

/// For tests: the hook is called before each call, from any thread. An empty function removes the hook.
using FaultHook = std::function<Fault(FileCall)>;
void set_fault_hook(FaultHook hook);

/// The files that are accepted, by owner and permissions.
enum class Trust {
  anyone,  ///< any regular file, links followed
  owner,   ///< belongs to this user or root and is not writable by all, links followed: configuration files
  entry,   ///< belongs to this user, not writable by group or others, no link of any kind: entries of a private folder
};

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }
  int release();

 private:
  int value_ = -1;
};

/// The bytes of a regular file of at most `limit` bytes; none if there is no such file.
std::optional<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit,
                                                Trust trust = Trust::anyone);

/// The reason why a file must not be loaded as code; empty if neither the file, nor its folder, nor a folder above can
/// be changed by every user of the machine. Links are resolved first.
std::string why_untrusted(const std::filesystem::path& path);

/// An open folder. Files in it are named relative to the open descriptor, so nobody can swap the folder between
/// two calls.
class Folder {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;
    bool regular = false;
    std::chrono::seconds changed{};  ///< by the clock of the file system; never decides whether content is valid
  };

  /// Opens a folder without checks of its owner.
  static Folder open(const std::filesystem::path& path);

  /// Opens a folder that only this user can write to, and creates missing components of the path with mode 0700.
  /// Refused: a folder of another user or writable by group or others; a path through a folder that everybody may write
  /// to (unless sticky, as /tmp); a path through a symbolic link (unless the administrator put it there, as /home on
  /// some machines).
  static Folder open_private(const std::filesystem::path& path);

  /// The bytes of a file in this folder; none if there is no such file.
  std::optional<std::vector<std::byte>> read(const std::string& name, std::size_t limit, Trust trust) const;

  /// Writes a file under a temporary name, syncs it, then renames it: `name` has its old or its new content at any
  /// time, even after a crash. Anything that had that name (a link, a pipe, a folder) is replaced.
  void publish(const std::string& name, std::span<const std::byte> content, unsigned mode = 0600) const;

  /// Removes a file; false if there was none.
  bool remove(const std::string& name) const;

  /// All entries of the folder, in no particular order, without temporary files.
  std::vector<Entry> entries() const;

  /// Removes temporary files of killed writers that are older than the last change of the folder by at least `age`.
  std::size_t remove_abandoned(std::chrono::seconds age) const;

  /// False once the folder was deleted or moved, so that `path()` no longer names it.
  bool still_there() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  Folder(Descriptor descriptor, std::filesystem::path path);
  std::vector<Entry> all_entries() const;
  void move_into_place(const std::string& temporary, const std::string& name) const;

  Descriptor descriptor_;
  std::filesystem::path path_;
};

}  // namespace croton::base
