// Initializers, regularizers and activations by name.
#include "catch.hpp"

#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends.hpp"

using Catch::Matchers::Contains;
using croton_test::backends;
namespace ct = croton;
namespace nn = croton::nn;
using ct::Array;
using ct::DType;
using ct::Sizes;
using ct::Variable;

namespace {

struct Moments {
  double mean = 0, deviation = 0, kurtosis = 0, lowest = 0, highest = 0;
};
Moments moments_of(const Array& values) {
  Moments m;
  m.lowest = m.highest = values.as_double(0);
  const double n = static_cast<double>(values.size());
  for (std::int64_t i = 0; i < values.size(); ++i) {
    m.mean += values.as_double(i) / n;
    m.lowest = std::min(m.lowest, values.as_double(i));
    m.highest = std::max(m.highest, values.as_double(i));
  }
  double square = 0, fourth = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double d = values.as_double(i) - m.mean;
    square += d * d / n;
    fourth += d * d * d * d / n;
  }
  m.deviation = std::sqrt(square);
  m.kurtosis = fourth / (square * square);
  return m;
}

/// The largest difference between the scalar products of rows (columns) and the unit matrix times gain^2.
double from_orthogonal(const Array& matrix, double gain) {
  const bool wide = matrix.shape(0) < matrix.shape(1);
  const Array a = (wide ? matrix : matrix.transpose()).copy();
  double worst = 0;
  for (std::int64_t i = 0; i < a.shape(0); ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = i == j ? -gain * gain : 0;
      for (std::int64_t k = 0; k < a.shape(1); ++k) sum += a.at<double>(i, k) * a.at<double>(j, k);
      worst = std::max(worst, std::abs(sum));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("C2.1: initializers spread weights by fan-in and fan-out") {
  // Fans of (10, 6) are 10 and 6; of a 3 x 3 window over 20 channels that gives 50, 180 and 450.
  struct Expected {
    const char* name;
    double matrix, window;  // variances
    bool uniform;
  };
  const std::vector<Expected> all = {
      {"glorot_uniform", 2.0 / 16, 2.0 / 630, true}, {"glorot_normal", 2.0 / 16, 2.0 / 630, false},
      {"he_uniform", 2.0 / 10, 2.0 / 180, true},     {"he_normal", 2.0 / 10, 2.0 / 180, false},
      {"lecun_uniform", 1.0 / 10, 1.0 / 180, true},  {"lecun_normal", 1.0 / 10, 1.0 / 180, false}};
  for (const Expected& e : all) {
    const nn::Initializer make(e.name);
    CHECK(make.name() == e.name);
    const auto check = [&](const Sizes& shape, double variance) {
      CAPTURE(e.name, nn::to_string(shape));
      Moments m{};
      double n = 0;
      // Many numbers, for precise statistics, from arrays with different seeds.
      for (std::uint64_t seed = 0; n < 90000; ++seed) {
        const Array values = make(shape, DType::float64, seed);
        REQUIRE(values.shape() == shape);
        const Moments one = moments_of(values);
        const double count = static_cast<double>(values.size());
        m.mean += one.mean * count;
        m.deviation += (one.deviation * one.deviation + one.mean * one.mean) * count;
        m.highest = std::max({m.highest, one.highest, -one.lowest});
        n += count;
      }
      // Three to four deviations of means and variances of 90,000 numbers.
      CHECK(std::abs(m.mean / n) < 0.0125 * std::sqrt(variance));
      CHECK(m.deviation / n == Approx(variance).epsilon(0.015));
      // A uniform distribution ends at sqrt(3) deviations, a truncated normal one at 2 / 0.88.
      const double bound = std::sqrt(variance) * (e.uniform ? std::sqrt(3.0) : 2 / 0.87962566103423978);
      CHECK(m.highest <= bound);
      CHECK(m.highest > 0.99 * bound);
    };
    check({10, 6}, e.matrix);
    check({3, 3, 20, 50}, e.window);
  }
  // With one axis, both fans are its size; a weight without elements or axes has a fan of 1.
  CHECK(moments_of(nn::Initializer("he_uniform")({100}, DType::float64, 1)).highest < std::sqrt(6.0 / 100));
  CHECK(nn::Initializer("lecun_normal")({0, 5}, DType::float32, 1).shape() == Sizes{0, 5});
  CHECK(std::abs(nn::Initializer("glorot_uniform")({}, DType::float64, 1).item<double>()) < std::sqrt(3.0));
  // scale / fan-out
  const Moments out = moments_of(nn::variance_scaling(5, nn::Fan::out, true)({50, 2000}, DType::float64, 3));
  CHECK(out.deviation == Approx(std::sqrt(5.0 / 2000)).epsilon(0.01));
}

TEST_CASE("plain initializers") {
  const Sizes shape{200, 500};
  const auto moments = [&](const nn::Initializer& make) { return moments_of(make(shape, DType::float64, 7)); };
  const Moments uniform = moments("random_uniform"), normal = moments("random_normal"),
                truncated = moments("truncated_normal");
  CHECK(uniform.mean == Approx(0).margin(5e-4));
  CHECK(uniform.deviation == Approx(0.05 / std::sqrt(3.0)).epsilon(0.01));
  CHECK(uniform.lowest >= -0.05);
  CHECK(uniform.highest < 0.05);
  CHECK(uniform.kurtosis == Approx(1.8).epsilon(0.02));
  CHECK(normal.mean == Approx(0).margin(5e-4));
  CHECK(normal.deviation == Approx(0.05).epsilon(0.01));
  CHECK(normal.kurtosis == Approx(3).epsilon(0.03));
  CHECK(normal.highest > 0.19);
  // Not corrected: Keras's truncated_normal has 0.88 times the given deviation.
  CHECK(truncated.mean == Approx(0).margin(5e-4));
  CHECK(truncated.deviation == Approx(0.05 * 0.87962566103423978).epsilon(0.01));
  CHECK(truncated.highest <= 0.1);
  CHECK(truncated.lowest >= -0.1);
  // The fourth moment of a normal number between -2 and 2, divided by the square of the second one.
  CHECK(truncated.kurtosis == Approx(2.3663).epsilon(0.02));

  const Moments between = moments(nn::uniform_between(2, 6)), around = moments(nn::normal_around(3, 0.5)),
                cut = moments(nn::truncated_normal_around(-1, 2));
  CHECK(between.mean == Approx(4).epsilon(0.01));
  CHECK(between.lowest >= 2);
  CHECK(between.highest < 6);
  CHECK(around.mean == Approx(3).epsilon(0.01));
  CHECK(around.deviation == Approx(0.5).epsilon(0.01));
  CHECK(cut.mean == Approx(-1).epsilon(0.02));
  CHECK(cut.lowest >= -5);
  CHECK(cut.highest <= 3);

  CHECK(nn::Initializer("zeros")({2, 3}, DType::float16, 1).equals(Array::zeros(DType::float16, {2, 3})));
  CHECK(nn::Initializer("ones")({2}, DType::float32, 1).equals(Array{1.f, 1.f}));
  CHECK(nn::constant_values(2.5)({2}, DType::float64, 1).equals(Array{2.5, 2.5}));
  CHECK(nn::Initializer("identity")({2, 3}, DType::float32, 1).equals(Array{{1.f, 0.f, 0.f}, {0.f, 1.f, 0.f}}));
  CHECK(nn::Initializer("identity")({3, 2}, DType::float32, 1).equals(Array{{1.f, 0.f}, {0.f, 1.f}, {0.f, 0.f}}));

  Array given{{1.0, 2.0}, {3.0, 4.0}};
  const nn::Initializer values = nn::values_of(given);
  given.at<double>(0, 0) = 9;
  CHECK(values({2, 2}, DType::float32, 1).equals(Array{{1.f, 2.f}, {3.f, 4.f}}));
  const nn::Initializer own([](const Sizes& s, DType, std::uint64_t seed) {
    return Array::full(DType::float64, s, static_cast<double>(seed));
  });
  CHECK(own({2}, DType::float32, 5).equals(Array{5.f, 5.f}));
}

TEST_CASE("C5.9: orthogonal weights") {
  const nn::Initializer plain("orthogonal");
  for (const Sizes& shape : {Sizes{1, 1}, Sizes{5, 5}, Sizes{64, 256}, Sizes{256, 64}, Sizes{1, 9}, Sizes{7, 1}}) {
    CAPTURE(nn::to_string(shape));
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      CHECK(from_orthogonal(plain(shape, DType::float64, seed), 1) < 1e-14);
      CHECK(from_orthogonal(nn::orthogonal_matrix(0.5)(shape, DType::float64, seed), 0.5) < 1e-14);
    }
  }
  // Leading axes count as rows.
  const Array window = plain({3, 3, 4, 8}, DType::float64, 1);
  CHECK(window.shape() == Sizes{3, 3, 4, 8});
  CHECK(from_orthogonal(window.reshape({36, 8}), 1) < 1e-14);
  CHECK(plain({4, 0}, DType::float32, 1).shape() == Sizes{4, 0});
  // From Q R of normal numbers, with a positive diagonal of R: each column of Q leans to the corresponding column of
  // numbers, and the first one is that column divided by its length.
  const Array normal = Array::normal(DType::float64, {4, 9}, 11), q = plain({9, 4}, DType::float64, 11);
  double length = 0;
  for (int i = 0; i < 9; ++i) length += normal.at<double>(0, i) * normal.at<double>(0, i);
  for (int i = 0; i < 9; ++i) CHECK(q.at<double>(i, 0) == Approx(normal.at<double>(0, i) / std::sqrt(length)));
  for (int k = 0; k < 4; ++k) {
    double r = 0;
    for (int i = 0; i < 9; ++i) r += normal.at<double>(k, i) * q.at<double>(i, k);
    CHECK(r > 0);
  }
  // No direction is preferred: the entries of many 2 x 2 matrices are cosines of uniform angles, and the determinants
  // have both signs.
  double square = 0, positive = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Array m = plain({2, 2}, DType::float64, seed);
    square += m.at<double>(0, 0) * m.at<double>(0, 0) / 2000;
    positive += m.at<double>(0, 0) * m.at<double>(1, 1) > m.at<double>(0, 1) * m.at<double>(1, 0) ? 1.0 / 2000 : 0;
  }
  CHECK(square == Approx(0.5).margin(0.03));
  CHECK(positive == Approx(0.5).margin(0.04));
}

