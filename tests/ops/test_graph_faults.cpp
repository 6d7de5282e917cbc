// Small graphs in which random testing (docs/internals/differential.md) found a fault, on every back-end.
#include "samples.hpp"

using namespace croton_test;

TEST_CASE("a number is transferred to a device", "[ops]") {
  const Variable x = ct::matrix("x");
  const Variable number = ct::constant(Array(std::int64_t{7}));
  for (const std::string device : {"cpu", "cuda0"}) {
    const ct::change_flags flags("cuda_simulator=1");
    const auto f = ct::function({x}, {ct::transfer(number, device), ct::transfer(x.shape(1), device)});
    const auto results = f(Array::zeros(DType::float32, {2, 5}));
    CHECK(results[0].item<std::int64_t>() == 7);
    CHECK(results[1].item<std::int64_t>() == 5);
  }
}

TEST_CASE("a size that must equal another is computed by what rules expand", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::matrix("x");
  const Variable where = ct::flatnonzero(ct::nnet::logsumexp(x, 1));
  const auto f = compile(mode, {x}, {ct::dot(where, x)});
  const Array ones = Array::full(DType::float32, {3, 2}, 1.0);
  const auto results = f(ones);
  CHECK(results[0].as_double(0) == 3);  // (0, 1, 2) . (1, 1, 1)
  const Array with_zero = Array(std::vector<float>{1, 1, 0, -0x1p60f, 1, 1}).reshape({3, 2});
  CHECK_THROWS_AS(f(with_zero), ct::ShapeError);  // one of the three is 0
}

TEST_CASE("the place of an extreme among one, after another reduction", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::variable({DType::int8, {1, ct::unknown_size, ct::unknown_size}}, "x");
  const Variable largest = ct::max(x, ct::ReduceOptions(std::vector<int>{1, 2}, true));
  const auto f = compile(mode, {x}, {ct::argmin(largest, ct::ReduceOptions(std::vector<int>{0, 2})), largest});
  const auto results = f(Array::full(DType::int8, {1, 2, 3}, 9));
  CHECK(results[0].item<std::int64_t>() == 0);
  CHECK(results[1].as_double(0) == 9);
}

TEST_CASE("functions along an axis without elements", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::matrix("x");
  const auto f = compile(mode, {x}, {ct::nnet::softmax(x, 1), ct::nnet::log_softmax(x, 1), ct::nnet::logsumexp(x, 1)});
  const auto empty = f(Array::zeros(DType::float32, {3, 0}));
  CHECK(empty[0].shape() == Sizes{3, 0});
  CHECK(empty[1].shape() == Sizes{3, 0});
  REQUIRE(empty[2].shape() == Sizes{3});
  for (int i = 0; i < 3; ++i) CHECK(empty[2].as_double(i) == -std::numeric_limits<double>::infinity());
  CHECK(f(Array::zeros(DType::float32, {0, 3}))[2].shape() == Sizes{0});
}

TEST_CASE("an extreme of nothing is an error, also where there is no result", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::matrix("x");
  for (const Variable& result : {ct::max(x, 0), ct::argmin(x, 0)}) {
    const auto f = compile(mode, {x}, {result});
    CHECK_THROWS_AS(f(Array::zeros(DType::float32, {0, 0})), ct::ValueError);
    CHECK(f(Array::zeros(DType::float32, {2, 0}))[0].shape() == Sizes{0});
  }
}

TEST_CASE("the reference of softmax keeps the last digits next to large numbers", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::dvector("x");
  const auto f = compile(mode, {x}, {ct::nnet::softmax(x)});
  const double got = f(Array(std::vector<double>{149, 121}))[0].as_double(0);
  CHECK(std::abs(got - 1 / (1 + std::exp(-28.0))) <= 0x1p-52);
}

