#include "expr/evaluate.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <unordered_set>

#include "base/checked.hpp"
#include "base/float_text.hpp"
#include "base/index.hpp"
#include "base/interrupt.hpp"
#include "base/rethrow.hpp"
#include "base/shape.hpp"
#include "base/source_place.hpp"
#include "expr/loop.hpp"
#include "expr/print.hpp"
#include "expr/requirement.hpp"

namespace croton::expr {
namespace {

std::atomic<std::uint64_t> node_count{0};

std::string place_of(const Origin& origin) {
  std::string text;
  if (!origin.name.empty()) text += " of " + origin.name;
  if (origin.where.known()) text += fmt::format(" ({})", base::file_and_line(origin.where));
  return text;
}

/// For each element of the result, the C-order position of the operand's element that it reads.
class Broadcast {
 public:
  Broadcast(const Array& operand, const Sizes& shape) : shape_(shape), steps_(shape.size(), 0) {
    std::int64_t step = 1;
    for (std::size_t back = 0; back < operand.shape().size(); ++back) {
      const std::int64_t size = operand.shape()[operand.shape().size() - 1 - back];
      const std::size_t axis = shape.size() - 1 - back;
      if (size != 1 && size != shape[axis])
        throw ShapeError(fmt::format("a size of {} where {} is needed", size, shape[axis]));
      if (size != 1) steps_[axis] = step;
      step *= size;
    }
  }
  std::int64_t position(std::int64_t of_result) const {
    std::int64_t at = 0;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      at += of_result % shape_[axis] * steps_[axis];
      of_result /= shape_[axis];
    }
    return at;
  }

 private:
  Sizes shape_, steps_;
};

class Evaluator {
 public:
  Evaluator(const Graph& graph, std::span<const Array> inputs, const NodeObserver& observer = {})
      : graph_(graph), arena_(graph.arena), inputs_(inputs), observer_(observer), values_(arena_.size()) {
    check_inputs();
  }

  std::vector<Array> run() {
    std::vector<Array> results;
    check_requirements();
    for (const NodeId root : graph_.roots()) {
      results.push_back(value(root));
      check_requirements();  // expansions may have added some
    }
    return results;
  }

 private:
  void check_inputs() const {
    if (inputs_.size() != graph_.inputs.size()) {
      throw TypeError(fmt::format("the graph has {} input(s), but {} are given", graph_.inputs.size(), inputs_.size()));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const TensorType& type = arena_.type(graph_.inputs[i].node);
      const Array& given = inputs_[i];
      if (given.dtype() != type.dtype || given.shape().size() != type.rank()) {
        throw TypeError(fmt::format("{} is {}, but an array of {} with {} dimension(s) is given", graph_.inputs[i].name,
                                    type_text(arena_, type), name_of(given.dtype()), given.rank()));
      }
      for (std::size_t axis = 0; axis < type.rank(); ++axis) {
        const auto stated = arena_.scalar_value(type.shape[axis]);
        if (stated && stated->i != given.shape()[axis]) {
          throw ShapeError(fmt::format("{} is {}, but axis {} of the array has size {}", graph_.inputs[i].name,
                                       type_text(arena_, type), axis, given.shape()[axis]));
        }
      }
    }
  }

  /// "x is f32[3] (train.cpp:12), ...", as given.
  std::string describe_inputs() const {
    std::string text;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const GraphInput& input = graph_.inputs[i];
      text += fmt::format(
          "{}{} is {}{}", text.empty() ? "" : ", ", input.name.empty() ? "an unnamed input" : input.name,
          Type{inputs_[i].dtype(), inputs_[i].shape()}.to_string(), place_of({"", arena_.origin(input.node).where}));
    }
    return text;
  }

