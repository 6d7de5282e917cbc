// Launch: the interface of a bound step, which has numbers for its sizes. There is one class and file for
// each kind of call: kernel_launch, product_launch, transfer_launch, routine_launch, host_launch,
// branch_launch, and loops/loop_launch, whose function BindOptions passes (segment.hpp).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/emit.hpp"
#include "runtime/bound/memory.hpp"
#include "runtime/cpu/kernels.hpp"
#include "runtime/device/device.hpp"
#include "runtime/lanes/lane_choice.hpp"

namespace croton {
struct KernelSchedule;  // function.hpp
}

namespace croton::runtime {

/// How kernels run on the host.
enum class Engine : std::uint8_t { compiled, reference };

/// An application of a callback. A callback with several results is called once in a run, and HostResults
/// has its results.
struct Application {
  const expr::Op* op;
  std::int64_t number;  // 0 if equal arguments give equal results
  std::vector<NodeId> arguments;
  friend auto operator<=>(const Application&, const Application&) = default;
};
using HostResults = std::map<Application, std::vector<Array>>;

/// The arguments of Launch::run.
struct LaunchRun {
  const Memory& memory;
  RunCounts& counts;
  /// Three words, as in ct::Failure, which are 0 before the run. One thread uses them.
  std::uint32_t* failure;
  HostResults& host_results;
  const std::map<expr::Place, Uploads*>& uploads;  // per device, for copies in advance
  const std::shared_ptr<const Executable>& executable;
  bool defers_checks = false;  // checks on a device are reported by report_checks(), when the host has read their words
};

class Launch {
 public:
  virtual ~Launch() = default;

  /// Whether it has a table of parameters (parameter_table.hpp), which `prepare` fills.
  virtual bool has_table() const { return false; }
  /// Copies the parameters for a call with these addresses to the device: before all launches of the segment, so before
  /// the commit point, because it may fail.
  virtual void prepare([[maybe_unused]] const Memory& memory) {}
  /// Runs the launch and counts it. Throws the errors of devices and callbacks, and failed checks.
  virtual void run(const LaunchRun& in) = 0;

  /// Whether checks on a device write to words that the host reads later.
  virtual bool has_check_words() const { return false; }
  /// Throws CheckFailure or GuardFailure if a check of the last run failed, by the words that were read.
  virtual void report_checks([[maybe_unused]] const std::shared_ptr<const Executable>& executable) const {}
  /// Whether the checks before it are to be reported first: it passes values to code of the user, or takes as many
  /// steps as they say.
  virtual bool needs_checked_values() const { return false; }

  /// The generated text that it runs; null if there is none.
  virtual const codegen::Text* text() const { return nullptr; }
  /// Whether the text runs on the host. Such texts are compiled together, and set_entry passes the compiled code. Other
  /// texts have been prepared by their device.
  virtual bool on_host() const { return true; }
  virtual void set_entry(cpu::KernelEntry) {}

  /// Renumbers the launch: changes it to other values of the numbers that the host reads, for arrays of the same sizes.
  /// Returns nothing if the launch cannot be changed, else a function that changes it and cannot fail (empty: no change
  /// is needed).
  using Renumbering = std::function<void()>;
  virtual std::optional<Renumbering> renumbered([[maybe_unused]] const SizeTable& before,
                                                [[maybe_unused]] const SizeTable& sizes,
                                                [[maybe_unused]] const Memory& memory) {
    return Renumbering();
  }

  /// Whether it takes only microseconds if there is little memory.
  virtual bool is_tiny() const { return false; }
  /// Appends the schedules of its kernels, if it has any that were bound.
  virtual void add_schedules([[maybe_unused]] std::vector<KernelSchedule>& schedules) const {}
  /// Whether a valid launch may fail, for lack of host memory.
  virtual bool may_fail() const { return false; }
  /// The estimated time. `bytes`: the number of bytes that it reads and writes.
  virtual LaunchTime time(double bytes) const = 0;
  /// The size of a transfer; 0 for other kinds.
  virtual std::size_t bytes() const { return 0; }
};

}  // namespace croton::runtime
