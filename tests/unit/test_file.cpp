// File access: accepted and rejected files, and that no failure of the operating system leaves a half-written file.
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <croton/error.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace croton;
using namespace croton::base;
using croton::test::bytes_of;
using croton::test::get_file;
using croton::test::put_file;
using croton::test::TemporaryFolder;
using croton::test::text_of;

namespace {

struct HookScope {
  explicit HookScope(FaultHook hook) { set_fault_hook(std::move(hook)); }
  ~HookScope() { set_fault_hook({}); }
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::size_t count_files(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("read_file reads regular files within the limit", "[file]") {
  TemporaryFolder folder;
  put_file(folder / "some", "content");
  put_file(folder / "empty", "");
  CHECK(text_of(read_file(folder / "some", 7).value()) == "content");
  CHECK(read_file(folder / "empty", 7).value().empty());
  CHECK_FALSE(read_file(folder / "missing", 7).has_value());
  CHECK(contains(message_of([&] { read_file(folder / "some", 6); }), "has 7 bytes, the limit is 6"));
  CHECK(contains(message_of([&] { read_file(folder.path(), 100); }), "is not a regular file"));
}

TEST_CASE("read_file does not wait for a pipe", "[file]") {
  TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(message_of([&] { read_file(folder / "pipe", 100); }), "is not a regular file"));
}

TEST_CASE("configuration files may be links but not writable by all", "[file]") {
  TemporaryFolder folder;
  put_file(folder / "target", "content");
  fs::create_symlink(folder / "target", folder / "link");
  CHECK(text_of(read_file(folder / "link", 100, Trust::owner).value()) == "content");
  REQUIRE(chmod((folder / "target").c_str(), 0666) == 0);
  CHECK(contains(message_of([&] { read_file(folder / "link", 100, Trust::owner); }), "can be written by every user"));
  CHECK(text_of(read_file(folder / "link", 100).value()) == "content");
  if (geteuid() == 0) {
    REQUIRE(chmod((folder / "target").c_str(), 0644) == 0);
    REQUIRE(chown((folder / "target").c_str(), 65534, 65534) == 0);
    CHECK(contains(message_of([&] { read_file(folder / "link", 100, Trust::owner); }), "belongs to another user"));
  }
}

TEST_CASE("a private folder is created with mode 0700", "[file]") {
  TemporaryFolder folder;
  Folder::open_private(folder / "a/b/c");
  for (const char* name : {"a", "a/b", "a/b/c"}) {
    struct stat status{};
    REQUIRE(stat((folder / name).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
  }
}

TEST_CASE("a private folder that others could change is refused", "[file]") {
  TemporaryFolder folder;
  const fs::path inner = folder / "inner";
  fs::create_directory(inner);
  const auto refusal = [&](const fs::path& path) { return message_of([&] { Folder::open_private(path); }); };
  REQUIRE(chmod(inner.c_str(), 0755) == 0);
  CHECK(refusal(inner) == "no error");
  REQUIRE(chmod(inner.c_str(), 0770) == 0);
  CHECK(contains(refusal(inner), "can be written by other users"));
  REQUIRE(chmod(inner.c_str(), 0777) == 0);
  CHECK(contains(refusal(inner), "can be written by other users"));
  CHECK(contains(refusal(inner / "below"), "can be written by every user"));
  REQUIRE(chmod(inner.c_str(), 01777) == 0);
  CHECK(refusal(inner / "below") == "no error");
  CHECK(contains(refusal("relative/folder"), "is not an absolute path"));
  put_file(folder / "file", "");
  CHECK(contains(refusal(folder / "file"), "is not a folder"));
  CHECK(contains(refusal(folder / "file/below"), "is not a folder"));
}

TEST_CASE("a private folder is not reached through links", "[file]") {
  TemporaryFolder folder;
  fs::create_directories(folder / "real/below");
  fs::create_directory_symlink(folder / "real", folder / "link");
  for (const char* name : {"link", "link/below"}) {
    CHECK(contains(message_of([&] { Folder::open_private(folder / name); }), "is a symbolic link"));
  }
  CHECK(message_of([&] { Folder::open_private(folder / "real/below"); }) == "no error");
}

TEST_CASE("a private folder of another user is refused", "[file]") {
  if (geteuid() != 0) return;  // only root can change the owner of a folder
  TemporaryFolder folder;
  fs::create_directory(folder / "theirs");
  REQUIRE(chown((folder / "theirs").c_str(), 65534, 65534) == 0);
  CHECK(contains(message_of([&] { Folder::open_private(folder / "theirs"); }), "belongs to another user (uid 65534)"));
}

TEST_CASE("entries of a private folder are plain files of this user with one name", "[file]") {
  TemporaryFolder temporary;
  const Folder folder = Folder::open_private(temporary.path());
  const auto refusal = [&] { return message_of([&] { folder.read("entry", 100, Trust::entry); }); };
  const fs::path entry = temporary / "entry";
  put_file(entry, "content");
  CHECK(refusal() == "no error");
  REQUIRE(chmod(entry.c_str(), 0620) == 0);
  CHECK(contains(refusal(), "can be written by other users"));
  REQUIRE(chmod(entry.c_str(), 0600) == 0);
  fs::create_hard_link(entry, temporary / "second");
  CHECK(contains(refusal(), "more than one name"));
  fs::remove(entry);
  fs::create_symlink(temporary / "second", entry);
  CHECK(contains(refusal(), "is a symbolic link"));
  fs::remove(entry);
  fs::create_directory(entry);
  CHECK(contains(refusal(), "is not a regular file"));
  fs::remove(entry);
  if (geteuid() == 0) {
    put_file(entry, "content");
    REQUIRE(chown(entry.c_str(), 65534, 65534) == 0);
    CHECK(contains(refusal(), "belongs to another user"));
  }
}

TEST_CASE("publish replaces any file of the name", "[file]") {
  TemporaryFolder temporary;
  const Folder folder = Folder::open_private(temporary.path());
  const fs::path entry = temporary / "entry";
  const auto publish_works = [&] {
    folder.publish("entry", bytes_of("new"));
    CHECK(text_of(folder.read("entry", 100, Trust::entry).value()) == "new");
  };
  publish_works();
  CHECK(fs::status(entry).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  put_file(temporary / "other", "kept");
  fs::remove(entry);
  fs::create_symlink(temporary / "other", entry);
  publish_works();
  fs::remove(entry);
  fs::create_hard_link(temporary / "other", entry);
  publish_works();
  CHECK(get_file(temporary / "other") == "kept");
  fs::remove(entry);
  REQUIRE(mkfifo(entry.c_str(), 0600) == 0);
  publish_works();
  fs::remove(entry);
  fs::create_directory(entry);
  publish_works();
  CHECK(count_files(temporary.path()) == 2);
  fs::remove(entry);
  fs::create_directories(entry / "full");
  publish_works();
  CHECK(folder.entries().size() == 2);
}

TEST_CASE("publish leaves the old or the new content when a call fails", "[file]") {
  TemporaryFolder temporary;
  const Folder folder = Folder::open_private(temporary.path());
  const std::string before(5000, 'b'), after(7000, 'a');
  std::size_t calls = 0, failures = 0;
  for (int error : {EIO, ENOSPC, EROFS, EMFILE}) {
    for (std::size_t failing = 0;; ++failing) {
      folder.publish("entry", bytes_of(before));
      std::size_t call = 0;
      std::string message;
      {
        HookScope hook([&](FileCall) { return Fault{.error = call++ == failing ? error : 0, .at_most = 1000}; });
        message = message_of([&] { folder.publish("entry", bytes_of(after)); });
      }
      const std::string content = get_file(temporary / "entry");
      CHECK(content == (message == "no error" ? after : before));
      CHECK(count_files(temporary.path()) == 1);
      if (message == "no error") {
        calls = call;
        break;
      }
      ++failures;
    }
  }
  CHECK(calls == 10);  // open, 7 writes, sync, rename: another call would be missing from this test
  CHECK(failures == 4 * calls);
}

TEST_CASE("interrupted and short calls are continued", "[file]") {
  TemporaryFolder temporary;
  const Folder folder = Folder::open_private(temporary.path());
  const std::string content(1000, 'c');
  std::size_t call = 0;
  HookScope hook([&](FileCall) { return Fault{.error = call++ % 2 == 0 ? EINTR : 0, .at_most = call % 7 + 1}; });
  folder.publish("entry", bytes_of(content));
  CHECK(text_of(folder.read("entry", 1000, Trust::entry).value()) == content);
  CHECK(call > 500);
}

TEST_CASE("every failing call of a read is a FileError", "[file]") {
  TemporaryFolder temporary;
  put_file(temporary / "entry", "content");
  const Folder folder = Folder::open_private(temporary.path());
  std::size_t call = 0, failing = 0;
  HookScope hook([&](FileCall) { return Fault{.error = call++ == failing ? EIO : 0}; });
  for (; failing < 3; ++failing) {
    call = 0;
    CHECK(contains(message_of([&] { folder.read("entry", 100, Trust::entry); }), "Input/output error"));
  }
  call = 0;
  CHECK(message_of([&] { folder.read("entry", 100, Trust::entry); }) == "no error");
  CHECK(call == 3);  // open, status, read
  for (failing = 0; failing < 5; ++failing) {
    call = 0;
    CHECK(contains(message_of([&] { folder.entries(); }), "Input/output error"));
  }
  for (failing = 0; failing < 6; ++failing) {
    call = 0;
    CHECK(contains(message_of([&] { Folder::open_private(temporary.path()); }), "Input/output error"));
  }
}

TEST_CASE("only old temporary files are swept", "[file]") {
  TemporaryFolder temporary;
  put_file(temporary / ".tmp-0000000000000001", "old");
  put_file(temporary / ".tmp-0000000000000002", "new");
  put_file(temporary / "entry", "content");
  timespec times[2] = {{.tv_sec = time(nullptr) - 7200, .tv_nsec = 0}, {.tv_sec = time(nullptr) - 7200, .tv_nsec = 0}};
  for (const char* name : {".tmp-0000000000000001", "entry"}) {
    REQUIRE(utimensat(AT_FDCWD, (temporary / name).c_str(), times, 0) == 0);
  }
  const Folder folder = Folder::open_private(temporary.path());
  CHECK(folder.entries().size() == 1);
  CHECK(folder.remove_abandoned(std::chrono::hours(1)) == 1);
  CHECK_FALSE(fs::exists(temporary / ".tmp-0000000000000001"));
  CHECK(fs::exists(temporary / ".tmp-0000000000000002"));
  CHECK(fs::exists(temporary / "entry"));
}

TEST_CASE("code in folders that all may write to is not trusted", "[file]") {
  TemporaryFolder temporary;
  fs::create_directories(temporary / "outer/inner");
  const fs::path file = temporary / "outer/inner/library.so";
  put_file(file, "");
  CHECK(why_untrusted(file).empty());
  REQUIRE(chmod((temporary / "outer").c_str(), 0777) == 0);
  CHECK(contains(why_untrusted(file), "outer can be written by every user"));
  REQUIRE(chmod((temporary / "outer").c_str(), 01777) == 0);
  CHECK(why_untrusted(file).empty());
  REQUIRE(chmod((temporary / "outer/inner").c_str(), 01777) == 0);
  CHECK(contains(why_untrusted(file), "inner can be written by every user"));
  REQUIRE(chmod((temporary / "outer/inner").c_str(), 0755) == 0);
  REQUIRE(chmod(file.c_str(), 0666) == 0);
  CHECK(contains(why_untrusted(file), "library.so can be written by every user"));
  CHECK(contains(why_untrusted(temporary / "missing"), "cannot be inspected"));
}

TEST_CASE("a deleted folder is noticed", "[file]") {
  TemporaryFolder temporary;
  const Folder folder = Folder::open_private(temporary / "inner");
  CHECK(folder.still_there());
  fs::remove(temporary / "inner");
  CHECK_FALSE(folder.still_there());
  fs::create_directory(temporary / "inner");
  CHECK_FALSE(folder.still_there());
}
