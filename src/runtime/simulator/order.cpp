#include "runtime/simulator/order.hpp"

#include <algorithm>
#include <cstddef>

#include "base/rounding.hpp"

namespace croton::runtime::simulator {
namespace {

constexpr unsigned warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;

void add_all(Knowledge& to, const Knowledge& from) {
  for (const auto& [block, past] : from) to[block].add(past);
}

}  // namespace

bool Past::holds(unsigned thread, Time time) const {
  if (time < all) return true;
  if (each != nullptr && time < (*each)[thread]) return true;
  return std::any_of(single_threads.begin(), single_threads.end(),
                     [&](const auto& single) { return single.first == thread && time < single.second; });
}

void Past::add(unsigned thread, Time time) {
  for (auto& [other, until] : single_threads) {
    if (other != thread) continue;
    until = std::max(until, time);
    return;
  }
  single_threads.emplace_back(thread, time);
}

void Past::add(const Past& other) {
  all = std::max(all, other.all);
  if (each == nullptr) {
    each = other.each;
  } else if (other.each != nullptr && other.each != each) {
    auto both = std::make_shared<std::vector<Time>>(*each);
    for (std::size_t i = 0; i < both->size(); ++i) (*both)[i] = std::max((*both)[i], (*other.each)[i]);
    each = std::move(both);
  }
  for (const auto& [thread, time] : other.single_threads) add(thread, time);
}

BlockOrder::BlockOrder(unsigned threads, const std::vector<Time>& grid_barriers)
    : grid_barriers_(grid_barriers),
      exchanges_(base::ceil_div(threads, warp_size)),
      lanes_(exchanges_.size()),
      fences_(threads),
      thread_known_(threads) {}

void BlockOrder::start(unsigned block) {
  block_ = block;
  now_ = barrier_ = 1;
  std::fill(exchanges_.begin(), exchanges_.end(), Time{0});
  for (auto& lanes : lanes_) lanes.reset();
  std::fill(fences_.begin(), fences_.end(), Fence{});
  has_fences_ = has_new_fences_ = has_thread_known_ = false;
  settled_all_ = 0;
  settled_.reset();
  known_.clear();
  for (auto& known : thread_known_) known.reset();
}

void BlockOrder::barrier() {
  barrier_ = ++now_;
  if (has_new_fences_) settle_fences();
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

void BlockOrder::exchange(unsigned first, unsigned mask) {
  const unsigned warp = first / warp_size;
  ++now_;
  if (mask == all_lanes) {
    exchanges_[warp] = now_;
  } else {
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
  if (!has_thread_known_) return;
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

void BlockOrder::fence(unsigned thread) {
  fences_[thread] = {++now_, barrier_, exchanges_[thread / warp_size]};
  has_fences_ = has_new_fences_ = true;
}

void BlockOrder::acquire(unsigned thread, const Knowledge& released) {
  if (released.empty()) return;
  auto& known = thread_known_[thread];
  if (known == nullptr) known = std::make_unique<Knowledge>();
  add_all(*known, released);
  has_thread_known_ = true;
}

void BlockOrder::release(unsigned thread, Knowledge& released) const {
  if (!has_fences_) return;
  const Fence& fence = fences_[thread];
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

bool BlockOrder::knows(unsigned block, unsigned thread, Time time, unsigned own) const {
  const auto holds = [&](const Knowledge& knowledge) {
    const auto past = knowledge.find(block);
    return past != knowledge.end() && past->second.holds(thread, time);
  };
  return holds(known_) || (thread_known_[own] != nullptr && holds(*thread_known_[own]));
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

}  // namespace croton::runtime::simulator
