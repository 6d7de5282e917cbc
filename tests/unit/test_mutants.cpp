// Checks whether the templates are tested well enough, and whether the simulator finds errors in them. Each template is
// broken in one place at a time, by rules (a bound shifted, a constant changed, a statement or a start value dropped,
// an index or an operator replaced by another), programs that use it are run in the simulator, and their results
// compared with those of the correct template. A broken template that runs without a report and gives the same bits has
// survived. The survivors that are equivalent are listed below, with the reason; of all others, 95 % must be caught.
#include <croton/croton.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "runtime/simulator/kernels.hpp"
#include "template_programs.hpp"

namespace ct = croton;
using namespace croton::test;

namespace {

// ---- How a template is broken

struct Mutant {
  std::string line;  // the original line, and the changed one
  std::string broken;
  std::string text;  // of the whole file

  std::string name() const { return line + "  =>  " + broken; }
};

struct Rule {
  const char* pattern;
  const char* replacement;
};

// Each match in a line makes a mutant.
constexpr Rule rules[] = {
    {R"( < )", " <= "},
    {R"( <= )", " < "},
    {R"( > )", " >= "},
    {R"( >= )", " > "},
    {R"( == )", " != "},
    {R"( != )", " == "},
    {R"( \+ )", " - "},
    {R"( - )", " + "},
    {R"( \* )", " + "},
    {R"( / )", " * "},
    {R"( % )", " / "},
    {R"( \+= )", " -= "},
    {R"( && )", " || "},
    {R"( \|\| )", " && "},
    {R"( = (0|C::identity\(\)|block_index\(\)|state);)", ";"},
    {R"(-inf<T>\(\))", "inf<T>()"},
    {R"(return inf<T>\(\))", "return -inf<T>()"},
    {R"(\blowest<T>)", "highest<T>"},
    {R"(\bhighest<T>)", "lowest<T>"},
    {R"(\bmaximum\()", "minimum("},
    {R"(\bminimum\()", "maximum("},
    {R"(\btrue\b)", "false"},
    {R"(\bfalse\b)", "true"},
    {R"(thread_index\(\))", "lane_index()"},
    {R"(lane_index\(\))", "thread_index()"},
    {R"(warp_index\(\))", "lane_index()"},
    {R"(block_index\(\))", "0"},
    {R"(block_size\(\))", "block_count()"},
    {R"(block_count\(\))", "block_size()"},
    {R"(\+\+)", "--"},
    {R"(>> )", "<< "},
    {R"(shuffle_xor\()", "shuffle_down("},
    {R"(\bblock_elements\b)", "(2 * block_elements)"},
    {R"(\bpart_elements\b)", "(2 * part_elements)"},
    {R"(\bchunk_elements\b)", "(2 * chunk_elements)"},
    {R"(\bgroup_tile\b)", "(2 * group_tile)"},
    {R"(\blanes\b)", "(2 * lanes)"},
    {R"(\baccumulators\b)", "(2 * accumulators)"},
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first);
}

bool is_code(const std::string& line) {
  static const std::regex no_code(R"(//|#|namespace|template|typedef|struct|else$|$)");
  return !std::regex_search(line, no_code, std::regex_constants::match_continuous);
}

bool is_statement(const std::string& line) {
  static const std::regex kept(
      R"(return\b|const\b|constexpr\b|typename\b|unsigned\b|index\b|int\b|Counter|T |CT_|\}|break)");
  return line.ends_with(';') && !std::regex_search(line, kept, std::regex_constants::match_continuous);
}

std::vector<std::string> broken_forms(const std::string& line) {
  std::vector<std::string> forms;
  const auto each = [&](const std::regex& pattern, const auto& replacement) {
    for (std::sregex_iterator match(line.begin(), line.end(), pattern), end; match != end; ++match) {
      const auto at = static_cast<std::size_t>(match->position());
      const std::string with = replacement(match->str());
      if (with != match->str())
        forms.push_back(line.substr(0, at) + with + line.substr(at + static_cast<std::size_t>(match->length())));
    }
  };
  for (const Rule& rule : rules) {
    const bool declares = line.starts_with("constexpr");  // constants are changed by changing their numbers
    if (declares && std::string(rule.pattern).find("elements") != std::string::npos) continue;
    if (declares && (std::string(rule.pattern).find("lanes") != std::string::npos ||
                     std::string(rule.pattern).find("accumulators") != std::string::npos ||
                     std::string(rule.pattern).find("tile") != std::string::npos))
      continue;
    each(std::regex(rule.pattern), [&](const std::string&) { return std::string(rule.replacement); });
  }
  static const std::regex number(R"(\b[0-9]+\b)");
  each(number, [](const std::string& digits) { return std::to_string(std::stoi(digits) + 1); });
  each(number, [](const std::string& digits) { return std::to_string(std::max(0, std::stoi(digits) - 1)); });
  if (is_statement(line)) forms.push_back(";");
  return forms;
}

