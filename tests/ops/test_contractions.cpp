// Kernels of the family `contract` (codegen_templates/contract.cuh): which graphs have one, and its results at sizes
// near those of its tiles and chains, with the same bits on every device and for any number of threads.
#include "samples.hpp"

#include <croton/convolution.hpp>

#include "unit/contains.hpp"

using namespace croton_test;
using ct::nnet::ConvOptions;
using Order = ct::nnet::Layout;

namespace {

Array numbers(const Sizes& shape, std::uint64_t seed, DType dtype = DType::float32) {
  return Array::uniform(DType::float64, shape, seed, -1, 1).astype(dtype).copy();
}

/// (batch, length, channels) with (window, channels, results), stride 1, in double.
Array plain_conv1d(const Array& x, const Array& f) {
  const std::int64_t batch = x.shape(0), length = x.shape(1), channels = x.shape(2);
  const std::int64_t window = f.shape(0), results = f.shape(2), places = length - window + 1;
  Array out = Array::zeros(DType::float64, {batch, places, results});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t p = 0; p < places; ++p) {
      for (std::int64_t o = 0; o < results; ++o) {
        double sum = 0;
        for (std::int64_t t = 0; t < window; ++t) {
          for (std::int64_t c = 0; c < channels; ++c)
            sum += x.as_double((b * length + p + t) * channels + c) * f.as_double((t * channels + c) * results + o);
        }
        out.data<double>()[static_cast<std::size_t>((b * places + p) * results + o)] = sum;
      }
    }
  }
  return out;
}

double farthest(const Array& got, const Array& wanted) {
  REQUIRE(got.shape() == wanted.shape());
  const Array a = got.copy();
  double worst = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double off = std::abs(a.as_double(i) - wanted.as_double(i));
    worst = std::max(worst, std::isnan(off) ? 1e30 : off);
  }
  return worst;
}

std::vector<std::string> families(const Compiled& f, const std::string& target) {
  std::vector<std::string> names;
  for (const auto& kernel : f.kernels(target)) names.push_back(kernel.name.substr(0, kernel.name.find('_')));
  return names;
}

Variable channels_last_conv1d(const Variable& x, const Variable& w) {
  return ct::nnet::conv1d(x, w, {.flip = false, .layout = Order::channels_last});
}

}  // namespace

TEST_CASE("a convolution with bias and relu is one kernel, and nothing under its windows is stored", "[ops]") {
  const Variable x = ct::tensor4("x"), b = ct::vector("b");
  const Variable w = ct::variable({DType::float32, {3, 3, 8, 16}}, "w");
  const ConvOptions options{.border = "same", .flip = false, .layout = Order::channels_last};
  const Variable y = ct::nnet::relu(ct::nnet::conv2d(x, w, options) + b);
  const ct::Function f = ct::function({x, w, b}, y);
  CHECK_THAT(f.plan(), contains("contract kernel") && !contains("temporary"));
  CHECK(f.kernels("cpu").size() == 1);
  CHECK(f.kernels("cuda:sm_90").size() == 1);
  // In the forward pass the relu is fused; in the backward pass each gradient of the convolution is a contraction.
  const ct::Function slopes = ct::function({x, w, b}, ct::grad(ct::sum(ct::sqr(y)), {x, w}));
  int contractions = 0;
  for (const auto& kernel : slopes.kernels("cpu")) contractions += kernel.name.starts_with("contract") ? 1 : 0;
  CHECK(contractions == 3);
}

