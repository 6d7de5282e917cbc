// Division of positions by sizes that are known at launch: the words of ct::Divisor
// (codegen_templates/common/division.cuh).
#pragma once

#include <array>
#include <cstdint>

#include "codegen/emit.hpp"

namespace croton::codegen {

/// The number of parameters, of eight bytes each, of a divisor.
std::size_t divisor_words(IndexWidth width);
/// The words of a divisor, which is at least 1, for non-negative dividends: below 2^31 if narrow, else below 2^63.
std::array<std::uint64_t, 2> make_divisor(std::int64_t divisor, IndexWidth width);

/// The value of a parameter for the positions of a kernel for a GPU: a word of a divisor, the number of lines or of
/// tiles of a line.
std::int64_t position_parameter(const Parameter& parameter, const Analysis& analysis, const Launch& launch,
                                const Schedule& schedule);

}  // namespace croton::codegen
