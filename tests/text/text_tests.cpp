// Runs the text tests of tests/text/*.test: input, stage and expected output next to each other. Rules and rewritten
// graphs are also run: both sides must agree in numbers, as text alone proves only that nothing changed.
//
//   # a comment
//   rule canonical:  x: f32[n], y: f32[n]   sub(x, neg(y))   =>   add(x, y)
//     The left side, rewritten by the group of rules (or by all), must print like the right side. `ieee` after the
//     group disables rules that change special values; `special` means that the two sides differ at some points, so
//     that they are not run; `in=-200..200` is an interval where the left side loses digits or overflows: for operands
//     there, the two must differ and the right must be finite.
//
//   graph canonical        a graph, rewritten by the group (parse: only read and printed again)
//   program                a graph, rewritten by all groups and cut into kernels, which are run as well
//   count                  the same, but only how many kernels and products there are
//   place WORDS            a graph with every node on a device (devices=cuda0+cuda1 scoped=cuda1 fallback=cuda0 soft),
//                          and why; its kernels, products and transfers are run as well
//   kernel                 a kernel, read and printed again
//   error graph            the parser's message for the text (error kernel, error rewrite likewise)
//     ...
//   expect
//     ...
//   end
//
// With CROTON_UPDATE_EXPECTED=1 in the environment the lines between `expect` and `end` are replaced by the actual
// ones.
#include "catch.hpp"
#include "folders.hpp"
#include "rule_lines.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/emit.hpp"
#include "expr/evaluate.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "expr/verify.hpp"
#include "runtime/bound/dump_kernels.hpp"
#include "text_stages.hpp"

namespace {

using namespace croton;
using croton::test::contains;
using croton::test::trim;
using croton::test::words_of;
using Lines = std::vector<std::string>;

struct Outcome {
  std::vector<std::string> problems;  // "file:line: ..."
  rewrite::Fired fired;
  std::size_t tests = 0;
};

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!trim(line).empty()) lines.push_back(trim(line));
  }
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::string shown(const std::vector<Array>& arrays) {
  std::string text;
  for (const Array& array : arrays) text += array.to_string() + '\n';
  return text;
}

void require_close(const std::vector<Array>& found, const std::vector<Array>& wanted, const std::string& what) {
  bool close = found.size() == wanted.size();
  for (std::size_t i = 0; i < found.size() && close; ++i) {
    close = found[i].dtype() == wanted[i].dtype() && found[i].shape() == wanted[i].shape() &&
            found[i].all_close(wanted[i], 1e-5, 1e-6);
  }
  if (!close) throw ValueError(what + " differ in value:\n" + shown(found) + "but\n" + shown(wanted));
}

/// The printed text must parse, and print equally.
void require_round_trip(const expr::Graph& graph) {
  const std::string once = expr::print(graph), again = expr::print(expr::parse_graph(once));
  if (once != again) throw ValueError("read back, the graph\n" + once + "prints as\n" + again);
}
void require_round_trip(const kernel::Kernel& kernel) {
  const std::string once = kernel::print(kernel), again = kernel::print(kernel::parse_kernel(once));
  if (once != again) throw ValueError("read back, the kernel\n" + once + "prints as\n" + again);
}

/// In "low..high" the left side is wrong and the right side is right.
void require_gain(const expr::Graph& left, const expr::Graph& right, const std::string& range) {
  const std::size_t dots = range.find("..");
  const double low = std::stod(range.substr(0, dots)), high = std::stod(range.substr(dots + 2));
  std::vector<Array> values = text::random_inputs(left, 7);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_float(values[i].dtype()))
      values[i] = Array::uniform(values[i].dtype(), values[i].shape(), 11 + i, low, high);
  }
  const std::vector<Array> bad = expr::evaluate(left, values), good = expr::evaluate(right, values);
  bool finite = true, close = true;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (std::int64_t k = 0; k < good[i].size(); ++k) finite = finite && std::isfinite(good[i].as_double(k));
    close = close && bad[i].all_close(good[i], 1e-5, 0);
  }
  if (!finite) throw ValueError("the right side is not finite there:\n" + shown(good));
  if (close) throw ValueError("the left side is good there as well:\n" + shown(bad));
}

