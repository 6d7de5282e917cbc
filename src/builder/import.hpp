// Import: the user's expressions become a Graph of the compiler's. Given variables are replaced on the way (`givens`),
// sizes become nodes and what ops assume of them requirements, and every node keeps the user's name and line.
#pragma once

#include <croton/variable.hpp>

#include "expr/graph.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace croton::builder {

struct SharedState;

struct ImportRequest {
  std::vector<Variable> inputs;
  std::vector<Variable> outputs;
  std::vector<std::pair<Variable, Variable>> updates;  // shared variable, new value
  std::vector<std::pair<Variable, Variable>> givens;   // replaced, by
  Where where;                                         // of the call of function(), for messages
};

struct Imported {
  expr::Graph graph;
  /// The arguments of the graph in order (all the request's inputs), then the shared variables.
  std::vector<Variable> shared;
  /// Which arguments the outputs and updates need.
  std::vector<bool> used;
};

/// Raises for outputs that need a variable that is neither given nor shared; names it and its line.
Imported import(const ImportRequest& request);

}  // namespace croton::builder
