// Functor: the computation of a kernel as a struct in the generated text. The emitters of entries use it.
#pragma once

#include "codegen/emit.hpp"

namespace croton::codegen {

/// struct Params and struct Body: `code` for the hash, `shown` with comments.
struct Functor {
  std::string code, shown;
  std::vector<Parameter> parameters;
  std::size_t state_bytes = 0;  // split: the workspace of one part
};
/// The functor of a kernel. `in_grid`: each part of a split kernel is one block of the reduction tree, and a warp
/// combines them (loop.cuh).
Functor emit_functor(const Analysis& analysis, const Variant& variant, const Schedule& schedule, Target target,
                     bool in_grid = false);

/// "cpu" or "cuda", for digests.
std::string name_of(Target target);
/// The lines as comments.
std::string commented(const std::vector<std::string>& lines);

}  // namespace croton::codegen
