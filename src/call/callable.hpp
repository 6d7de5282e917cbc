// Implementation of a Function: compiled code, and the state of its calls. A call converts its arguments, locks
// the shared variables, binds the plan to the sizes and runs it; then it commits the new values of all shared
// variables together.
#pragma once

#include <croton/function.hpp>
#include <croton/verification.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "call/arguments.hpp"
#include "call/call_lock.hpp"
#include "call/placements.hpp"
#include "call/shared_locks.hpp"
#include "compiled_function.hpp"
#include "runtime/bound/bound_plan.hpp"

namespace croton::detail {

class Callable {
 public:
  explicit Callable(std::shared_ptr<const CompiledFunction> function);

  const CompiledFunction& function() const { return *function_; }
  /// A copy with the same code and plans, and separate working memory.
  std::shared_ptr<Callable> copy() const;
  /// The same with other overrides of schedules.
  std::shared_ptr<Callable> with_schedule(std::string overrides) const;
  /// Calls the function and passes the results to `take` while the function is locked. `briefly`: the function keeps
  /// the results, and the next such call overwrites them; if the call would wait for another one, or would bind a plan,
  /// it does nothing and returns false.
  bool call(std::span<const Argument> arguments, bool briefly,
            const std::function<void(std::vector<Array>& outputs)>& take);
  /// Whether the plan of the last call is tiny (runtime/bound/segment.hpp).
  bool is_tiny() const { return is_tiny_.load(std::memory_order_relaxed); }
  /// The placed function for a call from this thread now; made at first use.
  Placed& placed();
  /// Passes to `use` that function and the arrays of a call: the shared variables, and contiguous arguments of these
  /// shapes, whose elements must not be read. The function and its shared variables are locked meanwhile. The errors
  /// are those of a call with such arguments.
  void with_shapes(std::span<const Sizes> shapes,
                   const std::function<void(const Placed&, const runtime::CallArrays&)>& use);

  CallCounts counts() const;
  /// How the last call ran the loops of this plan: a line for each, with the number of the step.
  std::string loops_of_last_call(const runtime::Executable& executable) const;
  /// The schedules of the kernels of the last call; nothing if there was none.
  std::optional<std::vector<KernelSchedule>> schedules_of_last_call();
  /// The transfers of the last call.
  std::vector<TransferInfo> transfers() const;
  Verification verification() const;

 private:
  struct Release;

  std::shared_ptr<Callable> copy_with(std::shared_ptr<const CompiledFunction> function) const;
  void read_shared(runtime::CallArrays& arrays) const;
  std::vector<Array> inputs_in_order() const;
  void run_by_reference();
  bool run_plan(Placed& where, bool briefly);
  void verify(const Placed& where);
  std::vector<Array> values_of_copies() const;
  void commit(std::vector<Array> for_copies);

  const std::shared_ptr<const CompiledFunction> function_;
  mutable CallLock mutex_;  // guards all members that follow
  Placements placements_;
  Placed* last_called_ = nullptr;  // one of them
  SharedLocks shared_;

  // State of the present call:
  Arguments arguments_;
  runtime::CallArrays arrays_;
  std::vector<Array> copies_of_updated_;  // copies of updated values, in mode=verify

  runtime::Workspace workspace_;
  runtime::RunCounts run_counts_;
  std::uint64_t calls_ = 0;
  std::atomic<bool> is_tiny_{false};
  Verification verification_;
};

}  // namespace croton::detail
