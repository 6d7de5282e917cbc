// Random numbers: Philox against its authors' known answers, each distribution against its theory (moments, Kolmogorov
// and Smirnov's test, chi-square) with fixed seeds, equal bits on all back-ends and for any number of threads, and the
// states between calls.
#include "samples.hpp"

#include "ops/random/random_reference.hpp"

#include <functional>
#include <numbers>
#include <numeric>

using namespace croton_test;
namespace reference = croton::ops::reference;
using ct::RandomStreams;
using Words = std::vector<std::uint64_t>;

namespace {

std::vector<double> values_of(const Array& array) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array.as_double(i));
  return values;
}

/// sqrt(n) sup |F_n - F|: above 1.95 with probability 0.001 if the distribution is right.
double kolmogorov(std::vector<double> x, const std::function<double(double)>& law) {
  std::ranges::sort(x);
  double worst = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double f = law(x[i]), at = static_cast<double>(i);
    worst = std::max({worst, std::abs(f - at / n), std::abs((at + 1) / n - f)});
  }
  return worst * std::sqrt(n);
}

/// Chi-square of counts minus its mean, in deviations: above 3.5 with a probability of about 0.001.
double chi_square(const std::vector<double>& counts, const std::vector<double>& expected) {
  REQUIRE(counts.size() == expected.size());
  double sum = 0;
  int classes = 0;
  double rare = 0, rare_expected = 0;
  const auto add = [&](double count, double wanted) {
    sum += (count - wanted) * (count - wanted) / wanted;
    ++classes;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] >= 10) {
      add(counts[i], expected[i]);
    } else {  // rare values are combined
      rare += counts[i];
      rare_expected += expected[i];
    }
  }
  if (rare_expected >= 5) add(rare, rare_expected);
  REQUIRE(classes > 1);
  return (sum - (classes - 1)) / std::sqrt(2.0 * (classes - 1));
}

std::vector<double> counts_of(const std::vector<double>& values, std::size_t classes) {
  std::vector<double> counts(classes, 0);
  for (const double v : values) {
    REQUIRE((v >= 0 && v == std::floor(v)));
    ++counts[std::min(static_cast<std::size_t>(v), classes - 1)];
  }
  return counts;
}

/// Means of x and of (x - mean)^2, both within 4 deviations of their own.
void check_moments(const std::vector<double>& x, double mean, double variance, double fourth_moment_over_variance2) {
  const auto n = static_cast<double>(x.size());
  const double m = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double v = 0;
  for (const double each : x) v += (each - mean) * (each - mean) / n;
  CHECK(std::abs(m - mean) < 4 * std::sqrt(variance / n));
  CHECK(std::abs(v - variance) < 4 * variance * std::sqrt((fourth_moment_over_variance2 - 1) / n));
}

double normal_law(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

constexpr std::int64_t many = 200'000;

}  // namespace

TEST_CASE("Philox gives the known answers of its authors", "[random]") {
  struct Known {
    std::uint64_t key, count, index, low, high;
  };
  // Of kat_vectors of Random123: counter {index, count}, key, result.
  const Known all[] = {
      {0, 0, 0, 0xe169c58d'6627e8d5, 0x9b00dbd8'bc57ac4c},
      {~0ULL, ~0ULL, ~0ULL, 0x41c83b0e'408f276d, 0x6d5451fd'a20bc7c6},
      {0x299f31d0'a4093822, 0x03707344'13198a2e, 0x85a308d3'243f6a88, 0x94fdcceb'd16cfe09, 0x24126ea1'5001e420}};
  Words key, count, index, low, high;
  for (const Known& known : all) {
    CHECK(reference::philox(known.key, known.count, known.index) == std::pair{known.low, known.high});
    key.push_back(known.key);
    count.push_back(known.count);
    index.push_back(known.index);
    low.push_back(known.low);
    high.push_back(known.high);
  }
  const Variable k = ct::vector("k", DType::uint64), c = ct::vector("c", DType::uint64),
                 i = ct::vector("i", DType::uint64);
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(
        backend, {k, c, i},
        {ct::builder::apply("philox_low", {k, c, i}, {}, {}), ct::builder::apply("philox_high", {k, c, i}, {}, {})});
    const ct::Outputs got = f(Array(key), Array(count), Array(index));
    CHECK(got[0].equals(Array(low)));
    CHECK(got[1].equals(Array(high)));
  }
}

TEST_CASE("the rows of random numbers agree with their references", "[random]") {
  // The bits of some keys, and the extremes.
  Words bits{0,          1,          ~0ULL,     1ULL << 63, (1ULL << 63) - 1, 1ULL << 41, (1ULL << 41) - 1,
             1ULL << 12, 0x7fffffff, 0x80000000};
  for (std::uint64_t i = 0; i < 500; ++i) bits.push_back(reference::philox(7, 0, i).first);
  Words others(bits.rbegin(), bits.rend());
  const Variable a = ct::vector("a", DType::uint64), b = ct::vector("b", DType::uint64);
  const auto row = [&](const char* name, std::vector<Variable> inputs) {
    return ct::builder::apply(name, inputs, {}, {});
  };
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {a, b},
                           {row("unit32", {a}), row("unit64", {a}), row("normal32", {a}), row("normal64", {a, b}),
                            row("random_below", {a, b})});
    const ct::Outputs got = f(Array(bits), Array(others));
    for (std::size_t i = 0; i < bits.size(); ++i) {
      INFO(bits[i] << " " << others[i]);
      const auto at = static_cast<std::int64_t>(i);
      CHECK(got[0].as_double(at) == reference::unit32(bits[i]));
      CHECK(got[1].as_double(at) == reference::unit64(bits[i]));
      CHECK((got[0].as_double(at) > 0 && got[0].as_double(at) < 1 && got[1].as_double(at) > 0 &&
             got[1].as_double(at) < 1));
      // log, sqrt and the cosine each have errors up to 2 ULP.
      const double z32 = reference::normal32(bits[i]), z64 = reference::normal64(bits[i], others[i]);
      CHECK(std::abs(got[2].as_double(at) - z32) <= 8 * 0x1p-24 * std::abs(z32));
      CHECK(std::abs(got[3].as_double(at) - z64) <= 8 * 0x1p-53 * std::abs(z64));
      CHECK(got[4].at<std::uint64_t>(at) == reference::random_below(bits[i], others[i]));
    }
  }
  CHECK(reference::random_below(~0ULL, 10) == 9);
  CHECK(reference::random_below(1ULL << 63, 10) == 5);
}

