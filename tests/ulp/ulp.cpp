// croton_ulp: the largest errors of the elementwise functions, as in docs/internals/ulp.md, and whether all back-ends
// give the same bits.
//
//   croton_ulp [--stride N] [--samples N] [--backends mode=run,mode=simulate] [--check] [NAME ...]
//
// float32: every N-th bit pattern; float64: that many samples, a third of them random bit patterns. Each error is given
// as the distance from the exact value in units in the last place, and as in CUDA's programming guide: from the
// correctly rounded exact value, a whole number. With --check the exit status is 1 if the latter is above CUDA's, or if
// bits differ.
#include <croton/croton.hpp>

#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <sstream>

#include "builder/node.hpp"
#include "expr/op.hpp"
#include "ulp/exact.hpp"

#include <fmt/format.h>

namespace {

using croton::Array;
using croton::DType;
using croton::Variable;
using croton_ulp::Exact;
using croton_ulp::Function;

struct Options {
  std::uint64_t stride = 4001;
  std::int64_t samples = 200000;
  std::vector<std::string> backends{"mode=run"};
  bool check = false;
  std::vector<std::string> names;
};

class Random {
 public:
  std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  double between(double low, double high) { return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

/// Special points: zeros, the ends of the range, ones, numbers near which functions change their form.
std::vector<double> special_points() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> all{inf, -inf, std::numeric_limits<double>::quiet_NaN()};
  for (const double x : {0.0,
                         5e-324,
                         2.2250738585072014e-308,
                         1.401298464324817e-45,
                         1.1754943508222875e-38,
                         1e-10,
                         0.25,
                         0.5,
                         0.75,
                         1.0,
                         1.5,
                         2.0,
                         2.5,
                         3.0,
                         4.5,
                         8.0,
                         10.0,
                         26.0,
                         100.0,
                         171.5,
                         3.4028234663852886e38,
                         1e300,
                         1.7976931348623157e308}) {
    for (const double near : {x, std::nextafter(x, 0.0), std::nextafter(x, std::numeric_limits<double>::infinity()),
                              static_cast<double>(std::nextafter(static_cast<float>(x), 0.f)),
                              static_cast<double>(std::nextafter(static_cast<float>(x), 1e30f))}) {
      all.push_back(near);
      all.push_back(-near);
    }
  }
  return all;
}

template <class T>
std::vector<T> points(const Function& f, const Options& options) {
  std::vector<T> all;
  for (const double x : special_points()) all.push_back(static_cast<T>(x));
  Random random;
  if constexpr (sizeof(T) == 4) {
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += options.stride) {
      const auto narrow = static_cast<std::uint32_t>(bits);
      float x = 0;
      std::memcpy(&x, &narrow, sizeof x);
      all.push_back(x);
    }
  } else {
    for (std::int64_t i = 0; i < options.samples; ++i) {
      const std::uint64_t bits = random.bits();
      double x = 0;
      if (i % 3 == 0) std::memcpy(&x, &bits, sizeof x);
      if (i % 3 == 1) x = random.between(f.low, f.high);
      if (i % 3 == 2) x = random.between(-2, 2) * std::exp2(random.between(-30, 3));
      all.push_back(x);
    }
  }
  return all;
}

template <class T>
std::vector<T> second_points(const Function& f, std::size_t count) {
  Random random;
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = static_cast<T>(i % 2 ? random.between(f.y_low, f.y_high)
                                  : random.between(-1, 1) * std::exp2(random.between(-20, 10)));
  }
  return all;
}

template <class T>
std::vector<T> run(const Function& f, const std::string& backend, const std::vector<T>& x, const std::vector<T>& y) {
  const croton::change_flags flags("special_values=ieee," + backend);
  const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  const auto call = [&](std::vector<Variable> inputs) {
    return croton::builder::apply(croton::expr::op(f.op), inputs, {}, std::source_location::current());
  };
  const Variable a = croton::vector("a", dtype), b = croton::vector("b", dtype);
  const Array result = f.of_two != nullptr ? croton::function({a, b}, {call({a, b})})(Array(x), Array(y))[0]
                                           : croton::function({a}, {call({a})})(Array(x))[0];
  const Array plain = result.contiguous();
  return {plain.template data<T>().begin(), plain.template data<T>().end()};
}

template <class T>
T round_to(const Exact& value) {
  if constexpr (sizeof(T) == 4)
    return mpfr_get_flt(value.get(), MPFR_RNDN);
  else
    return mpfr_get_d(value.get(), MPFR_RNDN);
}

/// The unit in the last place of a result: that of the format at this value, denormals included.
template <class T>
double ulp(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits);
}

struct Worst {
  double exact = 0, counted = 0, absolute = 0;
  double at = 0, and_at = 0;
  std::string wrong;  // a special value that differs
};

