// The kernel cache on disk: compiled code, found again by what it was compiled from. It promises three things.
//  - Nothing unverified is ever used: an entry is read into memory whole, and its checksum covers every byte.
//  - Nobody else can put code into it: the folder and its entries must belong to this user and be writable by nobody
//  else.
//  - It never stands in the way: a full disk, a damaged entry or a forbidden folder costs a compilation and one
//  warning, no error.
// Any number of processes may share a folder, killed ones included, without locks and without trusting clocks: an entry
// appears complete, by a rename, and equal names hold equal content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::base {
class Folder;
}

namespace croton::runtime {

/// The address of an entry: a digest of everything that decides the compiled code. Name each part, so that equal values
/// of different parts differ. Lengths are mixed in, so that no two lists of parts give the same bytes.
class CacheKey {
 public:
  CacheKey& add(std::string_view name, std::string_view value);

  /// XXH3-128 of all parts in the order in which they were added: 32 lower-case hexadecimal characters.
  std::string digest() const;

 private:
  void append(std::string_view text);

  std::string parts_;
};

class KernelCache {
 public:
  using WarningSink = std::function<void(const std::string&)>;

  struct Stats {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;   ///< damaged entries included
    std::uint64_t damaged = 0;  ///< entries that were there and could not be used
    std::uint64_t stored = 0;
  };

  struct Entry {
    std::string digest;
    std::uint64_t size = 0;  ///< bytes on disk
  };

  /// The largest payload that is stored or read, in bytes.
  static constexpr std::size_t max_payload = std::size_t{256} << 20;

  /// The folder is opened, and created if missing, at the first use. An empty path means no cache, without a warning.
  explicit KernelCache(std::filesystem::path folder);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// $XDG_CACHE_HOME/croton, else ~/.cache/croton; empty where the user has no home folder. In secure execution the
  /// environment is not asked.
  static std::filesystem::path default_folder();

  /// The payload stored under a digest of CacheKey, verified; none where it is missing or cannot be used. Thread-safe,
  /// as all below.
  std::optional<std::vector<std::byte>> find(const std::string& digest);

  /// Keeps a payload for later calls and processes, if possible.
  void store(const std::string& digest, std::span<const std::byte> payload);

  Stats stats() const;
  std::vector<Entry> list();
  std::uint64_t size();  ///< bytes on disk of all entries
  std::size_t clear();   ///< removes all entries, returns how many

  /// Where warnings go (stderr unless set). Each kind of problem is reported once for the life of this object.
  void set_warning_sink(WarningSink sink);

 private:
  enum class Problem : unsigned { folder = 1, entry = 2, store = 4, list = 8 };

  std::shared_ptr<const base::Folder> folder();
  std::shared_ptr<const base::Folder> reopened_folder();
  std::optional<std::vector<std::byte>> look_up(const std::string& digest);
  bool publish(const std::string& digest, std::span<const std::byte> payload);
  void sweep_once();
  void entry_problem(const std::string& reason);
  void warn(Problem problem, const std::string& text);

  const std::filesystem::path path_;
  mutable std::mutex mutex_;  // guards all below; never held while a file is touched, except to open the folder
  std::shared_ptr<const base::Folder> folder_;
  bool off_ = false;
  bool swept_ = false;
  unsigned warned_ = 0;
  WarningSink sink_;
  Stats stats_;
};

/// The cache that the flags `cache` and `cache_dir` ask for; null where it is off. One object for each folder.
KernelCache* configured_cache();

}  // namespace croton::runtime