TEST_CASE("samplers draw what their references draw, in all their ranges", "[random]") {
  const double huge = 1e300, inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> shapes{0, 1e-300, 1e-5, 0.1, 0.5, 0.999, 1, 1.5, 3, 50, 1e6, huge, inf, nan, -1};
  const std::vector<double> means{0, 1e-300, 0.1, 1, 5, 9.999, 10, 10.5, 30, 1e3, 1e6, 1e12, inf, nan, -1};
  const std::vector<double> trials{0, 1, 2, 5, 10, 19, 21, 100, 1000, 1e6, 1e9, 3.7, inf, nan, -1};
  const std::vector<double> p{0, 0.3, 1, 0.5, 0.01, 0.999, 0.5, 0.2, 0.77, 1e-9, 0.25, 0.5, 0.5, 0.5, 0.5};
  const auto column = [](const std::vector<double>& v) {
    return Array(v).reshape({static_cast<std::int64_t>(v.size()), 1});
  };
  const Variable k = ct::scalar("k", DType::uint64), c = ct::scalar("c", DType::uint64),
                 i = ct::vector("i", DType::uint64);
  const Variable x = ct::col("x", DType::float64), y = ct::col("y", DType::float64);
  const auto bits = [](const Variable& v) { return ct::builder::apply("bits_of_double", {v}, {}, {}); };
  constexpr std::uint64_t each = 60;
  Words index(each);
  std::iota(index.begin(), index.end(), 0);
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto gamma =
        compile(backend, {k, c, i, x}, {ct::builder::apply("sample_log_gamma", {k, c, i, bits(x)}, {}, {})});
    const auto poisson =
        compile(backend, {k, c, i, x}, {ct::builder::apply("sample_poisson", {k, c, i, bits(x)}, {}, {})});
    const auto binomial =
        compile(backend, {k, c, i, x, y}, {ct::builder::apply("sample_binomial", {k, c, i, bits(x), bits(y)}, {}, {})});
    const Array key(std::uint64_t{99}), count(std::uint64_t{3});
    const Array g = gamma(key, count, Array(index), column(shapes)),
                q = poisson(key, count, Array(index), column(means)),
                b = binomial(key, count, Array(index), column(trials), column(p));
    const auto same = [](double got, double wanted) {
      return (std::isnan(got) && std::isnan(wanted)) || got == wanted ||
             std::abs(got - wanted) <= 1e-13 * std::max(1.0, std::abs(wanted));
    };
    for (std::size_t row = 0; row < shapes.size(); ++row) {
      for (std::uint64_t n = 0; n < each; ++n) {
        const auto at = static_cast<std::int64_t>(row * each + n);
        INFO(shapes[row] << " " << means[row] << " " << trials[row] << " " << p[row] << " element " << n);
        CHECK(same(g.as_double(at), reference::sample_log_gamma(99, 3, n, shapes[row])));
        CHECK(same(q.as_double(at), reference::sample_poisson(99, 3, n, means[row])));
        CHECK(same(b.as_double(at), reference::sample_binomial(99, 3, n, trials[row], p[row])));
      }
    }
  }
}

