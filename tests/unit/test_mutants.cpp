// Checks whether the templates are tested well enough, and whether the simulator finds errors in them. Each template is
// broken in one place at a time, by rules (a bound shifted, a constant changed, a statement or a start value dropped,
// an index or an operator replaced by another), programs that use it are run in the simulator, and their results
// compared with those of the correct template. A broken template that runs without a report and gives the same bits has
// survived. The survivors that are equivalent are listed below, with the reason; of all others, 95 % must be caught.
#include <croton/croton.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "codegen/embedded.hpp"
#include "runtime/simulator/kernels.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;

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

// ---- Programs that use the templates; sizes go past a warp, a block, and the trees' blocks

using Program = std::function<std::vector<Array>()>;

Array numbers(ct::Sizes shape, double low = -1, double high = 1) {
  return Array::uniform(DType::float32, std::move(shape), 7, low, high);
}

Program program(const ct::Function& function, std::vector<Array> inputs) {
  return [function, inputs] {
    std::vector<Array> results;
    for (const Array& input : inputs) {
      const auto all = function(input);
      for (std::size_t i = 0; i < all.size(); ++i) results.push_back(all[i]);
    }
    return results;
  };
}

Array with_special_rows(Array m) {
  for (std::int64_t j = 0; j < m.shape(1); ++j) {
    m.at<float>(1, j) = -5.0f - static_cast<float>((j + 3) % 7);
    m.at<float>(2, j) = 5.0f + static_cast<float>((j + 2) % 5);
    m.at<float>(3, j) = 0.0f;
  }
  m.at<float>(4, 17) = m.at<float>(4, 5) = std::numeric_limits<float>::quiet_NaN();
  return m;
}

std::vector<Program> pointwise_programs() {
  const auto v = ct::vector("v");
  const auto m = ct::matrix("m");
  return {program(ct::function({v}, v * 2 + 1), {numbers({1500}), numbers({3})}),
          program(ct::function({m}, ct::transpose(m) * 2), {numbers({30, 41})})};
}

// Tiles at the edges of a matrix and, with the 8 blocks of the simulated schedule, several tiles per block. No axis is
// so short that a mutant has 0 tiles along it and divides by that.
std::vector<Program> tile_programs() {
  const auto m = ct::matrix("m");
  const auto t = ct::tensor3("t");
  const auto turned = ct::function({m}, ct::transpose(m) + 1);
  return {program(turned, {numbers({70, 97})}),
          program(turned, {numbers({150, 130}), numbers({64, 96}), numbers({97, 65})}),
          program(ct::function({t}, ct::transpose(t, {0, 2, 1}) * 2), {numbers({2, 75, 66})})};
}

// All lanes of a warp need its reduced value.
Program everywhere(const ct::Variable& of_rows, const ct::Variable& m, const Array& input) {
  const auto column = ct::transpose(ct::transpose(m) + ct::cast(of_rows, DType::float32));
  return program(ct::function({m}, {of_rows, column}), {input});
}

Program everywhere(DType dtype, const std::function<ct::Variable(const ct::Variable&)>& reduce, double scale = 100) {
  const auto z = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "z");
  const auto of_rows = reduce(z);
  const Array values = Array::uniform(DType::float64, {9, 40}, 7, 0.05, scale).astype(dtype);
  return program(ct::function({z}, {of_rows, ct::transpose(ct::transpose(z) + of_rows)}), {values});
}

