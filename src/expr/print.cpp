#include "expr/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <set>

#include "base/characters.hpp"
#include "base/device_name.hpp"
#include "base/source_place.hpp"
#include "expr/body.hpp"
#include "expr/lexer.hpp"

namespace croton::expr {
namespace {

/// The reachable nodes, without those that only requirements of numbers need, because the parser infers these
/// requirements from the ops.
std::vector<bool> printed_nodes(const Graph& graph) {
  const Arena& arena = graph.arena;
  std::vector<bool> result(arena.size(), false);
  for (const NodeId root : graph.roots()) result[root] = true;
  for (const Requirement& r : arena.requirements()) {
    if (r.kind != Requirement::Kind::number) result[r.left] = result[r.right] = true;
  }
  for (NodeId id = arena.size(); id-- > 0;) {
    if (!result[id]) continue;
    for (const NodeId input : arena.inputs(id)) result[input] = true;
    for (const NodeId dim : arena.type(id).shape) result[arena.representative(dim)] = result[dim] = true;
  }
  return result;
}

std::string place_text(Place place) { return base::DeviceName::of_place(place).to_string(); }

std::string size_letter(std::size_t k) {
  static constexpr std::string_view letters = "nmkpqrst";
  if (k < letters.size()) return std::string(1, letters[k]);
  return fmt::format("n{}", k);
}

/// Words that have a meaning at the start of a statement or a term.
bool is_reserved(std::string_view name) {
  if (is_dtype_name(name)) return true;
  static constexpr std::string_view words[] = {"return", "update", "require", "body", "in", "nan", "inf"};
  return std::ranges::find(words, name) != std::end(words);
}

/// A user's name as an identifier: all other characters become '_'.
std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name) text += base::is_letter_or_digit(c) ? c : '_';
  if (text.empty() || base::is_digit(text[0]) || is_reserved(text)) text = fmt::format("_{}", text);
  return text;
}

/// The statements of bodies, each before the first node that has the body: "body step0 = {", the indented lines, "}".
class Bodies {
 public:
  /// The name of a body; the statement of a new body is appended to `text`.
  std::string name(const BodyPtr& body, const PrintOptions& options, std::string& text) {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (same(*known_[i], *body)) return fmt::format("step{}", i);
    }
    known_.push_back(body);
    const std::string own = fmt::format("step{}", known_.size() - 1), lines = print(body->graph(), options);
    text += fmt::format("body {} = {{\n", own);
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size());
      text += fmt::format("  {}\n", lines.substr(at, end - at));
      at = end + 1;
    }
    text += "}\n";
    return own;
  }

 private:
  std::vector<BodyPtr> known_;
};

/// "(1.0, -0.5)": real and imaginary part.
std::string complex_text(std::complex<double> z) {
  return fmt::format("({}, {})", to_string(AttrValue(z.real())), to_string(AttrValue(z.imag())));
}

}  // namespace

std::string literal(const Scalar& value) {
  if (is_complex(value.dtype))
    return fmt::format("{} {}", short_name_of(value.dtype), complex_text({value.d, value.im}));
  const AttrValue payload = is_float(value.dtype) ? AttrValue(value.d) : AttrValue(value.i);
  return fmt::format("{} {}", short_name_of(value.dtype), to_string(payload));
}

std::string type_text(const Arena& arena, const TensorType& type) {
  std::string text(short_name_of(type.dtype));
  text += '[';
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    const NodeId dim = arena.representative(type.shape[axis]);
    if (const auto number = arena.known(dim)) {
      text += fmt::format("{}", *number);
    } else if (arena.op(dim).is(Core::size)) {
      text += fmt::format("n{}_{}", arena.attrs(dim).integer("input"), arena.attrs(dim).integer("axis"));
    } else {
      text += '?';
    }
  }
  return text + "]";
}

