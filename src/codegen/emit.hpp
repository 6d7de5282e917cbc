// The emitter: turns a kernel and a variant into text. The functor is the same for every device; the template around it
// differs. Several pointwise kernels can become one text for one launch, and on a GPU several reductions of whole
// arrays; equal kernels share a functor.
//
// Names in the generated text: `pA` is the pointer of access A, `sA_M` its stride along merged axis M, `nM` the size of
// that axis and `iM` the index along it; `eK` is a size that the kernel uses as a number, `rS` the result of reduction
// stage S, `vN` a value. Names of the user appear only in comments, without characters that could end a comment.
#pragma once

#include "codegen/schedule.hpp"
#include "codegen/variant.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::codegen {

/// Digits of hashes in the names of texts: of the kernel, and of its text.
inline constexpr std::size_t digits_of_kernel = 12, digits_of_text = 6;

enum class Target : std::uint8_t { cpu, cuda };

/// The architecture of CUDA texts that no GPU runs.
inline constexpr std::string_view default_architecture = "sm_90";

/// One parameter of the launch, in the order of the struct Params. Each has eight bytes.
struct Parameter {
  enum class Kind : std::uint8_t {
    pointer,
    failure,
    workspace,
    size,
    stride,
    extent,
    last_tile,
    points,
    divisor,        // a word (access) of the divisor by the size of a merged axis
    tiles_of_line,  // of a pointwise or column kernel for a GPU
    tiles_divisor,  // a word of the divisor by it
    lines,          // of these
    parts,          // of a reduction for a GPU that is split among blocks
    parts_divisor,  // a word of the divisor by it
    bands,          // of a kernel with tiles for a GPU: tiles along the tile axis
    bands_divisor,  // a word of the divisor by it
    counters,       // of finished parts, one for each block of points; of an epilogue: of finished reductions
    // Of contractions for a GPU:
    side_divisor,        // a word of the divisor by the points of a side (kernel::Side in `index`)
    side_tiles_divisor,  // a word of the divisor by its tiles
    // Of loops:
    matrix,          // a number of a product (MatrixNumber)
    matrix_divisor,  // a word of the divisor by its columns, for a GPU
    motion,          // a word of the motion of an access's pointer
    loop,            // a number of the loop itself (LoopNumber)
  };
  Kind kind;
  std::size_t access = 0;  // pointer, stride, motion; divisors: the word
  std::size_t index = 0;   // size, divisor: the merged axis; stride: the position in Launch::strides[access]; extent:
                           // its number; kinds of loops: the position in the struct of numbers
  std::size_t part = 0;    // the kernel that it belongs to, if the text has several
};

/// A kernel and the variant for the layouts of its operands.
struct Part {
  const Analysis* analysis;
  const Variant* variant;
  Schedule schedule = {};
  std::vector<std::string> comment = {};  // lines above the kernel, such as the user's expression
};

struct Text {
  std::string name;    // of the entry: that of the kernel and a hash of the code
  std::string code;    // the text to compile, with comments, without the prelude
  std::string digest;  // of the code without comments and of the target
  std::vector<Parameter> parameters;
  std::size_t state_bytes = 0;  // split: the workspace of one part
};

/// The name of a kernel, whatever its schedule is: the family and a hash. The names of its texts begin with it.
std::string kernel_name(const Analysis& analysis, const Variant& variant);
/// The text of one kernel.
Text emit(const Part& part, Target target);
/// The workspace of a split kernel for one part, in bytes.
std::size_t split_state_bytes(const Analysis& analysis);
/// Whether the code contains the body of a user-defined operation (croton/op.hpp). A compile error is then
/// the user's mistake.
bool has_user_text(std::string_view code);
/// One text for several pointwise kernels without checks. Its items are tiles: of `group_tile` points on a CPU, those
/// of the parts' schedules on a GPU. All schedules have the same number of threads. On a GPU, also for several split
/// kernels in packs, whose parts are the items, and epilogues after them.
Text emit_group(std::span<const Part> parts, Target target);
/// Whether a kernel of a launch whose first kernel has that family runs after the others, in their last block: that of
/// one point after split kernels.
bool is_epilogue(kernel::Family first, kernel::Family own);
/// The name of such a launch, whatever the schedules are.
std::string group_name(std::span<const Part> parts);

/// Of a row and a column kernel in one launch (inner_outer.hpp): the operands that are read once for both.
struct SharedOperands {
  static constexpr std::size_t own = SIZE_MAX;
  std::vector<std::size_t>
      given;                  // per access of the column kernel: that of the row kernel to the same elements, or `own`
  std::vector<bool> skipped;  // per access of the row kernel: a store whose values the column kernel alone needs
  bool operator==(const SharedOperands&) const = default;
};
/// One text for both on a GPU. Its items are blocks.
Text emit_inner_outer(const Part& rows, const Part& columns, const SharedOperands& shared);
/// The name of such a launch, whatever the schedules are.
std::string inner_outer_name(const Part& rows, const Part& columns);

/// The motion of a pointer in a loop: how its address depends on the share and on the step.
enum class Motion : std::uint8_t {
  none,
  rows,  // it depends on the share's first row
  line,  // and advances from step to step
  ring,  // and advances in a ring of slots
};
/// A part of each step of a loop: a kernel, or a product of two matrices.
struct LoopPart {
  const Analysis* analysis = nullptr;  // null: a product of `dtype`
  const Variant* variant = nullptr;    // without tiles
  DType dtype = DType::float32;
  std::vector<Motion> motions;  // per access; for a product: left, right, result
  bool sync_after = true;       // threads wait after it: later parts read its results or overwrite its inputs
  std::vector<std::string> comment = {};
};
struct LoopParts {
  std::vector<LoopPart> parts;
  /// Whether the first axis of all parts is partitioned into shares; else there is one share.
  bool partitioned = false;
  /// Whether all blocks of a cooperative launch work on each part, with grid barriers between parts. Only then a part
  /// may be a split kernel.
  bool of_grid = false;
  /// Of a text for a GPU: narrow or wide, for all parts.
  IndexWidth index = IndexWidth::wide;
  /// The dtype of the condition that ends the loop, if there is one.
  std::optional<DType> condition;
  /// Whether threads wait after they have read the condition: the next step may write it before its first barrier.
  bool sync_after_condition = true;
};
/// One text for all steps of a loop. Its items are shares.
Text emit_loop(const LoopParts& loop, Target target);
/// The numbers of a loop, in Parameter::index. `condition`, `done` and `grid_barrier` are addresses: of the condition,
/// of the number of steps that were run, and of the words of the grid barrier.
enum class LoopNumber : std::uint8_t { steps, rows, all_rows, condition, done, grid_barrier };
/// The numbers of a product, in Parameter::index.
enum class MatrixNumber : std::uint8_t { rows, inner, columns, a_row, a_inner, b_inner, b_column, c_row };

/// The maximal size of the parameters of a launch, in bytes, on every GPU.
inline constexpr std::size_t max_parameter_bytes = 4096;
/// Whether a text with these parameters has them in a table in the memory of the device: on a GPU, if they exceed those
/// of a launch. Its entries get the address of the struct Params.
bool needs_table(std::span<const Parameter> parameters, Target target);

/// The text before every kernel of that target: device header, numbers, functions, combiners, templates.
std::string prelude(Target target, bool simulator = false);

}  // namespace croton::codegen