TEST_CASE("results do not depend on how hard LLVM works", "[ops]") {
  const Variable x = ct::matrix("x");
  const std::vector<Variable> results{ct::nnet::log_softmax(ct::tanh(x) * 3, 1), ct::sum(x * x, 0), ct::dot(x, x.T())};
  const Array a = Array::uniform(DType::float32, {37, 70}, 3, -2, 2);
  for (const std::string& mode : without_simulator() ? Backends{"mode=run"} : Backends{"mode=run", "mode=simulate"}) {
    const auto usual = compile(mode, {x}, results)(a);
    for (const std::string level : {"0", "1", "2"}) {
      const auto f = compile(mode + ",cache=false,llvm_level=" + level, {x}, results);
      const auto quick = f(a);
      for (std::size_t i = 0; i < results.size(); ++i) CHECK(same_bits(quick[i], usual[i]));
    }
  }
}

TEST_CASE("a chain of products with an axis of size 0 has an end", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable a = ct::variable({DType::float32, {2, 3}}, "a"), b = ct::variable({DType::float32, {3, 0}}, "b");
  const Variable c = ct::variable({DType::float32, {0, 1}}, "c");
  const auto f = compile(mode, {a, b, c}, {ct::dot(ct::dot(a, b), c), ct::dot(a, ct::dot(b, c))});
  const Array zeros = Array::zeros(DType::float32, {2, 1});
  const auto results = f(Array::full(DType::float32, {2, 3}, 1), Array::zeros(DType::float32, {3, 0}),
                         Array::zeros(DType::float32, {0, 1}));
  CHECK(same_bits(results[0], zeros));
  CHECK(same_bits(results[1], zeros));
}

TEST_CASE("constants of a product do not become infinite or 0", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::fvector("x");
  const auto f = compile(mode, {x}, {x * 3e30f * 3e30f, x * 3e-30f * 3e-30f});
  const auto results = f(Array(std::vector<float>{0, 1e-30f, 1e30f}));
  CHECK(results[0].as_double(0) == 0);
  CHECK(results[0].as_double(1) == Approx(9e30).epsilon(1e-6));
  CHECK(results[1].as_double(2) == Approx(9e-30).epsilon(1e-6));
}

TEST_CASE("kernels are the same wherever inputs are", "[ops]") {
  // 16-bit numbers are rounded at the ends of kernels, so that different kernels would give different bits.
  const Variable x = ct::matrix("x", DType::bfloat16);
  const Variable part = x[ct::slice(31, 9, -2)];
  const Variable slope = ct::grad(ct::sum(ct::log(ct::sum(ct::exp(part), -1))), part);
  const Array a = Array::uniform(DType::float32, {20, 2}, 1, -3, 3).astype(DType::bfloat16);
  const std::string ieee = ",special_values=ieee";
  const auto here = compile("mode=run" + ieee, {x}, {slope})(a),
             there = compile("mode=simulate" + ieee, {x}, {slope})(a);
  CHECK(same_bits(here[0], there[0]));
}

TEST_CASE("a batch of products without columns", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable a = ct::tensor3("a"), b = ct::tensor3("b");
  const auto f = compile(mode, {a, b}, {ct::matmul(a, b), ct::matmul(ct::transpose(b, {0, 2, 1}), b)});
  const auto results = f(Array::zeros(DType::float32, {2, 3, 65}), Array::zeros(DType::float32, {2, 65, 0}));
  CHECK(results[0].shape() == Sizes{2, 3, 0});
  CHECK(results[1].shape() == Sizes{2, 0, 0});
}

TEST_CASE("the larger of a magnitude and 0, which LLVM 19 folds wrongly in one form", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const int level = GENERATE(0, 1, 2, 3);
  const ct::change_flags flags("llvm_level=" + std::to_string(level));
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Variable x = ct::variable({dtype, {ct::unknown_size}}, "x");
    const Variable a = ct::abs(x);
    const auto f = compile(mode, {x},
                           {ct::maximum(a, 0), ct::nnet::relu(a), ct::nnet::relu6(a), ct::clip(a, 0, 1),
                            ct::minimum(-a, 0), ct::maximum(0, a), ct::minimum(0, -a)});
    const std::vector<double> values{-2, 0.5, -0.5, 0, -7, 7, -std::numeric_limits<double>::infinity()};
    const auto r = f(Array(values).astype(dtype));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double magnitude = std::abs(values[i]);
      const auto at = static_cast<std::int64_t>(i);
      CAPTURE(values[i], ct::name_of(dtype), level);
      for (const std::size_t same : {0, 1, 5}) CHECK(r[same].as_double(at) == magnitude);
      CHECK(r[2].as_double(at) == std::min(magnitude, 6.0));
      CHECK(r[3].as_double(at) == std::min(magnitude, 1.0));
      for (const std::size_t negative : {4, 6}) CHECK(r[negative].as_double(at) == -magnitude);
    }
  }
}