std::vector<Mutant> mutants_of(const std::string& text) {
  std::vector<Mutant> mutants;
  const std::vector<std::string> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (!is_code(line)) continue;
    for (const std::string& form : broken_forms(line)) {
      Mutant mutant{line, form, ""};
      for (std::size_t j = 0; j < lines.size(); ++j) mutant.text += (i == j ? form : lines[j]) + "\n";
      mutants.push_back(std::move(mutant));
    }
  }
  return mutants;
}

// ---- Equivalent mutants

struct Equivalent {
  const char* name;  // as Mutant::name gives it, or its beginning
  const char* reason;
};

constexpr Equivalent equivalents[] = {
    {"const auto state = block<C>(k, k + block_elements < n ? k + block_elements : n, value);  =>  const auto state = "
     "block<C>(k, k + block_elements <= n",
     "both ends are the same where they are equal"},
    {"if (n <= block_elements) return state;", "only a shortcut: a counter of one block gives that block"},
    {"if (k + block_elements >= n) break;  =>  if (k + block_elements > n)",
     "one more block, of no elements: identity"},
    {"if (k + block_elements >= n) break;  =>  if (k - block_elements >= n)", "more blocks of no elements: identity"},
    {"CT_MEMBER bool leads() const { return lane_index() == 0; }  =>  CT_MEMBER bool leads() const { return "
     "lane_index() == 1; }",
     "all lanes have the result"},
    {"for (index begin = 0; begin < n; begin += chunk_elements) {  =>  for (index begin = 0; begin <= n;",
     "one more chunk, of no elements: identity"},
    {"const index end = begin + chunk_elements < n ? begin + chunk_elements : n;  =>  const index end = begin + "
     "chunk_elements <= n",
     "both ends are the same where they are equal"},
    {"body.part(WarpTeam{}, part, first, left < part_elements ? left : part_elements);  =>  body.part(WarpTeam{}, "
     "part, first, left <= part_elements",
     "both lengths are the same where they are equal"},
    {"constexpr index group_tile = 4096;  =>  constexpr index group_tile = 4097;",
     "tiles are longer, and all points are still in one"},
    {"run(part, first, first + (left < group_tile ? left : group_tile));  =>  run(part, first, first + (left <= "
     "group_tile",
     "both lengths are the same where they are equal"},
    {"CT_DEVICE State identity() { return State{T(0), -1}; }  =>  CT_DEVICE State identity() { return State{T(1), -1}; "
     "}",
     "a state without a position has no value"},
    {"CT_DEVICE State identity() { return State{T(0), -1}; }  =>  CT_DEVICE State identity() { return State{T(0), -2}; "
     "}",
     "any negative position means none"},
    {"if (a_nan || b_nan) return a_nan && (!b_nan || a.position < b.position);  =>  if (a_nan || b_nan) return a_nan "
     "&& (!b_nan || a.position <= b.position)",
     "positions differ"},
    {"if (a.value == b.value) return a.position < b.position;  =>  if (a.value == b.value) return a.position <= "
     "b.position",
     "positions differ"},
    {"return largest ? b.value < a.value : a.value < b.value;  =>  return largest ? b.value <= a.value",
     "equal values have been decided before"},
    {"return largest ? b.value < a.value : a.value < b.value;  =>  return largest ? b.value < a.value : a.value <= "
     "b.value",
     "equal values have been decided before"},
    {"typename C::State stack[44];", "room for 2^43 blocks is as good as for 2^44"},
    {"for (++level; level < 44 && (count >> level); ++level) {  =>  for (++level; level <= 44",
     "no count has that bit"},
    {"for (++level; level < 44 && (count >> level); ++level) {  =>  for (++level; level < 44 || (count >> level)",
     "only a shortcut: bits above are 0"},
    {"for (++level; level < 44 && (count >> level); ++level) {  =>  for (++level; level < 44 && (count << level)",
     "only a shortcut: bits above are 0"},
    {"for (++level; level < 44 && (count >> level); ++level) {  =>  for (++level; level < 45", "no count has that bit"},
    {"for (++level; level < 44 && (count >> level); ++level) {  =>  for (++level; level < 43", "no count has that bit"},
};

