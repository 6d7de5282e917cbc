// The happens-before order of the accesses of a launch, for the race checks.
//
// Time is a counter of each block, which advances at every barrier, exchange of a warp and fence; an access has a
// block, a thread and a time. It happens before the current access of thread t, if
//  - the same thread made it;
//  - the same block made it, before the block's last barrier;
//  - the same warp made it, before an exchange (shuffle, vote, __syncwarp) in which both lanes took part;
//  - any block made it, before that block's last grid barrier;
//  - it was published and t knows of it. A fence publishes the earlier accesses of the thread itself and all that
//  happen
//    before these; fences count for a whole block after its next barrier. An atomic access of a thread releases its
//    published past at the address, and later atomic accesses to the address acquire it: for their thread at once, for
//    its warp after an exchange, for its block after a barrier.
// The last point requires a fence before the release and none after the acquire, as in programs that elect the block
// which finishes last (CUDA C++ Programming Guide, memory fence functions). They are correct by this rule.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace croton::runtime::simulator {

using Time = std::uint32_t;

/// The known past of one block.
struct Past {
  Time all = 0;                                           // accesses of any thread before this time
  std::shared_ptr<const std::vector<Time>> each;          // of each thread before its time, or null
  std::vector<std::pair<unsigned, Time>> single_threads;  // of these threads before their times

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
  /// An atomic access to an address with that knowledge.
  void acquire(unsigned thread, const Knowledge& released);
  void release(unsigned thread, Knowledge& released) const;

  /// Whether the access of `thread` of `block` at `time` happens before the current access of thread `own` of this
  /// block.
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
  Time settled_all_ = 0;                              // fences before the last barrier published this of all threads
  std::shared_ptr<const std::vector<Time>> settled_;  // ... and of each

  Knowledge known_;                                       // by the whole block
  std::vector<std::unique_ptr<Knowledge>> thread_known_;  // acquired since the last barrier
  bool has_thread_known_ = false;
};

}  // namespace croton::runtime::simulator
