// Planted bugs: faults put into the product from outside, each in a process of its own, which the graphs must find.
#pragma once

#include <cstdint>

namespace differential {

/// Whether each planted bug is found among at most `graphs` graphs; prints which after how many.
bool find_planted(std::uint64_t seed, std::uint64_t graphs);

}  // namespace differential
