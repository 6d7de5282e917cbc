// The emitter: a kernel and a variant become text. One functor serves every device; the template around it differs.
// Several pointwise kernels may become one text, which one launch runs; equal ones share their functor.
//
// How to read the generated text: `pA` is the pointer of access A, `sA_M` its stride along merged axis M, `nM` the size
// of that axis and `iM` the index along it; `eK` is a size that the kernel uses as a number, `rS` what reduction stage
// S found, `vN` a value. Names of the user appear in comments only, with everything removed that could end a comment.
#pragma once

#include "codegen/schedule.hpp"
#include "codegen/variant.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::codegen {

enum class Target : std::uint8_t { cpu, cuda };

/// One parameter of the launch, in the order of the struct Params; all are eight bytes.
struct Parameter {
  enum class Kind : std::uint8_t { pointer, failure, workspace, size, stride, extent, last_tile, points };
  Kind kind;
  int access = 0;  // pointer, stride
  int index = 0;   // size: merged axis; stride: position in Launch::strides[access]; extent: number
  int part = 0;    // of which kernel, where the text holds several
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
/// Whether code has the body of an operation of the user in it (croton/op.hpp): if that does not compile, the mistake
/// is the user's.
bool has_text_of_user(std::string_view code);
/// One text for several pointwise kernels without checks. Tiles of `group_tile` points are its items.
Text emit_group(std::span<const Part> parts, Target target);
/// The most that the parameters of a launch may take, in bytes, on every GPU. A group that needs more is cut.
inline constexpr std::size_t max_parameter_bytes = 4096;

/// How a dtype is spelled in texts, as it is stored: "float", "ct::f16".
std::string_view stored_type(DType dtype);
/// Text of the user inside a // comment: printable ASCII, no backslash that could join the next line.
std::string harmless(std::string_view text);

/// The text in front of every kernel of that family: device header, numbers, functions, combiners, template.
std::string prelude(Target target, bool simulator = false);

}  // namespace croton::codegen
