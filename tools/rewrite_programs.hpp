// Programs as users write them, for the question whether the rewrite rules ever meet one: pieces of models and
// statistics, each rewritten with its gradients as function() would.
#pragma once

#include "rewrite/pipeline.hpp"

#include <string>

namespace croton::tool {

/// How often each rule fires in all of them.
rewrite::Fired fired_in_programs();

/// The table of docs/internals/rewrites.md: every rule by group, with its text, its reason and how often it fired.
std::string rules_markdown();

}  // namespace croton::tool
