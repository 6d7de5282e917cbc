// Matrix products of all ranks and dtypes, of awkward sizes and layouts, in every mode, against three plain loops. On
// CUDA a library computes products, so that modes agree within rounding, not bit for bit.
#include "samples.hpp"

using namespace croton_test;

namespace {

const std::vector<std::string> modes = backends();

/// The product of matrices in double.
Array product(const Array& a, const Array& b) {
  Array out = Array::zeros(DType::float64, {a.shape(0), b.shape(1)});
  const Array x = a.astype(DType::float64).copy(), y = b.astype(DType::float64).copy();
  for (std::int64_t i = 0; i < a.shape(0); ++i) {
    for (std::int64_t j = 0; j < b.shape(1); ++j) {
      double total = 0;
      for (std::int64_t k = 0; k < a.shape(1); ++k) total += x.at<double>(i, k) * y.at<double>(k, j);
      out.at<double>(i, j) = total;
    }
  }
  return out;
}

/// Whether every element is within the error of a sum of k products of numbers up to 1, in any order.
bool close(const Array& got, const Array& wanted, std::int64_t k, DType dtype) {
  if (got.shape() != wanted.shape()) return false;
  const double unit = is_discrete(dtype) ? 0 : dtype == DType::float64 ? 0x1p-53 : 0x1p-24;
  const double storage = dtype == DType::float16 ? 0x1p-11 : dtype == DType::bfloat16 ? 0x1p-8 : 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double bound =
        static_cast<double>(k + 2) * unit * static_cast<double>(k) + storage * std::abs(wanted.as_double(i));
    if (!(std::abs(got.as_double(i) - wanted.as_double(i)) <= bound)) return false;
  }
  return true;
}

Array matrix_of(DType dtype, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  if (is_discrete(dtype))
    return Array::uniform(DType::float64, {m, n}, seed, is_unsigned_int(dtype) ? 0 : -3, 3.99).astype(dtype);
  return Array::uniform(dtype, {m, n}, seed, -1, 1);
}

}  // namespace

TEST_CASE("products of matrices of many sizes", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const auto a = ct::matrix("a", dtype), b = ct::matrix("b", dtype);
  const auto f = compile(mode, {a, b}, {ct::dot(a, b)});
  const std::int64_t sizes[][3] = {{1, 1, 1},  {2, 3, 4},    {1, 50, 1},   {50, 1, 50},  {1, 7, 64},
                                   {64, 7, 1}, {33, 65, 17}, {128, 30, 4}, {3, 1000, 5}, {0, 3, 4},
                                   {3, 0, 4},  {3, 4, 0},    {0, 0, 0}};
  for (const auto& [m, k, n] : sizes) {
    const Array x = matrix_of(dtype, m, k, 1), y = matrix_of(dtype, k, n, 2);
    INFO(m << " x " << k << " by " << k << " x " << n);
    const Array got = f(x, y)[0];
    CHECK(got.dtype() == dtype);
    CHECK(close(got, product(x, y), k, dtype));
    if (k == 0) CHECK(got.equals(Array::zeros(dtype, {m, n})));
  }
  CHECK_THROWS_AS(f(matrix_of(dtype, 2, 3, 1), matrix_of(dtype, 4, 2, 1)), ct::ShapeError);
}

TEST_CASE("products of every dtype", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::int8, DType::int32, DType::int64, DType::uint8, DType::float16, DType::bfloat16,
                               DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const auto a = ct::matrix("a", dtype), b = ct::matrix("b", dtype), v = ct::vector("v", dtype);
  const auto f = compile(mode, {a, b, v}, {ct::dot(a, b), ct::dot(a, v), ct::dot(v, b)});
  const Array x = matrix_of(dtype, 5, 9, 1), y = matrix_of(dtype, 9, 6, 2), z = matrix_of(dtype, 1, 9, 3).reshape({9});
  const auto r = f(x, y, z);
  CHECK(r[0].dtype() == dtype);
  CHECK(close(r[0], product(x, y), 9, dtype));
  CHECK(close(r[1], product(x, z.reshape({9, 1})).reshape({5}), 9, dtype));
  CHECK(close(r[2], product(z.reshape({1, 9}), y).reshape({6}), 9, dtype));
}

