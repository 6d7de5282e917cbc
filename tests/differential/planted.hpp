// Planted bugs: errors injected into the product from outside, each in a separate process, which the graphs must find.
#pragma once

#include <cstdint>
#include <string>

namespace differential {

/// Whether each planted bug is found among at most `graphs` graphs; prints which after how many. `only`: of those whose
/// name has these words, and without a look at the sound program before.
bool find_planted(std::uint64_t seed, std::uint64_t graphs, const std::string& only);

}  // namespace differential
