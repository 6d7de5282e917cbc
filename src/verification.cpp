#include "verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "base/config.hpp"
#include "builder/node.hpp"
#include "compile.hpp"
#include "expr/evaluate.hpp"
#include "expr/widen.hpp"

namespace croton::detail {
namespace {

// Rewritten and fused code uses other formulas, whose bounds are similar but not equal.
constexpr double margin = 4;

struct FloatFormat {
  int digits;        // of the significand, with the hidden bit
  int min_exponent;  // of the smallest normal number
  double max;
};
FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return {11, -14, 65504};
    case DType::bfloat16:
      return {8, -126, 0x1.fep127};
    case DType::float32:
    case DType::complex64:
      return {24, -126, 0x1.fffffep127};
    default:
      return {53, -1022, std::numeric_limits<double>::max()};
  }
}

/// One unit in the last place of a value of that dtype; 1 for integers.
double ulp_of(double value, DType dtype) {
  if (is_discrete(dtype)) return 1;
  const FloatFormat format = format_of(dtype);
  if (!std::isfinite(value)) value = 1;
  const int exponent = value == 0 ? format.min_exponent : std::ilogb(value);
  return std::ldexp(1, std::max(exponent, format.min_exponent) - format.digits + 1);
}

double magnitude(const Array& array, std::int64_t at) {
  return is_complex(array.dtype()) ? std::abs(array.as_complex(at)) : std::abs(array.as_double(at));
}
bool finite(const Array& array, std::int64_t at) {
  const std::complex<double> value = array.as_complex(at);
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}
/// The distance of two elements; for integers it is positive even if their doubles are equal.
double distance(const Array& a, const Array& b, std::int64_t at) {
  if (is_complex(a.dtype())) return std::abs(a.as_complex(at) - b.as_complex(at));
  if (is_discrete(a.dtype()) && is_discrete(b.dtype())) {
    const auto x = expr::element_of(a, at).i, y = expr::element_of(b, at).i;
    return std::abs(static_cast<double>(x) - static_cast<double>(y)) + (x != y ? 1e-9 : 0);
  }
  return std::abs(a.as_double(at) - b.as_double(at));
}

Sizes index_of(std::int64_t at, const Sizes& shape) {
  Sizes index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = at % shape[axis];
    at /= shape[axis];
  }
  return index;
}

std::string text_of(const Array& array, std::int64_t at) {
  if (is_complex(array.dtype())) {
    const auto value = array.as_complex(at);
    return fmt::format("{:.9g}{:+.9g}j", value.real(), value.imag());
  }
  return is_discrete(array.dtype()) ? fmt::format("{}", expr::element_of(array, at).i)
                                    : fmt::format("{:.9g}", array.as_double(at));
}

std::string name_of_root(const expr::Graph& graph, std::size_t i) {
  const bool update = i >= graph.outputs.size();
  const expr::NodeId node = update ? graph.updates[i - graph.outputs.size()].value : graph.outputs[i];
  const expr::Origin& origin = graph.arena.origin(node);
  const std::string line = builder::describe(origin.where);
  if (update)
    return fmt::format("update of {} ({})", graph.inputs[graph.updates[i - graph.outputs.size()].input].name, line);
  return fmt::format("output {} ({}{}{})", i, origin.name, origin.name.empty() ? "" : ", ", line);
}

}  // namespace

Expected::Expected(const expr::Graph& graph, std::span<const Array> inputs) {
  std::vector<Array> wide;
  for (const Array& input : inputs) wide.push_back(input.astype(expr::wide(input.dtype())));
  exact_ = expr::evaluate_bounded(expr::widened(graph), wide, expr::unit_roundoff(graph));
  narrow_ = expr::evaluate(graph, inputs);
}

double Expected::allowed(std::size_t i, std::int64_t at) const {
  const double bound = exact_[i].bound.as_double(at);
  const DType dtype = narrow_[i].dtype();
  if (is_discrete(dtype)) return margin * bound;
  const FloatFormat format = format_of(dtype);
  return margin * bound + 2 * expr::unit_roundoff(dtype) * magnitude(exact_[i].value, at) +
         margin * std::ldexp(1, format.min_exponent - format.digits + 1);
}

