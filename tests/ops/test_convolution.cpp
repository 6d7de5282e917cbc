// Convolutions and pooling on every back-end, against loops over a padded image. Each option is compared with NumPy in
// tests/oracle/table_convolution.py.
#include "samples.hpp"

#include <croton/convolution.hpp>

using namespace croton_test;
using ct::nnet::ConvOptions;
using Order = ct::nnet::Layout;
using ct::nnet::PoolMode;
using ct::nnet::PoolOptions;
using ct::nnet::Ties;

namespace {

const std::vector<std::string> modes = backends();

Array numbers(const Sizes& shape, std::uint64_t seed, DType dtype = DType::float32) {
  return Array::uniform(DType::float64, shape, seed, -1, 1).astype(dtype).copy();
}

struct Sides {
  std::int64_t before = 0, after = 0;
};

/// Images (batch, channels, rows, columns) with filters (results, channels / groups, rows, columns), in double.
Array plain_conv2d(const Array& x, const Array& f, const std::vector<Sides>& sides,
                   const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& dilations,
                   std::int64_t groups, bool flip) {
  const Array image = x.astype(DType::float64).copy(), filters = f.astype(DType::float64).copy();
  const std::int64_t batch = x.shape(0), channels = x.shape(1), results = f.shape(0), share = f.shape(1);
  const Sizes padded{x.shape(2) + sides[0].before + sides[0].after, x.shape(3) + sides[1].before + sides[1].after};
  Array wide = Array::zeros(DType::float64, {batch, channels, padded[0], padded[1]});
  wide.slice(2, sides[0].before, sides[0].before + x.shape(2))
      .slice(3, sides[1].before, sides[1].before + x.shape(3))
      .copy_from(image);
  Sizes out{batch, results, 0, 0};
  for (std::size_t j = 0; j < 2; ++j)
    out[2 + j] = (padded[j] - dilations[j] * (f.shape(static_cast<int>(2 + j)) - 1) - 1) / strides[j] + 1;
  Array result = Array::zeros(DType::float64, out);
  const double *from = wide.data<double>().data(), *weights = filters.data<double>().data();
  double* to = result.data<double>().data();
  const std::int64_t rows = f.shape(2), columns = f.shape(3);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t o = 0; o < results; ++o) {
      const std::int64_t first = o / (results / groups) * share;
      for (std::int64_t y = 0; y < out[2]; ++y) {
        for (std::int64_t z = 0; z < out[3]; ++z) {
          double sum = 0;
          for (std::int64_t c = 0; c < share; ++c) {
            for (std::int64_t r = 0; r < rows; ++r) {
              for (std::int64_t s = 0; s < columns; ++s) {
                const std::int64_t u = flip ? rows - 1 - r : r, v = flip ? columns - 1 - s : s;
                sum += from[((b * channels + first + c) * padded[0] + y * strides[0] + r * dilations[0]) * padded[1] +
                            z * strides[1] + s * dilations[1]] *
                       weights[((o * share + c) * rows + u) * columns + v];
              }
            }
          }
          to[((b * results + o) * out[2] + y) * out[3] + z] = sum;
        }
      }
    }
  }
  return result;
}

/// Sums of up to a few hundred products of numbers below 1, in any order: 1e-5 is 100 ULP of 1.
void check_near(const Array& got, const Array& wanted, double tolerance = 1e-5) {
  REQUIRE(got.shape() == wanted.shape());
  const Array a = got.copy();
  double worst = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.as_double(i), y = wanted.as_double(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    const double off = std::abs(x - y);
    worst = std::max(worst, std::isnan(off) ? 1e30 : off);
  }
  CHECK(worst <= tolerance);
}

/// With a batch of one.
Array at(const Array& batch, std::int64_t i) {
  return batch.slice(0, i, i + 1).copy().reshape(Sizes(batch.shape().begin() + 1, batch.shape().end()));
}

struct Case {
  const char* name;
  Sizes image, filters;
  ConvOptions options;
  std::vector<Sides> sides;
};

