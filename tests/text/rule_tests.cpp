// Common properties of all rewrite rules, tested on every line `rule ...` of tests/text: both sides have the same value
// in every dtype that is accepted, a rule that is switched off leaves the graph unchanged, each fires in a program that
// was not written for it alone, and docs/internals/rewrites.md is up to date.
#include "catch.hpp"
#include "folders.hpp"
#include "rule_lines.hpp"
#include "rule_points.hpp"

#include <croton/config.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "expr/evaluate.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "rewrite_programs.hpp"
#include "text_stages.hpp"

namespace {

using namespace croton;
using croton::test::all_rule_lines;
using croton::test::extremes;
using croton::test::in_dtype;
using croton::test::near;
using croton::test::RuleLine;

/// The inputs of text::random_inputs, but integers of dtype `wide` over the full range of 8 bits.
std::vector<Array> inputs_of(const expr::Graph& graph, DType wide, std::uint64_t seed) {
  std::vector<Array> inputs = text::random_inputs(graph, seed);
  for (Array& input : inputs) {
    if (input.dtype() != wide || !is_integer(wide)) continue;
    const bool is_unsigned = is_unsigned_int(wide);
    input = Array::uniform(DType::float64, input.shape(), ++seed, is_unsigned ? 0 : -128, is_unsigned ? 256 : 128)
                .astype(DType::int64)
                .astype(wide);
  }
  return inputs;
}

double tolerance(DType dtype) {
  if (!is_float(dtype)) return 0;
  return dtype == DType::float64 ? 1e-9 : dtype == DType::float32 ? 1e-4 : dtype == DType::float16 ? 3e-2 : 0.2;
}

struct Counted {
  int tried = 0, rewritten = 0;
};

/// One line in one dtype: the graph before and after the group, at random points. Nothing if the dtype is not accepted.
Counted compare(const RuleLine& line, const std::string& dtype_name, DType dtype) {
  expr::Graph graph;
  try {
    graph = expr::parse_graph(in_dtype(line.left_graph(), dtype_name));
  } catch (const Error&) {
    return {};  // this dtype lacks an op or a constant
  }
  rewrite::Fired fired;
  const expr::Graph rewritten =
      text::rewrite(graph, line.words.at(1), !croton::test::contains(line.words, "ieee"), fired);
  for (const std::uint64_t seed : {3u, 8u}) {
    // Stability rules change overflows: exp(100) of an int8 overflows on one side.
    const bool wide = line.words.at(1) != "stability";
    const std::vector<Array> values = wide ? inputs_of(graph, dtype, seed) : text::random_inputs(graph, seed);
    const std::vector<Array> before = expr::evaluate(graph, values), after = expr::evaluate(rewritten, values);
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(before[i].dtype() == after[i].dtype());
      CHECK(before[i].shape() == after[i].shape());
      const double near = tolerance(is_float(before[i].dtype()) && is_float(dtype) ? dtype : before[i].dtype());
      const bool same = before[i].all_close(after[i], near, near / 10);
      INFO(expr::print(graph) << "becomes\n"
                              << expr::print(rewritten) << before[i].to_string() << "\n"
                              << after[i].to_string());
      CHECK(same);
    }
  }
  return {1, fired.empty() ? 0 : 1};
}

}  // namespace

TEST_CASE("rules: both sides agree in every dtype") {
  const std::vector<std::pair<std::string, DType>> dtypes = {
      {"f64", DType::float64}, {"f32", DType::float32}, {"f16", DType::float16}, {"i8", DType::int8},
      {"i32", DType::int32},   {"i64", DType::int64},   {"u8", DType::uint8},    {"bool", DType::bool_}};
  Counted all;
  for (const RuleLine& line : all_rule_lines()) {
    if (croton::test::contains(line.words, "special")) continue;
    INFO(line.words.at(1) << ": " << line.left);
    for (const auto& [name, dtype] : dtypes) {
      INFO(name);
      const Counted counted = compare(line, name, dtype);
      all.tried += counted.tried;
      all.rewritten += counted.rewritten;
    }
  }
  CHECK(all.tried > 900);
  CHECK(all.rewritten > 700);
}

