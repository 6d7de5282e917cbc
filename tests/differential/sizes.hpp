// Random arithmetic of sizes at the ends of int64: used as a size, a number that does not fit must raise ShapeError;
// used as data it wraps. The expected results are computed here in 128 bits.
#pragma once

#include "random.hpp"
#include "run.hpp"

#include <span>
#include <string>
#include <vector>

namespace differential {

/// Tries `count` programs under each setting. Returns the faults, one per line, with their programs.
std::vector<std::string> check_sizes(Random& random, std::span<const Setting> settings, int count);

}  // namespace differential
