// Loops in the builder: the body is an expression of placeholders, which import converts to a graph.
#pragma once

#include <croton/shared.hpp>

#include "builder/results_gradient.hpp"
#include "expr/loop.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace croton::ops {

/// The source of a loop's body (`source` of expr::Body). `inputs` are placeholders for the elements of sequences, the
/// taps and the captures; `outputs` are the next rows of the states, the stacked results and the condition.
struct LoopSource {
  std::vector<Variable> inputs, outputs;
  std::int64_t truncate = -1;  // number of steps through which gradients go back; -1: all
  /// The shared variables whose new values the user gets. Weak, because a loop may be the default update of such a
  /// variable.
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

/// All results of a loop; unused ones cost nothing.
struct LoopResults {
  std::vector<Variable> history, last;  // per state
  std::vector<Variable> stacked;
  Variable steps;
};

/// The body of a loop that is made of the source.
expr::BodyPtr loop_body(LoopSource source, Where where);

/// Makes a loop, without the sequences and captures that its body does not read. TypeError if a state changes its type.
LoopResults make_loop(LoopSpec spec, Where where);

/// The source of the body of a result of a loop.
const LoopSource& loop_source(const builder::Node& node);
LoopSpec spec_of(const builder::Node& node);

/// The gradients of the loop's inputs.
std::vector<Variable> loop_gradient(const builder::ResultsGradientContext& context);

/// A variable of the type of an element of x along its first axis.
Variable element_placeholder(const Variable& x);

}  // namespace croton::ops
