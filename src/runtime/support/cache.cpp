#include "runtime/support/cache.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <croton/error.hpp>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"

namespace croton::runtime {
namespace fs = std::filesystem;
namespace {

// An entry on disk, numbers little-endian:
//   0  magic          8 bytes
//   8  checksum      16 bytes, XXH3-128 of all that follows
//  24  format         4 bytes
//  28  reserved       4 bytes, zero
//  32  key           16 bytes, the digest in the file's name: an entry under a wrong name is detected
//  48  payload size   8 bytes
//  56  payload
constexpr std::string_view magic = "CTkernel";
constexpr std::size_t checksum_at = 8, format_at = 24, key_at = 32, size_at = 48, header_size = 56;
constexpr std::uint64_t current_format = 1;
constexpr std::string_view suffix = ".kernel";
constexpr std::size_t digest_length = 32;
constexpr std::chrono::hours abandoned_after{1};

using Bytes = std::vector<std::byte>;

void put_number(std::span<std::byte> into, std::uint64_t value) {
  for (std::byte& byte : into) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
}

std::uint64_t get_number(std::span<const std::byte> from) {
  std::uint64_t value = 0;
  for (std::size_t i = from.size(); i-- > 0;) value = (value << 8) | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_digest(std::string_view text) { return text.size() == digest_length && std::ranges::all_of(text, is_hex); }

// The digest becomes a file name, so nothing else is accepted.
void check_digest(const std::string& digest) {
  if (!is_digest(digest)) throw InternalError(fmt::format("'{}' is not a digest of a cache key", digest));
}

base::Digest from_hex(std::string_view text) {
  base::Digest digest;
  for (unsigned char& byte : digest) {
    std::from_chars(text.data(), text.data() + 2, byte, 16);
    text.remove_prefix(2);
  }
  return digest;
}

Bytes make_entry(const std::string& digest, std::span<const std::byte> payload) {
  Bytes file(header_size + payload.size());
  const std::span all(file);
  std::memcpy(file.data(), magic.data(), magic.size());
  put_number(all.subspan(format_at, 4), current_format);
  std::memcpy(file.data() + key_at, from_hex(digest).data(), sizeof(base::Digest));
  put_number(all.subspan(size_at, 8), payload.size());
  std::ranges::copy(payload, file.begin() + header_size);
  std::memcpy(file.data() + checksum_at, base::hash128(all.subspan(format_at)).data(), sizeof(base::Digest));
  return file;
}

// The reason that the bytes are not the entry of this digest; empty if they are. The checksum is checked before the
// fields, so that no damaged field is interpreted.
std::string why_refused(std::span<const std::byte> file, const std::string& digest) {
  if (file.size() < header_size) return "is cut off";
  if (std::memcmp(file.data(), magic.data(), magic.size()) != 0) return "is not an entry of the kernel cache";
  const base::Digest checksum = base::hash128(file.subspan(format_at));
  if (std::memcmp(file.data() + checksum_at, checksum.data(), checksum.size()) != 0) return "is damaged (checksum)";
  if (get_number(file.subspan(format_at, 8)) != current_format) return "was written by another version of Croton";
  if (std::memcmp(file.data() + key_at, from_hex(digest).data(), sizeof(base::Digest)) != 0) {
    return "holds the entry of another key";
  }
  if (get_number(file.subspan(size_at, 8)) != file.size() - header_size) return "states a wrong size";
  return "";
}

std::string file_name(const std::string& digest) { return digest + std::string(suffix); }

void print_warning(const std::string& text) { std::fputs(fmt::format("croton: warning: {}\n", text).c_str(), stderr); }

// The home folder in the user database, for when the environment is ignored or does not name it.
fs::path home_of_user() {
  std::array<char, 16384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  if (error != 0 || found == nullptr || found->pw_dir == nullptr) return {};
  return found->pw_dir;
}

}  // namespace

CacheKey& CacheKey::add(std::string_view name, std::string_view value) {
  append(name);
  append(value);
  return *this;
}

void CacheKey::append(std::string_view text) {
  std::array<std::byte, 8> length;
  put_number(length, text.size());
  parts_.append(reinterpret_cast<const char*>(length.data()), length.size());
  parts_.append(text);
}

std::string CacheKey::digest() const { return base::to_hex(base::hash128(std::string_view(parts_))); }

KernelCache::KernelCache(fs::path folder) : path_(std::move(folder)), off_(path_.empty()), sink_(print_warning) {}

KernelCache::~KernelCache() = default;

fs::path KernelCache::default_folder() {
  // The XDG specification asks to ignore relative paths.
  const fs::path cache = base::environment("XDG_CACHE_HOME").value_or("");
  if (cache.is_absolute()) return cache / "croton";
  fs::path home = base::environment("HOME").value_or("");
  if (!home.is_absolute()) home = home_of_user();
  return home.is_absolute() ? home / ".cache" / "croton" : fs::path();
}

std::optional<Bytes> KernelCache::find(const std::string& digest) {
  check_digest(digest);
  std::optional<Bytes> payload = look_up(digest);
  std::lock_guard lock(mutex_);
  ++(payload ? stats_.hits : stats_.misses);
  return payload;
}

std::optional<Bytes> KernelCache::look_up(const std::string& digest) try {
  const auto open_folder = folder();
  if (!open_folder) return std::nullopt;
  std::optional<Bytes> file = open_folder->read(file_name(digest), header_size + max_payload, base::Trust::entry);
  if (!file) return std::nullopt;
  const std::string reason = why_refused(*file, digest);
  if (!reason.empty()) {
    entry_problem(fmt::format("{} {}", (path_ / file_name(digest)).string(), reason));
    return std::nullopt;
  }
  file->erase(file->begin(), file->begin() + header_size);
  return file;
} catch (const std::exception& error) {
  entry_problem(error.what());
  return std::nullopt;
}

void KernelCache::entry_problem(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    ++stats_.damaged;
  }
  warn(Problem::entry, fmt::format("kernel cache: {}; its kernels are compiled again", reason));
}

void KernelCache::store(const std::string& digest, std::span<const std::byte> payload) {
  check_digest(digest);
  try {
    if (payload.size() > max_payload) throw FileError(fmt::format("an entry of {} bytes is too large", payload.size()));
    if (!publish(digest, payload)) return;
    sweep_once();
  } catch (const std::exception& error) {
    warn(Problem::store, fmt::format("kernel cache: {}; continuing without storing", error.what()));
  }
}

bool KernelCache::publish(const std::string& digest, std::span<const std::byte> payload) {
  auto open_folder = folder();
  if (!open_folder) return false;
  const Bytes entry = make_entry(digest, payload);
  try {
    open_folder->publish(file_name(digest), entry);
  } catch (const FileError&) {
    if (open_folder->still_there()) throw;
    open_folder = reopened_folder();  // the user deleted the folder while the program ran
    if (!open_folder) return false;
    open_folder->publish(file_name(digest), entry);
  }
  std::lock_guard lock(mutex_);
  ++stats_.stored;
  return true;
}

void KernelCache::sweep_once() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(swept_, true)) return;
  }
  try {
    if (const auto open_folder = folder()) open_folder->remove_abandoned(abandoned_after);
  } catch (const FileError&) {
    // Files of killed writers cost space and nothing else; the next process tries again.
  }
}

