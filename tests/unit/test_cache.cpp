// The kernel cache: only verified entries are used, no failure reaches the user as an error, and any number of
// processes, including killed ones, share a folder.
#include "runtime/support/cache.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <croton/error.hpp>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace croton;
using croton::base::Fault;
using croton::base::FileCall;
using croton::runtime::CacheKey;
using croton::runtime::KernelCache;
using croton::test::bytes_of;
using croton::test::get_file;
using croton::test::put_file;
using croton::test::run_child;
using croton::test::TemporaryFolder;

namespace {

constexpr std::size_t header_size = 56, hashed_from = 24;

std::string digest_of(int number) { return CacheKey().add("number", std::to_string(number)).digest(); }

// A unique payload for each key.
std::vector<std::byte> payload_of(int number, std::size_t size = 300) {
  std::mt19937 random(static_cast<unsigned>(number) + 1);
  std::vector<std::byte> payload(size);
  for (std::byte& byte : payload) byte = static_cast<std::byte>(random() & 0xff);
  return payload;
}

class CacheFixture {
 public:
  CacheFixture() {
    cache.set_warning_sink([this](const std::string& text) { warnings.push_back(text); });
  }

  fs::path file(int number) const { return temporary / ("cache/" + digest_of(number) + ".kernel"); }
  std::size_t damaged() const { return cache.stats().damaged; }

  TemporaryFolder temporary;
  std::vector<std::string> warnings;
  KernelCache cache{temporary / "cache"};
};

// Checks that the entry under key 1 is rejected, and that storing again makes the key valid.
void check_refused_and_replaced(CacheFixture& fixture) {
  const std::size_t before = fixture.damaged();
  CHECK_FALSE(fixture.cache.find(digest_of(1)).has_value());
  CHECK(fixture.damaged() == before + 1);
  CHECK(fixture.warnings.size() == 1);
  fixture.cache.store(digest_of(1), payload_of(1));
  CHECK(fixture.cache.find(digest_of(1)) == payload_of(1));
}

// Corrects the checksum of an entry, so that a test reaches the checks after it.
std::string with_checksum(std::string entry) {
  const base::Digest checksum = base::hash128(std::string_view(entry).substr(hashed_from));
  std::copy(checksum.begin(), checksum.end(), entry.begin() + 8);
  return entry;
}

struct HookScope {
  explicit HookScope(base::FaultHook hook) { base::set_fault_hook(std::move(hook)); }
  ~HookScope() { base::set_fault_hook({}); }
};

bool killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

}  // namespace

TEST_CASE("a cache key tells its parts apart", "[cache]") {
  const auto key = [](std::vector<std::pair<std::string, std::string>> parts) {
    CacheKey made;
    for (const auto& [name, value] : parts) made.add(name, value);
    return made.digest();
  };
  const std::set<std::string> different = {key({}),
                                           key({{"", ""}}),
                                           key({{"a", "bc"}}),
                                           key({{"ab", "c"}}),
                                           key({{"abc", ""}}),
                                           key({{"", "abc"}}),
                                           key({{"a", "b"}, {"c", ""}}),
                                           key({{"a", ""}, {"b", "c"}}),
                                           key({{"b", "c"}, {"a", ""}})};
  CHECK(different.size() == 9);
  CHECK(key({{"a", "bc"}}) == key({{"a", "bc"}}));
  // The digest names files of earlier runs: it may only change together with the format of entries.
  CHECK(key({{"source", "x + 1"}, {"target", "sm_90"}}) == "3effa16ce9ce924668a11e39fcd59ef3");
}

