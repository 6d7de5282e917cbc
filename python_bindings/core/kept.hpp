// Python objects that C++ may copy and drop on any thread.
#pragma once

#include <memory>
#include <utility>

#include "core/bindings.hpp"
#include "core/gil.hpp"

namespace croton::python {

/// Only its copies are free of the GIL: what is inside needs it.
using Kept = std::shared_ptr<const nb::object>;

inline Kept keep(nb::object object) {
  return {new nb::object(std::move(object)), [](const nb::object* held) {
            if (!nb::is_alive()) return;  // the interpreter has ended, and took the object along
            const AcquireGil gil;
            delete held;
          }};
}

}  // namespace croton::python