TEST_CASE("products of two dtypes take the promoted one", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const auto a = ct::imatrix("a"), b = ct::fmatrix("b"), c = ct::bmatrix("c");
  CHECK(ct::dot(a, b).dtype() == DType::float64);
  CHECK(ct::dot(c, b).dtype() == DType::float32);
  const auto f = compile(mode, {a, b, c}, {ct::dot(a, b), ct::dot(c, b), ct::dot(a, c)});
  const Array x = matrix_of(DType::int32, 3, 4, 1), y = matrix_of(DType::float32, 4, 4, 2),
              z = matrix_of(DType::int8, 4, 4, 3);
  const auto r = f(x, y, z);
  CHECK(close(r[0], product(x, y), 4, DType::float64));
  CHECK(close(r[1], product(z, y), 16, DType::float32));
  CHECK(close(r[2], product(x, z), 4, DType::int32));
  CHECK(r[2].dtype() == DType::int32);
}

TEST_CASE("vectors and scalars in products", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto m = ct::matrix("m"), v = ct::vector("v"), w = ct::vector("w"), s = ct::scalar("s");
  const auto f = compile(mode, {m, v, w, s},
                         {ct::dot(v, w), ct::dot(m, v), ct::dot(w, m), ct::dot(s, m), ct::dot(v, s), ct::dot(s, s)});
  for (const std::int64_t n : {3, 1, 0, 40}) {
    INFO("size " << n);
    const Array a = matrix_of(DType::float32, n, n, 1), x = matrix_of(DType::float32, n, 1, 2),
                y = matrix_of(DType::float32, 1, n, 3);
    const auto r = f(a, x.reshape({n}), y.reshape({n}), 2.f);
    CHECK(close(r[0], product(y, x).reshape({}), n, DType::float32));
    CHECK(close(r[1], product(a, x).reshape({n}), n, DType::float32));
    CHECK(close(r[2], product(y, a).reshape({n}), n, DType::float32));
    CHECK(r[3].shape() == Sizes{n, n});
    if (n > 0) CHECK(r[3].as_double(0) == 2 * a.as_double(0));
    CHECK(r[4].shape() == Sizes{n});
    CHECK(r[5].item<float>() == 4);
  }
  CHECK_THROWS_AS(f(matrix_of(DType::float32, 3, 3, 1), Array{1.f, 2.f}, Array{1.f, 2.f}, 1.f), ct::ShapeError);
  const auto p = ct::variable({DType::float32, {3, 4}}, "p"), q = ct::variable({DType::float32, {5, 2}}, "q");
  try {
    ct::dot(p, q);
    FAIL("sizes 4 and 5 do not fit");
  } catch (const ct::ShapeError& e) {
    for (const char* part : {"p is f32[3, 4]", "q is f32[5, 2]", "test_products.cpp", "4 is not 5"})
      CHECK_THAT(e.what(), Catch::Contains(part));
  }
}

TEST_CASE("transposed, sliced and computed operands of products", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  using ct::slice;
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const auto f = compile(mode, {a, b},
                         {ct::dot(ct::transpose(a), b), ct::dot(b.T(), a), ct::dot(a, b.T()),
                          ct::dot(ct::transpose(a), ct::transpose(b)[slice(0, 20)]),
                          ct::dot(a[slice({}, {}, -1)].T(), b), ct::dot(ct::exp(a).T(), b * 2) + 1,
                          ct::dot(a.at({slice(), slice(0, 3)}).T(), b), ct::maximum(ct::dot(a.T(), b), 0)});
  const Array x = matrix_of(DType::float32, 20, 30, 1), y = matrix_of(DType::float32, 20, 30, 2);
  const auto r = f(x, y);
  CHECK(close(r[0], product(x.transpose(), y), 20, DType::float32));
  CHECK(close(r[1], product(y.transpose(), x), 20, DType::float32));
  CHECK(close(r[2], product(x, y.transpose()), 30, DType::float32));
  CHECK(close(r[3], product(x.transpose(), y.transpose().slice(0, 0, 20)), 20, DType::float32));
  CHECK(close(r[4], product(x.slice(0, -1, -21, -1).transpose(), y), 20, DType::float32));
  Array powers = x.astype(DType::float64).copy();
  for (double& v : powers.data<double>()) v = std::exp(v);
  const Array twice = product(powers.transpose(), y);
  bool right = true;
  for (std::int64_t i = 0; i < twice.size(); ++i)
    right = right && std::abs(r[5].as_double(i) - (2 * twice.as_double(i) + 1)) < 1e-3;
  CHECK(right);
  CHECK(close(r[6], product(x.slice(1, 0, 3).transpose(), y), 20, DType::float32));
  right = true;
  for (std::int64_t i = 0; i < r[7].size(); ++i) right = right && r[7].as_double(i) == std::max(r[0].as_double(i), 0.0);
  CHECK(right);
}