TEST_CASE("few products, depthwise convolutions and integers are other kernels", "[ops]") {
  const Variable x = ct::tensor3("x");
  const auto family_of = [&](const Variable& input, const Variable& filters, std::int64_t groups) {
    const Variable y =
        ct::nnet::conv1d(input, filters, {.groups = groups, .flip = false, .layout = Order::channels_last});
    return families(compile("mode=run", {input, filters}, {y}), "cpu");
  };
  const auto filters = [](const Sizes& shape, DType dtype = DType::float32) {
    return ct::variable({dtype, {shape.begin(), shape.end()}}, "w");
  };
  CHECK(family_of(x, filters({3, 11, 7}), 1) == std::vector<std::string>{"contract"});
  CHECK(family_of(x, filters({3, 10, 7}), 1) == std::vector<std::string>{"pointwise"});
  CHECK(family_of(x, filters({40, 1, 6}), 6)[0] == "row");
  const Variable whole = ct::variable({DType::int32, {ct::unknown_size, ct::unknown_size, ct::unknown_size}}, "n");
  CHECK(family_of(whole, filters({3, 11, 7}, DType::int32), 1) == std::vector<std::string>{"column"});
}

TEST_CASE("contractions at sizes around their tiles and chains", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::tensor3("x"), w = ct::tensor3("w");
  const Variable y = channels_last_conv1d(x, w);
  const auto f = compile(mode, {x, w}, {y, ct::nnet::relu(y) * 2});
  CHECK(families(f, "cuda:sm_90") == std::vector<std::string>{"contract"});
  struct Shape {
    std::int64_t batch, length, channels, window, results;
  };
  // Rows: 8, 128 and their neighbours; columns: vectors, panels, blocks; products: chains of 256.
  std::vector<Shape> shapes{{1, 3, 5, 3, 1},   {2, 6, 4, 1, 33}, {1, 9, 64, 4, 16}, {1, 10, 257, 1, 17},
                            {3, 5, 0, 2, 4},   {0, 5, 3, 2, 4},  {2, 5, 3, 2, 0},   {1, 131, 3, 2, 24},
                            {1, 8, 86, 3, 65}, {2, 1, 1, 1, 1}};
  if (is_cpu(mode)) shapes.insert(shapes.end(), {{2, 300, 40, 7, 193}, {5, 129, 31, 5, 192}, {1, 9, 700, 3, 400}});
  for (const Shape& s : shapes) {
    CAPTURE(mode, s.batch, s.length, s.channels, s.window, s.results);
    const Array a = numbers({s.batch, s.length, s.channels}, 1), b = numbers({s.window, s.channels, s.results}, 2);
    const ct::Outputs got = f(a, b);
    const Array wanted = plain_conv1d(a, b);
    // Error of n products below 1, summed in chains of 256: at most n (256 + n / 256) 2^-24, in practice its root.
    CHECK(farthest(got[0], wanted) <= 3e-6 * std::sqrt(1.0 + static_cast<double>(s.channels * s.window)));
    Array rectified = wanted.copy();
    for (double& v : rectified.data<double>()) v = 2 * std::max(v, 0.0);
    CHECK(farthest(got[1], rectified) <= 6e-6 * std::sqrt(1.0 + static_cast<double>(s.channels * s.window)));
  }
}

