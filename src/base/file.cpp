#include "base/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <croton/error.hpp>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/index.hpp"
#include "base/output.hpp"

namespace croton::base {
namespace fs = std::filesystem;
namespace {

// ---- calls of the operating system, with faults ----

std::atomic<bool> hook_is_set{false};
std::mutex hook_mutex;
FaultHook fault_hook;

Fault ask_hook(FileCall call) {
  if (!hook_is_set.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(hook_mutex);
  return fault_hook ? fault_hook(call) : Fault{};
}

// Calls `function(at_most)` until no signal interrupts it; -1 and errno mean a failure, real or injected.
template <class Function>
auto guarded(FileCall call, Function function) -> decltype(function(std::size_t{})) {
  for (;;) {
    const Fault fault = ask_hook(call);
    errno = fault.error;
    const auto result = fault.error != 0 ? -1 : function(fault.at_most);
    if (result != -1 || errno != EINTR) return result;
  }
}

[[noreturn]] void fail(std::string_view what, const fs::path& path, int error = errno) {
  throw FileError(fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(error)));
}

[[noreturn]] void refuse(const fs::path& path, std::string_view reason) {
  throw FileError(fmt::format("{} {}", path.string(), reason));
}

Descriptor open_at(int folder, const char* name, int flags, mode_t mode = 0) {
  return Descriptor(
      guarded(FileCall::open, [&](std::size_t) { return ::openat(folder, name, flags | O_CLOEXEC, mode); }));
}

struct stat status_of(int descriptor, const fs::path& path) {
  struct stat status{};
  if (guarded(FileCall::status, [&](std::size_t) { return ::fstat(descriptor, &status); }) != 0) fail("inspect", path);
  return status;
}

int remove_at(int folder, const std::string& name, int flags) {
  return guarded(FileCall::remove, [&](std::size_t) { return ::unlinkat(folder, name.c_str(), flags); });
}

// ---- reading ----

void check_trust(const struct stat& status, const fs::path& path, Trust trust) {
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file");
  const bool own = status.st_uid == ::geteuid();
  if (trust == Trust::owner) {
    if (!own && status.st_uid != 0) refuse(path, fmt::format("belongs to another user (uid {})", status.st_uid));
    if ((status.st_mode & S_IWOTH) != 0) refuse(path, "can be written by every user");
  } else if (trust == Trust::entry) {
    if (!own) refuse(path, fmt::format("belongs to another user (uid {})", status.st_uid));
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) refuse(path, "can be written by other users");
    if (status.st_nlink > 1) refuse(path, "has more than one name (hard link)");
  }
}

void read_all(int descriptor, std::span<std::byte> into, const fs::path& path) {
  for (std::size_t done = 0; done < into.size();) {
    const ssize_t count = guarded(FileCall::read, [&](std::size_t most) {
      return ::read(descriptor, into.data() + done, std::min(most, into.size() - done));
    });
    if (count < 0) fail("read", path);
    if (count == 0) refuse(path, "became shorter while it was read");
    done += to_size(count);
  }
}

std::optional<std::vector<std::byte>> read_at(int folder, const char* name, const fs::path& path, std::size_t limit,
                                              Trust trust) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const int links = trust == Trust::entry ? O_NOFOLLOW : 0;
  const Descriptor file = open_at(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | links);
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    if (errno == ELOOP && links != 0) refuse(path, "is a symbolic link");
    fail("open", path);
  }
  const struct stat status = status_of(file.get(), path);
  check_trust(status, path, trust);
  const std::size_t size = to_size(status.st_size);
  if (size > limit) refuse(path, fmt::format("has {} bytes, the limit is {}", size, limit));
  std::vector<std::byte> bytes(size);
  read_all(file.get(), bytes, path);
  return bytes;
}

// ---- the path to a private folder ----

