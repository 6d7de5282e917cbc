#include "runtime/cuda/inspect/hot_path.hpp"

#include <algorithm>
#include <limits>

namespace croton::runtime::cuda {
namespace {

/// The bytes and instructions of a way; more bytes are better, then fewer instructions.
struct Score {
  std::int64_t bytes = 0, instructions = 0;
  bool better_than(const Score& other) const {
    return bytes != other.bytes ? bytes > other.bytes : instructions < other.instructions;
  }
};

class PathFinder {
 public:
  PathFinder(const Code& code, const ControlFlow& flow, std::vector<bool> region, std::vector<bool> weighs)
      : code_(code), flow_(flow), region_(std::move(region)), weighs_(std::move(weighs)), state_(flow.blocks.size()) {}

  /// The best way from a block to the end of the region: back to `header`, or to the end of the kernel or subroutine.
  std::optional<CodePath> find(BlockIndex from, std::optional<BlockIndex> header) {
    header_ = header;
    visit_all(from);
    if (!state_[from].ends) return std::nullopt;
    CodePath path;
    for (std::optional<BlockIndex> b = from; b; b = state_[*b].next) {
      if (!weighs_[*b]) continue;
      for (std::size_t i = flow_.blocks[*b].begin; i < flow_.blocks[*b].end; ++i) path.instructions.push_back(i);
    }
    for (const std::size_t i : path.instructions) {
      path.called_instructions += called(code_.instructions[i]);
      path.global_bytes += global_bytes(code_.instructions[i]);
    }
    return path;
  }

 private:
  struct State {
    enum : std::uint8_t { unseen, open, done } visit = unseen;
    bool ends = false;  // some way ends
    Score best;
    std::optional<BlockIndex> next;
  };

  static std::int64_t global_bytes(const Instruction& i) {
    return i.space() == Space::global && !i.reports_failure ? i.bytes() : 0;
  }

  /// The shortest way through the subroutine that an instruction calls.
  std::int64_t called(const Instruction& i) const {
    const auto at = code_.labels.find(i.target);
    if (!i.is("CALL") || at == code_.labels.end() || at->second >= code_.instructions.size()) return 0;
    const BlockIndex entry = flow_.block_at(at->second);
    if (region_[entry] && !header_) return 0;  // a subroutine that calls itself
    const std::vector<bool> all = flow_.reachable(entry);
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> distance(flow_.blocks.size(), shortest);
    std::vector<BlockIndex> pending{entry};
    distance[entry] = length(entry);
    while (!pending.empty()) {
      const BlockIndex b = pending.back();
      pending.pop_back();
      if (flow_.blocks[b].next.empty()) shortest = std::min(shortest, distance[b]);
      for (const BlockIndex to : flow_.blocks[b].next) {
        if (distance[b] + length(to) >= distance[to]) continue;
        distance[to] = distance[b] + length(to);
        pending.push_back(to);
      }
    }
    return shortest == std::numeric_limits<std::int64_t>::max() ? 0 : shortest;
  }
  std::int64_t length(BlockIndex b) const {
    return static_cast<std::int64_t>(flow_.blocks[b].end - flow_.blocks[b].begin);
  }

  Score weight(BlockIndex b) const {
    Score score;
    if (!weighs_[b]) return score;
    for (std::size_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i) {
      // Accesses of shared memory also tell the main path from one that skips its work.
      const Instruction& instruction = code_.instructions[i];
      score.bytes += instruction.space() == Space::shared ? instruction.bytes() : global_bytes(instruction);
      score.instructions += 1 + called(instruction);
    }
    return score;
  }

  /// Depth first, without recursion: a block is done after all blocks that follow it.
  void visit_all(BlockIndex from) {
    std::vector<BlockIndex> stack{from};
    while (!stack.empty()) {
      const BlockIndex b = stack.back();
      State& state = state_[b];
      if (state.visit == State::unseen) {
        state.visit = State::open;
        for (const BlockIndex to : flow_.blocks[b].next) {
          if (region_[to] && state_[to].visit == State::unseen) stack.push_back(to);
        }
        continue;
      }
      stack.pop_back();
      if (state.visit == State::open) finish(b);
    }
  }

