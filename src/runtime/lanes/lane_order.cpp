#include "runtime/lanes/lanes.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace croton::runtime {

/// Afterwards no entry has bytes on both sides of `place`.
void LaneOrder::split_at(Memory& memory, std::size_t place) {
  const auto next = memory.upper_bound(place);
  if (next == memory.begin()) return;
  const auto before = std::prev(next);
  if (before->first == place || before->second.end <= place) return;
  Bytes rest = before->second;
  before->second.end = place;
  memory.emplace_hint(next, place, std::move(rest));
}

/// Adds to `needed` the pieces that the new piece, which is of that lane, needs for this access.
void LaneOrder::touch(std::size_t lane, const Touch& touch, std::vector<std::size_t>& needed) {
  const std::size_t piece = pieces_.size();
  Memory& memory = memories_[touch.memory];
  split_at(memory, touch.begin);
  split_at(memory, touch.end);
  for (std::size_t at = touch.begin; at < touch.end;) {
    auto found = memory.lower_bound(at);
    if (found == memory.end() || found->first > at) {
      const std::size_t end = found == memory.end() ? touch.end : std::min(touch.end, found->first);
      found = memory.emplace_hint(found, at, Bytes{end});
    }
    Bytes& bytes = found->second;
    if (bytes.writer) needed.push_back(*bytes.writer);
    if (touch.written) {
      needed.insert(needed.end(), bytes.readers.begin(), bytes.readers.end());
      bytes.writer = piece;
      bytes.readers.clear();
    } else {
      std::erase_if(bytes.readers, [&](std::size_t reader) { return reader != piece && pieces_[reader].lane == lane; });
      if (std::ranges::find(bytes.readers, piece) == bytes.readers.end()) bytes.readers.push_back(piece);
    }
    at = bytes.end;
  }
}

void LaneOrder::add(std::size_t lane, std::span<const Touch> touches, std::vector<std::size_t> after) {
  const std::size_t piece = pieces_.size();
  std::vector<std::size_t> needed = std::move(after);
  for (const Touch& touched : touches) touch(lane, touched, needed);

  std::vector<std::size_t> done_below;  // by lane
  const auto done_of = [&](std::size_t other_lane) -> std::size_t& {
    if (done_below.size() <= other_lane) done_below.resize(other_lane + 1, 0);
    return done_below[other_lane];
  };
  if (const auto last = last_.find(lane); last != last_.end()) done_below = done_below_[last->second];
  LanePiece made{lane};
  // The latest first: it may have waited for earlier ones.
  std::ranges::sort(needed, std::greater<>{});
  for (const std::size_t other : needed) {
    if (other == piece) continue;
    if (pieces_[other].lane == lane || done_of(pieces_[other].lane) > other) continue;
    made.waits.push_back(other);
    const std::vector<std::size_t>& more = done_below_[other];
    for (std::size_t k = 0; k < more.size(); ++k) done_of(k) = std::max(done_of(k), more[k]);
  }
  done_of(lane) = piece + 1;
  last_[lane] = piece;
  done_below_.push_back(std::move(done_below));
  pieces_.push_back(std::move(made));
}

}  // namespace croton::runtime