  void check_requirements() {
    for (; checked_ < arena_.requirements().size(); ++checked_) {
      const Requirement r = arena_.requirements()[checked_];
      const std::int64_t left = number(r.left), right = number(r.right);
      const bool too_large = is_too_large(r.left) || is_too_large(r.right);
      if (!is_satisfied(r, left, right, too_large))
        throw_unsatisfied(r, left, right, too_large, place_of(arena_.origin_of(r.origin)), describe_inputs());
    }
  }

  std::int64_t number(NodeId size) { return element_of(value(size), 0).as_int(); }

  /// The value of a node, after the values that it needs. It uses an explicit stack, because graphs are deep.
  Array value(NodeId root) {
    std::vector<NodeId> stack{root};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      if (known(id)) {
        stack.pop_back();
        continue;
      }
      std::vector<NodeId> missing;
      const auto need = [&](NodeId other) {
        if (!known(other)) missing.push_back(other);
      };
      const NodeId expanded = expansion(id);
      if (expanded != no_node) {
        need(expanded);
      } else {
        for (const NodeId input : arena_.inputs(id)) need(input);
        if (!arena_.op(id).is(Core::input)) {
          for (const NodeId dim : arena_.type(id).shape) need(dim);
        }
      }
      if (missing.empty()) {
        base::check_interrupt();
        values_[id] = expanded != no_node ? values_[expanded] : compute(id);
        note_overflow(id);
        ++node_count;
        if (observer_) notify_observer(id, expanded);
      }
      stack.insert(stack.end(), missing.begin(), missing.end());
    }
    return *values_[root];
  }

  void notify_observer(NodeId id, NodeId expanded) const {
    static const Array nothing;
    std::vector<Array> inputs;
    for (const NodeId input : arena_.inputs(id)) inputs.push_back(values_[input].value_or(nothing));
    observer_({arena_, id, expanded, inputs, *values_[id]});
  }

  bool known(NodeId id) {
    if (values_.size() < arena_.size()) values_.resize(arena_.size());
    return values_[id].has_value();
  }

  /// The same value in simpler ops, for an op without a reference function.
  NodeId expansion(NodeId id) {
    const Op& op = arena_.op(id);
    if (op.evaluate != nullptr || op.expand == nullptr) return no_node;
    const auto [at, fresh] = expanded_.try_emplace(id, no_node);
    if (fresh) at->second = op.expand(arena_, id);
    return at->second;
  }

  /// Whether integer arithmetic has overflowed in this number: as data it wraps, as a size it is an error.
  bool is_too_large(NodeId id) const { return too_large_.contains(id); }

  void note_overflow(NodeId id) {
    const TensorType& type = arena_.type(id);
    if (type.rank() != 0 || !is_discrete(type.dtype) || arena_.op(id).map == nullptr) return;
    bool too_large = false;
    std::vector<Scalar> operands;
    for (const NodeId input : arena_.inputs(id)) {
      too_large = too_large || is_too_large(input);
      operands.push_back(element_of(*values_[input], 0));
    }
    if (too_large || !is_exact(arena_.op(id), operands, type.dtype)) too_large_.insert(id);
  }

  Sizes shape_of(NodeId id) const {
    Sizes shape;
    std::optional<std::int64_t> bytes = base::element_size(arena_.type(id).dtype);
    for (const NodeId dim : arena_.type(id).shape) {
      shape.push_back(element_of(*values_[dim], 0).as_int());
      if (is_too_large(dim)) bytes = std::nullopt;
      if (bytes) bytes = base::checked_mul(*bytes, std::max<std::int64_t>(1, shape.back()));
    }
    if (bytes) return shape;
    throw ShapeError(fmt::format("{}{}: its shape has more elements than an index can count; {}", arena_.op(id).name,
                                 place_of(arena_.origin(id)), describe_inputs()));
  }

  Array compute(NodeId id) {
    const Op& op = arena_.op(id);
    if (op.kind == Kind::Leaf) return leaf(id);
    std::vector<Array> inputs;
    for (const NodeId input : arena_.inputs(id)) inputs.push_back(*values_[input]);
    if (op.map != nullptr) return map(id, inputs);
    if (op.evaluate == nullptr) throw InternalError(fmt::format("{} has no reference", op.name));
    for (Array& input : inputs) input = input.contiguous();
    if (op.kind == Kind::Loop) return loop_value(id, inputs);
    try {
      return op.evaluate({arena_.attrs(id), std::move(inputs), arena_.type(id).dtype, shape_of(id), &op}).contiguous();
    } catch (const Error& error) {
      const std::string place = place_of(arena_.origin(id));
      if (op.kind == Kind::Host) base::rethrow_with("", place);
      const bool index = dynamic_cast<const IndexError*>(&error) != nullptr;
      if (!index || (op.kind != Kind::Gather && op.kind != Kind::Check)) throw;
      throw IndexError(fmt::format("{}{}; {}", error.what(), place, describe_inputs()));
    }
  }

  /// The value of a loop's result; the steps run once for all results.
  Array loop_value(NodeId id, const std::vector<Array>& inputs) {
    const Loop loop(arena_.attrs(id), inputs.size());
    const AttrsId application = arena_.intern_attrs(without_result(arena_.attrs(id)));
    std::vector<NodeId> key(arena_.inputs(id).begin(), arena_.inputs(id).end());
    key.push_back(application);
    const Sizes shape = shape_of(id);  // before the first step, so that a shape that is too large is an error at once
    const auto [at, fresh] = steps_.try_emplace(std::move(key));
    if (fresh) at->second = evaluate_steps(loop, inputs);
    return loop_result(loop, inputs, at->second, arena_.type(id).dtype, shape);
  }

  Array leaf(NodeId id) const {
    const Op& op = arena_.op(id);
    const Attrs& attrs = arena_.attrs(id);
    if (const auto scalar = arena_.scalar_value(id)) return array_of(std::span(&*scalar, 1), scalar->dtype, {});
    if (op.is(Core::input)) return inputs_[static_cast<std::size_t>(attrs.integer("index"))].contiguous();
    if (op.is(Core::constant)) return graph_.constants[static_cast<std::size_t>(attrs.integer("index"))].contiguous();
    if (op.is(Core::size)) {
      return Array(inputs_[static_cast<std::size_t>(attrs.integer("input"))]
                       .shape()[static_cast<std::size_t>(attrs.integer("axis"))]);
    }
    throw InternalError(fmt::format("a graph does not hold {}", op.name));
  }

  Array map(NodeId id, const std::vector<Array>& inputs) const {
    const Sizes shape = shape_of(id);
    const DType dtype = arena_.type(id).dtype;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<Broadcast> from;
    for (const Array& input : inputs) from.emplace_back(input, shape);
    // In parts, because a Scalar needs many times the memory of an element.
    constexpr std::int64_t part = 65536;
    const Array result = Array::empty(dtype, {count});
    std::vector<Scalar> values, operands(inputs.size());
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < inputs.size(); ++k) operands[k] = element_of(inputs[k], from[k].position(i));
      values.push_back(apply_map(arena_.op(id), operands, dtype));
      const std::int64_t size = std::ssize(values);
      if (size < part && i + 1 < count) continue;
      base::check_interrupt();
      result.slice(0, i + 1 - size, i + 1).copy_from(array_of(values, dtype, {size}));
      values.clear();
    }
    return result.reshape(shape);
  }

  const Graph& graph_;
  Arena arena_;  // a copy: expansions add to it
  std::span<const Array> inputs_;
  const NodeObserver observer_;
  std::vector<std::optional<Array>> values_;
  std::unordered_set<NodeId> too_large_;
  std::unordered_map<NodeId, NodeId> expanded_;
  std::map<std::vector<NodeId>, std::vector<std::vector<Array>>> steps_;  // steps of loops, by inputs and attributes
  std::size_t checked_ = 0;                                               // number of checked requirements
};

}  // namespace

