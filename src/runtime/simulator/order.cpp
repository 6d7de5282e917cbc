#include "runtime/simulator/order.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/rounding.hpp"

namespace croton::runtime::simulator {
namespace {

constexpr unsigned warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;

bool holds(const Knowledge& knowledge, unsigned block, unsigned thread, Time time) {
  const auto past = knowledge.find(block);
  return past != knowledge.end() && past->second.holds(thread, time);
}

void add_to(std::unique_ptr<Knowledge>& to, const Knowledge& from) {
  if (to == nullptr) to = std::make_unique<Knowledge>();
  add_all(*to, from);
}

}  // namespace

void add_all(Knowledge& to, const Knowledge& from) {
  for (const auto& [block, past] : from) to[block].add(past);
}

bool Past::holds(unsigned thread, Time time) const {
  if (time < all) return true;
  if (each != nullptr && time < (*each)[thread]) return true;
  return std::any_of(single_threads.begin(), single_threads.end(),
                     [&](const auto& single) { return single.first == thread && time < single.second; });
}

void Past::add(unsigned thread, Time time) {
  if (time <= all) return;
  for (auto& [other, until] : single_threads) {
    if (other != thread) continue;
    until = std::max(until, time);
    return;
  }
  single_threads.emplace_back(thread, time);
}

void Past::add(const Past& other) {
  if (other.all > all) {
    all = other.all;
    std::erase_if(single_threads, [&](const auto& single) { return single.second <= all; });
  }
  if (each == nullptr) {
    each = other.each;
  } else if (other.each != nullptr && other.each != each) {
    auto both = std::make_shared<std::vector<Time>>(*each);
    for (std::size_t i = 0; i < both->size(); ++i) (*both)[i] = std::max((*both)[i], (*other.each)[i]);
    each = std::move(both);
  }
  for (const auto& [thread, time] : other.single_threads) add(thread, time);
}

BlockOrder::BlockOrder(unsigned threads, const std::vector<Time>& grid_barriers, bool strict)
    : grid_barriers_(grid_barriers),
      strict_(strict),
      exchanges_(base::ceil_div(threads, warp_size)),
      lanes_(exchanges_.size()),
      values_(exchanges_.size()),
      fences_(threads),
      thread_known_(threads),
      pending_(threads),
      acquired_(threads) {}

void BlockOrder::start(unsigned block) {
  block_ = block;
  now_ = barrier_ = 1;
  std::fill(exchanges_.begin(), exchanges_.end(), Time{0});
  for (auto& lanes : lanes_) lanes.reset();
  std::fill(values_.begin(), values_.end(), Time{0});
  std::fill(fences_.begin(), fences_.end(), Fence{});
  has_fences_ = has_new_fences_ = has_thread_known_ = false;
  settled_all_ = 0;
  settled_.reset();
  known_.clear();
  for (auto& known : thread_known_) known.reset();
  for (auto& found : pending_) found.reset();
  std::fill(acquired_.begin(), acquired_.end(), std::uint64_t{0});
}

// ---- Barriers and exchanges

void BlockOrder::barrier() {
  barrier_ = ++now_;
  if (has_new_fences_ && !strict_) settle_fences();
  if (!has_thread_known_) return;
  for (auto& known : thread_known_) {
    if (known != nullptr) add_all(known_, *known);
    known.reset();
  }
  has_thread_known_ = false;
}

void BlockOrder::settle_fences() {
  auto times = std::make_shared<std::vector<Time>>(fences_.size());
  for (std::size_t thread = 0; thread < fences_.size(); ++thread) {
    (*times)[thread] = fences_[thread].time;
    settled_all_ = std::max(settled_all_, fences_[thread].barrier);
  }
  settled_ = std::move(times);
  has_new_fences_ = false;
}

void BlockOrder::exchange(unsigned first, unsigned mask, Exchange what) {
  const unsigned warp = first / warp_size;
  ++now_;
  if (strict_ && what == Exchange::values) {
    values_[warp] = now_;
    return;
  }
  if (mask == all_lanes) {
    exchanges_[warp] = now_;
  } else {
    join(first, mask);
  }
  if (has_thread_known_) share(first, mask);
}

/// Orders the accesses of some lanes of a warp, and all that is ordered before them.
void BlockOrder::join(unsigned first, unsigned mask) {
  const unsigned warp = first / warp_size;
  if (lanes_[warp] == nullptr) lanes_[warp] = std::make_unique<Lanes>();
  Lanes& lanes = *lanes_[warp];
  Time joined[warp_size] = {};
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    for (unsigned other = 0; other < warp_size; ++other)
      joined[other] = std::max(joined[other], lanes.before[lane][other]);
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1u) != 0) joined[lane] = now_;
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1u) != 0) std::copy(joined, joined + warp_size, lanes.before[lane]);
  }
}

