// The bodies of column kernels for a GPU in packs (codegen_templates/column_packs.cuh). A line is the points along the
// fast axis; elements are reduced along the inner axes.
#include <fmt/format.h>

#include "codegen/emitter.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

void Emitter::emit_column_packs() {
  column_constants();
  pack_line();
  line("struct Fixed {", "the same for all elements of a point");
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    if (is_fixed(a)) line(fmt::format("  ct::Pack<{}, vector> l{};", stored_type(dtype_of(a)), a));
  }
  line("};");
  pack_inputs("Inputs", "fetch", fetched());
  line("template <class Team>");
  line("CT_MEMBER void point(const Team& team, const Line& line, Offset column, int left) const {");
  block([&] {
    line("(void)line, (void)column, (void)left;");
    line_positions();
    line("Fixed fixed;");
    line("(void)fixed;");
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (is_fixed(a)) line(fmt::format("fixed.l{} = {};", a, pack_load(a)));
    }
    if (schedule_.part > 0)
      column_parts();
    else
      column_stages();
    if (any_by_element(false)) {
      line("if (team.leads()) {");
      block([&] { pack_elements(false); });
      line("}");
    }
  });
  line("}");
}

void Emitter::column_constants() {
  position_types("of positions", "in a line");
  line(fmt::format("static constexpr int threads = {}, across = {}, vector = {}, run = {};", schedule_.threads,
                   schedule_.across, schedule_.vector, schedule_.run));
  line(fmt::format("static constexpr bool split = {};", schedule_.part > 0));
  line(fmt::format("CT_MEMBER Base width() const {{ return Base(p.n{}); }}", fast_axis()));
  line(fmt::format("CT_MEMBER Base length() const {{ return Base({}); }}",
                   product(variant_.parallel.size(), variant_.inner.size())));
  line("CT_MEMBER Base tiles_of_line() const { return Base(p.tiles); }");
  line("CT_MEMBER Base band(Base block) const { return p.by_tiles.divide(block); }");
  if (schedule_.part == 0) return;
  line("CT_MEMBER Base parts() const { return Base(p.parts); }");
  line("CT_MEMBER Base row_of(Base band) const { return p.by_parts.divide(band); }");
  line("CT_MEMBER ct::index points() const { return p.lines * p.n" + std::to_string(fast_axis()) + "; }");
}

/// The lambda that computes the values of a group for one element.
void Emitter::column_value(const StageGroup& group, const std::string& head) {
  line(head + "[&](const Inputs& in, int e, Base k) CT_INLINE {");
  block([&] {
    line("(void)in, (void)e, (void)k;");
    element_index();
    inner_position("k");
    declare_values(group);
    line(fmt::format("return {};", values(group)));
  });
  line("});");
}

void Emitter::column_stages() {
  for (const StageGroup& group : kernel::stage_groups(kernel_)) {
    begin_group(group);
    column_value(group, fmt::format("const auto {} = team.template reduce<{}, {}>(", group_name(group), combiner(group),
                                    group.begin));
  }
  available_stages_ = kernel_.stages.size();
  column_elements();
}

void Emitter::column_elements() {
  if (!any_by_element(true)) return;
  declare(targets_of(true), true);
  line("team.each([&](const Inputs& in, Base k) CT_INLINE {");
  block([&] {
    line("(void)in, (void)k;");
    inner_position("k");
    pack_elements(true);
  });
  line("});");
}

void Emitter::column_parts() {
  // No reduction of a split kernel depends on another one.
  const StageGroup all{0, kernel_.stages.size()};
  begin_group(all);
  line(fmt::format("typedef {} Combiner;", combiner(all)));
  line("Combiner::State* const states = reinterpret_cast<Combiner::State*>(p.workspace);");
  column_value(all, "team.template store_part<Combiner, 0>(states, ");
  column_elements();
  line("if (!team.is_last(p.counters)) return;");
  line(fmt::format("const auto {} = team.template total<Combiner, 1>(states);", group_name(all)));
  available_stages_ = kernel_.stages.size();
}

}  // namespace croton::codegen
