#include "builder/mirrors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/device_name.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"

namespace croton::builder {
namespace {

thread_local const MirrorScope* innermost = nullptr;

/// Homes are numbered as places are, but for the host.
std::uint16_t place_of_home(std::uint16_t home) { return home == 0 ? base::DeviceName{}.place() : home; }

SharedVariable original_of(const Variable& shared) {
  const std::shared_ptr<Node> original = shared.node()->shared->mirrored.lock();
  return SharedVariable(original ? original : shared.handle());
}

}  // namespace

void mirror(const SharedVariable& variable, std::span<const std::uint16_t> places) {
  const SharedVariable original = original_of(variable);
  SharedState& state = *original.node()->shared;
  for (std::size_t i = 0; i < places.size(); ++i) {
    {
      const std::shared_lock lock(state.mutex);
      const bool is_here = state.pinned ? place_of_home(state.home) == places[i] : i == 0;
      if (is_here || std::ranges::any_of(state.mirrors, [&](const Variable& copy) {
            return place_of_home(copy.node()->shared->home) == places[i];
          }))
        continue;
    }
    const MirrorScope none({});
    const SharedVariable copy = shared(original.get_value(),
                                       {.name = fmt::format("{}/copy_{}", original.name(), state.mirrors.size() + 1),
                                        .target = base::DeviceName::of_place(places[i]).to_string()},
                                       original.where());
    copy.node()->shared->mirrored = original.handle();
    const std::unique_lock lock(state.mutex);
    state.mirrors.push_back(copy);
  }
}

Variable copy_at(const Variable& shared, std::uint16_t place) {
  SharedState& state = *shared.node()->shared;
  const std::shared_lock lock(state.mutex);
  for (const Variable& copy : state.mirrors) {
    if (place_of_home(copy.node()->shared->home) == place) return copy;
  }
  return shared;
}

std::vector<SharedVariable> with_copies(const Variable& shared) {
  const SharedVariable original = original_of(shared);
  SharedState& state = *original.node()->shared;
  const std::shared_lock lock(state.mutex);
  std::vector<SharedVariable> all{original};
  for (const Variable& copy : state.mirrors) all.emplace_back(copy.handle());
  return all;
}

bool is_mirrored(const Node& shared) {
  const std::shared_lock lock(shared.shared->mutex);
  return !shared.shared->mirrors.empty();
}

MirrorScope::MirrorScope(std::vector<std::uint16_t> places) : places_(std::move(places)), outer_(innermost) {
  innermost = this;
}
MirrorScope::~MirrorScope() { innermost = outer_; }
std::span<const std::uint16_t> MirrorScope::current() {
  return innermost == nullptr ? std::span<const std::uint16_t>() : innermost->places_;
}

}  // namespace croton::builder
