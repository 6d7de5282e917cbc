// What a kernel computes as a struct of the generated text, for the files that put such structs into entries.
#pragma once

#include "codegen/emit.hpp"

namespace croton::codegen {

/// struct Params and struct Body, as they are hashed and as they are shown.
struct Functor {
  std::string code, shown;
  std::vector<Parameter> parameters;
  std::size_t state_bytes = 0;  // split: of one part
};
/// `in_grid`: a split one takes parts of one block of the tree each, and a warp puts them together (loop.cuh).
Functor emit_functor(const Analysis& analysis, const Variant& variant, Target target, bool in_grid = false);

/// "cpu" or "cuda", for digests.
std::string name_of(Target target);
/// The lines as comments.
std::string commented(const std::vector<std::string>& lines);

}  // namespace croton::codegen
