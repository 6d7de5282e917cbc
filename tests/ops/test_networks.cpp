// Activations, losses and composed reductions, against their formulas in long double, at large numbers as well as near
// 0, with their gradients.
#include "samples.hpp"

#include <functional>
#include <numbers>

using namespace croton_test;
namespace nnet = croton::nnet;

namespace {

using Real = long double;

struct Activation {
  std::string name;
  std::function<Variable(const Variable&)> f;
  std::function<Real(Real)> formula;
  bool kink_free = true;  // differences can check the gradient anywhere
};

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus(Real x) { return x > 100 ? x : std::log1p(std::exp(x)); }
Real clamp(Real x, Real low, Real high) { return std::min(std::max(x, low), high); }

std::vector<Activation> activations() {
  const Real selu_alpha = 1.6732632423543772848L, selu_scale = 1.0507009873554804934L;
  return {
      {"linear", [](const Variable& x) { return nnet::linear(x); }, [](Real x) { return x; }},
      {"relu", [](const Variable& x) { return nnet::relu(x); }, [](Real x) { return std::max<Real>(x, 0); }, false},
      {"leaky_relu", [](const Variable& x) { return nnet::leaky_relu(x, 0.25); },
       [](Real x) { return x > 0 ? x : x / 4; }, false},
      {"prelu", [](const Variable& x) { return nnet::prelu(x, ct::constant(Array(0.25f))); },
       [](Real x) { return x > 0 ? x : x / 4; }, false},
      {"relu6", [](const Variable& x) { return nnet::relu6(x); }, [](Real x) { return clamp(x, 0, 6); }, false},
      {"elu", [](const Variable& x) { return nnet::elu(x, 0.5); }, [](Real x) { return x > 0 ? x : std::expm1(x) / 2; },
       false},
      {"selu", [](const Variable& x) { return nnet::selu(x); },
       [=](Real x) { return selu_scale * (x > 0 ? x : selu_alpha * std::expm1(x)); }, false},
      {"celu", [](const Variable& x) { return nnet::celu(x, 2); },
       [](Real x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
      {"gelu", [](const Variable& x) { return nnet::gelu(x); },
       [](Real x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<Real>); }},
      {"gelu by tanh", [](const Variable& x) { return nnet::gelu(x, true); },
       [](Real x) { return x * sigmoid(2 * std::sqrt(2 / std::numbers::pi_v<Real>) * (x + 0.044715L * x * x * x)); }},
      {"silu", [](const Variable& x) { return nnet::silu(x); }, [](Real x) { return x * sigmoid(x); }},
      {"swish", [](const Variable& x) { return nnet::swish(x); }, [](Real x) { return x * sigmoid(x); }},
      {"mish", [](const Variable& x) { return nnet::mish(x); }, [](Real x) { return x * std::tanh(softplus(x)); }},
      {"softsign", [](const Variable& x) { return nnet::softsign(x); }, [](Real x) { return x / (1 + std::abs(x)); }},
      {"sigmoid", [](const Variable& x) { return nnet::sigmoid(x); }, sigmoid},
      {"softplus", [](const Variable& x) { return nnet::softplus(x); }, softplus},
      {"hard_sigmoid", [](const Variable& x) { return nnet::hard_sigmoid(x); },
       [](Real x) { return clamp(0.2L * x + 0.5L, 0, 1); }, false},
      {"hard_silu", [](const Variable& x) { return nnet::hard_silu(x); },
       [](Real x) { return x * clamp(x + 3, 0, 6) / 6; }, false},
      {"hard_swish", [](const Variable& x) { return nnet::hard_swish(x); },
       [](Real x) { return x * clamp(x + 3, 0, 6) / 6; }, false},
      {"hard_tanh", [](const Variable& x) { return nnet::hard_tanh(x); }, [](Real x) { return clamp(x, -1, 1); },
       false},
      {"log_sigmoid", [](const Variable& x) { return nnet::log_sigmoid(x); }, [](Real x) { return -softplus(-x); }},
      {"exponential", [](const Variable& x) { return nnet::exponential(clip(x, -80, 80)); },
       [](Real x) { return std::exp(clamp(x, -80, 80)); }, false},
      {"squareplus", [](const Variable& x) { return nnet::squareplus(x); },
       [](Real x) { return x > 0 ? (x + std::hypot(x, Real{2})) / 2 : 2 / (std::hypot(x, Real{2}) - x); }},
      {"tanh_shrink", [](const Variable& x) { return nnet::tanh_shrink(x); }, [](Real x) { return x - std::tanh(x); }},
      {"soft_shrink", [](const Variable& x) { return nnet::soft_shrink(x); },
       [](Real x) { return x > 0.5L    ? x - 0.5L
                           : x < -0.5L ? x + 0.5L
                                       : 0; }, false},
      {"hard_shrink", [](const Variable& x) { return nnet::hard_shrink(x); },
       [](Real x) { return std::abs(x) > 0.5L ? x : 0; }, false},
      {"threshold", [](const Variable& x) { return nnet::threshold(x, 1, -2); }, [](Real x) { return x > 1 ? x : -2; },
       false},
      {"sparse_plus", [](const Variable& x) { return nnet::sparse_plus(x); },
       [](Real x) { return x > 1    ? x
                           : x < -1 ? 0
                                    : (x + 1) * (x + 1) / 4; }, false},
      {"sparse_sigmoid", [](const Variable& x) { return nnet::sparse_sigmoid(x); },
       [](Real x) { return clamp((x + 1) / 2, 0, 1); }, false},
  };
}

/// Numbers near 0, at the kinks of some functions, and large ones.
const std::vector<double> points = {-1e30, -1e5, -300, -88, -20, -6,  -3, -2.5, -1, -0.7, -0.5, -1e-3, -1e-20,
                                    0,     1e-3, 0.5,  0.7, 1,   2.5, 3,  6,    20, 88,   300,  1e5,   1e30};

bool all_finite(const Array& x) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x.as_double(i))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("activations are their formulas, and finite with their gradients", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable x = ct::vector("x", dtype);
  std::vector<Variable> outputs;
  for (const Activation& a : activations()) {
    const Variable y = a.f(x);
    REQUIRE(y.dtype() == dtype);
    outputs.push_back(y);
    outputs.push_back(ct::grad(ct::sum(y), x));
  }
  const Array at = fill(points, dtype);
  const auto results = compile(mode, {x}, outputs)(at);
  const auto all = activations();
  // The functions of which they are composed are exact to a few ULP; the largest sum of such errors is mish's.
  const double tolerance = dtype == DType::float32 ? 1e-5 : 1e-13;
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(all[i].name);
    const Array &value = results[2 * i], &slope = results[2 * i + 1];
    for (std::int64_t k = 0; k < at.size(); ++k) {
      const Real point = at.as_double(k), exact = all[i].formula(point);
      if (std::abs(exact) > (dtype == DType::float32 ? 3e38L : 1e308L) || all[i].name == "gelu by tanh") continue;
      INFO("at " << static_cast<double>(point));
      const double smallest = dtype == DType::float32 ? 1e-37 : 1e-300;
      // tanh_shrink and others cancel near 0, where the size of their terms matters.
      const double scale = std::max({static_cast<double>(std::abs(exact)), smallest,
                                     all[i].name == "tanh_shrink" ? std::abs(static_cast<double>(point)) : 0.0});
      CHECK(std::abs(value.as_double(k) - static_cast<double>(exact)) <= tolerance * scale);
    }
    CHECK(all_finite(slope));
  }
}

