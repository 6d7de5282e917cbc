#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "generate.hpp"

namespace differential {
namespace {

using ct::ReduceOptions;

// An expression and its text: the printed code is the code that runs.
#define MAKE(...) \
  [](const Operands& in, [[maybe_unused]] const Parameters& p) -> Variable { return __VA_ARGS__; }, #__VA_ARGS__
// A function of complex numbers that are built from real parts, with real parts as results.
#define COMPLEX(name)                                        \
  {"complex_" #name, pair_of_floats, MAKE([&] {              \
     const Variable z = ct::name(ct::complex(in[0], in[1])); \
     return ct::real(z) - 2 * ct::imag(z);                   \
   }())}

// ---- samplers: each chooses operands and parameters for many rows ----

/// Operands of an elementwise op: dtypes that its type rule accepts, values in its domain.
bool map_operands(Generator& g, Step& step) {
  const ct::expr::Op& op = *step.row->op;
  const auto taken = [&](const std::vector<int>& nodes) {
    std::vector<DType> dtypes;
    for (const int node : nodes) dtypes.push_back(g.dtype(node));
    try {
      op.map->types(dtypes);
      return true;
    } catch (const ct::TypeError&) {
      return false;
    }
  };
  for (int attempt = 0; attempt < 12; ++attempt) {
    std::vector<int> nodes;
    for (int k = 0; k < op.arity; ++k) {
      const bool condition = op.name == "where" && k == 0;
      const auto takes = condition && g.random.chance(0.8) ? bool_dtype : any_dtype;
      nodes.push_back(k == 0 ? g.operand(takes) : g.broadcastable(nodes[0], takes));
      // Usually all have one dtype: operands of mixed dtypes are cast first.
      if (k > 0 && !condition && g.dtype(nodes.back()) != g.dtype(nodes[op.name == "where" ? 1 : 0]) &&
          g.random.chance(0.6) && (op.name != "where" || k > 1)) {
        const int like = nodes[op.name == "where" ? 1 : 0];
        nodes.back() = g.input(g.dtype(like), g.value(like).shape());
      }
    }
    if (!taken(nodes)) continue;
    for (std::size_t k = 0; k < nodes.size(); ++k) nodes[k] = g.within(nodes[k], op.map->domains[k]);
    step.inputs = nodes;
    return true;
  }
  return false;
}

bool one_float(Generator& g, Step& step) {
  step.inputs = {g.operand(float_dtype)};
  return true;
}
bool one_float_matrix(Generator& g, Step& step) {
  step.inputs = {g.operand(float_dtype, 2, 2)};
  return true;
}
bool one_of_any(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype)};
  return true;
}
bool two_floats(Generator& g, Step& step) {
  const int x = g.operand(float_dtype, 1);
  step.inputs = {x, g.broadcastable(x, float_dtype)};
  return true;
}
bool three_numbers(Generator& g, Step& step) {
  const int x = g.operand(number_dtype);
  step.inputs = {x, g.broadcastable(x, number_dtype), g.broadcastable(x, number_dtype)};
  return true;
}
/// Two floats of one shape.
bool pair_of(Generator& g, Step& step, bool (*dtype)(DType)) {
  const int x = g.operand(dtype, 1);
  const int y =
      g.find([&](int i) { return i != x && g.dtype(i) == g.dtype(x) && g.value(i).shape() == g.value(x).shape(); });
  step.inputs = {x, y >= 0 ? y : g.input(g.dtype(x), g.value(x).shape())};
  return true;
}
bool pair_of_floats(Generator& g, Step& step) { return pair_of(g, step, float_dtype); }
/// For powers and logarithms: whether a 16-bit number is 0 or 1 may depend on where it is rounded.
bool pair_of_wide_floats(Generator& g, Step& step) { return pair_of(g, step, wide_float); }

/// A signal and a filter, usually a short one: sums of many products would leave the range that is compared.
bool signal_and_filter(Generator& g, Step& step) {
  if (g.random.chance(0.2)) return pair_of_floats(g, step);
  const int x = g.operand(float_dtype, 1);
  const int filter =
      g.find([&](int i) { return g.dtype(i) == g.dtype(x) && g.value(i).size() > 0 && g.value(i).size() < 8; });
  const auto size = static_cast<std::int64_t>(1 + g.random.below(7));
  step.inputs = {x, filter >= 0 && g.random.chance(0.5) ? filter : g.input(g.dtype(x), {size})};
  return true;
}

void some_axes(Generator& g, Step& step, int rank) {
  const bool all = g.random.chance(0.25);
  for (int axis = 0; axis < rank; ++axis) {
    if (all || g.random.chance(0.5)) step.p.list.push_back(axis);
  }
  if (step.p.list.empty() && rank > 0)
    step.p.list.push_back(static_cast<int>(g.random.below(static_cast<std::size_t>(rank))));
  step.p.n = {g.random.chance(0.3)};
}
bool reduced(Generator& g, Step& step, bool (*takes)(DType)) {
  step.inputs = {g.operand(takes, g.random.chance(0.05) ? 0 : 1)};
  some_axes(g, step, g.rank(step.inputs[0]));
  return true;
}
bool reduced_any(Generator& g, Step& step) { return reduced(g, step, any_dtype); }
bool reduced_floats(Generator& g, Step& step) { return reduced(g, step, float_dtype); }
/// Products of many numbers leave the range of every dtype.
bool reduced_near_one(Generator& g, Step& step) {
  if (!reduced(g, step, number_dtype)) return false;
  if (ct::is_float(g.dtype(step.inputs[0])) && !g.random.chance(0.1))
    step.inputs[0] = g.within(step.inputs[0], {0.6, 1.5});
  return true;
}
/// p.n[0] is the axis.
bool along_axis(Generator& g, Step& step) {
  step.inputs = {g.operand(float_dtype, 1)};
  const int rank = g.rank(step.inputs[0]);
  step.p.n = {g.random.chance(0.6) ? rank - 1
                                   : static_cast<std::int64_t>(g.random.below(static_cast<std::size_t>(rank)))};
  return true;
}

