// The happens-before order of the accesses of a launch, for the race checks.
//
// Time is a counter of each block, which advances at every barrier, exchange of a warp and fence; an access has a
// block, a thread and a time. It happens before the current access of thread t, if
//  - the same thread made it;
//  - the same block made it, before the block's last barrier;
//  - the same warp made it, before a __syncwarp in which both lanes took part;
//  - any block made it, before that block's last grid barrier;
//  - it was published and t knows of it.
//
// The strict order is that of the PTX memory model (PTX ISA, memory consistency model). A release is a fence and then,
// at any later time, a strong write of the same thread: an atomic one, or a volatile one in global memory. The write
// publishes at its address what the thread knew at the fence: its own accesses and all that happen before them, those
// of other blocks too (cumulativity). A read-modify-write adds to what is published at its address (a release
// sequence), any other write replaces it. An acquire is a strong read and then a fence of the same thread: what the
// read found is pending until the thread's next fence. Then the thread knows it; its warp does after a __syncwarp, its
// block after a barrier. A barrier alone makes nothing pending known, and shuffles and votes order nothing.
//
// The lenient order, the default for users' kernels, accepts more, because existing programs rely on it:
//  - shuffles and votes order the lanes that take part;
//  - a strong read makes known what it finds, at once: no fence is needed after it, as in programs that elect the block
//    which finishes last (CUDA C++ Programming Guide, memory fence functions);
//  - a fence counts for the whole block after its next barrier;
//  - no write replaces what is published at its address.
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
void add_all(Knowledge& to, const Knowledge& from);

/// The knowledge that strong writes have published at an address.
struct Published {
  Knowledge knowledge;
  std::uint64_t version = 0;  // another one for each content of the launch, so that a thread acquires each only once
};

/// The order that two racing accesses lack.
struct Missing {
  enum class Kind : std::uint8_t {
    order,          // anything that orders them
    warp_barrier,   // there is only a shuffle or vote, which orders nothing
    fence_after,    // the access is pending for `thread`
    barrier_after,  // only `thread` knows of the access
  };
  Kind kind = Kind::order;
  unsigned thread = 0;
};

class BlockOrder {
 public:
  /// `grid_barriers`: by block, the time of its last grid barrier.
  BlockOrder(unsigned threads, const std::vector<Time>& grid_barriers, bool strict);

  void start(unsigned block);
  Time now() const { return now_; }
  bool is_strict() const { return strict_; }

  void barrier();
  /// Lanes `mask` of the warp that begins with thread `first` meet in a __syncwarp, or in a shuffle or vote.
  enum class Exchange : std::uint8_t { barrier, values };
  void exchange(unsigned first, unsigned mask, Exchange what);
  void fence(unsigned thread);
  /// A strong read of an address where that is published.
  void acquire(unsigned thread, const Published& found);
  /// Adds what a strong write publishes.
  void release(unsigned thread, Knowledge& released) const;

  /// Whether the access of `thread` of `block` at `time` happens before the current access of thread `own` of this
  /// block.
  bool is_before(unsigned block, unsigned thread, Time time, unsigned own) const;
  /// The order that it lacks, for messages.
  Missing missing(unsigned block, unsigned thread, Time time, unsigned own) const;

 private:
  // Exchanges among some lanes of a warp: [lane][other] is the time before which the other's accesses are ordered.
  struct Lanes {
    Time before[32][32] = {};
  };

  struct Fence {
    Time time = 0;  // 0: none
    Time barrier = 0;
    Time exchange = 0;
    std::shared_ptr<const Knowledge> known;  // in the strict order, all that happens before it
  };
  using OfThreads = std::vector<std::unique_ptr<Knowledge>>;  // null: nothing

  Knowledge past_of(unsigned thread) const;
  void settle_fences();
  void join(unsigned first, unsigned mask);
  void share(unsigned first, unsigned mask);
  bool knows(unsigned block, unsigned thread, Time time, unsigned own) const;

  const std::vector<Time>& grid_barriers_;
  const bool strict_;
  unsigned block_ = 0;
  Time now_ = 1;
  Time barrier_ = 1;
  std::vector<Time> exchanges_;                // by warp, of all of its lanes
  std::vector<std::unique_ptr<Lanes>> lanes_;  // by warp, once some of its lanes exchange without the others
  std::vector<Time> values_;                   // by warp, its last shuffle or vote that orders nothing

  std::vector<Fence> fences_;  // by thread
  bool has_fences_ = false;
  bool has_new_fences_ = false;                       // since the last barrier
  Time settled_all_ = 0;                              // fences before the last barrier published this of all threads
  std::shared_ptr<const std::vector<Time>> settled_;  // ... and of each

  Knowledge known_;         // by the whole block
  OfThreads thread_known_;  // acquired since the last barrier
  bool has_thread_known_ = false;
  OfThreads pending_;                    // in the strict order: found by strong reads since the thread's last fence
  std::vector<std::uint64_t> acquired_;  // by thread, the last version
};

}  // namespace croton::runtime::simulator
