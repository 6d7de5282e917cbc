#include "runtime/simulator/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace croton::runtime::simulator {
namespace {

constexpr unsigned warp_size = 32;

// How far the bytes of the access reach outside a piece of memory, and on which side.
struct Distance {
  std::size_t bytes;
  bool before;
};

Distance distance(const Range& range, std::uintptr_t address) {
  if (address < range.begin) return {range.begin - address, true};
  const std::uintptr_t end = range.begin + range.size;
  return {address >= end ? address - end : 0, false};
}

std::string describe_range(const Range& range, const std::string& name, std::uintptr_t address, std::size_t size) {
  const auto [bytes, before] = distance(range, address);
  if (before) return fmt::format("{} of {} bytes, which begins {} bytes after the address", name, range.size, bytes);
  if (address < range.begin + range.size) {
    return fmt::format("{} of {} bytes, which ends after {} of the {} bytes", name, range.size,
                       range.begin + range.size - address, size);
  }
  return fmt::format("{} of {} bytes, which ends {} bytes before the address", name, range.size, bytes);
}

const char* verb(const Access& access) {
  if (access.is_atomic()) return "atomic access";
  return access.writes() ? "write" : "read";
}

}  // namespace

AccessChecker::AccessChecker(const Program& program, std::vector<Range> allocations, Range shared,
                             std::size_t dynamic_shared)
    : program_(program), allocations_(std::move(allocations)), shared_(shared), history_(shared.size) {
  for (const Program::SharedVariable& variable : program.shared_variables()) {
    shared_variables_.push_back({shared.begin + variable.offset, variable.size});
  }
  shared_variables_.push_back({shared.begin + program.shared_bytes(), dynamic_shared});
}

std::optional<Finding> AccessChecker::check(const Accessor& accessor, const Access& access) {
  if (access.size == 0) return std::nullopt;
  if (!is_in_bounds(accessor, access)) {
    return Finding{.kind = Finding::Kind::out_of_bounds, .access = access, .thread = accessor.thread};
  }
  if (access.alignment() > 1 && access.address % access.alignment() != 0) {
    return Finding{.kind = Finding::Kind::misaligned, .access = access, .thread = accessor.thread};
  }
  if (shared_.holds(access.address, access.size)) return find_race(accessor, access);
  return std::nullopt;
}

bool AccessChecker::is_in_bounds(const Accessor& accessor, const Access& access) {
  const auto holds = [&](const Range& range) { return range.holds(access.address, access.size); };
  if (shared_.holds(access.address, 1)) return std::any_of(shared_variables_.begin(), shared_variables_.end(), holds);
  if (holds(accessor.stack)) return true;
  if (last_allocation_ < allocations_.size() && holds(allocations_[last_allocation_])) return true;
  const auto found = std::find_if(allocations_.begin(), allocations_.end(), holds);
  if (found == allocations_.end()) return false;
  last_allocation_ = static_cast<std::size_t>(found - allocations_.begin());
  return true;
}

bool AccessChecker::conflicts(const Mark& mark, const Accessor& accessor, const Access& access) const {
  if (mark.generation != generation_ || mark.thread == accessor.thread) return false;
  if (mark.block_epoch != accessor.block_epoch) return false;
  const bool same_warp = mark.thread / warp_size == accessor.thread / warp_size;
  if (same_warp && mark.warp_epoch != accessor.warp_epoch) return false;
  return !(mark.is_atomic && access.is_atomic());
}

std::optional<Finding> AccessChecker::find_race(const Accessor& accessor, const Access& access) {
  const Mark own = {generation_,
                    accessor.block_epoch,
                    accessor.warp_epoch,
                    access.line,
                    static_cast<std::uint16_t>(accessor.thread),
                    access.is_atomic()};
  for (std::size_t byte = 0; byte < access.size; ++byte) {
    ByteHistory& history = history_[access.address - shared_.begin + byte];
    const auto race_with = [&](const Mark& mark, bool other_writes) {
      return Finding{Finding::Kind::race, access, accessor.thread, mark.thread, mark.line, other_writes};
    };
    if (conflicts(history.write, accessor, access)) return race_with(history.write, true);
    if (access.writes()) {
      for (const Mark& read : history.reads) {
        if (conflicts(read, accessor, access)) return race_with(read, false);
      }
    }
    remember(history, own, access.writes());
  }
  return std::nullopt;
}

void AccessChecker::remember(ByteHistory& history, const Mark& mark, bool writes) const {
  if (writes) {
    history.write = mark;
    return;
  }
  const auto is_current = [&](const Mark& read) {
    return read.generation == mark.generation && read.block_epoch == mark.block_epoch;
  };
  Mark& first = history.reads[0];
  Mark& second = history.reads[1];
  if (!is_current(first) || first.thread == mark.thread) {
    first = mark;
  } else if (!is_current(second) || second.thread == mark.thread ||
             second.thread / warp_size == first.thread / warp_size) {
    second = mark;  // a reader of another warp is worth more than a second one of the same: no exchange orders it
  }
}

std::string AccessChecker::describe_place(std::uintptr_t address, std::size_t size) const {
  if (shared_.holds(address, 1)) {
    const Range* nearest = nullptr;
    std::string name;
    for (std::size_t i = 0; i < shared_variables_.size(); ++i) {
      const Range& range = shared_variables_[i];
      if (range.size == 0 ||
          (nearest != nullptr && distance(range, address).bytes >= distance(*nearest, address).bytes))
        continue;
      nearest = &range;
      name = i < program_.shared_variables().size() ? "the shared variable " + program_.shared_variables()[i].name
                                                    : "the dynamic shared memory";
    }
    if (nearest == nullptr) return "the kernel has no shared memory there";
    return "nearest is " + describe_range(*nearest, name, address, size);
  }
  const auto nearest = std::min_element(allocations_.begin(), allocations_.end(), [&](const Range& a, const Range& b) {
    return distance(a, address).bytes < distance(b, address).bytes;
  });
  if (nearest == allocations_.end()) return "the device has no allocation";
  return "nearest is " +
         describe_range(*nearest, fmt::format("the allocation at {:#x}", nearest->begin), address, size);
}

std::string AccessChecker::describe(const Finding& finding) const {
  const Access& access = finding.access;
  const std::string what = fmt::format("{} of {} bytes at {:#x}", verb(access), access.size, access.address);
  const std::string line = program_.describe_line(access.line);
  switch (finding.kind) {
    case Finding::Kind::out_of_bounds:
      return fmt::format("out-of-bounds {}, {}; {}", what, line, describe_place(access.address, access.size));
    case Finding::Kind::misaligned:
      return fmt::format("misaligned {}, {}; it must be a multiple of {}", what, line, access.alignment());
    case Finding::Kind::race:
      return fmt::format("race in shared memory: {}, {}; thread {} {} there with no barrier between, {}", what, line,
                         finding.other_thread, finding.other_writes ? "wrote" : "read",
                         program_.describe_line(finding.other_line));
  }
  return what;
}

}  // namespace croton::runtime::simulator