std::vector<Program> row_programs() {
  const auto m = ct::matrix("m");
  const Array wide = with_special_rows(numbers({20, 2500})), narrow = with_special_rows(numbers({70, 25}));
  const auto b = m > 0.999f;
  const auto largest = [](const ct::Variable& z) { return ct::max(z, 1); };
  const auto smallest = [](const ct::Variable& z) { return ct::min(z, 1); };
  return {program(ct::function({m}, ct::sum(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::argmax(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::nnet::softmax(m)), {narrow, numbers({9, 1100})}),
          program(ct::function({m}, ct::max(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::min(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::argmin(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::prod(m, 1)), {narrow}),
          program(ct::function({m}, ct::any(b, 1)), {wide, narrow}),
          program(ct::function({m}, ct::all(m > -0.995f, 1)), {wide, narrow}),
          everywhere(ct::argmax(m, 1), m, narrow),
          everywhere(ct::any(b, 1), m, wide),
          everywhere(
              DType::bool_, [](const ct::Variable& z) { return ct::all(z, 1); }, 1.06),
          everywhere(DType::int8, largest),
          everywhere(DType::int16, smallest),
          everywhere(DType::uint8, largest),
          everywhere(DType::uint16, smallest),
          everywhere(DType::complex64, [](const ct::Variable& z) { return ct::sum(z * ct::complex(0.5f, 1.0f), 1); }),
          everywhere(DType::float32, [](const ct::Variable& z) { return ct::cast(ct::argmin(z, 1), DType::float32); })};
}

std::vector<Program> column_programs() {
  const auto m = ct::matrix("m");
  const Array tall = numbers({300, 700});
  const auto t = ct::tensor3("t");
  return {program(ct::function({m}, ct::sum(m, 0)), {tall, numbers({3, 70}), numbers({0, 70})}),
          program(ct::function({t}, ct::sum(t, 1)), {numbers({11, 70, 13})}),
          program(ct::function({m}, ct::argmin(m, 0)), {tall}),
          program(ct::function({m}, m - ct::max(m, 0)), {numbers({130, 70})}),
          program(ct::function({m}, ct::transpose(ct::nnet::softmax(ct::transpose(m)))), {numbers({140, 70})})};
}

std::vector<Program> split_programs() {
  const auto v = ct::vector("v");
  const Array longer = numbers({40'000}), several = numbers({300'000});
  return {program(ct::function({v}, ct::sum(v)), {longer, numbers({5}), several}),
          program(ct::function({v}, ct::argmax(v)), {longer}), program(ct::function({v}, ct::max(v)), {longer})};
}

std::vector<Program> group_programs() {
  auto a = ct::shared(numbers({88, 512})), b = ct::shared(numbers({100})), c = ct::shared(numbers({9000})),
       d = ct::shared(numbers({30, 50}));
  const auto e = ct::shared(numbers({50, 30}));
  const auto x = ct::scalar("x");
  const ct::Function step = ct::function({x}, ct::OutputList{std::vector<ct::Out>{}},
                                         {.updates = {{a, a * x}, {b, b + x}, {c, c * x}, {d, d + ct::transpose(e)}}});
  return {[=]() mutable {
    a.set_value(numbers({88, 512}));
    b.set_value(numbers({100}));
    c.set_value(numbers({9000}));
    d.set_value(numbers({30, 50}));
    step(Array(2.5f));
    return std::vector<Array>{a.get_value().copy(), b.get_value().copy(), c.get_value().copy(), d.get_value().copy()};
  }};
}

// ---- Running them

enum class Fate { reported, different, survived, does_not_compile };

bool same(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return x.same_bits(y); });
}

Fate fate_of(const std::vector<Program>& programs, const std::vector<std::vector<Array>>& right) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    try {
      if (!same(programs[i](), right[i])) return Fate::different;
    } catch (const croton::Error&) {
      return Fate::reported;
    } catch (const croton::InternalError& error) {
      if (std::string(error.what()).find("does not compile") == std::string::npos) throw;
      return Fate::does_not_compile;
    }
  }
  return Fate::survived;
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
    {"for (int i = int(thread_index()); i < tile_side * tile_side; i += int(block_size())) {  =>  for (int i = "
     "int(thread_index()); i <= tile_side",
     "one more copy, to where rows are padded"},
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

struct Template {
  const char* file;
  std::vector<Program> programs;
};

std::string replaced(std::string unit, const std::string& from, const std::string& to) {
  const std::size_t at = unit.find(from);
  return at == std::string::npos ? unit : unit.replace(at, from.size(), to);
}

struct Restore {
  ~Restore() { croton::runtime::simulator::change_texts({}); }
};

}  // namespace

TEST_CASE("broken templates are caught", "[simulator][slow]") {
  const ct::change_flags flags{"cuda_simulator=1,device=cuda0"};
  const Restore restore;
  std::vector<Program> trees = row_programs();
  for (const Program& p : split_programs()) trees.push_back(p);
  trees.push_back(column_programs()[0]);
  const std::vector<Template> templates = {{"pointwise.cuh", pointwise_programs()},
                                           {"tiles.cuh", tile_programs()},
                                           {"row.cuh", row_programs()},
                                           {"column.cuh", column_programs()},
                                           {"split.cuh", split_programs()},
                                           {"group.cuh", group_programs()},
                                           {"common/combine.cuh", trees}};
  std::map<Fate, int> count;
  int equivalent = 0;
  std::string survivors;
  for (const Template& which : templates) {
    const auto files = croton::codegen::embedded_files();
    const auto file = std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.path == which.file; });
    REQUIRE(file != files.end());
    const std::string text(file->text);
    croton::runtime::simulator::change_texts({});
    std::vector<std::vector<Array>> right;
    for (const Program& p : which.programs) right.push_back(p());
    for (const Mutant& mutant : mutants_of(text)) {
      croton::runtime::simulator::change_texts(
          [&](std::string unit) { return replaced(std::move(unit), text, mutant.text); });
      const Fate fate = fate_of(which.programs, right);
      if (fate == Fate::survived && is_equivalent(mutant.name())) {
        ++equivalent;
        continue;
      }
      ++count[fate];
      if (fate == Fate::survived) survivors += "\n  " + std::string(which.file) + ": " + mutant.name();
    }
  }
  const int caught = count[Fate::reported] + count[Fate::different], survived = count[Fate::survived];
  WARN(caught + survived + equivalent << " mutants that compile: " << count[Fate::reported] << " reported, "
                                      << count[Fate::different] << " with other results, " << equivalent
                                      << " equivalent, " << survived << " survived" << survivors);
  CHECK(caught + survived > 200);
  CHECK(caught * 100 >= (caught + survived) * 95);
}
