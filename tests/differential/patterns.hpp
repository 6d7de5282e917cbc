// The left sides of rules as parts of random graphs, so that rules fire however rare their forms are.
#pragma once

#include "generate.hpp"
#include "rewrite/rule.hpp"

namespace differential {

/// All rules whose left side is a pattern.
const std::vector<const ct::rewrite::Rule*>& pattern_rules();
/// Adds an instance of the rule's left side; false if its holes could not be filled.
bool plant(Generator& generator, const ct::rewrite::Rule& rule);

}  // namespace differential
