// Reductions over every subset of axes, with sizes near all boundaries of their trees (lanes, blocks of 1024, work
// split over threads and teams), in every mode, against the reference evaluator and a plain loop; equal bits on every
// device.
#include "samples.hpp"

using namespace croton_test;

namespace {

std::vector<std::vector<int>> subsets(int rank) {
  std::vector<std::vector<int>> all;
  for (int bits = 0; bits < (1 << rank); ++bits) {
    all.emplace_back();
    for (int axis = 0; axis < rank; ++axis) {
      if (bits & (1 << axis)) all.back().push_back(axis);
    }
  }
  return all;
}

/// All reductions of x over the axes; max and others only if there are elements.
std::vector<Variable> reductions(const Variable& x, const std::vector<int>& axes, bool extremes) {
  std::vector<Variable> r = {ct::sum(x, axes), ct::prod(x, axes),    ct::mean(x, axes),
                             ct::var(x, axes), ct::all(x > 0, axes), ct::any(x > 2, axes)};
  if (extremes) {
    const std::vector<Variable> more = {ct::max(x, axes), ct::min(x, axes), ct::argmax(x, axes), ct::argmin(x, axes)};
    r.insert(r.end(), more.begin(), more.end());
  }
  return r;
}

/// The elements of each result in double, in C order of the reduced axes.
std::vector<std::vector<double>> groups(const Array& x, const std::vector<int>& axes, Sizes& kept) {
  std::vector<int> order;
  kept.clear();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    order.push_back(axis);
    kept.push_back(x.shape(axis));
  }
  order.insert(order.end(), axes.begin(), axes.end());
  std::int64_t results = 1;
  for (const std::int64_t size : kept) results *= size;
  const Array moved = x.transpose(order).copy();
  std::vector<std::vector<double>> all(static_cast<std::size_t>(results));
  const std::int64_t length = results == 0 ? 0 : moved.size() / results;
  for (std::int64_t i = 0; i < moved.size(); ++i)
    all[static_cast<std::size_t>(i / length)].push_back(moved.as_double(i));
  return all;
}

/// The bound of codegen_templates/common/combine.cuh for a float sum of n elements, relative to the sum of magnitudes;
/// doubled for the rounding of the result and of further operations.
double sum_bound(double n, double magnitudes, DType dtype) {
  const double half_ulp = dtype == DType::float64 ? 0x1p-53 : 0x1p-24;
  const double of_row = 15 + std::log2(std::max(n / 1024, 1.0)), of_column = 16 + std::log2(std::max(n / 16, 1.0));
  return 2 * std::max(of_row, of_column) * half_ulp * magnitudes;
}

/// Checks the outputs of `reductions` against plain loops.
void check_against_loop(const Array& x, const std::vector<int>& axes, const ct::Outputs& got) {
  Sizes kept;
  const auto all = groups(x, axes, kept);
  const DType t = x.dtype();
  const bool extremes = got.size() > 6;
  for (const Array& array : got) REQUIRE(array.shape() == kept);
  double worst = 0;
  bool exact = true;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::vector<double>& v = all[r];
    const auto at = static_cast<std::int64_t>(r);
    const double n = static_cast<double>(v.size());
    long double sum = 0, product = 1, magnitudes = 0;
    bool every = true, some = false;
    for (const double e : v) {
      sum += e;
      product *= e;
      magnitudes += std::abs(e);
      every = every && e > 0;
      some = some || e > 2;
    }
    const double bound = sum_bound(n, static_cast<double>(magnitudes), t) + 1e-300;
    worst = std::max(worst, std::abs(got[0].as_double(at) - static_cast<double>(sum)) / bound);
    const double p = static_cast<double>(product);
    if (std::abs(p) > 1e-30 && std::abs(p) < 1e30) {
      worst = std::max(worst, std::abs(got[1].as_double(at) - p) /
                                  (std::abs(p) * (n + 2) * (t == DType::float64 ? 0x1p-53 : 0x1p-24)));
    }
    exact = exact && (got[4].as_double(at) != 0) == every && (got[5].as_double(at) != 0) == some;
    if (v.empty()) {
      exact = exact && std::isnan(got[2].as_double(at)) && std::isnan(got[3].as_double(at));
      continue;
    }
    const long double mean = sum / v.size();
    long double squares = 0;
    for (const double e : v) squares += (e - mean) * (e - mean);
    worst = std::max(worst, std::abs(got[2].as_double(at) - static_cast<double>(mean)) / (bound / n * 1.1 + 1e-300));
    // The mean's own error enters squared, in addition to the sum's.
    const double var = static_cast<double>(squares / v.size());
    worst = std::max(
        worst, std::abs(got[3].as_double(at) - var) / (sum_bound(n, var, t) + 4 * std::pow(bound / n, 2) + 1e-300));
    if (!extremes) continue;
    const auto largest = std::ranges::max_element(v), smallest = std::ranges::min_element(v);
    exact = exact && got[6].as_double(at) == *largest && got[7].as_double(at) == *smallest;
    exact = exact && got[8].as_double(at) == static_cast<double>(largest - v.begin());
    exact = exact && got[9].as_double(at) == static_cast<double>(smallest - v.begin());
  }
  CHECK(worst <= 1);
  CHECK(exact);
}

