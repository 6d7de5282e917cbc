// The width of the integers for addresses.
#pragma once

#include "codegen/schedule.hpp"

#include <span>
#include <string_view>

namespace croton::codegen {

/// The narrowest integers for all positions and offsets of a launch, where a block reaches over `columns` elements of a
/// line (along the merged axis `fast`), and maybe as many beyond its end. `why`: gets the reason.
IndexWidth choose_index_width(const Analysis& analysis, const Launch& launch, std::size_t fast, std::int64_t columns,
                              Reasons* why = nullptr);

/// The same for a kernel that computes the position of each element, in a launch or in a loop: narrow or wide.
IndexWidth choose_index_width(const Analysis& analysis, const Launch& launch, Reasons* why = nullptr);
/// The same for a product of two matrices in a loop, with the numbers of MatrixNumber (emit.hpp).
IndexWidth choose_index_width(std::span<const std::int64_t> matrix);

std::string_view name_of(IndexWidth width);

}  // namespace croton::codegen
