// Running sums, sorting, searching, scattering and results whose size is computed, in every mode, against plain loops
// by NumPy's rules (the listed results are NumPy 2's).
#include "samples.hpp"

#include <functional>
#include <numeric>

#include "expr/evaluate.hpp"
#include "ops/arrays/scatter.hpp"

using namespace croton_test;

namespace {

const std::vector<std::string> modes = backends();
const double nan_value = std::nan("");
using Longs = std::vector<std::int64_t>;

Array real(const Sizes& shape, std::uint64_t seed, double low = -2, double high = 2) {
  return Array::uniform(DType::float64, shape, seed, low, high);
}

/// n values of a dtype: the awkward ones first, repeated, so that many are equal.
Array awkward(DType dtype, std::int64_t n) { return awkward_pairs(dtype, n).second; }

/// Whether a precedes b: nan is the last.
bool is_before(const Scalar& a, const Scalar& b) {
  if (is_float(a.dtype)) return a.d < b.d || (std::isnan(b.d) && !std::isnan(a.d));
  if (a.dtype == DType::uint64) return static_cast<std::uint64_t>(a.i) < static_cast<std::uint64_t>(b.i);
  return a.i < b.i;
}

/// For each line along the axis: the positions of its elements in C order.
std::vector<Longs> lines_of(const Sizes& shape, int axis) {
  std::int64_t outer = 1, inner = 1;
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t d = 0; d < shape.size(); ++d) (d < at ? outer : inner) *= d == at ? 1 : shape[d];
  std::vector<Longs> lines;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      Longs& line = lines.emplace_back();
      for (std::int64_t k = 0; k < shape[at]; ++k) line.push_back((o * shape[at] + k) * inner + i);
    }
  }
  return lines;
}

Longs stable_order(const Array& x, const Longs& line, bool descending = false) {
  Longs order(line.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    const Scalar left = scalar_at(x, line[static_cast<std::size_t>(a)]);
    const Scalar right = scalar_at(x, line[static_cast<std::size_t>(b)]);
    return descending ? is_before(right, left) : is_before(left, right);
  });
  return order;
}

Longs longs(const Array& x) {
  const Array wide = x.astype(DType::int64).copy();
  const auto data = wide.data<std::int64_t>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("running sums and products of integers wrap", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : real_dtypes) {
    if (is_float(dtype)) continue;
    CAPTURE(name_of(dtype));
    const auto x = ct::variable({dtype, {ct::unknown_size}}, "x");
    const auto f = compile(mode, {x}, {ct::cumsum(x), ct::cumprod(x, -1)});
    for (const std::int64_t n : {0, 1, 2, 40, 1024, 1025, 2500}) {
      const Array value = awkward(dtype, n);
      const auto got = f(value);
      std::uint64_t total = 0, product = 1;
      bool right = true;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto bits = static_cast<std::uint64_t>(scalar_at(value, i).i);
        total += bits;
        product *= bits;
        const DType result = is_bool(dtype) ? DType::int64 : dtype;
        const auto same = [&](const Array& a, std::uint64_t wanted) {
          return a.dtype() == result &&
                 scalar_at(a, i).i == Scalar::of_int(static_cast<std::int64_t>(wanted), DType::int64).cast(result).i;
        };
        right = right && same(got[0], total) && same(got[1], product);
      }
      CHECK(right);
      CHECK(got[0].shape() == Sizes{n});
    }
  }
}

TEST_CASE("running sums and products have dtype and are computed in acc_dtype", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto b = ct::bmatrix("b"), x = ct::fvector("x"), h = ct::vector("h", DType::float16);
  const auto t = ct::vector("t", DType::bool_);
  const auto f = compile(mode, {b, x, h, t},
                         {ct::cumsum(b, 0), ct::cumsum(b, 0, DType::int64), ct::cumprod(b, 1, DType::int32),
                          ct::cumsum(b, {}, DType::int64, DType::int8), ct::cumsum(x, 0, {}, DType::float64),
                          ct::cumsum(x, 0, DType::float64), ct::cumprod(h, 0, DType::float32),
                          ct::cumsum(t, 0, DType::uint8), ct::cumsum(x, 0, DType::int64)});
  Array large = Array::full(DType::float32, {1026}, 1);
  large.at<float>(0) = 1e8f;
  const auto r = f(Array{{std::int8_t{100}, std::int8_t{100}}, {std::int8_t{100}, std::int8_t{3}}}, large,
                   Array{300.f, 300.f}.astype(DType::float16), Array{true, false, true});
  CHECK(r[0].equals(Array{{std::int8_t{100}, std::int8_t{100}}, {std::int8_t{-56}, std::int8_t{103}}}));
  CHECK(r[1].equals(Array{{std::int64_t{100}, std::int64_t{100}}, {std::int64_t{200}, std::int64_t{103}}}));
  CHECK(r[2].equals(Array{{100, 10000}, {100, 300}}));
  CHECK(r[3].equals(Array{std::int64_t{100}, std::int64_t{-56}, std::int64_t{44}, std::int64_t{47}}));
  CHECK(r[4].dtype() == DType::float32);
  CHECK(r[4].as_double(1025) == 100001024.0);  // a running sum of float32 would stay at 1e8
  CHECK(r[5].dtype() == DType::float64);
  CHECK(r[5].as_double(1025) == 100001025.0);
  CHECK(r[6].equals(Array{300.f, 90000.f}));
  CHECK(r[7].equals(Array{std::uint8_t{1}, std::uint8_t{1}, std::uint8_t{2}}));
  CHECK(r[8].dtype() == DType::int64);
  const auto cost = ct::sum(ct::cumsum(ct::sqr(x), 0, DType::float64));
  const auto g = compile(mode, {x}, {ct::grad(cost, x)})(Array{1.f, 2.f, 3.f})[0];
  CHECK(g.equals(Array{6.f, 8.f, 6.f}));
}

