// A row kernel and a column kernel over the same matrix in one launch of a GPU: the gradients of layer normalisation,
// and others. They have the bits of the CPU, for all sizes and dtypes, and no launch has them where that is not
// possible.
#include <croton/croton.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "catch.hpp"
#include "contains.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;

namespace {

using Variables = std::vector<Variable>;
using Results = std::function<Variables(const Variables&)>;

ct::Function make(DType dtype, std::size_t matrices, const Results& results) {
  Variables inputs;
  for (std::size_t i = 0; i < matrices; ++i)
    inputs.push_back(ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}));
  return ct::function(std::vector<ct::In>(inputs.begin(), inputs.end()), ct::OutputList(results(inputs)));
}

/// The gradients of layer normalisation with scale and shift, which are the first rows of the third and fourth matrix.
Variables layer_norm_gradients(const Variables& in) {
  const Variable gamma = in[2].at({0}), beta = in[2].at({-1});
  const Variable y = ct::nnet::layer_norm(in[0], 1e-5) * gamma + beta;
  return ct::grad(ct::sum(y * in[1]), {in[0], gamma, beta});
}

std::vector<Array> call(const ct::Function& f, const std::vector<Array>& inputs) {
  const auto outputs = f.call(std::vector<ct::Argument>(inputs.begin(), inputs.end()));
  std::vector<Array> all;
  for (std::size_t i = 0; i < outputs.size(); ++i) all.push_back(outputs[i]);
  return all;
}

/// How many of the launches of a function's last call have both kernels.
std::ptrdiff_t launches_of_both(const ct::Function& f) {
  const auto schedules = f.schedule();
  return std::ranges::count_if(
      schedules, [](const ct::KernelSchedule& s) { return s.name.starts_with("matrix_") && s.family == "row"; });
}

/// Compares the results on a simulated GPU, with and without such launches, with those of the CPU.
void check(DType dtype, const ct::Sizes& shape, std::size_t matrices, const Results& results,
           bool is_one_launch = true) {
  INFO(ct::name_of(dtype) << " " << shape[0] << " x " << shape[1]);
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < matrices; ++i) inputs.push_back(Array::uniform(dtype, shape, i + 1, -1, 2));
  std::vector<Array> expected;
  {
    const ct::change_flags flags("mode=run");
    expected = call(make(dtype, matrices, results), inputs);
  }
  for (const char* schedule : {"kernels=1", "kernels=2"}) {
    INFO(schedule);
    const ct::change_flags flags(std::string("mode=simulate,cuda_simulator_seed=3,schedule=") + schedule);
    const ct::Function f = make(dtype, matrices, results);
    const std::vector<Array> found = call(f, inputs);
    CHECK(launches_of_both(f) == (is_one_launch && std::string(schedule) == "kernels=2" ? 1 : 0));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO("result " << i);
      CHECK(found[i].same_bits(expected[i]));
    }
  }
}

}  // namespace

TEST_CASE("the gradients of layer normalisation are one launch, with the bits of the CPU") {
  // One chunk of rows and several, one group of parts and several; rows of a warp and of several; packs that are not
  // whole.
  for (const ct::Sizes& shape : {ct::Sizes{1, 70}, {37, 1101}, {16, 132}, {150, 96}, {33, 2052}})
    check(DType::float32, shape, 3, layer_norm_gradients);
  check(DType::float64, {37, 1101}, 3, layer_norm_gradients);
  check(DType::float64, {20, 256}, 3, layer_norm_gradients);
}

TEST_CASE("matrices without elements, and with short rows, have a launch for each kernel") {
  check(DType::float32, {37, 9}, 3, layer_norm_gradients, false);
  const Results of_rows_and_columns = [](const Variables& in) {
    return Variables{in[0] - ct::expand_dims(ct::max(in[0] + in[1], 1), 1), ct::sum(in[0], 0)};
  };
  check(DType::float32, {0, 70}, 2, of_rows_and_columns, false);
}

TEST_CASE("row and column kernels of other combiners and dtypes are one launch") {
  // A gradient and the gradient of a bias: the column kernel only reads results of the row kernel.
  const Results bias = [](const Variables& in) {
    const Variable dz = ct::nnet::softmax(in[0], 1) - in[1];
    return Variables{dz, ct::sum(dz, 0)};
  };
  check(DType::float32, {37, 1030}, 2, bias);
  check(DType::float16, {37, 200}, 2, bias);
  check(DType::bfloat16, {20, 100}, 2, bias);
  // Positions; an operand of the columns alone.
  const Results positions = [](const Variables& in) {
    return Variables{in[0] / ct::expand_dims(ct::sum(in[0], 1), 1), ct::argmax(in[0] * in[1], 0)};
  };
  check(DType::float32, {150, 300}, 2, positions);
}

TEST_CASE("texts of one launch with equal digests are equal, also their launch bounds") {
  const ct::Function f = make(DType::float32, 2, [](const Variables& in) {
    const Variable& x = in[0];  // root mean square normalisation
    const Variable y = x / ct::sqrt(ct::mean(ct::sqr(x), {std::vector<int>{1}, true}) + 1e-5f);
    const Variable cost = ct::sum(y * in[1]);
    return Variables{ct::grad(cost, x), ct::sum(y * in[1], 0)};
  });
  std::map<std::string, std::string> texts;
  int count = 0;
  for (const std::int64_t length : {4100, 5000, 6000, 7000, 8000}) {
    for (const ct::KernelInfo& kernel :
         f.kernels("cuda:sm_90", {.schedule = "kernels=2", .shapes = {{8192, length}, {8192, length}}})) {
      if (!kernel.name.starts_with("matrix_")) continue;
      CHECK(texts.try_emplace(kernel.digest, kernel.source).first->second == kernel.source);
      ++count;
    }
  }
  CHECK(count > 1);
}

TEST_CASE("the reason of one launch, or of two, is shown") {
  const ct::Function f = make(DType::float32, 3, layer_norm_gradients);
  const auto shown = [&](const ct::Sizes& shape, const std::string& schedule) {
    std::string text;
    for (const auto& of : f.schedule("cuda:sm_90", {.schedule = schedule, .shapes = {shape, shape, shape}}))
      text += to_string(of);
    return text;
  };
  CHECK_THAT(shown({8192, 4096}, ""),
             contains("rows=16 threads=128: one launch of the row kernel and the column kernel"));
  CHECK_THAT(shown({8192, 4096}, ""), contains("512 blocks"));
  CHECK_THAT(shown({8192, 4096}, "kernels=1"), contains("kernels=1, a launch for the rows alone: set by an override"));
  CHECK_THAT(shown({512, 4096}, ""), contains("are fewer than 256 threads for each multiprocessor"));
  CHECK_THAT(shown({8192, 8}, "kernels=2"), contains("rows are too short for whole warps, or too long"));
  CHECK_THAT(shown({8192, 65536}, ""), contains("do not fit into shared memory"));
  for (const ct::KernelInfo& kernel : f.kernels("cuda:sm_90", {.shapes = {{8192, 4096}, {8192, 4096}, {8192, 4096}}})) {
    if (!kernel.name.starts_with("matrix_")) continue;
    CHECK(kernel.blocks == 512);
    CHECK(kernel.threads == 128);
    // The products for gamma's gradient stay in registers.
    CHECK(std::ranges::count_if(kernel.operands, [](const ct::KernelOperand& o) {
            return o.bytes == std::int64_t{8192} * 4096 * 4;
          }) == 3);
  }
}
