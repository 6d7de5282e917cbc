// One launch of a bound plan, with numbers for its sizes: what binding makes of a step, by the kind of its call. Each
// kind is a file: kernel_launch, product_launch, transfer_launch, routine_launch, host_launch, branch_launch, and
// loops/loop_launch.
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

namespace croton::runtime {

enum class LaunchKind : std::uint8_t { kernel, product, transfer, routine, loop, branch, host };

/// How kernels of the host run; those of a device run there.
enum class Engine : std::uint8_t { compiled, reference };

/// What applications have given in the present run: a callback with several results is called once.
struct Application {
  const expr::Op* op;
  std::int64_t number;  // 0 where equal arguments give equal results
  std::vector<NodeId> arguments;
  friend auto operator<=>(const Application&, const Application&) = default;
};
using HostResults = std::map<Application, std::vector<Array>>;

/// What a launch is given when it runs.
struct LaunchRun {
  const Memory& memory;
  RunCounts& counts;
  /// Three words, as ct::Failure, 0 before. Of the thread that runs it.
  std::uint32_t* failure;
  HostResults& host_results;
  const std::map<expr::Place, Uploads*>& uploads;  // per device, for what is copied ahead
  const std::shared_ptr<const Executable>& executable;
};

class Launch {
 public:
  virtual ~Launch() = default;

  virtual LaunchKind kind() const = 0;
  /// Runs it, and counts that. Throws what a device, a callback or a failed check says.
  virtual void run(const LaunchRun& in) = 0;

  /// The generated text that it runs; null where there is none.
  virtual const codegen::Text* text() const { return nullptr; }
  /// Whether the runtime runs that by itself: the texts of all such launches are compiled together, and each gets its
  /// entry. Else a device has been asked to make it ready.
  virtual bool on_host() const { return true; }
  virtual void set_entry(cpu::KernelEntry) {}

  /// The same launch for other numbers that the host reads, of arrays of the same sizes: nothing where it cannot be the
  /// same, else what makes it so, which cannot fail (empty: nothing is to be done).
  using Renumbering = std::function<void()>;
  virtual std::optional<Renumbering> renumbered([[maybe_unused]] const SizeTable& before,
                                                [[maybe_unused]] const SizeTable& sizes,
                                                [[maybe_unused]] const Memory& memory) {
    return Renumbering();
  }

  /// Whether it is a matter of microseconds where there is little memory.
  virtual bool is_brief() const { return false; }
  /// Whether it may fail although nothing is wrong with it: for want of host memory.
  virtual bool may_fail() const { return false; }
  /// `bytes`: that it reads and writes.
  virtual LaunchTime time(double bytes) const = 0;
  /// Of a transfer.
  virtual std::size_t bytes() const { return 0; }
};

}  // namespace croton::runtime
