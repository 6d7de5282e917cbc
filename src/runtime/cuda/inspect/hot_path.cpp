#include "runtime/cuda/inspect/hot_path.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "runtime/cuda/inspect/path_facts.hpp"

namespace croton::runtime::cuda {
namespace {

/// The bytes and instructions of a way; more bytes are better, then fewer instructions.
struct Score {
  std::int64_t bytes = 0, instructions = 0;
  bool better_than(const Score& other) const {
    return bytes != other.bytes ? bytes > other.bytes : instructions < other.instructions;
  }
};

/// The predicate on which a jump or an end depends; empty if it always happens, nothing if it cannot be found.
std::optional<std::string> condition_of(const Instruction& last) {
  const std::string_view first = std::string_view(last.operands).substr(0, last.operands.find(','));
  const bool by_operand = first.size() < last.operands.size() && !first.starts_with('`');
  if (!by_operand) return last.guard;
  if (!last.guard.empty() || first.find('P') == first.npos) return std::nullopt;  // "BRA.DIV UR4, `(.L_1)"
  return std::string(first);
}

/// Whether a loop accesses global memory.
bool accesses_memory(const Code& code, const ControlFlow& flow, const CodeLoop& loop) {
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
    if (!loop.contains[b]) continue;
    for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      if (code.instructions[i].counts_as_access()) return true;
    }
  }
  return false;
}

