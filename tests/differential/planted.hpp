// Planted bugs: errors injected into the product from outside, each in a separate process, which the graphs must find.
#pragma once

#include <cstdint>
#include <string>

namespace differential {

/// Whether each planted bug is found within `graphs` graphs; prints the number of graphs that it took. `only`: only
/// bugs whose name contains these words, without a run of the correct program first.
bool find_planted(std::uint64_t seed, std::uint64_t graphs, const std::string& only);

}  // namespace differential