/// Compares both sides in float32 with both in float64, which has room where float32 overflows and digits where it
/// cancels. The right side may not be wrong where the left is right; if float64 lacks digits for the left, as for
/// exp(x) - 1 at 1e-30, the right side in float64 is the reference.
TEST_CASE("rules: no right side is worse than the left at extreme points") {
  int compared = 0, mended = 0;
  for (const RuleLine& line : all_rule_lines()) {
    const expr::Graph graph = expr::parse_graph(line.left_graph());
    const expr::Graph exact = expr::parse_graph(in_dtype(line.left_graph(), "f64"));
    const bool special_values = !croton::test::contains(line.words, "ieee");
    rewrite::Fired fired, fired_exact;
    const expr::Graph rewritten = text::rewrite(graph, line.words.at(1), special_values, fired);
    const expr::Graph rewritten_exact = text::rewrite(exact, line.words.at(1), special_values, fired_exact);
    if (croton::test::overflows_elsewhere(fired)) continue;
    std::vector<Array> values = text::random_inputs(graph, 3), wide;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool narrow = values[i].dtype() == DType::float32;
      if (narrow) values[i] = extremes(DType::float32, values[i].shape(), i);
      wide.push_back(narrow ? values[i].astype(DType::float64) : values[i]);
    }
    const auto left = expr::evaluate(graph, values), right = expr::evaluate(rewritten, values),
               truth = expr::evaluate(exact, wide), right_truth = expr::evaluate(rewritten_exact, wide);
    INFO(expr::print(graph) << "becomes\n" << expr::print(rewritten));
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!is_float(left[i].dtype())) continue;
      for (std::int64_t k = 0; k < left[i].size(); ++k) {
        const double wanted = truth[i].as_double(k), l = left[i].as_double(k), r = right[i].as_double(k);
        if (!std::isfinite(wanted) || std::abs(wanted) > 3e38) continue;
        CAPTURE(k, wanted, l, r);
        const bool good = near(r, wanted) || near(r, right_truth[i].as_double(k));
        CHECK((good || !near(l, wanted)));
        mended += good && !near(l, wanted);
        ++compared;
      }
    }
  }
  CHECK(compared > 1000);
  CHECK(mended > 25);
}

TEST_CASE("rules: one that is off by name does nothing") {
  std::set<std::string_view> seen, unchanged;
  for (const RuleLine& line : all_rule_lines()) {
    const expr::Graph graph = expr::parse_graph(line.left_graph());
    const std::string& group = line.words.at(1);
    const bool special_values = !croton::test::contains(line.words, "ieee");
    rewrite::Fired fired;
    text::rewrite(graph, group, special_values, fired);
    for (const auto& [rule, count] : fired) {
      INFO(rule << ": " << line.left);
      rewrite::Fired without;
      const expr::Graph left = text::rewrite(graph, group, special_values, without, {rule});
      CHECK(without[rule] == 0);
      seen.insert(rule);
      // If no other rule fires, the text does not change.
      without.erase(rule);
      if (fired.size() > 1 || !without.empty()) continue;
      CHECK(expr::print(text::in_order_of_use(left)) == expr::print(text::in_order_of_use(graph)));
      unchanged.insert(rule);
    }
  }
  for (const rewrite::Group& group : rewrite::groups()) {
    for (const rewrite::Rule& rule : group.rules) {
      if (group.name == "expand") continue;  // kernels need these rules, so rules_off has no names for them
      INFO(rule.name);
      CHECK(seen.contains(rule.name));
    }
  }
  CHECK(unchanged.size() > 100);
}

TEST_CASE("rules: names are known") {
  CHECK(rewrite::rule_names("log1p+expm1") == std::vector<std::string_view>{"log1p", "expm1"});
  CHECK(rewrite::rule_names("").empty());
  CHECK_THROWS_AS(rewrite::rule_names("expand"), ConfigError);
  CHECK_THROWS_WITH(rewrite::rule_names("lg1p"),
                    "rules_off: there is no rewrite rule \"lg1p\"; the nearest is \"log1p\"");
  std::set<std::string_view> names, groups;
  for (const rewrite::Group& group : rewrite::groups()) {
    if (!groups.insert(group.name).second) continue;
    for (const rewrite::Rule& rule : group.rules) {
      INFO(rule.name);
      CHECK(names.insert(rule.name).second);
      CHECK(!rule.reason.empty());
      CHECK(!rule.reason.starts_with("but"));  // a reason says why, not the cost
    }
  }
}

TEST_CASE("rules: each fires in some program") {
  const rewrite::Fired fired = tool::fired_in_programs();
  for (const rewrite::Group& group : rewrite::groups()) {
    for (const rewrite::Rule& rule : group.rules) {
      INFO(group.name << ": " << rule.name);
      CHECK(fired.contains(rule.name));
    }
  }
}

TEST_CASE("rules: docs/internals/rewrites.md is the table") {
  const std::string path = croton::test::source_folder() + "/docs/internals/rewrites.md";
  std::ifstream in(path);
  std::ostringstream page;
  page << in.rdbuf();
  const std::string text = page.str(), begin = "<!-- rules: begin -->\n", end = "<!-- rules: end -->";
  const std::size_t from = text.find(begin), to = text.find(end);
  REQUIRE((from != std::string::npos && to != std::string::npos));
  const std::size_t start = from + begin.size();
  const std::string table = tool::rules_markdown();
  if (std::getenv("CROTON_UPDATE_DOCS") != nullptr)
    std::ofstream(path) << text.substr(0, start) << table << text.substr(to);
  else
    CHECK(text.substr(start, to - start) == table);
}
