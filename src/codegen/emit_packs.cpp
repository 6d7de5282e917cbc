// The bodies of pointwise kernels for a GPU (codegen_templates/pointwise.cuh). A line is all points along the fast
// axis. `Line` has the addresses of its first elements, `fetch` loads a pack of each operand, and `use` computes and
// stores the results of the pack.
#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "codegen/emitter.hpp"
#include "codegen/schedule_tiles.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

using expr::Core;

namespace {

constexpr std::size_t sides = base::ordinal(kernel::Side::inner) + 1;

}  // namespace

bool Emitter::is_fetched(std::size_t a) const {
  if (analysis_.accesses[a].written || !has_line(a) || is_staged(a)) return false;
  const bool needs_move = (kernel_.family == Family::column && !in_each_row_) || is_folded();
  if (needs_move) return variant_.moves_inside(a) && !analysis_.is_conditional(a);
  if (is_row_of_packs() && along_line(a) == StrideClass::none) return false;  // once for each row
  return !analysis_.is_conditional(a) || is_conditional_pack(a);
}

bool Emitter::is_fixed(std::size_t a) const {
  if (in_each_row_) return false;
  return kernel_.family == Family::column && !analysis_.accesses[a].written && has_line(a) &&
         !variant_.moves_inside(a) && along_line(a) != StrideClass::none && !analysis_.is_conditional(a);
}

std::vector<std::size_t> Emitter::divided_axes() const {
  std::vector<std::size_t> axes;
  if (variant_.tiled()) {
    axes = axes_around_tiles(variant_);
    if (!axes.empty()) axes.erase(axes.begin());
    return axes;
  }
  const bool in_tiles = is_in_packs() && !in_loop_ && !is_folded();
  const auto side = [&](std::size_t m) { return analysis_.contraction->side[axes_[m]->axes[0]]; };
  std::vector<bool> has_outermost(sides, false);
  for (std::size_t m = 0; m < axes_.size(); ++m) {
    // Inner axes, or a side of a contraction.
    const std::size_t kind = kernel_.family == Family::contract ? base::ordinal(side(m)) : m < variant_.parallel.size();
    const bool is_outermost = !has_outermost[kind];
    has_outermost[kind] = true;
    if (!is_outermost && !(in_tiles && m == fast_axis()) && !constant_size(m)) axes.push_back(m);
  }
  return axes;
}

void Emitter::element_index() {
  const std::size_t fast = fast_axis();
  line(fmt::format("const Offset i{} = column + Offset(e);", fast));
  line(fmt::format("(void)i{};", fast));
  if (!axes_.empty() && analysis_.explicit_axes[axes_[fast]->axes[0]])
    line(fmt::format("const ct::index at{0} = ct::index(line.i{0}) + i{0};", fast));
}

void Emitter::divide_position(std::string position, const std::vector<std::size_t>& axes) {
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::size_t m = axes[k];
    if (k == 0) {
      line(fmt::format("const Base i{} = {};", m, position));
    } else if (const auto size = constant_size(m)) {
      line(fmt::format("const Base q{0} = {1} / {2}, i{0} = {1} - q{0} * {2};", m, position, *size));
      position = fmt::format("q{}", m);
    } else {
      line(fmt::format("const Base q{0} = p.d{0}.divide({1}), i{0} = {1} - q{0} * Base(p.n{0});", m, position));
      position = fmt::format("q{}", m);
    }
  }
}

void Emitter::inner_position(const std::string& position) {
  const std::vector<std::size_t> axes = inner_axes();
  divide_position(position, axes);
  for (const std::size_t m : axes) line(fmt::format("(void)i{};", m));
  declare_numbers(axes);
}

std::string Emitter::pack_address(std::size_t a) const {
  const bool has_position = kernel_.family == Family::column || is_folded();  // of elements
  return fmt::format("line.q{}{}", a, has_position ? offset_along(a, inner_axes()) : "");
}