TEST_CASE("sizes, steps and positions that are known when called are as bad as those that are known before", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto v = ct::dvector("v");
  const auto n = ct::lscalar("n");
  const auto sizes = ct::lvector("sizes");
  const Array four{0., 1., 2., 3.};
  const auto number = [](std::int64_t value) { return Array(value); };
  // Negative sizes with a positive sum: as bounds of slices they would count from the end.
  const auto parts = compile(mode, {v, sizes}, ct::split(v, sizes, 3));
  CHECK(parts(four, Array{std::int64_t{1}, std::int64_t{0}, std::int64_t{3}})[2].equals(Array{1., 2., 3.}));
  CHECK_THROWS_AS(parts(four, Array{std::int64_t{3}, std::int64_t{-2}, std::int64_t{3}}), ct::ShapeError);
  const auto rest = compile(mode, {v, n}, ct::split(v, {n, 4 - n}));
  CHECK(rest(four, number(3))[1].equals(Array{3.}));
  CHECK_THROWS_AS(rest(four, number(7)), ct::ShapeError);

  CHECK_THROWS_AS(ct::tile(v, {-1}), ct::ValueError);
  const auto tiled = compile(mode, {v, n}, {ct::tile(v, {n})});
  CHECK(tiled(four, number(2))[0].size() == 8);
  CHECK(tiled(four, number(0))[0].size() == 0);
  CHECK_THROWS_AS(tiled(four, number(-1)), ct::ShapeError);

  CHECK_THROWS_AS(ct::arange(0, 5, 0), ct::ValueError);
  const auto steps = compile(mode, {n}, {ct::arange(0, 5, n)});
  CHECK(steps(number(2))[0].size() == 3);
  CHECK_THROWS_AS(steps(number(0)), ct::ShapeError);

  const auto position = compile(mode, {sizes}, {ct::ravel_multi_index({sizes, sizes}, {2, 3})});
  CHECK(position(Array{std::int64_t{1}})[0].equals(Array{std::int64_t{4}}));
  CHECK_THROWS_AS(position(Array{std::int64_t{-1}}), ct::IndexError);
  const auto positions = compile(mode, {sizes}, ct::unravel_index(sizes, {2, 3}));
  CHECK(positions(Array{std::int64_t{5}})[1].equals(Array{std::int64_t{2}}));
  CHECK_THROWS_AS(positions(Array{std::int64_t{-1}}), ct::IndexError);

  CHECK_THROWS_WITH(compile(mode, {v}, {ct::topk(v, 9)})(four), Catch::Contains("as many elements as are requested"));
}

TEST_CASE("axes that broadcast in the value are summed in the gradient", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto row = ct::variable({DType::float64, {1, ct::unknown_size}}, "row");
  const auto matrix = ct::dmatrix("matrix");
  const Array ones = Array::full(DType::float64, {1, 2}, 1), many = Array::full(DType::float64, {4, 2}, 1);
  // Sizes computed with negative numbers are static too.
  for (const Variable& part : {row[ct::slice({}, {}, -1)], row[ct::slice(-1, {})], ct::flip(row, {{0}})}) {
    CHECK(part.type().shape[0] == 1);
    const Variable cost = ct::sum(part * matrix);
    const auto r = compile(mode, {row, matrix}, {cost, ct::grad(cost, row)})(ones, many);
    CHECK(r[0].item<double>() == 8);
    CHECK(r[1].equals(Array{{4., 4.}}));
  }
  const auto three = ct::variable({DType::float64, {3}}, "three");
  CHECK(three[ct::slice({}, -1)].type().shape[0] == 2);
  // Sizes that are not static do not broadcast, even if arithmetic on sizes gives 1.
  const auto one = ct::variable({DType::float64, {1, 1}}, "one");
  const Variable flat = ct::reshape(one, {one.shape(0) * one.shape(1)});
  const Variable cost = ct::sum(flat * three);
  const auto run = [&] { compile(mode, {one, three}, {cost, ct::grad(cost, one)})(Array{{2.}}, Array{1., 2., 3.}); };
  if (flat.type().shape[0] == ct::unknown_size) CHECK_THROWS_AS(run(), ct::ShapeError);
}

