// Schedule: the distribution of the work of one launch over a machine. The family of a kernel (kernel/kernel.hpp) fixes
// the template and the order of every reduction, and therefore the bits of the result; a schedule changes neither.
// Users can override it by a flag: CROTON_FLAGS=schedule=row.threads=128+grain=1000.
//
// A new family needs a name in kernel::Family, a template in codegen_templates/ and codegen_templates/cpu/, a case in
// emit.cpp, and its work here.
#pragma once

#include "codegen/variant.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace croton::codegen {

struct Schedule {
  std::int64_t grain = 32768;  // CPU: the fewest elements for which waking a second thread pays (about 30 microseconds)
  int threads = 256;           // GPU: threads of a block, a multiple of the warp size
  int blocks = 2048;           // GPU: the maximal number of blocks; a grid-stride loop does the remaining items
  // GPU, loops: the number of elements that one block computes in the time of a grid barrier: an atomic operation by
  // each block, and a read by each block of a word that the last one writes. Estimated (1 to 2 microseconds), not
  // measured.
  std::int64_t meeting = 8192;
  auto operator<=>(const Schedule&) const = default;
};

/// The work of one launch: the number of items, which may run in any order, and how many of them are a grain.
struct Work {
  std::int64_t items = 0;
  std::int64_t grain = 1;
};

/// On the CPU an item is an element (pointwise) or a tile of elements (Variant::tile_axis), a point (row), a tile of
/// neighbouring points (column) or a part (split).
Work cpu_work(const Analysis& analysis, const Launch& launch, const Schedule& schedule);
/// On a GPU an item is a point of the kernel, a tile of points (Variant::tile_axis), or a part (split).
std::int64_t gpu_items(const Analysis& analysis, const Launch& launch);
/// The number of parallel points: the elements of a pointwise kernel.
std::int64_t point_count(const Launch& launch);
/// The number of blocks for that many items. An item is done by a thread in pointwise and column kernels, by a block if
/// it is a tile of points, else by a warp.
int gpu_blocks(const Analysis& analysis, const Variant& variant, std::int64_t items, const Schedule& schedule);
/// The number of blocks of a launch in which a thread does an item.
int thread_blocks(std::int64_t items, const Schedule& schedule);
/// The number of blocks of a launch in which a block does an item (a tile), such as a launch of several kernels.
int tile_blocks(std::int64_t tiles, const Schedule& schedule);

/// The family's schedule with overrides applied: "threads=128+row.blocks=64+row_1a2b3c.threads=256". The prefix of a
/// key is a family, or the beginning of a kernel's name (at least to the _ after the family) or of its digest (at least
/// four digits). Raises ValueError for text of any other form; the message names the valid forms.
Schedule choose_schedule(kernel::Family family, std::string_view overrides, std::string_view kernel_name = {});
/// "grain=32768 threads=256 blocks=2048"
std::string print(const Schedule& schedule);

/// The number of tiles of one kernel in a launch of several kernels.
std::int64_t group_tiles(const Launch& launch);
/// The work of such a launch for CPU threads.
Work group_work(std::int64_t tiles, const Schedule& schedule);

}  // namespace croton::codegen