template <class T>
void take(Worst& worst, const Function& f, T got, const Exact& exact, T x, T y) {
  const T wanted = round_to<T>(exact);
  const auto name = [&] { return fmt::format("{}({}{})", f.op, x, f.of_two ? fmt::format(", {}", y) : ""); };
  if (std::isnan(wanted) || std::isnan(got)) {
    if (std::isnan(wanted) != std::isnan(got)) worst.wrong = fmt::format("{} is {}, not {}", name(), got, wanted);
    return;
  }
  Exact difference;
  const Exact of_got(static_cast<double>(got));
  if (std::isinf(wanted) || std::isinf(got)) {
    // An overflow one unit early or late is an error of one unit, as where rounding decides.
    const T finite = std::isinf(wanted) ? got : wanted;
    if (got == wanted ||
        (std::signbit(got) == std::signbit(wanted) &&
         std::abs(finite) >= std::numeric_limits<T>::max() * (1 - 4 * std::numeric_limits<T>::epsilon())))
      return;
    worst.wrong = fmt::format("{} is {}, not {}", name(), got, wanted);
    return;
  }
  if (mpfr_zero_p(exact.get()) && got == 0 && std::signbit(got) != std::signbit(wanted))
    worst.wrong = fmt::format("{} is {}, not {}", name(), got, wanted);
  mpfr_sub(difference.get(), of_got.get(), exact.get(), MPFR_RNDN);
  const double error = std::abs(mpfr_get_d(difference.get(), MPFR_RNDN));
  const double unit = ulp<T>(static_cast<double>(wanted));
  if (f.relative_below > 0 && std::abs(static_cast<double>(x)) >= f.relative_below) {
    worst.absolute = std::max(worst.absolute, error);
    return;
  }
  const double counted = std::abs(static_cast<double>(got) / unit - static_cast<double>(wanted) / unit);
  worst.counted = std::max(worst.counted, std::ceil(counted * 0.999));
  if (error / unit > worst.exact) {
    worst.exact = error / unit;
    worst.at = static_cast<double>(x);
    worst.and_at = static_cast<double>(y);
  }
}

/// The errors of one function and type; adds to `failures`.
template <class T>
Worst measure(const Function& f, const Options& options, std::vector<std::string>& failures) {
  const char* type = sizeof(T) == 4 ? "float32" : "float64";
  const std::vector<T> x = points<T>(f, options), y = second_points<T>(f, x.size());
  const std::vector<T> got = run(f, options.backends[0], x, y);
  for (std::size_t k = 1; k < options.backends.size(); ++k) {
    const std::vector<T> other = run(f, options.backends[k], x, y);
    std::int64_t different = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      different += std::memcmp(&got[i], &other[i], sizeof(T)) != 0 && !(std::isnan(got[i]) && std::isnan(other[i]));
    if (different > 0)
      failures.push_back(fmt::format("{} of {}: {} results differ between {} and {}", f.op, type, different,
                                     options.backends[0], options.backends[k]));
  }
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = static_cast<double>(x[i]);
    if (at > f.excluded_low && at < f.excluded_high) continue;
    const Exact a(at);
    take(worst, f, got[i], f.of_two != nullptr ? f.of_two(a, Exact(static_cast<double>(y[i]))) : f.of_one(a), x[i],
         y[i]);
  }
  const double bound = sizeof(T) == 4 ? f.cuda_float : f.cuda_double;
  if (!worst.wrong.empty()) failures.push_back(fmt::format("{} of {}: {}", f.op, type, worst.wrong));
  if (bound >= 0 && worst.counted > bound) {
    failures.push_back(
        fmt::format("{} of {}: {} units at {}, and CUDA's bound is {}", f.op, type, worst.counted, worst.at, bound));
  }
  return worst;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(word + " needs a value");
      return argv[++i];
    };
    if (word == "--stride") {
      options.stride = std::stoull(next());
    } else if (word == "--samples") {
      options.samples = std::stoll(next());
    } else if (word == "--backends") {
      options.backends.clear();
      std::istringstream list(next());
      for (std::string name; std::getline(list, name, ',');) options.backends.push_back(name);
    } else if (word == "--check") {
      options.check = true;
    } else if (word.starts_with("--")) {
      throw std::invalid_argument(word + " is not understood; see the top of tests/ulp/ulp.cpp");
    } else {
      options.names.push_back(word);
    }
  }
  return options;
}

std::string place(const Function& f, const Worst& w) {
  return f.of_two != nullptr ? fmt::format("{:.9g}, {:.9g}", w.at, w.and_at) : fmt::format("{:.9g}", w.at);
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = parse(argc, argv);
  std::vector<std::string> failures;
  std::cout << "| Function | float32 | counted | CUDA | at | float64 | counted | CUDA | at |\n"
               "|---|---|---|---|---|---|---|---|---|\n";
  for (const Function& f : croton_ulp::functions()) {
    if (!options.names.empty() && std::ranges::find(options.names, f.op) == options.names.end()) continue;
    const Worst narrow = measure<float>(f, options, failures), wide = measure<double>(f, options, failures);
    const auto bound = [](double b) { return b < 0 ? std::string("-") : fmt::format("{}", b); };
    const auto error = [](const Worst& w) {
      return fmt::format("{:.2f}", w.exact) + (w.absolute > 0 ? fmt::format(" ({:.1e})", w.absolute) : "");
    };
    std::cout << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", f.op, error(narrow), narrow.counted,
                             bound(f.cuda_float), place(f, narrow), error(wide), wide.counted, bound(f.cuda_double),
                             place(f, wide))
              << std::flush;
  }
  for (const std::string& failure : failures) std::cerr << "above the bound: " << failure << "\n";
  return options.check && !failures.empty() ? 1 : 0;
} catch (const std::exception& e) {
  std::cerr << "croton_ulp: " << e.what() << "\n";
  return 2;
}
