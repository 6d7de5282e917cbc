// The list of stages: each is printed and timed when it runs.
#include <croton/croton.hpp>

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>

#include "base/stage.hpp"
#include "catch.hpp"
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

TEST_CASE("the map has the list of stages, and the flag print accepts their words", "[stages]") {
  std::string expected, rows;
  for (std::size_t s = 0; s < base::stage_count; ++s) {
    const auto stage = static_cast<base::Stage>(s);
    expected += fmt::format("{} {}\n", base::name_of(stage), base::word_of(stage));
    CHECK_NOTHROW(ct::change_flags(fmt::format("print={}", base::word_of(stage))));
  }
  std::ifstream page(std::string(CROTON_SOURCE_FOLDER) + "/docs/internals/map.md");
  const std::regex row(R"(\| (\w+) \| [^|]* \| `(\w+)` \| .*)");
  std::smatch parts;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_match(line, parts, row)) rows += parts[1].str() + " " + parts[2].str() + "\n";
  }
  CHECK(rows == expected);
}

TEST_CASE("stages are timed where they run", "[stages]") {
  const ct::change_flags flags{"print_timings=true,cache=false"};
  const Variable x = ct::dvector("x"), a = ct::dmatrix("a");
  ct::Function f;
  CHECK(stages_of(printed([&] { f = ct::function({x, a}, ct::exp(x) * 3.25 + ct::sum(a, 1), {.name = "f"}); })) ==
        "import rewrite place fuse plan bind emit");
  const Array X{1., 2.}, A = Array::full(DType::float64, {2, 3}, 1.0);
  const std::string first = printed([&] { f(X, A); });
  CHECK(stages_of(first) == "bind emit compile");
  CHECK_THAT(first, contains("(Clang ") && contains(", LLVM "));
  // The same call again; then other sizes, for which there is code.
  CHECK(printed([&] { f(X, A); }).empty());
  const Array other{1., 2., 3.}, wide = Array::full(DType::float64, {3, 3}, 1.0);
  CHECK(stages_of(printed([&] { f(other, wide); })) == "bind emit compile");
  CHECK_THAT(printed([&] { f(Array{1.}, Array::full(DType::float64, {1, 3}, 1.0)); }), !contains("Clang"));
  // On another device the call places and plans again, before it binds.
  const ct::change_flags simulated{"cuda_simulator=1,device=cuda0"};
  CHECK(stages_of(printed([&] { f(X, A); })) == "place fuse plan bind emit bind emit compile");
}

TEST_CASE("the output of stages is printed where they run", "[stages]") {
  const ct::change_flags flags{"print=launches+texts+compiled"};
  const Variable x = ct::dvector("x");
  const ct::Function f = ct::function({x}, ct::exp(x) * 2.125, {.name = "f"});
  const std::string text = printed([&] { f(Array{1., 2.}); });
  const std::string name = f.kernels()[0].name;
  CHECK_THAT(text, contains("---- f: launches\n  launch 0: kernel " + name + "\n") && contains("---- f: texts\n") &&
                       contains("---- f: compiled\n  " + name + ": "));
  CHECK(printed([&] { f(Array{1., 2.}); }).empty());
}

TEST_CASE("the stages of a function print in their order", "[stages]") {
  const ct::change_flags flags{"print=all"};
  const Variable x = ct::dvector("x");
  const std::string text = printed([&] { ct::function({x}, ct::exp(x) * 2.125, {.name = "f"}); });
  std::string words;
  const std::regex heading("---- f: (\\w+)\n");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), heading); at != std::sregex_iterator(); ++at)
    words += (*at)[1].str() + " ";
  CHECK(words == "graph rewrites place kernels plan ");
}

TEST_CASE("placement prints devices and transfers before there is a plan", "[stages]") {
  const Variable x = ct::dvector("x");
  const ct::SharedVariable w = ct::shared(Array(2.5), {.name = "w"});
  const ct::change_flags flags{"print=place,cuda_simulator=1,device=cuda0"};
  const std::string text = printed([&] { ct::function({x}, ct::exp(x) * w, {.name = "f"})(Array{1., 2.}); });
  CHECK_THAT(text, contains("---- f: place\n") &&
                       contains("  w: (transfer): cpu -> cuda0  [sent when it has changed]\n") &&
                       contains("  x: (transfer): cpu -> cuda0  [sent by every call]\n") &&
                       contains("(exp): cuda0  [change_flags]\n"));
}
