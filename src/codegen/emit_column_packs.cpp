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
  pack_inputs();
  line("template <class Team>");
  line("CT_MEMBER void point(const Team& team, const Line& line, Offset column, int left) const {");
  block([&] {
    line("(void)line, (void)column, (void)left;");
    for (std::size_t m = 0; m < fast_axis(); ++m) {
      if (analysis_.explicit_axes[axes_[m]->axes[0]]) line(fmt::format("const ct::index at{0} = line.i{0};", m));
    }
    line("Fixed fixed;");
    line("(void)fixed;");
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (is_fixed(a)) line(fmt::format("fixed.l{} = {};", a, pack_load(a)));
    }
    if (schedule_.split)
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
  line(fmt::format("typedef {} Base;", schedule_.index == IndexWidth::narrow ? "int" : "ct::index"), "of positions");
  line(fmt::format("typedef {} Offset;", schedule_.index == IndexWidth::wide ? "ct::index" : "int"), "in a line");
  line(fmt::format("static constexpr int threads = {}, across = {}, vector = {}, run = {};", schedule_.threads,
                   schedule_.across, schedule_.vector, schedule_.run));
  line(fmt::format("static constexpr bool split = {};", schedule_.split));
  line(fmt::format("CT_MEMBER Base width() const {{ return Base(p.n{}); }}", fast_axis()));
  line(fmt::format("CT_MEMBER Base length() const {{ return Base({}); }}",
                   product(variant_.parallel.size(), variant_.inner.size())));
  line("CT_MEMBER Base tiles_of_line() const { return Base(p.tiles); }");
  line("CT_MEMBER Base band(Base block) const { return p.by_tiles.divide(block); }");
  if (!schedule_.split) return;
  line("CT_MEMBER Base parts() const { return Base(p.parts); }");
  line("CT_MEMBER Base row_of(Base band) const { return p.by_parts.divide(band); }");
  line("CT_MEMBER ct::index points() const { return p.lines * p.n" + std::to_string(fast_axis()) + "; }");
}

/// The lambda that computes the value of a stage for one element.
void Emitter::column_value(std::size_t s, const std::string& head) {
  line(head + "[&](const Inputs& in, int e, Base k) CT_INLINE {");
  block([&] {
    line("(void)in, (void)e, (void)k;");
    element_index();
    inner_position("k");
    declare({kernel_.stages[s].value}, false);
    line(fmt::format("return {};", operand(kernel_.stages[s].value)));
  });
  line("});");
}

void Emitter::column_stages() {
  for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
    available_stages_ = s;
    declare({kernel_.stages[s].value}, true);
    column_value(s, fmt::format("const auto r{0} = team.template reduce<{1}, {0}>(", s, combiner(kernel_.stages[s])));
  }
  available_stages_ = kernel_.stages.size();
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
  for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
    declare({kernel_.stages[s].value}, true);
    column_value(
        s, fmt::format("team.template store_part<{1}, {0}>({2}, ", s, combiner(kernel_.stages[s]), states_of_parts(s)));
  }
  line("if (!team.is_last(p.counters)) return;");
  for (std::size_t s = 0; s < kernel_.stages.size(); ++s)
    line(fmt::format("const auto r{0} = team.template total<{1}, {0}>({2});", s, combiner(kernel_.stages[s]),
                     states_of_parts(s)));
  available_stages_ = kernel_.stages.size();
}

std::string Emitter::states_of_parts(std::size_t s) const {
  return fmt::format("reinterpret_cast<typename {}::State*>(p.workspace + {} * p.parts * points())",
                     combiner(kernel_.stages[s]), bytes_of_state * s);
}

}  // namespace croton::codegen