bool products(Generator& g, Step& step, int left_rank, int right_rank) {
  const int x = g.operand(number_dtype, left_rank, left_rank);
  const std::int64_t inner = g.value(x).shape().back();
  int y = g.find([&](int i) {
    return number_dtype(g.dtype(i)) && g.rank(i) == right_rank && g.value(i).shape(0) == inner && i != x;
  });
  if (y < 0 || g.random.chance(0.3)) {
    ct::Sizes shape{inner};
    if (right_rank == 2) shape.push_back(g.some_size());
    y = g.input(g.random.chance(0.9) ? g.dtype(x) : g.some_dtype(number_dtype), shape);
  }
  step.inputs = {x, y};
  return true;
}
bool matrices(Generator& g, Step& step) { return products(g, step, 2, 2); }
bool matrices_of_floats(Generator& g, Step& step) {
  return matrices(g, step) && ct::is_float(g.dtype(step.inputs[0])) && ct::is_float(g.dtype(step.inputs[1]));
}
bool some_product(Generator& g, Step& step) {
  return products(g, step, 1 + static_cast<int>(g.random.below(2)), 1 + static_cast<int>(g.random.below(2)));
}

bool permutation(Generator& g, Step& step) {
  const int x = g.operand(any_dtype, 1);
  step.inputs = {x};
  step.p.list.resize(static_cast<std::size_t>(g.rank(x)));
  std::iota(step.p.list.begin(), step.p.list.end(), 0);
  for (std::size_t i = step.p.list.size(); i > 1; --i) std::swap(step.p.list[i - 1], step.p.list[g.random.below(i)]);
  return true;
}
/// ... with axes of size 1 added, and removed where their size is declared.
bool shuffle(Generator& g, Step& step) {
  permutation(g, step);
  const ct::Type& type = g.variable(step.inputs[0]).type();
  std::erase_if(step.p.list,
                [&](int axis) { return type.broadcasts(static_cast<std::size_t>(axis)) && g.random.chance(0.5); });
  if (step.p.list.size() < 4 && g.random.chance(0.7))
    step.p.list.insert(step.p.list.begin() + static_cast<std::ptrdiff_t>(g.random.below(step.p.list.size() + 1)), -1);
  return true;
}
bool new_axis(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 0, 3)};
  step.p.n = {static_cast<std::int64_t>(g.random.below(static_cast<std::size_t>(g.rank(step.inputs[0])) + 1))};
  return true;
}
bool axis_of_one(Generator& g, Step& step) {
  const int x = g.find(
      [&](int i) { return std::ranges::find(g.variable(i).type().shape, 1) != g.variable(i).type().shape.end(); });
  if (x < 0) return false;
  const auto& shape = g.variable(x).type().shape;
  step.inputs = {x};
  step.p.n = {std::ranges::find(shape, 1) - shape.begin()};
  return true;
}
bool axis_and_size(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 1)};
  step.p.n = {static_cast<std::int64_t>(g.random.below(static_cast<std::size_t>(g.rank(step.inputs[0]))))};
  return true;
}
/// p.n: two sizes whose product is the number of elements.
bool two_sizes(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 1)};
  const std::int64_t total = g.value(step.inputs[0]).size();
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= total && d <= 200; ++d) {
    if (total % d == 0) divisors.push_back(d);
  }
  if (divisors.empty()) return false;
  const std::int64_t first = g.random.of(divisors);
  step.p.n = {first, g.random.chance(0.5) ? -1 : total / first};
  return true;
}
bool flattened(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 1)};
  step.p.n = {1 + static_cast<std::int64_t>(g.random.below(static_cast<std::size_t>(g.rank(step.inputs[0]))))};
  return true;
}
/// p.n: start, stop, step; n[0] counts from either end and may be out of range.
bool sliced(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 1)};
  const std::int64_t size = g.value(step.inputs[0]).shape(0);
  step.p.n = {g.random.whole(-size - 1, size + 1), g.random.whole(-size - 2, size + 2),
              g.random.of(std::vector<std::int64_t>{1, 1, 2, 3, -1, -2})};
  return true;
}
bool indexed(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 1)};
  const std::int64_t size = g.value(step.inputs[0]).shape(0);
  if (size == 0) return false;
  step.p.n = {g.random.whole(-size, size - 1)};
  return true;
}
/// An axis of the first operand, at an index that is an input.
bool indexed_by_input(Generator& g, Step& step) {
  if (!indexed(g, step)) return false;
  step.inputs.push_back(g.constant(Array(step.p.n[0])));
  return true;
}
/// A vector of numbers, one of whose elements is replaced, at an index that is an input.
bool number_set_by_input(Generator& g, Step& step) {
  step.inputs = {g.operand(number_dtype, 1, 1)};
  const std::int64_t size = g.value(step.inputs[0]).shape(0);
  if (size == 0) return false;
  step.inputs.push_back(g.constant(Array(g.random.whole(-size, size - 1))));
  return true;
}
bool sliced_by_input(Generator& g, Step& step) {
  if (!sliced(g, step)) return false;
  const int start = g.find([&](int i) { return g.dtype(i) == DType::int64 && g.rank(i) == 0; });
  step.inputs.push_back(start >= 0 ? start : g.input(DType::int64, {}));
  return true;
}
bool to_dtype(Generator& g, Step& step) {
  const int x = g.operand(any_dtype);
  step.inputs = {x};
  step.p.dtype = g.some_dtype(any_dtype);
  // Numbers out of range are clipped, and nan gives 0: both are compared, but should be rare.
  if (ct::is_float(g.dtype(x)) && ct::is_discrete(step.p.dtype)) step.inputs = {g.within(x, {-100, 100})};
  return true;
}
/// Two vectors of whole numbers, many of them at the ends of the dtype's range.
bool integers_at_ends(Generator& g, Step& step) {
  const DType dtype = g.some_dtype(integer_dtype);
  const std::int64_t size = g.random.whole(1, 60);
  step.inputs = {g.argument(g.ends_of(dtype, {size})), g.argument(g.ends_of(dtype, {size}))};
  return true;
}
/// A vector of any kind, and two dtypes to which it is cast in turn: first p.n[0], then p.dtype.
bool cast_by_way(Generator& g, Step& step) {
  const DType from = g.some_dtype(any_dtype);
  step.inputs = {integer_dtype(from) ? g.argument(g.ends_of(from, {g.random.whole(1, 60)}))
                                     : g.input(from, {g.random.whole(1, 60)})};
  step.p.n = {static_cast<std::int64_t>(g.some_dtype(any_dtype))};
  step.p.dtype = g.some_dtype(any_dtype);
  return true;
}
bool targets(Generator& g, Step& step) {
  const int p = g.operand(float_dtype, 1, 3);
  const ct::Sizes& shape = g.value(p).shape();
  if (shape.back() == 0) return false;
  const Array classes = Array::uniform(DType::float64, ct::Sizes(shape.begin(), shape.end() - 1), g.random.bits(), 0,
                                       static_cast<double>(shape.back()));
  step.inputs = {p, g.constant(classes.astype(DType::int64))};
  return true;
}
/// Two of one dtype and shape, of any kind.
bool pair_of_any(Generator& g, Step& step) {
  const int x = g.operand(any_dtype, 1, 3);
  step.inputs = {x, g.input(g.dtype(x), g.value(x).shape())};
  step.p.n = {static_cast<std::int64_t>(g.random.below(static_cast<std::size_t>(g.rank(x))))};
  return true;
}
/// Positions along axis 0, counted from either end, some more than once.
int places(Generator& g, std::int64_t size, const ct::Sizes& shape) {
  Array at = Array::empty(DType::int64, shape);
  for (std::int64_t i = 0; i < at.size(); ++i)
    at.data<std::int64_t>()[static_cast<std::size_t>(i)] = g.random.whole(-size, size - 1);
  return g.argument(at);
}
bool taken(Generator& g, Step& step) {
  const int x = g.operand(any_dtype, 1, 3);
  const std::int64_t size = g.value(x).shape(0);
  if (size == 0) return false;
  step.inputs = {x, places(g, size, {g.random.whole(1, 9)})};
  return true;
}
bool taken_of_numbers(Generator& g, Step& step) {
  const int x = g.operand(number_dtype, 1, 3);
  const std::int64_t size = g.value(x).shape(0);
  if (size == 0) return false;
  step.inputs = {x, places(g, size, {g.random.whole(1, 9)})};
  return true;
}
bool taken_along(Generator& g, Step& step) {
  const int x = g.operand(any_dtype, 1, 3);
  ct::Sizes shape = g.value(x).shape();
  if (shape[0] == 0) return false;
  step.inputs = {x, 0};
  const std::int64_t size = shape[0];
  shape[0] = g.random.whole(1, 5);
  step.inputs[1] = places(g, size, shape);
  return true;
}
bool sliced_numbers(Generator& g, Step& step) {
  if (!sliced(g, step)) return false;
  return number_dtype(g.dtype(step.inputs[0]));
}
bool axis_of_numbers(Generator& g, Step& step) {
  step.inputs = {g.operand(number_dtype, 1)};
  step.p.n = {static_cast<std::int64_t>(g.random.below(static_cast<std::size_t>(g.rank(step.inputs[0])))), 1};
  return true;
}
bool axis_near_one(Generator& g, Step& step) {
  if (!axis_of_numbers(g, step)) return false;
  if (ct::is_float(g.dtype(step.inputs[0]))) step.inputs[0] = g.within(step.inputs[0], {0.8, 1.2});
  return true;
}
/// k of the elements along the axis.
bool top(Generator& g, Step& step) {
  if (!axis_of_numbers(g, step)) return false;
  const std::int64_t size = g.value(step.inputs[0]).shape(static_cast<int>(step.p.n[0]));
  if (size == 0) return false;
  const std::int64_t k = g.random.whole(1, std::min<std::int64_t>(size, 6));
  step.p.n[1] = g.random.chance(0.5) ? k : -k;
  return true;
}
/// Activations of sequences, their labels (some end early) and lengths.
bool sequences(Generator& g, Step& step) {
  const int x = g.operand(wide_float, 3, 3);
  const ct::Sizes shape = g.value(x).shape();
  if (shape[2] == 0) return false;
  const auto whole = [&](const ct::Sizes& sizes, std::int64_t low, std::int64_t high) {
    Array numbers = Array::empty(DType::int64, sizes);
    for (std::int64_t& n : numbers.data<std::int64_t>()) n = g.random.whole(low, high);
    return g.argument(numbers);
  };
  step.inputs = {x, whole({shape[1], g.random.whole(0, 3)}, -1, shape[2] - 1), whole({shape[1]}, 0, shape[0])};
  return true;
}
bool vector_of_any(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 1, 1)};
  return true;
}
/// Whether a 16-bit number is 0 may depend on where it is rounded.
bool vector_to_count(Generator& g, Step& step) {
  step.inputs = {g.operand([](DType t) { return any_dtype(t) && ct::compute_dtype(t) == t; }, 1, 1)};
  return true;
}
bool two_vectors(Generator& g, Step& step) {
  const int x = g.operand(wide_float, 1, 1);
  step.inputs = {x, g.input(g.dtype(x), {g.some_size()})};
  return true;
}
bool small_counts(Generator& g, Step& step) {
  Array x = Array::empty(DType::int64, {g.some_size()});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data<std::int64_t>()[static_cast<std::size_t>(i)] = g.random.whole(0, 9);
  step.inputs = {g.argument(x)};
  return true;
}
bool matrix_of_any(Generator& g, Step& step) {
  step.inputs = {g.operand(any_dtype, 2, 2)};
  step.p.n = {g.random.whole(-2, 2)};
  return true;
}
bool matrix_of_numbers(Generator& g, Step& step) {
  step.inputs = {g.operand(number_dtype, 2, 2)};
  step.p.n = {g.random.whole(-2, 2)};
  return true;
}