std::vector<Case> cases() {
  return {
      {"valid", {2, 3, 7, 8}, {4, 3, 3, 2}, {}, {{0, 0}, {0, 0}}},
      {"one channel, small window", {3, 1, 9, 8}, {5, 1, 3, 3}, {.flip = false}, {{0, 0}, {0, 0}}},
      {"full", {2, 2, 5, 4}, {3, 2, 3, 2}, {.border = "full"}, {{2, 2}, {1, 1}}},
      {"half, not flipped", {2, 2, 5, 6}, {3, 2, 3, 4}, {.border = "half", .flip = false}, {{1, 1}, {2, 2}}},
      {"same, strides", {2, 2, 7, 6}, {3, 2, 3, 2}, {.border = "same", .strides = {2}}, {{1, 1}, {0, 0}}},
      {"widths on one side",
       {1, 2, 5, 6},
       {3, 2, 3, 2},
       {.border = {{0, 2}, {3, 1}}, .strides = {2, 1}},
       {{0, 2}, {3, 1}}},
      {"dilations", {2, 2, 8, 9}, {3, 2, 3, 3}, {.border = 1, .dilations = {1, 3}}, {{1, 1}, {1, 1}}},
      {"groups", {2, 4, 6, 5}, {6, 2, 3, 2}, {.strides = {1, 2}, .groups = 2}, {{0, 0}, {0, 0}}},
      {"one channel each", {2, 3, 6, 5}, {3, 1, 3, 3}, {.border = "half", .groups = 3}, {{1, 1}, {1, 1}}},
      {"many channels", {2, 33, 5, 6}, {19, 33, 3, 3}, {.border = "half", .flip = false}, {{1, 1}, {1, 1}}},
      {"one element", {1, 1, 1, 1}, {1, 1, 1, 1}, {}, {{0, 0}, {0, 0}}},
      {"no images", {0, 2, 5, 5}, {3, 2, 2, 2}, {}, {{0, 0}, {0, 0}}},
      {"no channels", {2, 0, 5, 5}, {3, 0, 2, 2}, {}, {{0, 0}, {0, 0}}},
      {"no filters", {2, 2, 5, 5}, {0, 2, 2, 2}, {}, {{0, 0}, {0, 0}}},
  };
}

/// The steps of the case for both axes.
std::vector<std::int64_t> both(const std::vector<std::int64_t>& steps) {
  if (steps.empty()) return {1, 1};
  return steps.size() == 2 ? steps : std::vector<std::int64_t>{steps[0], steps[0]};
}

Array wanted_of(const Case& c, const Array& x, const Array& f) {
  return plain_conv2d(x, f, c.sides, both(c.options.strides), both(c.options.dilations), c.options.groups,
                      c.options.flip);
}

}  // namespace

TEST_CASE("conv2d is the sum over channels and windows", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const bool sizes_stated = GENERATE(false, true);
  CAPTURE(mode, sizes_stated);
  for (const Case& c : cases()) {
    INFO(c.name);
    const auto x = sizes_stated ? ct::variable({DType::float32, c.image}, "x") : ct::tensor4("x");
    const auto f = sizes_stated ? ct::variable({DType::float32, c.filters}, "f") : ct::tensor4("f");
    const auto run = compile(mode, {x, f}, {ct::nnet::conv2d(x, f, c.options)});
    const Array a = numbers(c.image, 1), b = numbers(c.filters, 2);
    check_near(run(a, b)[0], wanted_of(c, a, b));
  }
}

TEST_CASE("one compiled convolution serves all sizes, layouts of memory and values", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::tensor4("x"), f = ct::tensor4("f");
  const auto run = compile(mode, {x, f}, {ct::nnet::conv2d(x, f, {.border = "half", .strides = {2, 1}})});
  const auto wanted = [](const Array& a, const Array& b) {
    const std::int64_t rows = b.shape(2) / 2, columns = b.shape(3) / 2;
    return plain_conv2d(a, b, {{rows, rows}, {columns, columns}}, {2, 1}, {1, 1}, 1, true);
  };
  for (const auto& [image, filters] : std::vector<std::pair<Sizes, Sizes>>{
           {{2, 3, 7, 8}, {4, 3, 3, 2}}, {{1, 1, 1, 1}, {1, 1, 1, 1}}, {{3, 2, 4, 40}, {2, 2, 5, 1}}}) {
    const Array a = numbers(image, 3), b = numbers(filters, 4);
    check_near(run(a, b)[0], wanted(a, b));
  }
  const Array a = numbers({2, 3, 6, 5}, 5), b = numbers({4, 3, 3, 3}, 6);
  const Array turned = a.transpose({3, 1, 0, 2}).copy().transpose({2, 1, 3, 0});
  check_near(run(turned, b)[0], wanted(a, b));
  const Array backwards = a.slice(3, -1, -6, -1).copy().slice(3, -1, -6, -1);
  check_near(run(backwards, b)[0], wanted(a, b));
  Array special = a.copy();
  special.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  special.data<float>()[17] = std::numeric_limits<float>::infinity();
  special.data<float>()[40] = -std::numeric_limits<float>::infinity();
  check_near(run(special, b)[0], wanted(special, b));
}

