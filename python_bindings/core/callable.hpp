// Compiled functions as Python objects.
#pragma once

#include <croton/function.hpp>

#include <utility>
#include <vector>

#include "core/bindings.hpp"

namespace croton::python {

/// A compiled function with the names, types and rules of its inputs, which convert arguments.
struct Callable {
  Function function;
  std::vector<In> inputs;
  bool single;
  Py_ssize_t outputs;                        ///< negative: for inspection only; Python cannot call it
  nb::tuple arguments = {};                  ///< those of croton.function
  mutable std::vector<Argument> spare = {};  ///< empty; its memory is reused for the next call's arguments
};

/// A function whose inputs have no Python variables, for inspection of its plan, kernels and transfers.
inline Callable inspectable(Function function) { return {std::move(function), {}, false, -1, {}}; }

}  // namespace croton::python
