// Functor: the computation of a kernel as a struct in the generated text. The emitters of entries use it.
#pragma once

#include "codegen/emit.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace croton::codegen {

/// struct Params and struct Body: `code` for the hash, `shown` with comments.
struct Functor {
  std::string code, shown;
  std::vector<Parameter> parameters;
  std::size_t state_bytes = 0;  // split: the workspace of one part
};
/// The functor of a kernel. `in_loop`: it is a part of a loop (loop.cuh). There each part of a split kernel is one
/// block of the reduction tree, and a warp combines them; others have an element, a row or a column for each item.
Functor emit_functor(const Analysis& analysis, const Variant& variant, const Schedule& schedule, Target target,
                     bool in_loop = false);

/// The declaration of an entry's parameters, whose type is in the namespace `space`, and the lines that define `p`, the
/// struct Params, from it. `by_value` declares a struct that is passed.
struct ParameterEntry {
  std::string declaration, lines;
};
ParameterEntry parameter_entry(bool in_table, std::string_view space, std::string_view by_value);

/// Blocks of `threads` threads for which a multiprocessor must have registers if the kernel is limited by memory: half
/// of its threads, and not more blocks than every architecture holds.
int resident_blocks(int threads);
/// The attribute of the entry of such a kernel.
std::string memory_bounds(int threads);
/// The registers that a thread may have in a launch in which `together` blocks of a multiprocessor run at the same
/// time.
int registers_of_meeting(const Schedule& schedule);
/// Those of them that are left for the elements of a row.
std::size_t registers_for_rows(const Schedule& schedule);
/// "cpu" or "cuda", for digests.
std::string name_of(Target target);
/// The lines as comments.
std::string commented(const std::vector<std::string>& lines);

}  // namespace croton::codegen
