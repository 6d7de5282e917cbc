// The states of the draws of one object of random streams, in the order of the draws: shared variables with default
// updates. A state is one or several rows of numbers.
#pragma once

#include <croton/shared.hpp>

#include <utility>
#include <vector>

namespace croton::ops {

struct DrawStates {
  std::vector<SharedVariable> states;
  std::vector<Variable> next;

  /// Adds a state with the default update `update`.
  void add(SharedVariable state, const Variable& update);
  std::vector<std::pair<SharedVariable, Variable>> updates() const;

  /// All states as a matrix of `columns` columns; and the inverse. ValueError if dtype or sizes differ.
  Array stacked(DType dtype, std::int64_t columns) const;
  void set_stacked(const Array& rows, DType dtype, std::int64_t columns);
};

}  // namespace croton::ops
