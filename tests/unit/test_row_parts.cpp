// Rows that are few and long, cut into parts of a block each on a GPU: they have the bits of the CPU, and the last
// block of a row stores its results.
#include <croton/croton.hpp>

#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "contains.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;

namespace {

using Results = std::vector<Variable> (*)(const Variable&);

// Shorter rows may be the work of one block, as on the few multiprocessors of the simulator.
constexpr std::int64_t too_long_for_a_block = (1 << 20) + 1;

ct::Function make(DType dtype, std::size_t rank, Results results) {
  const Variable m = ct::variable({dtype, ct::Sizes(rank, ct::unknown_size)}, "m");
  return ct::function({m}, ct::OutputList(results(m)));
}

/// Whether a kernel of the last call has parts of rows.
bool has_parts(const ct::Function& f) {
  for (const ct::KernelSchedule& kernel : f.schedule()) {
    if (kernel.family == "row" && kernel.schedule.find(" part=") != std::string::npos) return true;
  }
  return false;
}

/// Compares the results on a simulated GPU, which interleaves blocks, with those of the CPU.
void check(DType dtype, const Array& input, Results results) {
  INFO(ct::name_of(dtype) << " " << input.shape(0) << " x " << input.shape(1));
  std::vector<Array> expected;
  {
    const ct::change_flags flags("mode=run");
    const ct::Outputs outputs = make(dtype, input.shape().size(), results)(input);
    for (std::size_t i = 0; i < outputs.size(); ++i) expected.push_back(Array(outputs[i]).copy());
  }
  const ct::change_flags flags("mode=simulate,cuda_simulator_seed=5");
  const ct::Function f = make(dtype, input.shape().size(), results);
  const ct::Outputs outputs = f(input);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("result " << i);
    CHECK(Array(outputs[i]).same_bits(expected[i]));
  }
  CHECK(has_parts(f));
}

std::vector<Variable> sums(const Variable& m) { return {ct::sum(m, 1), ct::max(m, 1)}; }
std::vector<Variable> positions(const Variable& m) {
  return {ct::argmin(m, 1), ct::cast(ct::any(m > 1, 1), m.dtype())};
}
/// Values of whole rows are read, and their positions.
std::vector<Variable> scaled(const Variable& m) {
  const Variable rows = ct::expand_dims(ct::cast(ct::arange(m.shape(0)), m.dtype()), 1);
  return {ct::sum(m * rows, 1) * m.at({ct::slice(), 0}) + ct::mean(ct::cast(m, DType::float64), 1)};
}
/// Elements between which others are, backwards.
std::vector<Variable> strided(const Variable& m) {
  return {ct::sum(m.at({ct::slice({}, {}, -1), ct::slice({}, {}, 2)}), 1)};
}

}  // namespace

TEST_CASE("few long rows are cut into parts, with the bits of the CPU") {
  // Whole packs, whole blocks of the tree, neither.
  for (const std::int64_t length : {std::int64_t{1'050'000}, std::int64_t{1'032 * 1'024}, too_long_for_a_block})
    check(DType::float32, Array::uniform(DType::float32, {2, length}, 3, -1, 2), sums);
  check(DType::float32, Array::uniform(DType::float32, {1, too_long_for_a_block}, 3, -1, 2), positions);
  check(DType::float32, Array::uniform(DType::float32, {3, too_long_for_a_block}, 3, -1, 2), scaled);
  check(DType::float32, Array::uniform(DType::float32, {2, 2 * too_long_for_a_block}, 3, -1, 2), strided);
}

TEST_CASE("rows in parts have their elements on several axes") {
  // The sums of the maps of a convolution's channels, with the maps that the next step reads.
  const auto channels = [](const Variable& m) {
    const Variable kept = ct::where(m > 0, m, 0);
    return std::vector<Variable>{ct::sum(kept, std::vector<int>{0, 2}), kept, ct::max(m, std::vector<int>{0, 2})};
  };
  // Lines of whole packs, and others.
  for (const std::int64_t line : {std::int64_t{65'540}, std::int64_t{65'541}})
    check(DType::float32, Array::uniform(DType::float32, {17, 2, line}, 3, -1, 2), channels);
  check(DType::float16, Array::uniform(DType::float16, {17, 2, 65'540}, 3, -1, 2), channels);
}

TEST_CASE("rows in parts have every dtype") {
  for (const DType dtype : {DType::int8, DType::float16, DType::float64})
    check(dtype, Array::uniform(DType::float32, {2, too_long_for_a_block}, 9, -100, 100).astype(dtype), sums);
  check(DType::complex64, Array::uniform(DType::float32, {2, too_long_for_a_block}, 9, -1, 1).astype(DType::complex64),
        [](const Variable& m) { return std::vector<Variable>{ct::sum(m * m, 1)}; });
  // NaN and infinities.
  Array special = Array::uniform(DType::float32, {4, too_long_for_a_block}, 2, -1, 1);
  special.at<float>(0, too_long_for_a_block - 1) = std::numeric_limits<float>::quiet_NaN();
  special.at<float>(1, 12'345) = std::numeric_limits<float>::infinity();
  special.at<float>(2, 0) = -std::numeric_limits<float>::infinity();
  check(DType::float32, special, sums);
  check(DType::float32, special, positions);
}

TEST_CASE("a result of rows in parts takes the place of an operand that all parts read") {
  const ct::change_flags flags("mode=simulate,cuda_simulator_seed=7");
  const Variable m = ct::matrix("m");
  auto v = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "v"});
  const ct::Function step = ct::function({m}, ct::OutputList{std::vector<ct::Out>{}},
                                         {.updates = {{v, ct::sum(m * ct::expand_dims(v, 1), 1)}}});
  for (int call = 0; call < 2; ++call) {  // the counters are 0 again
    v.set_value(Array{1.f, 2.f, 3.f});
    step(Array::full(DType::float32, {3, too_long_for_a_block - 1 + 1024}, 1.0));
    CHECK(v.get_value().same_bits(Array{1'049'600.f, 2'099'200.f, 3'148'800.f}));
  }
  CHECK(has_parts(step));
}

TEST_CASE("rows are cut into parts where there are too few for the multiprocessors") {
  const Variable m = ct::matrix("m");
  const ct::Function sum = ct::function({m}, ct::sum(m, 1)), softmax = ct::function({m}, ct::nnet::softmax(m, 1));
  const auto shown = [](const ct::Function& f, const ct::Sizes& shape) {
    return to_string(f.schedule("cuda:sm_90", {.shapes = {shape}})[0]);
  };
  CHECK_THAT(shown(sum, {4, 10'000'000}),
             contains(": row on ") && contains(" part=") && contains(" parts of each row"));
  CHECK_THAT(shown(sum, {1000, 3'000'000}), contains(": row on ") && contains(" part="));  // too long for one block
  CHECK_THAT(shown(sum, {16384, 8192}), contains(" lanes=32 warps=") && !contains("\n  threads=256 part="));
  CHECK_THAT(shown(softmax, {4, 1'000'000}), contains(" meets=2 "));
  CHECK_THAT(shown(softmax, {400, 30'000}), contains(" lanes=32 warps=32 "));
}
