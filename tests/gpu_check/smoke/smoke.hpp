// The checks of croton_gpu_smoke, and their reports. A check throws if something is wrong; it returns a remark for the
// report.
#pragma once

#include <croton/array.hpp>
#include <croton/config.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace croton::smoke {

struct Machine {
  std::string device = "cuda0";
  int index = 0;       ///< of the device in the driver's list
  bool driver = true;  ///< whether the device uses a driver (real, or the one for tests); false for a simulated one
  bool small = false;  ///< sizes and counts for devices that run on the host
};

struct Check {
  std::string name;
  std::function<std::string(const Machine&)> run;
};

/// Thrown by a check that needs something this machine does not have.
struct NotAvailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws with `what` unless it holds.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
/// Throws NotAvailable if the device has no driver.
inline void require_driver(const Machine& machine) {
  if (!machine.driver) throw NotAvailable("a simulated device has no driver");
}

/// Every family of kernels and every routine, against the CPU (families.cpp, routines.cpp).
std::vector<Check> kernel_checks();
std::vector<Check> routine_checks();
/// Barriers and launches of a whole grid, recorded loops (grid.cpp).
std::vector<Check> grid_checks();
/// cuBLASLt and cuDNN (libraries.cpp).
std::vector<Check> library_checks();
/// Failures, copies, threads, logical devices (whole_functions.cpp).
std::vector<Check> function_checks();

}  // namespace croton::smoke
