// x[...]: a list of specs becomes a subtensor, a gather if there are arrays, and a dimshuffle if there are new axes.
// set_subtensor and inc_subtensor follow these ops back to x.
#include <croton/indexing.hpp>
#include <croton/sorting.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/axes.hpp"
#include "ops/arrays/gather.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/registry.hpp"

namespace croton {
namespace {

using builder::apply;
using builder::describe;
using Kind = SliceSpec::Kind;

/// Builds one indexing expression.
class Indexing {
 public:
  Indexing(const Variable& x, Where where) : x_(x), where_(where) {}

  Variable run(std::vector<SliceSpec> specs) {
    expand_ellipsis(specs);
    expand_masks(specs);
    const bool arrays = std::ranges::any_of(specs, is_array);
    std::vector<SliceSpec> basic;
    std::vector<Variable> indices;
    ops::GatherPlan plan;
    std::int64_t axis = 0;
    std::vector<std::size_t> places;  // of the indices in the specs
    for (std::size_t i = 0; i < specs.size(); ++i) {
      // Together with arrays, a position is an array without axes.
      if (arrays && specs[i].kind == Kind::index) {
        demand_integer(*specs[i].start);
        places.push_back(i);
        indices.push_back(specs[i].start->variable);
        plan.axes.push_back(axis);
        basic.push_back(slice({}, {}, {}, where_));
      } else {
        basic.push_back(specs[i]);
      }
      if (basic.back().kind != Kind::index) ++axis;
    }
    if (!arrays) return read_basic(basic);
    // The axes of adjacent arrays keep their place; otherwise they are the first axes.
    const bool together = places.back() - places.front() + 1 == places.size();
    plan.at = together ? plan.axes.front() : 0;
    const bool plain = std::ranges::all_of(
        basic, [](const SliceSpec& s) { return s.kind == Kind::slice && !s.start && !s.stop && !s.step; });
    plan.nested = !plain;
    return ops::gather(plain ? x_ : read_basic(basic), indices, plan, where_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw TypeError(fmt::format("indexing ({}): {}: {}", describe(where_), describe(x_), message));
  }
  static bool is_array(const SliceSpec& s) { return s.kind == Kind::index && s.start->variable.rank() > 0; }

  void demand_integer(const Operand& index) const {
    if (is_integer(index.variable.dtype())) return;
    fail(fmt::format("an index must be an integer scalar or array, but {}", describe(index.variable)));
  }

  static bool is_mask(const SliceSpec& s) { return is_array(s) && is_bool(s.start->variable.dtype()); }
  /// The number of axes of x that the spec indexes.
  static int axes_of(const SliceSpec& s) {
    if (is_mask(s)) return s.start->variable.rank();
    return s.kind == Kind::index || s.kind == Kind::slice ? 1 : 0;
  }

  /// Replaces a mask by the positions where it is true: an integer array for each of its axes.
  void expand_masks(std::vector<SliceSpec>& specs) const {
    std::vector<SliceSpec> expanded;
    int axis = 0;
    for (const SliceSpec& s : specs) {
      if (is_mask(s)) {
        for (const Variable& positions : nonzero(Operand(sized_mask(s.start->variable, axis), where_)))
          expanded.emplace_back(positions, where_);
      } else {
        expanded.push_back(s);
      }
      axis += axes_of(s);
    }
    specs = std::move(expanded);
  }

  /// The mask, checked to have the sizes of its axes of x: now if they are known, otherwise when the function is
  /// called.
  Variable sized_mask(const Variable& mask, int axis) const {
    std::vector<std::optional<Operand>> sizes;
    for (int d = 0; d < mask.rank(); ++d) {
      const std::int64_t own = base::nth(mask.type().shape, d), size = base::nth(x_.type().shape, axis + d);
      if (size != unknown_size && own != unknown_size && size != own) {
        throw IndexError(fmt::format("indexing ({}): {}: a mask of size {} for axis {} of size {}", describe(where_),
                                     describe(x_), own, axis + d, size));
      }
      sizes.emplace_back(Operand(x_.shape(axis + d, where_), where_));
    }
    return ops::require_shape(mask, sizes, "a mask must have the sizes of the axes that it chooses from");
  }

  void expand_ellipsis(std::vector<SliceSpec>& specs) const {
    int used = 0;
    for (const SliceSpec& s : specs) used += axes_of(s);
    if (used > x_.rank()) fail(fmt::format("{} indices for {} dimension(s)", used, x_.rank()));
    const auto dots = std::ranges::find(specs, Kind::ellipsis, &SliceSpec::kind);
    if (dots != specs.end()) {
      const auto at = dots - specs.begin();
      specs.erase(dots);
      specs.insert(specs.begin() + at, base::to_size(x_.rank() - used), slice({}, {}, {}, where_));
    }
    if (std::ranges::find(specs, Kind::ellipsis, &SliceSpec::kind) != specs.end())
      fail("two ellipses; at most one is accepted");
  }

  std::int64_t add_bound(const std::optional<Operand>& bound) {
    if (!bound) return 0;
    if (!is_integer(bound->variable.dtype()) || bound->variable.rank() != 0)
      fail(fmt::format("an index must be an integer scalar, but {}", describe(bound->variable)));
    inputs_.push_back(builder::as_index(bound->variable));
    return 1;
  }

  /// The step as a number, or 0 for a variable.
  std::int64_t step_of(const SliceSpec& s) const {
    if (!s.step) return 1;
    const Variable& given = s.step->variable;
    if (!is_integer(given.dtype()) || given.rank() != 0)
      fail(fmt::format("a step must be a whole number, but {}", describe(given)));
    if (!given.is_constant()) return 0;
    const auto step = builder::as_index(given).node()->value.astype(DType::int64).item<std::int64_t>();
    if (step == 0)
      throw ValueError(fmt::format("indexing ({}): {}: a step of 0; any other whole number is accepted",
                                   describe(where_), describe(x_)));
    return step;
  }

  /// Applies positions, slices and new axes.
  Variable read_basic(const std::vector<SliceSpec>& specs) {
    inputs_ = {x_};
    expr::Ints spec;
    std::vector<int> pattern;
    int next = 0;
    bool shuffles = false;
    for (const SliceSpec& s : specs) {
      if (s.kind == Kind::new_axis) {
        pattern.push_back(broadcast_axis);
        shuffles = true;
      } else if (s.kind == Kind::index) {
        add_bound(s.start);
        spec.insert(spec.end(), {0, 1, 0, 1});
      } else {
        const std::int64_t step = step_of(s), has_start = add_bound(s.start), has_stop = add_bound(s.stop);
        if (step == 0) add_bound(s.step);
        spec.insert(spec.end(), {step == 0 ? 2 : 1, has_start, has_stop, step});
        pattern.push_back(next++);
      }
    }
    // Even if it reads all of x: set_subtensor(x[:], y) finds x through it.
    const Variable result = apply("subtensor", inputs_, {{"spec", spec}}, where_);
    if (!shuffles) return result;
    while (next < result.rank()) pattern.push_back(next++);
    return dimshuffle(Operand(result, where_), pattern);
  }

  const Variable& x_;
  Where where_;
  std::vector<Variable> inputs_;
};

// ---- writing ----

/// y in the shape of the part.
Variable repeated(const Variable& y, const Variable& part) {
  bool same = y.rank() == part.rank();
  for (std::size_t axis = 0; same && axis < y.type().rank(); ++axis)
    same = y.type().broadcasts(axis) == part.type().broadcasts(axis);
  if (same) return y;
  return alloc(y, builder::shape_of(part));
}

Variable write(std::string_view op, const Operand& given, const Variable& part, const Variable& y, bool inc) {
  const builder::Node& node = *part.node();
  const std::vector<Variable>& from = node.inputs;
  const Variable whole = repeated(y, part);
  if (node.op->is(expr::Core::subtensor)) {
    std::vector<Variable> inputs{from[0], whole};
    inputs.insert(inputs.end(), from.begin() + 1, from.end());
    return apply(inc ? "inc_subtensor" : "set_subtensor", inputs, node.attrs, given.where);
  }
  if (node.op->is(expr::Core::gather)) {
    const ops::GatherPlan plan = ops::plan_of(node.attrs);
    const Variable written = ops::write_gathered(from[0], {from.begin() + 1, from.end()}, plan, whole, inc);
    return plan.nested ? write(op, given, from[0], written, false) : written;
  }
  if (node.op->is(expr::Core::dimshuffle)) {
    const expr::Ints back = expr::inverse_pattern(node.attrs.ints("pattern"), from[0].type().rank());
    return write(op, given, from[0], dimshuffle(whole, {back.begin(), back.end()}), inc);
  }
  throw TypeError(fmt::format("{} ({}): the first argument must be an indexing expression, such as x[i], but {}", op,
                              describe(given.where), describe(given.variable)));
}

Variable write_part(std::string_view op, const Operand& part, const Operand& y, bool inc) {
  const builder::OriginScope origin(part.where);
  if (y.variable.rank() > part.variable.rank()) {
    throw TypeError(fmt::format("{} ({}): {}, {}: the new value has more dimensions than the part", op,
                                describe(part.where), describe(part.variable), describe(y.variable)));
  }
  return write(op, part, part.variable, cast(y, part.variable.dtype()), inc);
}

}  // namespace

Variable set_subtensor(Operand part, Operand y) { return write_part("set_subtensor", part, y, false); }
Variable inc_subtensor(Operand part, Operand y) { return write_part("inc_subtensor", part, y, true); }

// ---- specs ----

SliceSpec::SliceSpec(int index, Where w) : kind(Kind::index), start(Operand(index, w)), where(w) {}
SliceSpec::SliceSpec(const Variable& index, Where w) : kind(Kind::index), start(Operand(index, w)), where(w) {}
SliceSpec::SliceSpec(const Array& index, Where w) : kind(Kind::index), start(Operand(index, w)), where(w) {}
const SliceSpec new_axis{SliceSpec::Kind::new_axis};
const SliceSpec ellipsis{SliceSpec::Kind::ellipsis};

SliceSpec slice(std::optional<Operand> start, std::optional<Operand> stop, std::optional<Operand> step, Where where) {
  if (const Where* caller = builder::OriginScope::current()) where = *caller;
  // A number that becomes an Operand inside std::optional records a line of that header.
  for (std::optional<Operand>* bound : {&start, &stop, &step}) {
    if (*bound && (*bound)->variable.defined() && (*bound)->variable.is_constant() &&
        (*bound)->variable.where() == (*bound)->where) {
      (*bound)->variable.node()->where = where;
    }
  }
  SliceSpec spec(SliceSpec::Kind::slice, where);
  spec.start = std::move(start);
  spec.stop = std::move(stop);
  spec.step = std::move(step);
  return spec;
}

Variable Variable::operator[](SliceSpec spec) const {
  const Where w = spec.where;
  return at({std::move(spec)}, w);
}

Variable Variable::at(std::vector<SliceSpec> specs, Where where) const {
  const builder::OriginScope origin(where);
  return Indexing(*this, where).run(std::move(specs));
}

// ---- positions in C order ----

namespace {

/// Positions counted from the start: negative ones are errors, as in NumPy.
Variable from_start(const Operand& index, const Variable& size, std::string_view op) {
  return builder::apply("checked_index", {ops::whole_index(index.variable), ops::whole_number(size)},
                        {{"message", fmt::format("{}: index {{}} is out of bounds for size {{size}}", op)}},
                        index.where);
}

}  // namespace

Variable ravel_multi_index(const std::vector<Variable>& indices, const std::vector<Operand>& shape, IndexMode mode,
                           Where where) {
  const builder::OriginScope origin(where);
  if (indices.empty() || indices.size() != shape.size()) {
    throw ValueError(fmt::format("ravel_multi_index ({}): {} indices for {} sizes; one for each is needed",
                                 describe(where), indices.size(), shape.size()));
  }
  for (const Operand& size : shape) ops::demand_count("ravel_multi_index", Operand(indices[0], where), "a size", size);
  const std::vector<Variable> sizes = ops::array_of_sizes(shape, where).shape(where);
  Variable position;
  for (int axis = 0; const Variable& given : indices) {
    const Operand index(given, where);
    if (!is_integer(index.variable.dtype())) {
      throw TypeError(fmt::format("ravel_multi_index ({}): indices are integers, but {}", describe(where),
                                  describe(index.variable)));
    }
    const Variable& size = base::nth(sizes, axis);
    const Variable at = mode == IndexMode::raise ? from_start(index, size, "ravel_multi_index")
                                                 : ops::normal_positions(index.variable, size, mode, axis);
    position = axis++ == 0 ? at : position * size + at;
  }
  return position;
}

std::vector<Variable> unravel_index(Operand indices, const std::vector<Operand>& shape) {
  const builder::OriginScope origin(indices.where);
  if (!is_integer(indices.variable.dtype()) || shape.empty()) {
    throw TypeError(fmt::format("unravel_index ({}): {}: integers and at least one size are needed",
                                describe(indices.where), describe(indices.variable)));
  }
  for (const Operand& size : shape) ops::demand_count("unravel_index", indices, "a size", size);
  const Variable array = ops::array_of_sizes(shape, indices.where);
  const std::vector<Variable> sizes = array.shape(indices.where);
  Variable rest = from_start(indices, array.size(indices.where), "unravel_index");
  std::vector<Variable> positions(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    positions[axis] = rest % sizes[axis];
    rest = floor_divide(rest, sizes[axis]);
  }
  positions[0] = rest;
  return positions;
}

Variable inverse_permutation(Operand p) {
  const builder::OriginScope origin(p.where);
  if (p.variable.rank() != 1 || !is_integer(p.variable.dtype())) {
    throw TypeError(fmt::format("inverse_permutation ({}): {}: an integer vector is expected", describe(p.where),
                                describe(p.variable)));
  }
  const Variable numbers = arange(p.variable.shape(0));
  return set_subtensor(zeros_like(numbers)[p.variable], numbers);
}

}  // namespace croton
