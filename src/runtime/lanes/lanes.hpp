// Lanes: work that stands in one order, of which some may run at the same time. A lane is a sequence of pieces that run
// one after the other, in a thread; what a piece needs of other lanes it waits for.
//
// The threads of lanes are no workers of the ThreadPool, but whoever computes on the host's cores shares those out
// (ThreadPool::Shares), so that lanes together use as many threads as one function does. There is one team of such
// threads per process, made when first needed: a second caller's pieces run in order, in its own thread. After fork()
// the child starts its own when next used.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace croton::runtime {

/// Pieces stand in the order in which one thread would do them.
struct LanePiece {
  int lane = 0;
  std::vector<int> waits = {};  // for earlier pieces of other lanes
};

class Lanes {
 public:
  /// Lane 0 is the caller's. `computes`: per lane, whether it works on the host's cores.
  Lanes(std::vector<LanePiece> pieces, const std::vector<bool>& computes);

  /// Calls `work` for each piece. Lanes see the flags as the caller does. Of several pieces that raise, what the first
  /// one raises is raised here, as if all had run in order: those before it have been done, and maybe some behind it.
  void run(const std::function<void(std::size_t piece)>& work) const;
  /// In order, in this thread.
  void run_in_order(const std::function<void(std::size_t piece)>& work) const;

  const std::vector<LanePiece>& pieces() const { return pieces_; }
  std::size_t count() const { return lanes_.size(); }

 private:
  struct Run;
  struct Lane {
    std::vector<int> pieces;
    int share = -1;  // of the pool's threads; -1: none
  };
  std::vector<LanePiece> pieces_;
  std::vector<Lane> lanes_;
  int shares_ = 0;
};

/// Finds what pieces must wait for, from the memory that they touch: what a piece reads another has written before,
/// what it writes others have read or written before. Pieces come in order.
class LaneOrder {
 public:
  /// Bytes [begin, end) of some memory, which has any number.
  struct Touch {
    long memory;
    std::size_t begin, end;
    bool written;
  };
  /// Adds a piece. `after`: pieces that it waits for besides. What is waited for already, by the lane or by a piece
  /// that is waited for, is left out.
  void add(int lane, std::span<const Touch> touches, std::vector<int> after = {});
  const std::vector<LanePiece>& pieces() const { return pieces_; }

 private:
  struct Bytes {
    std::size_t end;
    int writer = -1;
    std::vector<int> readers = {};  // since, the last one of each lane
  };
  using Memory = std::map<std::size_t, Bytes>;  // by begin; those in between nobody has touched
  static void cut(Memory& memory, std::size_t at);
  void touch(int lane, const Touch& touch, std::vector<int>& needed);

  std::vector<LanePiece> pieces_;
  std::map<long, Memory> memories_;
  std::vector<std::vector<int>> seen_;  // per piece: the last piece of each lane that has been done when it ends
  std::map<int, int> last_;             // by lane
};

}  // namespace croton::runtime
