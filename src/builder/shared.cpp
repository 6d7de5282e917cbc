#include "builder/shared.hpp"

#include <croton/shared.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "base/config.hpp"
#include "base/device_memory.hpp"
#include "base/device_name.hpp"
#include "builder/clone.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"

namespace croton {
namespace {

builder::SharedState& state_of(const builder::Node* node) {
  if (node == nullptr) throw TypeError("an empty SharedVariable was used; make one with shared(value)");
  return *node->shared;
}

/// Whether a shared variable keeps another one alive, by its default update and, transitively, by the default updates
/// of the variables that it needs.
bool keeps_alive(const builder::Node& variable, const builder::Node& other) {
  std::unordered_set<const builder::Node*> seen{&variable};
  std::vector<const builder::Node*> pending{&variable};
  while (!pending.empty()) {
    const builder::Node* next = pending.back();
    pending.pop_back();
    if (next == &other) return true;
    if (!next->shared->default_update.defined()) continue;
    for (const builder::Node* node : builder::topological_order({next->shared->default_update})) {
      if (node->shared && seen.insert(node).second) pending.push_back(node);
    }
  }
  return false;
}

/// The type of a shared variable: only sizes that are always 1 are stated.
Type type_of(const Array& value, const std::vector<bool>& broadcastable) {
  Type type{value.dtype(), Sizes(value.shape().size(), unknown_size)};
  if (broadcastable.empty()) return type;
  if (broadcastable.size() != type.rank())
    throw TypeError(
        fmt::format("shared: broadcastable has {} axes; the value has {}", broadcastable.size(), type.rank()));
  for (std::size_t axis = 0; axis < broadcastable.size(); ++axis) {
    if (broadcastable[axis]) type.shape[axis] = 1;
  }
  return type;
}

/// ShapeError unless the value has the sizes that the type states.
void check_sizes(const Type& type, const Array& value, const std::string& what) {
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    if (type.shape[axis] == unknown_size || type.shape[axis] == value.shape()[axis]) continue;
    throw ShapeError(fmt::format("{}: axis {} always has size {}; the value has size {}", what, axis, type.shape[axis],
                                 value.shape()[axis]));
  }
}

struct Home {
  std::uint16_t place = 0;
  base::DeviceMemory* memory = nullptr;
};

/// The device of a new shared variable. ValueError or DeviceError that names the variable if there is no such device.
Home home_of(const SharedOptions& options, Where where) {
  const base::Flags& flags = base::config();
  const auto name = [&] { return fmt::format("shared '{}' ({})", options.name, builder::describe(where)); };
  try {
    const std::uint16_t place = base::home_place(options.target.empty() ? flags.device : options.target);
    return {place, base::device_memory(place)};
  } catch (const DeviceError& error) {
    if (flags.allow_soft_placement) return {};
    throw DeviceError(fmt::format("{}: {}", name(), error.what()));
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("{}: {}", name(), error.what()));
  }
}

}  // namespace

SharedVariable shared(const Array& value, const SharedOptions& options, Where where) {
  if (const auto mirrored = builder::MirrorScope::current(); options.target.empty() && !mirrored.empty()) {
    SharedOptions here = options;
    here.target = base::DeviceName::of_place(mirrored[0]).to_string();
    const SharedVariable variable = shared(value, here, where);
    builder::mirror(variable, mirrored);
    return variable;
  }
  static std::atomic<std::uint64_t> next_id{0};
  const Home home = home_of(options, where);
  // A leaf as `variable` makes it, but with a state.
  Variable v = variable(type_of(value, options.broadcastable), options.name, where);
  check_sizes(v.type(), value, fmt::format("shared '{}' ({})", options.name, builder::describe(where)));
  v.node()->op = &expr::op(expr::Core::shared);
  v.node()->shared = std::make_shared<builder::SharedState>();
  builder::SharedState& state = *v.node()->shared;
  state.id = ++next_id;
  state.mutex.set_owner(builder::describe(v));
  if (home.memory != nullptr) {
    state.value = base::moved_to(home.memory, value);  // always a copy
  } else {
    state.value = options.borrow && value.writable() ? value.contiguous() : value.copy();
    state.exposed = options.borrow;
  }
  state.home = home.place;
  state.pinned = !options.target.empty();
  return SharedVariable(v.handle());
}

