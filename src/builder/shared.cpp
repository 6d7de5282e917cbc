#include "builder/shared.hpp"

#include <croton/shared.hpp>

#include <fmt/format.h>

#include <atomic>

#include "base/config.hpp"
#include "base/device_memory.hpp"
#include "builder/clone.hpp"
#include "builder/node.hpp"

namespace croton {
namespace {

builder::SharedState& state_of(const builder::Node* node) {
  if (node == nullptr) throw TypeError("an empty SharedVariable was used; make one with shared(value)");
  return *node->shared;
}

}  // namespace

namespace {

struct Home {
  std::uint16_t place = 0;
  base::DeviceMemory* memory = nullptr;
};

/// Where a new shared variable lies. ValueError or DeviceError that names it where there is no such device.
Home home_of(const SharedOptions& options, Where where) {
  const base::Flags& flags = base::config();
  const auto name = [&] { return fmt::format("shared '{}' ({})", options.name, builder::describe(where)); };
  try {
    const std::uint16_t place = base::home_on(options.target.empty() ? flags.device : options.target);
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
  static std::atomic<std::uint64_t> next_id{0};
  const Home home = home_of(options, where);
  // A variable without inputs, like those of `variable`, but with a state.
  Variable v = variable(Type{value.dtype(), Sizes(value.shape().size(), unknown_size)}, options.name, where);
  v.node()->op = &expr::op("shared");
  v.node()->shared = std::make_shared<builder::SharedState>();
  builder::SharedState& state = *v.node()->shared;
  state.id = ++next_id;
  if (home.memory != nullptr) {
    state.value = base::moved_to(home.memory, value);  // a copy of its own
  } else {
    state.value = options.borrow && value.writable() ? value.contiguous() : value.copy();
  }
  state.home = home.place;
  state.pinned = !options.target.empty();
  return SharedVariable(v.handle());
}

Array SharedVariable::get_value(bool borrow) const {
  builder::SharedState& state = state_of(node());
  const std::shared_lock lock(state.mutex);
  if (state.value.device_memory() != nullptr) return state.value.to_host();
  return borrow ? state.value : state.value.copy();
}

void SharedVariable::set_value(const Array& value, bool borrow) {
  builder::SharedState& state = state_of(node());
  if (value.rank() != rank()) {
    throw TypeError(
        fmt::format("set_value: {} takes {} dimension(s), not {}", builder::describe(*this), rank(), value.rank()));
  }
  if (!can_cast_safely(value.dtype(), dtype())) {
    throw TypeError(fmt::format("set_value: {} does not take {} without loss; convert it with .astype(DType::{})",
                                builder::describe(*this), name_of(value.dtype()), name_of(dtype())));
  }
  Array fresh = value.dtype() == dtype() ? (borrow && value.writable() ? value.contiguous() : value.copy())
                                         : value.astype(dtype());
  const std::unique_lock lock(state.mutex);
  state.value = base::moved_to(base::device_memory(state.home), fresh);
  ++state.version;
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
  const Variable self = builder::stand_in(*this);
  const Variable over_self = builder::clone({value}, {{node(), self}})[0];
  const std::unique_lock lock(state.mutex);
  state.default_update = over_self;
  state.self = self;
}

}  // namespace croton