TEST_CASE("weights follow from the seed") {
  const std::vector<nn::Initializer> all{"glorot_uniform", "he_normal", "random_normal", "orthogonal"};
  for (const nn::Initializer& make : all) {
    CAPTURE(make.name());
    const Array first = make({7, 5}, DType::float32, 42);
    CHECK(first.dtype() == DType::float32);
    CHECK(first.same_bits(make({7, 5}, DType::float32, 42)));
    CHECK(!first.same_bits(make({7, 5}, DType::float32, 43)));
    CHECK(first.same_bits(make({7, 5}, DType::float64, 42).astype(DType::float32)));
  }
  nn::set_seed(5);
  const std::vector<std::uint64_t> seeds{nn::next_seed(), nn::next_seed(), nn::next_seed()};
  CHECK(std::set<std::uint64_t>(seeds.begin(), seeds.end()).size() == 3);
  nn::set_seed(6);
  CHECK(nn::next_seed() != seeds[0]);
  nn::set_seed(5);
  CHECK(nn::next_seed() == seeds[0]);
  // Each thread has its own sequence.
  std::uint64_t unseeded = 0, seeded = 0;
  std::thread([&] {
    unseeded = nn::next_seed();
    nn::set_seed(5);
    seeded = nn::next_seed();
  }).join();
  CHECK(seeded == seeds[0]);
  CHECK(unseeded != seeds[0]);
  CHECK(nn::next_seed() == seeds[1]);
}

