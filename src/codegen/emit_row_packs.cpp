// The bodies of row and split kernels for a GPU in packs (codegen_templates/row_packs.cuh). A line is a row, or all.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codegen/emitter.hpp"
#include "codegen/spelling.hpp"
#include "codegen/state_size.hpp"

namespace croton::codegen {

std::vector<std::vector<NodeId>> Emitter::kept_by_group(const std::vector<StageGroup>& groups) const {
  std::vector<std::vector<NodeId>> kept(groups.size());
  if (schedule_.held == 0) return kept;
  std::vector<std::vector<bool>> needed;  // by each group, then by the results
  for (const StageGroup& group : groups) {
    std::vector<NodeId> values;
    for (std::size_t s = group.begin; s < group.end; ++s) values.push_back(kernel_.stages[s].value);
    needed.push_back(kernel::needed_for(body_, values));
  }
  needed.push_back(kernel::needed_for(body_, targets_of(true)));
  for (NodeId id = 0; id < body_.size(); ++id) {
    const expr::MapInfo* map = body_.op(id).map;
    if (map == nullptr || map->cost < min_cached_cost || !analysis_.inner[id]) continue;
    const auto uses = [&](const std::vector<bool>& by) { return by[id]; };
    const auto first = std::ranges::find_if(needed, uses);
    if (std::count_if(first, needed.end(), uses) > 1)
      kept[static_cast<std::size_t>(first - needed.begin())].push_back(id);
  }
  if (!meets()) return kept;
  // Where there is no room in registers, they are computed again.
  constexpr std::size_t pack = 4, register_bytes = 4;
  std::size_t bytes = 0;
  for (const std::size_t a : held_) bytes += size_of(dtype_of(a));
  for (const std::vector<NodeId>& nodes : kept) {
    for (const NodeId id : nodes) bytes += size_of(compute_dtype(body_.type(id).dtype));
  }
  if (bytes * pack * static_cast<std::size_t>(schedule_.packs) > register_bytes * registers_for_rows(schedule_))
    kept.assign(groups.size(), {});
  return kept;
}

void Emitter::row_pack_constants() {
  position_types("of rows", "in a row");
  line(fmt::format("static constexpr int threads = {}, lanes = {}, warps = {}, packs = {}, vector = 4;",
                   schedule_.threads, schedule_.lanes, schedule_.warps, schedule_.packs));
  line(fmt::format("static constexpr int most_blocks = {};", schedule_.row_blocks), "of the tree, in a row");
  line(fmt::format("static constexpr bool held = {}, staged = {}, stores = {}, whole = {}, full = {}, is_short = {};",
                   schedule_.held > 0, schedule_.staged > 0, in_parts() && !meets() && any_by_element(true),
                   schedule_.whole, schedule_.full, schedule_.is_short));
  line(fmt::format("CT_MEMBER {0} length() const {{ return {0}({1}); }}", in_parts() ? "Base" : "Offset",
                   product(variant_.parallel.size(), variant_.inner.size())));
  if (is_folded())
    folded_line();
  else
    pack_line();
  std::vector<std::size_t> held, staged, others;
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    if (is_fetched(a)) (is_held(a) ? held : is_staged_row(a) ? staged : others).push_back(a);
  }
  const auto add = [&](std::string_view type, std::string_view function, const std::vector<std::size_t>& accesses) {
    if (is_folded())
      folded_inputs(type, function, accesses);
    else
      pack_inputs(type, function, accesses);
  };
  const auto add_if_any = [&](std::string_view type, std::string_view function,
                              const std::vector<std::size_t>& accesses) {
    if (accesses.empty())
      line(fmt::format("typedef ct::Nothing {};", type));
    else
      add(type, function, accesses);
  };
  add_if_any("Held", "hold", held);
  add_if_any("Staged", "stage", staged);
  add("Inputs", "fetch", others);
}

