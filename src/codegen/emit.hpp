// The emitter: a kernel and a variant become text. One functor serves every device; the template around it differs.
// Several pointwise kernels may become one text, which one launch runs; equal ones share their functor.
//
// How to read the generated text: `pA` is the pointer of access A, `sA_M` its stride along merged axis M, `nM` the size
// of that axis and `iM` the index along it; `eK` is a size that the kernel uses as a number, `rS` what reduction stage
// S found, `vN` a value. Names of the user appear in comments only, with everything removed that could end a comment.
#pragma once

#include "codegen/schedule.hpp"
#include "codegen/variant.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::codegen {

enum class Target : std::uint8_t { cpu, cuda };

/// One parameter of the launch, in the order of the struct Params; all are eight bytes.
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
    // Of loops:
    matrix,  // a number of a product
    motion,  // of the pointer of an access
    loop,    // of the loop itself
  };
  Kind kind;
  std::size_t access = 0;  // pointer, stride, motion
  std::size_t index = 0;   // size: merged axis; stride: position in Launch::strides[access]; extent: number; of a loop:
                           // which of the numbers of the struct, in order
  std::size_t part = 0;    // of which kernel, where the text holds several
};

/// A kernel and how its operands lie.
struct Part {
  const Analysis* analysis;
  const Variant* variant;
  std::vector<std::string> comment = {};  // lines put above the kernel, such as the user's expression
};

struct Text {
  std::string name;    // of the entry: family and hash of the code
  std::string code;    // what is compiled, comments included; without the prelude
  std::string digest;  // of the code without comments, and the target
  std::vector<Parameter> parameters;
  std::size_t state_bytes = 0;  // split: workspace for one part
};

Text emit(const Part& part, Target target);
/// Of a split kernel: workspace for one part.
std::size_t split_state_bytes(const Analysis& analysis);
/// Whether code has the body of an operation of the user in it (croton/op.hpp): if that does not compile, the mistake
/// is the user's.
bool has_text_of_user(std::string_view code);
/// One text for several pointwise kernels without checks. Tiles of `group_tile` points are its items.
Text emit_group(std::span<const Part> parts, Target target);

/// How the address of a pointer in a loop goes on.
enum class Motion : std::uint8_t {
  none,
  rows,  // with the rows of a share
  line,  // and from step to step
  ring,  // the same, round and round
};
/// What runs in each step of a loop: a kernel, or a product of two matrices.
struct LoopPart {
  const Analysis* analysis = nullptr;  // null: a product, of this dtype
  const Variant* variant = nullptr;    // without tiles
  DType dtype = DType::float32;
  std::vector<Motion> motions;  // per access; of a product: left, right, result
  bool meets = true;            // others may read what it gives, or overwrite what it reads, behind it
  std::vector<std::string> comment = {};
};
struct LoopParts {
  std::vector<LoopPart> parts;
  /// The first axis of all parts is shared out; else there is one share.
  bool shared_out = false;
  /// All blocks of a cooperative launch work on each part, and meet between them. Only then may a part be a split one.
  bool of_grid = false;
  /// Of the number that ends the loop, if there is one.
  std::optional<DType> condition;
};
/// One text for all steps of a loop. Shares are its items.
Text emit_loop(const LoopParts& loop, Target target);
/// The numbers of a loop in Parameter::index: addresses of the condition, of where the number of steps goes, and of the
/// words by which blocks meet.
enum class LoopNumber : std::uint8_t { steps, rows, all_rows, condition, done, meeting };
/// Of a product.
enum class MatrixNumber : std::uint8_t { rows, inner, columns, a_row, a_inner, b_inner, b_column, c_row };

/// The most that the parameters of a launch may take, in bytes, on every GPU. A group that needs more is cut.
inline constexpr std::size_t max_parameter_bytes = 4096;

/// The text in front of every kernel of that family: device header, numbers, functions, combiners, template.
std::string prelude(Target target, bool simulator = false);

}  // namespace croton::codegen
