// Compiled functions as Python has them.
#pragma once

#include <croton/function.hpp>

#include <utility>
#include <vector>

#include "core/bindings.hpp"

namespace croton::python {

/// A compiled function and what is needed to convert arguments: names, types and rules of its inputs.
struct Callable {
  Function function;
  std::vector<In> inputs;
  bool single;
  Py_ssize_t outputs;                        ///< negative: the function is to look at, and is not called by Python
  nb::tuple arguments = {};                  ///< of `function`
  mutable std::vector<Argument> spare = {};  ///< empty: its memory is that of the next call's arguments
};

/// A function whose inputs Python has no variables of, for its plan, kernels and transfers.
inline Callable to_look_at(Function function) { return {std::move(function), {}, false, -1, {}}; }

}  // namespace croton::python
