// Schedule: the distribution of the work of one launch over a machine. The family of a kernel (kernel/kernel.hpp) fixes
// the template and the order of every reduction, and therefore the bits of the result; a schedule changes neither. Some
// of its numbers are part of a kernel's text. Users can override it by a flag:
// CROTON_FLAGS=schedule=row.threads=128+grain=1000.
//
// A new family needs a name in kernel::Family, a template in codegen_templates/ and codegen_templates/cpu/, a case in
// emit.cpp, and its work here.
#pragma once

#include "codegen/machine_constants.hpp"
#include "codegen/occupancy.hpp"
#include "codegen/variant.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace croton::codegen {

/// The integers in which a text computes addresses.
enum class IndexWidth : std::uint8_t {
  narrow,  // 32 bits: no operand spans 2^31 elements
  based,   // 64 bits for the first element of a block, 32 bits from there
  wide,    // 64 bits
};

struct Schedule {
  std::int64_t grain = 32768;  // CPU: the fewest elements for which waking a second thread pays (about 30 microseconds)
  int threads = 256;           // GPU: threads of a block, a multiple of the warp size
  int blocks = 2048;           // GPU, kernels that loop over a grid: the maximal number of blocks
  // GPU, loops: the number of elements that one block computes in the time of a grid barrier: an atomic operation by
  // each block, and a read by each block of a word that the last one writes. Estimated (1 to 2 microseconds), not
  // measured.
  std::int64_t meeting = 8192;
  // The text of a pointwise kernel for a GPU (codegen_templates/pointwise.cuh):
  int vector = 1;        // neighbouring elements of a pack, which a thread moves by one instruction
  int items = 1;         // packs of a thread
  int across = 256;      // threads along a line; a power of two, at most `threads`
  bool down = false;     // the packs of a thread are on lines below each other
  bool is_short = true;  // a second copy of the body without conditions
  IndexWidth index = IndexWidth::wide;
  // The text of a pointwise kernel with tiles for a GPU (codegen_templates/tiles.cuh), also `vector` and `items`. Of a
  // warp, `lanes` load neighbouring packs of a column.
  int side = 0;    // points along each axis of a tile, a power of two
  int turned = 1;  // neighbouring elements of a pack of a staged operand, along the tile axis
  int loads = 1;   // such packs of a thread that it loads before it uses the first
  // The text of a row or split kernel for a GPU (codegen_templates/row_packs.cuh). `vector` is 4 if its packs are
  // aligned. The rows of a split kernel are its parts.
  int lanes = 32;                 // of a warp that work on one row; a power of two
  int warps = 1;                  // that work on one row
  int packs = 0;                  // of a thread; 0: no packs, a warp for each row or part
  int row_blocks = 1;             // of the tree in a row, at most
  int held = 0;                   // operands in registers between reductions: the first of operands_to_hold()
  int staged = 0;                 // operands in shared memory between reductions: those after the held ones
  bool whole = false;             // each row is a number of whole packs
  bool full = false;              // all packs of all threads have elements
  std::int64_t shared_bytes = 0;  // dynamic shared memory of a block
  // The text of a column kernel for a GPU (codegen_templates/column_packs.cuh), also `across` and `vector`:
  int run = 0;            // chunks of a thread in a part, a power of two; 0: a thread for each point
  std::int64_t part = 0;  // elements of a part of a reduction that is split among blocks; 0: it is not
  int meets = 0;     // how often the parts of a row meet: after each reduction; all blocks run at the same time then
  int together = 0;  // of these: blocks of a multiprocessor, for which a thread's registers must suffice
  // A row and a column kernel in one launch (codegen_templates/inner_outer.cuh): the rows of a block; 0: it is no such
  // launch. Both kernels have the lanes, warps, packs and row_blocks of the rows.
  int rows = 0;
  auto operator<=>(const Schedule&) const = default;
};

/// The numbers of a GPU on which schedules depend.
struct Machine {
  int multiprocessors = 132;
  int pointwise_threads = 128, threads = 256, blocks = 2048;  // of a block; blocks of loops over a grid
  std::int64_t shared_bytes = 227 * 1024;                     // of a block, at most
  bool aligned = true;                                        // operands begin at multiples of 16 bytes
  bool whole_warps = false;                                   // rows have whole warps, as for a launch with columns
  bool cooperates = true;                                     // has launches whose blocks may wait for each other
  MultiprocessorLimits limits = usual_limits;
  std::int64_t cache_bytes = h200.cache_bytes;  // of the second level
};