TEST_CASE("running sums of floats along every axis", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    CAPTURE(name_of(dtype));
    const auto x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size, ct::unknown_size}}, "x");
    const auto f = compile(mode, {x}, {ct::cumsum(x, 0), ct::cumsum(x, -2), ct::cumsum(x, 2), ct::cumsum(x)});
    for (const Sizes& shape : {Sizes{2, 3, 4}, Sizes{1, 1, 1}, Sizes{0, 3, 2}, Sizes{2, 0, 2}, Sizes{1, 1100, 2}}) {
      // Small whole numbers: every sum is exact in each dtype that can represent it.
      const Array value =
          Array::uniform(DType::float64, shape, 3, -1.49, 1.49).astype(DType::int32).astype(dtype).copy();
      const auto got = f(value);
      for (int axis = 0; axis < 3; ++axis) {
        bool right = got[static_cast<std::size_t>(axis)].shape() == shape;
        for (const Longs& line : lines_of(shape, axis)) {
          double total = 0;
          for (const std::int64_t at : line) {
            total += value.as_double(at);
            right = right && got[static_cast<std::size_t>(axis)].as_double(at) == total;
          }
        }
        CHECK(right);
      }
      CHECK(got[3].shape() == Sizes{value.size()});
      if (value.size() > 0)
        CHECK(got[3].as_double(value.size() - 1) == ct::sum(ct::constant(value)).eval().as_double(0));
    }
  }
}

TEST_CASE("running sums: special values, signs of zero, rising sums", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const auto f = compile(mode, {x}, {ct::cumsum(x), ct::cumprod(x)});
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  auto got = f(Array{-0.f, 0.f, inf, 1.f, -inf, 2.f});
  CHECK(std::signbit(got[0].at<float>(0)));
  CHECK(got[0].at<float>(3) == inf);
  CHECK(std::isnan(got[0].at<float>(4)));
  CHECK(std::isnan(got[0].at<float>(5)));
  got = f(Array{2.f, nan, 3.f});
  CHECK(got[1].at<float>(0) == 2);
  CHECK(std::isnan(got[1].at<float>(2)));
  // float16 adds in float32: 2048 + 1 + 1 is 2050, although 2049 is not a float16.
  const auto h = ct::vector("h", DType::float16);
  CHECK(compile(mode, {h}, {ct::cumsum(h)})(Array{2048.f, 1.f, 1.f}.astype(DType::float16))[0].as_double(2) == 2050);
  // Sums of numbers >= 0 never decrease, also between parts.
  const auto rising = f(Array::uniform(DType::float32, {5000}, 3, 0, 1))[0];
  bool never_falls = true;
  for (std::int64_t i = 1; i < 5000; ++i) never_falls = never_falls && rising.at<float>(i) >= rising.at<float>(i - 1);
  CHECK(never_falls);
  CHECK(std::abs(rising.at<float>(4999) - 2500) < 60);
}

TEST_CASE("routines have the same bits for any number of threads and in the simulator", "[ops]") {
  const auto x = ct::matrix("x");
  const std::vector<Variable> outputs = {ct::cumsum(x, 0),
                                         ct::cumsum(x, 1),
                                         ct::cumprod(x),
                                         ct::argsort(x, 0),
                                         ct::sort(x),
                                         ct::ops::scatter(x, ct::argsort(x, 1).at({ct::slice(), 0}), x, true),
                                         ct::unique(ct::floor(x.T()), 0).inverse};
  const Array value = Array::uniform(DType::float32, {70, 2100}, 11, -1.2, 1.2);
  const auto wanted = compile("mode=run,threads=1", {x}, outputs)(value);
  for (const std::string& mode : with_devices({"mode=run,threads=2", "mode=run,threads=5", "mode=simulate"})) {
    const auto got = compile(mode, {x}, outputs)(value);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      INFO(mode << ", output " << k);
      CHECK(same_bits(got[k], wanted[k]));
    }
  }
}

