#include "call/placements.hpp"

#include <algorithm>
#include <iterator>

#include "base/device_name.hpp"
#include "base/shape.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "runtime/devices.hpp"

namespace croton::detail {
namespace {

/// The GPU of mode=simulate.
constexpr expr::Place simulated_place = base::DeviceName{base::DeviceName::Kind::cuda, 0}.place();

}  // namespace

/// Reads the devices of flags and scopes. True if something has changed.
bool Placements::read_devices(const base::Flags& now) {
  const std::uint64_t generation = base::config_generation();
  const std::string& scope = base::scoped_device();
  if (devices_read_ && last_flags_ == &now && last_generation_ == generation && last_scope_ == scope) return false;
  const base::Flags& process = base::process_config();
  const bool soft = now.allow_soft_placement;
  scoped_ = base::unplaced;
  // A scope of the call decides for all work without a chosen device; the process's flag decides only for work that no
  // pinned input decides.
  if (function_.simulated()) {
    scoped_ = simulated_place;
  } else if (!scope.empty() && scope != "auto") {
    scoped_ = runtime::place_of(scope, soft);
  }
  fallback_ = runtime::place_of(process.device, soft);
  device_set_ = runtime::device_set(function_.simulated() ? runtime::Gpus::simulated : runtime::Gpus::of_flags);
  // The available devices matter only to a graph that names devices; other graphs need no driver.
  available_ = function_.names_devices ? static_cast<std::uint16_t>(runtime::places().size() * 2 + (soft ? 1 : 0)) : 0;
  last_flags_ = &now;
  last_generation_ = generation;
  last_scope_ = scope;
  devices_read_ = true;
  return true;
}

Placed& Placements::find(const base::Flags& flags) {
  const bool reference = function_.reference();
  const auto home_of = [](const Variable& variable) { return variable.node()->shared->home; };
  const bool devices_changed = !reference && read_devices(flags);
  if (last_placed_ != nullptr && !devices_changed &&
      (reference || std::ranges::equal(function_.shared, last_homes_, {}, home_of)))
    return *last_placed_;
  std::vector<std::uint16_t> key;
  last_placed_ = nullptr;
  last_homes_.clear();
  if (!reference) {
    std::ranges::transform(function_.shared, std::back_inserter(last_homes_), home_of);
    key = {scoped_, fallback_, device_set_, available_};
    key.insert(key.end(), last_homes_.begin(), last_homes_.end());
  }
  const auto known = placed_.find(key);
  if (known != placed_.end()) return *(last_placed_ = &known->second);
  return *(last_placed_ = &placed_.emplace(std::move(key), Placed{plan(), false, {}}).first->second);
}

/// Plans the function for the current devices and the homes of the shared variables.
Planned Placements::plan() const {
  expr::Graph graph = function_.graph();
  PlanOptions options;
  options.fusing = {.join = function_.join,
                    .special_values = function_.rewritten.options.special_values,
                    .nan_guard = function_.nan_guard};
  if (function_.reference()) {  // everything runs on the host, for any flags and scopes
    for (expr::GraphInput& input : graph.inputs) {
      input.place = base::host_place;
      input.pinned = false;
    }
    options.placing.soft = true;
    return plan_graph(function_.name, std::move(graph), options);
  }
  std::size_t next = 0;
  for (expr::GraphInput& input : graph.inputs) {
    if (input.role != expr::Role::shared) continue;
    const builder::SharedState& state = *function_.shared[next++].node()->shared;
    input.place = state.home;
    input.bytes = state.value.size() * base::element_size(state.value.dtype());
  }
  options.placing.scoped = scoped_;
  options.placing.fallback = fallback_;
  options.placing.soft = base::config().allow_soft_placement;
  options.placing.keep_homes = function_.simulated();
  if (rewrite::uses_devices(graph, options.placing)) {
    options.placing.devices = runtime::places();
    if (function_.simulated() &&
        std::ranges::find(options.placing.devices, simulated_place) == options.placing.devices.end())
      options.placing.devices.push_back(simulated_place);
  }
  options.rewriting = &function_.rewritten.options;
  return plan_graph(function_.name, std::move(graph), options);
}

void Placements::copy_plans(const Placements& other) {
  for (const auto& [key, placed] : other.placed_) placed_.emplace(key, Placed{placed, placed.logged, {}});
}

}  // namespace croton::detail
