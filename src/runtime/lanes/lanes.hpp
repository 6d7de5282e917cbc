// Lanes: pieces of work in one order, some of which may run at the same time. A lane is a sequence of pieces that one
// thread runs one after the other; a piece waits for those pieces of other lanes that it needs.
//
// The threads of lanes are not workers of the ThreadPool, but lanes that compute on the host's cores partition those
// workers (ThreadPool::Partitions), so that lanes together use as many threads as one function does. A process has one
// team of such threads, made when first needed: the pieces of a second caller run in order, in its own thread. After
// fork() the child starts its own team when it needs one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace croton::runtime {

/// Pieces are listed in the order in which one thread would run them, and their numbers are their positions.
struct LanePiece {
  std::size_t lane = 0;
  std::vector<std::size_t> waits = {};  // for earlier pieces of other lanes
};

class Lanes {
 public:
  /// Lane 0 belongs to the caller. `computes`: per lane, whether it works on the host's cores.
  Lanes(std::vector<LanePiece> pieces, const std::vector<bool>& computes);

  /// Calls `work` for each piece. Lanes see the flags of the caller. If several pieces raise, the error of the first
  /// one is raised here, as if all had run in order: the pieces before it are done, and maybe some after it.
  void run(const std::function<void(std::size_t piece)>& work) const;
  /// Calls `work` for each piece in order, in this thread.
  void run_in_order(const std::function<void(std::size_t piece)>& work) const;

  const std::vector<LanePiece>& pieces() const { return pieces_; }
  std::size_t count() const { return lanes_.size(); }

 private:
  struct Run;
  struct Lane {
    std::vector<std::size_t> pieces;
    std::optional<int> partition;  // of the pool's workers; none if the lane does not compute
  };
  std::vector<LanePiece> pieces_;
  std::vector<Lane> lanes_;
  int partitions_ = 0;
};

/// Finds the pieces that each piece must wait for, from the memory that they touch: a piece reads what another has
/// written before, and writes what others have read or written before. Pieces come in order. (lane_order.cpp)
class LaneOrder {
 public:
  /// Bytes [begin, end) of some memory, which has any number.
  struct Touch {
    long memory;
    std::size_t begin, end;
    bool written;
  };
  /// Adds a piece. `after`: other pieces that it waits for. A wait is left out if the lane, or a piece that is waited
  /// for, has waited already.
  void add(std::size_t lane, std::span<const Touch> touches, std::vector<std::size_t> after = {});
  const std::vector<LanePiece>& pieces() const { return pieces_; }

 private:
  struct Bytes {
    std::size_t end;
    std::optional<std::size_t> writer = {};
    std::vector<std::size_t> readers = {};  // since then, the last one of each lane
  };
  using Memory = std::map<std::size_t, Bytes>;  // by begin; no piece has touched the bytes in between
  static void split_at(Memory& memory, std::size_t place);
  void touch(std::size_t lane, const Touch& touch, std::vector<std::size_t>& needed);

  std::vector<LanePiece> pieces_;
  std::map<long, Memory> memories_;
  // Per piece and lane: a bound of the pieces of the lane that are done when the piece ends; all of its pieces with
  // lower numbers are.
  std::vector<std::vector<std::size_t>> done_below_;
  std::map<std::size_t, std::size_t> last_;  // piece, by lane
};

}  // namespace croton::runtime