TEST_CASE("sorting every dtype is stable, nan last", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : real_dtypes) {
    CAPTURE(name_of(dtype));
    const auto x = ct::variable({dtype, {ct::unknown_size}}, "x");
    const auto f = compile(mode, {x}, {ct::argsort(x), ct::sort(x), ct::argsort(x, std::nullopt)});
    for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 64, 65, 700}) {
      const Array value = awkward(dtype, n);
      const auto got = f(value);
      Longs all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), std::int64_t{0});
      const Longs wanted = stable_order(value, all);
      CHECK(longs(got[0]) == wanted);
      CHECK(longs(got[2]) == wanted);
      bool right = got[1].dtype() == dtype && got[1].shape() == Sizes{n};
      for (std::int64_t i = 0; right && i < n; ++i)
        right = distance(scalar_at(got[1], i), scalar_at(value, wanted[static_cast<std::size_t>(i)]), dtype) == 0;
      CHECK(right);
    }
  }
}

TEST_CASE("sorting along every axis and from every layout", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::dmatrix("x");
  const auto f = compile(mode, {x},
                         {ct::argsort(x, 0), ct::argsort(x, -1), ct::sort(x, 0), ct::sort(x, std::nullopt),
                          ct::cumsum(x, 0), ct::cumsum(x.T(), 0), ct::argsort(x.at({ct::slice({}, {}, -1)}))});
  for (const Sizes& shape : {Sizes{7, 5}, Sizes{70, 3}, Sizes{0, 3}, Sizes{3, 0}, Sizes{1, 4}}) {
    const Array value =
        Array::uniform(DType::float64, shape, 5, -3, 3).astype(DType::int32).astype(DType::float64).copy();
    for (const Layout& layout : layouts_of(value)) {
      INFO(layout.name << " " << shape[0] << " x " << shape[1]);
      const auto got = f(layout.array);
      for (int axis = 0; axis < 2; ++axis) {
        bool right = got[static_cast<std::size_t>(axis)].shape() == shape;
        for (const Longs& line : lines_of(shape, axis)) {
          const Longs wanted = stable_order(value, line);
          double total = 0;
          for (std::size_t k = 0; k < line.size(); ++k) {
            right = right && longs(got[static_cast<std::size_t>(axis)])[static_cast<std::size_t>(line[k])] == wanted[k];
            if (axis > 0) continue;
            const std::int64_t from = line[static_cast<std::size_t>(wanted[k])];
            right = right && got[2].as_double(line[k]) == value.as_double(from);
            total += value.as_double(line[k]);
            right = right && got[4].as_double(line[k]) == total;
          }
        }
        CHECK(right);
      }
      CHECK(got[3].shape() == Sizes{value.size()});
      CHECK(got[5].shape() == Sizes{shape[1], shape[0]});
      CHECK(got[6].shape() == shape);
    }
  }
}

TEST_CASE("the k largest and smallest", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::dmatrix("x");
  const auto [values, positions] = ct::topk_and_argtopk(x, 2, 1, DType::int32);
  const auto f =
      compile(mode, {x}, {values, positions, ct::topk(x, -2, 0), ct::argtopk(x, -2, 0), ct::topk(x, 3, std::nullopt)});
  const Array value = Array{{3., 1., 3., 2.}, {0., nan_value, -1., 5.}, {7., 7., 7., 7.}};
  const auto got = f(value);
  CHECK(got[0].all_close(Array{{3., 3.}, {nan_value, 5.}, {7., 7.}}, 0, 0));
  CHECK(got[1].equals(Array{{0, 2}, {1, 3}, {0, 1}}));
  CHECK(got[2].equals(Array{{0., 1., -1., 2.}, {3., 7., 3., 5.}}));
  CHECK(longs(got[3]) == Longs{1, 0, 1, 0, 0, 2, 0, 1});
  CHECK(std::isnan(got[4].at<double>(0)));
  CHECK(got[4].at<double>(2) == 7);
  CHECK_THROWS_AS(f(Array{{1., 2.}}), ct::ShapeError);
  CHECK_THROWS_AS(ct::topk(x, 0), ct::ValueError);
  CHECK_THROWS_AS(ct::topk(ct::variable({DType::float32, {2}}), 3), ct::ValueError);
  CHECK_THROWS_AS(ct::topk(x, 1, 2), ct::ValueError);
}

