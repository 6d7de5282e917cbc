// The states of the draws of one object of random streams, in the order in which they were made: shared variables with
// default updates. A state is a row of numbers, or several rows.
#pragma once

#include <croton/shared.hpp>

#include <utility>
#include <vector>

namespace croton::ops {

struct DrawStates {
  std::vector<SharedVariable> states;
  std::vector<Variable> next;

  /// Adds a state, which becomes `update` by default.
  void add(SharedVariable state, const Variable& update);
  std::vector<std::pair<SharedVariable, Variable>> updates() const;

  /// All of them, one below the other: rows of so many columns; and back. ValueError unless dtype and sizes are those.
  Array stacked(DType dtype, std::int64_t columns) const;
  void set_stacked(const Array& rows, DType dtype, std::int64_t columns);
};

}  // namespace croton::ops
