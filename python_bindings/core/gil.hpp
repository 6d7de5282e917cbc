// Scopes that release and acquire the GIL. The module uses no others: with nanobind's own guards, an interpreter that
// has ended would unwind a daemon thread through destructors, which ends the process.
#pragma once

#include <croton/interrupt.hpp>

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

namespace croton::python {

/// Blocks the thread until the process ends.
[[noreturn]] void sleep_until_exit() noexcept;
/// Keeps other threads out of C++ when Python ends. Called in the main thread when the module is loaded.
void prepare_for_exit();

/// work(), a call of Python's C interface in which an interpreter that ends may unwind the thread (pthread_exit, up to
/// Python 3.13): the thread then sleeps here until the process ends, as Python 3.14 does itself. `work` must have no
/// objects with destructors: those of Python objects need the GIL.
template <class Work>
auto in_python(const Work& work) {
#if defined(__GLIBCXX__)
  try {
    return work();
  } catch (const abi::__forced_unwind&) {
    sleep_until_exit();
  }
#else
  return work();
#endif
}

/// A scope without the GIL, in which long work checks for signals (croton/interrupt.hpp).
class ReleaseGil {
 public:
  ReleaseGil();
  ~ReleaseGil();
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  std::optional<InterruptScope> scope_;  // in the main thread, which handles signals
  PyThreadState* state_;
};

/// A scope with the GIL, for callbacks from C++, which call Python by call_python.
class AcquireGil {
 public:
  AcquireGil();
  ~AcquireGil();
  AcquireGil(const AcquireGil&) = delete;
  AcquireGil& operator=(const AcquireGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// function(*arguments), in a callback.
nanobind::object call_python_with(const nanobind::object& function, const nanobind::tuple& arguments);
template <class... Arguments>
nanobind::object call_python(const nanobind::object& function, Arguments&&... arguments) {
  return call_python_with(
      function, nanobind::make_tuple<nanobind::rv_policy::automatic_reference>(std::forward<Arguments>(arguments)...));
}

}  // namespace croton::python