void run_rule(const std::string& line, rewrite::Fired& fired) {
  const croton::test::RuleLine rule = croton::test::parse_rule_line(line);
  const std::vector<std::string>& words = rule.words;
  const expr::Graph left = expr::parse_graph(rule.left_graph());
  const expr::Graph right = expr::parse_graph(rule.right_graph());
  const expr::Graph rewritten = text::rewrite(left, words.at(1), !contains(words, "ieee"), fired);
  require_round_trip(rewritten);
  const std::string found = expr::print(text::in_order_of_use(rewritten)),
                    wanted = expr::print(text::in_order_of_use(right));
  if (found != wanted) throw ValueError("found\n" + found + "but expected\n" + wanted);
  for (const std::string& word : words) {
    if (word.starts_with("in=")) require_gain(left, right, word.substr(3));
  }
  if (contains(words, "special")) return;
  const std::vector<Array> values = text::random_inputs(left, 7);
  require_close(expr::evaluate(left, values), expr::evaluate(right, values), "the two sides");
}

std::string rewritten_text(const std::string& text, const std::vector<std::string>& words, rewrite::Fired& fired) {
  const expr::Graph graph = expr::parse_graph(text);
  require_round_trip(graph);
  if (words.at(1) == "parse") return expr::print(graph);
  const expr::Graph rewritten = text::rewrite(graph, words[1], !contains(words, "ieee"), fired);
  require_round_trip(rewritten);
  if (!contains(words, "special")) {
    const std::vector<Array> values = text::random_inputs(graph, 7);
    require_close(expr::evaluate(rewritten, values), expr::evaluate(graph, values), "the graph before and after");
  }
  return expr::print(text::in_order_of_use(rewritten));
}

/// For the test that compiles all CUDA texts (the flag dump_kernels).
void dump_kernels(const fuse::Program& program) {
  for (const fuse::Call& call : program.calls) {
    const auto* kernel_call = std::get_if<fuse::KernelCall>(&call.work);
    if (kernel_call == nullptr) continue;
    const auto analysis = codegen::analyse(*kernel_call->kernel);
    const std::vector<std::int64_t> extents = codegen::default_extents(*analysis);
    const runtime::BoundKernel kernel{
        kernel_call, analysis.get(), {}, extents, codegen::default_launch(*analysis, extents)};
    runtime::dump_kernels(std::span(&kernel, 1), codegen::Target::cpu, std::string(codegen::default_architecture));
  }
}

fuse::Program program_of(const std::string& text, rewrite::Fired& fired) {
  const expr::Graph graph = expr::parse_graph(text);
  expr::Graph rewritten = text::rewrite(graph, "all", true, fired);
  const std::vector<Array> values = text::random_inputs(graph, 7);
  const std::vector<Array> wanted = expr::evaluate(graph, values);
  // Without fusion every op is a separate kernel: the same values, along other paths.
  const fuse::Program single = fuse::fuse(rewritten, {.join = false});
  require_close(text::evaluate(single, values), wanted, "the kernels of single ops and the graph");
  dump_kernels(single);
  fuse::Program program = fuse::fuse(std::move(rewritten));
  dump_kernels(program);
  for (const fuse::Call& call : program.calls) {
    if (const auto* kernel = std::get_if<fuse::KernelCall>(&call.work)) require_round_trip(*kernel->kernel);
  }
  require_close(text::evaluate(program, values), wanted, "the kernels and the graph");
  return program;
}

std::string placed_text(const std::string& text, std::span<const std::string> words) {
  const expr::Graph graph = expr::parse_graph(text);
  require_round_trip(graph);
  std::vector<rewrite::Placement> log;
  const expr::Graph placed = text::place(graph, words, &log);
  require_round_trip(placed);
  const std::vector<Array> values = text::random_inputs(graph, 7);
  const std::vector<Array> wanted = expr::evaluate(graph, values);
  require_close(expr::evaluate(placed, values), wanted, "the graph before and after");
  const fuse::Program program = fuse::fuse(placed);
  require_close(text::evaluate(program, values), wanted, "the kernels and the graph");
  std::string result = expr::print(placed);
  const expr::Names names(placed);
  for (const rewrite::Placement& p : log) result += names(p.node) + ": " + p.reason + '\n';
  return result + "kernels: " + std::to_string(program.kernel_count()) +
         ", products: " + std::to_string(program.product_count()) +
         ", transfers: " + std::to_string(program.transfer_count()) + '\n';
}

std::string error_of(const std::string& text, const std::string& kind) {
  rewrite::Fired fired;
  try {
    if (kind == "kernel")
      kernel::parse_kernel(text);
    else if (kind.starts_with("place:"))
      text::place(expr::parse_graph(text), std::vector{kind.substr(6)});
    else if (kind == "evaluate")
      expr::evaluate(expr::parse_graph(text), text::random_inputs(expr::parse_graph(text), 7));
    else
      expr::parse_graph(text);
  } catch (const Error& e) {  // an InternalError or anything else is a failure
    return e.what() + std::string("\n");
  }
  return "no error\n";
}