TEST_CASE("real numbers follow their laws", "[random]") {
  RandomStreams streams(2024);
  const auto draw = [](const Variable& v) { return values_of(ct::function({}, v)()); };
  for (const DType dtype : {DType::float32, DType::float64}) {
    INFO(name_of(dtype));
    const std::vector<double> u = draw(streams.uniform({many}, 0, 1, dtype));
    CHECK(kolmogorov(u, [](double x) { return x; }) < 1.95);
    CHECK((*std::ranges::min_element(u) > 0 && *std::ranges::max_element(u) < 1));
    check_moments(u, 0.5, 1.0 / 12, 1.8);
    const std::vector<double> v = draw(streams.uniform({many}, -2, 6, dtype));
    CHECK(kolmogorov(v, [](double x) { return (x + 2) / 8; }) < 1.95);
    const std::vector<double> z = draw(streams.normal({many}, 0, 1, dtype));
    CHECK(kolmogorov(z, normal_law) < 1.95);
    check_moments(z, 0, 1, 3);
    const std::vector<double> moved = draw(streams.normal({many}, 5, 0.25, dtype));
    CHECK(kolmogorov(moved, [](double x) { return normal_law((x - 5) / 0.25); }) < 1.95);
    const std::vector<double> cut = draw(streams.truncated_normal({many}, 1, 3, dtype));
    CHECK((*std::ranges::min_element(cut) >= -5 && *std::ranges::max_element(cut) <= 7));
    const double below = normal_law(-2), share = normal_law(2) - below;
    CHECK(kolmogorov(cut, [&](double x) { return (normal_law((x - 1) / 3) - below) / share; }) < 1.95);
    const std::vector<double> e = draw(streams.exponential({many}, 2, dtype));
    CHECK(kolmogorov(e, [](double x) { return 1 - std::exp(-x / 2); }) < 1.95);
    check_moments(e, 2, 4, 9);
  }
  // Neighbours and successive calls are independent.
  const auto f = ct::function({}, streams.normal({many}, 0, 1, DType::float64));
  const std::vector<double> a = values_of(f()), b = values_of(f());
  double neighbours = 0, calls = 0;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) {
    neighbours += a[i] * a[i + 1];
    calls += a[i] * b[i];
  }
  CHECK(std::abs(neighbours) < 4 * std::sqrt(double{many}));
  CHECK(std::abs(calls) < 4 * std::sqrt(double{many}));
}

TEST_CASE("gamma and beta numbers follow their laws", "[random]") {
  RandomStreams streams(77);
  const Variable order = ct::scalar("order", DType::float64), at = ct::vector("at", DType::float64);
  const auto law = ct::function({order, at}, ct::gammainc(order, at));
  for (const double alpha : {0.05, 0.5, 1.0, 2.5, 40.0}) {
    INFO("alpha " << alpha);
    std::vector<double> x = values_of(ct::function({}, streams.gamma({many}, alpha, 3, DType::float64))());
    std::ranges::sort(x);
    for (double& each : x) each /= 3;
    const std::vector<double> f = values_of(law(alpha, Array(x)));
    std::size_t next = 0;
    CHECK(kolmogorov(x, [&](double) { return f[next++]; }) < 1.95);
  }
  check_moments(values_of(ct::function({}, streams.gamma({many}, 4, 0.5, DType::float32))()), 2, 1, 4.5);
  for (const double a : {0.01, 0.7, 5.0}) {
    INFO("a " << a);
    const std::vector<double> x = values_of(ct::function({}, streams.beta({many}, a, 1, DType::float64))());
    CHECK(kolmogorov(x, [&](double v) { return std::pow(v, a); }) < 1.95);
    const std::vector<double> y = values_of(ct::function({}, streams.beta({many}, 1, a, DType::float64))());
    // Near 1 numbers are coarser than the draws for a small b.
    if (a > 0.5) CHECK(kolmogorov(y, [&](double v) { return 1 - std::pow(1 - v, a); }) < 1.95);
  }
  check_moments(values_of(ct::function({}, streams.beta({many}, 2, 3))()), 0.4, 0.04, 2.3571428571428572);
  CHECK_FALSE(std::ranges::any_of(values_of(ct::function({}, streams.beta({10000}, 1e-3, 1e-3))()),
                                  [](double v) { return std::isnan(v) || v < 0 || v > 1; }));
}