std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs) {
  return Evaluator(graph, inputs).run();
}

std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs, const NodeObserver& observer) {
  return Evaluator(graph, inputs, observer).run();
}

std::uint64_t evaluated_nodes() { return node_count; }

Scalar element_of(const Array& array, std::int64_t position) {
  const DType dtype = array.dtype();
  if (dtype == DType::int64) return Scalar::of_int(base::nth(array.data<std::int64_t>(), position), dtype);
  if (dtype == DType::uint64) return Scalar::of_unsigned(base::nth(array.data<std::uint64_t>(), position), dtype);
  if (is_complex(dtype)) return Scalar::of_complex(array.as_complex(position), dtype);
  const double value = array.as_double(position);
  return is_float(dtype) ? Scalar::of_double(value, dtype) : Scalar::of_int(static_cast<std::int64_t>(value), dtype);
}

Array array_of(std::span<const Scalar> values, DType dtype, const Sizes& shape) {
  Array wide = Array::empty(is_complex(dtype) ? DType::complex128
                            : is_float(dtype) ? DType::float64
                                              : DType::int64,
                            shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_complex(dtype))
      wide.data<std::complex<double>>()[i] = values[i].as_complex();
    else if (is_float(dtype))
      wide.data<double>()[i] = values[i].d;
    else
      wide.data<std::int64_t>()[i] = values[i].i;
  }
  return wide.astype(dtype);
}