TEST_CASE("inputs of products in every memory layout", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const auto [m, k, n] =
      GENERATE(table<std::int64_t, std::int64_t, std::int64_t>({{13, 21, 8}, {1, 16, 9}, {9, 16, 1}}));
  CAPTURE(mode, m, k, n);
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const auto f = compile(mode, {a, b}, {ct::dot(a, b), ct::dot(b.T(), a.T())});
  const Array x = matrix_of(DType::float32, m, k, 1), y = matrix_of(DType::float32, k, n, 2), wanted = product(x, y);
  for (const Layout& left : layouts_of(x)) {
    for (const Layout& right : layouts_of(y)) {
      INFO(left.name << " by " << right.name);
      const auto r = f(left.array, right.array);
      CHECK(close(r[0], wanted, k, DType::float32));
      CHECK(close(r[1], wanted.transpose().copy(), k, DType::float32));
    }
  }
}

TEST_CASE("sums, scales and updates around products", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto a = ct::matrix("a"), b = ct::matrix("b"), c = ct::matrix("c"), r = ct::row("r");
  const auto f = compile(mode, {a, b, c, r},
                         {ct::dot(a, b) + c, ct::dot(a, b) * 2 - c * 3, c - 0.5 * ct::dot(a, b), ct::dot(a, b) + r,
                          ct::dot(ct::dot(a, b), c.T())});
  const Array x = matrix_of(DType::float32, 6, 7, 1), y = matrix_of(DType::float32, 7, 5, 2),
              z = matrix_of(DType::float32, 6, 5, 3), w = matrix_of(DType::float32, 1, 5, 4);
  const auto got = f(x, y, z, w);
  const Array p = product(x, y);
  bool right = true;
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      const double v = p.at<double>(i, j), q = z.at<float>(i, j);
      const double wanted[] = {v + q, 2 * v - 3 * q, q - 0.5 * v, v + w.at<float>(0, j)};
      for (std::size_t k = 0; k < 4; ++k) right = right && std::abs(got[k].at<float>(i, j) - wanted[k]) < 1e-5;
    }
  }
  CHECK(right);
  CHECK(got[4].all_close(product(p, z.transpose()).astype(DType::float32), 1e-5, 1e-5));
  // Sizes of 1 at run time do not broadcast, nor do they in sums with products.
  CHECK_THROWS_AS(f(x, y, matrix_of(DType::float32, 1, 5, 3), w), ct::ShapeError);

  const auto weights = ct::shared(Array::full(DType::float32, {7, 5}, 1), {.name = "weights"});
  const ct::change_flags flags(mode);
  const auto g = ct::function({a}, ct::dot(a, weights),
                              {.updates = {{weights, weights - 0.5 * ct::dot(a.T(), ct::dot(a, weights))}}});
  const Array first = g(x);
  CHECK(close(first, product(x, Array::full(DType::float32, {7, 5}, 1)), 7, DType::float32));
  const Array moved = product(x.transpose(), first);
  for (std::int64_t i = 0; i < 35; ++i)
    CHECK(weights.get_value().as_double(i) == Approx(1 - 0.5 * moved.as_double(i)).margin(1e-5));
}

TEST_CASE("nan and inf go through products", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const auto f = compile(mode, {a, b}, {ct::dot(a, b)});
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Array r = f(Array{{1.f, 0.f}, {nan, 1.f}, {0.f, 2.f}}, Array{{2.f, inf}, {3.f, 4.f}})[0];
  CHECK(same_bits(r, Array{{2.f, inf}, {nan, nan}, {6.f, nan}}));
}

TEST_CASE("bits of products do not depend on threads", "[ops]") {
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const auto f = ct::function({a, b}, ct::dot(a, b));
  const auto [m, k, n] =
      GENERATE(table<std::int64_t, std::int64_t, std::int64_t>({{300, 257, 129}, {1, 3000, 700}, {2000, 33, 3}}));
  const Array x = matrix_of(DType::float32, m, k, 1), y = matrix_of(DType::float32, k, n, 2);
  const Array one = [&] {
    const ct::change_flags flags("threads=1");
    return f(x, y).only();
  }();
  const ct::change_flags flags("threads=2");
  CHECK(f(x, y).only().same_bits(one));
}
