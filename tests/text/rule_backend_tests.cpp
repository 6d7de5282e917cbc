// Every line `rule ...` of tests/text again, as programs of a user: compiled with rules and fusion on every back-end,
// with their gradients, at points where forms overflow, underflow or cancel.
#include <croton/croton.hpp>

#include <array>
#include <cmath>
#include <map>

#include "backends.hpp"
#include "builder/node.hpp"
#include "catch.hpp"
#include "expr/evaluate.hpp"
#include "expr/parse.hpp"
#include "rule_lines.hpp"
#include "rule_points.hpp"
#include "text_stages.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;
namespace expr = croton::expr;

namespace {

/// The variables of a text.
struct Program {
  std::vector<Variable> inputs, outputs;
  std::size_t values = 0;  // number of outputs that are not gradients
  std::string text;
};

Program program_of(const std::string& text) {
  const expr::Graph graph = expr::parse_graph(text);
  const expr::Arena& arena = graph.arena;
  Program program;
  program.text = text;
  std::map<expr::NodeId, Variable> variables;
  for (const expr::GraphInput& input : graph.inputs) {
    const expr::TensorType& type = arena.type(input.node);
    ct::Type stated{type.dtype, {}};
    for (const auto size : type.shape) stated.shape.push_back(arena.known(size).value_or(ct::unknown_size));
    program.inputs.push_back(ct::variable(stated, input.name));
    variables.emplace(input.node, program.inputs.back());
  }
  const std::vector<bool> needed = expr::reachable(graph);
  for (expr::NodeId node = 0; node < arena.size(); ++node) {
    if (!needed[node] || variables.contains(node)) continue;
    const expr::Op& op = arena.op(node);
    const expr::Attrs& attrs = arena.attrs(node);
    if (op.name == "size") {
      const auto& input = program.inputs.at(static_cast<std::size_t>(attrs.integer("input")));
      variables.emplace(node, input.shape(static_cast<int>(attrs.integer("axis"))));
    } else if (const auto value = arena.scalar_value(node)) {
      variables.emplace(node, ct::constant(expr::array_of(std::array{*value}, value->dtype, {})));
    } else {
      std::vector<Variable> inputs;
      for (const expr::NodeId input : arena.inputs(node)) inputs.push_back(variables.at(input));
      variables.emplace(node, ct::builder::apply(op, inputs, attrs, std::source_location::current()));
    }
  }
  for (const expr::NodeId output : graph.outputs) program.outputs.push_back(variables.at(output));
  program.values = program.outputs.size();
  return program;
}

bool differentiable(const Variable& x) { return ct::is_float(x.dtype()); }

/// Adds the gradients of the sum of the float outputs with respect to the float inputs, if all ops on the path have
/// one.
bool add_gradients(Program& program) {
  std::vector<Variable> terms, by;
  for (const Variable& output : program.outputs) {
    if (differentiable(output)) terms.push_back(ct::sum(output));
  }
  std::ranges::copy_if(program.inputs, std::back_inserter(by), differentiable);
  if (terms.empty() || by.empty()) return false;
  try {
    const std::vector<Variable> gradients =
        ct::grad(ct::add_n(terms), by, {.disconnected_inputs = ct::Disconnected::ignore});
    program.outputs.insert(program.outputs.end(), gradients.begin(), gradients.end());
  } catch (const ct::Error&) {
    return false;
  }
  return true;
}

/// Many programs as one function; returns the results of each program in order.
std::vector<Array> run(const std::vector<Program>& programs, const std::vector<Array>& values,
                       const std::string& mode) {
  const ct::change_flags flags(mode + ",llvm_level=0");
  std::vector<ct::In> inputs;
  std::vector<Variable> outputs;
  for (const Program& program : programs) {
    inputs.insert(inputs.end(), program.inputs.begin(), program.inputs.end());
    outputs.insert(outputs.end(), program.outputs.begin(), program.outputs.end());
  }
  const std::vector<ct::Argument> arguments(values.begin(), values.end());
  return ct::function(inputs, outputs, {.on_unused_input = ct::UnusedInput::ignore}).call(arguments).arrays();
}

struct Compared {
  int elements = 0, mended = 0, gradients = 0;
};

/// As in "no right side is worse than the left" of rule_tests.cpp: a compiled result in float32 may not be wrong if the
/// original program is right, compared with the original program in float64, or, if that lacks digits, with the
/// compiled result in float64.
void compare(const std::vector<std::string>& texts, const std::string& mode, const std::string& special,
             Compared& compared) {
  std::vector<Program> narrow, wide;
  std::vector<Array> values, wide_values;
  for (const std::string& text : texts) {
    narrow.push_back(program_of(text));
    wide.push_back(program_of(croton::test::in_dtype(text, "f64")));
    if (add_gradients(narrow.back()) && add_gradients(wide.back())) ++compared.gradients;
    std::vector<Array> all = ct::text::random_inputs(expr::parse_graph(text), 3);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool floats = all[i].dtype() == DType::float32;
      values.push_back(floats ? croton::test::extremes(DType::float32, all[i].shape(), i) : all[i]);
      wide_values.push_back(floats ? values.back().astype(DType::float64) : values.back());
    }
  }
  const std::string written = "mode=reference,optimizer=none," + special, compiled = mode + "," + special;
  const auto left = run(narrow, values, written), truth = run(wide, wide_values, written),
             right = run(narrow, values, compiled), right_truth = run(wide, wide_values, compiled);
  std::size_t output = 0;
  for (const Program& program : narrow) {
    INFO(mode << ", " << special << "\n" << program.text);
    for (std::size_t i = 0; i < program.outputs.size(); ++i, ++output) {
      CAPTURE(i);
      CHECK(left[output].shape() == right[output].shape());
      if (!ct::is_float(left[output].dtype())) continue;
      for (std::int64_t k = 0; k < left[output].size(); ++k) {
        const double wanted = truth[output].as_double(k), l = left[output].as_double(k), r = right[output].as_double(k);
        if (!std::isfinite(wanted) || std::abs(wanted) > 3e38) continue;
        CAPTURE(k, wanted, l, r);
        // A gradient of 0 may be a difference of numbers near 1, as for the sum of a softmax.
        const bool good = croton::test::near(r, wanted) || croton::test::near(r, right_truth[output].as_double(k)) ||
                          (i >= program.values && wanted == 0 && std::abs(r) < 1e-6);
        CHECK((good || !croton::test::near(l, wanted)));
        compared.mended += good && !croton::test::near(l, wanted);
        ++compared.elements;
      }
    }
  }
}

}  // namespace

