// Schedule: how the work of one launch is spread over a machine. The family of a kernel (kernel/kernel.hpp) fixes the
// template and the order of every reduction, and so the bits of the result; a schedule changes neither. It is a plain
// struct that anyone may override: CROTON_FLAGS=schedule=row.threads=128+grain=1000.
//
// A new family is a name in kernel::Family, a template in codegen_templates/ and codegen_templates/cpu/, a case in
// emit.cpp, and its `work` here.
#pragma once

#include "codegen/variant.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace croton::codegen {

struct Schedule {
  std::int64_t grain = 32768;  // CPU: elements below which a second thread is not worth waking (about 30 microseconds)
  int threads = 256;           // GPU: threads of a block, whole warps
  int blocks = 2048;           // GPU: at most so many blocks; the kernel's loop over the grid takes the rest
  // GPU, loops: elements that one block computes in the time of a meeting of all blocks: an atomic by each
  // block, and a read by each of what the last one writes. Reckoned (1 to 2 microseconds), not measured.
  std::int64_t meeting = 8192;
  auto operator<=>(const Schedule&) const = default;
};

/// What one launch has to do: items that may run in any order, and how many of them make a grain.
struct Work {
  std::int64_t items = 0;
  std::int64_t grain = 1;
};

/// On the CPU an item is an element (pointwise) or a tile of them (Variant::tile_axis), a point (row), a tile of
/// neighbouring points (column) or a part (split).
Work cpu_work(const Analysis& analysis, const Launch& launch, const Schedule& schedule);
/// On a GPU an item is a point of the kernel, a tile of them (Variant::tile_axis), or a part (split).
std::int64_t gpu_items(const Analysis& analysis, const Launch& launch);
/// Elements of a pointwise kernel.
std::int64_t point_count(const Launch& launch);
/// Blocks for so many items: a thread an item for pointwise and column kernels, a block a tile of points, else a warp.
int gpu_blocks(const Analysis& analysis, const Variant& variant, std::int64_t items, const Schedule& schedule);
/// Of a launch whose items are threads.
int thread_blocks(std::int64_t items, const Schedule& schedule);
/// Of a launch whose items are tiles, such as one of several kernels: a block takes a tile.
int tile_blocks(std::int64_t tiles, const Schedule& schedule);

/// The family's schedule with overrides applied: "threads=128+row.blocks=64+row_1a2b3c.threads=256". What stands in
/// front of a key is a family, or the beginning of a kernel's name (from the family's _ on) or of its digest (four
/// digits or more). ValueError for text that is not of that form, naming what there is.
Schedule choose_schedule(kernel::Family family, std::string_view overrides, std::string_view kernel_name = {});
/// "grain=32768 threads=256 blocks=2048"
std::string print(const Schedule& schedule);

/// Launches of several kernels: the tiles of one of them.
std::int64_t group_tiles(const Launch& launch);
/// Tiles for CPU threads.
Work group_work(std::int64_t tiles, const Schedule& schedule);

}  // namespace croton::codegen