void Emitter::emit_row_packs() {
  const std::vector<StageGroup> groups = kernel::stage_groups(kernel_);
  const std::vector<std::vector<NodeId>> kept = kept_by_group(groups);
  row_pack_constants();
  if (meets()) {
    line(fmt::format("static constexpr int together = {};", schedule_.together), "blocks of a multiprocessor");
    line(fmt::format("static constexpr int slots = {};", slots_of_states(analysis_)),
         "of 16 bytes, for states of a part");
    line("CT_MEMBER ct::index parts() const { return p.parts; }");
    line("CT_MEMBER Base row_of(Base block) const { return p.by_parts.divide(block); }");
  }
  if (std::ranges::all_of(kept, &std::vector<NodeId>::empty)) {
    line("typedef ct::Nothing Kept;");
  } else {
    line("struct Kept {");
    for (const std::vector<NodeId>& nodes : kept) {
      for (const NodeId id : nodes)
        line(fmt::format("  ct::Pack<{}, vector> k{};", value_type(body_.type(id).dtype), id));
    }
    line("};");
  }
  line(shared_ != nullptr ? "template <class Team, class Columns>" : "template <class Team>");
  line(fmt::format("CT_MEMBER void point(const Team& team, const Line& line{}) const {{",
                   shared_ != nullptr ? ", const Columns& columns" : ""));
  block([&] {
    line("(void)line;");
    line_positions();
    if (any_by_element(true)) declare(targets_of(true), true);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      begin_group(groups[g]);
      row_pack_stage(groups[g], kept[g]);
      for (const NodeId id : kept[g]) names_[id] = fmt::format("kept.k{}[e]", id);
    }
    available_stages_ = kernel_.stages.size();
    if (any_by_element(true) || shared_ != nullptr) {
      declare(targets_of(true), true);
      line("team.each([&](const Held& held, const Staged& staged, const Inputs& in, const Kept& kept, Offset column,");
      line("              int left) CT_INLINE {");
      block([&] {
        line("(void)held, (void)staged, (void)in, (void)kept;");
        if (any_by_element(true)) pack_elements(true);
        if (shared_ != nullptr) give_to_columns();
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

std::size_t Emitter::number_of(const StageGroup& group) const {
  if (!meets()) return group.begin;
  std::int64_t slots = 0;
  for (const StageGroup& before : kernel::stage_groups(kernel_)) {
    if (before.begin < group.begin) slots += slots_of_state(analysis_, before);
  }
  return static_cast<std::size_t>(slots);
}

void Emitter::row_pack_stage(const StageGroup& group, const std::vector<NodeId>& kept) {
  line(fmt::format("const auto {} = team.template reduce<{}, {}>([&](const Held& held, const Staged& staged,",
                   group_name(group), combiner(group), number_of(group)));
  line("    const Inputs& in, Kept& kept, int e, Offset column) CT_INLINE {");
  block([&] {
    line("(void)held, (void)staged, (void)in, (void)kept, (void)e, (void)column;");
    element_index();
    declare_values(group);
    for (const NodeId id : kept) line(fmt::format("kept.k{}[e] = {};", id, operand(id)));
    line(fmt::format("return {};", values(group)));
  });
  line("});");
}

std::string Emitter::offset_along(std::size_t a, const std::vector<std::size_t>& axes) const {
  std::string sum;
  for (const std::size_t m : axes) {
    if (variant_.strides[a][m] == StrideClass::none) continue;
    sum += fmt::format(" + i{}", m);
    if (variant_.strides[a][m] == StrideClass::any) sum += fmt::format(" * Base(p.s{}_{})", stride_owner(a), m);
  }
  return sum;
}

/// A line begins with its row; the elements of folded ones are not next to each other in memory.
void Emitter::folded_line() {
  std::vector<std::size_t> rows(variant_.parallel.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::string values;
  line("struct Line {");
  block([&] {
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (!has_line(a)) continue;
      line(fmt::format("{}{}* q{};", analysis_.accesses[a].written ? "" : "const ", stored_type(dtype_of(a)), a));
      values += fmt::format("p.p{}{}, ", a, offset_along(a, rows));
    }
    for (const std::size_t m : rows) {
      if (!analysis_.explicit_axes[axes_[m]->axes[0]]) continue;
      line(fmt::format("Base i{};", m));
      values += fmt::format("i{}, ", m);
    }
    line("Base first;");
  });
  line("};");
  line("CT_MEMBER Line line(Base row, Base first) const {");
  block([&] {
    line("(void)row;");
    divide_position("row", rows);
    line(fmt::format("return Line{{{}first}};", values));
  });
  line("}");
}

void Emitter::folded_position() {
  // Packs beyond the end are not loaded, and need no address.
  line(schedule_.whole ? "const Base at = left > 0 ? line.first + Base(column) : Base(0);"
                       : "const Base at = line.first + Base(column) + Base(e);");
  inner_position("at");
}

void Emitter::folded_inputs(std::string_view type, std::string_view function,
                            const std::vector<std::size_t>& accesses) {
  pack_struct(type, accesses);
  line(fmt::format("CT_MEMBER {} {}(const Line& line, Offset column, int left) const {{", type, function));
  block([&] {
    line("(void)line, (void)column, (void)left;");
    line(fmt::format("{} in;", type));
    if (!schedule_.whole) {  // a pack may reach over the end of a line
      line("#pragma unroll");
      line("for (int e = 0; e < vector; ++e) {");
      line("  if (e >= left) break;");
    }
    folded_position();
    for (const std::size_t a : accesses) {
      const std::string from = pack_address(a);
      line(schedule_.whole ? fmt::format("in.l{} = {};", a, folded_load(a, from))
                           : fmt::format("in.l{}[e] = {};", a, element_of(from, "0")));
    }
    if (!schedule_.whole) line("}");
    line("return in;");
  });
  line("}");
}

std::string Emitter::folded_load(std::size_t a, const std::string& from) const {
  if (is_one_for_pack(a)) return fmt::format("left > 0 ? {} : {}{{}}", element_of(from, "0"), stored_type(dtype_of(a)));
  if (along_line(a) == StrideClass::any)
    return fmt::format("ct::gather_pack<vector>({}, Offset(p.s{}_{}), left)", from, stride_owner(a), fast_axis());
  if (is_aligned()) return fmt::format("ct::load_pack<vector, whole>({}, left)", from);
  return fmt::format("ct::gather_pack<vector>({}, Offset(1), left)", from);
}

void Emitter::emit_parts() {
  row_pack_constants();
  line("typedef ct::Nothing Kept;");
  line("CT_MEMBER ct::index parts() const { return p.parts; }");
  if (kernel_.family == Family::row)
    line("CT_MEMBER Base row_of(Base block) const { return p.by_parts.divide(block); }");
  line("template <class Team>");
  line("CT_MEMBER void part(const Team& team, const Line& line) const {");
  block([&] {
    line("(void)line;");
    line_positions();
    // No reduction in parts depends on another one, so that they are one group.
    const StageGroup all{0, kernel_.stages.size()};
    begin_group(all);
    if (any_by_element(true)) declare(targets_of(true), true);
    line(
        "const auto value = [&](const Held&, const Staged&, const Inputs& in, Kept&, int e, Offset column) CT_INLINE "
        "{");
    block([&] {
      line("(void)in, (void)e, (void)column;");
      element_index();
      declare_values(all);
      line(fmt::format("return {};", values(all)));
    });
    line("};");
    line("const auto store = [&](const Inputs& in, Offset column, int left) CT_INLINE {");
    block([&] {
      line("(void)in, (void)column, (void)left;");
      if (any_by_element(true)) pack_elements(true);
    });
    line("};");
    line(fmt::format("typedef {} Combiner;", combiner(all)));
    line("Combiner::State* const states = reinterpret_cast<Combiner::State*>(p.workspace);");
    line("team.template store_part<Combiner>(states, value, store);");
    line("if (!team.is_last(p.counters)) return;");
    line(fmt::format("const auto {} = team.template total<Combiner>(states);", group_name(all)));
    available_stages_ = kernel_.stages.size();
    line("if (team.leads()) {");
    block([&] { stores_and_checks(false); });
    line("}");
  });
  line("}");
}

}  // namespace croton::codegen