TEST_CASE("both layouts are one convolution", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::tensor4("x"), f = ct::tensor4("f"), g = ct::tensor4("g");
  for (const std::int64_t groups : {1, 2}) {
    CAPTURE(groups);
    const ConvOptions first{.border = "same", .strides = {2, 1}, .groups = groups, .flip = false};
    ConvOptions last = first;
    last.layout = Order::channels_last;
    const Variable a = ct::nnet::conv2d(x, f, first);
    const Variable b = ct::transpose(
        ct::nnet::conv2d(ct::transpose(x, {0, 2, 3, 1}), ct::transpose(f, {2, 3, 1, 0}), last), {0, 3, 1, 2});
    const auto slopes = [&](const Variable& y) { return ct::grad(ct::sum(y * g), {x, f}); };
    const auto in_a = slopes(a), in_b = slopes(b);
    const auto run = compile(mode, {x, f, g}, {a, b, in_a[0], in_b[0], in_a[1], in_b[1]});
    const auto r = run(numbers({2, 4, 5, 6}, 7), numbers({6, 4 / groups, 3, 2}, 8), numbers({2, 6, 3, 6}, 9));
    for (int i = 0; i < 6; i += 2) check_near(r[i], r[i + 1]);
  }
}

TEST_CASE("gradients of convolutions are their slopes", "[ops]") {
  for (const Case& c : cases()) {
    if (c.image[0] * c.image[1] * c.filters[0] == 0 || c.image[1] > 4) continue;
    INFO(c.name);
    const Array x = numbers(c.image, 10, DType::float64), f = numbers(c.filters, 11, DType::float64);
    CHECK(ct::verify_grad(
              [&](const std::vector<Variable>& v) { return ct::tanh(ct::nnet::conv2d(v[0], v[1], c.options)); }, {x, f},
              2) < 1e-6);
  }
}

TEST_CASE("conv_transpose and conv_filter_gradient are what grad finds", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const Case& c : cases()) {
    INFO(c.name);
    if (c.image[1] == 0 || c.image[0] == 0 || c.filters[0] == 0) continue;
    const auto x = ct::tensor4("x"), f = ct::tensor4("f"), g = ct::tensor4("g");
    const auto slopes = ct::grad(ct::sum(ct::nnet::conv2d(x, f, c.options) * g), {x, f});
    const Variable by_x = ct::nnet::conv_transpose(g, f, c.options, {x.shape(2), x.shape(3)});
    const Variable by_f = ct::nnet::conv_filter_gradient(x, g, {f.shape(2), f.shape(3)}, c.options);
    const auto run = compile(mode, {x, f, g}, {slopes[0], by_x, slopes[1], by_f});
    const Array a = numbers(c.image, 12), b = numbers(c.filters, 13);
    const auto r = run(a, b, numbers(wanted_of(c, a, b).shape(), 14));
    check_near(r[0], r[1]);
    check_near(r[2], r[3], 1e-4);
  }
}

TEST_CASE("a transposed convolution has the smallest size, or the one asked for") {
  const auto g = ct::variable({DType::float32, {2, 3, 4, 4}}, "g"),
             f = ct::variable({DType::float32, {3, 5, 3, 3}}, "f");
  const auto sizes = [&](const ConvOptions& options, const std::vector<ct::Operand>& wanted = {}) {
    return ct::nnet::conv_transpose(g, f, options, wanted).type().shape;
  };
  CHECK(sizes({}) == std::vector<std::int64_t>{2, 5, 6, 6});
  CHECK(sizes({.strides = {2}}) == std::vector<std::int64_t>{2, 5, 9, 9});
  CHECK(sizes({.strides = {2}}, {10, 9}) == std::vector<std::int64_t>{2, 5, 10, 9});
  CHECK(sizes({.border = "same", .strides = {2}}) == std::vector<std::int64_t>{2, 5, 8, 8});
  CHECK(sizes({.border = "half", .strides = {2}}) == std::vector<std::int64_t>{2, 5, 7, 7});
  CHECK_THROWS_AS(sizes({.strides = {2}}, {11, 9}), ct::ShapeError);
}

