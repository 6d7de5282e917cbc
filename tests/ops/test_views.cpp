// Views (transposed, reshaped, sliced, repeated) and generated arrays, fused into elementwise work and as separate
// outputs, in every mode, against plain loops by NumPy's rules.
#include "samples.hpp"

#include <numeric>
#include <optional>

using namespace croton_test;

namespace {

const std::vector<std::string> modes = backends();
using Bound = std::optional<std::int64_t>;

/// 0, 1, 2, ... in C order, so that each element identifies its position.
Array counted(const Sizes& shape, DType dtype = DType::float32) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return Array::arange(n, dtype).reshape(shape).copy();
}

/// The positions of Python's range(*slice(start, stop, step).indices(n)), from its documentation.
std::vector<std::int64_t> positions(Bound start, Bound stop, std::int64_t step, std::int64_t n) {
  const auto bound = [&](Bound b, std::int64_t absent) {
    if (!b) return absent;
    const std::int64_t at = *b < 0 ? *b + n : *b;
    return step > 0 ? std::clamp<std::int64_t>(at, 0, n) : std::clamp<std::int64_t>(at, -1, n - 1);
  };
  const std::int64_t first = bound(start, step > 0 ? 0 : n - 1), end = bound(stop, step > 0 ? n : -1);
  std::vector<std::int64_t> all;
  for (std::int64_t i = first; step > 0 ? i < end : i > end; i += step) all.push_back(i);
  return all;
}

std::optional<ct::Operand> operand(Bound bound) {
  if (!bound) return std::nullopt;
  return ct::Operand(static_cast<long>(*bound));
}
ct::SliceSpec slice_of(Bound start, Bound stop, Bound step) {
  return ct::slice(operand(start), operand(stop), operand(step));
}

}  // namespace

TEST_CASE("slices with every sign of start, stop and step", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const std::vector<Bound> bounds = {std::nullopt, 0, 1, 3, 7, 100, -1, -2, -5, -7, -100};
  const auto x = ct::vector("x");
  for (const std::int64_t step : {1, 2, 3, 50, -1, -2, -3, -50}) {
    std::vector<Variable> outputs;
    for (const Bound start : bounds) {
      for (const Bound stop : bounds)
        outputs.push_back(x[slice_of(start, stop, step == 1 ? Bound{} : Bound{step})] * 1.5 + 1);
    }
    const auto f = compile(mode, {x}, outputs);
    for (const std::int64_t n : {7, 1, 0, 5}) {
      const auto got = f(counted({n}));
      std::size_t k = 0;
      for (const Bound start : bounds) {
        for (const Bound stop : bounds) {
          const auto wanted = positions(start, stop, step, n);
          const Array& result = got[k++];
          bool right = result.shape() == Sizes{static_cast<std::int64_t>(wanted.size())};
          for (std::size_t i = 0; right && i < wanted.size(); ++i) {
            right = result.at<float>(static_cast<std::int64_t>(i)) == 1.5f * static_cast<float>(wanted[i]) + 1;
          }
          INFO("n " << n << ", " << (start ? std::to_string(*start) : "") << ":" << (stop ? std::to_string(*stop) : "")
                    << ":" << step);
          CHECK(right);
        }
      }
    }
  }
}

TEST_CASE("slices with bounds known only when called", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const auto start = ct::lscalar("start"), stop = ct::lscalar("stop");
  const auto forwards = compile(mode, {x, start, stop}, {x[ct::slice(start, stop)] + 0, x[ct::slice(start, stop, 2)]});
  const auto backwards = compile(mode, {x, start, stop}, {x[ct::slice(start, stop, -1)] * 2});
  for (const std::int64_t n : {0, 1, 6}) {
    for (std::int64_t a = -8; a <= 8; a += 2) {
      for (std::int64_t b = -8; b <= 8; b += 3) {
        INFO(a << ":" << b << " of " << n);
        const auto f = forwards(counted({n}), a, b), g = backwards(counted({n}), a, b);
        const auto check = [&](const Array& got, std::int64_t step, float scale) {
          const auto wanted = positions(a, b, step, n);
          REQUIRE(got.shape() == Sizes{static_cast<std::int64_t>(wanted.size())});
          for (std::size_t i = 0; i < wanted.size(); ++i)
            CHECK(got.at<float>(static_cast<std::int64_t>(i)) == scale * static_cast<float>(wanted[i]));
        };
        check(f[0], 1, 1);
        check(f[1], 2, 1);
        check(g[0], -1, 2);
      }
    }
  }
}