TEST_CASE("whole numbers follow their laws", "[random]") {
  RandomStreams streams(5);
  const auto draw = [](const Variable& v) { return values_of(ct::function({}, v)()); };
  for (const double mean : {0.3, 4.0, 9.5, 10.0, 25.0, 400.0}) {
    INFO("Poisson " << mean);
    const auto classes = static_cast<std::size_t>(mean + 12 * std::sqrt(mean) + 10);
    std::vector<double> expected;
    for (std::size_t k = 0; k < classes; ++k)
      expected.push_back(
          many * std::exp(static_cast<double>(k) * std::log(mean) - mean - std::lgamma(static_cast<double>(k) + 1)));
    CHECK(std::abs(chi_square(counts_of(draw(streams.poisson({many}, mean)), classes), expected)) < 3.5);
  }
  for (const auto& [n, p] : {std::pair{5, 0.3}, {30, 0.2}, {30, 0.9}, {100, 0.5}, {1000, 0.95}, {100000, 0.001}}) {
    INFO("binomial " << n << " " << p);
    const auto classes = static_cast<std::size_t>(n) + 1;
    std::vector<double> expected;
    for (int k = 0; k <= n; ++k)
      expected.push_back(many * std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                                         k * std::log(p) + (n - k) * std::log1p(-p)));
    CHECK(std::abs(chi_square(counts_of(draw(streams.binomial({many}, n, p)), classes), expected)) < 3.5);
  }
  std::vector<double> flips = draw(streams.bernoulli({many}, 0.3));
  CHECK(std::abs(std::accumulate(flips.begin(), flips.end(), 0.0) - 0.3 * many) < 4 * std::sqrt(0.21 * many));
  flips = draw(streams.binomial({many}, 1, 0.3));
  CHECK(std::abs(std::accumulate(flips.begin(), flips.end(), 0.0) - 0.3 * many) < 4 * std::sqrt(0.21 * many));
  CHECK(std::abs(chi_square(counts_of(draw(streams.integers({many}, 0, 7)), 7), std::vector<double>(7, many / 7.0))) <
        3.5);
  const std::vector<double> inclusive = draw(streams.random_integers({many}, -3, 3, DType::int8));
  CHECK((*std::ranges::min_element(inclusive) == -3 && *std::ranges::max_element(inclusive) == 3));
  // The whole range of int64, whose upper half is one bit.
  const std::int64_t least = std::numeric_limits<std::int64_t>::min() / 2;
  std::vector<double> wide = draw(streams.integers({many}, Array(least), Array(-least)));
  for (double& each : wide) each = each < 0 ? 0 : 1;
  CHECK(std::abs(chi_square(counts_of(wide, 2), {many / 2.0, many / 2.0})) < 3.5);
}

