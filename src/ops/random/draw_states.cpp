#include "ops/random/draw_states.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <numeric>

namespace croton::ops {
namespace {

std::vector<std::int64_t> row_counts(const DrawStates& all) {
  std::vector<std::int64_t> counts;
  for (const SharedVariable& state : all.states) counts.push_back(state.rank() == 1 ? 1 : state.get_value().shape(0));
  return counts;
}

std::int64_t total(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

void DrawStates::add(SharedVariable state, const Variable& update) {
  state.set_default_update(update);
  states.push_back(std::move(state));
  next.push_back(update);
}

std::vector<std::pair<SharedVariable, Variable>> DrawStates::updates() const {
  std::vector<std::pair<SharedVariable, Variable>> all;
  for (std::size_t n = 0; n < states.size(); ++n) all.emplace_back(states[n], next[n]);
  return all;
}

Array DrawStates::stacked(DType dtype, std::int64_t columns) const {
  const std::vector<std::int64_t> counts = row_counts(*this);
  const Array rows = Array::empty(dtype, {total(counts), columns});
  std::int64_t row = 0;
  for (std::size_t n = 0; n < states.size(); ++n) {
    rows.slice(0, row, row + counts[n]).copy_from(states[n].get_value().reshape({counts[n], columns}));
    row += counts[n];
  }
  return rows;
}

void DrawStates::set_stacked(const Array& rows, DType dtype, std::int64_t columns) {
  const std::vector<std::int64_t> counts = row_counts(*this);
  const Sizes wanted{total(counts), columns};
  if (rows.dtype() != dtype || rows.shape() != wanted)
    throw ValueError(fmt::format("set_state: the state of these streams is {}[{}, {}], as state() gives it, not {}",
                                 name_of(dtype), wanted[0], columns, Type{rows.dtype(), rows.shape()}.to_string()));
  std::int64_t row = 0;
  for (std::size_t n = 0; n < states.size(); ++n) {
    const Array part = rows.slice(0, row, row + counts[n]);
    states[n].set_value(states[n].rank() == 1 ? part.row(0) : part);
    row += counts[n];
  }
}

}  // namespace croton::ops
