// Sizes of tiles, parts and blocks on which the text of a kernel and the C++ that plans and launches it agree: both
// include this file. So it has only constants of built-in types and functions of these.
#ifndef CT_SIZES
#define CT_SIZES

namespace ct {

// Threads of a warp; also the lanes of one block in the tree of a reduction (combine.cuh), and the accumulators of a
// block and of a lane.
constexpr long long lanes = 32, accumulators = 128, lane_accumulators = accumulators / lanes;
constexpr int most_threads = 1024;  // of a block of threads

// Reductions over rows: elements of one block of the tree. Splits: elements of one part, a whole subtree.
constexpr long long block_elements = 1024;
constexpr long long part_elements = 16 * block_elements;
// Reductions over columns: elements that are joined in order.
constexpr long long chunk_elements = 16;
// Column kernels on a GPU: the largest number of parts of a reduction that is split.
constexpr long long most_column_parts = 512;
// Row and column kernels in one launch on a GPU: the parts of the columns' reductions that one block joins at a time, a
// power of two.
constexpr int joined_parts = 8;
// Reductions of everything on a GPU: the largest number of parts.
constexpr long long most_split_parts = 1 << 16;
// Column kernels on the CPU: points of one tile.
constexpr long long tile_points = 256;

// Pointwise kernels with tiles on the CPU: points along each of a tile's two axes.
constexpr int cpu_tile_side = 64;
// Launches of several pointwise kernels: points of one item.
constexpr long long group_tile = 4096;

// Contractions: the number of neighbouring k whose products are added up in one chain; chains are added in order.
template <class T>
constexpr long long contract_depth = 1024 / (long long)sizeof(T);
// Contractions on the CPU: the maximum of rows and columns of one item; the divisor of its rows; and the number of
// items of a small result, each of which packs its columns itself.
constexpr long long cpu_contract_rows = 128, cpu_contract_columns = 192;
constexpr long long cpu_contract_row_step = 8, cpu_contract_items = 4;

// Rows of an item of a contraction on the CPU, of which `others` are needed for all columns and batches.
constexpr long long cpu_contract_block_rows(long long rows, long long others) {
  const long long wanted = others >= cpu_contract_items ? 1 : cpu_contract_items / (others < 1 ? 1 : others);
  const long long steps = (rows + wanted * cpu_contract_row_step - 1) / (wanted * cpu_contract_row_step);
  const long long even = (steps < 1 ? 1 : steps) * cpu_contract_row_step;
  return even < cpu_contract_rows ? even : cpu_contract_rows;
}

// Contractions on a GPU: the number of rows and of columns of the result per thread, and the number of threads across
// the columns of a block's tile.
constexpr int gpu_contract_side = 4, gpu_contract_across = 16;
constexpr int gpu_contract_columns = gpu_contract_side * gpu_contract_across;
constexpr int gpu_contract_rows(int threads) { return threads / gpu_contract_across * gpu_contract_side; }

// Routines: elements of one part of a running sum; elements of one run that is sorted by insertion.
constexpr long long cumulate_part = 1024;
constexpr long long sorted_run = 32;

// Loops by all blocks of a GPU: the distance in bytes of the counter of arrived blocks and that of finished barriers,
// which are in separate cache lines.
constexpr long long grid_barrier_stride = 128;

}  // namespace ct
#endif
