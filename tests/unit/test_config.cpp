// Flags: setting them, their visibility, and the messages for invalid ones.
#include <croton/config.hpp>
#include <croton/error.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <thread>

#include "base/config.hpp"
#include "base/config_file.hpp"
#include "base/flag_table.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "folders.hpp"
#include "temporary_folder.hpp"

using croton::change_flags;
using croton::flag;
using croton::set_flag;
using croton::test::TemporaryFolder;
namespace base = croton::base;
namespace fs = std::filesystem;

namespace {

/// Restores a flag of the process.
class Restored {
 public:
  explicit Restored(std::string name) : name_(std::move(name)), value_(flag(name_)) {}
  ~Restored() { set_flag(name_, value_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  std::string name_;
  std::string value_;
};

croton::FlagInfo info(std::string_view name) {
  for (const croton::FlagInfo& info : croton::flags()) {
    if (info.name == name) return info;
  }
  throw std::runtime_error("no such flag");
}

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const croton::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string as_text(const std::vector<base::FlagAssignment>& assignments) {
  std::string text;
  for (const auto& a : assignments) text += a.name + "=" + a.value + " (" + a.origin + ")\n";
  return text;
}

/// Runs `body` in a process that starts with this environment; its result is the test's.
int with_environment(const fs::path& config, const char* list, const std::function<int()>& body) {
  return croton::test::run_child([&] {
    setenv("XDG_CONFIG_HOME", config.c_str(), 1);
    setenv("HOME", config.c_str(), 1);
    setenv("CROTON_FLAGS", list, 1);
    try {
      base::reload_config();
      return body();
    } catch (const croton::ConfigError&) {
      return 77;
    }
  });
}

}  // namespace

TEST_CASE("flags have defaults and types", "[config]") {
  CHECK(info("floatX").default_value == "float32");
  CHECK(info("floatX").type == "choice");
  CHECK(info("floatX").accepted == "float16, float32 or float64");
  CHECK(info("floatX").read_at == "build");
  CHECK(info("cuda_simulator").accepted == "0 to 16");
  CHECK(info("blas").accepted == "auto, none or an absolute path");
  std::string last;
  for (const croton::FlagInfo& row : croton::flags()) {
    CHECK(row.doc.ends_with('.'));
    CHECK(last < row.name);
    last = row.name;
    // A default that the flag itself rejects would be an error in the table.
    const base::FlagRow& table = base::flag_rows[base::flag_index(row.name, "test")];
    CHECK(base::canonical_value(table, row.default_value, "test") == row.default_value);
  }
}

TEST_CASE("code sets flags, in usual forms", "[config]") {
  const Restored cache("cache"), print("print"), cuda("cuda_simulator"), root("cuda_root"), float_x("floatX");
  set_flag("cache", "No");
  CHECK(flag("cache") == "false");
  CHECK_FALSE(base::config().cache);
  CHECK(info("cache").origin == "set_flag");
  set_flag("cache", "1");
  CHECK(base::config().cache);
  set_flag("print", "graph,kernels");
  CHECK(flag("print") == "graph+kernels");
  CHECK(base::has_word(base::config().print, "kernels"));
  CHECK_FALSE(base::has_word(base::config().print, "plan"));
  set_flag("print", "all");
  CHECK(base::has_word(base::config().print, "plan"));
  set_flag("cuda_simulator", "016");
  CHECK(flag("cuda_simulator") == "16");
  CHECK(base::config().cuda_simulator == 16);
  set_flag("cuda_root", "none");
  set_flag("cuda_root", "/usr/local/cuda");
  CHECK(base::config().cuda_root == "/usr/local/cuda");
  set_flag("floatX", "float16");
  CHECK(base::config().float_x() == croton::DType::float16);
}

TEST_CASE("errors about wrong names and values propose right ones", "[config]") {
  CHECK(message([] { flag("floatx"); }) == "flag: there is no flag \"floatx\"; the nearest is \"floatX\"");
  CHECK(message([] { set_flag("devise", "cpu"); }) ==
        "set_flag: there is no flag \"devise\"; the nearest is \"device\"");
  CHECK(message([] { set_flag("floatX", "float31"); }) ==
        "set_flag: the flag floatX does not take \"float31\"; accepted: float16, float32 or float64");
  CHECK_THAT(message([] { set_flag("cuda_simulator", "17"); }), contains("accepted: 0 to 16"));
  CHECK_THAT(message([] { set_flag("cuda_simulator", "1x"); }), contains("accepted: 0 to 16"));
  CHECK_THAT(message([] { set_flag("cuda_simulator", ""); }), contains("accepted: 0 to 16"));
  CHECK_THAT(message([] { set_flag("threads", "-1"); }), contains("accepted: 0 to 1024"));
  CHECK_THAT(message([] { set_flag("cache", "perhaps"); }), contains("accepted: true or false"));
  CHECK_THAT(message([] { set_flag("print", "graph+grpah"); }), contains("any of all, graph, rewrites"));
  CHECK_THAT(message([] { set_flag("cache_dir", "relative/folder"); }), contains("accepted: an absolute path"));
  CHECK_THAT(message([] { set_flag("device", std::string("c\0pu", 4)); }), contains("c\\x00pu"));
  CHECK_THAT(message([] { change_flags scope("mode=fast"); }),
             contains("change_flags: the flag mode") && contains("run, reference, simulate or verify"));
}

TEST_CASE("scopes change flags for their thread and time", "[config]") {
  const std::string before = flag("device");
  const std::string other = before == "cuda7" ? "cuda8" : "cuda7";
  {
    const change_flags outer("device=" + other + ", floatX=float64");
    CHECK(flag("device") == other);
    CHECK(base::config().device == other);
    CHECK(info("device").origin == "change_flags");
    CHECK(base::process_config().device == before);
    {
      const change_flags inner("device=cuda9");
      CHECK(flag("device") == "cuda9");
      CHECK(flag("floatX") == "float64");
    }
    CHECK(flag("device") == other);
    std::string seen;
    std::thread([&] { seen = flag("device"); }).join();
    CHECK(seen == before);
  }
  CHECK(flag("device") == before);

  try {
    const change_flags scope("device=cuda5");
    throw std::runtime_error("out of the scope");
  } catch (const std::runtime_error&) {
  }
  CHECK(flag("device") == before);

  // A scope that raises changes nothing, although its first setting was right.
  CHECK_THROWS_AS(change_flags("device=cuda5,floatX=x"), croton::ConfigError);
  CHECK(flag("device") == before);
}

TEST_CASE("flags that code sets within a scope keep their value after it", "[config]") {
  const Restored optimizer("optimizer"), threads("threads");
  {
    const change_flags scope("optimizer=none");
    set_flag("optimizer", "fast_compile");
    set_flag("threads", "3");
    CHECK(base::config().optimizer == base::OptimizerMode::none);
    CHECK(base::config().threads == 3);
    std::string seen;
    std::thread([&] { seen = flag("optimizer"); }).join();
    CHECK(seen == "fast_compile");
  }
  CHECK(base::config().optimizer == base::OptimizerMode::fast_compile);
}

TEST_CASE("equal flags are one object that stays", "[config]") {
  const base::Flags& first = base::config();
  const base::Flags* inside = nullptr;
  {
    const change_flags scope("device=cuda11");
    inside = &base::config();
    CHECK(inside != &first);
  }
  CHECK(&base::config() == &first);
  CHECK(inside->device == "cuda11");
  const change_flags again("device=cuda11");
  CHECK(&base::config() == inside);
}

TEST_CASE("threads read flags while one sets them", "[config]") {
  const Restored device("device");
  set_flag("device", "cpu");  // before the readers start, which may only see these two values
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      const std::string own = "own" + std::to_string(t);
      while (!stop) {
        const std::string seen = base::config().device;
        if (seen != "cpu" && seen != "cuda0") ++wrong;
        const change_flags scope("device=" + own);
        if (base::config().device != own) ++wrong;
      }
    });
  }
  for (int i = 0; i < 2000; ++i) set_flag("device", i % 2 == 0 ? "cpu" : "cuda0");
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("lists of flags are split", "[config]") {
  CHECK(as_text(
            base::parse_flag_list(" device = cuda0 , floatX=float64,,print='graph,plan' , cache_dir=\"/a=b\",", "X")) ==
        "device=cuda0 (X)\nfloatX=float64 (X)\nprint=graph,plan (X)\ncache_dir=/a=b (X)\n");
  CHECK(base::parse_flag_list("", "X").empty());
  CHECK(message([] { base::parse_flag_list("device=cpu,floatX", "CROTON_FLAGS"); }) ==
        "CROTON_FLAGS: \"floatX\" is not of the form name=value");
  CHECK_THAT(message([] { base::parse_flag_list("=cpu", "X"); }), contains("is not of the form name=value"));
  CHECK_THAT(message([] { base::parse_flag_list("floatX,device=cpu", "X"); }), contains("\"floatX\" is not"));
  CHECK_THAT(message([] { base::parse_flag_list("print='graph", "X"); }), contains("the quote ' has no end"));
  CHECK_THAT(message([] { base::parse_flag_list("print='graph' plan", "X"); }), contains("\"plan\" is not"));
}

