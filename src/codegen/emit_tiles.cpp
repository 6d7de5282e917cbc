// The bodies of pointwise kernels with tiles: on a CPU (codegen_templates/cpu/tiles.hpp) by elements, on a GPU
// (codegen_templates/tiles.cuh) by packs.
#include <fmt/format.h>

#include "codegen/emitter.hpp"
#include "codegen/schedule_tiles.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

void Emitter::emit_tiles() {
  const std::size_t down = *variant_.tile_axis, across = axes_.size() - 1;
  const std::vector<std::size_t> others = axes_around_tiles(variant_);
  line(fmt::format("CT_MEMBER ct::index height() const {{ return p.n{}; }}", down));
  line(fmt::format("CT_MEMBER ct::index width() const {{ return p.n{}; }}", across));
  line("struct Tile {");
  for (std::size_t a = 0; a < variant_.staged.size(); ++a) {
    if (is_staged(a)) line(fmt::format("  {} t{}[ct::tile_elements];", stored_type(dtype_of(a)), a));
  }
  line("};");
  const std::string point =
      fmt::format("ct::index{}, ct::index i{}, ct::index i{}, int at", others.empty() ? "" : " outer", down, across);
  line(fmt::format("CT_MEMBER void fetch(Tile& tile, {}) const {{", point));
  block([&] {
    split_index("outer", others);
    for (std::size_t a = 0; a < variant_.staged.size(); ++a) {
      if (is_staged(a)) line(fmt::format("tile.t{}[at] = {};", a, address(a)));
    }
  });
  line("}");
  line(fmt::format("CT_MEMBER void element(const Tile& tile, {}) const {{", point));
  block([&] {
    split_index("outer", others);
    stores_and_checks(false);
  });
  line("}");
}

void Emitter::emit_pack_tiles() {
  tile_constants();
  pack_line();
  tile_staging();
  pack_inputs("Inputs", "fetch", fetched());
  pack_use();
}

void Emitter::tile_constants() {
  const std::size_t down = *variant_.tile_axis;
  const bool flat = axes_.size() <= 2;  // no axes around the tiles
  position_types("of positions", "from the first element of a line");
  line(fmt::format("static constexpr int threads = {}, side = {}, vector = {}, items = {};", schedule_.threads,
                   schedule_.side, schedule_.vector, schedule_.items));
  line(fmt::format("static constexpr int turned = {}, along = {}, loads = {};", schedule_.turned, schedule_.lanes,
                   schedule_.loads));
  line(fmt::format("static constexpr bool is_short = {};", schedule_.is_short));
  line(fmt::format("CT_MEMBER Base width() const {{ return Base(p.n{}); }}", fast_axis()));
  line(fmt::format("CT_MEMBER Base height() const {{ return Base(p.n{}); }}", down));
  line("CT_MEMBER Base tiles_of_line() const { return Base(p.tiles); }");
  line("CT_MEMBER Base band(Base tile) const { return p.by_tiles.divide(tile); }");
  line(fmt::format("CT_MEMBER Base bands() const {{ return {}; }}", flat ? "0" : "Base(p.bands)"));
  line(flat ? "CT_MEMBER Base outer(Base) const { return 0; }"
            : "CT_MEMBER Base outer(Base band) const { return p.by_bands.divide(band); }");
}

void Emitter::tile_staging() {
  std::vector<std::size_t> staged;
  for (std::size_t a = 0; a < variant_.staged.size(); ++a) {
    if (is_staged(a)) staged.push_back(a);
  }
  line("struct Tile {", "in shared memory");
  for (const std::size_t a : staged)
    line(fmt::format("  alignas(16) {} t{}[side * side];", stored_type(dtype_of(a)), a));
  line("};");
  line("struct Staged {", "neighbours in a column of a tile");
  for (const std::size_t a : staged) line(fmt::format("  ct::Pack<{}, turned> l{};", stored_type(dtype_of(a)), a));
  line("};");
  line("CT_MEMBER Staged load(const Line& line, int row, int column, int left) const {");
  block([&] {
    line("Staged staged;");
    for (const std::size_t a : staged)
      line(
          fmt::format("staged.l{0} = ct::load_pack<turned>(line.q{0} + (Offset(column) * Offset(p.s{1}_{2}) + "
                      "Offset(row)), left);",
                      a, stride_owner(a), fast_axis()));
    line("return staged;");
  });
  line("}");
  line("CT_MEMBER void put(Tile& tile, int row, int column, int left, const Staged& staged) const {");
  line("  const int place = ct::tile_place<Body>(row, column);");
  line("#pragma unroll");
  line("  for (int e = 0; e < turned; ++e) {");
  line("    if (e >= left) break;");
  line("    const int at = ct::place_below<Body>(place, e);");
  for (const std::size_t a : staged) line(fmt::format("    tile.t{0}[at] = staged.l{0}[e];", a));
  line("  }");
  line("}");
}

}  // namespace croton::codegen