std::shared_ptr<const base::Folder> KernelCache::folder() {
  std::string problem;
  {
    std::lock_guard lock(mutex_);
    if (folder_ || off_) return folder_;
    try {
      folder_ = std::make_shared<const base::Folder>(base::Folder::open_private(path_));
      return folder_;
    } catch (const std::exception& error) {
      off_ = true;
      problem = error.what();
    }
  }
  warn(Problem::folder, fmt::format("the kernel cache is off: {}", problem));
  return nullptr;
}

std::shared_ptr<const base::Folder> KernelCache::reopened_folder() {
  {
    std::lock_guard lock(mutex_);
    folder_ = nullptr;
  }
  return folder();
}

KernelCache::Stats KernelCache::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

std::vector<KernelCache::Entry> KernelCache::list() try {
  const auto open_folder = folder();
  if (!open_folder) return {};
  std::vector<Entry> found;
  for (const base::Folder::Entry& file : open_folder->entries()) {
    const std::string_view name = file.name;
    if (!file.regular || !name.ends_with(suffix)) continue;
    const std::string_view digest = name.substr(0, name.size() - suffix.size());
    if (is_digest(digest)) found.push_back({std::string(digest), file.size});
  }
  std::ranges::sort(found, {}, &Entry::digest);
  return found;
} catch (const std::exception& error) {
  warn(Problem::list, fmt::format("kernel cache: {}", error.what()));
  return {};
}

std::uint64_t KernelCache::size() {
  std::uint64_t total = 0;
  for (const Entry& entry : list()) total += entry.size;
  return total;
}

std::size_t KernelCache::clear() {
  const std::vector<Entry> entries = list();
  const auto open_folder = folder();
  std::size_t count = 0;
  try {
    for (const Entry& entry : entries) count += open_folder->remove(file_name(entry.digest)) ? 1 : 0;
    if (open_folder) open_folder->remove_abandoned(abandoned_after);
  } catch (const std::exception& error) {
    warn(Problem::list, fmt::format("kernel cache: {}", error.what()));
  }
  return count;
}

void KernelCache::set_warning_sink(WarningSink sink) {
  std::lock_guard lock(mutex_);
  sink_ = std::move(sink);
}

void KernelCache::warn(Problem problem, const std::string& text) {
  WarningSink sink;
  {
    std::lock_guard lock(mutex_);
    if (!warned_.insert(problem).second) return;
    sink = sink_;
  }
  if (sink) sink(text);
}

}  // namespace croton::runtime
