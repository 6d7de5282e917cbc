// The host as a machine for explanations: its rate of copies by size, and the measured times of a function's launches.
#pragma once

#include <croton/function.hpp>
#include <croton/trace.hpp>

#include <map>
#include <vector>

#include "runtime/bound/executable.hpp"

namespace croton::detail {

/// Bytes a second that one thread reads and writes, copying memory of about this size (to a power of two). Measured
/// when first asked for, in some milliseconds.
double host_copy_rate(double bytes);

/// Operations a second of one thread, vectorised: an estimate, since a kernel's mixture is not known.
inline constexpr double host_operations_per_second = 1e10;
/// Additions and multiplications a second of one thread in a product.
inline constexpr double host_product_rate = 5e10;
/// The time in which the host starts a launch.
inline constexpr double host_launch_seconds = 0.2e-6;

/// The median time in seconds of each launch of the executable on the host, of recorded calls.
std::map<plan::LaunchId, double> measured_launches(const Trace& trace, const runtime::Executable& executable);

/// The same of some calls of the function, whose executable that is, with arguments of ones, or of zeros for integers.
/// `dtypes` are those of its inputs, of which the first ones have these shapes.
std::map<plan::LaunchId, double> measure_launches(const Function& function, const runtime::Executable& executable,
                                                  const std::vector<DType>& dtypes, const std::vector<Sizes>& shapes);

}  // namespace croton::detail