TEST_CASE("lines of a file are split", "[config]") {
  const std::string text =
      "# mine\r\n"
      "device = cpu\r\n"
      "\n"
      "[global]  # plain names\n"
      "  floatX=float64   # wide\n"
      "print = 'graph # plan' # quoted\n"
      "cache_dir = /a#b\n"
      "logical_devices =\n"
      "[cuda]\n"
      "root = /usr";
  CHECK(as_text(base::parse_flag_file(text, "rc")) ==
        "device=cpu (rc:2)\nfloatX=float64 (rc:5)\nprint=graph # plan (rc:6)\ncache_dir=/a#b (rc:7)\nlogical_devices= "
        "(rc:8)\n"
        "cuda.root=/usr (rc:10)\n");
  CHECK(message([] { base::parse_flag_file("\ndevice", "rc"); }) == "rc:2: \"device\" is not of the form name=value");
  CHECK_THAT(message([] { base::parse_flag_file("[cuda", "rc"); }),
             contains("rc:1: \"[cuda\" is not of the form [section]"));
  CHECK_THAT(message([] { base::parse_flag_file("[]", "rc"); }), contains("[section]"));
  CHECK_THAT(message([] { base::parse_flag_file("[a] b", "rc"); }), contains("[section]"));
  CHECK_THAT(message([] { base::parse_flag_file("a = 'b' c", "rc"); }), contains("after the closing quote"));
  CHECK_THAT(message([] { base::parse_flag_file("a = 'b", "rc"); }), contains("has no end"));
}