std::string Emitter::pack_load(std::size_t a) const {
  const std::string from = pack_address(a);
  switch (along_line(a)) {
    case StrideClass::none:
      return fmt::format("left > 0 ? {} : {}{{}}", element_of(from, "0"), stored_type(dtype_of(a)));
    case StrideClass::unit:
      if (is_conditional_pack(a)) return fmt::format("ct::load_pack_where<vector>({} + column, w{})", from, a);
      return is_aligned()
                 ? fmt::format("ct::load_pack<vector{}>({} + column, left)", is_row_of_packs() ? ", whole" : "", from)
                 : fmt::format("ct::gather_pack<vector>({} + column, Offset(1), left)", from);
    case StrideClass::any:
      break;
  }
  return fmt::format("ct::gather_pack<vector>({0} + column * {1}, {1}, left)", from,
                     fmt::format("Offset(p.s{}_{})", stride_owner(a), fast_axis()));
}

void Emitter::emit_packs() {
  pack_constants();
  pack_line();
  pack_inputs("Inputs", "fetch", fetched());
  pack_use();
}

void Emitter::position_types(std::string_view base, std::string_view offset) {
  line(fmt::format("typedef {} Base;", base_type()), base);
  line(fmt::format("typedef {} Offset;", schedule_.index == IndexWidth::wide ? "ct::index" : "int"), offset);
}

void Emitter::line_positions() {
  for (std::size_t m = 0; m < fast_axis(); ++m) {
    if (analysis_.explicit_axes[axes_[m]->axes[0]]) line(fmt::format("const ct::index at{0} = line.i{0};", m));
  }
}

std::vector<std::size_t> Emitter::fetched() const {
  std::vector<std::size_t> fetched;
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    if (is_fetched(a)) fetched.push_back(a);
  }
  return fetched;
}

/// The numbers of the schedule, and the sizes that the template asks for.
void Emitter::pack_constants() {
  const bool flat = axes_.size() <= 1;
  position_types("of positions", "from the first element of a line");
  if (in_loop_) {
    line(fmt::format("static constexpr int vector = {};", schedule_.vector));
    row_of_point();
    return;
  }
  line(fmt::format("static constexpr int threads = {}, across = {}, vector = {}, items = {};", schedule_.threads,
                   schedule_.across, schedule_.vector, schedule_.items));
  line(fmt::format("static constexpr bool flat = {}, down = {}, is_short = {};", flat, schedule_.down,
                   schedule_.is_short));
  line(fmt::format("CT_MEMBER Base width() const {{ return {}; }}",
                   axes_.empty() ? "1" : fmt::format("Base(p.n{})", axes_.size() - 1)));
  line(fmt::format("CT_MEMBER Base lines() const {{ return {}; }}", flat ? "1" : "Base(p.lines)"));
  if (flat) return;
  line("CT_MEMBER Base tiles_of_line() const { return Base(p.tiles); }");
  line("CT_MEMBER Base band(Base tile) const { return p.by_tiles.divide(tile); }");
}

void Emitter::row_of_point() {
  const std::size_t fast = fast_axis();
  line(fmt::format("CT_MEMBER Base width() const {{ return {}; }}",
                   axes_.empty() ? "1" : fmt::format("Base(p.n{})", fast)));
  line(fast == 0 ? "CT_MEMBER Base row_of(Base) const { return 0; }"
                 : fmt::format("CT_MEMBER Base row_of(Base point) const {{ return p.d{}.divide(point); }}", fast));
}

void Emitter::line_index() {
  std::vector<std::size_t> axes;
  for (std::size_t m = 0; m < fast_axis(); ++m) {
    if (variant_.tile_axis != m) axes.push_back(m);
  }
  std::string position = "row";
  if (variant_.tiled()) {
    line("(void)outer;");
    line(fmt::format("const Base i{} = row;", *variant_.tile_axis));
    position = "outer";
  }
  divide_position(position, axes);
}