TEST_CASE("derivatives forwards and batches of convolutions", "[ops]") {
  const auto x = ct::tensor4("x", DType::float64), f = ct::tensor4("f", DType::float64);
  const auto u = ct::tensor4("u", DType::float64), v = ct::tensor4("v", DType::float64);
  const Variable y = ct::nnet::conv2d(x, f, {.border = 1, .strides = {2}});
  const Variable forwards = ct::Rop({y}, {x, f}, {u, v})[0];
  const Variable wanted =
      ct::nnet::conv2d(u, f, {.border = 1, .strides = {2}}) + ct::nnet::conv2d(x, v, {.border = 1, .strides = {2}});
  const auto run = compile("mode=run", {x, f, u, v}, {forwards, wanted});
  const Sizes image{2, 3, 5, 6}, filters{4, 3, 3, 3};
  const auto r = run(numbers(image, 1, DType::float64), numbers(filters, 2, DType::float64),
                     numbers(image, 3, DType::float64), numbers(filters, 4, DType::float64));
  check_near(r[0], r[1], 1e-12);

  const std::vector<std::int64_t> five(5, ct::unknown_size);
  const auto images = ct::variable({DType::float64, five}, "images"),
             sets = ct::variable({DType::float64, five}, "sets");
  const Array many = numbers({3, 2, 4, 5, 6}, 5, DType::float64), some = numbers({3, 6, 2, 3, 2}, 6, DType::float64);
  for (const auto layout : {Order::channels_first, Order::channels_last}) {
    ConvOptions options{.border = "half", .groups = 2, .layout = layout};
    const Variable one_x = layout == Order::channels_last ? ct::transpose(x, {0, 2, 3, 1}) : x;
    const Variable one_f = layout == Order::channels_last ? ct::transpose(f, {2, 3, 1, 0}) : f;
    const Variable one = ct::nnet::conv2d(one_x, one_f, options);
    const Variable both_batched = ct::vectorize({one}, {{x, images}, {f, sets}})[0];
    const Variable images_batched = ct::vectorize({one}, {{x, images}})[0];
    const Variable filters_batched = ct::vectorize({one}, {{f, sets}})[0];
    const auto each = compile("mode=run", {x, f}, {one});
    const auto all = compile("mode=run", {images, sets, x, f}, {both_batched, images_batched, filters_batched});
    const auto got = all(many, some, at(many, 0), at(some, 0));
    for (std::int64_t i = 0; i < 3; ++i) {
      check_near(at(got[0], i), each(at(many, i), at(some, i))[0], 1e-12);
      check_near(at(got[1], i), each(at(many, i), at(some, 0))[0], 1e-12);
      check_near(at(got[2], i), each(at(many, 0), at(some, i))[0], 1e-12);
    }
  }
}

TEST_CASE("pooling: ties, borders and gradients", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::tensor4("x");
  const auto slope = [&](const PoolOptions& options) {
    return ct::grad(ct::sum(ct::nnet::pool(x, {2, 2}, options)), x);
  };
  const auto run = compile(
      mode, {x},
      {slope({}), slope({.ties = Ties::first}), slope({.mode = PoolMode::average_exc_pad, .ignore_border = false}),
       ct::nnet::pool(x, {2, 2}), ct::nnet::pool(x, {2, 2}, {.ignore_border = false})});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Array image = Array{{3.f, 3.f, -inf}, {1.f, 3.f, -inf}, {nan, 2.f, -inf}}.reshape({1, 1, 3, 3});
  const auto r = run(image);
  CHECK(same_bits(r[0], Array{{1.f, 1.f, 0.f}, {0.f, 1.f, 0.f}, {0.f, 0.f, 0.f}}.reshape({1, 1, 3, 3})));
  CHECK(same_bits(r[1], Array{{1.f, 0.f, 0.f}, {0.f, 0.f, 0.f}, {0.f, 0.f, 0.f}}.reshape({1, 1, 3, 3})));
  CHECK(same_bits(r[2], Array{{.25f, .25f, .5f}, {.25f, .25f, .5f}, {.5f, .5f, 1.f}}.reshape({1, 1, 3, 3})));
  CHECK(same_bits(r[3], Array{3.f}.reshape({1, 1, 1, 1})));
  CHECK(same_bits(r[4], Array{{3.f, -inf}, {nan, -inf}}.reshape({1, 1, 2, 2})));
}

TEST_CASE("gradients of pooling are its slopes", "[ops]") {
  const Array x = numbers({2, 2, 6, 5}, 20, DType::float64);
  for (const PoolMode mode : {PoolMode::max, PoolMode::sum, PoolMode::average_inc_pad, PoolMode::average_exc_pad}) {
    for (const PoolOptions& options :
         {PoolOptions{.mode = mode}, PoolOptions{.strides = {1, 2}, .border = 1, .mode = mode},
          PoolOptions{.strides = {3, 1}, .mode = mode, .ignore_border = false},
          PoolOptions{.strides = {2, 1}, .mode = mode, .ties = Ties::first}}) {
      CHECK(ct::verify_grad(
                [&](const std::vector<Variable>& v) { return ct::tanh(ct::nnet::pool(v[0], {2, 3}, options)); }, {x},
                2) < 1e-6);
    }
  }
}