TEST_CASE("no text ends otherwise than in assignments or a ConfigError", "[config]") {
  std::mt19937 random(3);
  int errors = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t n = random() % 24; n > 0; --n) text += "abX =,'\"#[]\n\t\r.\\\0\xFF"[random() % 18];
    try {
      base::parse_flag_list(text, "X");
      base::parse_flag_file(text, "X");
    } catch (const croton::ConfigError&) {
      ++errors;
    }
  }
  CHECK(errors > 1000);
  CHECK(errors < 20000);
}

TEST_CASE("file, then CROTON_FLAGS, then code", "[config]") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "croton");
  croton::test::put_file(folder / "croton/crotonrc", "device = cuda3\nfloatX = float64\nthreads = 5\n");
  croton::test::put_file(folder / ".crotonrc", "device = cuda4\nmath = fast\n");
  const std::string rc = (folder / "croton/crotonrc").string();
  const int status = with_environment(folder.path(), "floatX=float16,cache=false", [&] {
    if (flag("device") != "cuda3" || info("device").origin != rc + ":1") return 1;
    if (flag("floatX") != "float16" || info("floatX").origin != "CROTON_FLAGS") return 2;
    if (flag("math") != "accurate" || info("math").origin != "default") return 3;  // the second file is not read
    set_flag("threads", "2");
    if (base::config().threads != 2 || base::config().cache) return 4;
    fs::remove(folder / "croton/crotonrc");
    base::reload_config();
    if (flag("device") != "cuda4" || flag("math") != "fast" || flag("threads") != "0") return 5;
    return 0;
  });
  CHECK(status == 0);
}

