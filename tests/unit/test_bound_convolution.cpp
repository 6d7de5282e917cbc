// Contractions whose sums a library of convolutions computes: oneDNN on the host where it is installed, and a fake
// cuDNN on fake GPUs. The library's results are compared with those of Croton's kernels.
#include <croton/convolution.hpp>
#include <croton/croton.hpp>

#include <iostream>

#include "catch.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "runtime/cpu/dnn/dnn.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;
using ct::nnet::ConvOptions;
using ct::test::FakeGpus;
using Order = ct::nnet::Layout;

namespace {

Array numbers(const ct::Sizes& shape, std::uint64_t seed) { return Array::uniform(DType::float32, shape, seed, -1, 1); }

/// The largest difference, relative to the largest number.
double off(const Array& got, const Array& wanted) {
  REQUIRE(got.shape() == wanted.shape());
  double worst = 0, largest = 1e-30;
  const Array a = got.copy(), b = wanted.copy();
  for (std::int64_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a.as_double(i) - b.as_double(i)));
    largest = std::max(largest, std::abs(b.as_double(i)));
  }
  return worst / largest;
}

struct Case {
  const char* name;
  ConvOptions options;
  ct::Sizes image, filters;
};

std::vector<Case> cases() {
  const auto options = [](ct::nnet::Border border, Order layout, std::vector<std::int64_t> strides = {},
                          std::int64_t groups = 1, bool flip = false, std::vector<std::int64_t> dilations = {}) {
    return ConvOptions{.border = std::move(border),
                       .strides = std::move(strides),
                       .dilations = std::move(dilations),
                       .groups = groups,
                       .flip = flip,
                       .layout = layout};
  };
  return {{"channels last", options("valid", Order::channels_last), {4, 18, 17, 32}, {3, 3, 32, 24}},
          {"channels first", options("half", Order::channels_first), {4, 32, 16, 15}, {24, 32, 3, 3}},
          {"strides", options("same", Order::channels_last, {2, 3}), {6, 25, 26, 32}, {5, 3, 32, 24}},
          {"groups", options("valid", Order::channels_last, {}, 2), {4, 18, 17, 64}, {3, 3, 32, 48}},
          {"turned round", options("full", Order::channels_first, {}, 1, true), {3, 32, 14, 15}, {24, 32, 3, 3}},
          {"dilated", options("valid", Order::channels_last, {}, 1, false, {2, 1}), {4, 18, 17, 32}, {3, 3, 32, 24}},
          {"one place each", options("valid", Order::channels_last), {8, 20, 20, 64}, {1, 1, 64, 40}}};
}

/// The convolution with the following operations, and its gradients.
std::vector<Variable> graph(const Case& c, const Variable& x, const Variable& w) {
  const Variable y = ct::nnet::conv2d(x, w, c.options), loss = ct::sum(ct::sqr(y));
  return {y, ct::nnet::relu(y * 2 + 1), ct::grad(loss, x), ct::grad(loss, w)};
}

struct Ran {
  std::vector<Array> results;
  std::uint64_t convolutions;
};
Ran run(const Case& c, const std::string& flags) {
  const ct::change_flags scope(flags);
  const Variable x = ct::tensor4("x"), w = ct::tensor4("w");
  Ran ran{{}, 0};
  for (const Variable& output : graph(c, x, w)) {
    const ct::Function f = ct::function({x, w}, output, {.on_unused_input = ct::UnusedInput::ignore});
    ran.results.push_back(f(numbers(c.image, 1), numbers(c.filters, 2)));
    ran.convolutions += f.counts().convolutions;
  }
  return ran;
}

}  // namespace

TEST_CASE("oneDNN computes convolutions and their gradients as our kernels do") {
  std::string why;
  const bool there = ct::runtime::cpu::Dnn::available(&why);
  if (!there) std::cout << "NOT RUN: " << why << "\n";
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const Ran own = run(c, "dnn=none"), library = run(c, "dnn=auto");
    CHECK(own.convolutions == 0);
    // Six kernels: the forward pass twice, and forward and backward for each gradient.
    CHECK(library.convolutions >= (there ? 3 : 0));
    CHECK(library.convolutions <= (there ? 6 : 0));
    for (std::size_t i = 0; i < own.results.size(); ++i) {
      CAPTURE(i);
      // Sums of a few hundred to a few thousand products in another order.
      CHECK(off(library.results[i], own.results[i]) < 2e-6);
    }
  }
}

TEST_CASE("a library gets what is a convolution, and nothing else") {
  const Variable x = ct::tensor4("x"), y = ct::tensor4("y"), w = ct::tensor4("w");
  const ConvOptions options{.border = "half", .flip = false};
  const auto convolutions = [&](const Variable& output, const std::vector<Array>& values) {
    const ct::Function f = ct::function({x, y, w}, output, {.on_unused_input = ct::UnusedInput::ignore});
    const Array got = f(values[0], values[1], values[2]);
    const ct::change_flags own("dnn=none");
    const ct::Function g = ct::function({x, y, w}, output, {.on_unused_input = ct::UnusedInput::ignore});
    CHECK(off(got, g(values[0], values[1], values[2])) < 2e-6);
    return f.counts().convolutions;
  };
  const Array image = numbers({4, 32, 16, 15}, 1), filters = numbers({24, 32, 3, 3}, 2);
  const std::uint64_t one = ct::runtime::cpu::Dnn::available() ? 1 : 0;
  CHECK(convolutions(ct::nnet::conv2d(x, w, options), {image, image, filters}) == one);
  // A view that reverses its operand, steps over elements, or takes a part.
  CHECK(convolutions(ct::nnet::conv2d(x.at({ct::slice(), ct::slice(), ct::slice({}, {}, -1)}), w, options),
                     {image, image, filters}) <= one);
  // The result of a join is stored first.
  CHECK(convolutions(ct::nnet::conv2d(ct::concatenate({x, y}, 2), w, options), {image, image, filters}) == one);
  // Small ones run in Croton's own kernels.
  CHECK(convolutions(ct::nnet::conv2d(x, w, options), {numbers({1, 32, 4, 4}, 1), image, filters}) == 0);
  const Array none = numbers({0, 32, 16, 15}, 1);
  CHECK(convolutions(ct::nnet::conv2d(x, w, options), {none, image, filters}) == 0);
}

TEST_CASE("cuDNN computes convolutions of a GPU, and our kernels what follows") {
  const std::vector<Case> all = cases();
  for (const std::size_t number : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    Case c = all[number];
    c.image[0] = 2;  // the simulator computes what follows
    CAPTURE(c.name);
    const Ran own = run(c, "dnn=none");
    FakeGpus gpus({}, ",device=cuda0");
    const Ran library = run(c, "device=cuda0");
    CHECK(library.convolutions == 6);
    for (std::size_t i = 0; i < own.results.size(); ++i) {
      CAPTURE(i);
      CHECK(off(library.results[i], own.results[i]) < 2e-6);
    }
  }
}