std::optional<std::string> Expected::fault(std::size_t i, const Array& got, bool forgiving) const {
  const Array& narrow = narrow_[i];
  const Array& exact = exact_[i].value;
  if (got.dtype() != narrow.dtype() || got.shape() != narrow.shape()) {
    return fmt::format("it is {}, and should be {}", Type{got.dtype(), got.shape()}.to_string(),
                       Type{narrow.dtype(), narrow.shape()}.to_string());
  }
  const auto describe_element = [&](std::int64_t at, const std::string& what) {
    return fmt::format("element [{}] is {} where {} is exact{}", fmt::join(index_of(at, got.shape()), ", "),
                       text_of(got, at), text_of(exact, at), what);
  };
  std::optional<std::string> worst;
  double most = 0;
  const double max = format_of(got.dtype()).max;
  for (std::int64_t at = 0; at < got.size(); ++at) {
    const double limit = allowed(i, at);
    if (std::isinf(limit)) continue;  // the result depends on rounding
    const bool fits = is_discrete(got.dtype()) || (finite(exact, at) && magnitude(exact, at) <= max);
    if (!fits || !finite(got, at)) {
      // Values outside of the range of the dtype are compared with the plain evaluation in that dtype.
      const bool same =
          finite(got, at) == finite(narrow, at) && (finite(got, at) || got.as_double(at) == narrow.as_double(at) ||
                                                    std::isnan(got.as_double(at)) == std::isnan(narrow.as_double(at)));
      const bool better = finite(got, at) ? forgiving || (finite(exact, at) && distance(got, exact, at) <= limit)
                                          : !finite(narrow, at) && !std::isnan(got.as_double(at));
      if (!same && !better) return describe_element(at, "");
      continue;
    }
    const double error = distance(got, exact, at);
    if (error <= limit || error / std::max(limit, 1e-300) <= most) continue;
    most = error / std::max(limit, 1e-300);
    worst = describe_element(
        at, is_discrete(got.dtype())
                ? ""
                : fmt::format(": an error of {:.3g}, of which rounding may cause {:.3g}", error, limit));
  }
  return worst;
}

bool Expected::agrees(std::span<const Array> got, bool forgiving) const {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (fault(i, got[i], forgiving)) return false;
  }
  return true;
}

Expected::Largest Expected::largest(std::size_t i, const Array& got) const {
  Largest result;
  const Array& exact = exact_[i].value;
  if (got.shape() != exact.shape()) return result;
  for (std::int64_t at = 0; at < got.size(); ++at) {
    if (!finite(got, at) || !finite(exact, at)) continue;
    const double unit = ulp_of(magnitude(exact, at), got.dtype());
    const double ulp = distance(got, exact, at) / unit;
    if (at == 0 || ulp > result.ulp) result = {ulp, allowed(i, at) / unit, at};
  }
  return result;
}

Verification verify_call(const CallToVerify& call) {
  const Expected expected(call.imported, call.inputs);
  rewrite::Options minimal = call.rewriting;
  minimal.optimizer = base::OptimizerMode::none;
  const Rewritten plain = rewrite_graph("", call.imported, minimal);
  GraphRun unfused_run = call.how;
  unfused_run.join = false;
  const std::vector<Array> unfused = run_graph(*plain.graph, call.inputs, unfused_run);

  Verification result;
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Array& fused = call.results[i];
    OutputCheck check{
        .name = name_of_root(call.imported, i), .dtype = fused.dtype(), .shape = fused.shape(), .index = {}};
    const Expected::Largest most = expected.largest(i, fused);
    check.fused_ulp = most.ulp;
    check.allowed_ulp = most.allowed_ulp;
    check.unfused_ulp = expected.largest(i, unfused[i]).ulp;
    if (fused.size() > 0 && fused.shape() == unfused[i].shape()) {
      check.index = index_of(most.at, fused.shape());
      check.exact = expected.exact(i, most.at);
      check.fused = fused.as_double(most.at);
      check.unfused = unfused[i].as_double(most.at);
    }
    result.outputs.push_back(std::move(check));
  }
  if (base::has_word(base::config().print, "verification"))
    std::cerr << fmt::format("---- {}: verification\n{}", call.name, result.to_string());
  for (const bool fused : {true, false}) {
    const std::vector<Array>& got = fused ? call.results : unfused;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto fault = expected.fault(i, got[i], fused && call.rewrites_specials);
      if (!fault) continue;
      throw VerificationError(fmt::format("{}: {}{}: {}.\n{}", call.name, name_of_root(call.imported, i),
                                          fused ? "" : " of the unfused graph", *fault,
                                          describe_fault(call, expected, fused)));
    }
  }
  return result;
}

}  // namespace croton::detail

namespace croton {

std::string Verification::to_string() const {
  std::string text =
      fmt::format("{:40} {:>12} {:>12} {:>12}\n", "largest error in ULP of", "fused", "unfused", "allowed");
  for (const OutputCheck& check : outputs) {
    text += fmt::format("{:40} {:12.3g} {:12.3g} {:12.3g}  at [{}]\n", check.name, check.fused_ulp, check.unfused_ulp,
                        check.allowed_ulp, fmt::join(check.index, ", "));
  }
  return text;
}

}  // namespace croton