TEST_CASE("gradients of activations by differences", "[networks]") {
  for (const Activation& a : activations()) {
    INFO(a.name);
    const auto f = [&](const std::vector<Variable>& x) { return a.f(x[0]); };
    // No kink within the range of a difference.
    const Array smooth = Array{-3.3, -1.7, -0.8, -0.3, 0.2, 0.6, 1.3, 2.2, 4.4};
    CHECK(grad_error(f, {smooth}, a.kink_free ? 2 : 1) < 1e-5);
  }
  const auto glu = [](const std::vector<Variable>& x) { return nnet::glu(x[0]); };
  CHECK(grad_error(glu, {Array::uniform(DType::float64, {3, 4}, 1, -2, 2)}, 2) < 1e-5);
  const auto softmin = [](const std::vector<Variable>& x) { return nnet::softmin(x[0], 0); };
  CHECK(grad_error(softmin, {Array::uniform(DType::float64, {3, 4}, 1, -2, 2)}) < 1e-5);
  const auto prelu = [](const std::vector<Variable>& x) { return nnet::prelu(x[0], x[1]); };
  CHECK(grad_error(prelu, {Array{{-1.5, 2.0}, {0.5, -0.25}}, Array{0.25, 0.5}}) < 1e-5);
}

TEST_CASE("glu, softmin and the fast sigmoid", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable x = ct::dmatrix("x");
  const auto f = compile(mode, {x}, {nnet::glu(x), nnet::glu(x, 0), nnet::softmin(x), nnet::ultra_fast_sigmoid(x)});
  const Array a = Array::uniform(DType::float64, {4, 6}, 3, -8, 8);
  const auto r = f(a);
  REQUIRE(r[0].shape() == Sizes{4, 3});
  REQUIRE(r[1].shape() == Sizes{2, 6});
  for (std::int64_t i = 0; i < 4; ++i) {
    double total = 0;
    for (std::int64_t j = 0; j < 6; ++j) total += std::exp(-a.at<double>(i, j));
    for (std::int64_t j = 0; j < 6; ++j) {
      const double v = a.at<double>(i, j);
      CHECK(std::as_const(r[2]).at<double>(i, j) == Approx(std::exp(-v) / total).epsilon(1e-13));
      CHECK(std::abs(std::as_const(r[3]).at<double>(i, j) - 1 / (1 + std::exp(-v))) < 0.025);
      if (j < 3) {
        const double gate = 1 / (1 + std::exp(-a.at<double>(i, j + 3)));
        CHECK(std::as_const(r[0]).at<double>(i, j) == Approx(v * gate).epsilon(1e-13));
      }
      if (i < 2) {
        const double gate = 1 / (1 + std::exp(-a.at<double>(i + 2, j)));
        CHECK(std::as_const(r[1]).at<double>(i, j) == Approx(v * gate).epsilon(1e-13));
      }
    }
  }
  CHECK(f(Array::zeros(DType::float64, {0, 6}))[0].shape() == Sizes{0, 3});
  CHECK_THROWS_AS(f(Array::zeros(DType::float64, {4, 5})), ct::ShapeError);
  CHECK_THROWS_AS(nnet::glu(ct::variable({DType::float32, {2, 3}}, "y")), ct::ShapeError);
}

namespace {

struct Loss {
  std::string name;
  std::function<Variable(const Variable&, const Variable&)> f;
  /// Losses of one row.
  std::function<double(const std::vector<double>& p, const std::vector<double>& t)> formula;
};

double mean_over(const std::vector<double>& p, const std::vector<double>& t,
                 const std::function<double(double, double)>& of) {
  double total = 0;
  for (std::size_t i = 0; i < p.size(); ++i) total += of(p[i], t[i]);
  return total / static_cast<double>(p.size());
}

std::vector<Loss> losses() {
  using Row = const std::vector<double>&;
  const auto mean_loss = [](std::string name, auto f, std::function<double(double, double)> of) {
    return Loss{std::move(name), f, [of](Row p, Row t) { return mean_over(p, t, of); }};
  };
  using V = const Variable&;
  return {
      mean_loss(
          "mean_squared_error", [](V p, V t) { return nnet::mean_squared_error(p, t); },
          [](double p, double t) { return (p - t) * (p - t); }),
      mean_loss(
          "mean_absolute_error", [](V p, V t) { return nnet::mean_absolute_error(p, t); },
          [](double p, double t) { return std::abs(p - t); }),
      mean_loss(
          "mean_absolute_percentage_error", [](V p, V t) { return nnet::mean_absolute_percentage_error(p, t); },
          [](double p, double t) { return 100 * std::abs(p - t) / std::max(std::abs(t), 1e-7); }),
      mean_loss(
          "mean_squared_logarithmic_error", [](V p, V t) { return nnet::mean_squared_logarithmic_error(p, t); },
          [](double p, double t) {
            return std::pow(std::log1p(std::max(p, 1e-7)) - std::log1p(std::max(t, 1e-7)), 2);
          }),
      mean_loss(
          "huber", [](V p, V t) { return nnet::huber(p, t, 0.3); },
          [](double p, double t) {
            const double e = std::abs(p - t);
            return e <= 0.3 ? e * e / 2 : 0.3 * e - 0.045;
          }),
      mean_loss(
          "log_cosh", [](V p, V t) { return nnet::log_cosh(p * 3, t); },
          [](double p, double t) { return std::log(std::cosh(3 * p - t)); }),
      mean_loss(
          "hinge", [](V p, V t) { return nnet::hinge(p, 2 * t - 1); },
          [](double p, double t) { return std::max(1 - (2 * t - 1) * p, 0.0); }),
      mean_loss(
          "squared_hinge", [](V p, V t) { return nnet::squared_hinge(p, 2 * t - 1); },
          [](double p, double t) { return std::pow(std::max(1 - (2 * t - 1) * p, 0.0), 2); }),
      {"categorical_hinge", [](V p, V t) { return nnet::categorical_hinge(p, t); },
       [](Row p, Row t) {
         double wrong = -1e300, right = 0;
         for (std::size_t i = 0; i < p.size(); ++i) {
           wrong = std::max(wrong, (1 - t[i]) * p[i]);
           right += t[i] * p[i];
         }
         return std::max(1 + wrong - right, 0.0);
       }},
      {"kl_divergence", [](V p, V t) { return nnet::kl_divergence(p, t); },
       [](Row p, Row t) {
         return static_cast<double>(p.size()) * mean_over(p, t, [](double q, double u) {
                  u = std::clamp(u, 1e-7, 1.0);
                  return u * std::log(u / std::clamp(q, 1e-7, 1.0));
                });
       }},
      mean_loss(
          "poisson", [](V p, V t) { return nnet::poisson(p, t); },
          [](double p, double t) { return p - t * std::log(p + 1e-7); }),
      {"cosine_similarity", [](V p, V t) { return nnet::cosine_similarity(p, t); },
       [](Row p, Row t) {
         double pt = 0, pp = 0, tt = 0;
         for (std::size_t i = 0; i < p.size(); ++i) {
           pt += p[i] * t[i];
           pp += p[i] * p[i];
           tt += t[i] * t[i];
         }
         return -pt / std::sqrt(pp * tt);
       }},
      {"softmax_crossentropy", [](V p, V t) { return nnet::softmax_crossentropy(5 * p, t); },
       [](Row p, Row t) {
         double total = 0, loss = 0;
         for (const double v : p) total += std::exp(5 * v);
         for (std::size_t i = 0; i < p.size(); ++i) loss -= t[i] * (5 * p[i] - std::log(total));
         return loss;
       }},
      mean_loss(
          "sigmoid_binary_crossentropy",
          [](V p, V t) { return ct::mean(nnet::sigmoid_binary_crossentropy(9 * p - 4, t), -1); },
          [](double p, double t) {
            const double q = 1 / (1 + std::exp(4 - 9 * p));
            return -(t * std::log(q) + (1 - t) * std::log1p(-q));
          }),
      mean_loss(
          "binary_focal_crossentropy",
          [](V p, V t) { return ct::mean(nnet::binary_focal_crossentropy(p, t, 1.5, 0.3), -1); },
          [](double p, double t) {
            const double right = t * p + (1 - t) * (1 - p);
            return (t * 0.3 + (1 - t) * 0.7) * std::pow(1 - right, 1.5) *
                   -(t * std::log(p) + (1 - t) * std::log(1 - p));
          }),
      {"categorical_focal_crossentropy", [](V p, V t) { return nnet::categorical_focal_crossentropy(p, t); },
       [](Row p, Row t) {
         double loss = 0;
         for (std::size_t i = 0; i < p.size(); ++i) loss -= 0.25 * (1 - p[i]) * (1 - p[i]) * t[i] * std::log(p[i]);
         return loss;
       }},
  };
}

}  // namespace

