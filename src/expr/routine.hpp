// Routine: the facts of an op that is more than loops over independent elements (running sums, sorting, scattering). It
// reads stored, contiguous operands and writes one stored, contiguous result by a fixed sequence of launches of one
// text: a template of codegen_templates/routines/, instantiated for the dtypes of the operands.
#pragma once

#include "expr/op.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace croton::expr {

/// The arguments from which a routine's work is computed when a plan is bound.
struct RoutineSizes {
  const Attrs& attrs;
  std::vector<DType> dtypes;  // of the inputs
  std::vector<Sizes> inputs;
  Sizes result;
};

/// One launch: items that may run in any order.
struct RoutinePhase {
  std::int64_t phase = 0;  // selects the part of the template, as p.phase
  std::int64_t items = 0;
  std::int64_t step = 0;  // a number of this launch, as p.step
  std::int64_t cost = 1;  // cost of one item, in elements, for the decision to use more threads
};

struct RoutineWork {
  std::vector<std::int64_t> numbers;  // in the order of RoutineInfo::numbers
  std::vector<RoutinePhase> phases;   // phases without items do not run
  std::int64_t workspace_bytes = 0;
};

struct RoutineInfo {
  std::string_view file;     // of codegen_templates/
  std::string_view code;     // a struct with `item(p, item)`; {0}, {1}, ... are replaced by the inputs' stored types
  std::string_view numbers;  // names of the numbers that the template reads from p, separated by spaces
  RoutineWork (*work)(const RoutineSizes&);
};

/// A shape as lines along one axis: (outer, length, inner).
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
  Lines(std::span<const std::int64_t> shape, std::int64_t axis) {
    std::int64_t at = 0;
    for (const std::int64_t size : shape) {
      (at < axis ? outer : at == axis ? length : inner) *= size;
      ++at;
    }
  }
  std::int64_t count() const { return outer * length * inner; }
  /// The position of element i of the line `line`, one of outer * inner.
  std::int64_t at(std::int64_t line, std::int64_t i) const {
    return (line / inner * length + i) * inner + line % inner;
  }
};

}  // namespace croton::expr
