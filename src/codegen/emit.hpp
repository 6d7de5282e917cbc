// The emitter: a kernel and a variant become text. One functor serves every device; the template around it differs.
//
// How to read the generated text: `pA` is the pointer of access A, `sA_M` its stride along merged axis M, `nM` the size of that axis
// and `iM` the index along it; `eK` is a size that the kernel uses as a number, `rS` what reduction stage S found, `vN` a value.
// Names of the user appear in comments only, with everything removed that could end a comment.
#pragma once

#include "codegen/variant.hpp"

#include <string>
#include <vector>

namespace croton::codegen {

enum class Target : std::uint8_t { cpu, cuda };

/// One parameter of the launch, in the order of the struct Params; all are eight bytes.
struct Parameter {
  enum class Kind : std::uint8_t { pointer, failure, workspace, size, stride, extent };
  Kind kind;
  int access = 0;  // pointer, stride
  int index = 0;   // size: merged axis; stride: position in Launch::strides[access]; extent: number
};

struct Text {
  std::string name;     // of the entry: family and hash of the code
  std::string code;     // what is compiled, comments included; without the prelude
  std::string digest;   // of the code without comments, and the target
  std::vector<Parameter> parameters;
  std::size_t state_bytes = 0;  // split: workspace for one part
};

/// `comment`: lines put above the kernel, such as the user's expression.
Text emit(const Analysis& analysis, const Variant& variant, Target target, const std::vector<std::string>& comment = {});

/// The text in front of every kernel of that family: device header, numbers, functions, combiners, template.
std::string prelude(Target target, bool simulator = false);

/// Split kernels: elements of one part, as part_elements of the templates.
inline constexpr std::int64_t part_elements = 16 * 1024;
/// Column kernels on the CPU: points of one tile, as tile_points of the template.
inline constexpr std::int64_t tile_points = 256;

}  // namespace croton::codegen