void check_same(const ct::Outputs& a, const ct::Outputs& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO("output " << k);
    CHECK(same_bits(a[k], b[k]));
  }
}

void check_close(const ct::Outputs& a, const ct::Outputs& b, double relative) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO("output " << k);
    CHECK(a[k].all_close(b[k], relative, relative));
  }
}

Sizes sizes_of(const std::string& text) {
  Sizes sizes;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t used = 0;
    sizes.push_back(std::stoll(text.substr(at), &used));
    at += used + 1;
  }
  return sizes;
}

/// Computes the reductions of x over these axes in all modes, with one and two threads.
void check_everywhere(const Variable& v, const std::vector<Array>& values, const std::vector<int>& axes,
                      bool reference) {
  const std::vector<Variable> outputs = reductions(v, axes, true);
  const auto run = compile("mode=run", {v}, outputs);
  const auto on_gpus = compile_for_gpus("", {v}, outputs);
  for (const Array& x : values) {
    const std::string shape = ct::Type{x.dtype(), x.shape()}.to_string();
    INFO("shape " << shape << ", axes " << Catch::Detail::stringify(axes));
    const auto on_cpu = [&] {
      const ct::change_flags one("threads=1");
      return run(x);
    }();
    check_against_loop(x, axes, on_cpu);
    {
      const ct::change_flags two("threads=2");
      check_same(on_cpu, run(x));
    }
    for (const auto& f : on_gpus) check_same(on_cpu, f(x));
    if (reference)
      check_close(on_cpu, compile("mode=reference", {v}, outputs)(x), x.dtype() == DType::float64 ? 1e-12 : 2e-4);
  }
}

}  // namespace

TEST_CASE("reductions of vectors around the borders of the trees", "[ops]") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  std::vector<Array> values;
  for (const std::int64_t n : {1, 2, 31, 32, 33, 64, 1000, 1023, 1024, 1025, 2048, 3077, 20000})
    values.push_back(Array::normal(dtype, {n}, 11));
  check_everywhere(ct::vector("x", dtype), values, {0}, true);
}

TEST_CASE("reductions of matrices", "[ops]") {
  const DType dtype = DType::float32;
  const std::vector<int> axes = GENERATE(from_range(subsets(2)));
  std::vector<Array> values;
  for (const char* shape : {"1,33", "32,1", "33,32", "3,1025", "1025,33", "5,20000", "20000,2"}) {
    values.push_back(Array::normal(dtype, sizes_of(shape), 13));
  }
  if (axes.empty()) values.resize(3);
  check_everywhere(ct::matrix("x", dtype), values, axes, false);
}

TEST_CASE("reductions of tensors over every subset of axes", "[ops]") {
  const std::vector<int> axes = GENERATE(from_range(subsets(3)));
  std::vector<Array> values;
  for (const char* shape : {"2,3,4", "33,2,32"}) values.push_back(Array::normal(DType::float32, sizes_of(shape), 17));
  check_everywhere(ct::ftensor3("x"), values, axes, true);
}

TEST_CASE("reductions of four axes", "[ops]") {
  const std::vector<int> axes = GENERATE(from_range(std::vector<std::vector<int>>{{1}, {0, 2}, {1, 3}}));
  check_everywhere(ct::ftensor4("x"), {Array::normal(DType::float32, {2, 3, 4, 5}, 17)}, axes, true);
}

TEST_CASE("every subset of four axes, and double precision", "[ops][slow]") {
  SECTION("tensors") {
    const std::vector<int> axes = GENERATE(from_range(subsets(4)));
    check_everywhere(
        ct::ftensor4("x"),
        {Array::normal(DType::float32, {2, 3, 4, 5}, 17), Array::normal(DType::float32, {3, 1, 33, 2}, 18)}, axes,
        true);
  }
  SECTION("matrices") {
    const std::vector<int> axes = GENERATE(from_range(subsets(2)));
    check_everywhere(ct::dmatrix("x"),
                     {Array::normal(DType::float64, {33, 32}, 19), Array::normal(DType::float64, {3, 1025}, 20),
                      Array::normal(DType::float64, {1025, 3}, 21)},
                     axes, false);
  }
}

