// The text of a loop that is one launch: a kernel that runs all steps, with the body's kernels and products
// as parts (codegen/emit_loop.cpp).
#pragma once

#include "runtime/loops/loop_layout.hpp"

namespace croton::runtime {

/// The text for a layout that has shares.
codegen::Text emit_text(const LoopLayout& layout, codegen::Target target);

}  // namespace croton::runtime
