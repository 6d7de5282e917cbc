#include "expr/rounding.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/index.hpp"
#include "expr/branch.hpp"
#include "expr/evaluate.hpp"

namespace croton::expr {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
// The error of elementwise functions in units of rounding; docs/internals/ulp.md lists the errors.
constexpr double map_units = 4;

double distance(const Scalar& a, const Scalar& b) {
  if (is_complex(a.dtype)) return std::abs(a.as_complex() - b.as_complex());
  const double x = a.as_double(), y = b.as_double();
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  const double d = std::abs(x - y);
  return std::isnan(d) ? unbounded : d;
}

double magnitude_of(const Scalar& a) {
  return is_complex(a.dtype) ? std::abs(a.as_complex()) : std::abs(a.as_double());
}

/// The array broadcast to that shape, by NumPy's rules.
Array broadcast(const Array& array, const Sizes& shape) {
  const Array whole = array.contiguous();
  Sizes strides(shape.size(), 0);
  for (std::size_t back = 1; back <= array.shape().size(); ++back) {
    const std::size_t axis = shape.size() - back;
    if (whole.shape()[whole.shape().size() - back] != 1) strides[axis] = whole.strides()[whole.shape().size() - back];
  }
  return Array::view_of(whole.raw(), whole.dtype(), shape, strides).copy();
}

/// A scalar changed by `by`: floats in one of four directions, integers by whole numbers.
Scalar perturbed(const Scalar& x, double by, int direction) {
  const double sign = direction % 2 == 0 ? 1 : -1;
  if (is_complex(x.dtype)) {
    const std::complex<double> step =
        direction < 2 ? std::complex<double>(sign * by) : std::complex<double>(0, sign * by);
    return Scalar::of_complex(x.as_complex() + step, x.dtype);
  }
  if (is_bool(x.dtype)) return Scalar::of_int(1 - x.i, x.dtype);
  if (is_discrete(x.dtype)) {
    const double whole = std::min(std::ceil(by), 1e9);
    return Scalar::of_int(x.i + static_cast<std::int64_t>(sign * whole), x.dtype);
  }
  return Scalar::of_double(x.d + sign * by, x.dtype);
}

class Bounds {
 public:
  explicit Bounds(double unit) : unit_(unit) {}

  void add(const EvaluatedNode& at) {
    if (at.expansion != no_node) {
      bounds_.emplace(at.node, of(at.expansion));
      return;
    }
    const Op& op = at.arena.op(at.node);
    if (op.kind == Kind::Leaf) {
      bounds_.emplace(at.node, Array::zeros(DType::float64, at.value.shape()));
      return;
    }
    bounds_.emplace(at.node, op.map != nullptr ? map(at, op) : of_other_op(at, op));
  }
  const Array& of(NodeId node) const { return bounds_.at(node); }

 private:
  /// The bound of an elementwise op: for each input the largest change of the value if this input changes by its bound,
  /// summed over the inputs.
  Array map(const EvaluatedNode& at, const Op& op) const {
    const DType dtype = at.arena.type(at.node).dtype;
    std::vector<Array> values, errors;
    for (std::size_t k = 0; k < at.inputs.size(); ++k) {
      values.push_back(broadcast(at.inputs[k], at.value.shape()));
      errors.push_back(broadcast(of(at.arena.input(at.node, k)), at.value.shape()));
    }
    const bool rounds = !is_discrete(dtype);
    Array result = Array::zeros(DType::float64, at.value.shape());
    const std::span<double> bounds = result.data<double>();
    std::vector<Scalar> operands(values.size());
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const Scalar value = element_of(at.value, i);
      const bool finite = std::isfinite(magnitude_of(value));
      double bound = rounds && finite ? map_units * unit_ * magnitude_of(value) : 0;
      for (std::size_t k = 0; k < values.size(); ++k) operands[k] = element_of(values[k], i);
      for (std::size_t k = 0; k < values.size(); ++k) {
        const double error = errors[k].as_double(i);
        if (error == 0) continue;
        const Scalar exact = operands[k];
        double farthest = 0;
        for (int direction = 0; direction < (is_complex(exact.dtype) ? 4 : 2); ++direction) {
          operands[k] = perturbed(exact, error, direction);
          farthest = std::max(farthest, distance(apply_map(op, operands, dtype), value));
        }
        operands[k] = exact;
        bound += farthest;
      }
      if (!(bound <= std::numeric_limits<double>::max())) bound = unbounded;
      base::nth(bounds, i) = bound;
    }
    return result;
  }

