// A compiled function and its calls: arguments are converted, shared variables locked, the plan is bound to the sizes
// and run, and new values become those of the shared variables, all together.
#pragma once

#include <croton/function.hpp>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

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

constexpr std::size_t max_bound_plans = 1024;

/// The function as it runs where the flags, and the homes of its shared variables, now say.
struct Placed {
  std::shared_ptr<const runtime::Executable> executable;
  std::vector<rewrite::Placement> log;
  std::unordered_map<std::vector<std::int64_t>, std::unique_ptr<runtime::BoundPlan>, KeyHash> bound;
};

class CompiledFunction {
 public:
  std::string name;
  std::vector<InputRules> inputs;
  bool single = false;
  std::vector<Variable> shared;        // in the order of the graph
  std::vector<std::size_t> update_of;  // per update: index in `shared`
  std::shared_ptr<const expr::Graph> graph;  // after rewriting, before placement
  std::vector<rewrite::GroupReport> reports;
  std::size_t max_body_nodes = 300;
  bool join = true;  // fusion
  bool reference = false, simulated = false;  // mode
  std::string schedule;                       // overrides

  std::shared_ptr<CompiledFunction> copy() const;
  std::vector<Array> call(std::span<const Argument> arguments);
  CallCounts counts() const;
  /// For a call from this thread now; made when first asked for.
  Placed& placed();

 private:
  runtime::BoundPlan& bind(Placed& where, const runtime::CallArrays& arrays);
  void place(Placed& to) const;
  void take_arguments(std::span<const Argument> arguments, const runtime::Executable& executable);

  mutable std::mutex mutex_;
  std::map<std::vector<std::uint16_t>, Placed> placed_;
  std::vector<std::uint16_t> place_key_, last_place_key_;
  Placed* last_placed_ = nullptr;
  std::vector<std::int64_t> key_, last_key_;
  runtime::BoundPlan* last_ = nullptr;
  runtime::RunCounts run_counts_;
  std::uint64_t calls_ = 0;
  runtime::CallArrays arrays_;
  std::vector<std::size_t> lock_order_;                       // shared variables by id
  std::vector<std::unique_lock<std::shared_mutex>> written_;  // of the present call
  std::vector<std::shared_lock<std::shared_mutex>> read_;
};

/// Hands flags to the parts of the runtime that keep settings of their own, where they have changed since the last
/// time.
void apply_settings();

}  // namespace croton::detail
