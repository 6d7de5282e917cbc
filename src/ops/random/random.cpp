// Random bits and their conversion to numbers: rows (rows.hpp defines a row; codegen_templates/common/random.cuh has
// the code and the sources of the methods), and `random_bits`, whose elements are functions of a key and their
// position. The distributions that users draw from are composed of these in random_streams.cpp.
#include "ops/random/random_reference.hpp"

#include <fmt/format.h>

#include <bit>

#include "builder/batch.hpp"
#include "expr/arena.hpp"
#include "expr/evaluate.hpp"
#include "ops/elementwise/rows.hpp"

namespace croton::ops {
namespace {

using builder::BatchContext;
using builder::Batched;
using expr::ElementContext;
using expr::EvaluateContext;
using expr::NodeId;
using Words = std::span<const Scalar>;

template <DType result>
Types of_bits(DTypes t) {
  for (const DType dtype : t) {
    if (dtype != DType::uint64) throw TypeError("random bits must be uint64");
  }
  return {result, DType::uint64};
}
Types of_double(DTypes t) {
  if (t[0] != DType::float64) throw TypeError("only float64 is accepted");
  return {DType::uint64, DType::float64};
}

std::uint64_t word(const Scalar& x) { return x.as_unsigned(); }
double number_of(const Scalar& x) { return std::bit_cast<double>(x.i); }
Scalar bits(std::uint64_t value) { return Scalar::of_unsigned(value, DType::uint64); }
Scalar wide(double value) { return Scalar::of_double(value, DType::float64); }

/// Random bits have no gradient; it is an error to need one by the parameters of their distribution.
std::vector<Variable> no_gradient(const GradientContext& c) {
  throw NullTypeGradError(
      fmt::format("{} ({}): random numbers have no gradient by the parameters of their distribution", c.node.op->name,
                  builder::describe(c.node.where)));
}

// clang-format off
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"philox_low", 3, of_bits<DType::uint64>, "ct::philox_low({0}, {1}, {2})",
       [](Words x, DType) { return bits(reference::philox(word(x[0]), word(x[1]), word(x[2])).first); }, zero,
       "the lower 64 of the random bits of a key, a count of draws and a position (Philox4x32-10)", 60},
      {"philox_high", 3, of_bits<DType::uint64>, "ct::philox_high({0}, {1}, {2})",
       [](Words x, DType) { return bits(reference::philox(word(x[0]), word(x[1]), word(x[2])).second); }, zero,
       "the higher 64 of these bits", 60},
      {"unit32", 1, of_bits<DType::float32>, "ct::unit32({0})",
       [](Words x, DType) { return Scalar::of_double(reference::unit32(word(x[0])), DType::float32); }, zero,
       "a float32 between 0 and 1 of random bits", 3},
      {"unit64", 1, of_bits<DType::float64>, "ct::unit64({0})",
       [](Words x, DType) { return wide(reference::unit64(word(x[0]))); }, zero,
       "a float64 between 0 and 1 of random bits", 3},
      {"normal32", 1, of_bits<DType::float32>, "ct::normal32({0})",
       [](Words x, DType) { return Scalar::of_double(reference::normal32(word(x[0])), DType::float32); }, zero,
       "a standard normal float32 of random bits", 40},
      {"normal64", 2, of_bits<DType::float64>, "ct::normal64({0}, {1})",
       [](Words x, DType) { return wide(reference::normal64(word(x[0]), word(x[1]))); }, zero,
       "a standard normal float64 of random bits", 40},
      {"random_below", 2, of_bits<DType::uint64>, "ct::random_below({0}, {1})",
       [](Words x, DType) { return bits(reference::random_below(word(x[0]), word(x[1]))); }, zero,
       "a whole number below b of random bits a", 4},
      {"bits_of_double", 1, of_double, "ct::bits_of({0})",
       [](Words x, DType) { return bits(std::bit_cast<std::uint64_t>(x[0].d)); }, zero,
       "the bits of a float64: a parameter of the samplers"},
      {"sample_log_gamma", 4, of_bits<DType::float64>, "ct::sample_log_gamma({0}, {1}, {2}, {3})",
       [](Words x, DType) {
         return wide(reference::sample_log_gamma(word(x[0]), word(x[1]), word(x[2]), number_of(x[3])));
       },
       no_gradient, "the logarithm of a number of the gamma distribution, from key, count, position and shape", 300},
      {"sample_poisson", 4, of_bits<DType::float64>, "ct::sample_poisson({0}, {1}, {2}, {3})",
       [](Words x, DType) {
         return wide(reference::sample_poisson(word(x[0]), word(x[1]), word(x[2]), number_of(x[3])));
       },
       no_gradient, "a number of the Poisson distribution, from key, count, position and mean", 300},
      {"sample_binomial", 5, of_bits<DType::float64>, "ct::sample_binomial({0}, {1}, {2}, {3}, {4})",
       [](Words x, DType) {
         return wide(reference::sample_binomial(word(x[0]), word(x[1]), word(x[2]), number_of(x[3]), number_of(x[4])));
       },
       no_gradient, "a number of the binomial distribution, from key, count, position, trials and probability", 300},
  };
  return table;
}
// clang-format on

// ---- random_bits: inputs state (uint64, {key, count of draws}), size of each axis; attribute high: which half ----

InferredType infer_random_bits(InferContext& c) {
  if (c.inputs[0].dtype != DType::uint64 || c.inputs[0].shape.size() != 1)
    c.type_error("the state of random numbers is a vector of uint64");
  c.require_equal(c.inputs[0].shape[0], c.constant(2), "the state of random numbers is a key and a count");
  InferredType result{DType::uint64, {}};
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    result.shape.push_back(c.value_of(i));
  }
  return result;
}

std::string_view half(const expr::Attrs& attrs) {
  return attrs.integer_or("high", 0) != 0 ? "philox_high" : "philox_low";
}

NodeId random_bits_element(ElementContext& c) {
  NodeId at = c.body.integer(0);
  for (std::size_t axis = 0; axis < c.index.size(); ++axis)
    at = c.body.size_arithmetic("add", c.body.size_arithmetic("mul", at, c.shape[axis]), c.index[axis]);
  const NodeId key = c.read(0, {c.body.integer(0)}), count = c.read(0, {c.body.integer(1)});
  return c.body.make(half(c.attrs), {key, count, c.body.cast(at, DType::uint64)});
}

Array evaluate_random_bits(const EvaluateContext& c) {
  const auto state = c.inputs[0].data<std::uint64_t>();
  Array result = Array::empty(DType::uint64, c.shape);
  for (std::uint64_t i = 0; std::uint64_t& value : result.data<std::uint64_t>()) {
    const auto [low, high] = reference::philox(state[0], state[1], i++);
    value = half(c.attrs) == "philox_low" ? low : high;
  }
  return result;
}

/// The state, the sizes and the numbers are the same in the whole batch.
Batched batch_random_bits(const BatchContext& c) {
  c.require_same(0, "the state or a size of random numbers");
  return {builder::apply(*c.node.op, c.inputs, c.node.attrs, c.node.where), false};
}

}  // namespace

void register_random(Registry& registry) {
  register_rows(registry, rows());
  static const expr::Op random_bits{.name = "random_bits",
                                    .kind = expr::Kind::Generate,
                                    .arity = -1,
                                    .doc = "64 random bits for each element, by a key and a count of draws",
                                    .infer = infer_random_bits,
                                    .evaluate = evaluate_random_bits,
                                    .element = random_bits_element,
                                    .element_cost = 60,
                                    .batch = batch_random_bits};
  registry.add(random_bits);
}

}  // namespace croton::ops