TEST_CASE("indices, slices, ellipsis and new axes together", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  using ct::ellipsis;
  using ct::new_axis;
  using ct::slice;
  const auto x = ct::ftensor3("x");
  const auto i = ct::lscalar("i");
  const auto f = compile(
      mode, {x, i},
      {x[1], x[-1] + 1, x.at({0, 1}), x.at({0, 1, 2}), x.at({ellipsis, 2}), x.at({ellipsis, slice({}, {}, -1)}),
       x.at({1, ellipsis, 0}), x.at({slice(), new_axis, 1}), x.at({new_axis, ellipsis, new_axis}), x[i],
       x.at({slice(1, {}), i}), x.at({ellipsis}), x.at({slice({}, {}, 2), slice({}, {}, -1), slice(1, 3)}) * 2});
  const Array a = counted({2, 3, 4});
  const auto r = f(a, std::int64_t{-2});
  const auto at = [&](std::int64_t p, std::int64_t q, std::int64_t s) { return a.at<float>(p, q, s); };
  CHECK(r[0].equals(a.row(1).copy()));
  CHECK(r[1].shape() == Sizes{3, 4});
  CHECK(r[1].at<float>(2, 3) == 24);
  CHECK(r[2].equals(a.row(0).row(1).copy()));
  CHECK(r[3].equals(Array(at(0, 1, 2))));
  CHECK(r[4].equals(Array{{at(0, 0, 2), at(0, 1, 2), at(0, 2, 2)}, {at(1, 0, 2), at(1, 1, 2), at(1, 2, 2)}}));
  CHECK(r[5].at<float>(1, 2, 0) == at(1, 2, 3));
  CHECK(r[6].equals(Array{at(1, 0, 0), at(1, 1, 0), at(1, 2, 0)}));
  CHECK(r[7].shape() == Sizes{2, 1, 4});
  CHECK(r[7].at<float>(1, 0, 3) == at(1, 1, 3));
  CHECK(r[8].shape() == Sizes{1, 2, 3, 4, 1});
  CHECK(r[8].at<float>(0, 1, 2, 3, 0) == at(1, 2, 3));
  CHECK(r[9].equals(a.row(0).copy()));
  CHECK(r[10].equals(Array{{at(1, 1, 0), at(1, 1, 1), at(1, 1, 2), at(1, 1, 3)}}));
  CHECK(r[11].equals(a));
  CHECK(r[12].equals(
      Array{{at(0, 2, 1) * 2, at(0, 2, 2) * 2}, {at(0, 1, 1) * 2, at(0, 1, 2) * 2}, {at(0, 0, 1) * 2, at(0, 0, 2) * 2}}
          .reshape({1, 3, 2})));
}

TEST_CASE("indices outside their axis", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const auto i = ct::lscalar("i");
  const auto f = compile(mode, {x, i}, {x[i] + 1});
  const Array a = counted({3, 4});
  for (const std::int64_t good : {0, 2, -1, -3}) CHECK(f(a, good)[0].at<float>(0) == a.row(good).at<float>(0) + 1);
  for (const std::int64_t bad : {3, -4, 1000}) CHECK_THROWS_AS(f(a, bad), ct::IndexError);
  const auto g = compile(mode, {x}, {x.at({0, 2})});
  CHECK(g(a)[0].item<float>() == 2);
  CHECK_THROWS_AS(g(counted({3, 2})), ct::IndexError);
  CHECK_THROWS_AS(g(counted({0, 4})), ct::IndexError);
  CHECK(g(a)[0].item<float>() == 2);
  // Static sizes are checked when the expression is built.
  const auto y = ct::variable({DType::float32, {3}}, "y");
  CHECK_THROWS_AS(y[3], ct::IndexError);
  CHECK_THROWS_AS(x.at({0, 0, 0}), ct::TypeError);
  CHECK_THROWS_AS(x.at({ct::ellipsis, ct::ellipsis}), ct::TypeError);
  CHECK_THROWS_AS(x[ct::slice({}, {}, 0)], ct::ValueError);
  CHECK_THROWS_AS(x[ct::scalar("f")], ct::TypeError);
}