  /// The bound of any other op. An op that moves elements moves their bounds; sums and products are computed on
  /// absolute values.
  Array of_other_op(const EvaluatedNode& at, const Op& op) const {
    const Sizes& shape = at.value.shape();
    const DType dtype = at.arena.type(at.node).dtype;
    std::vector<Array> errors;
    double largest = 0;  // largest finite bound
    bool all_bounded = true;
    std::int64_t terms = 1;
    for (std::size_t k = 0; k < at.inputs.size(); ++k) {
      errors.push_back(of(at.arena.input(at.node, k)));
      for (std::int64_t i = 0; i < errors[k].size(); ++i) {
        const double error = errors[k].as_double(i);
        // If a position or a size may differ, the result is unbounded.
        if (error > 0 && is_discrete(at.inputs[k].dtype())) return Array::full(DType::float64, shape, unbounded);
        if (error == unbounded)
          all_bounded = false;
        else
          largest = std::max(largest, error);
      }
      terms = std::max(terms, at.inputs[k].size());
    }
    if (op.kind == Kind::Branch) return branch(at, errors);
    // The propagation of errors through the steps of a loop is not computed.
    if (op.kind == Kind::Loop) return Array::full(DType::float64, shape, unbounded);
    const bool moves = op.kind == Kind::View || op.kind == Kind::Join || op.kind == Kind::Window ||
                       op.kind == Kind::Gather || op.kind == Kind::Check || op.kind == Kind::Transfer ||
                       op.kind == Kind::Generate;
    Attrs attrs = at.arena.attrs(at.node);
    if (op.kind == Kind::Window) attrs.set("outside", "zero");  // zeros have no error
    const auto evaluate = [&](const auto& change) {
      std::vector<Array> inputs;
      for (std::size_t k = 0; k < at.inputs.size(); ++k)
        inputs.push_back(is_discrete(at.inputs[k].dtype()) ? at.inputs[k] : changed(at.inputs[k], errors[k], change));
      return op.evaluate({attrs, std::move(inputs), dtype, shape}).contiguous();
    };
    const bool exact_inputs = largest == 0 && all_bounded;
    if (exact_inputs && (moves || is_discrete(dtype))) return Array::zeros(DType::float64, shape);
    // The error of a user's callback is unknown.
    if (op.kind == Kind::Host || op.evaluate == nullptr)
      return Array::full(DType::float64, shape, exact_inputs ? 0 : unbounded);
    if (moves) return magnitudes(evaluate([](const Scalar&, double error, std::int64_t) { return error; }));
    // Sums and products of matrices propagate an infinite bound only to the results that it is added to; other ops may
    // propagate it to all results.
    const bool chooses = op.reduce != nullptr && (op.reduce->combiner == "Max" || op.reduce->combiner == "Min");
    const bool adds = !chooses && (op.kind == Kind::Reduce || op.kind == Kind::Contract);
    if (!all_bounded && (!adds || is_discrete(dtype))) return Array::full(DType::float64, shape, unbounded);
    if (chooses && !is_discrete(dtype)) return Array::full(DType::float64, shape, largest);
    if (is_discrete(dtype)) {
      for (const int sign : {1, -1}) {
        const Array other = evaluate([&](const Scalar& x, double error, std::int64_t i) {
          return x.as_double() + (i % 2 == 0 ? sign : -sign) * error;
        });
        if (!other.equals(at.value)) return Array::full(DType::float64, shape, unbounded);
      }
      return Array::zeros(DType::float64, shape);
    }
    // Elements that are masked by minus infinity stay masked.
    const auto size = [](const Scalar& x) {
      return is_complex(x.dtype) || std::isfinite(x.as_double()) ? magnitude_of(x) : x.as_double();
    };
    const Array sizes = magnitudes(evaluate([&](const Scalar& x, double, std::int64_t) { return size(x); }));
    const Array more =
        magnitudes(evaluate([&](const Scalar& x, double error, std::int64_t) { return size(x) + error; }));
    const double units = unit_ * (2 + std::log2(static_cast<double>(terms)));
    Array result = Array::zeros(DType::float64, shape);
    const std::span<double> bounds = result.data<double>();
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const double value = magnitude_of(element_of(at.value, i));
      double bound =
          std::abs(more.as_double(i) - sizes.as_double(i)) + largest + units * std::max(sizes.as_double(i), value);
      if (all_bounded && !std::isfinite(value)) bound = 0;
      base::nth(bounds, i) = bound <= std::numeric_limits<double>::max() ? bound : unbounded;
    }
    return result;
  }

  /// The bound of a result of the body that runs.
  Array branch(const EvaluatedNode& at, const std::vector<Array>& errors) const {
    if (errors[0].as_double(0) > 0) return Array::full(DType::float64, at.value.shape(), unbounded);
    const Branch branch(at.arena.attrs(at.node), at.inputs.size());
    const Graph& body = branch.body(at.inputs[0].as_double(0) != 0)->graph();
    Bounds inner(unit_);
    for (std::size_t k = 0; k < body.inputs.size(); ++k) inner.bounds_.emplace(body.inputs[k].node, errors[k + 1]);
    evaluate(body, at.inputs.subspan(1), [&](const EvaluatedNode& node) { inner.add(node); });
    return inner.of(body.roots()[branch.index]);
  }

  template <class Change>
  static Array changed(const Array& values, const Array& errors, const Change& change) {
    std::vector<Scalar> result;
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const double value = change(element_of(values, i), errors.as_double(i), i);
      result.push_back(is_complex(values.dtype()) ? Scalar::of_complex(value, values.dtype())
                                                  : Scalar::of_double(value, values.dtype()));
    }
    return array_of(result, values.dtype(), values.shape());
  }
  static Array magnitudes(const Array& values) {
    Array result = Array::empty(DType::float64, values.shape());
    std::int64_t i = 0;
    for (double& magnitude : result.data<double>()) magnitude = magnitude_of(element_of(values, i++));
    return result;
  }

  double unit_;
  std::map<NodeId, Array> bounds_;
};

}  // namespace

std::vector<Bounded> evaluate_bounded(const Graph& graph, std::span<const Array> inputs, double unit) {
  Bounds bounds(unit);
  const std::vector<Array> values = evaluate(graph, inputs, [&](const EvaluatedNode& at) { bounds.add(at); });
  const std::vector<NodeId> roots = graph.roots();
  std::vector<Bounded> result;
  for (std::size_t i = 0; i < roots.size(); ++i) result.push_back({values[i].contiguous(), bounds.of(roots[i])});
  return result;
}

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    case DType::float32:
    case DType::complex64:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

double unit_roundoff(const Graph& graph) {
  double unit = unit_roundoff(DType::float64);
  const std::vector<bool> needed = reachable(graph);
  for (NodeId id = 0; id < graph.arena.size(); ++id) {
    const DType dtype = graph.arena.type(id).dtype;
    if (needed[id] && (is_float(dtype) || is_complex(dtype))) unit = std::max(unit, unit_roundoff(dtype));
  }
  return unit;
}

}  // namespace croton::expr
