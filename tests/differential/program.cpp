#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "builder/node.hpp"
#include "expr/evaluate.hpp"
#include "loops.hpp"

namespace differential {
namespace {

std::string dtype_text(DType dtype) {
  const std::string name(name_of(dtype));
  return "ct::DType::" + (name == "bool" ? "bool_" : name);
}

std::string number_text(double x) {
  if (std::isnan(x)) return "std::nan(\"\")";
  if (std::isinf(x)) return x > 0 ? "HUGE_VAL" : "-HUGE_VAL";
  const std::string text = fmt::format("{:.17g}", x);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

/// "{-1, 3}" of types, "{3, 2}" of shapes.
std::string sizes_text(const ct::Sizes& sizes) {
  std::string text = "{";
  for (std::size_t i = 0; i < sizes.size(); ++i)
    text += (i == 0 ? "" : ", ") + (sizes[i] == ct::unknown_size ? "ct::unknown_size" : std::to_string(sizes[i]));
  return text + "}";
}

std::string array_text(const Array& array) {
  const bool floats = ct::is_float(array.dtype());
  const bool unsigned_long = array.dtype() == DType::uint64;
  const bool same = array.size() > 8 && [&] {
    for (std::int64_t i = 1; i < array.size(); ++i) {
      if (!floats || array.as_double(i) != array.as_double(0)) return false;
    }
    return true;
  }();
  if (same)
    return fmt::format("ct::Array::full({}, {}, {})", dtype_text(array.dtype()), sizes_text(array.shape()),
                       number_text(array.as_double(0)));
  std::string numbers;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    numbers += i == 0 ? "" : ", ";
    if (floats)
      numbers += number_text(array.as_double(i));
    else if (unsigned_long)
      numbers += fmt::format("{}u", static_cast<std::uint64_t>(ct::expr::element_of(array, i).i));
    else if (ct::expr::element_of(array, i).i == std::numeric_limits<std::int64_t>::min())
      numbers += "std::numeric_limits<std::int64_t>::min()";
    else
      numbers += fmt::format("{}", ct::expr::element_of(array, i).i);
  }
  return fmt::format("ct::Array(std::vector<{}>{{{}}}).astype({}).reshape({})",
                     floats          ? "double"
                     : unsigned_long ? "std::uint64_t"
                                     : "std::int64_t",
                     numbers, dtype_text(array.dtype()), sizes_text(array.shape()));
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Ops whose public function is not spelled ct::NAME(...).
std::string operator_text(std::string_view op) {
  static const std::map<std::string_view, std::string> texts{
      {"add", "in[0] + in[1]"}, {"sub", "in[0] - in[1]"},        {"mul", "in[0] * in[1]"}, {"mod", "in[0] % in[1]"},
      {"neg", "-in[0]"},        {"lt", "in[0] < in[1]"},         {"le", "in[0] <= in[1]"}, {"gt", "in[0] > in[1]"},
      {"ge", "in[0] >= in[1]"}, {"and", "in[0] & in[1]"},        {"or", "in[0] | in[1]"},  {"xor", "in[0] ^ in[1]"},
      {"invert", "~in[0]"},     {"true_divide", "in[0] / in[1]"}};
  const auto at = texts.find(op);
  if (op == "gamma_pdf")
    return "ct::builder::apply(\"gamma_pdf\", {in[0], in[1]}, {}, std::source_location::current())";
  return at == texts.end() ? "" : at->second;
}

std::string attrs_text(const ct::expr::Attrs& attrs) {
  std::string text = "{";
  for (const auto& [name, value] : attrs.items()) {
    const std::string shown =
        std::holds_alternative<ct::expr::Ints>(value) ? "ct::expr::Ints" + sizes_text(std::get<ct::expr::Ints>(value))
        : std::holds_alternative<DType>(value)        ? dtype_text(std::get<DType>(value))
        : std::holds_alternative<double>(value)       ? number_text(std::get<double>(value))
        : std::holds_alternative<std::string>(value)  ? fmt::format("std::string(\"{}\")", std::get<std::string>(value))
                                                     : fmt::format("std::int64_t{{{}}}", std::get<std::int64_t>(value));
    text += fmt::format("{}{{\"{}\", {}}}", text.size() > 1 ? ", " : "", name, shown);
  }
  return text + "}";
}

}  // namespace

std::string call_text(const Step& step, const std::vector<std::string>& operands) {
  if (step.row->make_all != nullptr) return fmt::format("{}[{}]", results_text(step, operands), step.p.pick);
  std::string text(step.row->code);
  if (const ct::expr::Op* op = step.row->op) {
    std::string list;
    for (std::size_t i = 0; i < operands.size(); ++i) list += fmt::format("{}in[{}]", i == 0 ? "" : ", ", i);
    if (op->map != nullptr && step.p.attrs.empty()) {
      text = operator_text(op->name);
      if (text.empty()) text = fmt::format("ct::{}({})", op->name, list);
    } else {
      text = fmt::format("ct::builder::apply(\"{}\", {{{}}}, {}, std::source_location::current())", op->name, list,
                         attrs_text(step.p.attrs));
    }
  }
  for (std::size_t i = 0; i < operands.size(); ++i) replace_all(text, fmt::format("in[{}]", i), operands[i]);
  for (std::size_t i = 0; i < step.p.n.size(); ++i)
    replace_all(text, fmt::format("p.n[{}]", i), std::to_string(step.p.n[i]));
  for (std::size_t i = 0; i < step.p.real.size(); ++i)
    replace_all(text, fmt::format("p.real[{}]", i), number_text(step.p.real[i]));
  replace_all(text, "p.list", fmt::format("std::vector<int>{{{}}}", fmt::join(step.p.list, ", ")));
  replace_all(text, "p.dtype", dtype_text(step.p.dtype));
  // The types that rows name without a namespace.
  for (const char* type : {"ReduceOptions", "DType::", "Variable ", "Variable&"})
    replace_all(text, type, std::string("ct::") + type);
  replace_all(text, "ct::ct::", "ct::");
  return text;
}

std::string program_of(const Failure& failure) {
  const Case& test = failure.test;
  Prepared p = prepare(test);
  std::string leaves, steps, inputs, arguments, outputs, updates;
  std::vector<std::string> names;
  std::map<std::string, std::string> several;  // name of the result of a call
  bool internal = false;
  for (std::size_t i = 0; i < test.nodes.size(); ++i) {
    const Node& node = test.nodes[i];
    names.push_back((node.is_leaf() ? "x" : "v") + std::to_string(i));
    if (node.is_leaf()) {
      const std::string value = array_text(node.leaf.value);
      if (node.leaf.role == Leaf::Role::constant) {
        leaves += fmt::format("  const ct::Variable {} = ct::constant({});\n", names[i], value);
      } else if (node.leaf.role == Leaf::Role::shared) {
        leaves += fmt::format("  const ct::SharedVariable {} = ct::shared({});\n", names[i], value);
      } else {
        leaves += fmt::format(
            "  const ct::Variable {0} = ct::variable({{{1}, {2}}}, \"{0}\");\n  const ct::Array a{3} = {4};\n",
            names[i], dtype_text(node.leaf.type.dtype), sizes_text(node.leaf.type.shape), i, value);
        if (node.leaf.layout != Layout::plain) leaves += "  // The array was given in another layout in memory.\n";
        inputs += (inputs.empty() ? "" : ", ") + names[i];
        arguments += fmt::format("{}a{}", arguments.empty() ? "" : ", ", i);
      }
      continue;
    }
    internal =
        internal || (node.step.row->op != nullptr && (node.step.row->op->map == nullptr || !node.step.p.attrs.empty()));
    std::vector<std::string> operands;
    for (const int input : node.step.inputs) operands.push_back(names[static_cast<std::size_t>(input)]);
    if (node.step.row->make_all != nullptr) {
      const std::string call = results_text(node.step, operands);
      const auto [at, is_new] = several.try_emplace(call, fmt::format("r{}", i));
      if (is_new) steps += fmt::format("  const std::vector<ct::Variable> {} = {};\n", at->second, call);
      steps += fmt::format("  const ct::Variable {} = {}[{}];\n", names[i], at->second, node.step.p.pick);
      continue;
    }
    steps += fmt::format("  const ct::Variable {} = {};\n", names[i], call_text(node.step, operands));
  }
  for (const int output : test.outputs)
    outputs += (outputs.empty() ? "" : ", ") + names[static_cast<std::size_t>(output)];
  for (const Update& update : test.updates) {
    updates += fmt::format("{}{{{}, {}}}", updates.empty() ? "" : ", ", names[static_cast<std::size_t>(update.leaf)],
                           names[static_cast<std::size_t>(update.value)]);
  }
  std::string options = updates.empty() ? "" : fmt::format(".updates = {{{}}}, ", updates);
  std::string text = fmt::format(
      "// {}: {}\n#include <croton/croton.hpp>\n\n{}#include <cmath>\n#include <cstdint>\n#include "
      "<iostream>\n#include <limits>\n\nnamespace ct = croton;\n\n"
      "int main() {{\n{}{}",
      failure.setting.name, failure.what, internal ? "#include \"builder/node.hpp\"  // compile with -I src\n" : "",
      failure.setting.flags.empty() ? ""
                                    : fmt::format("  const ct::change_flags flags(\"{}\");\n", failure.setting.flags),
      leaves + steps);
  if (failure.fault == Fault::gradient)
    return text + "  // The gradient of sum(y cos(y)) of an output y is not what differences give.\n  return 1;\n}\n";
  text += fmt::format(
      "  const ct::Function f = ct::function({{{}}}, std::vector<ct::Variable>{{{}}}, {{{}.on_unused_input = "
      "ct::UnusedInput::ignore}});\n",
      inputs, outputs, options);
  text += fmt::format("  const ct::Outputs results = f({});\n", arguments);
  const std::size_t root = failure.root < 0 ? 0 : static_cast<std::size_t>(failure.root);
  const std::string got =
      root < test.outputs.size()
          ? fmt::format("results[{}]", root)
          : fmt::format("{}.get_value()",
                        names[static_cast<std::size_t>(test.updates[root - test.outputs.size()].leaf)]);
  text += fmt::format("  const ct::Array got = {};\n", got);
  // A graph that is only printed may have an empty result.
  const auto expected_size = [&] { return p.expect(failure.setting.freedom)[root].value.size(); };
  if (failure.fault == Fault::value && failure.position < expected_size()) {
    const Expected& expected = p.expect(failure.setting.freedom)[root];
    const auto at = static_cast<std::size_t>(failure.position);
    text += fmt::format("  const double expected = {}, tolerance = {};\n  const double is = got.as_double({});\n",
                        number_text(expected.value.as_double(failure.position)), number_text(expected.tolerance[at]),
                        failure.position);
    text +=
        "  const bool equal = is == expected || std::abs(is - expected) <= tolerance || (std::isnan(is) && "
        "std::isnan(expected));\n"
        "  std::cout << \"got \" << is << \", expected \" << expected << \"\\n\";\n  return equal ? 0 : 1;\n}\n";
  } else {
    text += "  std::cout << got << \"\\n\";\n  return 0;\n}\n";
  }
  return text;
}

}  // namespace differential