TEST_CASE("losses are their formulas", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable p = ct::dmatrix("p"), t = ct::dmatrix("t");
  const auto all = losses();
  std::vector<Variable> outputs;
  for (const Loss& loss : all) outputs.push_back(loss.f(p, t));
  outputs.push_back(nnet::dice(p, t));
  outputs.push_back(nnet::tversky(p, t, 0.3, 0.6));
  const auto f = compile(mode, {p, t}, outputs);
  const Array predicted = Array::uniform(DType::float64, {5, 7}, 1, 0.01, 0.99);
  // One-hot rows, and one with fractions.
  Array target = Array::zeros(DType::float64, {5, 7});
  for (std::int64_t i = 0; i < 4; ++i) target.at<double>(i, (3 * i) % 7) = 1;
  for (std::int64_t j = 0; j < 7; ++j) target.at<double>(4, j) = static_cast<double>(j) / 21;
  const auto results = f(predicted, target);
  for (std::size_t l = 0; l < all.size(); ++l) {
    INFO(all[l].name);
    REQUIRE(results[l].shape() == Sizes{5});
    for (std::int64_t i = 0; i < 5; ++i) {
      std::vector<double> row, wanted;
      for (std::int64_t j = 0; j < 7; ++j) {
        row.push_back(predicted.at<double>(i, j));
        wanted.push_back(target.at<double>(i, j));
      }
      CHECK(results[l].as_double(i) == Approx(all[l].formula(row, wanted)).epsilon(1e-12).margin(1e-14));
    }
  }
  double both = 0, sum_p = 0, sum_t = 0;
  for (std::int64_t i = 0; i < predicted.size(); ++i) {
    both += predicted.as_double(i) * target.as_double(i);
    sum_p += predicted.as_double(i);
    sum_t += target.as_double(i);
  }
  CHECK(results[all.size()].item<double>() == Approx(1 - (2 * both + 1e-7) / (sum_p + sum_t + 1e-7)));
  CHECK(results[all.size() + 1].item<double>() ==
        Approx(1 - (both + 1e-7) / (both + 0.3 * (sum_p - both) + 0.6 * (sum_t - both) + 1e-7)));
}

TEST_CASE("gradients of losses by differences", "[networks]") {
  const Array target{{0.125, 1., 0.25}, {1., 0.0625, 0.5}};
  for (const Loss& loss : losses()) {
    INFO(loss.name);
    const auto f = [&](const std::vector<Variable>& x) { return loss.f(x[0], ct::constant(target)); };
    CHECK(grad_error(f, {Array::uniform(DType::float64, {2, 3}, 4, 0.1, 0.9)}) < 1e-5);
  }
  const auto dice = [&](const std::vector<Variable>& x) { return nnet::dice(x[0], x[1]); };
  CHECK(grad_error(dice, {Array::uniform(DType::float64, {2, 3}, 4, 0.1, 0.9), Array{{0.1, 1., 0.}, {0.9, 0.2, 0.}}},
                   2) < 1e-5);
}

TEST_CASE("losses from logits are finite far out, with their gradients", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable z = ct::fvector("z"), t = ct::fvector("t"), m = ct::fmatrix("m");
  const Variable y = ct::ivector("y");
  const Variable binary = nnet::sigmoid_binary_crossentropy(z, t), rows = nnet::softmax_crossentropy(m, y),
                 cosh = nnet::log_cosh(ct::expand_dims(z, 1), 0);
  const auto f = compile(
      mode, {z, t, m, y},
      {binary, ct::grad(ct::sum(binary), z), rows, ct::grad(ct::sum(rows), m), cosh, ct::grad(ct::sum(cosh), z)});
  const Array logits{-1e30f, -300.f, -1e-4f, 0.f, 300.f, 1e30f};
  const auto r = f(logits, Array{0.f, 1.f, 1.f, 0.f, 1.f, 0.f}, Array{{1e30f, -1e30f}, {0.f, 300.f}}, Array{1, 1});
  const double log2 = std::numbers::ln2;
  CHECK(r[0].all_close(Array{0.f, 300.f, static_cast<float>(log2 + 5e-5), static_cast<float>(log2), 0.f, 1e30f}, 1e-6));
  CHECK(r[1].all_close(Array{0.f, -1.f, -0.500025f, 0.5f, 0.f, 1.f}, 1e-6));
  CHECK(r[2].all_close(Array{2e30f, 0.f}, 1e-6));
  CHECK(r[3].all_close(Array{{1.f, -1.f}, {0.f, 0.f}}, 1e-6));
  CHECK(r[4].all_close(Array{1e30f, static_cast<float>(300 - log2), 5e-9f, 0.f, static_cast<float>(300 - log2), 1e30f},
                       1e-6));
  CHECK(r[5].all_close(Array{-1.f, -1.f, -1e-4f, 0.f, 1.f, 1.f}, 1e-5));
}