TEST_CASE("mistakes with initializers, regularizers and activations") {
  CHECK_THROWS_WITH(nn::Initializer("glorot"),
                    "unknown initializer \"glorot\"; known are glorot_uniform, glorot_normal, he_uniform, he_normal, "
                    "lecun_uniform, lecun_normal, orthogonal, zeros, ones, random_uniform, random_normal, "
                    "truncated_normal, identity");
  CHECK_THROWS_AS(nn::Initializer("Zeros"), ct::ValueError);
  CHECK_THROWS_WITH(nn::Regularizer("l3"), "unknown regularizer \"l3\"; known are l1, l2, l1_l2");
  CHECK_THROWS_AS(nn::Activation("ReLU"), ct::ValueError);
  CHECK_THROWS_WITH(nn::Activation("ReLU"),
                    Contains("unknown activation \"ReLU\"; known are linear, relu, softmax") && Contains("hard_silu"));
  CHECK_THROWS_AS(nn::values_of(Array{1, 2})({3}, DType::float32, 1), ct::ShapeError);
  CHECK_THROWS_WITH(nn::values_of(Array{1, 2})({3}, DType::float32, 1), Contains("(2,)") && Contains("(3,)"));
  CHECK_THROWS_AS(nn::Initializer("orthogonal")({3}, DType::float32, 1), ct::ShapeError);
  CHECK_THROWS_WITH(nn::Initializer("identity")({3, 3, 3}, DType::float32, 1),
                    Contains("identity") && Contains("(3, 3, 3)"));
  CHECK_THROWS_AS(nn::variance_scaling(0, nn::Fan::in, true), ct::ValueError);
  CHECK_THROWS_AS(nn::Initializer("glorot_uniform")({-1, 3}, DType::float32, 1), ct::ShapeError);
  CHECK_THROWS_AS(nn::Activation("softmax")(ct::scalar("x")), ct::Error);
}