TEST_CASE("compiled_rules: with fusion at extreme points, forward and gradient") {
  const std::string mode = GENERATE(from_range(croton_test::compiled_backends()));
  std::map<std::string, std::vector<std::string>> texts;  // by the flag of special values
  for (const croton::test::RuleLine& line : croton::test::all_rule_lines()) {
    const bool ieee = croton::test::contains(line.words, "ieee");
    ct::rewrite::Fired fired;
    ct::text::rewrite(expr::parse_graph(line.left_graph()), line.words.at(1), !ieee, fired);
    if (croton::test::overflows_elsewhere(fired)) continue;
    // Sums of scaled products and their gradients: the reference adds in float64, while kernels and routines overflow
    // in between, or cancel in a different order. tests/nn/test_nn_folding.cpp compiles such programs.
    if (line.words.at(1) == "filters") continue;
    texts[ieee ? "special_values=ieee" : "special_values=theano"].push_back(line.left_graph());
  }
  Compared compared;
  for (const auto& [special, all] : texts) {
    for (std::size_t first = 0; first < all.size(); first += 40) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(first);
      compare({at, at + static_cast<std::ptrdiff_t>(std::min<std::size_t>(40, all.size() - first))}, mode, special,
              compared);
    }
  }
  CHECK(compared.elements > 2000);
  CHECK(compared.mended > 50);
  CHECK(compared.gradients > 200);
}