bool writable_by_all(const struct stat& status) {
  return (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
}

// Opens one component without following a link, and creates it as a folder if it is missing.
Descriptor open_component(int folder, const std::string& name, const fs::path& path) {
  constexpr int attempts = 3;  // another process may create or remove the folder between the two calls
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Descriptor component = open_at(folder, name.c_str(), O_PATH | O_NOFOLLOW);
    if (component) return component;
    if (errno != ENOENT) fail("open", path);
    const int made = guarded(FileCall::make_folder, [&](std::size_t) { return ::mkdirat(folder, name.c_str(), 0700); });
    if (made != 0 && errno != EEXIST) fail("create the folder", path);
  }
  fail("open", path, ENOENT);
}

std::string target_of(int link, const fs::path& path) {
  std::array<char, PATH_MAX> buffer;
  const ssize_t size =
      guarded(FileCall::read, [&](std::size_t) { return ::readlinkat(link, "", buffer.data(), buffer.size()); });
  if (size < 0) fail("read the link", path);
  return {buffer.data(), to_size(size)};
}

// Walks from the root, component by component, so that each folder is checked by the descriptor through which it is
// then entered.
class PrivatePath {
 public:
  explicit PrivatePath(const fs::path& path) {
    if (!path.is_absolute()) refuse(path, "is not an absolute path");
    push(path);
    enter_root();
  }

  Descriptor open() {
    while (!remaining_.empty()) step();
    const struct stat status = status_of(folder_.get(), walked_path_);
    if (status.st_uid != ::geteuid())
      refuse(walked_path_, fmt::format("belongs to another user (uid {})", status.st_uid));
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      refuse(walked_path_, "can be written by other users (chmod go-w helps)");
    Descriptor readable = open_at(folder_.get(), ".", O_RDONLY | O_DIRECTORY);
    if (!readable) fail("open", walked_path_);
    return readable;
  }

 private:
  void push(const fs::path& path) {
    std::vector<std::string> names;
    for (const fs::path& part : path) {
      if (part != "/" && part != "." && !part.empty()) names.push_back(part.string());
    }
    remaining_.insert(remaining_.end(), names.rbegin(), names.rend());
  }

  void enter_root() {
    folder_ = open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY);
    if (!folder_) fail("open", "/");
    walked_path_ = "/";
    status_ = status_of(folder_.get(), walked_path_);
  }

  void step() {
    if (writable_by_all(status_)) refuse(walked_path_, "can be written by every user, so nothing below it is safe");
    const std::string name = std::move(remaining_.back());
    remaining_.pop_back();
    const fs::path path = walked_path_ / name;
    Descriptor next = open_component(folder_.get(), name, path);
    const struct stat status = status_of(next.get(), path);
    if (S_ISLNK(status.st_mode)) return follow(next.get(), status, path);
    if (!S_ISDIR(status.st_mode)) refuse(path, "is not a folder");
    folder_ = std::move(next);
    walked_path_ = path;
    status_ = status;
  }

  // Only links that root put into a folder of root are followed. If the user is root, every link would pass this test,
  // so only links in "/" are followed.
  void follow(int link, const struct stat& status, const fs::path& path) {
    const bool of_administrator =
        status.st_uid == 0 && status_.st_uid == 0 && (::geteuid() != 0 || walked_path_ == "/");
    if (!of_administrator) refuse(path, "is a symbolic link; give the path that it points to");
    constexpr int most = 40;  // as many as the kernel follows
    if (++links_ > most) fail("follow the links of", path, ELOOP);
    const fs::path target = target_of(link, path);
    push(target);
    if (target.is_absolute()) enter_root();
  }

  std::vector<std::string> remaining_;  // last component first
  Descriptor folder_;
  fs::path walked_path_;
  struct stat status_{};
  int links_ = 0;
};

// ---- writing ----

constexpr std::string_view temporary_prefix = ".tmp-";

// Two processes never share a temporary file: O_EXCL guarantees it, and the hash only makes a second attempt rare.
std::string temporary_name() {
  static std::atomic<std::uint64_t> counter{0};
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const std::uint64_t process = hash_combine(now, static_cast<std::uint64_t>(::getpid()));
  return fmt::format("{}{:016x}", temporary_prefix, hash_combine(process, counter.fetch_add(1)));
}

