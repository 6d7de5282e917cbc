// The kernel cache on disk: compiled code under a digest of its source. It makes three promises.
// - Nothing unverified is ever used: an entry is read into memory whole, and its checksum covers every byte.
// - Nobody else can put code into it: the folder and its entries must belong to this user and be writable by nobody
//   else.
// - It never causes an error: a full disk, a damaged entry or a forbidden folder costs a compilation and one warning.
//
// Any number of processes may share a folder, even if some are killed, without locks and without trust in clocks: an
// entry appears complete, by a rename, and equal names have equal content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::base {
class Folder;
}

namespace croton::runtime {

/// The key of an entry: a digest of everything that determines the compiled code. Each part has a name, so that equal
/// values of different parts differ. Lengths are mixed in, so that no two lists of parts give the same bytes.
class CacheKey {
 public:
  CacheKey& add(std::string_view name, std::string_view value);

  /// XXH3-128 of all parts in the order of add(): 32 lower-case hexadecimal characters.
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
    std::uint64_t damaged = 0;  ///< entries that exist and could not be used
    std::uint64_t stored = 0;
  };

  struct Entry {
    std::string digest;
    std::uint64_t size = 0;  ///< bytes on disk
  };

  /// The largest payload that is stored or read, in bytes.
  static constexpr std::size_t max_payload = std::size_t{256} << 20;

  /// The folder is opened at the first use, and created if missing. An empty path means no cache, without a warning.
  explicit KernelCache(std::filesystem::path folder);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// $XDG_CACHE_HOME/croton, or else ~/.cache/croton; empty if the user has no home folder. In secure execution the
  /// environment is ignored.
  static std::filesystem::path default_folder();

  /// The payload under a digest of CacheKey, verified; none if it is missing or cannot be used. Thread-safe, as all
  /// below.
  std::optional<std::vector<std::byte>> find(const std::string& digest);

  /// Keeps a payload for later calls and processes, if possible.
  void store(const std::string& digest, std::span<const std::byte> payload);

  Stats stats() const;
  std::vector<Entry> list();
  std::uint64_t size();  ///< bytes on disk of all entries
  std::size_t clear();   ///< removes all entries, returns how many

  /// Sets the receiver of warnings, which is stderr otherwise. Each kind of problem is reported once per object.
  void set_warning_sink(WarningSink sink);

 private:
  enum class Problem { folder, entry, store, list };

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
  std::set<Problem> warned_;
  WarningSink sink_;
  Stats stats_;
};

/// The cache of the flags `cache` and `cache_dir`; null if it is off. Each folder has one object.
KernelCache* configured_cache();

}  // namespace croton::runtime