/// Gives each of the lanes the knowledge of all.
void BlockOrder::share(unsigned first, unsigned mask) {
  Knowledge together;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1u) != 0 && thread_known_[first + lane] != nullptr)
      add_all(together, *thread_known_[first + lane]);
  }
  if (together.empty()) return;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1u) != 0) thread_known_[first + lane] = std::make_unique<Knowledge>(together);
  }
}

// ---- Fences and strong accesses

void BlockOrder::fence(unsigned thread) {
  fences_[thread] = {++now_, barrier_, exchanges_[thread / warp_size], nullptr};
  has_fences_ = has_new_fences_ = true;
  if (!strict_) return;
  if (pending_[thread] != nullptr) {
    add_to(thread_known_[thread], *pending_[thread]);
    pending_[thread].reset();
    has_thread_known_ = true;
  }
  fences_[thread].known = std::make_shared<const Knowledge>(past_of(thread));
}

/// All that happens before the next access of the thread.
Knowledge BlockOrder::past_of(unsigned thread) const {
  Knowledge past = known_;
  if (thread_known_[thread] != nullptr) add_all(past, *thread_known_[thread]);
  Past& own = past[block_];
  own.add({barrier_, nullptr, {}});
  own.add(thread, now_);
  const unsigned warp = thread / warp_size, first = warp * warp_size;
  const Lanes* lanes = lanes_[warp].get();
  const auto last = std::min<std::size_t>(first + warp_size, fences_.size());
  for (unsigned mate = first; mate < last; ++mate) {
    own.add(mate, exchanges_[warp]);
    if (lanes != nullptr) own.add(mate, lanes->before[thread - first][mate - first]);
  }
  return past;
}

void BlockOrder::acquire(unsigned thread, const Published& found) {
  if (found.knowledge.empty() || acquired_[thread] == found.version) return;
  acquired_[thread] = found.version;
  add_to(strict_ ? pending_[thread] : thread_known_[thread], found.knowledge);
  if (!strict_) has_thread_known_ = true;
}

void BlockOrder::release(unsigned thread, Knowledge& released) const {
  if (!has_fences_) return;
  const Fence& fence = fences_[thread];
  if (strict_) {
    if (fence.known != nullptr) add_all(released, *fence.known);
    return;
  }
  if (fence.time == 0 && settled_ == nullptr) return;
  Past& own = released[block_];
  own.add({std::max(fence.barrier, settled_all_), settled_, {}});
  if (fence.time != 0) {
    own.add(thread, fence.time);
    if (fence.exchange > own.all) {
      const unsigned first = thread / warp_size * warp_size;
      const std::size_t last = std::min<std::size_t>(first + warp_size, fences_.size());
      for (unsigned mate = first; mate < last; ++mate) own.add(mate, fence.exchange);
    }
  }
  add_all(released, known_);
  if (thread_known_[thread] != nullptr) add_all(released, *thread_known_[thread]);
}

// ---- Questions

bool BlockOrder::knows(unsigned block, unsigned thread, Time time, unsigned own) const {
  return holds(known_, block, thread, time) ||
         (thread_known_[own] != nullptr && holds(*thread_known_[own], block, thread, time));
}

bool BlockOrder::is_before(unsigned block, unsigned thread, Time time, unsigned own) const {
  if (block == block_) {
    if (thread == own || time < barrier_) return true;
    const unsigned warp = own / warp_size;
    if (thread / warp_size == warp) {
      if (time < exchanges_[warp]) return true;
      if (lanes_[warp] != nullptr && time < lanes_[warp]->before[own % warp_size][thread % warp_size]) return true;
    }
  } else if (time < grid_barriers_[block]) {
    return true;
  }
  return knows(block, thread, time, own);
}

Missing BlockOrder::missing(unsigned block, unsigned thread, Time time, unsigned own) const {
  const unsigned warp = own / warp_size;
  if (block == block_ && thread / warp_size == warp && time < values_[warp]) return {Missing::Kind::warp_barrier, own};
  const auto find = [&](const OfThreads& all) {
    return std::ranges::find_if(
        all, [&](const auto& known) { return known != nullptr && holds(*known, block, thread, time); });
  };
  const auto result = [](const OfThreads& all, OfThreads::const_iterator at, Missing::Kind kind) {
    return Missing{kind, static_cast<unsigned>(at - all.begin())};
  };
  if (pending_[own] != nullptr && holds(*pending_[own], block, thread, time)) return {Missing::Kind::fence_after, own};
  if (const auto at = find(thread_known_); at != thread_known_.end())
    return result(thread_known_, at, Missing::Kind::barrier_after);
  if (const auto at = find(pending_); at != pending_.end()) return result(pending_, at, Missing::Kind::fence_after);
  return {};
}

}  // namespace croton::runtime::simulator