TEST_CASE("long reductions of tensors", "[ops][slow]") {
  const int rank = GENERATE(3, 4);
  const std::vector<int> axes = GENERATE_COPY(from_range(subsets(rank)));
  std::vector<Array> values;
  for (const char* shape : rank == 3
                               ? std::vector<const char*>{"1,33,5", "33,1,32", "33,1025,3", "2,3,20000", "1025,2,31"}
                               : std::vector<const char*>{"7,33,5,64", "2,1025,3,33"}) {
    values.push_back(Array::normal(DType::float32, sizes_of(shape), 17));
  }
  const auto x = rank == 3 ? ct::ftensor3("x") : ct::ftensor4("x");
  check_everywhere(x, values, axes, false);
}

namespace {
void check_integers(const std::string& mode, DType dtype) {
  CAPTURE(mode, ct::name_of(dtype));
  const auto x = ct::matrix("x", dtype);
  const auto f = compile(mode, {x},
                         {ct::sum(x, 0), ct::prod(x, 1), ct::max(x, 1), ct::min(x, 0), ct::argmax(x), ct::argmin(x, 1),
                          ct::all(x, 0), ct::any(x, 1), ct::mean(x), ct::sum(x)});
  const bool small = is_bool(dtype);
  const Array a =
      small ? Array::uniform(DType::float64, {37, 5}, 2, 0, 2).astype(DType::int64).astype(DType::bool_)
            : Array::uniform(DType::float64, {37, 5}, 2, is_unsigned_int(dtype) ? 0 : -100, 100).astype(dtype);
  const auto r = f(a);
  const DType wide = is_unsigned_int(dtype) ? DType::uint64 : DType::int64;
  CHECK(r[0].dtype() == wide);
  CHECK(r[1].dtype() == wide);
  CHECK(r[2].dtype() == dtype);
  CHECK(r[4].dtype() == DType::int64);
  CHECK(r[6].dtype() == DType::bool_);
  CHECK(r[8].dtype() == DType::float64);
  std::int64_t total = 0;
  bool right = true;
  double top = -1e9;
  std::int64_t top_at = 0;
  for (std::int64_t i = 0; i < 37; ++i) {
    std::int64_t product = 1, largest = -1000, smallest = 1000, smallest_at = 0;
    bool some = false;
    for (std::int64_t j = 0; j < 5; ++j) {
      const auto v = static_cast<std::int64_t>(a.as_double(i * 5 + j));
      total += v;
      product *= v;
      largest = std::max(largest, v);
      if (v < smallest) smallest = v, smallest_at = j;
      some = some || v != 0;
      if (static_cast<double>(v) > top) top = static_cast<double>(v), top_at = i * 5 + j;
    }
    right =
        right && r[1].as_double(i) == static_cast<double>(is_unsigned_int(dtype)
                                                              ? static_cast<double>(static_cast<std::uint64_t>(product))
                                                              : static_cast<double>(product));
    right = right && r[2].as_double(i) == static_cast<double>(largest) &&
            r[5].as_double(i) == static_cast<double>(smallest_at);
    right = right && (r[7].as_double(i) != 0) == some;
  }
  for (std::int64_t j = 0; j < 5; ++j) {
    double sum = 0, smallest = 1000;
    bool every = true;
    for (std::int64_t i = 0; i < 37; ++i) {
      sum += a.as_double(i * 5 + j);
      smallest = std::min(smallest, a.as_double(i * 5 + j));
      every = every && a.as_double(i * 5 + j) != 0;
    }
    right = right && r[0].as_double(j) == sum && r[3].as_double(j) == smallest && (r[6].as_double(j) != 0) == every;
  }
  CHECK(right);
  CHECK(r[4].item<std::int64_t>() == top_at);
  CHECK(r[8].item<double>() == Approx(static_cast<double>(total) / (37 * 5)).epsilon(1e-15));
  CHECK(r[9].as_double(0) == static_cast<double>(total));
}

}  // namespace

TEST_CASE("reductions of integers and bool", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  check_integers(mode, GENERATE(DType::bool_, DType::int8, DType::int64, DType::uint64));
}
TEST_CASE("reductions of the other integers", "[ops][slow]") {
  const std::string mode = GENERATE(from_range(backends()));
  check_integers(mode, GENERATE(DType::int16, DType::int32, DType::uint8, DType::uint16, DType::uint32));
}

