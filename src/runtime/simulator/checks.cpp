#include "runtime/simulator/checks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/simulator/fiber.hpp"

namespace croton::runtime::simulator {

LaunchState::LaunchState(const Program& program, const std::vector<Allocation>& allocations, unsigned blocks)
    : grid_barriers_(blocks) {
  const auto add = [&](Range range, const std::string& name, std::shared_ptr<WrittenBytes> written) {
    pieces_.push_back({range, name, std::move(written), std::make_unique<Shadow>(range.size)});
  };
  for (const Allocation& allocation : allocations) add(allocation.range, "", allocation.written);
  for (const Program::DeviceVariable& variable : program.device_variables()) {
    if (variable.is_constant) {
      pieces_.push_back({variable.range, variable.name, nullptr, nullptr});
      continue;
    }
    auto written = std::make_shared<WrittenBytes>(variable.range.size);
    written->set(0, variable.range.size);  // without an initial value in the text it is zero
    add(variable.range, variable.name, std::move(written));
  }
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.range.begin < b.range.begin; });
}

LaunchState::Piece* LaunchState::find(std::uintptr_t address, std::size_t size) {
  if (last_ != nullptr && last_->range.holds(address, size)) return last_;
  const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                     [](std::uintptr_t a, const Piece& piece) { return a < piece.range.begin; });
  if (next == pieces_.begin() || !(next - 1)->range.holds(address, size)) return nullptr;
  last_ = &*(next - 1);
  return last_;
}

void LaunchState::publish(std::uintptr_t address, const Knowledge& more) {
  Published& all = published_[address];
  add_all(all.knowledge, more);
  all.version = ++version_;
}

void LaunchState::forget_published(Range range) {
  if (published_.empty()) return;
  published_.erase(published_.lower_bound(range.begin), published_.lower_bound(range.end()));
}

AccessChecker::AccessChecker(const Program& program, LaunchState& launch, const LaunchShape& shape, Range shared)
    : program_(program),
      launch_(launch),
      order_(shape.thread_count(), launch.grid_barriers(), shape.strict),
      shared_(shared),
      shared_written_(shared.size),
      shared_shadow_(shared.size) {
  for (const Program::SharedVariable& variable : program.shared_variables())
    shared_variables_.push_back({shared.begin + variable.offset, variable.size});
  shared_variables_.push_back({shared.begin + program.shared_bytes(), shape.dynamic_shared});
}

void AccessChecker::start(unsigned block) {
  block_ = block;
  order_.start(block);
  shared_written_.clear();
  launch_.forget_published(shared_);  // by an earlier block
}

AccessChecker::Found AccessChecker::locate(const Accessor& accessor, const Access& access) {
  if (shared_.holds(access.address, 1)) {
    const bool inside = std::any_of(shared_variables_.begin(), shared_variables_.end(),
                                    [&](const Range& range) { return range.holds(access.address, access.size); });
    return {inside, shared_.begin, &shared_written_, &shared_shadow_};
  }
  if (accessor.stack.holds(access.address, access.size)) return {.in_bounds = true};
  if (LaunchState::Piece* piece = launch_.find(access.address, access.size))
    return {true, piece->range.begin, piece->written.get(), piece->shadow.get(), piece->written == nullptr};
  return {};
}

std::optional<Finding> AccessChecker::check(const Accessor& accessor, const Access& access) {
  if (access.size == 0) return std::nullopt;
  const auto wrong = [&](Finding::Kind kind) {
    return Finding{.kind = kind, .access = access, .thread = accessor.thread};
  };
  const Found found = locate(accessor, access);
  if (!found.in_bounds) return wrong(Finding::Kind::out_of_bounds);
  if (found.is_constant && access.writes()) return wrong(Finding::Kind::constant);
  if (access.alignment() > 1 && access.address % access.alignment() != 0) return wrong(Finding::Kind::misaligned);
  if (found.written == nullptr) return std::nullopt;

  const std::size_t offset = access.address - found.begin;
  // A struct that is copied as a whole may have padding that is never written.
  if (access.reads() &&
      !(access.is_block() ? found.written->any(offset, access.size) : found.written->all(offset, access.size)))
    return wrong(Finding::Kind::uninitialised);
  // In CUDA a volatile access is a relaxed atomic one; in shared memory old code uses it instead of a barrier.
  const bool is_strong = access.is_atomic() || (access.is_volatile() && !is_shared(access.address));
  if (is_strong) synchronize(accessor.thread, access);
  if (auto race = find_race(*found.shadow, offset, accessor.thread, access, is_strong)) return race;
  if (access.writes()) {
    found.written->set(offset, access.size);
    if (!is_strong) replace_published(access);
  }
  return std::nullopt;
}