Scalar apply_map(const Op& op, std::span<const Scalar> operands, DType result) {
  std::vector<DType> dtypes;
  for (const Scalar& operand : operands) dtypes.push_back(operand.dtype);
  std::vector<Scalar> cast(operands.begin(), operands.end());
  if (!op.is(Core::cast)) {
    const DType operand = op.map->types(dtypes).operand;
    for (std::size_t k = op.is(Core::where) ? 1 : 0; k < cast.size(); ++k) cast[k] = cast[k].cast(operand);
  }
  return op.map->reference(cast, result);
}

Array host_result(const Op& op, const Attrs& attrs, const std::vector<Array>& given, DType dtype, const Sizes& shape,
                  std::string_view line) {
  const std::size_t output = attrs.index("output"), promised = attrs.index("outputs");
  const std::string who = line.empty() ? std::string(op.name) : fmt::format("{} ({})", op.name, line);
  if (given.size() != promised)
    throw TypeError(fmt::format("{}: gave {} result(s), where {} were declared", who, given.size(), promised));
  const Array& value = given[output];
  if (value.dtype() != dtype) {
    throw TypeError(
        fmt::format("{}: result {} is {}, where {} was declared", who, output, name_of(value.dtype()), name_of(dtype)));
  }
  if (value.shape() != shape) {
    throw ShapeError(fmt::format("{}: result {} has the shape {}, where {} was declared", who, output,
                                 base::shape_text(value.shape()), base::shape_text(shape)));
  }
  return value;
}

namespace {

/// The shortest text, as float32 if the number is one: 0.7, not 0.699999988079071.
std::string shortest(double number) {
  const auto narrow = static_cast<float>(number);
  return base::short_float_text(number, narrow == number ? DType::float32 : DType::float64);
}

}  // namespace

std::string fill_message(std::string_view message, std::int64_t value, std::span<const std::int64_t> sizes) {
  std::string text(message);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::string hole = fmt::format("{{e{}}}", k);
    if (const std::size_t at = text.find(hole); at != std::string::npos)
      text.replace(at, hole.size(), std::to_string(sizes[k]));
  }
  if (const std::size_t hole = text.find("{}"); hole != std::string::npos) text.replace(hole, 2, std::to_string(value));
  constexpr std::string_view real = "{real}";
  if (const std::size_t hole = text.find(real); hole != std::string::npos)
    text.replace(hole, real.size(), shortest(std::bit_cast<double>(value)));
  return text;
}

}  // namespace croton::expr
