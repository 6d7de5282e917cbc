// References to Python objects that C++ may copy and drop on any thread.
#pragma once

#include <memory>
#include <utility>

#include "core/bindings.hpp"
#include "core/gil.hpp"

namespace croton::python {

/// Copies of the reference do not need the GIL; any use of the object does.
using ObjectRef = std::shared_ptr<const nb::object>;

/// A reference that acquires the GIL to drop the object.
inline ObjectRef make_ref(nb::object object) {
  return {new nb::object(std::move(object)), [](const nb::object* owned) {
            if (!nb::is_alive()) return;  // the interpreter has ended, with all its objects
            const AcquireGil gil;
            delete owned;
          }};
}

}  // namespace croton::python