TEST_CASE("transpose and dimshuffle", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const Sizes shape = GENERATE(Sizes{2, 3, 4}, Sizes{1, 33, 5}, Sizes{0, 3, 2}, Sizes{40, 3, 65});
  CAPTURE(mode);
  const auto x = ct::ftensor3("x");
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  std::vector<Variable> outputs;
  for (const auto& order : orders) {
    outputs.push_back(ct::transpose(x, order));
    outputs.push_back(ct::dimshuffle(x, {order[0], ct::broadcast_axis, order[1], order[2]}) * 2);
  }
  outputs.push_back(ct::transpose(x));
  outputs.push_back(ct::transpose(ct::transpose(x, {1, 2, 0}) + ct::transpose(x + 1, {1, 2, 0}), {2, 0, 1}));
  const auto f = compile(mode, {x}, outputs);
  const Array a = counted(shape);
  const auto r = f(a);
  for (std::size_t k = 0; k < orders.size(); ++k) {
    const Array wanted = a.transpose(orders[k]).copy();
    CHECK(r[2 * k].equals(wanted));
    Sizes wide = wanted.shape();
    wide.insert(wide.begin() + 1, 1);
    REQUIRE(r[2 * k + 1].shape() == wide);
    bool right = true;
    for (std::int64_t i = 0; i < a.size(); ++i) right = right && r[2 * k + 1].as_double(i) == 2 * wanted.as_double(i);
    CHECK(right);
  }
  CHECK(r[12].equals(a.transpose().copy()));
  bool right = r[13].shape() == shape;
  for (std::int64_t i = 0; i < a.size(); ++i) right = right && r[13].as_double(i) == 2 * a.as_double(i) + 1;
  CHECK(right);
}

TEST_CASE("dimshuffle and transpose reject wrong axes", "[ops]") {
  const auto x = ct::matrix("x");
  CHECK_THROWS_AS(ct::dimshuffle(x, {0}), ct::TypeError);  // drops an axis of unknown size
  CHECK_THROWS_AS(ct::dimshuffle(x, {0, 0, 1}), ct::TypeError);
  CHECK_THROWS_AS(ct::dimshuffle(x, {0, 2}), ct::TypeError);
  CHECK_THROWS_AS(ct::transpose(x, {0}), ct::TypeError);
  CHECK_THROWS_AS(ct::squeeze(x, 0), ct::TypeError);
  CHECK(ct::dimshuffle(ct::row("r"), {1}).rank() == 1);
  CHECK(ct::squeeze(ct::col("c"), 1).rank() == 1);
}

TEST_CASE("squeeze, expand_dims, flatten", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::ftensor3("x"), r = ct::row("r");
  const auto f = compile(mode, {x, r},
                         {ct::flatten(x), ct::flatten(x, 2), ct::flatten(x * 2), ct::expand_dims(x, 1),
                          ct::expand_dims(x, -1), ct::squeeze(r, 0) + 1, ct::flatten(ct::transpose(x))});
  for (const Sizes& shape : {Sizes{2, 3, 4}, Sizes{1, 1, 1}, Sizes{2, 0, 4}, Sizes{3, 7, 33}}) {
    const Array a = counted(shape), b = counted({1, 5});
    const auto got = f(a, b);
    CHECK(got[0].equals(a.reshape({-1}).copy()));
    CHECK(got[1].equals(a.reshape({shape[0], shape[1] * shape[2]}).copy()));
    CHECK(got[2].shape() == Sizes{a.size()});
    if (a.size() > 0) CHECK(got[2].as_double(a.size() - 1) == 2 * static_cast<double>(a.size() - 1));
    CHECK(got[3].shape() == Sizes{shape[0], 1, shape[1], shape[2]});
    CHECK(got[4].shape() == Sizes{shape[0], shape[1], shape[2], 1});
    CHECK(got[3].reshape(shape).equals(a));
    CHECK(got[4].reshape(shape).equals(a));
    CHECK(got[5].equals(Array{1.f, 2.f, 3.f, 4.f, 5.f}));
    CHECK(got[6].equals(a.transpose().copy().reshape({a.size()})));
  }
  const auto s = ct::scalar("s");
  CHECK(compile(mode, {s}, {ct::flatten(s)})(2.f)[0].equals(Array{2.f}));
}

