// The width of the integers for addresses.
#pragma once

#include "codegen/schedule.hpp"

namespace croton::codegen {

/// The narrowest integers for all positions and offsets of a launch, where a block reaches over `columns` elements of a
/// line (along the merged axis `fast`), and maybe as many beyond its end. `why`: gets the reason.
IndexWidth choose_index_width(const Analysis& analysis, const Launch& launch, std::size_t fast, std::int64_t columns,
                              Reasons* why = nullptr);

}  // namespace croton::codegen