TEST_CASE("integer sums do not overflow their inputs' dtype, and wrap in 64 bits", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto x = ct::bvector("x");
  CHECK(compile(mode, {x}, {ct::sum(x)})(Array::full(DType::int8, {3000}, 127))[0].item<std::int64_t>() == 381000);
  const auto y = ct::lvector("y");
  const std::int64_t top = std::numeric_limits<std::int64_t>::max();
  const auto r = compile(mode, {y}, {ct::sum(y), ct::max(y), ct::prod(y)})(Array{top, std::int64_t{1}});
  CHECK(r[0].item<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(r[1].item<std::int64_t>() == top);
  CHECK(r[2].item<std::int64_t>() == top);
  const auto z = ct::vector("z", DType::uint64);
  const std::uint64_t high = ~std::uint64_t{0};
  CHECK(compile(mode, {z}, {ct::max(z)})(Array{std::uint64_t{5}, high, high - 1})[0].item<std::uint64_t>() == high);
}

TEST_CASE("16-bit floats accumulate in 32", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  const auto x = ct::vector("x", dtype);
  const auto f = compile(mode, {x}, {ct::sum(x), ct::mean(x), ct::max(x), ct::sum(x, [] {
                                       ct::ReduceOptions o;
                                       o.dtype = DType::float64;
                                       return o;
                                     }())});
  const auto r = f(Array::full(dtype, {4096}, 0.5));
  CHECK(r[0].dtype() == dtype);
  CHECK(r[0].as_double(0) == 2048);  // float16 sums of 0.5 would stop at 1024
  CHECK(r[1].as_double(0) == 0.5);
  CHECK(r[2].as_double(0) == 0.5);
  CHECK(r[3].dtype() == DType::float64);
  CHECK(r[3].as_double(0) == 2048);
}

namespace {

ct::ReduceOptions dtypes(std::optional<DType> dtype, std::optional<DType> acc_dtype, bool keepdims = false) {
  ct::ReduceOptions options(std::nullopt, keepdims);
  options.dtype = dtype;
  options.acc_dtype = acc_dtype;
  return options;
}

/// 1e8 and 4096 ones, of which float32 keeps at most some: the last place of 1e8 is 8.
Array one_large() {
  Array x = Array::full(DType::float32, {4097}, 1);
  x.at<float>(0) = 1e8f;
  return x;
}

}  // namespace

TEST_CASE("sums are computed in acc_dtype and have dtype", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::fvector("x"), h = ct::vector("h", DType::float16);
  const auto b = ct::bvector("b"), u = ct::vector("u", DType::uint8);
  const auto f = compile(
      mode, {x, h, b, u},
      {ct::sum(x, dtypes({}, DType::float64)), ct::mean(x, dtypes({}, DType::float64)),
       ct::sum(x, dtypes(DType::float64, {})), ct::sum(x, dtypes(DType::float64, DType::float32)), ct::sum(h),
       ct::sum(h, dtypes({}, DType::float16)), ct::sum(h, dtypes({}, DType::float32)),
       ct::sum(b, dtypes(DType::int64, {})), ct::sum(b, dtypes(DType::int8, {})),
       ct::sum(b, dtypes(DType::int64, DType::int8)), ct::prod(u, dtypes(DType::uint8, {})),
       ct::prod(u, dtypes(DType::float64, DType::float64)), ct::mean(b, dtypes({}, DType::int64)),
       ct::count_nonzero(b, dtypes(DType::int16, {})), ct::sum(x[ct::slice(1, 4)] + 2048, dtypes({}, DType::float16))});
  const auto r = f(one_large(), Array::full(DType::float16, {4096}, 1), Array::full(DType::int8, {200}, 100),
                   Array::full(DType::uint8, {5}, 7));
  CHECK(r[0].dtype() == DType::float32);
  CHECK(r[0].item<float>() == 100004096.f);
  CHECK(r[1].item<float>() == static_cast<float>(100004096.0 / 4097));
  CHECK(r[2].item<double>() == 100004096.0);
  CHECK(r[3].dtype() == DType::float64);
  CHECK((r[3].item<double>() < 100004096.0 || mode == "mode=reference"));  // the evaluator always adds in float64
  for (const std::size_t i : {4, 5, 6}) {
    CHECK(r[i].dtype() == DType::float16);
    CHECK(r[i].as_double(0) == 4096);  // a running sum of float16 would stay at 2048
  }
  CHECK(r[7].item<std::int64_t>() == 20000);
  CHECK(r[8].dtype() == DType::int8);
  CHECK(r[8].as_double(0) == 20000 - 78 * 256);
  CHECK(r[9].item<std::int64_t>() == 20000 - 78 * 256);
  CHECK(r[10].as_double(0) == 16807 % 256);
  CHECK(r[11].item<double>() == 16807);
  CHECK(r[12].item<double>() == 100);
  CHECK(r[13].dtype() == DType::int16);
  CHECK(r[13].as_double(0) == 200);
  CHECK(r[14].dtype() == DType::float32);
  CHECK(r[14].as_double(0) == 3 * 2048);  // each 2049 is rounded first
}

TEST_CASE("spreads, norms and sums of exponentials are computed in acc_dtype and have dtype", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::fvector("x"), h = ct::vector("h", DType::float16);
  const auto b = ct::bvector("b");
  const auto wide = dtypes({}, DType::float64), narrow = dtypes(DType::float16, {});
  const auto f =
      compile(mode, {x, h, b},
              {ct::var(x, wide), ct::std(x, wide), ct::norm(x, 2, wide), ct::norm(x, 3, wide), ct::logsumexp(x, wide),
               ct::var(h, dtypes(DType::float32, {})), ct::std(h, narrow), ct::std(x, narrow), ct::var(x, narrow),
               ct::norm(h, 2, dtypes({}, DType::float32)), ct::norm(h, 2, dtypes(DType::float64, {}, true)),
               ct::var(b, dtypes(DType::float32, {}), 1), ct::logsumexp(b, dtypes(DType::float16, {})),
               ct::norm(x, 1, dtypes(DType::float64, DType::float64)), ct::logsumexp(h, dtypes(DType::float32, {}))});
  // Squares beyond float32, next to numbers that a mean in float32 would lose.
  const auto r = f(Array{3e30f, 4e30f}, Array{1000.f, 1001.f, 1002.f}.astype(DType::float16),
                   Array{std::int8_t{-100}, std::int8_t{100}});
  CHECK(r[0].dtype() == DType::float32);
  CHECK(std::isinf(r[0].item<float>()));  // 2.5e59 is no float32
  CHECK(r[1].item<float>() == Approx(0.5e30));
  CHECK(r[2].item<float>() == Approx(5e30));
  CHECK(r[3].item<float>() == Approx(std::cbrt(91.0) * 1e30));
  CHECK(r[4].item<float>() == 4e30f);
  CHECK(r[5].dtype() == DType::float32);
  CHECK(r[5].as_double(0) == Approx(2.0 / 3).epsilon(1e-6));
  CHECK(r[6].dtype() == DType::float16);
  CHECK(r[6].as_double(0) == Approx(std::sqrt(2.0 / 3)).epsilon(1e-3));
  CHECK(r[7].dtype() == DType::float16);
  CHECK(std::isinf(r[8].as_double(0)));
  CHECK(r[9].dtype() == DType::float16);
  CHECK(r[9].as_double(0) == Approx(std::sqrt(3006005.0 - 1000)).epsilon(1e-3));
  CHECK(r[10].dtype() == DType::float64);
  CHECK(r[10].shape() == Sizes{1});
  CHECK(r[10].as_double(0) == Approx(std::sqrt(1e6 + 1001.0 * 1001 + 1002.0 * 1002)).epsilon(1e-14));
  CHECK(r[11].dtype() == DType::float32);
  CHECK(r[11].as_double(0) == 20000);
  CHECK(r[12].dtype() == DType::float16);
  CHECK(r[12].as_double(0) == 100);
  CHECK(r[13].item<double>() == Approx(7e30).epsilon(1e-6));
  CHECK(r[14].dtype() == DType::float32);
  CHECK(r[14].as_double(0) == Approx(1002 + std::log(1 + std::exp(-1.0) + std::exp(-2.0))).epsilon(1e-7));
  // By default they overflow: the options above prevent it.
  const auto plain = compile(mode, {x}, {ct::norm(x), ct::std(x)});
  CHECK((std::isinf(plain(Array{3e30f, 4e30f})[0].item<float>()) || mode == "mode=reference"));
}

TEST_CASE("a spread of float32 around a large mean, computed in float64", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto x = ct::fvector("x");
  const auto r = compile(mode, {x}, {ct::var(x, dtypes({}, DType::float64)), ct::var(x, dtypes(DType::float64, {}))})(
      Array{16777216.f, 16777218.f, 16777222.f});
  // The mean is not a float32; rounding it to one would give an error of 0.67.
  CHECK(r[0].as_double(0) == Approx(56.0 / 9).epsilon(1e-7));
  CHECK(r[1].as_double(0) == Approx(56.0 / 9).epsilon(1e-15));
}

TEST_CASE("extremes and positions have dtype, and refuse what means nothing to them", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto b = ct::bvector("b"), x = ct::fvector("x");
  const auto f = compile(mode, {b, x},
                         {ct::max(b, dtypes(DType::int64, {})), ct::min(b, dtypes(DType::float16, {}, true)),
                          ct::ptp(b), ct::ptp(b, dtypes(DType::int16, {})), ct::ptp(b, dtypes(DType::uint8, {})),
                          ct::argmax(b, dtypes(DType::int32, {})), ct::argmin(b, dtypes(DType::uint8, {}, true)),
                          ct::all(b, dtypes(DType::bool_, {})), ct::ptp(x, dtypes({}, DType::float64)),
                          ct::max(x, dtypes(DType::int32, {}))});
  const auto r = f(Array{std::int8_t{-128}, std::int8_t{0}, std::int8_t{127}}, Array{-3e38f, 3e38f});
  const auto is = [&](std::size_t at, DType dtype, double value) {
    INFO("result " << at);
    CHECK(r[at].dtype() == dtype);
    CHECK(r[at].as_double(0) == value);
  };
  is(0, DType::int64, 127);
  is(1, DType::float16, -128);
  CHECK(r[1].shape() == Sizes{1});
  is(2, DType::int8, -1);
  is(3, DType::int16, 255);
  is(4, DType::uint8, 255);
  is(5, DType::int32, 2);
  is(6, DType::uint8, 0);
  is(7, DType::bool_, 0);
  CHECK(std::isinf(r[8].item<float>()));  // 6e38 is no float32
  is(9, DType::int32, 2147483647);
}

TEST_CASE("reductions refuse dtypes that mean nothing to them, by name", "[ops]") {
  const auto x = ct::fmatrix("x");
  const auto refused = [](auto f, const std::string& text) {
    CHECK_THROWS_AS(f(), ct::TypeError);
    CHECK_THROWS_WITH(f(),
                      Catch::Contains(text) && Catch::Contains("x is f32[?, ?]") && Catch::Contains("test_reduce.cpp"));
  };
  const auto whole = dtypes({}, DType::int32), wide = dtypes({}, DType::float64);
  refused([&] { return ct::max(x, wide); }, "max");
  refused([&] { return ct::min(x, wide); }, "acc_dtype=float64, but nothing is added up");
  refused([&] { return ct::argmax(x, wide); }, "argmax");
  refused([&] { return ct::all(x, wide); }, "all");
  refused([&] { return ct::any(x, dtypes(DType::int8, {})); }, "dtype=int8; the result is bool");
  refused([&] { return ct::argmin(x, dtypes(DType::float32, {})); }, "dtype=float32; a position is an integer");
  refused([&] { return ct::argmin(x, dtypes(DType::bool_, {})); }, "a position is an integer");
  refused([&] { return ct::var(x, whole); }, "acc_dtype=int32; it is computed in floats");
  refused([&] { return ct::std(x, whole); }, "std");
  refused([&] { return ct::norm(x, 2, whole); }, "norm");
  refused([&] { return ct::logsumexp(x, whole); }, "logsumexp");
  refused([&] { return ct::max_and_argmax(x, dtypes(DType::int8, {})).first; }, "there are two results");
}

TEST_CASE("gradients through reductions with dtypes", "[ops]") {
  const Array a = Array::uniform(DType::float64, {3, 4}, 5, 0.3, 2);
  ct::ReduceOptions wide(1);
  wide.dtype = wide.acc_dtype = DType::float64;
  const auto x = ct::fmatrix("x");
  for (const auto& f : std::vector<std::function<Variable(const Variable&, const ct::ReduceOptions&)>>{
           [](const Variable& v, const ct::ReduceOptions& o) { return ct::sum(v, o); },
           [](const Variable& v, const ct::ReduceOptions& o) { return ct::mean(v, o); },
           [](const Variable& v, const ct::ReduceOptions& o) { return ct::prod(v, o); },
           [](const Variable& v, const ct::ReduceOptions& o) { return ct::std(v, o, 1); },
           [](const Variable& v, const ct::ReduceOptions& o) { return ct::norm(v, 3, o); },
           [](const Variable& v, const ct::ReduceOptions& o) { return ct::logsumexp(v, o); }}) {
    CHECK(grad_error([&](const std::vector<Variable>& v) { return f(v[0], wide); }, {a}, 2) < 1e-5);
    const Variable g = ct::grad(ct::sum(f(x, wide)), x);
    CHECK(g.dtype() == DType::float32);
  }
}

TEST_CASE("nan wins, the first of equals is found", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float16, DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const auto x = ct::vector("x", dtype);
  const auto f = compile(mode, {x}, {ct::max(x), ct::min(x), ct::argmax(x), ct::argmin(x), ct::sum(x)});
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const std::int64_t n : {5, 40, 1500, 5000}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      Array a = Array::uniform(DType::float64, {n}, 3, -1, 1);
      a.at<double>(at) = nan;
      if (at + 1 < n) a.at<double>(n - 1) = nan;
      auto r = f(a.astype(dtype));
      INFO("nan at " << at << " of " << n);
      CHECK(std::isnan(r[0].as_double(0)));
      CHECK(std::isnan(r[1].as_double(0)));
      CHECK(r[2].item<std::int64_t>() == at);
      CHECK(r[3].item<std::int64_t>() == at);
      CHECK(std::isnan(r[4].as_double(0)));
    }
    Array ties = Array::zeros(DType::float64, {n});
    for (const std::int64_t at : {n / 3, n / 2, n - 1}) ties.at<double>(at) = 7;
    const auto r = f(ties.astype(dtype));
    CHECK(r[2].item<std::int64_t>() == n / 3);
    CHECK(r[3].item<std::int64_t>() == (n / 3 == 0 ? 1 : 0));
    const auto same = f(Array::full(dtype, {n}, -inf));
    CHECK(same[0].as_double(0) == -inf);
    CHECK(same[2].item<std::int64_t>() == 0);
    CHECK(same[3].item<std::int64_t>() == 0);
  }
  const auto m = ct::matrix("m", dtype);
  const auto g = compile(mode, {m}, {ct::max(m, 0), ct::argmax(m, 0), ct::min(m, 1)});
  const auto s = g(Array{{1., nan, 3.}, {1., 2., 5.}, {0., 9., 5.}}.astype(dtype));
  CHECK(same_bits(s[0], Array{1., nan, 5.}.astype(dtype)));
  CHECK(s[1].equals(Array{std::int64_t{0}, std::int64_t{0}, std::int64_t{1}}));
  CHECK(same_bits(s[2], Array{nan, 1., 0.}.astype(dtype)));
}