std::string run_block(const std::string& head, const std::string& text, rewrite::Fired& fired) {
  const std::vector<std::string> words = words_of(head);
  const std::string& stage = words.at(0);
  if (stage == "graph") return rewritten_text(text, words, fired);
  if (stage == "program") return fuse::print(program_of(text, fired));
  if (stage == "place") return placed_text(text, std::span(words).subspan(1));
  if (stage == "count") {
    const fuse::Program program = program_of(text, fired);
    return "kernels: " + std::to_string(program.kernel_count()) +
           ", products: " + std::to_string(program.product_count()) + '\n';
  }
  if (stage == "kernel") {
    const kernel::Kernel kernel = kernel::parse_kernel(text);
    require_round_trip(kernel);
    return kernel::print(kernel);
  }
  if (stage == "error") return error_of(text, words.at(1));
  throw ValueError("'" + stage + "' where rule, graph, program, count, place, kernel or error is expected");
}

/// Runs one file; with `update` its expectations become the actual results.
class File {
 public:
  File(const std::filesystem::path& path, bool update) : path_(path), update_(update) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  Outcome run() {
    for (std::size_t at = 0; at < lines_.size();) {
      const std::string line = trim(lines_[at]);
      if (line.empty() || line[0] == '#') {
        out_.push_back(lines_[at++]);
      } else if (line.starts_with("rule ")) {
        ++outcome_.tests;
        guarded(at, [&] { run_rule(line, outcome_.fired); });
        out_.push_back(lines_[at++]);
      } else {
        ++outcome_.tests;
        block(at);
      }
    }
    if (update_) std::ofstream(path_) << joined(out_);
    return std::move(outcome_);
  }

 private:
  template <class F>
  void guarded(std::size_t at, F f) {
    try {
      f();
    } catch (const std::exception& e) {
      outcome_.problems.push_back(path_.filename().string() + ":" + std::to_string(at + 1) + ": " + trim(lines_[at]) +
                                  "\n" + e.what());
    }
  }

  Lines take_until(std::string_view mark, std::size_t& at) {
    Lines taken;
    for (; at < lines_.size() && trim(lines_[at]) != mark; ++at) taken.push_back(lines_[at]);
    if (at < lines_.size())
      ++at;
    else
      outcome_.problems.push_back(path_.filename().string() + ": '" + std::string(mark) + "' is missing");
    return taken;
  }

  void block(std::size_t& at) {
    const std::size_t start = at;
    const std::string head = trim(lines_[at++]);
    const Lines text = take_until("expect", at);
    const Lines expected = take_until("end", at);
    std::string found;
    guarded(start, [&] {
      found = run_block(head, joined(text), outcome_.fired);
      // Indentation has no meaning.
      if (lines_of(found) != lines_of(joined(expected)) && !update_)
        throw ValueError("found\n" + found + "but expected\n" + joined(expected));
    });
    out_.push_back(lines_[start]);
    out_.insert(out_.end(), text.begin(), text.end());
    out_.push_back("expect");
    std::istringstream in(found);
    for (std::string line; std::getline(in, line);) out_.push_back("  " + line);
    out_.push_back("end");
  }

  std::filesystem::path path_;
  bool update_;
  Lines lines_, out_;
  Outcome outcome_;
};

/// The outcome of each file, each run once.
const std::map<std::string, Outcome>& outcomes() {
  static const std::map<std::string, Outcome> all = [] {
    const char* update = std::getenv("CROTON_UPDATE_EXPECTED");
    std::map<std::string, Outcome> result;
    for (const auto& entry : std::filesystem::directory_iterator(croton::test::source_folder() + "/tests/text")) {
      if (entry.path().extension() != ".test") continue;
      result[entry.path().stem().string()] =
          File(entry.path(), update != nullptr && std::string_view(update) == "1").run();
    }
    return result;
  }();
  return all;
}

}  // namespace

TEST_CASE("text tests", "[text]") {
  REQUIRE(outcomes().size() >= 8);
  for (const auto& [name, outcome] : outcomes()) {
    DYNAMIC_SECTION(name) {
      CHECK(outcome.tests > 0);
      for (const std::string& problem : outcome.problems) FAIL_CHECK(problem);
    }
  }
}

TEST_CASE("every rule fires in a text test", "[text]") {
  rewrite::Fired fired;
  for (const auto& [name, outcome] : outcomes()) {
    for (const auto& [rule, count] : outcome.fired) fired[rule] += count;
  }
  for (const rewrite::Group& group : rewrite::groups()) {
    for (const rewrite::Rule& rule : group.rules) {
      INFO(group.name << ": " << rule.name);
      CHECK(fired[rule.name] > 0);
    }
  }
}