namespace {

/// sparsemax of a row by its definition: the support grows while its last member is above the threshold.
std::vector<double> nearest_probabilities(const std::vector<double>& z) {
  std::vector<double> falling = z;
  std::ranges::sort(falling, std::greater<>{});
  double total = 0, threshold = 0;
  for (std::size_t k = 0; k < falling.size(); ++k) {
    total += falling[k];
    if (1 + static_cast<double>(k + 1) * falling[k] <= total) break;
    threshold = (total - 1) / static_cast<double>(k + 1);
  }
  std::vector<double> p;
  for (const double v : z) p.push_back(std::max(v - threshold, 0.0));
  return p;
}

}  // namespace

TEST_CASE("sparsemax is the projection on the probabilities", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float16, DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable x = ct::matrix("x", dtype);
  const auto f = compile(mode, {x}, {nnet::sparsemax(x), nnet::sparsemax(ct::transpose(x), 0)});
  const Array a = Array::uniform(DType::float64, {6, 9}, 3, -2, 2).astype(dtype).copy();
  const auto r = f(a);
  const double close = dtype == DType::float16 ? 1e-3 : dtype == DType::float32 ? 1e-6 : 1e-14;
  for (std::int64_t i = 0; i < 6; ++i) {
    std::vector<double> row;
    for (std::int64_t j = 0; j < 9; ++j) row.push_back(a.as_double(9 * i + j));
    const std::vector<double> p = nearest_probabilities(row);
    for (std::int64_t j = 0; j < 9; ++j) {
      CHECK(r[0].as_double(9 * i + j) == Approx(p[static_cast<std::size_t>(j)]).margin(close));
      CHECK(r[1].as_double(6 * j + i) == r[0].as_double(9 * i + j));
    }
  }
  // Ties, large numbers, infinities and nan.
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double huge = dtype == DType::float16 ? 60000 : 1e30;
  const Array odd =
      fill(std::vector<double>{3, 3, 3, huge, huge, -huge, 0, -inf, 0.5, nan, 1, 2, -huge, -huge, -huge}, dtype)
          .reshape({5, 3});
  const auto s = f(odd)[0];
  const double wanted[] = {1.0 / 3, 1.0 / 3, 1.0 / 3, 0.5, 0.5,     0,       0.25,   0,
                           0.75,    nan,     nan,     nan, 1.0 / 3, 1.0 / 3, 1.0 / 3};
  for (std::int64_t i = 0; i < 15; ++i) {
    const double v = wanted[i];
    CHECK((std::isnan(v) ? std::isnan(s.as_double(i)) : std::abs(s.as_double(i) - v) <= close));
  }
  CHECK(f(Array::zeros(dtype, {3, 0}))[0].shape() == Sizes{3, 0});
  CHECK(f(Array::full(dtype, {2, 1}, -7))[0].equals(Array::full(dtype, {2, 1}, 1)));
}

TEST_CASE("the gradient of sparsemax is that of the projection", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto sparsemax = [](const std::vector<Variable>& x) { return nnet::sparsemax(x[0], 0); };
  CHECK(grad_error(sparsemax, {Array::uniform(DType::float64, {5, 3}, 8, -1, 1)}, 2) < 1e-6);
  // At ties the formula is still g minus its mean over the support.
  const Variable x = ct::dmatrix("x"), g = ct::dmatrix("g");
  const auto r = compile(mode, {x, g}, {ct::grad(ct::sum(nnet::sparsemax(x) * g), x)})(
      Array{{1., 1., 0.}, {5., 0., 0.}}, Array{{1., 3., 100.}, {4., 5., 6.}});
  CHECK(r[0].equals(Array{{-1., 1., 0.}, {0., 0., 0.}}));
}

TEST_CASE("relu with Keras's options", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable x = ct::dvector("x");
  const Variable capped = nnet::relu(x, {.max_value = 2}),
                 all = nnet::relu(x, {.negative_slope = 0.5, .max_value = 2, .threshold = 1}),
                 above = nnet::relu(x, {.threshold = -1});
  const auto r = compile(mode, {x}, {capped, all, above, ct::grad(ct::sum(capped), x), ct::grad(ct::sum(all), x)})(
      Array{-3., -1., 0., 1., 1.5, 2., 9.});
  CHECK(r[0].equals(Array{0., 0., 0., 1., 1.5, 2., 2.}));
  CHECK(r[1].equals(Array{-2., -1., -0.5, 0., 1.5, 2., 2.}));
  CHECK(r[2].equals(Array{0., 0., 0., 1., 1.5, 2., 9.}));
  CHECK(r[3].equals(Array{0., 0., 0., 1., 1., 0., 0.}));
  CHECK(r[4].equals(Array{0.5, 0.5, 0.5, 0.5, 1., 0., 0.}));
}

TEST_CASE("softmax and log_softmax over several axes", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable x = ct::dtensor3("x");
  const auto f =
      compile(mode, {x}, {nnet::softmax(x, {0, 2}), nnet::log_softmax(x, {-1, 0}), nnet::softmax(x, {2, 1, 0})});
  const Array a = Array::uniform(DType::float64, {2, 3, 4}, 4, -30, 30);
  const auto r = f(a);
  std::vector<double> totals(3);
  double total = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    totals[static_cast<std::size_t>(i / 4 % 3)] += std::exp(a.as_double(i));
    total += std::exp(a.as_double(i));
  }
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double of = totals[static_cast<std::size_t>(i / 4 % 3)];
    CHECK(r[0].as_double(i) == Approx(std::exp(a.as_double(i)) / of).epsilon(1e-12));
    CHECK(r[1].as_double(i) == Approx(a.as_double(i) - std::log(of)).epsilon(1e-12).margin(1e-12));
    CHECK(r[2].as_double(i) == Approx(std::exp(a.as_double(i)) / total).epsilon(1e-12));
  }
  CHECK(f(Array::zeros(DType::float64, {0, 3, 4}))[0].shape() == Sizes{0, 3, 4});
  CHECK(f(Array::zeros(DType::float64, {2, 0, 4}))[0].shape() == Sizes{2, 0, 4});
  CHECK_THROWS_AS(nnet::softmax(x, std::vector<int>{0, -3}), ct::ValueError);
  CHECK_THROWS_AS(nnet::softmax(x, std::vector<int>{}), ct::TypeError);
  const auto both = [](const std::vector<Variable>& v) { return nnet::softmax(v[0], {0, 2}) * v[0]; };
  CHECK(grad_error(both, {Array::uniform(DType::float64, {2, 3, 2}, 5, -2, 2)}, 2) < 1e-5);
}

