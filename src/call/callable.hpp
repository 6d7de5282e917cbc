// What a Function holds: compiled code, and the state of its calls. A call converts its arguments, locks the shared
// variables, binds the plan to the sizes and runs it; then new values become those of the shared variables, all
// together.
#pragma once

#include <croton/function.hpp>
#include <croton/verification.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "call/arguments.hpp"
#include "call/call_lock.hpp"
#include "call/compiled_function.hpp"
#include "call/placements.hpp"
#include "call/shared_locks.hpp"
#include "runtime/bound/bound_plan.hpp"

namespace croton::detail {

class Callable {
 public:
  explicit Callable(std::shared_ptr<const CompiledFunction> function);

  const CompiledFunction& function() const { return *function_; }
  /// Another one of the same code, with what was planned, and working memory of its own.
  std::shared_ptr<Callable> copy() const;
  /// Gives the results to `take` while the function is locked. Briefly: they stay the function's, which the next such
  /// call writes over; and where the call would wait for another one, or make a plan, it does nothing and gives false.
  bool call(std::span<const Argument> arguments, bool briefly,
            const std::function<void(std::vector<Array>& outputs)>& take);
  /// Whether the last call was brief (runtime/bound/segment.hpp).
  bool brief() const { return brief_.load(std::memory_order_relaxed); }
  /// For a call from this thread now; made when first asked for.
  Placed& placed();

  CallCounts counts() const;
  /// How the last call ran the loops of such a plan: a line each, with the number of the step.
  std::string loops_of_last_call(const runtime::Executable& executable) const;
  /// Of the last call.
  std::vector<TransferInfo> transfers() const;
  Verification verification() const;

 private:
  struct Release;

  void read_shared();
  std::vector<Array> inputs_in_order() const;
  void run_by_reference();
  bool run_plan(Placed& where, bool briefly);
  void verify(const Placed& where);
  std::vector<Array> values_of_copies() const;
  void commit(std::vector<Array> for_copies);

  const std::shared_ptr<const CompiledFunction> function_;
  mutable CallLock mutex_;  // of all that follows
  Placements placements_;
  SharedLocks shared_;

  // Of the present call:
  Arguments arguments_;
  runtime::CallArrays arrays_;
  std::vector<Array> spared_;  // copies of what is updated, under mode=verify

  runtime::Workspace workspace_;
  runtime::RunCounts run_counts_;
  std::shared_ptr<const runtime::Executable> last_run_;  // whose nodes run_counts_.transferred names
  std::uint64_t calls_ = 0;
  std::atomic<bool> brief_{false};
  Verification verification_;
};

}  // namespace croton::detail
