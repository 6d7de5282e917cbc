#include "runtime/cuda/inspect/control_flow.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace croton::runtime::cuda {
namespace {

bool ends_kernel(const Instruction& i) { return i.is("EXIT") || i.is("RET") || i.is("KILL") || i.is("BPT"); }
bool jumps(const Instruction& i) { return i.is("BRA") || i.is("JMP") || i.is("BRX") || i.is("JMX") || i.is("UBRA"); }
bool ends_block(const Instruction& i) { return ends_kernel(i) || jumps(i); }

/// Whether a jump or an end depends on a predicate, as its guard or as an operand before the label: "BRA P1, `(.L_1)",
/// "BRA.DIV UR4, `(.L_2)".
bool is_conditional(const Instruction& i) {
  if (!i.guard.empty()) return true;
  return jumps(i) && !i.operands.starts_with('`') && i.operands.find("`(") != i.operands.npos;
}

std::optional<std::size_t> target_of(const Code& code, const Instruction& i) {
  const auto at = code.labels.find(i.target);
  if (!jumps(i) || at == code.labels.end() || at->second >= code.instructions.size()) return std::nullopt;
  return at->second;
}

std::vector<CodeBlock> find_blocks(const Code& code) {
  std::set<std::size_t> begins{0};
  for (const auto& [label, at] : code.labels) begins.insert(at);
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    if (ends_block(code.instructions[i])) begins.insert(i + 1);
  }
  begins.insert(code.instructions.size());
  std::vector<CodeBlock> blocks;
  for (auto at = begins.begin(); std::next(at) != begins.end(); ++at) {
    if (*at < code.instructions.size()) blocks.push_back({*at, std::min(*std::next(at), code.instructions.size()), {}});
  }
  return blocks;
}

void find_edges(const Code& code, ControlFlow& flow) {
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
    CodeBlock& block = flow.blocks[b];
    const Instruction& last = code.instructions[block.end - 1];
    const bool falls = !ends_block(last) || is_conditional(last);
    if (falls && b + 1 < flow.blocks.size()) block.next.push_back(b + 1);
    if (const auto target = target_of(code, last)) {
      const BlockIndex to = flow.block_at(*target);
      if (std::ranges::find(block.next, to) == block.next.end()) block.next.push_back(to);
    }
  }
}

using Dominators = std::vector<std::vector<bool>>;

/// Per block, the blocks through which each way from the entry to it goes. Subroutines are entries of their own.
Dominators find_dominators(const ControlFlow& flow, const std::vector<bool>& is_entry) {
  const std::size_t n = flow.blocks.size();
  std::vector<std::vector<BlockIndex>> before(n);
  for (BlockIndex b = 0; b < n; ++b) {
    for (const BlockIndex to : flow.blocks[b].next) before[to].push_back(b);
  }
  Dominators dominators(n, std::vector<bool>(n, true));
  for (BlockIndex b = 0; b < n; ++b) {
    if (!is_entry[b]) continue;
    dominators[b].assign(n, false);
    dominators[b][b] = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockIndex b = 0; b < n; ++b) {
      if (is_entry[b]) continue;
      std::vector<bool> common(n, true);
      for (const BlockIndex from : before[b]) {
        for (BlockIndex d = 0; d < n; ++d) common[d] = common[d] && dominators[from][d];
      }
      common[b] = true;
      if (common != dominators[b]) {
        dominators[b] = std::move(common);
        changed = true;
      }
    }
  }
  return dominators;
}

/// The blocks of the loop with this header and latch: those that reach the latch without the header.
void add_to_loop(const ControlFlow& flow, BlockIndex latch, CodeLoop& loop) {
  loop.latches.push_back(latch);
  std::vector<std::vector<BlockIndex>> before(flow.blocks.size());
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
    for (const BlockIndex to : flow.blocks[b].next) before[to].push_back(b);
  }
  std::vector<BlockIndex> pending{latch};
  while (!pending.empty()) {
    const BlockIndex b = pending.back();
    pending.pop_back();
    if (loop.contains[b]) continue;
    loop.contains[b] = true;
    pending.insert(pending.end(), before[b].begin(), before[b].end());
  }
}

std::size_t size_of_loop(const CodeLoop& loop) {
  return static_cast<std::size_t>(std::ranges::count(loop.contains, true));
}

void find_loops(ControlFlow& flow, const std::vector<bool>& is_entry) {
  const Dominators dominators = find_dominators(flow, is_entry);
  for (BlockIndex header = 0; header < flow.blocks.size(); ++header) {
    CodeLoop loop{header, std::vector<bool>(flow.blocks.size(), false), {}, {}, 1};
    loop.contains[header] = true;
    for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
      const bool back = std::ranges::find(flow.blocks[b].next, header) != flow.blocks[b].next.end();
      if (back && dominators[b][header]) add_to_loop(flow, b, loop);
    }
    if (!loop.latches.empty()) flow.loops.push_back(std::move(loop));
  }
  std::ranges::stable_sort(flow.loops, std::greater<>(), size_of_loop);
  for (std::size_t l = 0; l < flow.loops.size(); ++l) {
    for (std::size_t outer = l; outer-- > 0;) {  // the nearest before it is the smallest
      if (!flow.loops[outer].contains[flow.loops[l].header]) continue;
      flow.loops[l].outer = outer;
      flow.loops[l].depth = flow.loops[outer].depth + 1;
      break;
    }
  }
}

}  // namespace

BlockIndex ControlFlow::block_at(std::size_t instruction) const {
  const auto at = std::ranges::upper_bound(blocks, instruction, {}, &CodeBlock::begin);
  return static_cast<BlockIndex>(at - blocks.begin()) - 1;
}

bool ControlFlow::is_inside(std::size_t loop, std::size_t outer) const {
  for (std::optional<std::size_t> at = loops[loop].outer; at; at = loops[*at].outer) {
    if (*at == outer) return true;
  }
  return false;
}

std::vector<bool> ControlFlow::reachable(BlockIndex from) const {
  std::vector<bool> seen(blocks.size(), false);
  std::vector<BlockIndex> pending{from};
  while (!pending.empty()) {
    const BlockIndex b = pending.back();
    pending.pop_back();
    if (seen[b]) continue;
    seen[b] = true;
    pending.insert(pending.end(), blocks[b].next.begin(), blocks[b].next.end());
  }
  return seen;
}

ControlFlow find_control_flow(const Code& code) {
  ControlFlow flow;
  flow.blocks = find_blocks(code);
  if (flow.blocks.empty()) return flow;
  find_edges(code, flow);
  std::vector<bool> is_entry(flow.blocks.size(), false);
  is_entry[0] = true;
  for (const Instruction& i : code.instructions) {
    const auto at = code.labels.find(i.target);
    if (i.is("CALL") && at != code.labels.end() && at->second < code.instructions.size())
      is_entry[flow.block_at(at->second)] = true;
  }
  // Blocks that nothing reaches, such as padding, are entries too, so that they dominate nothing else.
  std::vector<bool> reached(flow.blocks.size(), false);
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
    if (is_entry[b] || reached[b]) {
      const std::vector<bool> from = flow.reachable(b);
      for (BlockIndex to = 0; to < from.size(); ++to) reached[to] = reached[to] || from[to];
    }
  }
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) is_entry[b] = is_entry[b] || !reached[b];
  find_loops(flow, is_entry);
  return flow;
}

}  // namespace croton::runtime::cuda