TEST_CASE("reductions of nothing", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const auto f = compile(
      mode, {x},
      {ct::sum(x, 0), ct::prod(x, 0), ct::mean(x, 0), ct::all(x > 0, 0), ct::any(x > 0, 0), ct::sum(x), ct::sum(x, 1)});
  const auto r = f(Array::zeros(DType::float32, {0, 3}));
  CHECK(r[0].equals(Array{0.f, 0.f, 0.f}));
  CHECK(r[1].equals(Array{1.f, 1.f, 1.f}));
  CHECK(std::isnan(r[2].as_double(1)));
  CHECK(r[3].equals(Array{true, true, true}));
  CHECK(r[4].equals(Array{false, false, false}));
  CHECK(r[5].equals(Array(0.f)));
  CHECK(r[6].shape() == Sizes{0});
  for (const auto reduce : {ct::max, ct::min, ct::argmax, ct::argmin}) {
    const auto g = compile(mode, {x}, {reduce(x, ct::ReduceOptions(0))});
    CHECK_THROWS_AS(g(Array::zeros(DType::float32, {0, 3})), ct::ValueError);
    CHECK(g(Array::zeros(DType::float32, {3, 0}))[0].shape() == Sizes{0});  // no result, so no element is missing
    const auto whole = compile(mode, {x}, {reduce(x, {})});
    CHECK_THROWS_AS(whole(Array::zeros(DType::float32, {0, 3})), ct::ValueError);
    CHECK_THROWS_AS(whole(Array::zeros(DType::float32, {3, 0})), ct::ValueError);
  }
}

