// A compiled function and its calls: arguments are converted, shared variables locked, the plan is bound to the sizes
// and run, and new values become those of the shared variables, all together.
#pragma once

#include <croton/device.hpp>
#include <croton/function.hpp>
#include <croton/verification.hpp>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "base/config.hpp"
#include "builder/state_lock.hpp"
#include "call_lock.hpp"
#include "expr/graph.hpp"
#include "rewrite/pipeline.hpp"
#include "rewrite/place.hpp"
#include "runtime/bind.hpp"

namespace croton::detail {

struct InputRules {
  Variable variable;
  std::string name;
  std::optional<Array> value;
  bool strict = false;
  std::optional<bool> allow_downcast;
};

struct KeyHash {
  std::size_t operator()(const std::vector<std::int64_t>& key) const {
    std::size_t seed = key.size();
    for (const std::int64_t k : key) seed = (seed ^ static_cast<std::size_t>(k)) * 0x9E3779B97F4A7C15ull + 17;
    return seed;
  }
};

constexpr std::size_t max_bound_plans = 1024, max_moved_plans = 8;
inline constexpr expr::Place simulated_place = 257;  // cuda0

/// The function as it runs where the flags, and the homes of its shared variables, now say.
struct Placed {
  std::shared_ptr<const runtime::Executable> executable;
  std::vector<rewrite::Placement> log;        // empty where all is on the host
  std::vector<rewrite::GroupReport> reports;  // of rewrites that depend on the place
  bool logged = false;
  std::unordered_map<std::vector<std::int64_t>, std::unique_ptr<runtime::BoundPlan>, KeyHash> bound;
  std::vector<std::vector<std::int64_t>> moved;  // keys of plans that have been renumbered
};

class CompiledFunction {
 public:
  std::string name;
  std::vector<InputRules> inputs;
  bool single = false;
  std::vector<Variable> shared;              // in the order of the graph
  std::vector<std::size_t> update_of;        // per update: index in `shared`
  std::shared_ptr<const expr::Graph> graph;  // after rewriting, before placement
  std::vector<rewrite::GroupReport> reports;
  bool join = true;                           // fusion
  bool names_devices = false;                 // in scopes or transfers
  bool reference = false, simulated = false;  // mode; a simulated function runs on the simulated cuda0
  std::string schedule;                       // overrides
  // The verifying modes.
  std::shared_ptr<const expr::Graph> written;  // as imported; null without them
  std::string nan_guard;                       // what kernels may not store
  bool verified = false;                       // mode=verify
  rewrite::Options rewriting;

  std::shared_ptr<CompiledFunction> copy() const;
  /// Gives the results to `take` while the function is locked. Briefly: they stay the function's, which the next such
  /// call writes over; and where the call would wait for another one, or make a plan, it does nothing and gives false.
  bool call(std::span<const Argument> arguments, bool briefly,
            const std::function<void(std::vector<Array>& outputs)>& take);
  /// Whether the last call was brief (runtime/bind.hpp).
  bool brief() const { return brief_.load(std::memory_order_relaxed); }
  CallCounts counts() const;
  /// How the last call ran the loops of such a plan: a line each, with the number of the step.
  std::string loops_of_last_call(const runtime::Executable& executable) const;
  /// For a call from this thread now; made when first asked for.
  Placed& placed();
  /// Of the last call.
  std::vector<TransferInfo> transfers() const;
  Verification verification() const;

 private:
  /// True if something has changed.
  bool read_devices(const base::Flags& now);
  const std::vector<std::size_t>& lock_order();
  bool lock_shared(bool waits);
  void refuse_common_memory();
  void find_new_copies();
  Placed& find_placed(const base::Flags& flags);
  void visit_key(const runtime::Executable& executable, const auto& visit) const;
  runtime::BoundPlan* find_bound(const Placed& where);
  runtime::BoundPlan& bind(Placed& where);
  void renumber(Placed& where);
  void place(Placed& to) const;
  std::vector<Array> inputs_in_order() const;
  void run_by_reference();
  bool run_plan(Placed& where, bool briefly);
  void verify(const Placed& where);
  void take_arguments(std::span<const Argument> arguments, const runtime::Executable& executable);

  mutable CallLock mutex_;
  std::map<std::vector<std::uint16_t>, Placed> placed_;
  std::vector<std::uint16_t> last_homes_;  // of the shared variables, when last_placed_ was found
  Placed* last_placed_ = nullptr;
  bool devices_read_ = false;  // what follows holds for these flags
  const base::Flags* last_flags_ = nullptr;
  std::uint64_t last_generation_ = 0;
  std::string last_scope_;
  expr::Place scoped_ = 0, fallback_ = 0;
  std::uint16_t device_set_ = 0, there_ = 0;
  std::vector<std::int64_t> key_, last_key_;
  runtime::BoundPlan* last_ = nullptr;
  runtime::RunCounts run_counts_;
  std::shared_ptr<const runtime::Executable> last_run_;  // whose nodes run_counts_.transferred names
  std::uint64_t calls_ = 0;
  std::atomic<bool> brief_{false};
  Verification verification_;
  runtime::CallArrays arrays_;             // of the present call, as these two
  std::vector<Array> converted_, spared_;  // arguments; copies of what is updated, in mode=verify
  std::vector<std::size_t> exposed_;       // shared variables on the host that somebody else may see the memory of
  std::vector<std::pair<const void*, std::size_t>> exposed_at_;  // where they lay, when they had no memory in common
  runtime::Workspace workspace_;
  std::vector<std::size_t> lock_order_;  // shared variables by id
  /// Of what the function updates: a copy on another device that was made after it, and gets what update `update`
  /// gives.
  struct NewCopy {
    Variable copy;
    std::size_t update;
  };
  std::vector<NewCopy> new_copies_;
  std::uint64_t mirror_generation_ = 0;
  std::vector<std::unique_lock<builder::StateLock>> written_;  // of the present call
  std::vector<std::shared_lock<builder::StateLock>> read_;
};

/// Hands flags to the parts of the runtime that keep settings of their own, where they have changed since the last
/// time.
void apply_settings(const base::Flags& flags = base::config());

/// From now on calls are recorded, and the trace is written to the file when the process ends (trace.cpp). Empty: as it
/// was.
void trace_to(const std::string& path);

// The placement log (devices.cpp).
/// Whether anybody wants it now. What a stream throws while it is written to is not the call's error.
bool logs_placement(const base::Flags& flags);
void log_placement(const CompiledFunction& function, const Placed& placed) noexcept;
void log_call(const CompiledFunction& function, std::span<const runtime::Transferred> transfers,
              const runtime::Executable& executable) noexcept;
/// A line for each op, in the order in which they run.
std::string print_placement(const Placed& placed);
/// Transfers in words.
std::vector<TransferInfo> describe_transfers(std::span<const runtime::Transferred> transfers,
                                             const runtime::Executable& executable);

}  // namespace croton::detail