TEST_CASE("shapes as text") {
  CHECK(nn::to_string({28, 28, 1}) == "(28, 28, 1)");
  CHECK(nn::to_string({nn::any_size, 256}) == "(?, 256)");
  CHECK(nn::to_string({3}) == "(3,)");
  CHECK(nn::to_string(nn::Shape{}) == "()");
}

TEST_CASE("regularizers") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const ct::change_flags flags(backend);
    const Variable w = ct::dmatrix("w");
    const std::vector<std::pair<nn::Regularizer, double>> all = {
        {"l1", 0.06}, {"l2", 0.14}, {"l1_l2", 0.2}, {nn::l1(0.5), 3}, {nn::l2(2), 28}, {nn::l1_l2(1, 0.5), 13},
    };
    const Variable half = ct::vector("half", DType::float16);
    std::vector<Variable> outputs{ct::grad(nn::l1_l2(1, 0.5)(w), w), nn::Regularizer("l2")(half)};
    for (const auto& [penalty, expected] : all) {
      outputs.push_back(penalty(w));
      CHECK(outputs.back().type() == ct::Type{DType::float64, {}});
    }
    const ct::Outputs values =
        ct::function({w, half}, outputs)(Array{{1.0, -2.0, 0.0, 3.0}}, Array{300.f, 300.f}.astype(DType::float16));
    CHECK(values[0].equals(Array{{2.0, -3.0, 0.0, 4.0}}));
    // The sum of squares exceeds the largest float16.
    CHECK(values[1].item<float>() == Approx(1800).epsilon(1e-6));
    for (std::size_t i = 0; i < all.size(); ++i)
      CHECK(values[i + 2].item<double>() == Approx(all[i].second).epsilon(1e-15));
  }
  CHECK(!nn::Regularizer().defined());
  CHECK(nn::Regularizer("l1").defined());
}

