// The bodies of row kernels for a GPU in packs (codegen_templates/row_packs.cuh). A line is a row.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/emitter.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

std::vector<std::vector<NodeId>> Emitter::kept_by_stage() const {
  const std::size_t stages = kernel_.stages.size();
  std::vector<std::vector<NodeId>> kept(stages);
  if (!schedule_.held) return kept;
  std::vector<std::vector<bool>> needed;
  for (const kernel::Stage& stage : kernel_.stages) needed.push_back(needed_for(stage.value, expr::no_node));
  std::vector<bool> of_results(body_.size());
  for (const NodeId target : targets_of(true)) {
    const std::vector<bool> own = needed_for(target, expr::no_node);
    for (NodeId id = 0; id < body_.size(); ++id) of_results[id] = of_results[id] || own[id];
  }
  needed.push_back(std::move(of_results));
  for (NodeId id = 0; id < body_.size(); ++id) {
    const expr::MapInfo* map = body_.op(id).map;
    if (map == nullptr || map->cost < min_cached_cost || !analysis_.inner[id]) continue;
    const auto uses = [&](std::size_t s) { return needed[s][id]; };
    for (std::size_t s = 0; s < stages; ++s) {
      if (!uses(s)) continue;
      for (std::size_t later = s + 1; later <= stages; ++later) {
        if (!uses(later)) continue;
        kept[s].push_back(id);
        break;
      }
      break;
    }
  }
  return kept;
}

void Emitter::emit_row_packs() {
  const std::vector<std::vector<NodeId>> kept = kept_by_stage();
  line(fmt::format("typedef {} Base;", schedule_.index == IndexWidth::narrow ? "int" : "ct::index"), "of rows");
  line(fmt::format("typedef {} Offset;", schedule_.index == IndexWidth::wide ? "ct::index" : "int"), "in a row");
  line(fmt::format("static constexpr int threads = {}, lanes = {}, warps = {}, packs = {}, vector = 4;",
                   schedule_.threads, schedule_.lanes, schedule_.warps, schedule_.packs));
  line(fmt::format("static constexpr int most_blocks = {};", schedule_.row_blocks), "of the tree, in a row");
  line(fmt::format("static constexpr bool held = {}, whole = {};", schedule_.held, schedule_.whole));
  line(fmt::format("CT_MEMBER Offset length() const {{ return Offset(p.n{}); }}", axes_.size() - 1));
  pack_line();
  pack_inputs();
  line("struct Kept {");
  for (const std::vector<NodeId>& nodes : kept) {
    for (const NodeId id : nodes)
      line(fmt::format("  ct::Pack<{}, vector> k{};", value_type(body_.type(id).dtype), id));
  }
  line("};");
  line("template <class Team>");
  line("CT_MEMBER void point(const Team& team, const Line& line) const {");
  block([&] {
    line("(void)line;");
    for (std::size_t m = 0; m + 1 < axes_.size(); ++m) {
      if (analysis_.explicit_axes[axes_[m]->axes[0]]) line(fmt::format("const ct::index at{0} = line.i{0};", m));
    }
    if (any_by_element(true)) declare(targets_of(true), true);
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      available_stages_ = s;
      declare({kernel_.stages[s].value}, true);
      row_pack_stage(s, kept[s]);
      for (const NodeId id : kept[s]) names_[id] = fmt::format("kept.k{}[e]", id);
    }
    available_stages_ = kernel_.stages.size();
    if (any_by_element(true)) {
      declare(targets_of(true), true);
      line("team.each([&](const Inputs& in, const Kept& kept, Offset column, int left) CT_INLINE {");
      block([&] {
        line("(void)in, (void)kept;");
        pack_elements(true);
      });
      line("});");
    }
    if (any_by_element(false)) {
      // All threads read what they share before the reductions of a row, and those of several warps have barriers.
      if (schedule_.warps == 1 && overwrites_shared_reads())
        line("team.sync();  // all have read what one of them may write");
      line("if (team.leads()) {");
      block([&] { stores_and_checks(false); });
      line("}");
    }
  });
  line("}");
}

void Emitter::row_pack_stage(std::size_t s, const std::vector<NodeId>& kept) {
  line(
      fmt::format("const auto r{0} = team.template reduce<{1}, {0}>([&](const Inputs& in, Kept& kept, int e, Offset "
                  "column) CT_INLINE {{",
                  s, combiner(kernel_.stages[s])));
  block([&] {
    line("(void)in, (void)kept, (void)e, (void)column;");
    element_index();
    declare({kernel_.stages[s].value}, false);
    for (const NodeId id : kept) line(fmt::format("kept.k{}[e] = {};", id, operand(id)));
    line(fmt::format("return {};", operand(kernel_.stages[s].value)));
  });
  line("});");
}

}  // namespace croton::codegen