// `content` shrinks to the part that is not written yet.
void write_all(int descriptor, std::span<const std::byte>& content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t count = guarded(FileCall::write, [&](std::size_t most) {
      return ::write(descriptor, content.data(), std::min(most, content.size()));
    });
    if (count < 0) fail("write", path);
    if (count == 0) fail("write", path, ENOSPC);
    content = content.subspan(to_size(count));
  }
}

std::pair<Descriptor, std::string> create_temporary(int folder, const fs::path& path, unsigned mode) {
  constexpr int attempts = 8;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::string name = temporary_name();
    Descriptor file = open_at(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (file) return {std::move(file), std::move(name)};
    if (errno != EEXIST) break;
  }
  fail("create a file in", path);
}

std::string world_writable_reason(const fs::path& path, bool sticky_helps) {
  struct stat status{};
  if (guarded(FileCall::status, [&](std::size_t) { return ::stat(path.c_str(), &status); }) != 0) {
    return fmt::format("{} cannot be inspected: {}", path.string(), std::generic_category().message(errno));
  }
  const bool open_to_all = sticky_helps ? writable_by_all(status) : (status.st_mode & S_IWOTH) != 0;
  return open_to_all ? fmt::format("{} can be written by every user", path.string()) : "";
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

void set_fault_hook(FaultHook hook) {
  std::lock_guard lock(hook_mutex);
  fault_hook = std::move(hook);
  hook_is_set.store(fault_hook != nullptr, std::memory_order_release);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Descriptor::~Descriptor() {
  const int kept = errno;  // a destructor must not overwrite the errno of the call before it
  if (value_ >= 0) ::close(value_);
  errno = kept;
}

int Descriptor::release() { return std::exchange(value_, -1); }

std::optional<std::vector<std::byte>> read_file(const fs::path& path, std::size_t limit, Trust trust) {
  return read_at(AT_FDCWD, path.c_str(), path, limit, trust);
}

std::string why_untrusted(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return fmt::format("{} cannot be inspected: {}", path.string(), error.message());
  std::string reason = world_writable_reason(real, false);
  // In the file's own folder the sticky bit does not help: anybody may put a new name there first.
  bool sticky_helps = false;
  for (fs::path above = real; reason.empty() && above.has_relative_path(); sticky_helps = true) {
    above = above.parent_path();
    reason = world_writable_reason(above, sticky_helps);
  }
  return reason;
}

Folder::Folder(Descriptor descriptor, fs::path path) : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

Folder Folder::open(const fs::path& path) {
  Descriptor descriptor = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!descriptor) fail("open the folder", path);
  return {std::move(descriptor), path};
}

Folder Folder::open_private(const fs::path& path) { return {PrivatePath(path).open(), path}; }

std::optional<std::vector<std::byte>> Folder::read(const std::string& name, std::size_t limit, Trust trust) const {
  return read_at(descriptor_.get(), name.c_str(), path_ / name, limit, trust);
}

void Folder::publish(const std::string& name, std::span<const std::byte> content, unsigned mode) const {
  const auto [file, temporary] = create_temporary(descriptor_.get(), path_, mode);
  const int descriptor = file.get();
  try {
    write_all(descriptor, content, path_ / name);
    if (guarded(FileCall::sync, [&](std::size_t) { return ::fsync(descriptor); }) != 0) fail("write", path_ / name);
    move_into_place(temporary, name);
  } catch (const FileError&) {
    remove_at(descriptor_.get(), temporary, 0);
    throw;
  }
}

void Folder::move_into_place(const std::string& temporary, const std::string& name) const {
  const auto move = [&](const std::string& from, const std::string& to) {
    return guarded(FileCall::rename, [&](std::size_t) {
      return ::renameat(descriptor_.get(), from.c_str(), descriptor_.get(), to.c_str());
    });
  };
  if (move(temporary, name) == 0) return;
  if (errno != EISDIR) fail("rename a file to", path_ / name);
  // A folder has that name, and it may not be empty: it is renamed, and removed if it is empty.
  const std::string aside = temporary_name();
  if (move(name, aside) != 0 || move(temporary, name) != 0) fail("replace the folder", path_ / name);
  remove_at(descriptor_.get(), aside, AT_REMOVEDIR);
}

bool Folder::remove(const std::string& name) const {
  if (remove_at(descriptor_.get(), name, 0) == 0) return true;
  if (errno == ENOENT) return false;
  if (errno == EISDIR && remove_at(descriptor_.get(), name, AT_REMOVEDIR) == 0) return true;
  fail("remove", path_ / name);
}

std::vector<Folder::Entry> Folder::entries() const {
  std::vector<Entry> all = all_entries();
  std::erase_if(all, [](const Entry& entry) { return entry.name.starts_with(temporary_prefix); });
  return all;
}

std::vector<Folder::Entry> Folder::all_entries() const {
  // A separate open: readdir moves the position of a descriptor, which copies made by dup would share.
  Descriptor again = open_at(descriptor_.get(), ".", O_RDONLY | O_DIRECTORY);
  if (!again) fail("list", path_);
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(again.get()));
  if (!directory) fail("list", path_);
  again.release();
  std::vector<Entry> found;
  for (;;) {
    dirent* item = nullptr;
    const int failed = guarded(FileCall::list, [&](std::size_t) {
      item = ::readdir(directory.get());
      return item == nullptr && errno != 0 ? -1 : 0;
    });
    if (failed != 0) fail("list", path_);
    if (item == nullptr) return found;
    const std::string name = item->d_name;
    if (name == "." || name == "..") continue;
    struct stat status{};
    const int result = guarded(FileCall::status, [&](std::size_t) {
      return ::fstatat(descriptor_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    });
    if (result != 0 && errno == ENOENT) continue;  // another process removed it
    if (result != 0) fail("inspect", path_ / name);
    found.push_back(
        {name, to_size(status.st_size), S_ISREG(status.st_mode), std::chrono::seconds(status.st_mtim.tv_sec)});
  }
}

std::size_t Folder::remove_abandoned(std::chrono::seconds age) const {
  // Both times come from the clock of the file system, so that a wrong clock of this machine cannot hurt a live writer.
  const std::chrono::seconds now(status_of(descriptor_.get(), path_).st_mtim.tv_sec);
  std::size_t count = 0;
  for (const Entry& entry : all_entries()) {
    const bool abandoned = entry.name.starts_with(temporary_prefix) && now - entry.changed >= age;
    if (abandoned && remove_at(descriptor_.get(), entry.name, entry.regular ? 0 : AT_REMOVEDIR) == 0) ++count;
  }
  return count;
}

bool Folder::still_there() const {
  struct stat named{};
  if (guarded(FileCall::status, [&](std::size_t) { return ::stat(path_.c_str(), &named); }) != 0) return false;
  const struct stat opened = status_of(descriptor_.get(), path_);
  return named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

void write_file(const fs::path& path, std::span<const std::byte> content) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw FileError(fmt::format("cannot write {}: it is a folder", path.string()));
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  Folder::open(folder).publish(path.filename().string(), content, 0644);
}

void make_folders(const fs::path& path) {
  fs::path made;
  for (const fs::path& part : path) {
    made /= part;
    const int result = guarded(FileCall::make_folder, [&](std::size_t) { return ::mkdir(made.c_str(), 0777); });
    if (result != 0 && errno != EEXIST) fail("create the folder", made);
  }
}

AppendFile::AppendFile(Descriptor file, fs::path path) : file_(std::move(file)), path_(std::move(path)) {}

std::optional<AppendFile> AppendFile::create(const fs::path& path) {
  Descriptor file = open_at(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
  if (file) return AppendFile(std::move(file), path);
  if (errno == EEXIST) return std::nullopt;
  fail("create", path);
}

void AppendFile::append(std::vector<std::byte>& content) {
  std::span<const std::byte> rest = content;
  try {
    write_all(file_.get(), rest, path_);
  } catch (const FileError&) {
    content.erase(content.begin(), content.end() - std::ssize(rest));
    throw;
  }
  content.clear();
}

}  // namespace croton::base
