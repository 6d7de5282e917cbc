// Event files: records with correct checksums, in separate files, and no point lost when a write fails.
// tests/archives/check.py reads the contents of the records.
#include <croton/error.hpp>
#include <croton/event_file.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "catch.hpp"
#include "contains.hpp"
#include "fault_hook.hpp"
#include "io/crc32c.hpp"
#include "temporary_folder.hpp"

using croton::io::crc32c;
using croton::io::EventFile;
using croton::test::bytes_of;
using croton::test::get_file;
using croton::test::HookScope;
using croton::test::put_file;
using croton::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

/// The events of a file, after checks of all lengths and checksums.
std::vector<std::string> events_of(const fs::path& file) {
  const std::string content = get_file(file);
  std::string_view rest = content;
  const auto number = [&](auto value) {
    REQUIRE(rest.size() >= sizeof(value));
    std::memcpy(&value, rest.data(), sizeof(value));
    rest.remove_prefix(sizeof(value));
    return value;
  };
  const auto masked = [](std::string_view text) {
    const std::uint32_t crc = crc32c(bytes_of(text));
    return static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8U);
  };
  std::vector<std::string> events;
  while (!rest.empty()) {
    const std::string_view size_bytes = rest.substr(0, 8);
    const auto size = number(std::uint64_t{});
    REQUIRE(number(std::uint32_t{}) == masked(size_bytes));
    REQUIRE(rest.size() >= size);
    events.emplace_back(rest.substr(0, size));
    rest.remove_prefix(size);
    REQUIRE(number(std::uint32_t{}) == masked(events.back()));
  }
  return events;
}

}  // namespace

TEST_CASE("CRC-32C gives the answers of RFC 3720", "[event_file]") {
  std::string counting(32, '\0');
  for (int i = 0; i < 32; ++i) counting[static_cast<std::size_t>(i)] = static_cast<char>(i);
  CHECK(crc32c(bytes_of(std::string(32, '\0'))) == 0x8A9136AA);
  CHECK(crc32c(bytes_of(std::string(32, '\xFF'))) == 0x62A8AB43);
  CHECK(crc32c(bytes_of(counting)) == 0x46DD794E);
  std::reverse(counting.begin(), counting.end());
  CHECK(crc32c(bytes_of(counting)) == 0x113FDB5C);
  std::string command(48, '\0');  // an iSCSI read command
  for (const auto& [at, value] : {std::pair{0, '\x01'},
                                  {1, '\xC0'},
                                  {16, '\x14'},
                                  {22, '\x04'},
                                  {27, '\x14'},
                                  {31, '\x18'},
                                  {32, '\x28'},
                                  {40, '\x02'}})
    command[static_cast<std::size_t>(at)] = value;
  CHECK(crc32c(bytes_of(command)) == 0xD9963A56);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("points are in the file when it is flushed", "[event_file]") {
  const TemporaryFolder folder;
  EventFile file(folder / "logs/run 1");
  CHECK(file.path().parent_path() == folder / "logs/run 1");
  CHECK_THAT(file.path().filename().string(), contains("events.out.tfevents."));
  CHECK(events_of(file.path()).size() == 1);
  CHECK_THAT(events_of(file.path())[0], contains("\x1A\x0D"
                                                 "brain.Event:2"));  // field 3, 13 bytes
  file.scalar("loss", 0.5, 300);
  CHECK(events_of(file.path()).size() == 1);
  file.flush();
  REQUIRE(events_of(file.path()).size() == 2);
  const std::string event = events_of(file.path())[1];
  CHECK(event.substr(0, 1) == "\x09");  // wall_time, a double
  // step 300, then a summary with a value: tag and number.
  CHECK(event.substr(9) == std::string("\x10\xAC\x02\x2A\x0D\x0A\x0B\x0A\x04loss\x15\0\0\0\x3F", 18));
  for (int i = 0; i < 5000; ++i) file.scalar("loss", i, i);
  CHECK(events_of(file.path()).size() > 1000);  // many at a time
  file.flush();
  CHECK(events_of(file.path()).size() == 5002);
}

TEST_CASE("files of one second have names of their own; the destructor writes the rest", "[event_file]") {
  const TemporaryFolder folder;
  fs::path first, second;
  {
    EventFile one(folder.path()), other(folder.path());
    first = one.path();
    second = other.path();
    one.scalar("a", 1, 1);
    other.scalar("b", 2, 2);
    EventFile moved = std::move(one);
    moved.scalar("a", 2, 2);
    moved = std::move(other);
    CHECK(moved.path() == second);
  }
  CHECK(first != second);
  CHECK(events_of(first).size() == 3);
  CHECK(events_of(second).size() == 2);
}

TEST_CASE("any call of an event file may fail, and no point is lost", "[event_file]") {
  const TemporaryFolder folder;
  std::size_t call = 0, failing = 0;
  const auto fail_once = [&](croton::base::FileCall) {
    return croton::base::Fault{.error = call++ == failing ? ENOSPC : 0, .at_most = 7};
  };
  for (bool made = false; !made; ++failing) {
    call = 0;
    HookScope hook(fail_once);
    try {
      EventFile file(folder / ("new" + std::to_string(failing)));
      made = true;
    } catch (const croton::FileError& error) {
      CHECK_THAT(error.what(), contains("No space left on device"));
    }
  }
  CHECK(failing > 10);  // folders, the file, several writes

  EventFile file(folder.path());
  for (int i = 0; i < 10; ++i) file.scalar("loss", i, i);
  for (failing = 0; failing < 15; failing += 3) {  // some points are written each time, up to the middle of one
    call = 0;
    HookScope hook(fail_once);
    CHECK_THROWS_AS(file.flush(), croton::FileError);
  }
  file.flush();
  CHECK(events_of(file.path()).size() == 11);

  std::optional<EventFile> ending(std::in_place, folder.path());
  ending->scalar("loss", 1, 1);
  HookScope hook([](croton::base::FileCall) { return croton::base::Fault{.error = EIO}; });
  CHECK_NOTHROW(ending.reset());
}

TEST_CASE("a folder that cannot be is a FileError", "[event_file]") {
  const TemporaryFolder folder;
  put_file(folder / "file", "");
  CHECK_THROWS_AS(EventFile(folder / "file"), croton::FileError);
  CHECK_THROWS_WITH(EventFile(folder / "file/logs"), contains("cannot create the folder") && contains("file/logs"));
}