TEST_CASE("cross-entropies of logits, with smoothed labels and ignored classes", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable z = ct::dmatrix("z"), t = ct::dmatrix("t"), y = ct::lvector("y");
  const nnet::CrossentropyOptions logits{.from_logits = true}, smooth{.label_smoothing = 0.3},
      both{.from_logits = true, .label_smoothing = 0.3}, ignoring{.from_logits = true, .ignore_class = -1},
      all{.from_logits = true, .label_smoothing = 0.3, .ignore_class = -1};
  std::vector<Variable> outputs{
      nnet::categorical_crossentropy(z, t, logits),
      nnet::categorical_crossentropy(z, t, both),
      nnet::categorical_crossentropy(nnet::softmax(z), t, smooth),
      nnet::categorical_crossentropy(z, y, ignoring),
      nnet::categorical_crossentropy(z, y, all),
      nnet::categorical_crossentropy(nnet::softmax(z), y, {.label_smoothing = 0.3, .ignore_class = -1}),
      ct::sum(nnet::binary_crossentropy(z, t, logits), 1),
      ct::sum(nnet::binary_crossentropy(z, t, both), 1),
      ct::sum(nnet::binary_crossentropy(ct::sigmoid(z), t, smooth), 1)};
  const std::size_t losses = outputs.size();
  for (const std::size_t i : {1, 4, 7}) outputs.push_back(ct::grad(ct::sum(outputs[i]), z));
  const auto f = compile(mode, {z, t, y}, outputs);
  const auto check = [&](const Array& a, double close, bool far) {
    const Array hot{{0., 1., 0.}, {1., 0., 0.}, {0.25, 0.25, 0.5}, {0., 0., 1.}};
    const std::vector<std::int64_t> classes{1, 0, -1, 2};
    const auto r = f(a, hot, Array(classes));
    for (std::int64_t i = 0; i < 4; ++i) {
      const Real top = std::max({a.as_double(3 * i), a.as_double(3 * i + 1), a.as_double(3 * i + 2)});
      Real total = 0, dense = 0, mean = 0, binary = 0, smooth_binary = 0;
      for (int j = 0; j < 3; ++j) total += std::exp(a.as_double(3 * i + j) - top);
      const auto log_p = [&](std::int64_t j) { return a.as_double(3 * i + j) - top - std::log(total); };
      for (int j = 0; j < 3; ++j) {
        const Real v = a.as_double(3 * i + j), u = hot.as_double(3 * i + j), s = 0.7L * u + 0.15L;
        if (u != 0) dense -= u * log_p(j);
        mean -= log_p(j) / 3;
        binary += u * softplus(-v) + (1 - u) * softplus(v);
        smooth_binary += s * softplus(-v) + (1 - s) * softplus(v);
      }
      const std::int64_t target = classes[static_cast<std::size_t>(i)];
      const Real sparse = target < 0 ? 0 : -log_p(target), spread = target < 0 ? 0 : 0.7L * sparse + 0.3L * mean;
      const Real wanted[] = {dense,
                             0.7L * dense + 0.3L * mean,
                             0.7L * dense + 0.3L * mean,
                             sparse,
                             spread,
                             spread,
                             binary,
                             smooth_binary,
                             smooth_binary};
      for (std::size_t k = 0; k < losses; ++k) {
        if (far && mode == "mode=reference" && (k == 2 || k == 5 || k == 8)) continue;  // it has no logits
        INFO("loss " << k << ", row " << i);
        CHECK(r[k].as_double(i) == Approx(static_cast<double>(wanted[k])).epsilon(close).margin(close));
      }
    }
    for (std::size_t k = losses; k < r.size(); ++k) CHECK(all_finite(r[k]));
    for (int j = 0; j < 3; ++j) CHECK(r[losses + 1].as_double(6 + j) == 0);  // the ignored row
  };
  check(Array::uniform(DType::float64, {4, 3}, 3, -5, 5), 1e-12, false);
  check(Array::uniform(DType::float64, {4, 3}, 4, -1e5, 1e5), 1e-12, true);
  CHECK_THROWS_AS(f(Array::zeros(DType::float64, {1, 3}), Array{{0., 1., 0.}}, Array{std::int64_t{3}}), ct::IndexError);
  CHECK_THROWS_AS(f(Array::zeros(DType::float64, {1, 3}), Array{{0., 1., 0.}}, Array{std::int64_t{-2}}),
                  ct::IndexError);
}

TEST_CASE("an ignored row with probabilities of 0 has no gradient", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable p = ct::dmatrix("p"), y = ct::ivector("y");
  const Variable loss = nnet::categorical_crossentropy(p, y, {.ignore_class = 255});
  const auto r = compile(mode, {p, y}, {loss, ct::grad(ct::sum(loss), p)})(Array{{0., 1.}, {0.5, 0.5}}, Array{255, 0});
  CHECK(r[0].equals(Array{0., std::numbers::ln2}));
  CHECK(r[1].equals(Array{{0., 0.}, {-2., 0.}}));
}

TEST_CASE("cross-entropies reject wrong arguments", "[networks]") {
  const Variable p = ct::dmatrix("p"), t = ct::dmatrix("t");
  CHECK_THROWS_AS(nnet::categorical_crossentropy(p, t, {.ignore_class = 0}), ct::TypeError);
  CHECK_THROWS_WITH(nnet::binary_crossentropy(p, t, {.ignore_class = 0}),
                    Catch::Contains("ignore_class is for targets that are class numbers"));
  CHECK_THROWS_AS(nnet::binary_focal_crossentropy(p, t, 2, {}, {.ignore_class = 0}), ct::TypeError);
  for (const double s : {-0.1, 1.5, std::nan("")})
    CHECK_THROWS_AS(nnet::categorical_crossentropy(p, t, {.label_smoothing = s}), ct::ValueError);
  for (const double q : {0.0, -1.0, 1.25, std::nan("")})
    CHECK_THROWS_AS(nnet::categorical_generalized_cross_entropy(p, t, q), ct::ValueError);
  CHECK_THROWS_AS(nnet::circle(p, t), ct::TypeError);
}

TEST_CASE("focal losses of logits", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable z = ct::dmatrix("z"), t = ct::dmatrix("t");
  const nnet::CrossentropyOptions logits{.from_logits = true, .label_smoothing = 0.2};
  const Variable binary = nnet::binary_focal_crossentropy(z, t, 2, 0.25, logits),
                 rows = nnet::categorical_focal_crossentropy(z, t, 2, 0.25, logits);
  const auto f =
      compile(mode, {z, t},
              {binary, nnet::binary_focal_crossentropy(ct::sigmoid(z), t, 2, 0.25, {.label_smoothing = 0.2}), rows,
               nnet::categorical_focal_crossentropy(nnet::softmax(z), t, 2, 0.25, {.label_smoothing = 0.2}),
               ct::grad(ct::sum(binary), z), ct::grad(ct::sum(rows), z)});
  const Array hot{{0., 1., 0.}, {1., 0., 0.}};
  const auto near = f(Array{{0.3, -1., 2.}, {3., -2., 0.}}, hot);
  CHECK(near[0].all_close(near[1], 1e-12));
  CHECK(near[2].all_close(near[3], 1e-12));
  const auto far = f(Array{{-1e5, 1e5, 0.}, {-800., 800., 1e5}}, hot);
  CHECK(far[0].as_double(0) == Approx(0.1L * 0.1L * 0.1L * 1e5L * (0.1L * 0.25L + 0.9L * 0.75L)));
  for (const std::size_t i : {0, 2, 4, 5}) CHECK(all_finite(far[i]));
}