TEST_CASE("contractions of other dtypes, layouts in memory, nan and inf", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float64, DType::float32, DType::float16, DType::bfloat16);
  const Variable x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size, ct::unknown_size}}, "x");
  const Variable w = ct::variable({dtype, {ct::unknown_size, ct::unknown_size, ct::unknown_size}}, "w");
  const auto f = compile(mode, {x, w}, {channels_last_conv1d(x, w)});
  const Array a = numbers({2, 21, 24}, 3, dtype), b = numbers({5, 24, 18}, 4, dtype);
  const Array wanted = plain_conv1d(a, b);
  // Sums are of size 3; 16-bit results are rounded once, to 2^-10 or 2^-7 of that.
  const double tolerance = dtype == DType::float64   ? 1e-13
                           : dtype == DType::float32 ? 1e-5
                           : dtype == DType::float16 ? 8e-3
                                                     : 6e-2;
  CHECK(farthest(f(a, b)[0].astype(DType::float64), wanted) <= tolerance);
  const Array turned = ct::Array(numbers({24, 21, 2}, 5, dtype)).transpose({2, 1, 0});
  CHECK(farthest(f(turned, b)[0].astype(DType::float64), plain_conv1d(turned.copy(), b)) <= tolerance);
  const Array mirrored = numbers({24, 18, 5}, 6, dtype).transpose({2, 0, 1});
  CHECK(farthest(f(a, mirrored)[0].astype(DType::float64), plain_conv1d(a, mirrored.copy())) <= tolerance);
  // A nan or infinity affects only its own windows and columns: padding adds only zeros times zeros to a sum.
  Array special = a.astype(DType::float64).copy(), filters = b.astype(DType::float64).copy();
  special.data<double>()[static_cast<std::size_t>(10 * 24 + 3)] = std::numeric_limits<double>::quiet_NaN();
  filters.data<double>()[7] = std::numeric_limits<double>::infinity();
  const Array got = f(special.astype(dtype).copy(), filters.astype(dtype).copy())[0];
  int wrong = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const std::int64_t image = i / (17 * 18), place = i / 18 % 17, column = i % 18;
    const bool sees_nan = image == 0 && place >= 6 && place <= 10;
    const double value = got.as_double(i);
    const bool right = sees_nan ? std::isnan(value) : column == 7 ? std::isinf(value) : std::isfinite(value);
    if (!right) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("contractions have the same bits for any number of threads, in the simulator and under other schedules",
          "[ops]") {
  const Order layout = GENERATE(Order::channels_last, Order::channels_first);
  const std::int64_t groups = GENERATE(1, 2);
  const bool last = layout == Order::channels_last;
  const ConvOptions options{.border = "half", .strides = {2, 1}, .groups = groups, .flip = false, .layout = layout};
  const Variable x = ct::tensor4("x"), w = ct::tensor4("w");
  const Variable y = ct::tanh(ct::nnet::conv2d(x, w, options));
  const std::vector<Variable> outputs{y, ct::grad(ct::sum(y), x), ct::grad(ct::sum(y), w)};
  const Array a = last ? numbers({3, 10, 9, 24}, 1) : numbers({3, 24, 10, 9}, 1);
  const Array b = last ? numbers({3, 3, 24 / groups, 10}, 2) : numbers({10, 24 / groups, 3, 3}, 2);
  const ct::Outputs wanted = compile("mode=run,threads=1", {x, w}, outputs)(a, b);
  std::vector<std::string> others{"mode=run,threads=2", "mode=run,threads=5", "mode=run,threads=3,schedule=grain=1",
                                  "mode=run,optimizer=fast_compile"};
  for (const std::string& backend : cuda_backends()) {
    others.push_back(backend);
    others.push_back(backend + ",schedule=threads=64+blocks=3");
  }
  for (const std::string& other : others) {
    if (other.find("fast_compile") != std::string::npos) continue;
    const ct::Outputs got = compile(other, {x, w}, outputs)(a, b);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      CAPTURE(other, i);
      CHECK(same_bits(got[i], wanted[i]));
    }
  }
}

TEST_CASE("gradients of parameters leave their updates to the launch that makes them all", "[ops]") {
  const Variable x = ct::tensor4("x");
  const auto w = ct::shared(numbers({3, 3, 8, 16}, 2), {.name = "w"});
  const auto b = ct::shared(numbers({16}, 3), {.name = "b"});
  const Variable y = ct::nnet::relu(ct::nnet::conv2d(x, w, {.flip = false, .layout = Order::channels_last}) + b);
  const Variable loss = ct::sum(ct::sqr(y));
  const ct::Function f =
      ct::function({x}, loss, {.updates = {{w, w - 0.1f * ct::grad(loss, w)}, {b, b - 0.1f * ct::grad(loss, b)}}});
  const auto kernels = f.kernels("cpu");
  const auto contracts = std::ranges::count_if(kernels, [](const auto& k) { return k.name.starts_with("contract"); });
  CHECK(contracts == 2);
  CHECK_THAT(f.plan(), contains("in the memory of b1"));
}