TEST_CASE("as many of the largest or smallest as a variable says", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::dmatrix("x");
  const auto k = ct::iscalar("k");
  const auto [values, positions] = ct::topk_and_argtopk(x, k, 1);
  const auto f = compile(mode, {x, k}, {values, positions, ct::grad(ct::sum(ct::sqr(values)), x)});
  const Array value = Array{{3., 1., 2.}, {0., -1., 5.}};
  const auto largest = f(value, 2), smallest = f(value, -1), none = f(value, 0);
  CHECK(largest[0].equals(Array{{3., 2.}, {5., 0.}}));
  CHECK(longs(largest[1]) == Longs{0, 2, 2, 0});
  CHECK(largest[2].equals(Array{{6., 0., 4.}, {0., 0., 10.}}));
  CHECK(smallest[0].equals(Array{{1.}, {-1.}}));
  CHECK(smallest[2].equals(Array{{0., 2., 0.}, {0., -2., 0.}}));
  CHECK(none[0].shape() == ct::Sizes{2, 0});
  CHECK_THROWS_AS(f(value, 4), ct::ShapeError);
  CHECK_THROWS_AS(ct::topk(x, ct::dscalar("k")), ct::TypeError);
  CHECK_THROWS_AS(ct::topk(x, ct::lvector("k")), ct::TypeError);
}

TEST_CASE("where values belong in a sorted vector", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : real_dtypes) {
    CAPTURE(name_of(dtype));
    const auto a = ct::variable({dtype, {ct::unknown_size}}, "a");
    const auto v = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "v");
    const auto f = compile(mode, {a, v},
                           {ct::searchsorted(a, v), ct::searchsorted(a, v, ct::Side::right),
                            ct::searchsorted(ct::sort(a), v, ct::Side::left)});
    for (const std::int64_t n : {0, 1, 20, 90}) {
      const Array unsorted = awkward(dtype, n);
      const Array rising = ct::sort(ct::constant(unsorted)).eval();
      const Array wanted = awkward(dtype, 30).reshape({5, 6});
      const auto got = f(rising, wanted);
      bool right = got[0].shape() == Sizes{5, 6};
      for (std::int64_t i = 0; i < 30; ++i) {
        const Scalar value = scalar_at(wanted.copy(), i);
        std::int64_t left = 0, behind = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          left += is_before(scalar_at(rising, k), value) ? 1 : 0;
          behind += is_before(value, scalar_at(rising, k)) ? 0 : 1;
        }
        right = right && longs(got[0])[static_cast<std::size_t>(i)] == left &&
                longs(got[1])[static_cast<std::size_t>(i)] == behind;
      }
      CHECK(right);
      CHECK(got[2].equals(got[0]));
    }
  }
  // Unsorted, with the permutation that sorts it; a scalar gives a scalar; dtypes are promoted.
  const auto x = ct::vector("x");
  const auto order = ct::lvector("order");
  const auto g =
      compile(mode, {x, order},
              {ct::searchsorted(x, 2.5, ct::Side::left, ct::Operand(order)), ct::searchsorted(ct::arange(4), x)});
  const auto got = g(Array{3.f, 1.f, 2.f}, Array{std::int64_t{1}, std::int64_t{2}, std::int64_t{0}});
  CHECK(got[0].item<std::int64_t>() == 2);
  CHECK(longs(got[1]) == Longs{3, 1, 2});
  CHECK_THROWS_AS(g(Array{3.f, 1.f}, Array{std::int64_t{1}, std::int64_t{2}}), ct::IndexError);
  CHECK_THROWS_AS(ct::searchsorted(ct::matrix(), x), ct::TypeError);
}

TEST_CASE("scattering rows: the last one wins, or all add up in order", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : real_dtypes) {
    CAPTURE(name_of(dtype));
    const auto x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "x");
    const auto y = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "y");
    const auto rows = ct::lvector("rows");
    const auto f =
        compile(mode, {x, rows, y}, {ct::ops::scatter(x, rows, y, false), ct::ops::scatter(x, rows, y, true)});
    for (const auto& [n, m] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 6}, {5, 0}, {1, 3}, {0, 2}, {90, 200}}) {
      const Array to = Array::uniform(DType::float64, {n, 3}, 1, 0, 1.99).astype(DType::int32).astype(dtype).copy();
      const Array from = Array::uniform(DType::float64, {m, 3}, 2, 0, 1.99).astype(DType::int32).astype(dtype).copy();
      // Some rows are not rows of x: they are ignored.
      const Array named =
          Array::uniform(DType::float64, {m}, 3, -1.5, static_cast<double>(n) + 0.9).astype(DType::int64);
      std::vector<double> set, sum;
      for (std::int64_t i = 0; i < 3 * n; ++i) set.push_back(to.as_double(i));
      sum = set;
      for (std::int64_t k = 0; k < m; ++k) {
        const std::int64_t row = named.at<std::int64_t>(k);
        if (row < 0 || row >= n) continue;
        for (std::int64_t j = 0; j < 3; ++j) {
          set[static_cast<std::size_t>(3 * row + j)] = from.as_double(3 * k + j);
          double& total = sum[static_cast<std::size_t>(3 * row + j)];
          total = is_bool(dtype) ? std::max(total, from.as_double(3 * k + j)) : total + from.as_double(3 * k + j);
        }
      }
      const auto got = f(to, named, from);
      bool right = got[0].shape() == Sizes{n, 3} && got[1].shape() == Sizes{n, 3};
      for (std::int64_t i = 0; right && i < 3 * n; ++i)
        right = got[0].as_double(i) == set[static_cast<std::size_t>(i)] &&
                got[1].as_double(i) == sum[static_cast<std::size_t>(i)];
      CHECK(right);
    }
    CHECK_THROWS_AS(f(awkward(dtype, 6).reshape({2, 3}), Array{std::int64_t{0}}, awkward(dtype, 4).reshape({1, 4})),
                    ct::ShapeError);
    CHECK_THROWS_AS(f(awkward(dtype, 6).reshape({2, 3}), Array{std::int64_t{0}}, awkward(dtype, 6).reshape({2, 3})),
                    ct::ShapeError);
  }
}

