// Import of the user's expressions to a Graph of the compiler. Given variables are replaced (`givens`), sizes become
// nodes, the ops' assumptions about them become requirements, and every node keeps the user's name and line.
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
  /// For each argument, whether the outputs or updates need it.
  std::vector<bool> used;
};

/// Imports the graph of a function. It raises MissingInputError, which names the variable and its line, if the outputs
/// need a variable that is neither an input, nor given, nor shared.
Imported import(const ImportRequest& request);

}  // namespace croton::builder