/// A strong access acquires the knowledge at its address, and releases its own there if it writes.
void AccessChecker::synchronize(unsigned thread, const Access& access) {
  const bool reads = access.reads() || access.updates() || !order_.is_strict();
  if (const Published* found = launch_.published(access.address); found != nullptr && reads)
    order_.acquire(thread, *found);
  if (!access.writes()) return;
  if (!access.updates()) replace_published(access);
  Knowledge released;
  order_.release(thread, released);
  if (!released.empty()) launch_.publish(access.address, released);
}

/// A write that is not a part of the release sequence of another one ends it.
void AccessChecker::replace_published(const Access& access) {
  if (order_.is_strict()) launch_.forget_published({access.address, access.size});
}

std::optional<Finding> AccessChecker::find_race(Shadow& shadow, std::size_t offset, unsigned thread,
                                                const Access& access, bool is_strong) {
  const bool shared = &shadow == &shared_shadow_;
  const Mark own = {block_, static_cast<std::uint16_t>(thread), is_strong, order_.now(), access.place};
  const auto is_over = [&](const Mark& mark) {
    if (mark.time == 0 || (shared && mark.block != block_)) return true;  // shared memory of an earlier block
    return order_.is_before(mark.block, mark.thread, mark.time, thread);
  };
  const auto conflicts = [&](const Mark& mark) { return !(mark.is_strong && is_strong) && !is_over(mark); };
  const auto race_with = [&](const Mark& mark, bool other_writes) {
    return Finding{.kind = Finding::Kind::race,
                   .access = access,
                   .thread = thread,
                   .other = mark,
                   .other_writes = other_writes,
                   .missing = order_.missing(mark.block, mark.thread, mark.time, thread)};
  };
  for (Cell& cell : shadow.cells(offset, access.size)) {
    if (conflicts(cell.write)) return race_with(cell.write, true);
    if (access.writes()) {
      for (const Mark& read : cell.reads) {
        if (conflicts(read)) return race_with(read, false);
      }
      cell.write = own;
      // A reader that does not happen before this write (both are atomic) may still race with a later one.
      for (Mark& read : cell.reads) {
        if (is_over(read)) read = Mark{};
      }
      continue;
    }
    Mark& first = cell.reads[0];
    Mark& second = cell.reads[1];
    if (is_over(first)) {
      first = own;
    } else if (is_over(second) || (second.block == first.block && second.thread / 32 == first.thread / 32)) {
      second = own;  // readers of two warps are more useful than two of one warp
    }
  }
  return std::nullopt;
}

namespace {

// The distance of an address from a piece of memory, and its side.
struct Distance {
  std::size_t bytes;
  bool before;
};

Distance distance(const Range& range, std::uintptr_t address) {
  if (address < range.begin) return {range.begin - address, true};
  return {address >= range.end() ? address - range.end() : 0, false};
}

std::string describe_range(const Range& range, const std::string& name, std::uintptr_t address, std::size_t size) {
  const auto [bytes, before] = distance(range, address);
  if (range.holds(address, size)) {
    return "it is at byte " + std::to_string(address - range.begin) + " of " + name + " of " +
           std::to_string(range.size) + " bytes";
  }
  const std::string what = "nearest is " + name + " of " + std::to_string(range.size) + " bytes, which ";
  if (before) return what + "begins " + std::to_string(bytes) + " bytes after the address";
  if (address < range.end()) {
    return what + "ends after " + std::to_string(range.end() - address) + " of the " + std::to_string(size) + " bytes";
  }
  return what + "ends " + std::to_string(bytes) + " bytes before the address";
}

std::string hexadecimal(std::uintptr_t address) { return fmt::format("{:#x}", address); }

}  // namespace

std::string AccessChecker::describe_place(std::uintptr_t address, std::size_t size) const {
  if (is_shared(address)) {
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
    return nearest == nullptr ? "the launch gives the kernel no dynamic shared memory"
                              : describe_range(*nearest, name, address, size);
  }
  constexpr std::uintptr_t first_page = 4096;
  if (address < first_page) return address == 0 ? "that is a null pointer" : "that is close to a null pointer";
  const auto& pieces = launch_.pieces();
  const auto nearest = std::min_element(pieces.begin(), pieces.end(), [&](const auto& a, const auto& b) {
    return distance(a.range, address).bytes < distance(b.range, address).bytes;
  });
  const bool is_near = nearest != pieces.end() && distance(nearest->range, address).bytes < 4096;
  if (!is_near) {
    if (Stacks::holds(address)) return "that is a local variable of another thread, which only that thread can reach";
    if (is_mapped(address)) return "that is memory of the host, which the device cannot reach: copy it to the device";
  }
  if (nearest == pieces.end()) return "the device has no allocation";
  const std::string name = nearest->name.empty()         ? "the allocation at " + hexadecimal(nearest->range.begin)
                           : nearest->written == nullptr ? "the constant " + nearest->name
                                                         : "the variable " + nearest->name;
  return describe_range(nearest->range, name, address, size);
}

}  // namespace croton::runtime::simulator