void Emitter::pack_line() {
  const std::size_t fast = fast_axis(), outer = axes_.empty() ? 0 : fast + 1;
  std::vector<std::string> members, values;
  const auto add = [&](const std::string& member, const std::string& value) {
    members.push_back(member);
    values.push_back(value);
  };
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    if (!has_line(a)) continue;
    std::string sum;
    for (std::size_t m = 0; m < outer; ++m) {
      if (variant_.strides[a][m] == StrideClass::none) continue;
      const std::string at = m == fast ? "first" : fmt::format("i{}", m);
      sum += " + " + at;
      if (variant_.strides[a][m] == StrideClass::any) sum += fmt::format(" * Base(p.s{}_{})", stride_owner(a), m);
    }
    add(fmt::format("{}{}* q{}", analysis_.accesses[a].written ? "" : "const ", stored_type(dtype_of(a)), a),
        sum.empty()
            ? fmt::format("p.p{}", a)
            : fmt::format("p.p{} + {}", a, sum.find(' ', 3) == sum.npos ? sum.substr(3) : "(" + sum.substr(3) + ")"));
  }
  for (std::size_t m = 0; m < outer; ++m) {
    if (!analysis_.explicit_axes[axes_[m]->axes[0]]) continue;
    add(fmt::format("Base i{}", m), m == fast ? "first" : fmt::format("i{}", m));
  }
  line("struct Line {");
  for (const std::string& member : members) line("  " + member + ";");
  line("};");
  line(fmt::format("CT_MEMBER Line line({}Base row, Base first) const {{", variant_.tiled() ? "Base outer, " : ""));
  block([&] {
    line("(void)row, (void)first;");
    line_index();
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
    line(fmt::format("return Line{{{}}};", list));
  });
  line("}");
}

void Emitter::pack_struct(std::string_view type, const std::vector<std::size_t>& accesses) {
  line(fmt::format("struct {} {{", type));
  for (const std::size_t a : accesses) {
    const std::string_view stored = stored_type(dtype_of(a));
    line(is_one_for_pack(a) ? fmt::format("  {} l{};", stored, a)
                            : fmt::format("  ct::Pack<{}, vector> l{};", stored, a));
  }
  line("};");
}

void Emitter::pack_inputs(std::string_view type, std::string_view function, const std::vector<std::size_t>& accesses) {
  pack_struct(type, accesses);
  const bool column = kernel_.family == Family::column;
  line(fmt::format("CT_MEMBER {} {}(const Line& line, Offset column, {}int left) const {{", type, function,
                   column ? "Base k, " : ""));
  block([&] {
    line("(void)line, (void)column, (void)left;");
    if (column) {
      line("(void)k;");
      inner_position("k");
    }
    if (std::ranges::any_of(accesses, [&](std::size_t a) { return is_conditional_pack(a); })) line_positions();
    line(fmt::format("{} in;", type));
    for (const std::size_t a : accesses) {
      if (is_conditional_pack(a)) pack_condition(a);
      line(fmt::format("in.l{} = {};", a, pack_load(a)));
    }
    line("return in;");
  });
  line("}");
}

void Emitter::pack_condition(std::size_t a) {
  const NodeId condition = *analysis_.accesses[a].condition;
  line(fmt::format("bool w{}[vector];", a));
  line("#pragma unroll");
  line("for (int e = 0; e < vector; ++e) {");
  block([&] {
    element_index();
    declare({condition}, false);
    line(fmt::format("w{}[e] = e < left && {};", a, operand(condition)));
  });
  line("}");
}