TEST_CASE("generalized cross-entropy", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable p = ct::dmatrix("p"), t = ct::dmatrix("t"), y = ct::ivector("y");
  const Variable sparse = nnet::categorical_generalized_cross_entropy(p, y, 0.7);
  const auto f = compile(mode, {p, t, y},
                         {sparse, nnet::categorical_generalized_cross_entropy(p, t), ct::grad(ct::sum(sparse), p),
                          nnet::categorical_generalized_cross_entropy(p, y, 1e-9)});
  const auto r = f(Array{{0.25, 0.75}, {1., 0.}, {0., 1.}}, Array{{1., 0.}, {1., 0.}, {0.5, 0.5}}, Array{0, 0, 0});
  CHECK(r[0].all_close(Array{(1 - std::pow(0.25, 0.7)) / 0.7, 0., (1 - std::pow(1e-7, 0.7)) / 0.7}, 1e-13));
  CHECK(r[1].all_close(Array{1., 0., 2 - 2 * std::sqrt(0.5)}, 1e-13));
  CHECK(r[2].all_close(Array{{-std::pow(0.25, -0.3), 0.}, {-1., 0.}, {0., 0.}}, 1e-13));
  CHECK(r[3].as_double(0) == Approx(-std::log(0.25)).epsilon(1e-8));  // 1 - p^q has cancelled
  CHECK_THROWS_AS(f(Array{{0.5, 0.5}}, Array{{1., 0.}}, Array{2}), ct::IndexError);
  const auto dense = [](const std::vector<Variable>& x) {
    return nnet::categorical_generalized_cross_entropy(x[0], x[1], 0.3);
  };
  CHECK(grad_error(dense, {Array{{0.2, 0.8}, {0.6, 0.4}}, Array{{0.9, 0.1}, {0.2, 0.8}}}, 2) < 1e-5);
}

namespace {

/// Row i of the circle loss, written out.
double circle_of(const Array& e, const Array& refs, const std::vector<int>& labels, const std::vector<int>& others,
                 std::int64_t i, double gamma, double m, bool remove_diagonal) {
  Real near = 0, far = 0;
  for (std::int64_t j = 0; j < refs.shape(0); ++j) {
    Real dot = 0;
    for (std::int64_t k = 0; k < e.shape(1); ++k)
      dot += e.as_double(i * e.shape(1) + k) * refs.as_double(j * e.shape(1) + k);
    const Real d = std::max<Real>(1 - dot, 0);
    const bool same = labels[static_cast<std::size_t>(i)] == others[static_cast<std::size_t>(j)];
    if (same && !(remove_diagonal && i == j)) near += std::exp(gamma * (m + d) * (d - m));
    if (!same) far += std::exp(gamma * std::max<Real>(1 + m - d, 0) * (1 - m - d));
  }
  return near == 0 || far == 0 ? 0 : static_cast<double>(std::log1p(near * far));
}

}  // namespace

TEST_CASE("the circle loss", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable e = ct::dmatrix("e"), y = ct::ivector("y"), r = ct::dmatrix("r"), u = ct::ivector("u");
  const Variable plain = nnet::circle(e, y);
  const auto f = compile(
      mode, {e, y, r, u},
      {plain, nnet::circle(e, y, {.gamma = 10, .margin = 0.25, .remove_diagonal = false}),
       nnet::circle(e, y, {.gamma = 20, .remove_diagonal = false, .reference_embeddings = r, .reference_labels = u}),
       ct::grad(ct::sum(plain), e)});
  const auto on_sphere = [](const Sizes& shape, std::uint64_t seed) {
    Array a = Array::normal(DType::float64, shape, seed);
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      double length = 0;
      for (std::int64_t k = 0; k < shape[1]; ++k) length += a.at<double>(i, k) * a.at<double>(i, k);
      for (std::int64_t k = 0; k < shape[1]; ++k) a.at<double>(i, k) /= std::sqrt(length);
    }
    return a;
  };
  const Array a = on_sphere({6, 4}, 3), refs = on_sphere({5, 4}, 4);
  const std::vector<int> labels{0, 0, 1, 1, 0, 5}, others{0, 1, 1, 5, 2};  // only itself has label 5
  const auto got = f(a, Array(labels), refs, Array(others));
  for (std::int64_t i = 0; i < 6; ++i) {
    CHECK(got[0].as_double(i) == Approx(circle_of(a, a, labels, labels, i, 80, 0.4, true)).epsilon(1e-11));
    CHECK(got[1].as_double(i) == Approx(circle_of(a, a, labels, labels, i, 10, 0.25, false)).epsilon(1e-11));
    CHECK(got[2].as_double(i) == Approx(circle_of(a, refs, labels, others, i, 20, 0.4, false)).epsilon(1e-11));
  }
  CHECK(got[0].as_double(5) == 0);
  CHECK(all_finite(got[3]));
  // With one label no sample is far: there is nothing to learn, and no nan.
  const auto alike = f(a, Array(std::vector<int>(6, 2)), refs, Array(others));
  CHECK(alike[0].equals(Array::zeros(DType::float64, {6})));
  CHECK(alike[3].equals(Array::zeros(DType::float64, {6, 4})));
  const auto loss = [&](const std::vector<Variable>& x) {
    return nnet::circle(x[0], ct::constant(Array(labels)), {.gamma = 4, .margin = 0.3});
  };
  CHECK(grad_error(loss, {a}, 2) < 1e-5);
}

TEST_CASE("dice and tversky over some axes", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable p = ct::dmatrix("p"), t = ct::dmatrix("t");
  const auto r = compile(mode, {p, t},
                         {nnet::dice(p, t, {{1}}), nnet::tversky(p, t, 0.3, 0.6, {{0}}), nnet::dice(p, t, {{0, 1}}),
                          nnet::dice(p, t)})(Array{{0.5, 0.25}, {1., 0.}}, Array{{1., 0.}, {1., 1.}});
  CHECK(r[0].all_close(Array{1 - 1.0000001 / 1.7500001, 1 - 2.0000001 / 3.0000001}, 1e-14));
  CHECK(r[1].all_close(Array{1 - 1.5000001 / (1.5 + 0.6 * 0.5 + 1e-7), 1 - 1e-7 / (0.3 * 0.25 + 0.6 + 1e-7)}, 1e-14));
  CHECK(r[2].equals(r[3]));
}

