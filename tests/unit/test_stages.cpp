// The list of stages: each is printed and timed when it runs.
#include <croton/croton.hpp>

#include <filesystem>
#include <functional>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>

#include "catch.hpp"
#include "compile.hpp"
#include "contains.hpp"

using namespace croton;
namespace ct = croton;

namespace {

std::string printed(const std::function<void()>& run) {
  std::stringstream stream;
  std::streambuf* before = std::cerr.rdbuf(stream.rdbuf());
  try {
    run();
  } catch (...) {
    std::cerr.rdbuf(before);
    throw;
  }
  std::cerr.rdbuf(before);
  return stream.str();
}

/// The stages that lines of print_timings name, in order.
std::string stages_of(const std::string& text) {
  std::string names;
  const std::regex line("croton: f: +(\\w+) +[0-9.]+ ms");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), line); at != std::sregex_iterator(); ++at)
    names += (names.empty() ? "" : " ") + (*at)[1].str();
  return names;
}

}  // namespace

TEST_CASE("the list of stages is in the order of the data and names files", "[stages]") {
  std::size_t next = 0;
  for (const detail::StageInfo& info : detail::stages()) {
    CHECK(static_cast<std::size_t>(info.stage) == next++);
    CHECK(std::filesystem::exists(std::filesystem::path(CROTON_SOURCE_FOLDER) / "src" / info.in));
  }
  CHECK(next == base::stage_count);
}

TEST_CASE("stages are timed where they run", "[stages]") {
  const ct::change_flags flags{"print_timings=true,cache=false"};
  const Variable x = ct::dvector("x"), a = ct::dmatrix("a");
  ct::Function f;
  CHECK(stages_of(printed([&] { f = ct::function({x, a}, ct::exp(x) * 3.25 + ct::sum(a, 1), {.name = "f"}); })) ==
        "import rewrite place fuse plan");
  const Array X{1., 2.}, A = Array::full(DType::float64, {2, 3}, 1.0);
  const std::string first = printed([&] { f(X, A); });
  CHECK(stages_of(first) == "bind emit compile");
  CHECK_THAT(first, contains("(Clang ") && contains(", LLVM "));
  // The same call again; then other sizes, for which there is code.
  CHECK(printed([&] { f(X, A); }).empty());
  const Array other{1., 2., 3.}, wide = Array::full(DType::float64, {3, 3}, 1.0);
  CHECK(stages_of(printed([&] { f(other, wide); })) == "bind emit compile");
  CHECK_THAT(printed([&] { f(Array{1.}, Array::full(DType::float64, {1, 3}, 1.0)); }), !contains("Clang"));
  // On another device the call places and plans again.
  const ct::change_flags simulated{"cuda_simulator=1,device=cuda0"};
  CHECK(stages_of(printed([&] { f(X, A); })) == "place fuse plan bind emit compile");
}

TEST_CASE("what stages make is printed where they run", "[stages]") {
  const ct::change_flags flags{"print=launches+texts+compiled"};
  const Variable x = ct::dvector("x");
  const ct::Function f = ct::function({x}, ct::exp(x) * 2.125, {.name = "f"});
  const std::string text = printed([&] { f(Array{1., 2.}); });
  const std::string name = f.kernels()[0].name;
  CHECK_THAT(text, contains("---- f: launches\n  launch 0: kernel " + name + "\n") && contains("---- f: texts\n") &&
                       contains("---- f: compiled\n  " + name + ": "));
  CHECK(printed([&] { f(Array{1., 2.}); }).empty());
}
