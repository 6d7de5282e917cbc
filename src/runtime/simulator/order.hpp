// Which accesses of a launch happen before which others: what the race checks ask.
//
// Time is a counter of each block, which goes on at every barrier, exchange of a warp and fence; an access is known by
// its block, thread and time. It happens before what thread t does now, if
//  - the same thread made it;
//  - the same block made it, before the block's last barrier;
//  - the same warp made it, before an exchange (shuffle, vote, __syncwarp) in which both lanes took part;
//  - any block made it, before that block's last grid barrier;
//  - it was published and t has learnt of it. A fence publishes what the thread itself did before it and all that
//    happens before it; fences count for a whole block after its next barrier. An atomic access of a thread whose past
//    is published leaves that past at its address, and whoever makes an atomic access to the address later learns it:
//    that thread at once, its warp after an exchange, its block after a barrier.
// The last point asks for a fence where a past is left and not where it is picked up, as programs that elect the block
// which finishes last are written (CUDA C++ Programming Guide, memory fence functions). It is what makes them right.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace croton::runtime::simulator {

using Time = std::uint32_t;

/// What is known of one block's past.
struct Past {
  Time all = 0;                                           // what any thread did before
  std::shared_ptr<const std::vector<Time>> each;          // what each thread did before, or null
  std::vector<std::pair<unsigned, Time>> single_threads;  // what these threads did before

  bool holds(unsigned thread, Time time) const;
  void add(const Past& other);
  void add(unsigned thread, Time time);
};

/// By block.
using Knowledge = std::map<unsigned, Past>;

class BlockOrder {
 public:
  /// `grid_barriers`: by block, the time of its last grid barrier.
  BlockOrder(unsigned threads, const std::vector<Time>& grid_barriers);

  void start(unsigned block);
  Time now() const { return now_; }

  void barrier();
  /// Lanes `mask` of the warp that begins with thread `first`.
  void exchange(unsigned first, unsigned mask);
  void fence(unsigned thread);
  /// An atomic access to an address where `released` was left.
  void acquire(unsigned thread, const Knowledge& released);
  void release(unsigned thread, Knowledge& released) const;

  /// Whether the access of `thread` of `block` at `time` happens before what thread `own` of this block does now.
  bool is_before(unsigned block, unsigned thread, Time time, unsigned own) const;

 private:
  // Exchanges among some lanes of a warp: [lane][other] is the time before which the other's accesses are ordered.
  struct Lanes {
    Time before[32][32] = {};
  };

  struct Fence {
    Time time = 0;  // 0: none
    Time barrier = 0;
    Time exchange = 0;
  };

  void settle_fences();
  bool knows(unsigned block, unsigned thread, Time time, unsigned own) const;

  const std::vector<Time>& grid_barriers_;
  unsigned block_ = 0;
  Time now_ = 1;
  Time barrier_ = 1;
  std::vector<Time> exchanges_;                // by warp, of all of its lanes
  std::vector<std::unique_ptr<Lanes>> lanes_;  // by warp, once some of its lanes exchange without the others

  std::vector<Fence> fences_;  // by thread
  bool has_fences_ = false;
  bool has_new_fences_ = false;                       // since the last barrier
  Time settled_all_ = 0;                              // what fences before the last barrier published of all threads
  std::shared_ptr<const std::vector<Time>> settled_;  // ... and of each

  Knowledge known_;                                       // by the whole block
  std::vector<std::unique_ptr<Knowledge>> thread_known_;  // learnt since the last barrier
  bool has_thread_known_ = false;
};

}  // namespace croton::runtime::simulator