TEST_CASE("positions and values of what is not zero", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::ftensor3("x");
  std::vector<Variable> outputs = ct::nonzero(x);
  outputs.insert(outputs.end(), {ct::flatnonzero(x), ct::nonzero_values(x), ct::nonzero_matrix(x), ct::count_nonzero(x),
                                 ct::count_nonzero(x, 1), ct::sum(ct::nonzero_values(x)) + 1});
  const auto f = compile(mode, {x}, outputs);
  for (const Sizes& shape : {Sizes{2, 3, 4}, Sizes{1, 1, 1}, Sizes{0, 3, 4}, Sizes{3, 20, 30}, Sizes{2, 3, 4}}) {
    for (const double low : {-1.4, -0.4, 1.0}) {  // some, none, all
      const double high = low + (low == 1.0 ? 0.4 : low < -1 ? 2.8 : 0.8);
      const Array value =
          Array::uniform(DType::float64, shape, 7, low, high).astype(DType::int32).astype(DType::float32);
      const auto got = f(value);
      Longs wanted;
      for (std::int64_t i = 0; i < value.size(); ++i) {
        if (value.as_double(i) != 0) wanted.push_back(i);
      }
      CHECK(longs(got[3]) == wanted);
      const auto n = static_cast<std::int64_t>(wanted.size());
      bool right = got[4].shape() == Sizes{n} && got[5].shape() == Sizes{3, n} && got[6].item<std::int64_t>() == n;
      double total = 0;
      for (std::int64_t k = 0; right && k < n; ++k) {
        const std::int64_t at = wanted[static_cast<std::size_t>(k)];
        const Longs index = {at / shape[2] / shape[1], at / shape[2] % shape[1], at % shape[2]};
        for (int d = 0; d < 3; ++d) {
          const std::int64_t wanted_index = index[static_cast<std::size_t>(d)];
          right = right && got[static_cast<std::size_t>(d)].at<std::int64_t>(k) == wanted_index &&
                  got[5].at<std::int64_t>(d, k) == wanted_index;
        }
        right = right && got[4].as_double(k) == value.as_double(at);
        total += value.as_double(at);
      }
      CHECK(right);
      CHECK(got[8].as_double(0) == total + 1);
    }
  }
  const auto v = ct::vector("v");
  CHECK(longs(compile(mode, {v}, {ct::flatnonzero(v)})(Array{0.f, std::nanf(""), -0.f, 1.f})[0]) == Longs{1, 3});
  CHECK_THROWS_AS(ct::nonzero(ct::scalar()), ct::TypeError);
}

namespace {

/// Runs of equal elements in sorted order.
struct Groups {
  Longs first, inverse, counts;
};
template <class Before>
Groups groups_of(const Longs& order, const Before& before) {
  Groups groups;
  groups.inverse.resize(order.size());
  for (const std::int64_t at : order) {
    if (groups.first.empty() || before(groups.first.back(), at)) {
      groups.first.push_back(at);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<std::size_t>(at)] = static_cast<std::int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

}  // namespace

TEST_CASE("different elements", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : real_dtypes) {
    CAPTURE(name_of(dtype));
    const auto x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "x");
    const ct::Unique u = ct::unique(x);
    const auto f = compile(mode, {x}, {u.values, u.index, u.inverse, u.counts});
    for (const std::int64_t n : {0, 1, 7, 60}) {
      const Array value = awkward(dtype, 3 * n).reshape({n, 3}).copy();
      const auto got = f(value);
      Longs all(static_cast<std::size_t>(3 * n));
      std::iota(all.begin(), all.end(), std::int64_t{0});
      const auto [first, inverse, counts] = groups_of(stable_order(value, all), [&](std::int64_t a, std::int64_t b) {
        return is_before(scalar_at(value, a), scalar_at(value, b));
      });
      CHECK(longs(got[1]) == first);
      CHECK(longs(got[2]) == inverse);
      CHECK(longs(got[3]) == counts);
      bool right = got[0].dtype() == dtype && got[0].size() == static_cast<std::int64_t>(first.size());
      for (std::size_t i = 0; right && i < first.size(); ++i)
        right = distance(scalar_at(got[0], static_cast<std::int64_t>(i)), scalar_at(value, first[i]), dtype) == 0;
      CHECK(right);
    }
  }
}

