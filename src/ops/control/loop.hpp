// Loops as the builder has them: the body is an expression of stand-ins, which import makes a graph of.
#pragma once

#include <croton/shared.hpp>

#include "builder/results_gradient.hpp"
#include "expr/loop.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace croton::ops {

/// What a loop's body was made of: `source` of expr::Body. `inputs` stand in for the elements of sequences, the taps
/// and the captures; `outputs` are the next rows of the states, the stacked results and the condition.
struct LoopSource {
  std::vector<Variable> inputs, outputs;
  std::int64_t truncate = -1;  // through how many steps gradients go back; -1: all
  /// Those of which the user is given new values. A loop may be a default update of one: neither keeps the other.
  std::vector<std::weak_ptr<builder::Node>> updated = {};
};

struct LoopState {
  Variable initial;  // its rows along the first axis
  std::int64_t rows = 1;
  std::vector<std::int64_t> offsets;  // of its taps
};

struct LoopSpec {
  Variable steps;
  std::vector<Variable> sequences;
  std::vector<LoopState> states;
  std::vector<Variable> captures;
  LoopSource body;
  bool reverse = false, until = false;
};

/// The results of a loop, all of them; what is not used costs nothing.
struct LoopResults {
  std::vector<Variable> history, last;  // per state
  std::vector<Variable> stacked;
  Variable steps;
};

/// The body that a loop made of the source has.
expr::BodyPtr loop_body(LoopSource source, Where where);

/// Sequences and captures that the body does not read are left out. TypeError where a state changes its type.
LoopResults make_loop(LoopSpec spec, Where where);

/// What the body of a result of the builder's was made of.
const LoopSource& loop_source(const builder::Node& node);
LoopSpec spec_of(const builder::Node& node);

/// The gradients of the loop's inputs.
std::vector<Variable> loop_gradient(const builder::ResultsGradientContext& context);

/// A variable of the type of an element of x along its first axis.
Variable element_stand_in(const Variable& x);

}  // namespace croton::ops