bool is_equivalent(const std::string& name) {
  return std::any_of(std::begin(equivalents), std::end(equivalents),
                     [&](const Equivalent& e) { return name.starts_with(e.name); });
}

/// Checks that at least `percent` of the broken texts of the template are caught, which are not equivalent.
void check_template(const std::string& file, int percent, const std::function<std::vector<Program>()>& make_programs) {
  const ct::change_flags flags{"cuda_simulator=1,device=cuda0"};
  const RestoredTexts restored;
  const std::vector<Program> programs = make_programs();
  const std::string text = template_text(file);
  const std::vector<std::vector<ct::Array>> right = results_of(programs);
  std::map<Fate, int> count;
  int equivalent = 0;
  std::string survivors;
  for (const Mutant& mutant : mutants_of(text)) {
    croton::runtime::simulator::change_texts(
        [&](std::string unit) { return replaced(std::move(unit), text, mutant.text); });
    const Fate fate = fate_of(programs, right);
    if (fate == Fate::survived && is_equivalent(mutant.name())) {
      ++equivalent;
      continue;
    }
    ++count[fate];
    if (fate == Fate::survived) survivors += "\n  " + mutant.name();
  }
  const int caught = count[Fate::reported] + count[Fate::different], survived = count[Fate::survived];
  WARN(file << ": " << caught + survived + equivalent << " mutants that compile: " << count[Fate::reported]
            << " reported, " << count[Fate::different] << " with other results, " << equivalent << " equivalent, "
            << survived << " survived" << survivors);
  CHECK(caught > 0);
  CHECK(caught * 100 >= (caught + survived) * percent);
}

}  // namespace

TEST_CASE("broken pointwise.cuh is caught", "[simulator][slow]") {
  check_template("pointwise.cuh", 95, pointwise_programs);
}
TEST_CASE("broken tiles.cuh is caught", "[simulator][slow]") { check_template("tiles.cuh", 95, tile_programs); }
TEST_CASE("broken row.cuh is caught", "[simulator][slow]") {
  check_template("row.cuh", 95, [] { return joined(warp_row_programs(), in_place_warp_programs()); });
}
TEST_CASE("broken row_packs.cuh is caught", "[simulator][slow]") {
  check_template("row_packs.cuh", 95,
                 [] { return joined(joined(row_programs(), split_programs()), meeting_programs()); });
}
TEST_CASE("broken column.cuh is caught", "[simulator][slow]") { check_template("column.cuh", 95, column_programs); }
TEST_CASE("broken column_packs.cuh is caught", "[simulator][slow]") {
  check_template("column_packs.cuh", 95, [] { return joined(column_programs(), split_column_programs()); });
}
TEST_CASE("broken inner_outer.cuh is caught", "[simulator][slow]") {
  check_template("inner_outer.cuh", 95, inner_outer_programs);
}
TEST_CASE("broken joint.cuh is caught", "[simulator][slow]") {
  check_template("joint.cuh", 95, [] { return joined(split_programs(), split_column_programs()); });
}
TEST_CASE("broken split.cuh is caught", "[simulator][slow]") { check_template("split.cuh", 95, split_programs); }
TEST_CASE("broken totals.cuh is caught", "[simulator][slow]") {
  check_template("totals.cuh", 95, [] { return joined(split_programs(), split_column_programs()); });
}
TEST_CASE("broken group.cuh is caught", "[simulator][slow]") { check_template("group.cuh", 95, group_programs); }
TEST_CASE("broken contract.cuh is caught", "[simulator][slow]") {
  check_template("contract.cuh", 95, contract_programs);
}
TEST_CASE("broken common/combine.cuh is caught", "[simulator][slow]") {
  check_template("common/combine.cuh", 95,
                 [] { return joined(joined(row_programs(), split_programs()), {column_programs()[0]}); });
}
TEST_CASE("broken common/short_counter.cuh is caught", "[simulator][slow]") {
  check_template("common/short_counter.cuh", 95, row_programs);
}
TEST_CASE("broken common/vector.cuh is caught", "[simulator][slow]") {
  check_template("common/vector.cuh", 95, [] { return joined(pointwise_programs(), column_programs()); });
}