TEST_CASE("different slices along an axis", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : real_dtypes) {
    CAPTURE(name_of(dtype));
    const auto x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "x");
    const ct::Unique rows = ct::unique(x, 0), columns = ct::unique(x.T(), -1);
    const auto f = compile(mode, {x},
                           {rows.values, rows.index, rows.inverse, rows.counts, columns.values, columns.index,
                            columns.inverse, columns.counts});
    for (const Sizes& shape : {Sizes{0, 3}, Sizes{3, 0}, Sizes{1, 4}, Sizes{33, 1}, Sizes{70, 2}, Sizes{130, 2}}) {
      const std::int64_t n = shape[0], width = shape[1];
      // Columns with few different numbers, among them nan and zeros of both signs, so that rows recur.
      const Array few = awkward(dtype, 12).reshape({12}).copy();
      Longs picks(static_cast<std::size_t>(n * width));
      for (std::size_t i = 0; i < picks.size(); ++i) picks[i] = static_cast<std::int64_t>(i * i / 7 % 12);
      std::vector<Scalar> elements;
      for (const std::int64_t at : picks) elements.push_back(scalar_at(few, at));
      const Array value = ct::expr::array_of(elements, dtype, shape);
      const auto row_before = [&](std::int64_t a, std::int64_t b) {
        for (std::int64_t k = 0; k < width; ++k) {
          const Scalar p = scalar_at(value, a * width + k), q = scalar_at(value, b * width + k);
          if (is_before(p, q) || is_before(q, p)) return is_before(p, q);
        }
        return false;
      };
      Longs order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::ranges::stable_sort(order, row_before);
      const auto [first, inverse, counts] = groups_of(order, row_before);
      const auto got = f(value);
      for (const std::size_t offset : {std::size_t{0}, std::size_t{4}}) {
        INFO("output " << offset << " of " << n << " x " << width);
        CHECK(longs(got[offset + 1]) == first);
        CHECK(longs(got[offset + 2]) == inverse);
        CHECK(longs(got[offset + 3]) == counts);
        const Array values = offset == 0 ? got[0] : got[4].transpose().contiguous();
        REQUIRE(values.shape() == Sizes{static_cast<std::int64_t>(first.size()), width});
        bool right = values.dtype() == dtype;
        for (std::int64_t i = 0; right && i < values.size(); ++i)
          right =
              distance(scalar_at(values, i),
                       scalar_at(value, first[static_cast<std::size_t>(i / width)] * width + i % width), dtype) == 0;
        CHECK(right);
      }
    }
  }
  CHECK_THROWS_AS(ct::unique(ct::matrix(), 2), ct::ValueError);
}

TEST_CASE("counting numbers", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : {DType::int8, DType::uint8, DType::int32, DType::int64, DType::bool_}) {
    CAPTURE(name_of(dtype));
    const auto x = ct::variable({dtype, {ct::unknown_size}}, "x");
    const auto w = ct::vector("w");
    const auto f = compile(mode, {x, w}, {ct::bincount(x), ct::bincount(x, {}, 4), ct::bincount(x, ct::Operand(w))});
    auto got = f(Array{1, 0, 1, 1}.astype(dtype), Array{0.5f, 1.f, 2.f, 4.f});
    CHECK(got[0].dtype() == DType::int64);
    CHECK(longs(got[0]) == Longs{1, 3});
    CHECK(longs(got[1]) == Longs{1, 3, 0, 0});
    CHECK(got[2].equals(Array{1.f, 6.5f}));
    got = f(Array::zeros(dtype, {0}), Array::zeros(DType::float32, {0}));
    CHECK(got[0].shape() == Sizes{0});
    CHECK(got[1].shape() == Sizes{4});
    CHECK(got[2].shape() == Sizes{0});
    CHECK_THROWS_AS(f(Array{1, 0}.astype(dtype), Array{0.5f}), ct::ShapeError);
    if (!is_signed_int(dtype)) continue;
    CHECK_THROWS_AS(f(Array{1, -1}.astype(dtype), Array{0.5f, 1.f}), ct::IndexError);
    got = f(Array{100, 0}.astype(dtype), Array{0.5f, 1.f});
    CHECK(got[0].shape() == Sizes{101});
  }
  CHECK_THROWS_AS(ct::bincount(ct::vector()), ct::TypeError);
  CHECK_THROWS_AS(ct::bincount(ct::vector("u", DType::uint64)), ct::TypeError);
  CHECK_THROWS_AS(ct::bincount(ct::ivector(), {}, -1), ct::ValueError);
}