TEST_CASE("stored entries are found, also by a second cache", "[cache]") {
  CacheFixture fixture;
  CHECK_FALSE(fixture.cache.find(digest_of(1)).has_value());
  fixture.cache.store(digest_of(1), payload_of(1));
  fixture.cache.store(digest_of(2), {});
  CHECK(fixture.cache.find(digest_of(1)) == payload_of(1));
  KernelCache second(fixture.temporary / "cache");
  CHECK(second.find(digest_of(1)) == payload_of(1));
  CHECK(second.find(digest_of(2)).value().empty());
  CHECK(fixture.cache.stats().hits == 1);
  CHECK(fixture.cache.stats().misses == 1);
  CHECK(fixture.cache.stats().stored == 2);
  CHECK(fixture.warnings.empty());
}

TEST_CASE("list, size and clear see entries only", "[cache]") {
  CacheFixture fixture;
  CHECK(fixture.cache.list().empty());
  for (int number : {1, 2, 3}) fixture.cache.store(digest_of(number), payload_of(number));
  put_file(fixture.temporary / "cache/notes.txt", "mine");
  CHECK(fixture.cache.list().size() == 3);
  CHECK(fixture.cache.size() == 3 * (300 + header_size));
  CHECK(fixture.cache.clear() == 3);
  CHECK(fixture.cache.list().empty());
  CHECK(get_file(fixture.temporary / "cache/notes.txt") == "mine");
}

TEST_CASE("only digests name entries", "[cache]") {
  CacheFixture fixture;
  for (const char* wrong : {"", "abc", "../../../../../../../etc/passwd0", "0123456789ABCDEF0123456789ABCDEF"}) {
    CHECK_THROWS_AS(fixture.cache.find(wrong), InternalError);
    CHECK_THROWS_AS(fixture.cache.store(wrong, {}), InternalError);
  }
}

TEST_CASE("each changed byte of an entry is noticed", "[cache]") {
  CacheFixture fixture;
  fixture.cache.store(digest_of(1), payload_of(1));
  const std::string good = get_file(fixture.file(1));
  REQUIRE(good.size() == header_size + 300);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int mask : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ mask);
      put_file(fixture.file(1), bad);
      REQUIRE_FALSE(fixture.cache.find(digest_of(1)).has_value());
    }
  }
  CHECK(fixture.damaged() == 3 * good.size());
  CHECK(fixture.warnings.size() == 1);
  put_file(fixture.file(1), good);
  CHECK(fixture.cache.find(digest_of(1)) == payload_of(1));
}

TEST_CASE("each truncated or extended entry is noticed", "[cache]") {
  CacheFixture fixture;
  fixture.cache.store(digest_of(1), payload_of(1));
  const std::string good = get_file(fixture.file(1));
  for (std::size_t size = 0; size < good.size(); ++size) {
    put_file(fixture.file(1), good.substr(0, size));
    REQUIRE_FALSE(fixture.cache.find(digest_of(1)).has_value());
  }
  put_file(fixture.file(1), good + '\0');
  check_refused_and_replaced(fixture);
}

TEST_CASE("an entry with a right checksum but wrong fields is refused", "[cache]") {
  CacheFixture fixture;
  fixture.cache.store(digest_of(1), payload_of(1));
  fixture.cache.store(digest_of(2), payload_of(2));
  const std::string good = get_file(fixture.file(1));
  REQUIRE(with_checksum(good) == good);
  std::string bad = good;
  std::string reason;
  SECTION("a future format") {
    bad[24] = 2;
    reason = "another version of Croton";
  }
  SECTION("the reserved field") {
    bad[28] = 1;
    reason = "another version of Croton";
  }
  SECTION("the entry of another key") {
    bad = get_file(fixture.file(2));
    reason = "another key";
  }
  SECTION("a size that is too small") {
    bad[48] = static_cast<char>(bad[48] - 1);
    reason = "wrong size";
  }
  SECTION("a huge size") {
    bad[55] = '\x7f';
    reason = "wrong size";
  }
  SECTION("no entry at all") {
    bad = "CTwhatever" + std::string(100, ' ');
    reason = "not an entry";
  }
  put_file(fixture.file(1), with_checksum(bad));
  check_refused_and_replaced(fixture);
  CHECK(fixture.warnings.at(0).find(reason) != std::string::npos);
}

