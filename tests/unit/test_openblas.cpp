// The choice of OpenBLAS's kernels on an unknown processor, with a substitute for the library.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "catch.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/blas/openblas.hpp"
#include "temporary_folder.hpp"

namespace {

using croton::runtime::cpu::better_core;
using croton::runtime::cpu::Blas;
using croton::runtime::cpu::vector_width;
using croton::runtime::cpu::VectorWidth;
using croton::runtime::cpu::WithVariable;
using croton::test::TemporaryFolder;

/// Sets or, with no value, removes an environment variable, and restores it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const {
    if (value)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// A separate copy of the substitute: a library that was used once remains in the process.
class Library {
 public:
  Library() { std::filesystem::copy_file(CROTON_FAKE_OPENBLAS, path_); }
  ~Library() { Blas::configure("auto"); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Blas& use() const {
    Blas::configure(path());
    return Blas::instance();
  }
  std::string path() const { return path_.string(); }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "libopenblas.so";
};

}  // namespace

TEST_CASE("a better core is chosen by what the processor can do", "[blas]") {
  CHECK(better_core("Prescott", VectorWidth::bits512) == "SkylakeX");
  CHECK(better_core("Haswell", VectorWidth::bits512) == "SkylakeX");
  CHECK(better_core("Zen", VectorWidth::bits512) == "SkylakeX");
  CHECK(better_core("Prescott", VectorWidth::bits256) == "Haswell");
  CHECK(better_core("Barcelona", VectorWidth::bits256) == "Haswell");
  for (const char* as_good : {"Haswell", "Zen", "Excavator"}) CHECK(better_core(as_good, VectorWidth::bits256).empty());
  CHECK(better_core("Prescott", VectorWidth::bits128).empty());
  for (const char* newer : {"SkylakeX", "Cooperlake", "SapphireRapids", "ARMV8", "a name of tomorrow", ""})
    for (VectorWidth width : {VectorWidth::bits128, VectorWidth::bits256, VectorWidth::bits512})
      CHECK(better_core(newer, width).empty());
}

TEST_CASE("a variable is there for a while, and the environment is left as it was", "[blas]") {
  const Variable none("CROTON_TEST_VARIABLE", nullptr);
  char** const before = environ;
  {
    const WithVariable with("CROTON_TEST_VARIABLE=some value");
    REQUIRE(std::getenv("CROTON_TEST_VARIABLE") != nullptr);
    CHECK(std::getenv("CROTON_TEST_VARIABLE") == std::string("some value"));
    CHECK((std::getenv("PATH") == nullptr || *std::getenv("PATH") != '\0'));
  }
  CHECK(environ == before);
  CHECK(std::getenv("CROTON_TEST_VARIABLE") == nullptr);
  {
    const Variable other("CROTON_TEST_OTHER", nullptr);
    {
      const WithVariable with("CROTON_TEST_VARIABLE=2");
      setenv("CROTON_TEST_OTHER", "kept", 1);
    }
    CHECK(std::getenv("CROTON_TEST_OTHER") == std::string("kept"));
    unsetenv("CROTON_TEST_VARIABLE");
  }
}

TEST_CASE("OpenBLAS runs kernels for this processor where it took it for an old one", "[blas]") {
  const Variable none("OPENBLAS_CORETYPE", nullptr);
  const Library library;
  const Blas& blas = library.use();
  CHECK(blas.name().starts_with("OpenBLAS 9.9.9 ("));
  const std::string better = better_core("Prescott", vector_width());
  CHECK(blas.core() == (better.empty() ? "Prescott" : better));
  CHECK(blas.detected_core() == (better.empty() ? "" : "Prescott"));
  CHECK(std::getenv("OPENBLAS_CORETYPE") == nullptr);
}

TEST_CASE("OpenBLAS keeps the kernels that the user asks for, and those that fit", "[blas]") {
  {
    const Variable asked("OPENBLAS_CORETYPE", "Nehalem");
    const Library library;
    CHECK(library.use().core() == "Nehalem");
    CHECK(library.use().detected_core().empty());
  }
  {
    const Variable none("OPENBLAS_CORETYPE", nullptr), knows("FAKE_OPENBLAS_CORE", "SapphireRapids");
    const Library library;
    CHECK(library.use().core() == "SapphireRapids");
    CHECK(library.use().detected_core().empty());
  }
}

TEST_CASE("OpenBLAS that something else has loaded is taken as it is", "[blas]") {
  const Variable none("OPENBLAS_CORETYPE", nullptr);
  const Library library;
  void* earlier = dlopen(library.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(earlier != nullptr);
  CHECK(library.use().core() == "Prescott");
  CHECK(library.use().detected_core().empty());
  dlclose(earlier);
}

TEST_CASE("other libraries are named and measured against the one in use", "[blas]") {
  if (!Blas::available()) return;  // a machine without any library has nothing to compare with
  const TemporaryFolder environment;
  const std::filesystem::path lib = environment / "lib/python3.99/site-packages/scipy_openblas32/lib";
  std::filesystem::create_directories(lib);
  std::filesystem::copy_file(CROTON_FAKE_OPENBLAS, lib / "libscipy_openblas.so");
  const Variable active("VIRTUAL_ENV", environment.path().c_str());
  const auto others = Blas::others();
  const auto fake =
      std::ranges::find(others, "OpenBLAS 9.9.9 (libscipy_openblas.so)", &croton::runtime::cpu::OtherBlas::name);
  REQUIRE(fake != others.end());
  CHECK(fake->place == (lib / "libscipy_openblas.so").string());
  CHECK(fake->speed > 0);
  CHECK(fake->speed < 1);  // its plain loop is slower than any library
  CHECK(std::ranges::none_of(others, [](const auto& other) { return other.name == Blas::instance().name(); }));
}