Array SharedVariable::get_value(bool borrow) const {
  builder::SharedState& state = state_of(node());
  const std::shared_lock lock(state.mutex);
  if (state.value.device_memory() != nullptr) return state.value.to_host();
  if (!borrow) return state.value.copy();
  state.exposed = true;
  return state.value;
}

void SharedVariable::set_value(const Array& value, bool borrow) {
  builder::SharedState& state = state_of(node());
  if (const std::shared_ptr<builder::Node> original = state.mirrored.lock())
    return SharedVariable(original).set_value(value, borrow);
  if (value.rank() != rank()) {
    throw TypeError(
        fmt::format("set_value: {} takes {} dimension(s), not {}", builder::describe(*this), rank(), value.rank()));
  }
  check_sizes(type(), value, fmt::format("set_value: {}", builder::describe(*this)));
  if (!can_cast_safely(value.dtype(), dtype())) {
    throw TypeError(fmt::format("set_value: {} does not take {} without loss; convert it with .astype(DType::{})",
                                builder::describe(*this), name_of(value.dtype()), name_of(dtype())));
  }
  Array fresh = value.dtype() == dtype() ? (borrow && value.writable() ? value.contiguous() : value.copy())
                                         : value.astype(dtype());
  std::vector<std::unique_lock<builder::StateLock>> locks;  // in the order of ids, as in calls
  locks.emplace_back(state.mutex);
  std::vector<builder::SharedState*> states{&state};
  for (const builder::SharedState::Mirror& mirror : state.mirrors) {
    states.push_back(mirror.copy.node()->shared.get());
    locks.emplace_back(states.back()->mutex);
  }
  std::vector<Array> values;  // all values first, because an allocation may fail
  values.reserve(states.size());
  for (const builder::SharedState* one : states) {
    base::DeviceMemory* memory = base::device_memory(one->home);
    const bool is_taken = std::ranges::any_of(values, [&](const Array& v) { return v.device_memory() == memory; });
    values.push_back(base::moved_to(memory, is_taken ? fresh.copy() : fresh));
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i]->value = std::move(values[i]);
    states[i]->exposed = borrow;
    ++states[i]->version;
  }
}

std::vector<SharedVariable> SharedVariable::copies() const {
  state_of(node());
  std::vector<SharedVariable> all = builder::with_copies(*this);
  all.erase(all.begin());
  return all;
}

std::string SharedVariable::home() const {
  builder::SharedState& state = state_of(node());
  const std::shared_lock lock(state.mutex);
  return state.value.device();
}
bool SharedVariable::pinned() const { return state_of(node()).pinned; }
std::uint64_t SharedVariable::version() const {
  builder::SharedState& state = state_of(node());
  const std::shared_lock lock(state.mutex);
  return state.version;
}
void SharedVariable::set_default_update(const Variable& value) {
  builder::SharedState& state = state_of(node());
  if (!value.defined()) throw TypeError(fmt::format("the default update of {} is empty", builder::describe(*this)));
  builder::Replacements replace;
  std::vector<std::pair<Variable, std::weak_ptr<builder::Node>>> placeholders;
  const auto put = [&](builder::Node& of) {
    const std::shared_ptr<builder::Node> kept = of.shared_from_this();
    placeholders.emplace_back(builder::placeholder(Variable(kept)), kept);
    replace[&of] = placeholders.back().first;
  };
  put(*node());
  for (builder::Node* other : builder::topological_order({value})) {
    if (other->shared && other != node() && keeps_alive(*other, *node())) put(*other);
  }
  const Variable over_placeholders = builder::clone({value}, replace)[0];
  const std::unique_lock lock(state.mutex);
  state.default_update = over_placeholders;
  state.placeholders = std::move(placeholders);
}

namespace builder {

std::vector<std::pair<Variable, Variable>> default_update_inputs(const Node& shared) {
  std::vector<std::pair<Variable, Variable>> inputs;
  for (const auto& [inside, weak] : shared.shared->placeholders) {
    const std::shared_ptr<Node> kept = weak.lock();
    if (!kept)
      throw ValueError(fmt::format("the default update of {} ({}) needs {}, which has no handle any more", shared.name,
                                   describe(shared.where), describe(inside)));
    inputs.emplace_back(inside, Variable(kept));
  }
  return inputs;
}

}  // namespace builder

}  // namespace croton