TEST_CASE("two swapped entries are both refused", "[cache]") {
  CacheFixture fixture;
  for (int number : {1, 2}) fixture.cache.store(digest_of(number), payload_of(number));
  fs::rename(fixture.file(1), fixture.temporary / "aside");
  fs::rename(fixture.file(2), fixture.file(1));
  fs::rename(fixture.temporary / "aside", fixture.file(2));
  CHECK_FALSE(fixture.cache.find(digest_of(1)).has_value());
  CHECK_FALSE(fixture.cache.find(digest_of(2)).has_value());
  CHECK(fixture.damaged() == 2);
  CHECK(fixture.warnings.size() == 1);
}

TEST_CASE("anything but a plain file of this user is refused", "[cache]") {
  CacheFixture fixture;
  fixture.cache.store(digest_of(1), payload_of(1));
  const fs::path file = fixture.file(1), aside = fixture.temporary / "aside";
  fs::rename(file, aside);
  SECTION("a folder") { fs::create_directory(file); }
  SECTION("a folder with content") { fs::create_directories(file / "below"); }
  SECTION("a pipe") { REQUIRE(mkfifo(file.c_str(), 0600) == 0); }
  SECTION("a symbolic link to a good entry") { fs::create_symlink(aside, file); }
  SECTION("a symbolic link to nothing") { fs::create_symlink(fixture.temporary / "missing", file); }
  SECTION("a hard link to a good entry") { fs::create_hard_link(aside, file); }
  SECTION("a file that others may write to") {
    fs::copy(aside, file);
    REQUIRE(chmod(file.c_str(), 0666) == 0);
  }
  SECTION("a file of another user") {
    if (geteuid() != 0) return;  // only root can change the owner of a file
    fs::copy(aside, file);
    REQUIRE(chown(file.c_str(), 65534, 65534) == 0);
  }
  check_refused_and_replaced(fixture);
}

TEST_CASE("a folder that cannot be trusted turns the cache off with one warning", "[cache]") {
  CacheFixture fixture;
  const fs::path folder = fixture.temporary / "cache";
  SECTION("writable by others") {
    fs::create_directory(folder);
    REQUIRE(chmod(folder.c_str(), 0777) == 0);
  }
  SECTION("a link") {
    fs::create_directory(fixture.temporary / "real");
    fs::create_directory_symlink(fixture.temporary / "real", folder);
  }
  SECTION("a file") { put_file(folder, ""); }
  for (int number : {1, 2, 3}) {
    fixture.cache.store(digest_of(number), payload_of(number));
    CHECK_FALSE(fixture.cache.find(digest_of(number)).has_value());
  }
  CHECK(fixture.cache.list().empty());
  CHECK(fixture.cache.clear() == 0);
  CHECK(fixture.cache.stats().stored == 0);
  CHECK(fixture.cache.stats().misses == 3);
  REQUIRE(fixture.warnings.size() == 1);
  CHECK(fixture.warnings[0].find("the kernel cache is off") == 0);
}

TEST_CASE("without a folder there is no cache and no warning", "[cache]") {
  KernelCache cache{fs::path()};
  std::size_t warnings = 0;
  cache.set_warning_sink([&](const std::string&) { ++warnings; });
  cache.store(digest_of(1), payload_of(1));
  CHECK_FALSE(cache.find(digest_of(1)).has_value());
  CHECK(warnings == 0);
}