  void finish(BlockIndex b) {
    State& state = state_[b];
    state.visit = State::done;
    const std::vector<BlockIndex>& next = flow_.blocks[b].next;
    const bool comes_back = header_ && std::ranges::find(next, *header_) != next.end();
    state.ends = header_ ? comes_back : next.empty();
    for (const BlockIndex to : next) {
      // A block that is open is the header of a loop inside, whose ways back are not taken.
      if (!region_[to] || state_[to].visit != State::done || !state_[to].ends) continue;
      if (state.ends && !state_[to].best.better_than(state.best)) continue;
      state.ends = true;
      state.best = state_[to].best;
      state.next = to;
    }
    const Score own = weight(b);
    state.best.bytes += own.bytes;
    state.best.instructions += own.instructions;
  }

  const Code& code_;
  const ControlFlow& flow_;
  std::vector<bool> region_, weighs_;
  std::vector<State> state_;
  std::optional<BlockIndex> header_;
};

}  // namespace

std::optional<CodePath> main_path(const Code& code, const ControlFlow& flow, std::optional<std::size_t> loop) {
  if (flow.blocks.empty()) return std::nullopt;
  std::vector<bool> region = loop ? flow.loops[*loop].contains : flow.reachable(0);
  std::vector<bool> weighs = region;
  for (std::size_t l = 0; l < flow.loops.size(); ++l) {
    if ((loop && l == *loop) || (loop && !flow.is_inside(l, *loop))) continue;
    for (BlockIndex b = 0; b < weighs.size(); ++b) weighs[b] = weighs[b] && !flow.loops[l].contains[b];
  }
  PathFinder finder(code, flow, std::move(region), std::move(weighs));
  std::optional<CodePath> path =
      loop ? finder.find(flow.loops[*loop].header, flow.loops[*loop].header) : finder.find(0, std::nullopt);
  if (path) path->loop = loop;
  return path;
}

HotPaths hot_paths(const Code& code, const ControlFlow& flow) {
  constexpr std::int64_t tile_bytes_of_tail = 4;
  std::vector<CodePath> paths;  // inner loops first, the kernel last
  const auto add = [&](std::optional<std::size_t> loop) {
    if (auto path = main_path(code, flow, loop); path && path->global_bytes > 0) paths.push_back(std::move(*path));
  };
  for (std::size_t l = flow.loops.size(); l-- > 0;) add(l);
  add(std::nullopt);
  HotPaths result;
  for (CodePath& path : paths) {
    const auto inside = [&](const CodePath& other) {
      return other.loop && (!path.loop || flow.is_inside(*other.loop, *path.loop));
    };
    std::int64_t bytes_inside = 0;
    for (const CodePath& other : result.hot) bytes_inside += inside(other) ? other.global_bytes : 0;
    if (path.global_bytes < tile_bytes_of_tail * bytes_inside) {
      result.around.push_back(std::move(path));
      continue;
    }
    std::erase_if(result.hot, inside);
    std::erase_if(result.around, inside);
    result.hot.push_back(std::move(path));
  }
  std::ranges::sort(result.hot, {}, [](const CodePath& path) { return path.instructions.front(); });
  return result;
}

std::int64_t bytes_in_flight(const Code& code, const CodePath& path) {
  struct Load {
    std::vector<int> registers;
    int bytes;
  };
  std::vector<Load> pending;  // in the order of their requests, in which they also arrive
  std::int64_t bytes = 0, most = 0;
  for (int round = 0; round < (path.loop ? 2 : 1); ++round) {
    for (const std::size_t at : path.instructions) {
      const Instruction& instruction = code.instructions[at];
      for (std::size_t i = pending.size(); i-- > 0;) {
        if (!std::ranges::any_of(pending[i].registers, [&](int r) { return instruction.reads(r); })) continue;
        for (std::size_t k = 0; k <= i; ++k) bytes -= pending[k].bytes;
        pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        break;
      }
      if (!instruction.loads() || instruction.space() != Space::global) continue;
      pending.push_back({instruction.loaded_registers(), instruction.bytes()});
      bytes += instruction.bytes();
      most = std::max(most, bytes);
    }
  }
  return most;
}

}  // namespace croton::runtime::cuda
