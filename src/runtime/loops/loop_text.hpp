// The text of a loop that is one launch: a kernel of the body's kernels and products that goes through all steps by
// itself (codegen/emit_loop.cpp).
#pragma once

#include "runtime/loops/loop_layout.hpp"

namespace croton::runtime {

/// For a layout whose shares are found.
codegen::Text emit_text(const LoopLayout& layout, codegen::Target target);

}  // namespace croton::runtime