TEST_CASE("axes, keepdims and their errors", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto x = ct::ftensor3("x");
  ct::ReduceOptions keep(std::vector<int>{0, -1}, true);
  const auto f =
      compile(mode, {x},
              {ct::sum(x, keep), x - ct::mean(x, ct::ReduceOptions(std::nullopt, true)), ct::sum(x, std::vector<int>{}),
               ct::sum(x, std::vector<int>{2, 0}), x / ct::sum(x, ct::ReduceOptions(std::vector<int>{1}, true))});
  const Array a = Array::uniform(DType::float32, {2, 3, 4}, 1, 1, 2);
  const auto r = f(a);
  CHECK(r[0].shape() == Sizes{1, 3, 1});
  CHECK(r[1].shape() == Sizes{2, 3, 4});
  CHECK(r[2].equals(a));
  CHECK(r[3].shape() == Sizes{3});
  CHECK(r[0].reshape({3}).same_bits(r[3]));
  CHECK(r[4].as_double(0) == Approx(a.as_double(0) / (a.as_double(0) + a.as_double(4) + a.as_double(8))));
  CHECK_THROWS_AS(ct::sum(x, 3), ct::Error);
  CHECK_THROWS_AS(ct::sum(x, -4), ct::Error);
  CHECK_THROWS_AS(ct::sum(x, std::vector<int>{1, 1}), ct::Error);
}