TEST_CASE("a file that others may write is ignored", "[config]") {
  const TemporaryFolder folder;
  const auto warnings_of = [&] {
    std::vector<std::string> warnings;
    CHECK(base::read_flag_file({folder / "none", folder / "rc"}, warnings).empty());
    return warnings.empty() ? std::string() : warnings[0];
  };
  CHECK(warnings_of().empty());
  croton::test::put_file(folder / "rc", "device = cpu\n");
  fs::permissions(folder / "rc", fs::perms::others_write, fs::perm_options::add);
  CHECK_THAT(warnings_of(), contains("rc can be written by every user"));
  croton::test::put_file(folder / "rc", std::string(64 * 1024 + 1, '#'));
  CHECK_THAT(warnings_of(), contains("the limit is 65536"));
  fs::remove(folder / "rc");
  fs::create_directory(folder / "rc");
  CHECK_THAT(warnings_of(), contains("is not a regular file"));
  fs::remove(folder / "rc");
  croton::test::put_file(folder / "rc", "device = cpu\n");
  std::vector<std::string> warnings;
  CHECK(base::read_flag_file({folder / "none", folder / "rc"}, warnings).size() == 1);
  CHECK(warnings.empty());
}

TEST_CASE("faults of file and environment name their place", "[config]") {
  const TemporaryFolder folder;
  const auto error_of = [&](const char* list) {
    std::string text;
    const int status = with_environment(folder.path(), "", [&] {
      setenv("CROTON_FLAGS", list, 1);
      const std::string first = message([] { base::reload_config(); });
      croton::test::put_file(folder / "error", first);
      return 0;
    });
    CHECK(status == 0);
    return croton::test::get_file(folder / "error");
  };
  CHECK(error_of("devise=cpu") == "CROTON_FLAGS: there is no flag \"devise\"; the nearest is \"device\"");
  CHECK_THAT(error_of("mode=slow"), contains("CROTON_FLAGS: the flag mode does not take \"slow\""));
  CHECK(error_of("mode=simulate") == "no error");
  // The file is read first, so its error is the one that is reported.
  croton::test::put_file(folder / ".crotonrc", "\n\nmath = sloppy\n");
  CHECK(WEXITSTATUS(with_environment(folder.path(), "devise=cpu", [] { return 0; })) == 77);
  std::vector<std::string> warnings;
  const auto read = base::read_flag_file({folder / ".crotonrc"}, warnings);
  REQUIRE(read.size() == 1);
  CHECK(read[0].origin == (folder / ".crotonrc").string() + ":3");
}

TEST_CASE("only absolute folders of the user are searched", "[config]") {
  const int status = croton::test::run_child([] {
    setenv("HOME", "/home/ada", 1);
    unsetenv("XDG_CONFIG_HOME");
    if (base::flag_file_places() != std::vector<fs::path>{"/home/ada/.config/croton/crotonrc", "/home/ada/.crotonrc"})
      return 1;
    setenv("XDG_CONFIG_HOME", "relative", 1);
    if (base::flag_file_places()[0] != "/home/ada/.config/croton/crotonrc") return 2;
    setenv("HOME", ".", 1);
    if (!base::flag_file_places().empty()) return 3;
    setenv("HOME", "/home/ada", 1);
    set_flag("cache_dir", "~/kernels");
    return flag("cache_dir") == "/home/ada/kernels" ? 0 : 4;
  });
  CHECK(status == 0);
}

TEST_CASE("docs/use/flags.md is the table", "[config]") {
  const auto file = fs::path(croton::test::source_folder()) / "docs/use/flags.md";
  if (std::getenv("CROTON_UPDATE_DOCS") != nullptr) std::ofstream(file) << base::flags_markdown();
  CHECK(croton::test::get_file(file) == base::flags_markdown());
}