TEST_CASE("Theano's cross-entropy of three results, and the confusion matrix", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable x = ct::dmatrix("x"), b = ct::dvector("b"), n = ct::lscalar("n");
  const Variable y = ct::lvector("y"), guess = ct::lvector("guess");
  const auto [nll, p, best] = nnet::crossentropy_softmax_argmax_1hot_with_bias(x, b, y);
  const auto f = compile(mode, {x, b, y}, {nll, p, best, nnet::softmax_with_bias(x, b)});
  const auto r = f(Array{{1., 2., 3.}, {5., 0., 1.}}, Array{0., 2., 0.}, Array{std::int64_t{1}, std::int64_t{2}});
  const double total = std::exp(1.) + std::exp(4.) + std::exp(3.), other = std::exp(5.) + std::exp(2.) + std::exp(1.);
  CHECK(r[0].all_close(Array{std::log(total) - 4, std::log(other) - 1}, 1e-12));
  CHECK(r[1].as_double(2) == Approx(std::exp(3.) / total));
  CHECK(r[2].equals(Array{std::int64_t{1}, std::int64_t{0}}));
  CHECK(r[3].same_bits(r[1]));
  const auto confusion = compile(mode, {y, guess, n}, {nnet::confusion_matrix(y, guess, n)});
  using I = std::int64_t;
  const Array actual{I{0}, I{2}, I{1}, I{2}, I{2}, I{7}}, predicted{I{0}, I{2}, I{0}, I{1}, I{2}, I{0}};
  CHECK(confusion(actual, predicted, Array(I{3}))[0].equals(
      Array{{I{1}, I{0}, I{0}}, {I{1}, I{0}, I{0}}, {I{0}, I{1}, I{2}}}));
}

TEST_CASE("the gradient of a cross-entropy by its probabilities", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable p = ct::dmatrix("p"), y = ct::lvector("y");
  const auto f = compile(mode, {p, y}, {ct::grad(ct::sum(nnet::categorical_crossentropy(p, y)), p)});
  const Array at{{0.25, 0.75, 0.}, {0.5, 0.5, 0.}}, classes{std::int64_t{0}, std::int64_t{1}};
  CHECK(f(at, classes)[0].equals(Array{{-4., 0., 0.}, {0., -2., 0.}}));
  const ct::change_flags flags("special_values=ieee");
  const auto ieee = compile(mode, {p, y}, {ct::grad(ct::sum(nnet::categorical_crossentropy(p, y)), p)});
  const Array zero_and_nan{{0., 1., 1.}, {1., std::nan(""), 1.}};
  const Array slope = ieee(zero_and_nan, classes)[0];
  CHECK(slope.as_double(0) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(slope.as_double(4)));
  CHECK(slope.as_double(5) == 0);
}

TEST_CASE("a softmax keeps its exponentials in the memory of the result, if nothing is read after them", "[networks]") {
  const Variable x = ct::matrix("x"), y = ct::matrix("y");
  const auto exponentials = [](const ct::Function& f) {
    const std::string text = f.kernels("cpu").at(0).source;
    int count = 0;
    for (std::size_t at = text.find("ct::exp("); at != std::string::npos; at = text.find("ct::exp(", at + 1)) ++count;
    return count;
  };
  const Variable s = nnet::softmax(x);
  CHECK(exponentials(ct::function({x}, s)) == 1);
  CHECK(exponentials(ct::function({x}, 2 * s + 1)) == 1);
  CHECK(exponentials(ct::function({x}, s + x)) == 2);
  CHECK(exponentials(ct::function({x, y}, s * y)) == 2);
  CHECK(exponentials(ct::function({x}, {s, 2 * s})) == 2);
  CHECK(exponentials(ct::function({x}, ct::cast(s, DType::float64))) == 2);

  // The result overwrites its operand, with the bits of a GPU, where it does not.
  const Array start = Array::uniform(DType::float32, {5, 3000}, 9, -8, 8);
  const auto after = [&](const std::string& mode, auto value) {
    const ct::change_flags flags(mode);
    const ct::SharedVariable w = ct::shared(start);
    ct::FunctionOptions options;
    options.updates.emplace_back(w, value(w));
    ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, options)();
    return w.get_value().copy();
  };
  const auto alone = [](const Variable& w) { return nnet::softmax(w); };
  const auto with_input = [](const Variable& w) { return nnet::softmax(w) + w; };
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    CHECK(after("mode=run", alone).same_bits(after(backend, alone)));
    CHECK(after("mode=run", with_input).same_bits(after(backend, with_input)));
  }
  CHECK(after("mode=run", alone).same_bits(ct::function({x}, s)(start)[0]));
}

TEST_CASE("hierarchical softmax", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable x = ct::dmatrix("x"), w1 = ct::dmatrix("w1"), b1 = ct::dvector("b1"), w2 = ct::dtensor3("w2"),
                 b2 = ct::dmatrix("b2"), y = ct::lvector("y");
  constexpr int samples = 4, features = 3, classes = 2, size = 5, outputs = 9;
  const auto f = compile(mode, {x, w1, b1, w2, b2, y},
                         {nnet::h_softmax(x, w1, b1, w2, b2, outputs), nnet::h_softmax(x, w1, b1, w2, b2, {}, y)});
  const auto numbers = [](Sizes shape, int seed) {
    return Array::uniform(DType::float64, std::move(shape), static_cast<std::uint64_t>(seed), -1, 1);
  };
  const Array a = numbers({samples, features}, 1), v1 = numbers({features, classes}, 2), c1 = numbers({classes}, 3),
              v2 = numbers({classes, features, size}, 4), c2 = numbers({classes, size}, 5);
  const std::vector<std::int64_t> targets{0, 8, 4, 5};
  const auto r = f(a, v1, c1, v2, c2, Array(targets));
  REQUIRE(r[0].shape() == Sizes{samples, outputs});
  REQUIRE(r[1].shape() == Sizes{samples});
  const auto normalised = [](std::vector<double> z) {
    double total = 0;
    for (double& e : z) total += e = std::exp(e);
    for (double& e : z) e /= total;
    return z;
  };
  for (int i = 0; i < samples; ++i) {
    const auto affine = [&](double bias, const std::function<double(int)>& weight) {
      for (int k = 0; k < features; ++k) bias += a.as_double(i * features + k) * weight(k);
      return bias;
    };
    std::vector<double> of_class, probabilities;
    for (int c = 0; c < classes; ++c)
      of_class.push_back(affine(c1.as_double(c), [&](int k) { return v1.as_double(k * classes + c); }));
    of_class = normalised(of_class);
    for (int c = 0; c < classes; ++c) {
      std::vector<double> inside;
      for (int o = 0; o < size; ++o) {
        inside.push_back(
            affine(c2.as_double(c * size + o), [&](int k) { return v2.as_double((c * features + k) * size + o); }));
      }
      for (const double p : normalised(inside)) probabilities.push_back(of_class[static_cast<std::size_t>(c)] * p);
    }
    for (int o = 0; o < outputs; ++o)
      CHECK(r[0].as_double(i * outputs + o) == Approx(probabilities[static_cast<std::size_t>(o)]).epsilon(1e-13));
    const auto target = static_cast<std::size_t>(targets[static_cast<std::size_t>(i)]);
    CHECK(r[1].as_double(i) == Approx(probabilities[target]).epsilon(1e-13));
  }
  const auto loss = [&](const std::vector<Variable>& in) {
    return ct::log(nnet::h_softmax(in[0], in[1], in[2], in[3], in[4], {}, ct::constant(Array(targets))));
  };
  CHECK(grad_error(loss, {a, v1, c1, v2, c2}, 1) < 1e-6);
  CHECK_THROWS_AS(f(a, v1, c1, v2, c2, Array(std::vector<std::int64_t>{0, 10, 4, 5})), ct::IndexError);
}