TEST_CASE("a folder that cannot be written to costs one warning", "[cache]") {
  TemporaryFolder temporary;
  const int status = run_child([&] {
    // For root every folder is writable: the child continues as a user who owns the folder, but has no permission to
    // write.
    const fs::path folder = temporary / "cache";
    fs::create_directory(folder);
    fs::permissions(temporary.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
    if (geteuid() == 0 && chown(folder.c_str(), 65534, 65534) != 0) return 1;
    croton::test::drop_root();
    if (chmod(folder.c_str(), 0500) != 0) return 2;
    std::size_t warnings = 0;
    const auto count = [&](const std::string&) { ++warnings; };
    KernelCache present(folder), absent(folder / "below");
    for (KernelCache* cache : {&present, &absent}) {
      warnings = 0;
      cache->set_warning_sink(count);
      for (int number : {1, 2, 3}) cache->store(digest_of(number), payload_of(number));
      for (int number : {1, 2, 3}) {
        if (cache->find(digest_of(number)).has_value()) return 3;
      }
      if (warnings != 1 || cache->stats().stored != 0) return 4;
    }
    return 0;
  });
  CHECK(status == 0);
}

TEST_CASE("a folder deleted while the program runs is made again", "[cache]") {
  CacheFixture fixture;
  fixture.cache.store(digest_of(1), payload_of(1));
  fs::remove_all(fixture.temporary / "cache");
  CHECK_FALSE(fixture.cache.find(digest_of(1)).has_value());
  fixture.cache.store(digest_of(1), payload_of(1));
  CHECK(fixture.cache.find(digest_of(1)) == payload_of(1));
  CHECK(fixture.warnings.empty());
}

TEST_CASE("no failing call of the operating system becomes an error or a wrong payload", "[cache]") {
  std::size_t injected = 0;
  for (int error : {EIO, ENOSPC, EROFS, EACCES, EMFILE, ENOENT, EINTR}) {
    for (std::size_t failing = 0;; ++failing) {
      CacheFixture fixture;
      std::size_t call = 0;
      {
        HookScope hook([&](FileCall) { return Fault{.error = call++ == failing ? error : 0, .at_most = 100}; });
        fixture.cache.store(digest_of(1), payload_of(1));
        const auto found = fixture.cache.find(digest_of(1));
        REQUIRE((!found.has_value() || *found == payload_of(1)));
        fixture.cache.list();
        fixture.cache.clear();
      }
      CHECK(fixture.warnings.size() <= 2);
      KernelCache next(fixture.temporary / "cache");
      next.store(digest_of(1), payload_of(1));
      REQUIRE(next.find(digest_of(1)) == payload_of(1));
      CHECK(next.stats().damaged == 0);
      if (call <= failing) break;
      ++injected;
    }
  }
  CHECK(injected > 7 * 20);
}

TEST_CASE("sixteen processes share a cold folder", "[cache]") {
  TemporaryFolder temporary;
  constexpr int processes = 16, keys = 20, rounds = 5;
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      std::mt19937 random(static_cast<unsigned>(process));
      bool good = true;
      for (int round = 0; round < rounds; ++round) {
        KernelCache cache(temporary / "cache");
        cache.set_warning_sink([&](const std::string&) { good = false; });
        std::vector<int> order(keys);
        for (int key = 0; key < keys; ++key) order[static_cast<std::size_t>(key)] = key;
        std::ranges::shuffle(order, random);
        for (int key : order) {
          const auto found = cache.find(digest_of(key));
          if (found && *found != payload_of(key, 20000)) good = false;
          if (!found || round % 2 == 1) cache.store(digest_of(key), payload_of(key, 20000));
        }
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  KernelCache cache(temporary / "cache");
  CHECK(cache.list().size() == keys);
  for (int key = 0; key < keys; ++key) CHECK(cache.find(digest_of(key)) == payload_of(key, 20000));
  CHECK(std::distance(fs::directory_iterator(temporary / "cache"), {}) == keys);
}

TEST_CASE("threads share one cache", "[cache]") {
  CacheFixture fixture;
  constexpr int threads = 8, keys = 20;
  std::atomic<int> wrong{0};
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&] {
      for (int key = 0; key < keys; ++key) {
        const auto found = fixture.cache.find(digest_of(key));
        if (!found) fixture.cache.store(digest_of(key), payload_of(key));
        if (fixture.cache.find(digest_of(key)) != payload_of(key)) ++wrong;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  CHECK(wrong == 0);
  CHECK(fixture.cache.list().size() == keys);
  const KernelCache::Stats stats = fixture.cache.stats();
  CHECK(stats.hits + stats.misses == 2 * threads * keys);
  CHECK(stats.stored == stats.misses);
  CHECK(fixture.warnings.empty());
}

TEST_CASE("a writer killed at any call leaves a good cache", "[cache]") {
  TemporaryFolder temporary;
  int kills = 0;
  for (std::size_t fatal = 0;; ++fatal) {
    const int status = run_child([&] {
      std::size_t call = 0;
      base::set_fault_hook([&](FileCall) {
        if (call++ == fatal) raise(SIGKILL);
        return Fault{.at_most = 1000};
      });
      KernelCache cache(temporary / ("cache" + std::to_string(fatal)));
      cache.store(digest_of(1), payload_of(1, 20000));
      return cache.find(digest_of(1)) == payload_of(1, 20000) ? 0 : 1;
    });
    KernelCache next(temporary / ("cache" + std::to_string(fatal)));
    const auto found = next.find(digest_of(1));
    REQUIRE((!found.has_value() || *found == payload_of(1, 20000)));
    next.store(digest_of(1), payload_of(1, 20000));
    REQUIRE(next.find(digest_of(1)) == payload_of(1, 20000));
    CHECK(next.stats().damaged == 0);
    if (!killed(status)) {
      CHECK(status == 0);
      break;
    }
    ++kills;
  }
  CHECK(kills > 50);  // 21 writes, 21 reads and the calls around them
}

TEST_CASE("writers killed at random moments leave a good cache", "[cache]") {
  TemporaryFolder temporary;
  std::mt19937 random(20);
  constexpr int kills = 200, keys = 5;
  int killed_count = 0;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    const pid_t child = fork();
    if (child == 0) {
      KernelCache cache(temporary / "cache");
      for (int key = 0;; key = (key + 1) % keys) cache.store(digest_of(key), payload_of(key, 100000));
    }
    usleep(static_cast<useconds_t>(random() % 4000));
    kill(child, SIGKILL);
    int status = -1;
    waitpid(child, &status, 0);
    killed_count += killed(status) ? 1 : 0;
    KernelCache next(temporary / "cache");
    for (int key = 0; key < keys; ++key) {
      const auto found = next.find(digest_of(key));
      REQUIRE((!found.has_value() || *found == payload_of(key, 100000)));
    }
    REQUIRE(next.stats().damaged == 0);
  }
  CHECK(killed_count == kills);
  KernelCache last(temporary / "cache");
  for (int key = 0; key < keys; ++key) {
    last.store(digest_of(key), payload_of(key, 100000));
    CHECK(last.find(digest_of(key)) == payload_of(key, 100000));
  }
  CHECK(last.list().size() == keys);
}

TEST_CASE("the default folder follows the XDG rules", "[cache]") {
  const auto folder_with = [](const char* cache, const char* home) {
    std::string answer;
    int channel[2];
    REQUIRE(pipe(channel) == 0);
    run_child([&] {
      cache ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME");
      home ? setenv("HOME", home, 1) : unsetenv("HOME");
      const std::string text = KernelCache::default_folder().string();
      return write(channel[1], text.data(), text.size()) < 0 ? 1 : 0;
    });
    close(channel[1]);
    char buffer[4096];
    const ssize_t size = read(channel[0], buffer, sizeof buffer);
    close(channel[0]);
    return std::string(buffer, size < 0 ? 0 : static_cast<std::size_t>(size));
  };
  CHECK(folder_with("/xdg", "/home/me") == "/xdg/croton");
  CHECK(folder_with(nullptr, "/home/me") == "/home/me/.cache/croton");
  CHECK(folder_with("relative", "/home/me") == "/home/me/.cache/croton");
  CHECK(folder_with("", "/home/me") == "/home/me/.cache/croton");
  CHECK(folder_with(nullptr, nullptr).ends_with("/.cache/croton"));
}
