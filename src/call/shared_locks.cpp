#include "call/shared_locks.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/shape.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"

namespace croton::detail {
namespace {

/// Whether the byte ranges of two arrays on the host overlap; gaps between strides are ignored.
bool may_overlap(const Array& a, const Array& b) {
  const auto range = [](const Array& array) {
    auto first = reinterpret_cast<std::intptr_t>(array.address()), last = first;
    for (std::size_t axis = 0; axis < array.shape().size(); ++axis)
      (array.strides()[axis] < 0 ? first : last) += (array.shape()[axis] - 1) * array.strides()[axis];
    return std::pair(first, last + base::element_size(array.dtype()));
  };
  if (a.size() == 0 || b.size() == 0) return false;
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_begin < b_end && b_begin < a_end;
}

}  // namespace

/// Variables are locked in the order of their ids, so that calls cannot deadlock.
SharedLocks::SharedLocks(const CompiledFunction& function) : function_(function) {
  for (std::size_t i = 0; i < function.shared.size(); ++i) order_.push_back(i);
  std::ranges::sort(order_, {}, [&](std::size_t i) { return state(i).id; });
}

builder::SharedState& SharedLocks::state(std::size_t i) const { return *function_.shared[i].node()->shared; }

void SharedLocks::find_new_copies() {
  mirror_generation_ = builder::mirror_generation();
  new_copies_.clear();
  const auto is_updated = [&](const Variable& v) {
    return std::ranges::any_of(function_.update_of, [&](std::size_t i) { return function_.shared[i] == v; }) ||
           std::ranges::any_of(new_copies_, [&](const NewCopy& known) { return known.copy == v; });
  };
  for (std::size_t u = 0; u < function_.update_of.size(); ++u) {
    for (const SharedVariable& copy : builder::with_copies(function_.shared[function_.update_of[u]])) {
      if (!is_updated(copy)) new_copies_.push_back({copy, u});
    }
  }
}

bool SharedLocks::lock(bool waits) {
  const auto lock_one = [waits](auto& locks, builder::StateLock& mutex) {
    if (waits)
      locks.emplace_back(mutex);
    else
      locks.emplace_back(mutex, std::try_to_lock);
    return locks.back().owns_lock();
  };
  const auto try_all = [&] {
    std::vector<const Variable*> copies;
    copies.reserve(new_copies_.size());
    for (const NewCopy& known : new_copies_) copies.push_back(&known.copy);
    std::ranges::sort(copies, {}, [](const Variable* v) { return v->node()->shared->id; });
    auto next = copies.begin();
    const auto lock_copies = [&](std::uint64_t below) {
      for (; next != copies.end() && (*next)->node()->shared->id < below; ++next) {
        if (!lock_one(write_locks_, (*next)->node()->shared->mutex)) return false;
      }
      return true;
    };
    for (const std::size_t i : order_) {
      if (!lock_copies(state(i).id)) return false;
      const bool writes = std::ranges::find(function_.update_of, i) != function_.update_of.end();
      if (!(writes ? lock_one(write_locks_, state(i).mutex) : lock_one(read_locks_, state(i).mutex))) return false;
    }
    return lock_copies(UINT64_MAX);
  };
  for (;;) {
    if (mirror_generation_ != builder::mirror_generation()) find_new_copies();
    const bool locked = try_all();
    // While these are locked, no thread makes copies of updated variables.
    if (locked && mirror_generation_ == builder::mirror_generation()) return true;
    release();
    if (!locked) return false;
  }
}

void SharedLocks::release() {
  write_locks_.clear();
  read_locks_.clear();
}

/// Only values that were borrowed from or given to the user can share memory.
void SharedLocks::throw_on_common_memory() {
  exposed_.clear();
  const auto is_exposed = [&](std::size_t i) { return state(i).exposed && state(i).value.device_memory() == nullptr; };
  const auto place = [&](std::size_t i) {
    return std::pair<const void*, std::size_t>(state(i).value.address(), state(i).value.bytes());
  };
  for (std::size_t i = 0; i < function_.shared.size(); ++i) {
    if (is_exposed(i)) exposed_.push_back(i);
  }
  if (exposed_.size() < 2 || std::ranges::equal(exposed_, checked_exposed_, {}, place)) return;
  checked_exposed_.clear();
  for (const std::size_t updated : function_.update_of) {
    if (!is_exposed(updated)) continue;
    for (const std::size_t other : exposed_) {
      if (other == updated || !may_overlap(state(updated).value, state(other).value)) continue;
      throw ValueError(fmt::format(
          "{}: {} and {} have memory in common, because it was borrowed, and an update would change both: give one of "
          "them a copy",
          function_.name, builder::describe(function_.shared[updated]), builder::describe(function_.shared[other])));
    }
  }
  std::ranges::transform(exposed_, std::back_inserter(checked_exposed_), place);
}

bool SharedLocks::may_be_written(const Array& array) const {
  return std::ranges::any_of(exposed_, [&](std::size_t i) {
    return std::ranges::find(function_.update_of, i) != function_.update_of.end() && may_overlap(state(i).value, array);
  });
}

std::vector<std::shared_lock<builder::StateLock>> SharedLocks::lock_to_read() const {
  std::vector<std::shared_lock<builder::StateLock>> locks;
  for (const std::size_t i : order_) locks.emplace_back(state(i).mutex);
  return locks;
}

}  // namespace croton::detail