TEST_CASE("repeating elements", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const auto n = ct::iscalar("n");
  const auto times = ct::lvector("times");
  const auto f = compile(mode, {x, n, times},
                         {ct::repeat(x, 2), ct::repeat(x, n, 0), ct::repeat(x, times, 1), ct::repeat(x, 3, -1)});
  const Array value = Array{{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
  auto got = f(value, 2, Array{std::int64_t{0}, std::int64_t{2}, std::int64_t{1}});
  CHECK(got[0].equals(Array{1.f, 1.f, 2.f, 2.f, 3.f, 3.f, 4.f, 4.f, 5.f, 5.f, 6.f, 6.f}));
  CHECK(got[1].equals(Array{{1.f, 2.f, 3.f}, {1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}, {4.f, 5.f, 6.f}}));
  CHECK(got[2].equals(Array{{2.f, 2.f, 3.f}, {5.f, 5.f, 6.f}}));
  CHECK(got[3].shape() == Sizes{2, 9});
  CHECK(got[3].at<float>(1, 5) == 5);
  got = f(value, 0, Array{std::int64_t{0}, std::int64_t{0}, std::int64_t{0}});
  CHECK(got[1].shape() == Sizes{0, 3});
  CHECK(got[2].shape() == Sizes{2, 0});
  CHECK_THROWS_AS(f(value, 1, Array{std::int64_t{1}, std::int64_t{2}}), ct::ShapeError);
  CHECK_THROWS_AS(f(value, 1, Array{std::int64_t{1}, std::int64_t{-2}, std::int64_t{1}}), ct::IndexError);
  CHECK_THROWS_AS(f(value, -1, Array{std::int64_t{1}, std::int64_t{2}, std::int64_t{1}}), ct::ShapeError);
  CHECK_THROWS_AS(ct::repeat(x, -1), ct::ValueError);
  CHECK_THROWS_AS(ct::repeat(x, 1.5), ct::TypeError);
}

TEST_CASE("choosing by a condition", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const auto condition = ct::vector("condition", DType::bool_);
  const auto f =
      compile(mode, {x, condition}, {ct::compress(condition, x, 1), ct::compress(condition, x), ct::extract(x > 2, x)});
  const Array value = Array{{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
  const auto got = f(value, Array{1, 0, 1}.astype(DType::bool_));
  CHECK(got[0].equals(Array{{1.f, 3.f}, {4.f, 6.f}}));
  CHECK(got[1].equals(Array{1.f, 3.f}));
  CHECK(got[2].equals(Array{3.f, 4.f, 5.f, 6.f}));
  CHECK_THROWS_AS(f(value, Array{0, 0, 0, 1}.astype(DType::bool_)), ct::IndexError);
  CHECK(f(value, Array{0, 0, 1, 0}.astype(DType::bool_))[0].equals(Array{{3.f}, {6.f}}));
}

namespace {

/// Every `every`-th case, to the second order if the case has it and `second` is true.
void check_gradients(std::size_t every, bool second) {
  using Inputs = std::vector<Variable>;
  struct Case {
    std::string name;
    std::function<Variable(const Inputs&)> f;
    std::vector<Array> points;
    int order = 1;
  };
  const std::vector<Array> matrix = {real({3, 4}, 1)};
  const Array rows = Array{std::int64_t{2}, std::int64_t{0}, std::int64_t{2}, std::int64_t{7}};
  const std::vector<Case> cases = {
      {"cumsum", [](const Inputs& x) { return ct::sqr(ct::cumsum(x[0], 0)); }, matrix, 2},
      {"cumsum of all", [](const Inputs& x) { return ct::exp(ct::cumsum(x[0])); }, matrix},
      {"cumprod", [](const Inputs& x) { return ct::cumprod(x[0], 1); }, matrix, 2},
      {"cumprod with zeros", [](const Inputs& x) { return ct::cumprod(x[0]); }, {Array{2., 0., 3., 0., -1., 2.}}, 2},
      {"cumprod twice", [](const Inputs& x) { return ct::cumprod(ct::cumprod(x[0], 0), 1); }, {real({2, 3}, 4)}},
      {"sort", [](const Inputs& x) { return ct::sort(ct::sqr(x[0]), 0) * ct::arange(4); }, matrix, 2},
      {"topk", [](const Inputs& x) { return ct::sqr(ct::topk(x[0], 2)); }, matrix},
      {"repeat",
       [](const Inputs& x) {
         return ct::sqr(ct::repeat(x[0], 3, 0)) * ct::repeat(x[0], ct::constant(Array{4, 2, 3}), 0);
       },
       matrix},
      {"scatter inc",
       [&](const Inputs& x) { return ct::sqr(ct::ops::scatter(x[0], ct::constant(rows), x[1], true)); },
       {real({3, 4}, 1), real({4, 4}, 2)},
       2},
      {"scatter set",
       [&](const Inputs& x) { return ct::exp(ct::ops::scatter(x[0], ct::constant(rows), x[1], false)); },
       {real({3, 4}, 1), real({4, 4}, 2)},
       2},
      {"nonzero values", [](const Inputs& x) { return ct::sum(ct::sqr(ct::nonzero_values(x[0]))); }, matrix},
      {"compress", [](const Inputs& x) { return ct::sum(ct::exp(ct::extract(x[0] > 0, x[0]))); }, matrix},
      {"unique", [](const Inputs& x) { return ct::sum(ct::sqr(ct::unique(x[0]).values)); }, matrix},
      {"unique rows", [](const Inputs& x) { return ct::exp(ct::unique(x[0], 0).values); }, matrix, 2},
      {"bincount",
       [](const Inputs& x) { return ct::sqr(ct::bincount(ct::constant(Array{2, 0, 2}), ct::Operand(x[0]))); },
       {real({3}, 4)}},
  };
  for (std::size_t i = 0; i < cases.size(); i += every) {
    INFO(cases[i].name);
    CHECK(grad_error(cases[i].f, cases[i].points, second ? cases[i].order : 1) < 1e-5);
  }
}

}  // namespace

TEST_CASE("gradients of routines", "[ops]") {
  const bool compiled = GENERATE(false, true);
  const ct::change_flags flags(compiled ? "mode=run" : "mode=reference");
  check_gradients(compiled ? 4 : 1, !compiled);  // compiled, all of them take longer: see [slow] below
}

TEST_CASE("gradients of routines, compiled and simulated", "[ops][slow]") {
  const ct::change_flags flags(GENERATE(as<std::string>(), "mode=run", "mode=simulate"));
  check_gradients(1, true);
}

TEST_CASE("routines compile once for all sizes and are counted", "[ops]") {
  const auto x = ct::vector("x");
  const auto f = compile("mode=run", {x}, {ct::sort(x) + 1, ct::cumsum(x)});
  f(Array::uniform(DType::float32, {10}, 1));
  const auto before = f.counts();
  CHECK(before.routines == 2);
  for (const std::int64_t n : {100, 3, 0, 4000}) f(Array::uniform(DType::float32, {n}, 1));
  CHECK(f.counts().compiled == before.compiled);
  CHECK(f.counts().routines == 10);
  for (const std::string target : {"cpu", "cuda:sm_90"}) {
    const auto kernels = f.kernels(target);
    const auto sums = std::ranges::count_if(kernels, [](const auto& k) { return k.name.starts_with("cumsum_"); });
    const auto sorts = std::ranges::count_if(kernels, [](const auto& k) { return k.name.starts_with("argsort_"); });
    CHECK(sums == 1);
    CHECK(sorts == 1);
  }
}

TEST_CASE("routines in updates: a call that fails has changed nothing", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  const auto s = ct::shared(Array{3.f, 1.f, 2.f}, {.name = "s"});
  const auto rows = ct::lvector("rows");
  const auto f = ct::function({rows}, {ct::cumsum(s), ct::bincount(rows)}, {.updates = {{s, ct::cumsum(ct::sort(s))}}});
  auto got = f(Array{std::int64_t{0}, std::int64_t{2}});
  CHECK(got[0].equals(Array{3.f, 4.f, 6.f}));
  CHECK(s.get_value().equals(Array{1.f, 3.f, 6.f}));
  CHECK_THROWS_AS(f(Array{std::int64_t{0}, std::int64_t{-2}}), ct::IndexError);
  CHECK(s.get_value().equals(Array{1.f, 3.f, 6.f}));
  got = f(Array{std::int64_t{0}});
  CHECK(s.get_value().equals(Array{1.f, 4.f, 10.f}));
}

TEST_CASE("errors of routines name the variable", "[ops]") {
  const auto x = ct::matrix("x");
  CHECK_THROWS_AS(ct::cumsum(x, 2), ct::ValueError);
  CHECK_THROWS_AS(ct::sort(x, -3), ct::ValueError);
  CHECK_THROWS_AS(ct::argsort(ct::scalar(), 0), ct::ValueError);
  try {
    ct::cumprod(x, 5);
    FAIL("an axis that is not there");
  } catch (const ct::ValueError& error) {
    const std::string what = error.what();
    CHECK(what.find("cumprod (test_routines.cpp:") != what.npos);
    CHECK(what.find("x is f32[?, ?]") != what.npos);
    CHECK(what.find("axis 5, where -2 to 1 are accepted") != what.npos);
  }
  // Scalars are vectors of size 1.
  CHECK(ct::sort(ct::constant(Array(2.5)), std::nullopt).eval().shape() == Sizes{1});
}