// Keras 3.15 with KERAS_BACKEND=jax JAX_ENABLE_X64=1 and keras.config.set_floatx("float64"):
//
//   x = np.array([[-7.5, -1, 0, .5, 2.75, 6.5]])
//   for name in names: print(np.array(keras.activations.get(name)(x)))  # float32 for tanh: np.tanh(x)
TEST_CASE("activations by name are Keras's") {
  const Array at{{-7.5, -1.0, 0.0, 0.5, 2.75, 6.5}};
  const std::vector<std::pair<const char*, std::vector<double>>> all = {
      {"linear", {-7.5, -1.0, 0.0, 0.5, 2.75, 6.5}},
      {"relu", {0.0, 0.0, 0.0, 0.5, 2.75, 6.5}},
      {"softmax",
       {8.088377049279454e-07, 0.0005379916319236274, 0.0014624128769210232, 0.0024111112167254597,
        0.022875986296372153, 0.9727116891403528}},
      {"log_softmax",
       {-14.027667551968758, -7.527667551968758, -6.527667551968758, -6.027667551968758, -3.7776675519687575,
        -0.027667551968757514}},
      {"sigmoid",
       {0.0005527786369235996, 0.2689414213699951, 0.5, 0.6224593312018546, 0.9399133498259924, 0.998498817743263}},
      {"tanh",
       {-0.9999993881955461, -0.7615941559557649, 0.0, 0.46211715726000974, 0.9918597245682077, 0.9999954793514042}},
      {"elu", {-0.9994469156298522, -0.6321205588285577, 0.0, 0.5, 2.75, 6.5}},
      {"selu",
       {-1.757126963580787, -1.1113307378125625, 0.0, 0.5253504936777402, 2.8894277152275714, 6.829556417810623}},
      {"gelu",
       {-2.3931687546831635e-13, -0.15865525393145707, 0.0, 0.34573123063700656, 2.7418056511035998, 6.49999999973896}},
      {"silu",
       {-0.004145839776926997, -0.2689414213699951, 0.0, 0.3112296656009273, 2.584761712021479, 6.490242315331209}},
      {"swish",
       {-0.004145839776926997, -0.2689414213699951, 0.0, 0.3112296656009273, 2.584761712021479, 6.490242315331209}},
      {"softplus",
       {0.0005529314753607964, 0.3132616875182228, 0.6931471805599453, 0.9740769841801067, 2.8119675890031988,
        6.501502310159754}},
      {"softsign", {-0.8823529411764706, -0.5, 0.0, 0.3333333333333333, 0.7333333333333333, 0.8666666666666667}},
      {"leaky_relu", {-1.5, -0.2, 0.0, 0.5, 2.75, 6.5}},
      {"relu6", {0.0, 0.0, 0.0, 0.5, 2.75, 6.0}},
      {"mish",
       {-0.0041469856425822285, -0.30340146137410895, 0.0, 0.375245211304895, 2.7302142043358293, 6.499970703939837}},
      {"exponential",
       {0.0005530843701478336, 0.3678794411714423, 1.0, 1.6487212707001282, 15.642631884188171, 665.1416330443618}},
      {"hard_sigmoid", {0.0, 0.3333333333333333, 0.5, 0.5833333333333333, 0.9583333333333333, 1.0}},
      {"hard_silu", {-0.0, -0.3333333333333333, 0.0, 0.29166666666666663, 2.6354166666666665, 6.5}},
      {"hard_swish", {-0.0, -0.3333333333333333, 0.0, 0.29166666666666663, 2.6354166666666665, 6.5}},
      {"celu", {-0.9994469156298522, -0.6321205588285577, 0.0, 0.5, 2.75, 6.5}},
      {"hard_tanh", {-1.0, -1.0, 0.0, 0.5, 1.0, 1.0}},
      {"log_sigmoid",
       {-7.500552931475361, -1.3132616875182228, -0.6931471805599453, -0.4740769841801067, -0.061967589003198625,
        -0.0015023101597542838}},
      {"sparse_plus", {0.0, 0.0, 0.25, 0.5625, 2.75, 6.5}},
      {"sparse_sigmoid", {0.0, 0.0, 0.5, 0.75, 1.0, 1.0}},
      {"sparsemax", {0.0, 0.0, 0.0, 0.0, 0.0, 1.0}},
      {"squareplus",
       {0.13104367406500605, 0.6180339887498949, 1.0, 1.2807764064044151, 3.0751838135919307, 6.650367627183861}},
      {"tanh_shrink",
       {-6.500000611804454, -0.23840584404423515, 0.0, 0.03788284273999021, 1.7581402754317923, 5.500004520648596}},
      {"soft_shrink", {-7.0, -0.5, 0.0, 0.0, 2.25, 6.0}},
      {"hard_shrink", {-7.5, -1.0, 0.0, 0.0, 2.75, 6.5}},
  };
  for (const std::string& backend : backends()) {
    const ct::change_flags flags(backend);
    const Variable x = ct::dmatrix("x");
    std::vector<Variable> outputs;
    for (const auto& [name, expected] : all) outputs.push_back(nn::Activation(name)(x));
    const ct::Function f = ct::function({x}, outputs);
    const ct::Outputs values = f(at);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(backend, all[i].first);
      CHECK(values[i].all_close(Array(all[i].second).reshape({1, 6}), 1e-13, 1e-15));
    }
  }
  CHECK(nn::Activation().is_linear());
  CHECK(nn::Activation("").is_linear());
  CHECK(!nn::Activation("relu").is_linear());
  const nn::Activation own([](const Variable& v) { return v * 2; });
  CHECK(own.name() == "own");
  CHECK(!own.is_linear());
}

TEST_CASE("the relu of layers has gradient 0 at 0, and lets nan through") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const ct::change_flags flags(backend);
    const Variable x = ct::dvector("x"), y = nn::Activation("relu")(x);
    const ct::Function f = ct::function({x}, {y, ct::grad(ct::sum(y), x)});
    const ct::Outputs values = f(Array{-inf, -1.0, 0.0, 0.25, inf, nan});
    CHECK(values[0].all_close(Array{0.0, 0.0, 0.0, 0.25, inf, nan}, 0, 0));
    CHECK(values[1].slice(0, 0, 5).copy().equals(Array{0.0, 0.0, 0.0, 1.0, 1.0}));
  }
  // Integers stay integers.
  const Variable n = ct::lvector("n");
  CHECK(nn::Activation("relu")(n).eval({{n, Array{-2L, 0L, 3L}}}).equals(Array{0L, 0L, 3L}));
}
