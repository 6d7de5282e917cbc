#include "builder/mirrors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/device_name.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"

namespace croton::builder {
namespace {

std::atomic<std::uint64_t> generation{0};

std::vector<const MirrorScope*>& open_scopes() {
  thread_local std::vector<const MirrorScope*> scopes;
  return scopes;
}

SharedVariable original_of(const Variable& shared) {
  const std::shared_ptr<Node> original = shared.node()->shared->mirrored.lock();
  return SharedVariable(original ? original : shared.handle());
}

}  // namespace

void mirror(const SharedVariable& variable, std::span<const std::uint16_t> places) {
  const SharedVariable original = original_of(variable);
  SharedState& state = *original.node()->shared;
  // The value does not change during the copy, and copies are in the order of ids.
  const std::unique_lock lock(state.mutex);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_covered = state.pinned ? state.home == base::placed_number(places[i]) : i == 0;
    if (is_covered || std::ranges::find(state.mirrors, places[i], &SharedState::Mirror::place) != state.mirrors.end())
      continue;
    const MirrorScope none({});
    const SharedVariable copy = shared(state.value.to_host(),
                                       {.name = fmt::format("{}/copy_{}", original.name(), state.mirrors.size() + 1),
                                        .target = base::DeviceName::of_place(places[i]).to_string()},
                                       original.where());
    copy.node()->shared->mirrored = original.handle();
    state.mirrors.push_back({places[i], copy});
    ++generation;
  }
}

std::uint64_t mirror_generation() { return generation; }

Variable copy_at(const Variable& shared, std::uint16_t place) {
  SharedState& state = *shared.node()->shared;
  const std::shared_lock lock(state.mutex);
  const auto found = std::ranges::find(state.mirrors, place, &SharedState::Mirror::place);
  return found == state.mirrors.end() ? shared : found->copy;
}

std::vector<SharedVariable> with_copies(const Variable& shared) {
  const SharedVariable original = original_of(shared);
  SharedState& state = *original.node()->shared;
  const std::shared_lock lock(state.mutex);
  std::vector<SharedVariable> all{original};
  for (const SharedState::Mirror& mirror : state.mirrors) all.emplace_back(mirror.copy.handle());
  return all;
}

bool is_mirrored(const Node& shared) {
  const std::shared_lock lock(shared.shared->mutex);
  return !shared.shared->mirrors.empty();
}

MirrorScope::MirrorScope(std::vector<std::uint16_t> places) : places_(std::move(places)) {
  open_scopes().push_back(this);
}
MirrorScope::~MirrorScope() { std::erase(open_scopes(), this); }
std::span<const std::uint16_t> MirrorScope::current() {
  return open_scopes().empty() ? std::span<const std::uint16_t>() : open_scopes().back()->places_;
}

}  // namespace croton::builder
