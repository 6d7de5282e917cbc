// The schedule of pointwise kernels with tiles on a GPU (Variant::tiled()).
#pragma once

#include "codegen/schedule.hpp"
#include "codegen/schedule_overrides.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: tiles whose rows and columns are whole lines of memory and fit into shared memory;
/// packs of 16 bytes on both sides where sizes, alignment and strides allow them; as many threads as leave each of them
/// some packs to load at the same time.
void fit_tiles(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
               const Overrides& wanted, Reasons* why = nullptr);

/// The number of tiles along the tile axis; 1 without tiles.
std::int64_t tile_bands(const Launch& launch, const Schedule& schedule);

/// The axes that are not in a tile.
std::vector<std::size_t> axes_around_tiles(const Variant& variant);

}  // namespace croton::codegen