TEST_CASE("choices, permutations and multinomial counts", "[random]") {
  RandomStreams streams(11);
  const auto draw = [](const Variable& v) { return ct::function({}, v)().only(); };
  const Array p{0.0, 0.5, 0.2, 0.0, 0.3, 0.0};
  const std::vector<double> expected{0, 0.5 * many, 0.2 * many, 0, 0.3 * many, 0};
  const auto counts = counts_of(values_of(draw(streams.choice({many}, 6, {.p = p}))), 6);
  CHECK((counts[0] == 0 && counts[3] == 0 && counts[5] == 0));  // probability 0
  CHECK(std::abs(chi_square({counts[1], counts[2], counts[4]}, {expected[1], expected[2], expected[4]})) < 3.5);
  CHECK(std::abs(chi_square(counts_of(values_of(draw(streams.choice({many}, 6))), 6),
                            std::vector<double>(6, many / 6.0))) < 3.5);
  const Array words = Array{5, 7, 9};
  for (const double v : values_of(draw(streams.choice({100}, words)))) CHECK((v == 5 || v == 7 || v == 9));

  // Without replacement: each occurs once, and the first has its probability.
  const auto without = ct::function({}, streams.choice({3}, 3, {.replace = false, .p = Array{0.6, 0.3, 0.1}}));
  const auto plain = ct::function({}, streams.choice({2, 2}, 5, {.replace = false}));
  std::vector<double> first(3, 0), second_after_0(3, 0);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<double> chosen = values_of(without());
    CHECK(chosen[0] + chosen[1] + chosen[2] == 3);
    CHECK((chosen[0] != chosen[1] && chosen[1] != chosen[2] && chosen[0] != chosen[2]));
    ++first[static_cast<std::size_t>(chosen[0])];
    if (chosen[0] == 0) ++second_after_0[static_cast<std::size_t>(chosen[1])];
    std::vector<double> four = values_of(plain());
    std::ranges::sort(four);
    CHECK((std::ranges::adjacent_find(four) == four.end() && four[0] >= 0 && four[3] < 5));
  }
  CHECK(std::abs(chi_square(first, {1200, 600, 200})) < 3.5);
  CHECK(std::abs(second_after_0[1] / first[0] - 0.75) < 0.05);
  CHECK_THROWS_AS(ct::function({}, streams.choice({4}, 3, {.replace = false}))(), ct::ShapeError);

  // All orders of three are equally frequent.
  const Array orders = draw(streams.permutation(3, {60'000}));
  std::vector<double> seen;
  for (std::int64_t i = 0; i < 60'000; ++i)
    seen.push_back(static_cast<double>(orders.at<std::int64_t>(i, 0) * 2 +
                                       (orders.at<std::int64_t>(i, 1) > orders.at<std::int64_t>(i, 2) ? 1 : 0)));
  CHECK(std::abs(chi_square(counts_of(seen, 6), std::vector<double>(6, 10'000))) < 3.5);

  const Variable x = ct::matrix("x", DType::float32);
  const Array rows = Array::arange(12, DType::float32).reshape({3, 4});
  const Array shuffled = ct::function({x}, streams.shuffle_row_elements(x))(rows);
  for (std::int64_t r = 0; r < 3; ++r) {
    std::vector<double> row = values_of(shuffled.row(r).copy());
    std::ranges::sort(row);
    CHECK(row == values_of(rows.row(r).copy()));
  }

  const Array counted = draw(streams.multinomial(std::nullopt, 1000, Array{{0.2, 0.8, 0.0}, {0.5, 0.25, 0.25}}));
  CHECK(counted.shape() == Sizes{2, 3});
  for (std::int64_t r = 0; r < 2; ++r)
    CHECK(counted.at<std::int64_t>(r, 0) + counted.at<std::int64_t>(r, 1) + counted.at<std::int64_t>(r, 2) == 1000);
  CHECK(counted.at<std::int64_t>(0, 2) == 0);
  CHECK(std::abs(static_cast<double>(counted.at<std::int64_t>(0, 1)) - 800) < 4 * std::sqrt(160.0));
  const Array one_hot = draw(streams.multinomial({7}, 1, Array{0.5, 0.5}, DType::float32));
  CHECK(one_hot.shape() == Sizes{7, 2});
  for (std::int64_t r = 0; r < 7; ++r) CHECK(one_hot.at<float>(r, 0) + one_hot.at<float>(r, 1) == 1);
}

TEST_CASE("the same bits on every back-end and for any number of threads", "[random]") {
  const Variable n = ct::iscalar("n");
  const auto all = [&](const std::string& settings) {
    RandomStreams s(31);
    const std::vector<Variable> drawn{s.uniform({n, 7}),
                                      s.normal({n}, 0, 1, DType::float64),
                                      s.normal({n, 3}),
                                      s.truncated_normal({n}),
                                      s.exponential({n}),
                                      s.gamma({n}, 0.7),
                                      s.beta({n}, 2, 0.1),
                                      s.integers({n}, 0, 1000),
                                      s.bernoulli({n}, 0.2),
                                      s.binomial({n}, 40, 0.4),
                                      s.poisson({n}, 12),
                                      s.permutation(n),
                                      s.choice({n}, 5, {.p = Array{0.1, 0.2, 0.3, 0.2, 0.2}}),
                                      s.multinomial({n}, 3, Array{0.25, 0.75}),
                                      s.uniform({n}, 0, 1, DType::float16),
                                      s.uniform({n}, 0, 1, DType::bfloat16),
                                      s.uniform({})};
    const auto f = compile(settings, {n}, drawn);
    std::vector<Array> results;
    for (const int size : {1, 0, 300}) {
      for (const Array& each : f(size)) results.push_back(each);
    }
    return results;
  };
  const std::vector<Array> wanted = all("mode=run,threads=1");
  for (const std::string& settings :
       with_devices({"mode=run,threads=2", "mode=run,threads=5", "mode=simulate", "mode=run,optimizer=none"})) {
    INFO(settings);
    const std::vector<Array> got = all(settings);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      INFO(i);
      CHECK(got[i].same_bits(wanted[i]));
    }
  }
  const std::vector<Array> slow = all("mode=reference");  // its functions are the C library's
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO(i);
    CHECK(slow[i].all_close(wanted[i], 1e-4, 1e-6));
  }
}

TEST_CASE("whole numbers of all ranges", "[random]") {
  const auto number = [](auto value) { return ct::constant(Array(value)); };
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t all_bits = std::numeric_limits<std::uint64_t>::max();
  const Variable low = ct::lscalar("low"), high = ct::lscalar("high"), small = ct::bscalar("small");
  for (const std::string& backend : backends()) {
    INFO(backend);
    RandomStreams streams(6);  // with the same numbers on every back-end, for any number of them
    const ct::change_flags flags(backend);
    const auto spread = [&](const Variable& v, double from, double to) {  // whether quarters are equally frequent
      std::vector<double> quarters;
      for (const double each : values_of(ct::function({}, v)().only()))
        quarters.push_back(std::floor((each - from) / (to - from) * 4));
      const double quarter = static_cast<double>(quarters.size()) / 4;
      return std::abs(chi_square(counts_of(quarters, 5), {quarter, quarter, quarter, quarter, 0})) < 3.5;
    };
    constexpr std::int64_t some = 2000;
    // The largest number of the bounds' dtype, as literals have it.
    CHECK(spread(streams.random_integers({some}, 0, 127), 0, 128));
    CHECK(spread(streams.random_integers({some}, 0, 32767), 0, 32768));
    CHECK(spread(streams.random_integers({some}, 0, 2147483647), 0, 2147483648.0));
    CHECK(spread(streams.random_integers({some}, number(least), number(most)), -0x1p63, 0x1p63));
    CHECK(spread(streams.integers({some}, number(std::uint64_t{0}), number(all_bits), DType::uint64), 0, 0x1p64));
    CHECK(spread(streams.random_integers({some}, 0, number(all_bits), DType::uint64), 0, 0x1p64));
    CHECK(spread(streams.integers({some}, number(all_bits / 2 + 1), number(all_bits), DType::uint64), 0x1p63, 0x1p64));
    const auto f = ct::function({low, high}, std::vector<Variable>{streams.random_integers({some}, low, high),
                                                                   streams.integers({some}, low, high)});
    const ct::Outputs whole = f(least, most);
    CHECK(std::ranges::count_if(values_of(whole[0]), [](double x) { return x < 0; }) > some / 3);
    CHECK(std::ranges::count_if(values_of(whole[1]), [](double x) { return x < 0; }) > some / 3);
    const ct::Outputs one = f(std::int64_t{5}, std::int64_t{5}), none = f(std::int64_t{5}, std::int64_t{4});
    for (const Array& fives : {one[0], one[1], none[0], none[1]})
      CHECK(std::ranges::all_of(values_of(fives), [](double x) { return x == 5; }));
    const auto g = ct::function({small}, streams.random_integers({some}, 0, small));
    CHECK(std::ranges::max(values_of(g(std::int8_t{127}).only())) == 127);
  }
  RandomStreams streams(6);
  // Each of 3 times 2^62 numbers is equally likely: 64 bits would give every third one twice.
  const Array wide =
      ct::function({}, streams.integers({many}, number(-(std::int64_t{3} << 61)), number(std::int64_t{3} << 61)))();
  std::vector<double> thirds;
  for (std::int64_t i = 0; i < many; ++i) {
    const std::int64_t rest = wide.at<std::int64_t>(i) % 3;
    thirds.push_back(static_cast<double>(rest < 0 ? rest + 3 : rest));
  }
  CHECK(std::abs(chi_square(counts_of(thirds, 3), std::vector<double>(3, many / 3.0))) < 3.5);
  CHECK_THROWS_WITH(streams.random_integers({3}, 5, 4), Catch::Matchers::Contains("at least 5 and at most 4"));
  CHECK_THROWS_WITH(streams.integers({3}, 0, 1000, DType::int8), Catch::Matchers::Contains("int8 does not hold 999"));
}

TEST_CASE("a parameter is not wider than the shape", "[random]") {
  RandomStreams streams(1);
  const Variable x = ct::vector("x");
  const Array three{1.0F, 2.0F, 3.0F}, two{1.0F, 2.0F};
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(streams.uniform({1}, three), Contains("3 parameters along an axis of size 1"));
  CHECK_THROWS_WITH(streams.gamma({2, 1}, three), Contains("3 parameters along an axis of size 1"));
  CHECK_THROWS_WITH(streams.multinomial({1}, 5, Array::zeros(DType::float32, {2, 3})), Contains("axis of size 1"));
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const auto f = ct::function({x}, streams.poisson({2, 1}, x));
    CHECK(f(Array{1.0F}).only().shape() == Sizes{2, 1});
    CHECK_THROWS_AS(f(two), ct::ShapeError);
  }
}

TEST_CASE("choices of nothing, and probabilities that are none", "[random]") {
  RandomStreams streams(1);
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(streams.choice({4}, -5), Contains("choice (test_random.cpp:") && Contains("below -5"));
  CHECK_THROWS_AS(streams.choice({4}, 0), ct::ValueError);
  const Variable n = ct::lscalar("n"), p = ct::dvector("p");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const auto below = ct::function({n}, streams.choice({4}, n));
    CHECK(below(std::int64_t{-5}).only().equals(Array::zeros(DType::int64, {4})));
    // A negative number or nan counts as 0, and is not chosen.
    const auto f =
        ct::function({p}, std::vector<Variable>{streams.choice({200}, 3, {.p = p}), streams.multinomial({}, 200, p)});
    for (const Array& some : {Array{-0.5, 0.25, 0.5}, Array{nan, 0.25, 0.5}, Array{0.0, 1.0, 2.0}}) {
      const ct::Outputs got = f(some);
      const std::vector<double> counts = counts_of(values_of(got[0]), 3);
      CHECK((counts[0] == 0 && counts[1] > 30 && counts[2] > 90));
      CHECK((got[1].as_double(0) == 0 && got[1].as_double(1) > 30 && got[1].as_double(2) > 90));
    }
    const auto without = ct::function({p}, streams.choice({2}, 4, {.replace = false, .p = p}));
    std::vector<double> both = values_of(without(Array{0.0, 1.0, 0.0, 2.0}).only());
    std::ranges::sort(both);
    CHECK(both == std::vector<double>{1, 3});
    CHECK_THROWS_WITH(without(Array{0.0, 1.0, 0.0, 0.0}), Contains("more elements than there are"));
  }
}

TEST_CASE("16-bit numbers are as fine as their dtypes", "[random]") {
  RandomStreams streams(3);
  for (const auto& [dtype, steps] : {std::pair{DType::float16, 1024}, {DType::bfloat16, 128}}) {
    const std::vector<double> u = values_of(ct::function({}, streams.uniform({many}, 0, 1, dtype))());
    std::vector<double> counts(static_cast<std::size_t>(steps), 0);
    for (const double x : u) {
      const double k = x * steps - 0.5;
      REQUIRE((k >= 0 && k < steps && k == std::floor(k)));
      ++counts[static_cast<std::size_t>(k)];
    }
    CHECK(std::abs(chi_square(counts, std::vector<double>(counts.size(), static_cast<double>(many) / steps))) < 3.5);
    // Between 1 and 2 there are equally many numbers, with 1 and without 2.
    std::vector<double> shifted(static_cast<std::size_t>(steps), 0);
    for (const double x : values_of(ct::function({}, streams.uniform({many}, 1, 2, dtype))())) {
      const double k = (x - 1) * steps;
      REQUIRE((k >= 0 && k < steps && k == std::floor(k)));
      ++shifted[static_cast<std::size_t>(k)];
    }
    CHECK(std::abs(chi_square(shifted, std::vector<double>(shifted.size(), static_cast<double>(many) / steps))) < 3.5);
  }
}

TEST_CASE("a draw is one set of numbers in a function, and another at each call", "[random]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    RandomStreams streams(234);
    const Variable u = streams.uniform({5}), v = streams.uniform({5});
    const auto f = ct::function({}, std::vector<ct::Out>{u - u, u, u + 1, v});
    const ct::Outputs first = f();
    CHECK(first[0].equals(Array::zeros(DType::float32, {5})));
    CHECK(first[2].all_close(Array::arange(5, DType::float32), 0, 3));
    CHECK_FALSE(first[1].equals(first[3]));
    const ct::Outputs second = f();
    CHECK_FALSE(second[1].equals(first[1]));

    // Without the update each call repeats the state that other calls left.
    const auto again = ct::function({}, u, {.no_default_updates = true});
    const Array third = again();
    CHECK(again().only().equals(third));
    CHECK(f()[1].equals(third));

    // Another function of the same draw continues; a function of the other draw does not advance it.
    const auto h = ct::function({}, u + 0);
    const Array saved = streams.state();
    const Array next = h();
    streams.set_state(saved);
    ct::function({}, v)();
    CHECK(h().only().equals(next));

    // Seeding restarts the stream.
    streams.seed(234);
    CHECK(f()[1].equals(first[1]));
    streams.seed(235);
    CHECK_FALSE(f()[1].equals(first[1]));
  }
}

TEST_CASE("streams of a seed are the same, others are not", "[random]") {
  const auto first = [](RandomStreams streams) { return ct::function({}, streams.uniform({4}))().only(); };
  CHECK(first(RandomStreams(9)).equals(first(RandomStreams(9))));
  CHECK_FALSE(first(RandomStreams(9)).equals(first(RandomStreams(10))));
  CHECK_FALSE(first(RandomStreams()).equals(first(RandomStreams())));
  const RandomStreams streams(9);
  CHECK_FALSE(first(streams.independent(0)).equals(first(streams.independent(1))));
  CHECK(first(streams.independent(1)).equals(first(RandomStreams(9).independent(1))));
  CHECK_FALSE(first(streams.independent(0)).equals(first(RandomStreams(9))));
  CHECK_FALSE(first(RandomStreams(0).independent(0)).equals(first(RandomStreams(0))));
  CHECK_FALSE(first(RandomStreams(0).independent(0).independent(0)).equals(first(RandomStreams(0).independent(0))));
  // These numbers are a promise: programs with a fixed seed keep their results.
  CHECK(first(RandomStreams(42)).all_close(Array{0.26182097F, 0.10992962F, 0.2684806F, 0.99968916F}, 1e-7, 0));
}

TEST_CASE("random numbers are drawn in the kernels that use them", "[random]") {
  RandomStreams streams(1);
  const Variable x = ct::matrix("x");
  const ct::SharedVariable w = ct::shared(Array::uniform(DType::float32, {30, 40}, 3), {.name = "w"});
  const Variable kept = streams.bernoulli(x.shape(), 0.5, DType::float32), y = ct::sqr(x * w * kept * 2);
  const auto train = ct::function({x}, ct::sum(y), {.updates = {{w, w - 0.1 * ct::grad(ct::sum(y), w)}}});
  // There is no stored mask: the arrays of x's size are x, w and its update.
  const std::string plan = train.plan();
  INFO(plan);
  CHECK(plan.find("temporary") == std::string::npos);
  std::size_t large = 0;
  for (std::size_t at = plan.find("f32[n, m]"); at != std::string::npos; at = plan.find("f32[n, m]", at + 1)) ++large;
  CHECK(large == 3);
  // The gradient uses the same mask.
  const Array before = w.get_value(), in = Array::uniform(DType::float32, {30, 40}, 4, 0.5, 1);
  const auto looked = ct::function({x}, kept, {.no_default_updates = true});
  const Array mask = looked(in);
  train(in);
  const Array after = w.get_value();
  for (std::int64_t i = 0; i < after.size(); ++i) {
    const double xi = in.as_double(i), wi = before.as_double(i);
    CHECK(std::abs(after.as_double(i) - (wi - 0.1 * 8 * xi * xi * wi * mask.as_double(i))) < 1e-5);
  }
  // Repeated values along an axis are drawn once.
  const auto repeated = ct::function({x}, x * ct::dimshuffle(streams.uniform({x.shape(0)}), {0, ct::broadcast_axis}));
  CHECK(repeated.plan().find("temporary") != std::string::npos);
  const Array ones = Array::full(DType::float32, {3, 4}, 1), noise = repeated(ones);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(noise.at<float>(i, 0) == noise.at<float>(i, 3));
}

TEST_CASE("parameters that shift and scale random numbers have gradients", "[random]") {
  RandomStreams streams(8);
  const Variable mean = ct::dvector("mean"), scale = ct::dvector("scale");
  const Variable z = streams.normal(std::nullopt, mean, scale, DType::float64);
  const auto f =
      ct::function({mean, scale}, std::vector<ct::Out>{z, ct::grad(ct::sum(z), mean), ct::grad(ct::sum(z), scale)});
  const Array m{1.0, 2.0, 3.0}, s{0.5, 1.0, 4.0};
  const ct::Outputs got = f(m, s);
  CHECK(got[1].equals(Array{1.0, 1.0, 1.0}));
  for (std::int64_t i = 0; i < 3; ++i)
    CHECK(std::abs(got[2].as_double(i) - (got[0].as_double(i) - m.as_double(i)) / s.as_double(i)) < 1e-12);
  const Variable g = streams.gamma({3}, mean, scale, DType::float64);
  CHECK_NOTHROW(ct::grad(ct::sum(g), scale));
  CHECK_THROWS_AS(ct::grad(ct::sum(g), mean), ct::NullTypeGradError);
  // A comparison has the gradient 0.
  const Variable p = ct::dvector("p");
  const Variable b = streams.bernoulli(std::nullopt, p, DType::float64);
  CHECK(ct::function({p}, ct::grad(ct::sum(b), p))(Array{0.5, 0.5}).only().equals(Array{0.0, 0.0}));
}

TEST_CASE("mistakes with random numbers are named", "[random]") {
  RandomStreams streams(1);
  const Variable x = ct::matrix("x"), n = ct::fscalar("n");
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(streams.uniform({n}), Contains("a size must be an integer scalar") && Contains("n is"));
  CHECK_THROWS_WITH(streams.uniform({2, -3}), Contains("a size of -3"));
  CHECK_THROWS_WITH(streams.uniform({3}, x), Contains("2 dimension(s) for a shape of 1"));
  CHECK_THROWS_WITH(streams.uniform({3}, 0, 1, DType::int32),
                    Contains("dtype int32") && Contains("uniform (test_random.cpp:"));
  CHECK_THROWS_WITH(streams.integers({3}, 5, 5), Contains("at least 5 and below 5"));
  CHECK_THROWS_WITH(streams.integers({3}, 0.5, 5), Contains("bounds are integers"));
  CHECK_THROWS_WITH(streams.choice({3}, x), Contains("a vector or an integer scalar"));
  CHECK_THROWS_WITH(streams.multinomial({3}, 1, 0.5), Contains("axis of classes"));
  CHECK_THROWS_WITH(streams.set_state(Array::zeros(DType::uint64, {1, 2})), Contains("uint64["));
  const auto f = ct::function({x}, streams.uniform({3, 4}) + x);
  CHECK_THROWS_AS(f(Array::zeros(DType::float32, {3, 5})), ct::ShapeError);
}
