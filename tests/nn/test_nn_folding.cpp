// Batch normalisation outside training: its scale is folded into the filters of the previous layer, its shifts into one
// bias. In training it is unchanged.
#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include "backends.hpp"
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace ct = croton;
namespace nn = croton::nn;
using ct::Array;
using ct::DType;
using ct::Variable;
using ct::nnet::Layout;

namespace {

const std::string unfolded = "rules_off=scale-in-filters+shifts-in-one";

/// Weights that differ from those of a new normalisation, which would change nothing.
void fill(const nn::Sequential& model) {
  std::vector<Array> values;
  for (const Array& weight : model.get_weights())
    values.push_back(Array::uniform(DType::float32, weight.shape(), 11 + values.size(), 0.3, 1.7));
  model.set_weights(values);
}

struct Compiled {
  Variable x;
  ct::Function function;
};

/// The result of predict.
Compiled inference(const nn::Sequential& model, ct::Sizes shape, const std::string& flags) {
  const ct::change_flags scope(flags);
  shape.front() = ct::unknown_size;
  const Variable x = ct::variable({DType::float32, shape}, "x");
  nn::CallContext context;
  return {x, ct::function({x}, model.call({x}, context).at(0))};
}

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

/// Both give equal values, and the rules fire in only one of them.
void check_folds(const nn::Sequential& model, const ct::Sizes& shape) {
  fill(model);
  for (const std::string& backend : croton_test::backends()) {
    CAPTURE(backend);
    const Compiled folded = inference(model, shape, backend), plain = inference(model, shape, backend + "," + unfolded);
    CHECK(count(folded.function.rewrites(), "scale-in-filters") == 1);
    CHECK(count(plain.function.rewrites(), "scale-in-filters") == 0);
    const Array images = Array::uniform(DType::float32, shape, 5, -1, 1);
    const ct::change_flags scope(backend);
    const Array got = Array(folded.function(images)).to_host(), wanted = Array(plain.function(images)).to_host();
    CHECK(got.shape() == wanted.shape());
    double largest = 0;
    for (std::int64_t i = 0; i < wanted.size(); ++i) largest = std::max(largest, std::abs(wanted.as_double(i)));
    CHECK(largest > 0.5);
    for (std::int64_t i = 0; i < wanted.size(); ++i)
      CHECK(got.as_double(i) == Approx(wanted.as_double(i)).epsilon(1e-5).margin(1e-5 * largest));
  }
}

std::vector<std::string> kernels_of(const ct::Function& function) {
  std::vector<std::string> all;
  for (const ct::KernelInfo& kernel : function.kernels("cpu")) all.push_back(kernel.expression);
  return all;
}

}  // namespace

TEST_CASE("a convolution and its batch normalisation are one convolution outside training", "[nn]") {
  const auto layout = GENERATE(Layout::channels_last, Layout::channels_first);
  const bool last = layout == Layout::channels_last;
  const int axis = last ? -1 : 1;
  const ct::Sizes shape = last ? ct::Sizes{3, 9, 8, 6} : ct::Sizes{3, 6, 9, 8};
  const nn::Shape image(shape.begin() + 1, shape.end());
  for (const std::int64_t groups : {1, 2}) {
    CAPTURE(last, groups);
    const nn::Sequential model{
        nn::Conv2D(4, 3, {.padding = "same", .groups = groups, .layout = layout, .input_shape = image}),
        nn::BatchNormalization({.axis = axis}), nn::ActivationLayer("relu")};
    check_folds(model, shape);
  }
  const nn::Sequential depthwise{nn::DepthwiseConv2D({3, 3}, 1, {.layout = layout, .input_shape = image}),
                                 nn::BatchNormalization({.axis = axis})};
  check_folds(depthwise, shape);
}

TEST_CASE("a Dense layer and its batch normalisation are one product outside training", "[nn]") {
  check_folds({nn::Dense(7, {.input_shape = {5}}), nn::BatchNormalization(), nn::ActivationLayer("relu")}, {4, 5});
  check_folds({nn::Dense(7, {.input_shape = {3, 5}}), nn::BatchNormalization()}, {2, 3, 5});
}

TEST_CASE("a convolution with folded filters is followed by one sum and the activation", "[nn]") {
  const nn::Sequential model{nn::Conv2D(16, 3, {.input_shape = {9, 9, 6}}), nn::BatchNormalization(),
                             nn::ActivationLayer("relu")};
  const auto contraction = [&](const std::string& flags) {
    const std::vector<std::string> all = kernels_of(inference(model, {1, 9, 9, 6}, flags).function);
    const auto at =
        std::ranges::find_if(all, [](const std::string& kernel) { return kernel.starts_with("kernel contract"); });
    REQUIRE(at != all.end());
    return at->substr(at->find(" = sum "));
  };
  const std::string folded = contraction("mode=run"), plain = contraction("mode=run," + unfolded);
  CAPTURE(folded, plain);
  CHECK(count(folded, "add(") == 1);
  CHECK(count(folded, "where(") == 1);  // relu, in the form of this kernel
  CHECK(count(folded, "mul(") + count(folded, "sub(") + count(folded, "fma(") == 0);
  CHECK(count(plain, "mul(") + count(plain, "sub(") + count(plain, "fma(") > 0);
}

TEST_CASE("in training a batch normalisation stays as it is", "[nn]") {
  const nn::Sequential model{nn::Conv2D(16, 3, {.input_shape = {9, 9, 6}}),
                             nn::BatchNormalization(),
                             nn::ActivationLayer("relu"),
                             nn::Flatten(),
                             nn::Dense(5),
                             nn::BatchNormalization()};
  const auto step = [&](const std::string& flags) {
    const ct::change_flags scope(flags);
    const Variable x = ct::variable({DType::float32, {ct::unknown_size, 9, 9, 6}}, "x");
    nn::CallContext context{.training = true};
    const Variable cost = ct::sum(ct::sqr(model.call({x}, context).at(0)));
    std::vector<Variable> wrt;
    for (const ct::SharedVariable& weight : model.trainable_variables()) wrt.push_back(weight);
    return ct::function({x}, ct::grad(cost, wrt), {.updates = context.updates});
  };
  const ct::Function with = step("mode=run"), without = step("mode=run," + unfolded);
  CHECK(count(with.rewrites(), "scale-in-filters") == 0);
  CHECK(count(with.rewrites(), "shifts-in-one") == 0);
  CHECK(kernels_of(with) == kernels_of(without));
  CHECK(!kernels_of(with).empty());
}