TEST_CASE("bits of sums depend on no layout and no neighbour", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  const auto x = ct::matrix("x");
  const auto both = compile(mode, {x}, {ct::sum(x, 0), ct::sum(x, 1), ct::sum(x), ct::max(x, 0), ct::argmax(x, 1)});
  const Array a = Array::normal(DType::float32, {70, 1100}, 5);
  const auto wanted = both(a);
  for (const Layout& layout : layouts_of(a)) {
    INFO(layout.name);
    check_same(wanted, both(layout.array));
  }
  // Alone, or fused with operations before and after: one tree.
  const auto alone = compile(mode, {x}, {ct::sum(x, 0)});
  CHECK(same_bits(alone(a)[0], wanted[0]));
  const auto fused = compile(mode, {x}, {ct::sum(-(-x), 0) + 0, ct::exp(ct::sum(x * 1, 1)) * 0 + ct::sum(x, 1)});
  CHECK(same_bits(fused(a)[0], wanted[0]));
  CHECK(same_bits(fused(a)[1], wanted[1]));
}

TEST_CASE("sums of float32 keep the documented bound", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  const auto x = ct::fvector("x");
  const auto f = compile(mode, {x}, {ct::sum(x)});
  for (const std::int64_t n : {100, 1024, 100000}) {
    for (const double low : {0.0, -1.0}) {
      const Array a = Array::uniform(DType::float32, {n}, 9, low, 1);
      long double sum = 0, magnitudes = 0;
      for (const float v : a.data<float>()) {
        sum += v;
        magnitudes += std::abs(v);
      }
      const double bound =
          (15 + std::log2(std::max(static_cast<double>(n) / 1024, 1.0))) * 0x1p-24 * static_cast<double>(magnitudes);
      CHECK(std::abs(static_cast<double>(f(a)[0].item<float>() - sum)) <= bound);
    }
  }
  // A million equal numbers: a running sum in float32 would be off by a percent.
  const Array many = Array::full(DType::float32, {1000000}, 0.1);
  CHECK(f(many)[0].item<float>() == Approx(1000000 * static_cast<double>(0.1f)).epsilon(1e-6));
}

