// Programs like those of users, to check that rewrite rules fire in practice: pieces of models and statistics, each
// rewritten with its gradients as in function().
#pragma once

#include "rewrite/pipeline.hpp"

#include <string>

namespace croton::tool {

/// The number of times that each rule fires in all these programs.
rewrite::Fired fired_in_programs();

/// The table of docs/internals/rewrites.md: every rule by group, with its text, its reason and how often it fired.
std::string rules_markdown();

}  // namespace croton::tool