TEST_CASE("zeros keep their signs, and products their order, under special_values=ieee", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x"), y = ct::dvector("y");
  const auto r = compile(mode + ",special_values=ieee", {x}, {1 / (0 - x), 1 / (x + 0)})(Array{0., -0.});
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(r[0].equals(Array{infinity, infinity}));
  CHECK(r[1].equals(Array{infinity, infinity}));
  // 2 x would overflow, x / |(x, y)| does not.
  const Variable slope = ct::grad(ct::sum(2 * ct::arctan2(y, x)), y);
  const double large = -std::numeric_limits<double>::max();
  const auto far = compile(mode + ",special_values=ieee", {x, y}, {slope})(Array{large}, Array{1.});
  CHECK(far[0].as_double(0) == Approx(2 / large).margin(0));
}

TEST_CASE("quotients by powers of two whose reciprocals 16 bits do not hold", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::vector("x", DType::float16);
  const auto tiny = ct::constant(Array(0x1p-24).astype(DType::float16));
  const auto huge = ct::constant(Array(0x1p15).astype(DType::float16));
  const auto r = compile(mode, {x}, {x / tiny, x / huge})(Array{0., 0x1p-24, 0x1p15}.astype(DType::float16));
  CHECK(r[0].astype(DType::float64).slice(0, 0, 2).equals(Array{0., 1.}));
  CHECK(r[1].astype(DType::float64).equals(Array{0., 0., 1.}));
}

TEST_CASE("softmax and cross-entropies of 16-bit floats are rounded once", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  CAPTURE(mode, name_of(dtype));
  // One class is nearly certain: 1 - p is far below the precision of numbers near 1.
  const auto x = ct::matrix("x", dtype);
  const auto target = ct::constant(Array{std::int64_t{0}});
  const Variable cost = ct::sum(ct::nnet::categorical_crossentropy(ct::nnet::softmax(x), target));
  const auto r = compile(mode, {x}, {cost, ct::grad(cost, x)})(Array{{8., 0.}}.astype(dtype));
  const double rest = 1 / (1 + std::exp(8.)), unit = dtype == DType::float16 ? 0x1p-10 : 0x1p-7;
  CHECK(r[0].as_double(0) == Approx(std::log1p(std::exp(-8.))).epsilon(unit));
  CHECK(r[1].as_double(0) == Approx(-rest).epsilon(unit));
  CHECK(r[1].as_double(1) == Approx(rest).epsilon(unit));
}

TEST_CASE("the incomplete gamma function of order 0 is flat", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto a = ct::dvector("a"), x = ct::dvector("x");
  const auto r = compile(mode, {a, x}, {ct::grad(ct::sum(ct::gammainc(a, x)), x), ct::gammainc(a, x)})(Array{0., 1.},
                                                                                                       Array{3., 3.});
  CHECK(r[0].as_double(0) == 0);
  CHECK(r[0].as_double(1) == Approx(std::exp(-3.)));
  CHECK(r[1].as_double(0) == 1);
}

TEST_CASE("a routine that only the position among one would read is not run", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::variable({DType::float64, {1}}, "x");
  const auto r =
      compile(mode, {x}, {ct::argmin(ct::cumsum(x + 1), 0), ct::argmax(ct::unique(x).inverse, 0)})(Array{3.});
  CHECK(r[0].item<std::int64_t>() == 0);
  CHECK(r[1].item<std::int64_t>() == 0);
}

TEST_CASE("the negative of a constant minus infinity", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x");
  const double infinity = std::numeric_limits<double>::infinity();
  const Variable lowest = ct::constant(Array(-infinity));
  const auto r = compile(mode + ",optimizer=fast_compile", {x}, {ct::where(x > 0, x, -lowest)})(Array{1., -1.});
  CHECK(r[0].equals(Array{1., infinity}));
}