Names::Names(const Graph& graph) : graph_(graph), names_(graph.arena.size()) {
  const Arena& arena = graph.arena;
  std::set<std::string> taken;
  for (const GraphInput& input : graph.inputs) {
    std::string name = identifier(input.name.empty() ? "input" : input.name);
    for (int copy = 2; !taken.insert(name).second; ++copy) {
      name = fmt::format("{}_{}", identifier(input.name.empty() ? "input" : input.name), copy);
    }
    names_[input.node] = name;
  }
  // Letters in the order in which the inputs' types show them.
  std::size_t letters = 0;
  const auto name_size = [&](NodeId dim) {
    dim = arena.representative(dim);
    if (!arena.op(dim).is(Core::size) || !names_[dim].empty()) return;
    std::string letter;
    do letter = size_letter(letters++);
    while (!taken.insert(letter).second);
    names_[dim] = letter;
  };
  for (const GraphInput& input : graph.inputs) {
    for (const NodeId dim : arena.type(input.node).shape) name_size(dim);
  }
  const std::vector<bool> needed = printed_nodes(graph);
  std::size_t number = 0;
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!needed[id] || !names_[id].empty()) continue;
    if (const auto value = arena.scalar_value(id)) {
      names_[id] = literal(*value);
    } else if (arena.op(id).is(Core::size)) {
      name_size(id);
      const NodeId known = arena.representative(id);
      if (names_[id].empty())
        names_[id] = arena.scalar_value(known) ? literal(*arena.scalar_value(known)) : names_[known];
    } else if (arena.op(id).is(Core::constant)) {
      std::string name = fmt::format("c{}", arena.attrs(id).integer("index"));
      while (!taken.insert(name).second) name += '_';
      names_[id] = name;
    } else {
      names_[id] = fmt::format("%{}", number++);
    }
  }
}

std::string Names::operator()(NodeId id) const {
  const std::string& name = names_[id];
  return name.empty() ? fmt::format("%dead{}", id) : name;
}

std::string Names::type(NodeId id) const {
  const TensorType& t = graph_.arena.type(id);
  std::string text(short_name_of(t.dtype));
  text += '[';
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    const NodeId dim = graph_.arena.representative(t.shape[axis]);
    if (const auto number = graph_.arena.known(dim)) {
      text += fmt::format("{}", *number);
    } else {
      text += (*this)(dim);
    }
  }
  return text + "]";
}

std::string print(const Graph& graph, const PrintOptions& options) {
  const Arena& arena = graph.arena;
  const Names names(graph);
  const std::vector<bool> needed = printed_nodes(graph);
  Bodies bodies;
  std::string text;
  for (const GraphInput& input : graph.inputs) {
    text += fmt::format("{}: {} = {}\n", names(input.node), names.type(input.node),
                        input.role == Role::shared ? "shared" : "input");
    if (input.place != base::unplaced) text.insert(text.size() - 1, " @" + place_text(input.place));
    if (input.pinned) text.insert(text.size() - 1, " pinned");
  }
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!needed[id]) continue;
    const Op& o = arena.op(id);
    if (o.is(Core::constant)) {
      const Array& value = graph.constants[arena.attrs(id).index("index")];
      std::string values;
      for (std::int64_t i = 0; i < value.size() && i <= 64; ++i) {
        if (i > 0) values += ", ";
        if (i == 64) {
          values += "...";
        } else {
          values += is_complex(value.dtype()) ? complex_text(value.as_complex(i))
                    : is_float(value.dtype()) ? to_string(AttrValue(value.as_double(i)))
                                              : fmt::format("{}", value.as_double(i));
        }
      }
      text += fmt::format("{}: {} = constant({})\n", names(id), names.type(id), values);
      continue;
    }
    if (o.kind == Kind::Leaf) continue;
    std::string arguments;
    for (const NodeId input : arena.inputs(id)) {
      if (!arguments.empty()) arguments += ", ";
      arguments += names(input);
    }
    for (const auto& [key, value] : arena.attrs(id).items()) {
      if (!arguments.empty()) arguments += ", ";
      const auto* body = std::get_if<BodyPtr>(&value);
      arguments += fmt::format("{}={}", key, body != nullptr ? bodies.name(*body, options, text) : to_string(value));
    }
    text += fmt::format("{}: {} = {}({})", names(id), names.type(id), o.name, arguments);
    if (arena.node(id).place != base::unplaced) text += " @" + place_text(arena.node(id).place);
    if (options.origins) {
      const Origin& origin = arena.origin(id);
      if (origin.where.known()) {
        text +=
            fmt::format("  # {}{}{}", origin.name, origin.name.empty() ? "" : " ", base::file_and_line(origin.where));
      }
    }
    text += '\n';
  }
  for (const Requirement& r : arena.requirements()) {
    if (r.kind == Requirement::Kind::number) continue;  // see printed_nodes()
    // Sizes that have one name in the declarations need no statement.
    const bool index = r.kind == Requirement::Kind::index;
    if (!index && names(r.left) == names(r.right)) continue;
    text += fmt::format("require {} {} {} {}\n", names(r.left), index ? "in" : "==", names(r.right),
                        to_string(AttrValue(r.why)));
  }
  if (!graph.outputs.empty()) {
    text += "return ";
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
      text += fmt::format("{}{}", i > 0 ? ", " : "", names(graph.outputs[i]));
    text += '\n';
  }
  for (const Update& update : graph.updates) {
    text += fmt::format("update {} = {}\n", names(graph.inputs[update.input].node), names(update.value));
  }
  return text;
}

}  // namespace croton::expr