/// A float, and an earlier value on which it depends.
bool derivative(Generator& g, Step& step) {
  const int y = g.find([&](int i) { return float_dtype(g.dtype(i)) && !g.is_leaf(i); });
  if (y < 0) return false;
  const int w = g.find([&](int i) { return g.dtype(i) == g.dtype(y) && g.value(i).shape() == g.value(y).shape(); });
  const int x = g.find([&](int i) {
    return float_dtype(g.dtype(i)) && i < y && !g.is_constant(i) && (g.is_leaf(i) || g.random.chance(0.3));
  });
  if (x < 0) return false;
  step.inputs = {y, w, x};
  return true;
}
bool weight_step(Generator& g, Step& step) {
  const int w = g.shared(g.some_dtype(wide_float), {g.some_size(), g.some_size()});
  const ct::Sizes shape = g.value(w).shape();
  const std::int64_t inner = g.some_size();
  step.inputs = {w, g.input(g.dtype(w), {shape[0], inner}), g.input(g.dtype(w), {inner, shape[1]})};
  return true;
}

// ---- the functions ----

// clang-format off

/// Functions that use an op that is not elementwise.
const std::vector<Row>& functions_of_ops() {
  static const std::vector<Row> rows = {
      {"sum", reduced_any, MAKE(ct::sum(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"prod", reduced_near_one, MAKE(ct::prod(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"max", reduced_any, MAKE(ct::max(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"min", reduced_any, MAKE(ct::min(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"all", reduced_any, MAKE(ct::all(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"any", reduced_any, MAKE(ct::any(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"argmax", reduced_any, MAKE(ct::argmax(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"argmin", reduced_any, MAKE(ct::argmin(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"dot", matrices, MAKE(ct::dot(in[0], in[1]))},
      {"batched_dot", matrices, MAKE(ct::matmul(ct::stack({in[0], in[0]}), ct::stack({in[1], in[1]})))},
      {"weight_step", weight_step, MAKE(in[0] - ct::cast(0.1, in[0].dtype()) * ct::dot(in[1], in[2]))},
      {"dimshuffle", shuffle, MAKE(ct::dimshuffle(in[0], p.list))},
      {"reshape", two_sizes, MAKE(ct::reshape(in[0], {static_cast<long>(p.n[0]), static_cast<long>(p.n[1])}))},
      {"slice", sliced, MAKE(in[0][ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2]))])},
      {"index", indexed, MAKE(in[0][static_cast<int>(p.n[0])])},
      {"alloc", one_of_any, MAKE([&] { std::vector<ct::Operand> shape{2}; for (const Variable& size : in[0].shape()) shape.emplace_back(size); return ct::alloc(in[0], shape); }())},
      {"shape", axis_and_size, MAKE(in[0].shape(static_cast<int>(p.n[0])))},
      {"arange", axis_and_size, MAKE(ct::arange(in[0].shape(static_cast<int>(p.n[0]))))},
      {"random_bits", one_of_any, MAKE(ct::random_bits(Array{std::uint64_t{7}, std::uint64_t{1}}, in[0].shape()))},
      {"cast", to_dtype, MAKE(ct::cast(in[0], p.dtype))},
      {"cast_by_way", cast_by_way, MAKE(ct::cast(ct::cast(in[0], static_cast<ct::DType>(p.n[0])), p.dtype))},
      // Expressions that a compiler could exploit if the arithmetic of integers did not wrap.
      {"wrapped_sum", integers_at_ends, MAKE(ct::cast(in[0] + in[1], ct::DType::int64))},
      {"wrapped_difference", integers_at_ends, MAKE(ct::cast(in[0] - in[1], ct::DType::int64))},
      {"wrapped_product", integers_at_ends, MAKE(ct::cast(in[0] * in[1], ct::DType::int64))},
      {"wrapped_negation", integers_at_ends, MAKE(ct::cast(-in[0], ct::DType::int64) - ct::cast(-in[1], ct::DType::int64))},
      {"wrapped_comparison", integers_at_ends, MAKE((in[0] - in[1] < in[0]) & (in[0] + in[1] > in[1]))},
      {"wrapped_division", integers_at_ends, MAKE(ct::floor_divide(in[0] * in[1], in[1] + in[1]) + in[0] % (in[0] * in[0]))},
      {"wrapped_shift", integers_at_ends, MAKE(ct::left_shift(in[0], in[0] * in[1]) + ct::right_shift(in[0] + in[1], in[1]))},
      {"wrapped_gcd", integers_at_ends, MAKE(ct::gcd(in[0], in[0] * in[1]))},
      {"wrapped_index", integers_at_ends, MAKE(ct::take(in[0], ct::cast((in[0] * in[1]) % ct::cast(in[0].shape(0), in[0].dtype()), ct::DType::int64), 0))},
      {"wrapped_sums", integers_at_ends, MAKE(ct::cumsum(in[0] * in[1], 0) + ct::sum(in[0] - in[1]))},
      {"softmax", along_axis, MAKE(ct::nnet::softmax(in[0], static_cast<int>(p.n[0])))},
      {"log_softmax", along_axis, MAKE(ct::nnet::log_softmax(in[0], static_cast<int>(p.n[0])))},
      {"logsumexp", along_axis, MAKE(ct::nnet::logsumexp(in[0], static_cast<int>(p.n[0])))},
      {"crossentropy", targets, MAKE(ct::nnet::categorical_crossentropy(ct::sigmoid(in[0]), in[1]))},
      {"crossentropy_softmax", targets, MAKE(ct::nnet::categorical_crossentropy(ct::nnet::softmax(in[0]), in[1]))},
      {"crossentropy_softmax_grad", targets, MAKE(ct::grad(ct::sum(ct::nnet::categorical_crossentropy(ct::nnet::softmax(in[0]), in[1])), in[0]))},
      {"crossentropy_grad", targets, MAKE(ct::grad(ct::sum(ct::nnet::categorical_crossentropy(in[0], in[1])), in[0]))},
      {"copied", one_of_any, MAKE(ct::transfer(in[0], "cpu"))},
      {"concatenate", pair_of_any, MAKE(ct::concatenate({in[0], in[1]}, static_cast<int>(p.n[0])))},
      {"take", taken, MAKE(ct::take(in[0], in[1], 0))},
      {"take_along_axis", taken_along, MAKE(ct::take_along_axis(in[0], in[1], 0))},
      {"index_grad", taken_of_numbers, MAKE(ct::grad(ct::sum(ct::sqr(ct::cast(in[0][in[1]], DType::float32))), in[0]))},
      {"set_subtensor", sliced_numbers, MAKE(ct::set_subtensor(in[0][ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2]))], 7))},
      {"inc_subtensor", sliced_numbers, MAKE(ct::inc_subtensor(in[0][ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2]))], 2))},
      {"set_at", taken_of_numbers, MAKE(ct::set_subtensor(in[0][in[1]], 3))},
      {"inc_at", taken_of_numbers, MAKE(ct::inc_subtensor(in[0][in[1]], 1))},
      {"complex_isreal", pair_of_floats, MAKE(ct::isreal(ct::complex(in[0], in[1])) ^ ct::iscomplex(ct::complex(in[1], in[0])))},
      {"complex_product", pair_of_floats, MAKE(ct::real(ct::complex(in[0], in[1]) * ct::conj(ct::complex(in[1], in[0]))))},
      {"complex_polar", pair_of_floats, MAKE(ct::imag(ct::complex_from_polar(ct::abs(in[0]), in[1])))},
      {"complex_angle", pair_of_floats, MAKE(ct::angle(ct::complex(in[0], in[1])))},
      {"cumsum", axis_of_numbers, MAKE(ct::cumsum(in[0], static_cast<int>(p.n[0])))},
      {"cumprod", axis_near_one, MAKE(ct::cumprod(in[0], static_cast<int>(p.n[0])))},
      {"cumprod_grad", axis_near_one, MAKE(ct::grad(ct::sum(ct::cumprod(ct::cast(in[0], DType::float32), static_cast<int>(p.n[0]))), in[0]))},
      {"sort", axis_of_numbers, MAKE(ct::sort(in[0], static_cast<int>(p.n[0])))},
      {"argsort", axis_of_numbers, MAKE(ct::argsort(in[0], static_cast<int>(p.n[0])))},
      {"argsort_rows", matrix_of_numbers, MAKE(ct::unique(in[0], 0).inverse)},
      {"ctc", sequences, MAKE(ct::nnet::ctc(in[0], in[1], in[2]))},
      {"ctc_grad", sequences, MAKE(ct::grad(ct::sum(ct::nnet::ctc(in[0], in[1], in[2])), in[0]))},
      {"searchsorted", two_vectors, MAKE(ct::searchsorted(ct::sort(in[0]), in[1]))},
      {"nonzero_values", vector_to_count, MAKE(ct::nonzero_values(in[0]))},
      {"specify_shape", axis_and_size, MAKE(ct::specify_shape(in[0], [&] { std::vector<std::optional<ct::Operand>> shape; for (const Variable& size : in[0].shape()) shape.emplace_back(size); return shape; }()))},
      {"slice_grad", sliced, MAKE(ct::grad(ct::sum(ct::sqr(ct::cast(in[0][ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2]))], DType::float32))), in[0]))},
      {"softmax_grad", along_axis, MAKE(ct::grad(ct::sum(in[0] * ct::nnet::softmax(in[0], static_cast<int>(p.n[0]))), in[0]))},
  };
  return rows;
}

const std::vector<Row>& functions() {
  static const std::vector<Row> rows = {
      // -- reductions
      {"mean", reduced_any, MAKE(ct::mean(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"var", reduced_floats, MAKE(ct::var(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"std", reduced_floats, MAKE(ct::std(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"ptp", reduced_floats, MAKE(ct::ptp(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"norm", reduced_floats, MAKE(ct::norm(in[0], 2, ReduceOptions(p.list, p.n[0] != 0)))},
      {"norm_1", reduced_floats, MAKE(ct::norm(in[0], 1, ReduceOptions(p.list, p.n[0] != 0)))},
      {"logsumexp_axes", reduced_floats, MAKE(ct::logsumexp(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      {"count_nonzero", reduced_any, MAKE(ct::count_nonzero(in[0], ReduceOptions(p.list, p.n[0] != 0)))},
      // -- products
      {"dot_any", some_product, MAKE(ct::dot(in[0], in[1]))},
      COMPLEX(exp), COMPLEX(exp2), COMPLEX(expm1), COMPLEX(log), COMPLEX(log2), COMPLEX(log10), COMPLEX(log1p), COMPLEX(sqrt),
      COMPLEX(rsqrt), COMPLEX(reciprocal), COMPLEX(sqr), COMPLEX(sgn), COMPLEX(sin), COMPLEX(cos), COMPLEX(tan), COMPLEX(arcsin),
      COMPLEX(arccos), COMPLEX(arctan), COMPLEX(sinh), COMPLEX(cosh), COMPLEX(tanh), COMPLEX(arcsinh), COMPLEX(arccosh),
      COMPLEX(arctanh),
      {"complex_abs", pair_of_floats, MAKE(ct::abs(ct::complex(in[0], in[1])))},
      {"complex_divide", pair_of_floats, MAKE(ct::imag(ct::complex(in[0], in[1]) / ct::complex(in[1], in[0])))},
      {"complex_pow", pair_of_wide_floats, MAKE(ct::real(ct::pow(ct::complex(in[0], in[1]), ct::complex(in[1], 0.5))))},
      {"complex_where", pair_of_floats, MAKE(ct::imag(ct::where(in[0] > 0, ct::complex(in[0], in[1]), ct::conj(ct::complex(in[1], in[0])))))},
      {"complex_sum", pair_of_floats, MAKE([&] { const Variable z = ct::sum(ct::complex(in[0], in[1]), -1); return ct::real(z) + ct::imag(z); }())},
      {"complex_mean", pair_of_floats, MAKE(ct::imag(ct::mean(ct::sqr(ct::complex(in[0], in[1])), 0)))},
      {"complex_cumsum", pair_of_floats, MAKE(ct::imag(ct::cumsum(ct::complex(in[0], in[1]), 0)))},
      {"complex_join", pair_of_floats, MAKE(ct::imag(ct::concatenate({ct::complex(in[0], in[1]), ct::conj(ct::complex(in[1], in[0]))}, 0)))},
      {"complex_dot", matrices_of_floats, MAKE(ct::imag(ct::dot(ct::complex(in[0], -in[0]), ct::complex(in[1], in[1] + 1))))},
      {"complex_grad", pair_of_floats, MAKE(ct::grad(ct::sum(ct::sqr(ct::abs(ct::complex(in[0], in[1]) * ct::complex(in[1], in[0])))), in[0]))},
      {"dot_transposed", matrices, MAKE(ct::transpose(ct::dot(ct::transpose(in[1]), ct::transpose(in[0]))))},
      // -- views
      {"transpose", permutation, MAKE(ct::transpose(in[0], p.list))},
      {"expand_dims", new_axis, MAKE(ct::expand_dims(in[0], static_cast<int>(p.n[0])))},
      {"squeeze", axis_of_one, MAKE(ct::squeeze(in[0], static_cast<int>(p.n[0])))},
      {"flatten", flattened, MAKE(ct::flatten(in[0], static_cast<int>(p.n[0])))},
      {"slice_from", sliced_by_input, MAKE(in[0][ct::slice(in[1], {}, static_cast<long>(p.n[2]))])},
      {"slice_last", sliced, MAKE(in[0].at({ct::ellipsis, ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2]))}))},
      {"index_by", indexed_by_input, MAKE(in[0][in[1]])},
      {"set_by", number_set_by_input, MAKE(ct::set_subtensor(in[0][in[1]], ct::cast(in[1], in[0].dtype())))},
      {"inc_by", number_set_by_input, MAKE(ct::inc_subtensor(in[0][in[1]], ct::cast(in[1], in[0].dtype())))},
      {"roll_by", indexed_by_input, MAKE(ct::roll(in[0], ct::cast(in[1], DType::uint64), 0))},
      {"zeros_like", one_of_any, MAKE(ct::zeros_like(in[0]))},
      {"ones_like", one_of_any, MAKE(ct::ones_like(in[0]))},
      // -- generators
      {"arange_step", axis_and_size, MAKE(ct::arange(1, 2 * in[0].shape(static_cast<int>(p.n[0])) + 1, 2))},
      {"arange_float", axis_and_size, MAKE(ct::arange(0.5f, ct::cast(in[0].shape(static_cast<int>(p.n[0])), DType::float32), 1.0f))},
      // -- elementwise, composed
      {"clip", three_numbers, MAKE(ct::clip(in[0], in[1], in[2]))},
      {"divide", three_numbers, MAKE(in[0] / (ct::sqr(in[1]) + 1))},
      // -- networks
      {"softmin", along_axis, MAKE(ct::nnet::softmin(in[0], static_cast<int>(p.n[0])))},
      {"layer_norm", along_axis, MAKE(ct::nnet::layer_norm(in[0]))},
      {"slide", one_float_matrix, MAKE(ct::nnet::pool(in[0], {2, 3}, {.strides = {2, 1}, .border = 2, .mode = ct::nnet::PoolMode::sum}))},
      {"pool", one_float_matrix, MAKE(ct::nnet::pool(in[0], {2, 2}, {.strides = {1}, .border = 1, .ties = ct::nnet::Ties::first}))},
      {"pool_grad", one_float_matrix, MAKE(ct::grad(ct::sum(ct::nnet::pool(ct::sqr(in[0]), {2, 2}, {.border = 1, .mode = ct::nnet::PoolMode::average_exc_pad})), in[0]))},
      {"convolve", signal_and_filter, MAKE(ct::nnet::conv1d(ct::shape_padleft(ct::flatten(in[0]), 2), ct::shape_padleft(ct::flatten(in[1]), 2), {.border = "half"}))},
      {"convolve_grad", signal_and_filter, MAKE(ct::grad(ct::sum(ct::sqr(ct::nnet::conv1d(ct::shape_padleft(ct::flatten(in[0]), 2), ct::shape_padleft(ct::flatten(in[1]), 2), {.border = "half"}))), in[1]))},
      {"relu", one_float, MAKE(ct::nnet::relu(in[0]))},
      {"leaky_relu", one_float, MAKE(ct::nnet::leaky_relu(in[0]))},
      {"relu6", one_float, MAKE(ct::nnet::relu6(in[0]))},
      {"elu", one_float, MAKE(ct::nnet::elu(in[0]))},
      {"selu", one_float, MAKE(ct::nnet::selu(in[0]))},
      {"celu", one_float, MAKE(ct::nnet::celu(in[0], 0.5))},
      {"gelu", one_float, MAKE(ct::nnet::gelu(in[0]))},
      {"gelu_tanh", one_float, MAKE(ct::nnet::gelu(in[0], true))},
      {"silu", one_float, MAKE(ct::nnet::silu(in[0]))},
      {"mish", one_float, MAKE(ct::nnet::mish(in[0]))},
      {"softsign", one_float, MAKE(ct::nnet::softsign(in[0]))},
      {"hard_sigmoid", one_float, MAKE(ct::nnet::hard_sigmoid(in[0]))},
      {"ultra_fast_sigmoid", one_float, MAKE(ct::nnet::ultra_fast_sigmoid(in[0]))},
      {"hard_silu", one_float, MAKE(ct::nnet::hard_silu(in[0]))},
      {"hard_tanh", one_float, MAKE(ct::nnet::hard_tanh(in[0]))},
      {"log_sigmoid", one_float, MAKE(ct::nnet::log_sigmoid(in[0]))},
      {"squareplus", one_float, MAKE(ct::nnet::squareplus(in[0]))},
      {"tanh_shrink", one_float, MAKE(ct::nnet::tanh_shrink(in[0]))},
      {"soft_shrink", one_float, MAKE(ct::nnet::soft_shrink(in[0]))},
      {"hard_shrink", one_float, MAKE(ct::nnet::hard_shrink(in[0]))},
      {"sparse_plus", one_float, MAKE(ct::nnet::sparse_plus(in[0]))},
      {"sparse_sigmoid", one_float, MAKE(ct::nnet::sparse_sigmoid(in[0]))},
      {"prelu", two_floats, MAKE(ct::nnet::prelu(in[0], in[1]))},
      {"binary_crossentropy", two_floats, MAKE(ct::nnet::binary_crossentropy(ct::sigmoid(in[0]), ct::sigmoid(in[1])))},
      {"mean_squared_error", two_floats, MAKE(ct::nnet::mean_squared_error(in[0], in[1]))},
      {"mean_absolute_error", two_floats, MAKE(ct::nnet::mean_absolute_error(in[0], in[1]))},
      {"huber", two_floats, MAKE(ct::nnet::huber(in[0], in[1]))},
      {"log_cosh", two_floats, MAKE(ct::nnet::log_cosh(in[0], in[1]))},
      {"hinge", two_floats, MAKE(ct::nnet::hinge(in[0], in[1]))},
      {"poisson", two_floats, MAKE(ct::nnet::poisson(ct::sigmoid(in[0]), in[1]))},
      {"kl_divergence", two_floats, MAKE(ct::nnet::kl_divergence(ct::sigmoid(in[0]), ct::sigmoid(in[1])))},
      {"cosine_similarity", pair_of_floats, MAKE(ct::nnet::cosine_similarity(in[0], in[1]))},
      {"sigmoid_binary_crossentropy", two_floats, MAKE(ct::nnet::sigmoid_binary_crossentropy(in[0], in[1]))},
      {"softmax_crossentropy", pair_of_floats, MAKE(ct::nnet::softmax_crossentropy(in[0], ct::sigmoid(in[1])))},
      // -- joins, parts and computed places
      {"stack", pair_of_any, MAKE(ct::stack({in[0], in[1]}, static_cast<int>(p.n[0])))},
      {"topk", top, MAKE(ct::topk(in[0], p.n[1], static_cast<int>(p.n[0])))},
      {"argtopk", top, MAKE(ct::argtopk(in[0], p.n[1], static_cast<int>(p.n[0])))},
      {"flatnonzero", vector_to_count, MAKE(ct::flatnonzero(in[0]))},
      {"repeat", axis_and_size, MAKE(ct::repeat(in[0], 2, static_cast<int>(p.n[0])))},
      {"bincount", small_counts, MAKE(ct::bincount(in[0], {}, 12))},
      {"tile", vector_of_any, MAKE(ct::tile(in[0], {2, 3}))},
      {"roll", axis_and_size, MAKE(ct::roll(in[0], 2, static_cast<int>(p.n[0])))},
      {"flip", one_of_any, MAKE(ct::flip(in[0]))},
      {"swapaxes", matrix_of_any, MAKE(ct::swapaxes(in[0], 0, 1))},
      {"tril", matrix_of_numbers, MAKE(ct::tril(in[0], static_cast<long>(p.n[0])))},
      {"triu", matrix_of_numbers, MAKE(ct::triu(in[0], static_cast<long>(p.n[0])))},
      {"diag", vector_of_any, MAKE(ct::diag(in[0]))},
      {"diagonal", matrix_of_any, MAKE(ct::diagonal(in[0], static_cast<long>(p.n[0])))},
      {"trace", matrix_of_numbers, MAKE(ct::trace(in[0], static_cast<long>(p.n[0])))},
      {"diff", axis_of_numbers, MAKE(ct::diff(in[0], 1, static_cast<int>(p.n[0])))},
      {"eye", axis_and_size, MAKE(ct::eye(in[0].shape(static_cast<int>(p.n[0]))))},
      {"full_like", one_of_any, MAKE(ct::full_like(in[0], 3))},
      {"nan_to_num", one_float, MAKE(ct::nan_to_num(in[0]))},
      // -- gradients
      {"grad", derivative, MAKE(ct::grad(ct::sum(in[0] * in[1]), in[2], {.consider_constant = {}, .disconnected_inputs = ct::Disconnected::ignore}))},
      // -- expressions that users write by hand, and that rules recognise
      {"softmax_by_hand", along_axis, MAKE(ct::exp(in[0]) / ct::sum(ct::exp(in[0]), ReduceOptions(std::vector<int>{static_cast<int>(p.n[0])}, true)))},
      {"log_softmax_by_hand", along_axis, MAKE(ct::log(ct::nnet::softmax(in[0], static_cast<int>(p.n[0]))))},
      {"logsumexp_by_hand", along_axis, MAKE(ct::log(ct::sum(ct::exp(in[0]), ReduceOptions(static_cast<int>(p.n[0])))))},
      {"softmax_log_grad", pair_of_floats, MAKE(ct::grad(ct::sum(in[1] * ct::log(ct::nnet::softmax(in[0]))), in[0]))},
      {"binary_crossentropy_grad", pair_of_wide_floats, MAKE(ct::grad(ct::sum(ct::nnet::binary_crossentropy(ct::sigmoid(in[0]), in[1])), in[0]))},
      {"quotient_of_products", pair_of_floats, MAKE(in[0] * in[1] / (ct::sqr(in[1]) + 1) * (ct::sqr(in[1]) + 1) / in[1])},
      {"sum_times_constant", reduced_floats, MAKE(ct::sum(in[0] * ct::cast(3, in[0].dtype()), ReduceOptions(p.list, p.n[0] != 0)))},
      {"constants_of_product", pair_of_floats, MAKE((ct::cast(3, in[0].dtype()) * in[0]) * (in[1] * ct::cast(5, in[0].dtype())))},
      {"sum_less_term", pair_of_floats, MAKE(in[0] + in[1] - in[0])},
      {"shared_product", pair_of_floats, MAKE([&] { const Variable product = in[0] * in[1]; return product / in[0] + product; }())},
      {"reshaped_twice", two_sizes, MAKE(ct::reshape(ct::reshape(in[0], {static_cast<long>(p.n[0]), static_cast<long>(p.n[1])}), {-1L}))},
      {"read_back", sliced_numbers, MAKE([&] { const auto part = ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2])); return ct::set_subtensor(in[0][part], 7)[part]; }())},
      {"write_same", sliced_numbers, MAKE([&] { const auto part = ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2])); return ct::set_subtensor(in[0][part], in[0][part] + ct::cast(1, in[0].dtype())); }())},
      {"write_again", sliced_numbers, MAKE([&] { const auto part = ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2])); return ct::set_subtensor(ct::set_subtensor(in[0][part], 3)[part], 4); }())},
      {"part_of_join", pair_of_any, MAKE(ct::concatenate({in[0], in[1]}, 0)[ct::slice(0, 1)])},
      {"log_of_exp_and_constant", one_float, MAKE(ct::log(ct::exp(in[0]) + ct::cast(2, in[0].dtype())))},
      {"exp_over_expm1", pair_of_floats, MAKE(in[1] * ct::exp(in[0]) / ct::expm1(in[0]))},
      {"exp_times_inverse", pair_of_floats, MAKE(ct::exp(in[0]) * (in[1] * ct::exp(-in[0])))},
      {"erfcx_by_hand", one_float, MAKE(ct::exp(ct::sqr(in[0])) * ct::erfc(in[0]))},
      {"expm1_by_hand", one_float, MAKE(ct::log(1 - ct::exp(in[0])) - ct::exp(in[0]) + 1)},
      {"logistic_loss_grad", pair_of_floats, MAKE(ct::grad(ct::sum(in[1] * ct::log(ct::sigmoid(in[0])) + (1 - in[1]) * ct::log(1 - ct::sigmoid(in[0]))), in[0]))},
      {"softmax_loss_by_hand_grad", pair_of_floats, MAKE([&] { const Variable e = ct::exp(in[0]); return ct::grad(ct::sum(in[1] * ct::log(e / ct::sum(e, ReduceOptions(std::vector<int>{-1}, true)))), in[0]); }())},
      {"logistic_loss_by_hand_grad", pair_of_floats, MAKE([&] { const Variable q = 1 / (1 + ct::exp(-in[0])); return ct::grad(ct::mean(-in[1] * ct::log(q) - (1 - in[1]) * ct::log(1 - q)), in[0]); }())},
      {"index_of_index", indexed, MAKE(in[0][static_cast<int>(p.n[0])][0])},
      {"sum_of_sums", matrix_of_numbers, MAKE(ct::sum(ct::sum(in[0], ReduceOptions(0)), ReduceOptions(0)))},
      {"logsumexp_by_hand_grad", one_float_matrix, MAKE(ct::grad(ct::sum(ct::log(ct::sum(ct::exp(in[0]), ReduceOptions(-1)))), in[0]))},
      {"sigmoid_by_exp", one_float, MAKE(ct::exp(in[0]) * ct::sigmoid(-in[0]))},
      {"choice_of_squares", three_numbers, MAKE(ct::where(in[0] > in[1], ct::sqr(in[1]), ct::sqr(in[2])))},
      {"rows_of_product", matrices, MAKE(ct::dot(in[0], in[1])[ct::slice(0, 2)])},
      {"dot_of_zeros", matrices, MAKE(ct::dot(ct::zeros_like(in[0]), in[1]))},
      {"dot_scaled", matrices, MAKE(ct::dot(in[0] * ct::cast(2, in[0].dtype()), in[1]))},
      {"dot_of_dot", matrices, MAKE(ct::dot(ct::dot(in[0], in[1]), ct::sum(in[1], ReduceOptions(0))))},
      {"power_by_hand", one_float_matrix, MAKE([&] { const Variable m = ct::dot(in[0], ct::transpose(in[0])) / (1 + ct::sum(ct::sqr(in[0]))); return ct::dot(ct::dot(ct::dot(m, m), m), m); }())},
      {"one_minus_exp", one_float, MAKE(-ct::exp(in[0]) + 1)},
      {"cube", one_float, MAKE(ct::pow(in[0], ct::cast(3, in[0].dtype())))},
      {"power_of_halves", one_float, MAKE(ct::pow(ct::abs(in[0]), ct::cast(1.5, in[0].dtype())))},
      {"by_power_of_two", one_float, MAKE(in[0] / ct::cast(4, in[0].dtype()))},
  };
  return rows;
}
// clang-format on

std::vector<const Row*> addresses(const std::vector<Row>& rows) {
  std::vector<const Row*> result;
  for (const Row& row : rows) result.push_back(&row);
  return result;
}

const Row squash{"squash", nullptr, MAKE(ct::cast(p.real[0] + p.real[1] * ct::sigmoid(in[0]), p.dtype))};

}  // namespace

const Row& squash_row() { return squash; }

const Row& row_of(const ct::expr::Op& op) {
  static std::map<const ct::expr::Op*, std::unique_ptr<Row>> rows;
  std::unique_ptr<Row>& row = rows[&op];
  if (!row)
    row.reset(new Row{op.name, op.map != nullptr && op.name != "cast" ? map_operands : nullptr, nullptr, "", &op});
  return *row;
}

const std::vector<const Row*>& op_rows() {
  static const std::vector<const Row*> rows = [] {
    std::vector<const Row*> all;
    for (const ct::expr::Op* op : ct::expr::all_ops()) {
      // ordered_add adds as add does; tests/ops/test_elementwise.cpp shows that rules do not change it.
      if (op->kind == ct::expr::Kind::Map && op->name != "cast" && op->name != "ordered_add")
        all.push_back(&row_of(ct::expr::op(op->name)));  // by name: a planted op comes first
    }
    return all;
  }();
  return rows;
}

const std::vector<const Row*>& function_rows() {
  static const std::vector<const Row*> rows = addresses(functions());
  return rows;
}

const std::vector<const Row*>& rows_of_ops() {
  static const std::vector<const Row*> rows = addresses(functions_of_ops());
  return rows;
}

const std::vector<const Row*>& all_rows() {
  static const std::vector<const Row*> rows = [] {
    std::vector<const Row*> all = op_rows();
    all.insert(all.end(), rows_of_ops().begin(), rows_of_ops().end());
    all.insert(all.end(), function_rows().begin(), function_rows().end());
    return all;
  }();
  return rows;
}

const Row* find_row(std::string_view name) {
  for (const Row* row : all_rows()) {
    if (row->name == name) return row;
  }
  return name == squash.name ? &squash : nullptr;
}

}  // namespace differential