TEST_CASE("std, ptp, norm, logsumexp and counts over any axes", "[networks]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Variable x = ct::dtensor3("x");
  const Array a = Array::uniform(DType::float64, {3, 4, 5}, 9, -2, 3);
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::vector<int>& axes : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    for (const bool keep : {false, true}) {
      const ct::ReduceOptions o(axes, keep);
      const auto f =
          compile(mode, {x},
                  {ct::std(x, o), ct::var(x, o, 1), ct::ptp(x, o), ct::norm(x, 2, o), ct::norm(x, 1, o),
                   ct::norm(x, 3, o), ct::norm(x, inf, o), ct::norm(x, -inf, o), ct::norm(ct::round(x), 0, o),
                   ct::logsumexp(x, o), ct::count_nonzero(ct::round(x), o), ct::max_and_argmax(x, o).second});
      const auto r = f(a);
      std::vector<int> order;
      Sizes shape;
      for (int axis = 0; axis < 3; ++axis) {
        const bool reduced = std::ranges::find(axes, axis) != axes.end();
        if (!reduced) order.push_back(axis);
        if (!reduced || keep) shape.push_back(reduced ? 1 : a.shape(axis));
      }
      const std::size_t kept = order.size();
      order.insert(order.end(), axes.begin(), axes.end());
      const Array moved = a.transpose(order).copy();
      std::int64_t results = 1;
      for (std::size_t i = 0; i < kept; ++i) results *= moved.shape(static_cast<int>(i));
      const std::int64_t n = moved.size() / results;
      for (const Array& array : r) REQUIRE(array.shape() == shape);
      for (std::int64_t k = 0; k < results; ++k) {
        double sum = 0, low = inf, high = -inf, one = 0, two = 0, three = 0, smallest = inf, exps = 0;
        std::int64_t some = 0, best = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const double v = moved.as_double(k * n + i);
          if (v > high) best = i;
          sum += v;
          low = std::min(low, v);
          high = std::max(high, v);
          one += std::abs(v);
          two += v * v;
          three += std::pow(std::abs(v), 3);
          smallest = std::min(smallest, std::abs(v));
          exps += std::exp(v);
          some += std::nearbyint(v) != 0;
        }
        double squares = 0;
        for (std::int64_t i = 0; i < n; ++i)
          squares += std::pow(moved.as_double(k * n + i) - sum / static_cast<double>(n), 2);
        const double wanted[] = {std::sqrt(squares / static_cast<double>(n)),
                                 squares / static_cast<double>(n - 1),
                                 high - low,
                                 std::sqrt(two),
                                 one,
                                 std::cbrt(three),
                                 std::max(high, -low),
                                 smallest,
                                 static_cast<double>(some),
                                 std::log(exps),
                                 static_cast<double>(some),
                                 static_cast<double>(best)};
        for (std::size_t i = 0; i < std::size(wanted); ++i) {
          INFO("result " << i);
          CHECK(r[i].as_double(k) == Approx(wanted[i]).epsilon(1e-12));
        }
      }
    }
  }
  const auto extremes = compile(mode, {x}, {ct::logsumexp(x), ct::logsumexp(x, ct::ReduceOptions({0, 2}))});
  CHECK(extremes(Array::full(DType::float64, {2, 1, 2}, 1e300))[0].item<double>() == 1e300);
  CHECK(extremes(Array::full(DType::float64, {2, 1, 2}, -inf))[1].as_double(0) == -inf);
  CHECK(extremes(Array::zeros(DType::float64, {0, 3, 2}))[0].item<double>() == -inf);  // log(0)
  const auto few = compile(mode, {x}, {ct::var(x, ct::ReduceOptions(0), 1), ct::var(x, ct::ReduceOptions(0), 2)});
  const auto r = few(Array::full(DType::float64, {1, 2, 1}, 1));
  CHECK(std::isnan(r[0].as_double(0)));
  CHECK(std::isnan(r[1].as_double(0)));
}

TEST_CASE("sums of squares of float16 are float32 inside", "[networks]") {
  const ct::change_flags flags("mode=run");
  const Variable x = ct::matrix("x", DType::float16);
  const ct::Function f = ct::function({x}, {nnet::layer_norm(x), nnet::cosine_similarity(x, 2 * x),
                                            ct::std(x, ct::ReduceOptions(-1)), ct::norm(x, 2, ct::ReduceOptions(-1))});
  const std::vector<double> signs{1, -1, 1, -1};
  const ct::Outputs results = f(Array{{3000.f, -3000.f, 3000.f, -3000.f}}.astype(DType::float16));
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(results[0].to_host().as_double(i) == Approx(signs[static_cast<std::size_t>(i)]).epsilon(2e-3));
  CHECK(results[1].to_host().as_double(0) == Approx(-1).epsilon(2e-3));
  CHECK(results[2].to_host().as_double(0) == Approx(3000).epsilon(2e-3));
  CHECK(results[3].to_host().as_double(0) == Approx(6000).epsilon(2e-3));
  for (std::size_t i = 0; i < 4; ++i) CHECK(results[i].dtype() == DType::float16);
}

TEST_CASE("gradients of composed reductions", "[networks]") {
  const Array a = Array::uniform(DType::float64, {2, 3, 2}, 5, 0.3, 2);
  const auto check = [&](auto f, int order = 1) {
    CHECK(grad_error([&](const std::vector<Variable>& x) { return f(x[0]); }, {a}, order) < 1e-5);
  };
  const ct::ReduceOptions two({0, 2});
  check([&](const Variable& x) { return ct::std(x, two); }, 2);
  check([&](const Variable& x) { return ct::var(x, two, 1); });
  check([&](const Variable& x) { return ct::ptp(x, two); });
  check([&](const Variable& x) { return ct::norm(x, 2, two); }, 2);
  check([&](const Variable& x) { return ct::norm(x, 3, two); });
  check([&](const Variable& x) { return ct::norm(x, 1); });
  check([&](const Variable& x) { return ct::logsumexp(x, two); }, 2);
}