void Emitter::pack_use() {
  line(fmt::format("CT_MEMBER void use(const Line& line, Offset column, int left, const Inputs& in{}) const {{",
                   variant_.tiled() ? ", const Tile& tile, int at" : ""));
  block([&] {
    line("(void)line, (void)column, (void)in;");
    for (std::size_t a = 0; a < variant_.staged.size(); ++a) {
      if (is_staged(a))
        line(fmt::format("const ct::Pack<{0}, vector> t{1} = ct::load_pack<vector>(tile.t{1} + at, left);",
                         stored_type(dtype_of(a)), a));
    }
    line_positions();
    gathered_packs();
    // Without inner axes everything runs once per point, and a point is one element.
    pack_elements(false);
  });
  line("}");
}

void Emitter::gathered_packs() {
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    if (!is_gathered(a)) continue;
    const Access& access = analysis_.accesses[a];
    const auto load = std::ranges::find(analysis_.load_access, a, &std::pair<const NodeId, std::size_t>::second)->first;
    std::vector<NodeId> positions(access.index.begin(), access.index.end() - 1);
    const bool guarded = body_.op(load).is(Core::load_if);
    if (guarded) positions.push_back(body_.input(load, 0));
    declare(positions, false);
    std::string from;
    for (std::size_t d = 0; d + 1 < access.index.size(); ++d)
      from += fmt::format("{} * p.s{}_{} + ", operand(access.index[d]), a, d);
    // A row outside of the operand is not loaded, and needs no address.
    line(fmt::format("const int left{} = {} ? left : 0;", a, guarded ? operand(body_.input(load, 0)) : "true"));
    line(fmt::format("const ct::index from{0} = left{0} > 0 ? {1}ct::index(line.i{2}) + column : 0;", a, from,
                     fast_axis()));
    line(fmt::format("const ct::Pack<{0}, vector> g{1} = ct::load_pack<vector>(p.p{1} + from{1}, left{1});",
                     stored_type(dtype_of(a)), a));
  }
  for (std::size_t c = 0; c < kernel_.checks.size(); ++c) {
    const kernel::Check& made = kernel_.checks[c];
    const bool has_positions = names_.contains(made.condition);  // those of a gathered pack
    if (is_guard(made) || !has_positions || analysis_.depends_on(made.value, axes_.back()->axes.back())) continue;
    line("if (left > 0) {");
    block([&] { check(c); });
    line("}");
    checked_.insert(c);
  }
}

void Emitter::pack_elements(bool elements) {
  std::vector<std::size_t> packed;  // stores
  for (std::size_t s = 0; s < kernel_.stores.size(); ++s) {
    const std::size_t a = analysis_.store_access(s);
    if (by_element(kernel_.stores[s]) == elements && is_stored_in_packs(a)) packed.push_back(a);
  }
  for (const std::size_t a : packed) {
    // All elements of a pack are rounded, those beyond the end too.
    line(fmt::format("ct::Pack<{}, vector> o{}{};", value_type(dtype_of(a)), a, is_rounded(a) ? "{}" : ""));
  }
  if (is_folded() && schedule_.whole) folded_position();
  line("#pragma unroll");
  line("for (int e = 0; e < vector; ++e) {");
  block([&] {
    line("if (e >= left) break;");
    if (!is_folded())
      element_index();
    else if (!schedule_.whole)
      folded_position();
    stores_and_checks(elements);
  });
  line("}");
  for (const std::size_t a : packed) {
    if (is_rounded(a))
      line(fmt::format("const ct::Pack<{0}, vector> h{1} = ct::rounded<{0}>(o{1});", stored_type(dtype_of(a)), a));
  }
  const std::string_view how = !is_aligned() ? "scatter_pack" : is_row_of_packs() ? "store_pack<whole>" : "store_pack";
  for (const std::size_t a : packed) {
    if (is_skipped(a)) continue;
    line(fmt::format("ct::{}({}{}, {}, left);", how, pack_address(a), is_folded() ? "" : " + column", stored_pack(a)));
  }
}

std::string Emitter::stored_pack(std::size_t a) const { return fmt::format("{}{}", is_rounded(a) ? "h" : "o", a); }

}  // namespace croton::codegen
