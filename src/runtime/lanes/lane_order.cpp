#include "runtime/lanes/lanes.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace croton::runtime {

/// No entry goes across `at` any more.
void LaneOrder::cut(Memory& memory, std::size_t at) {
  const auto next = memory.upper_bound(at);
  if (next == memory.begin()) return;
  const auto before = std::prev(next);
  if (before->first == at || before->second.end <= at) return;
  Bytes rest = before->second;
  before->second.end = at;
  memory.emplace_hint(next, at, std::move(rest));
}

/// Adds to `needed` the pieces that the present one, which is of that lane, needs for this.
void LaneOrder::touch(int lane, const Touch& touch, std::vector<int>& needed) {
  const int piece = static_cast<int>(pieces_.size());
  Memory& memory = memories_[touch.memory];
  cut(memory, touch.begin);
  cut(memory, touch.end);
  for (std::size_t at = touch.begin; at < touch.end;) {
    auto found = memory.lower_bound(at);
    if (found == memory.end() || found->first > at) {
      const std::size_t end = found == memory.end() ? touch.end : std::min(touch.end, found->first);
      found = memory.emplace_hint(found, at, Bytes{end});
    }
    Bytes& bytes = found->second;
    if (bytes.writer >= 0) needed.push_back(bytes.writer);
    if (touch.written) {
      needed.insert(needed.end(), bytes.readers.begin(), bytes.readers.end());
      bytes.writer = piece;
      bytes.readers.clear();
    } else {
      std::erase_if(bytes.readers, [&](int reader) {
        return reader != piece && pieces_[static_cast<std::size_t>(reader)].lane == lane;
      });
      if (std::ranges::find(bytes.readers, piece) == bytes.readers.end()) bytes.readers.push_back(piece);
    }
    at = bytes.end;
  }
}

void LaneOrder::add(int lane, std::span<const Touch> touches, std::vector<int> after) {
  const int piece = static_cast<int>(pieces_.size());
  std::vector<int> needed = std::move(after);
  for (const Touch& touched : touches) touch(lane, touched, needed);

  std::vector<int> seen;
  const auto seen_of = [&](int other) -> int& {
    const auto at = static_cast<std::size_t>(other);
    if (seen.size() <= at) seen.resize(at + 1, -1);
    return seen[at];
  };
  if (const auto last = last_.find(lane); last != last_.end()) seen = seen_[static_cast<std::size_t>(last->second)];
  LanePiece made{lane};
  // The latest first: it may have waited for earlier ones.
  std::ranges::sort(needed, std::greater<>{});
  for (const int other : needed) {
    if (other == piece) continue;
    const auto o = static_cast<std::size_t>(other);
    if (pieces_[o].lane == lane || seen_of(pieces_[o].lane) >= other) continue;
    made.waits.push_back(other);
    const std::vector<int>& more = seen_[o];
    for (std::size_t k = 0; k < more.size(); ++k)
      seen_of(static_cast<int>(k)) = std::max(seen_of(static_cast<int>(k)), more[k]);
  }
  seen_of(lane) = piece;
  last_[lane] = piece;
  seen_.push_back(std::move(seen));
  pieces_.push_back(std::move(made));
}

}  // namespace croton::runtime