// The texts are compiled by another test (the flag dump_kernels); other tests of this file run them.
TEST_CASE("every reduction of every dtype has CUDA text in every family", "[ops]") {
  const std::pair<std::vector<int>, std::string> families[] = {{{1}, "row_"}, {{0}, "column_"}, {{0, 1}, "split_"}};
  for (const DType dtype : real_dtypes) {
    const Variable x = ct::matrix("x", dtype);
    for (const auto& [axes, family] : families) {
      INFO(ct::name_of(dtype) << ", " << family);
      const auto kernels = compile("mode=run", {x}, reductions(x, axes, true)).kernels("cuda:sm_90");
      REQUIRE(!kernels.empty());
      CHECK(kernels[0].name.starts_with(family));
    }
  }
}

TEST_CASE("64 bits with and without a sign are no floats on the way", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const auto x = ct::variable({DType::int64, {ct::unknown_size}}, "x");
  const ct::ReduceOptions all = [] {
    ct::ReduceOptions options;
    options.dtype = DType::uint64;
    return options;
  }();
  const auto f = compile(mode, {x}, {ct::sum(x, all), ct::cumsum(x, {}, DType::uint64), ct::ptp(x, all)});
  const auto r = f(Array{large, large, std::int64_t{5}});
  CHECK(r[0].item<std::uint64_t>() == 2 * static_cast<std::uint64_t>(large) + 5);
  CHECK(r[1].data<std::uint64_t>()[1] == 2 * static_cast<std::uint64_t>(large));
  CHECK(r[2].item<std::uint64_t>() == static_cast<std::uint64_t>(large) - 5);
  CHECK(f(Array{std::int64_t{-3}})[0].item<std::uint64_t>() == ~std::uint64_t{2});  // as NumPy wraps
}
