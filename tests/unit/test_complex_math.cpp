// The complex functions of generated kernels, compiled here for the host: accuracy against long double, and the values
// at zeros, infinities and nans against std::complex<double>, which has those of C99's annex G. The same text runs on
// every device.
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// Each header needs the ones before it, as in the text of a kernel.
// clang-format off
#include "codegen_templates/cpu/device_cpu.hpp"
#include "codegen_templates/common/numeric.cuh"
#include "codegen_templates/common/math.cuh"
#include "codegen_templates/common/complex.cuh"
// clang-format on
#include "tests/catch.hpp"

namespace {

using Ours = ct::complex<double>;
using Exact = std::complex<long double>;
using Double = std::complex<double>;

struct Function {
  std::string name;
  Ours (*ours)(Ours);
  Exact (*exact)(Exact);
  Double (*in_double)(Double);
};

#define FUNCTION(name)                                                              \
  {#name, [](Ours z) { return ct::name(z); }, [](Exact z) { return std::name(z); }, \
   [](Double z) { return std::name(z); }}

const std::vector<Function> functions = {FUNCTION(exp),   FUNCTION(log),   FUNCTION(sqrt), FUNCTION(sin),
                                         FUNCTION(cos),   FUNCTION(tan),   FUNCTION(sinh), FUNCTION(cosh),
                                         FUNCTION(tanh),  FUNCTION(asin),  FUNCTION(acos), FUNCTION(atan),
                                         FUNCTION(asinh), FUNCTION(acosh), FUNCTION(atanh)};

class Random {
 public:
  double between(double low, double high) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return low + (high - low) * static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

/// Points of all sizes, and many near the unit circle, where logarithms vanish.
Double point(Random& random, int kind) {
  const auto spread = [&](double low, double high) {
    return random.between(-1, 1) * std::pow(10, random.between(low, high));
  };
  switch (kind % 4) {
    case 0:
      return {random.between(-4, 4), random.between(-4, 4)};
    case 1:
      return {spread(-20, 0), spread(-20, 0)};
    case 2:
      return {spread(-3, 2.5), spread(-3, 2.5)};
    default:
      return std::polar(1 + spread(-16, 0), random.between(-3.2, 3.2));
  }
}

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= std::max(1e-14 * std::abs(b), 1e-15);
}

}  // namespace

TEST_CASE("complex functions are accurate", "[math]") {
  for (const Function& f : functions) {
    Random random;
    double worst = 0;
    Double where;
    for (int i = 0; i < 40000; ++i) {
      const Double z = point(random, i);
      const Exact exact = f.exact(Exact(z.real(), z.imag()));
      const auto size = static_cast<double>(std::abs(exact));
      if (!std::isfinite(size) || size < 1e-300) continue;
      const Ours got = f.ours(Ours(z.real(), z.imag()));
      const double error = static_cast<double>(std::abs(Exact(got.re, got.im) - exact)) / size / 0x1p-52;
      if (error <= worst) continue;
      worst = error;
      where = z;
    }
    CAPTURE(f.name, where.real(), where.imag());
    CHECK(worst <= 4);
  }
}

TEST_CASE("complex functions at zeros, infinities, nans and branch cuts", "[math]") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> parts = {0.0, -0.0, 0.5, -0.5, 1, -1, 2.5, -2.5, 800, -800, inf, -inf, nan};
  for (const Function& f : functions) {
    for (const double x : parts) {
      for (const double y : parts) {
        const Ours got = f.ours(Ours(x, y));
        const Double wanted = f.in_double(Double(x, y));
        CAPTURE(f.name, x, y, got.re, got.im, wanted.real(), wanted.imag());
        const bool finite = std::isfinite(x) && std::isfinite(y);
        // The sign of an infinity next to a nan is not determined.
        const auto agrees = [&](double a, double b, double other) {
          return same(a, b) || (std::isinf(a) && std::isinf(b) && std::isnan(other));
        };
        CHECK(agrees(got.re, wanted.real(), wanted.imag()));
        CHECK(agrees(got.im, wanted.imag(), wanted.real()));
        // On a branch cut the sign of a zero selects the side.
        if (finite && wanted.imag() == 0) CHECK(std::signbit(got.im) == std::signbit(wanted.imag()));
      }
    }
  }
}

TEST_CASE("complex arithmetic neither overflows nor vanishes on the way", "[math]") {
  const Ours large(3e300, 4e300), small(3e-310, 4e-310);
  CHECK(ct::abs(large) == 5e300);
  CHECK(std::abs(ct::abs(small) - 5e-310) < 1e-320);
  const Ours one = large / large, half = large / Ours(6e300, 8e300);
  CHECK((one.re == 1 && one.im == 0 && half.re == 0.5 && half.im == 0));
  const Ours root = ct::sqrt(large);
  CHECK(std::abs(root.re - 2e150) < 1e136);
  const ct::complex<float> narrow = ct::exp(ct::complex<float>(100, 1.5f));
  CHECK((std::isinf(narrow.re) && std::isinf(narrow.im)));
  const Ours power = ct::pow(Ours(0, 1), Ours(2)), inverse = ct::pow(Ours(2), Ours(-2));
  CHECK((power.re == -1 && power.im == 0 && inverse.re == 0.25));
  CHECK((ct::cast<ct::complex<float>>(Ours(0.5, 2)) == ct::complex<float>(0.5f, 2)));
  CHECK((ct::cast<Ours>(3) == Ours(3) && ct::cast<bool>(Ours(0, 1)) && !ct::cast<bool>(Ours(0))));
}