TEST_CASE("reshape", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const auto n = ct::lscalar("n");
  const auto f = compile(mode, {x, n},
                         {ct::reshape(x, {-1}), ct::reshape(x, {2, -1}), ct::reshape(x, {-1, n}),
                          ct::reshape(x * 2, {n, -1, 1}) + 1, ct::reshape(x, {x.shape(1), x.shape(0)}),
                          ct::reshape(ct::transpose(x), {-1, 2}), ct::transpose(ct::reshape(x, {-1, 2, n}))});
  const Array a = counted({4, 6});
  const auto r = f(a, std::int64_t{3});
  CHECK(r[0].equals(a.reshape({24})));
  CHECK(r[1].equals(a.reshape({2, 12})));
  CHECK(r[2].equals(a.reshape({8, 3})));
  CHECK(r[3].shape() == Sizes{3, 8, 1});
  CHECK(r[3].as_double(23) == 47);
  CHECK(r[4].equals(a.reshape({6, 4})));
  CHECK(r[5].equals(a.transpose().copy().reshape({12, 2})));
  CHECK(r[6].equals(a.reshape({4, 2, 3}).transpose().copy()));
  CHECK_THROWS_AS(f(a, std::int64_t{5}), ct::ValueError);  // 24 is not a multiple of 5
  CHECK_THROWS_AS(f(counted({3, 3}), std::int64_t{3}), ct::ValueError);
  CHECK(f(a, std::int64_t{3})[0].equals(a.reshape({24})));  // failed calls have no effect
  const auto g = compile(mode, {x}, {ct::reshape(x, {3, 4})});
  CHECK(g(counted({2, 6}))[0].equals(counted({3, 4})));
  CHECK_THROWS_AS(g(counted({2, 5})), ct::ValueError);
  const auto empty = compile(mode, {x}, {ct::reshape(x, {0, 7}), ct::reshape(x, {-1, 3})})(counted({0, 3}));
  CHECK(empty[0].shape() == Sizes{0, 7});
  CHECK(empty[1].shape() == Sizes{0, 3});
  CHECK_THROWS_AS(ct::reshape(x, {-1, -1}), ct::ValueError);
  const auto s = ct::scalar("s");
  CHECK(compile(mode, {s}, {ct::reshape(s, {1, 1})})(4.f)[0].equals(Array{{4.f}}));
  const auto one = compile(mode, {x}, {ct::reshape(x, {})});
  CHECK(one(Array{{5.f}})[0].equals(Array(5.f)));
  CHECK_THROWS_AS(one(counted({1, 2})), ct::ValueError);
}

TEST_CASE("alloc, zeros, ones and arange", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto s = ct::scalar("s"), v = ct::vector("v"), c = ct::col("c");
  const auto n = ct::lscalar("n");
  const auto f =
      compile(mode, {s, v, c, n},
              {ct::alloc(s, {n, 3}), ct::alloc(v, {n, v.size()}), ct::alloc(c, {c.shape(0), n}), ct::zeros({n}),
               ct::ones({2, n}, DType::int8), ct::zeros_like(v) + ct::ones_like(v) * 2, ct::alloc(s, {2, 2}) * 2 + 1});
  for (const std::int64_t size : {2, 0, 5}) {
    const auto r = f(1.5f, Array{1.f, 2.f, 3.f}, Array{{4.f}, {5.f}}, size);
    CHECK(r[0].equals(Array::full(DType::float32, {size, 3}, 1.5)));
    REQUIRE(r[1].shape() == Sizes{size, 3});
    REQUIRE(r[2].shape() == Sizes{2, size});
    for (std::int64_t i = 0; i < size; ++i) {
      CHECK(r[1].at<float>(i, 2) == 3);
      CHECK(r[2].at<float>(0, i) == 4);
      CHECK(r[2].at<float>(1, i) == 5);
    }
    CHECK(r[3].equals(Array::zeros(DType::float32, {size})));
    CHECK(r[4].equals(Array::full(DType::int8, {2, size}, 1)));
    CHECK(r[5].equals(Array{2.f, 2.f, 2.f}));
    CHECK(r[6].equals(Array::full(DType::float32, {2, 2}, 4)));
  }
  CHECK_THROWS_AS(f(1.5f, Array{1.f}, Array{{4.f}}, std::int64_t{-1}), ct::ValueError);
}

