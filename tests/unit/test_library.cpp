// Libraries loaded at run time: found where they are installed, rejected where other users could have put them, with
// clear messages if they are missing.
#include "runtime/support/library.hpp"

#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <croton/error.hpp>
#include <thread>

#include "catch.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace croton;
using croton::runtime::SharedLibrary;
using croton::test::put_file;
using croton::test::TemporaryFolder;

namespace {

SharedLibrary::Search search_for_math() { return {"the C library's mathematics", {"libm.so.6"}, {}, true, "libc6"}; }

fs::path math_library() { return SharedLibrary(search_for_math()).path(); }

}  // namespace

TEST_CASE("a library of the system is found and called", "[library]") {
  SharedLibrary library(search_for_math());
  CHECK(library.load());
  CHECK(library.function<double(double)>("cos")(1.0) == std::cos(1.0));
  CHECK(library.optional_function<void()>("no_such_function") == nullptr);
  CHECK(library.path().is_absolute());
  CHECK(library.path().filename().string().starts_with("libm"));
  CHECK(library.build().size() >= 16);
  CHECK(library.explain() == "the C library's mathematics: loaded from " + library.path().string());
  CHECK_THROWS_AS(library.function<void()>("no_such_function"), DeviceError);
}

TEST_CASE("a missing library is named with the places searched and its package", "[library]") {
  TemporaryFolder folder;
  SharedLibrary library({"the Nothing library",
                         {"libcroton-nothing.so.2", "libcroton-nothing.so.1"},
                         {folder.path()},
                         true,
                         "apt install nothing"});
  CHECK_FALSE(library.load());
  CHECK(library.path().empty());
  CHECK(library.tried().size() == 4);
  std::string message;
  try {
    library.require();
  } catch (const DeviceError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("the Nothing library was not found. Tried:\n"));
  CHECK(message.find((folder / "libcroton-nothing.so.2").string() + ": no such file\n") != message.npos);
  CHECK(message.find("  libcroton-nothing.so.1: ") != message.npos);
  CHECK(message.ends_with("It is part of: apt install nothing"));
  CHECK_THROWS_AS(library.function<void()>("anything"), DeviceError);
}

TEST_CASE("folders come before the system, the first name before the second", "[library]") {
  TemporaryFolder folder;
  fs::copy_file(math_library(), folder / "second.so");
  SharedLibrary::Search search = search_for_math();
  search.names = {"first.so", "second.so", "libm.so.6"};
  search.folders = {folder / "missing", folder.path()};
  SharedLibrary library(search);
  CHECK(library.path() == folder / "second.so");
  CHECK(library.tried().size() == 5);
  CHECK(library.tried().back().outcome == "loaded");
}

TEST_CASE("a companion is loaded from the folder of a library, and then known by its name", "[library]") {
  TemporaryFolder folder;
  fs::copy_file(math_library(), folder / "math.so");
  SharedLibrary library({"a copy", {"math.so"}, {folder.path()}, false, "nothing"});
  REQUIRE(library.load());
  CHECK_FALSE(library.load_companion("companion.so"));
  put_file(folder / "text.so", "no library");
  CHECK_FALSE(library.load_companion("text.so"));
  fs::copy_file(math_library(), folder / "companion.so");
  CHECK(library.load_companion("companion.so"));
  REQUIRE(chmod(folder.path().c_str(), 01777) == 0);
  CHECK_FALSE(library.load_companion("companion.so"));  // any user could have put it there
}

TEST_CASE("a file that is no library is passed over", "[library]") {
  TemporaryFolder folder;
  put_file(folder / "libm.so.6", "no library");
  SharedLibrary::Search search = search_for_math();
  search.folders = {folder.path()};
  SharedLibrary library(search);
  CHECK(library.path() == math_library());
  CHECK(library.tried().size() == 2);
}

TEST_CASE("nothing is loaded from relative folders or from folders that all may write to", "[library]") {
  TemporaryFolder folder;
  fs::copy_file(math_library(), folder / "copy.so");
  REQUIRE(chmod(folder.path().c_str(), 01777) == 0);
  SharedLibrary library({"a copy", {"copy.so"}, {".", folder.path()}, false, "nothing"});
  CHECK_FALSE(library.load());
  REQUIRE(library.tried().size() == 2);
  CHECK(library.tried()[0].outcome == "refused: not an absolute path");
  CHECK(library.tried()[1].outcome.starts_with("refused: "));
}

TEST_CASE("threads may ask at once", "[library]") {
  SharedLibrary library(search_for_math());
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { good += library.load() ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 8);
  CHECK(library.tried().size() == 1);
}