/// Why a schedule has its numbers: a sentence for each, such as "vector=1: x (p0) begins 4 bytes after a multiple of
/// 8". Functions that choose numbers get a null pointer if nobody asks, and then make no sentences.
using Reasons = std::vector<std::string>;

/// Gives the name of a launch, which takes time: only overrides for certain kernels ask for it.
using NameOf = std::function<std::string()>;

/// The work of one launch: the number of items, which may run in any order, and how many of them are a grain.
struct Work {
  std::int64_t items = 0;
  std::int64_t grain = 1;
};

/// On the CPU an item is an element (pointwise) or a tile of elements (Variant::tile_axis), a point (row), a tile of
/// neighbouring points (column) or a part (split).
Work cpu_work(const Analysis& analysis, const Launch& launch, const Schedule& schedule);
/// On a GPU an item is a tile of points (pointwise), the work of a block (column, in packs), a point of the kernel, or
/// a part (split).
std::int64_t gpu_items(const Analysis& analysis, const Launch& launch, const Schedule& schedule);
/// The number of points of a contraction along one of its sides.
std::int64_t side_count(const Analysis& analysis, const Launch& launch, kernel::Side side);
/// The number of parallel points: the elements of a pointwise kernel.
std::int64_t point_count(const Launch& launch);
/// The number of inner elements of a point.
std::int64_t inner_length(const Launch& launch);
/// The number of blocks for that many items. An item is done by a block if it is a tile of points, by a thread in
/// column kernels, else by a warp.
std::int64_t gpu_blocks(const Analysis& analysis, std::int64_t items, const Schedule& schedule);
/// The number of blocks of a launch in which a thread does an item.
int thread_blocks(std::int64_t items, const Schedule& schedule);
/// The number of blocks of a launch in which a block does items, in a loop over the grid.
int tile_blocks(std::int64_t tiles, const Schedule& schedule);

/// The schedule of a kernel for these sizes and layouts, with overrides applied:
/// "threads=128+row.blocks=64+row_1a2b3c.threads=256". The prefix of a key is a family, or the beginning of a kernel's
/// name (at least to the _ after the family) or of its digest (at least four digits). Raises ValueError for text of any
/// other form; the message names the valid forms. `group_name`: the name of the launch, if it has several kernels.
/// `why`: gets the reasons for a GPU.
Schedule choose_schedule(const Analysis& analysis, const Launch& launch, const Machine& machine,
                         std::string_view overrides, const NameOf& group_name = {}, Reasons* why = nullptr);
/// The part of it that does not depend on sizes.
Schedule choose_schedule(kernel::Family family, const Machine& machine, std::string_view overrides,
                         std::string_view kernel_name = {}, Reasons* why = nullptr);
/// The reasons on the CPU, where only the grain counts.
Reasons cpu_reasons(const Schedule& schedule, const Work& work);
/// On a GPU: "threads=256 blocks=2048 index=narrow"; of kernels in packs with the numbers of their text.
std::string print(const Schedule& schedule, kernel::Family family);
/// On a GPU: "threads=256 blocks=2048": the numbers of a launch, of which the text has none.
std::string print_launch(const Schedule& schedule);
/// On the CPU: "grain=32768", the only number that counts there.
std::string print_grain(const Schedule& schedule);

/// The number of lines of a pointwise kernel along its fast axis.
std::int64_t line_count(const Launch& launch);
/// The number of tiles of a line of a pointwise kernel for a GPU.
std::int64_t tiles_of_line(const Launch& launch, const Schedule& schedule);

/// The number of parts of a reduction on a GPU that is split among blocks.
std::int64_t reduction_parts(const Launch& launch, const Schedule& schedule);

/// Memory that a launch on a GPU needs besides its operands: for states of parts, and words that are 0 between
/// launches.
struct LaunchMemory {
  std::int64_t state_bytes = 0, counters = 0;
  /// Adds the memory of another kernel of the same launch, which begins where that of the earlier ones ends.
  void add(const LaunchMemory& more) {
    state_bytes += more.state_bytes;
    counters += more.counters;
  }
};
LaunchMemory launch_memory(const Analysis& analysis, const Launch& launch, const Schedule& schedule);

/// The number of tiles of one kernel in a launch of several kernels, for CPU threads.
std::int64_t group_tiles(const Launch& launch);
/// The work of such a launch for CPU threads.
Work group_work(std::int64_t tiles, const Schedule& schedule);

}  // namespace croton::codegen