TEST_CASE("arange by NumPy's rules", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto a = ct::lscalar("a"), b = ct::lscalar("b");
  const auto f =
      compile(mode, {a, b},
              {ct::arange(b), ct::arange(a, b), ct::arange(a, b, 3), ct::arange(a, b, -2), ct::arange(b) * 2 + 1});
  CHECK(ct::arange(b).dtype() == DType::int64);
  for (std::int64_t start = -4; start <= 4; start += 2) {
    for (std::int64_t stop = -5; stop <= 7; stop += 3) {
      INFO(start << " to " << stop);
      const auto r = f(start, stop);
      const auto check = [&](const Array& got, std::int64_t first, std::int64_t step, std::int64_t scale = 1,
                             std::int64_t add = 0) {
        std::vector<std::int64_t> wanted;
        for (std::int64_t i = first; step > 0 ? i < stop : i > stop; i += step) wanted.push_back(i * scale + add);
        CHECK(got.equals(Array(wanted)));
      };
      check(r[0], 0, 1);
      check(r[1], start, 1);
      check(r[2], start, 3);
      check(r[3], start, -2);
      check(r[4], 0, 1, 2, 1);
    }
  }
  const auto g = compile(
      mode, {a}, {ct::arange(0, 1.1, 0.25), ct::arange(0, 10) + a, ct::arange(0.0, -1.0), ct::arange(0, 1, 0.25)});
  const auto r = g(0L);
  CHECK(r[0].equals(Array{0.f, 0.25f, 0.5f, 0.75f, 1.f}));
  CHECK(r[1].equals(Array::arange(10)));
  CHECK(r[2].shape() == Sizes{0});
  CHECK(r[3].shape() == Sizes{4});
  CHECK(ct::arange(0, 1, 0.25).dtype() == DType::float32);
}

TEST_CASE("views of views of computed values", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  using ct::slice;
  const auto x = ct::matrix("x");
  const auto y = ct::exp(x);
  const auto chained = ct::transpose(ct::reshape(ct::transpose(y)[slice(1, -1)], {-1}).at({slice({}, {}, -2)}));
  const auto f =
      compile(mode, {x},
              {chained, ct::sum(y.at({slice({}, {}, 2), slice(1, {})}), 0), ct::sum(ct::transpose(y).at({0})),
               x[0] + x[-1], x.at({slice(1, {})}) - x.at({slice({}, -1)})});
  const Array a = Array::uniform(DType::float32, {5, 6}, 3);
  const auto r = f(a);
  // Columns 1 to 4 in order, then every second from the end.
  REQUIRE(r[0].shape() == Sizes{10});
  for (std::int64_t k = 0; k < 10; ++k) {
    const std::int64_t at = 19 - 2 * k;
    CHECK(r[0].at<float>(k) == Approx(std::exp(a.at<float>(at % 5, 1 + at / 5))));
  }
  for (std::int64_t j = 0; j < 5; ++j) {
    CHECK(r[1].at<float>(j) ==
          Approx(std::exp(a.at<float>(0, j + 1)) + std::exp(a.at<float>(2, j + 1)) + std::exp(a.at<float>(4, j + 1))));
  }
  for (std::int64_t j = 0; j < 6; ++j) CHECK(r[3].at<float>(j) == a.at<float>(0, j) + a.at<float>(4, j));
  CHECK(r[4].shape() == Sizes{4, 6});
  CHECK(r[4].at<float>(3, 5) == a.at<float>(4, 5) - a.at<float>(3, 5));
  CHECK_THROWS_AS(f(Array::zeros(DType::float32, {0, 6})), ct::IndexError);
}

TEST_CASE("sizes as values", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto f = compile(mode, {x, y},
                         {x.shape(0), x.shape(1) * 2 + y.shape(0), x.size(), x / ct::cast(x.shape(0), DType::float32),
                          ct::transpose(x).shape(0), ct::reshape(x, {-1}).shape(0)});
  const auto r = f(counted({2, 3}), counted({5, 1}));
  CHECK(r[0].equals(Array(std::int64_t{2})));
  CHECK(r[1].equals(Array(std::int64_t{11})));
  CHECK(r[2].equals(Array(std::int64_t{6})));
  CHECK(r[3].as_double(5) == 2.5);
  CHECK(r[4].equals(Array(std::int64_t{3})));
  CHECK(r[5].equals(Array(std::int64_t{6})));
  // The shape of a sum requires that the sum is valid.
  const auto g = compile(mode, {x, y}, {(x + y).shape(0)});
  CHECK(g(counted({2, 3}), counted({2, 3}))[0].equals(Array(std::int64_t{2})));
  CHECK_THROWS_AS(g(counted({2, 3}), counted({3, 3})), ct::ShapeError);
}