/// Finds the best way through blocks of code, where a way is a list of blocks together with what is known of predicates
/// at the begin of each: so no way takes two branches that contradict each other.
class PathFinder {
 public:
  /// The blocks of `region`, without the instructions of its loops inside that access global memory.
  PathFinder(const Code& code, const ControlFlow& flow, std::vector<bool> region, std::optional<std::size_t> loop)
      : code_(code),
        flow_(flow),
        region_(std::move(region)),
        weighs_(region_),
        in_inner_loop_(region_.size(), false),
        used_later_(places_used_later(code, flow)) {
    for (const CodeLoop& of : flow.loops) {
      Places& written = written_in_loops_.emplace_back();
      for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
        for (std::size_t i = flow.blocks[b].begin; of.contains[b] && i < flow.blocks[b].end; ++i)
          written |= results_of(code.instructions[i], split_operands(code.instructions[i].operands)).places;
      }
    }
    for (std::size_t l = 0; l < flow.loops.size(); ++l) {
      if (loop && (l == *loop || !flow.is_inside(l, *loop))) continue;
      const bool has_own_path = accesses_memory(code, flow, flow.loops[l]);
      for (BlockIndex b = 0; b < region_.size(); ++b) {
        if (!flow.loops[l].contains[b]) continue;
        in_inner_loop_[b] = true;
        if (has_own_path) weighs_[b] = false;
      }
    }
  }

  /// The best way from a block to the end of the region: back to `header`, or to the end of the kernel or subroutine.
  std::optional<CodePath> find(BlockIndex from, std::optional<BlockIndex> header) {
    header_ = header;
    const std::size_t first = step_at(from, {});
    visit_all(first);
    if (!steps_[first].ends) return std::nullopt;
    CodePath path;
    for (std::optional<std::size_t> step = first; step; step = steps_[*step].next) {
      const auto& [block, facts] = *steps_[*step].place;
      if (weighs_[block]) run_block(block, facts, &path);
    }
    for (const std::size_t i : path.instructions) path.called_instructions += called(code_.instructions[i]);
    return path;
  }

 private:
  using Place = std::pair<BlockIndex, PathFacts>;
  struct Step {
    const Place* place = nullptr;
    enum : std::uint8_t { unseen, open, done } visit = unseen;
    bool ends = false;  // some way ends
    Score best;
    std::optional<std::size_t> next;
    std::vector<std::size_t> followers;
  };
  struct AfterBlock {
    PathFacts facts;
    Score score;
  };

  /// The shortest way through the subroutine that an instruction calls.
  std::int64_t called(const Instruction& i) {
    const auto at = code_.labels.find(i.target);
    if (!i.is("CALL") || at == code_.labels.end() || at->second >= code_.instructions.size()) return 0;
    const BlockIndex entry = flow_.block_at(at->second);
    if (region_[entry] && !header_) return 0;  // a subroutine that calls itself
    const auto [known, is_new] = subroutines_.try_emplace(entry);
    if (is_new) known->second = shortest_from(entry);
    return known->second;
  }
  std::int64_t shortest_from(BlockIndex entry) const {
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

  /// The facts at the end of a block, before its last instruction jumps. A guarded access that may happen happens.
  /// A `path` gets the instructions.
  AfterBlock run_block(BlockIndex b, PathFacts facts, CodePath* path = nullptr) {
    AfterBlock after;
    for (std::size_t at = flow_.blocks[b].begin; at < flow_.blocks[b].end; ++at) {
      const Instruction& i = code_.instructions[at];
      // Accesses of shared memory also tell the main path from one that skips its work.
      const bool is_shared = i.space() == Space::shared && !i.is_exceptional && !in_inner_loop_[b];
      const std::int64_t bytes = i.counts_as_access() || is_shared ? i.bytes() : 0;
      if (weighs_[b]) {
        const auto guard = i.guard.empty() ? std::optional(true) : facts.value(i.guard);
        if (!guard && bytes > 0) facts.decide(i.guard, true);
        const bool happens = guard.value_or(bytes > 0);
        if (happens) after.score.bytes += bytes;
        after.score.instructions += 1 + (path == nullptr ? called(i) : 0);
        if (path != nullptr) {
          path->instructions.push_back(at);
          if (happens && i.counts_as_access()) {
            path->accesses.push_back(at);
            path->global_bytes += bytes;
          }
        }
      }
      facts.run(i, at);
    }
    after.facts = std::move(facts);
    return after;
  }

  std::size_t step_at(BlockIndex block, PathFacts facts) {
    // Very many combinations are too many to tell apart: then only the blocks are.
    constexpr std::size_t many = 100'000;
    if (steps_.size() > many) facts = {};
    facts.keep(used_later_[block]);
    const auto [at, is_new] = places_.try_emplace({block, std::move(facts)}, steps_.size());
    if (is_new) steps_.push_back({.place = &at->first, .best = {}, .next = {}, .followers = {}});
    return at->second;
  }

  /// Facts do not hold in other iterations of the loops that an edge enters or leaves.
  void forget_iterations(BlockIndex from, BlockIndex to, PathFacts& facts) const {
    for (std::size_t l = 0; l < flow_.loops.size(); ++l) {
      if (flow_.loops[l].contains[from] != flow_.loops[l].contains[to]) facts.forget(written_in_loops_[l]);
    }
  }
  bool is_back_edge(BlockIndex from, BlockIndex to) const {
    return std::ranges::any_of(flow_.loops,
                               [&](const CodeLoop& loop) { return loop.header == to && loop.contains[from]; });
  }

  /// Finds the steps that may follow one.
  void expand(std::size_t step) {
    const auto [block, before] = *steps_[step].place;
    AfterBlock after = run_block(block, before);
    steps_[step].best = after.score;
    const Instruction& last = code_.instructions[flow_.blocks[block].end - 1];
    const bool ends_kernel = !header_ && (last.is("EXIT") || last.is("RET") || last.is("KILL") || last.is("BPT"));
    const auto condition = condition_of(last);
    const auto known =
        condition ? condition->empty() ? std::optional(true) : after.facts.value(*condition) : std::nullopt;
    steps_[step].ends = flow_.blocks[block].next.empty() ? !header_ : ends_kernel && known.value_or(true);
    for (const BlockIndex to : flow_.blocks[block].next) {
      // The block that follows in memory comes without a jump; a jump to it makes no difference.
      const bool jumps = to != block + 1;
      const bool only_one = flow_.blocks[block].next.size() == 1 && !ends_kernel;
      if (known && !only_one && *known != jumps) continue;
      if (header_ && to == *header_) {
        steps_[step].ends = true;
        continue;
      }
      if (!region_[to] || is_back_edge(block, to)) continue;
      PathFacts facts = after.facts;
      if (condition && !known && !only_one) facts.decide(*condition, jumps);
      forget_iterations(block, to, facts);
      const std::size_t follower = step_at(to, std::move(facts));
      steps_[step].followers.push_back(follower);
    }
  }

  /// Depth first, without recursion: a step is done after all steps that follow it.
  void visit_all(std::size_t first) {
    std::vector<std::size_t> stack{first};
    while (!stack.empty()) {
      const std::size_t step = stack.back();
      if (steps_[step].visit == Step::unseen) {
        steps_[step].visit = Step::open;
        expand(step);
        for (const std::size_t follower : steps_[step].followers) {
          if (steps_[follower].visit == Step::unseen) stack.push_back(follower);
        }
        continue;
      }
      stack.pop_back();
      if (steps_[step].visit == Step::open) finish(steps_[step]);
    }
  }

  void finish(Step& step) {
    step.visit = Step::done;
    Score rest;
    for (const std::size_t follower : step.followers) {
      // One that is open is in a cycle with several entries.
      if (steps_[follower].visit != Step::done || !steps_[follower].ends) continue;
      if (step.ends && !steps_[follower].best.better_than(rest)) continue;
      step.ends = true;
      rest = steps_[follower].best;
      step.next = follower;
    }
    step.best.bytes += rest.bytes;
    step.best.instructions += rest.instructions;
  }

  const Code& code_;
  const ControlFlow& flow_;
  std::vector<bool> region_, weighs_, in_inner_loop_;
  std::vector<Places> used_later_, written_in_loops_;
  std::map<Place, std::size_t> places_;
  std::vector<Step> steps_;
  std::map<BlockIndex, std::int64_t> subroutines_;
  std::optional<BlockIndex> header_;
};

}  // namespace

std::optional<CodePath> main_path(const Code& code, const ControlFlow& flow, std::optional<std::size_t> loop) {
  if (flow.blocks.empty()) return std::nullopt;
  std::vector<bool> region = loop ? flow.loops[*loop].contains : flow.reachable(0);
  PathFinder finder(code, flow, std::move(region), loop);
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
  const std::set<std::size_t> accesses(path.accesses.begin(), path.accesses.end());
  for (int round = 0; round < (path.loop ? 2 : 1); ++round) {
    for (const std::size_t at : path.instructions) {
      const Instruction& instruction = code.instructions[at];
      for (std::size_t i = pending.size(); i-- > 0;) {
        if (!std::ranges::any_of(pending[i].registers, [&](int r) { return instruction.reads(r); })) continue;
        for (std::size_t k = 0; k <= i; ++k) bytes -= pending[k].bytes;
        pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        break;
      }
      if (!instruction.loads() || !accesses.contains(at)) continue;
      pending.push_back({instruction.loaded_registers(), instruction.bytes()});
      bytes += instruction.bytes();
      most = std::max(most, bytes);
    }
  }
  return most;
}

}  // namespace croton::runtime::cuda
