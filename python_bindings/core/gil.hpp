// The GIL, given back and taken: nothing else in the module does it (nanobind's own guards would let an interpreter
// that has ended unwind a daemon thread through destructors, which ends the process).
#pragma once

#include <croton/interrupt.hpp>

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

namespace croton::python {

[[noreturn]] void sleep_until_exit() noexcept;
/// When the module is loaded, by the main thread: when Python ends, other threads are kept out of C++.
void prepare_for_exit();

/// work(), a function of Python's C interface, by which an interpreter that ends may unwind a thread (pthread_exit, up
/// to Python 3.13): it then sleeps here until the process is gone, as it does from Python 3.14 on. Nothing in `work`
/// may need a destructor: those of Python's objects want the GIL.
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

/// While it lives, the thread does not hold the GIL, and long work asks for signals (croton/interrupt.hpp).
class ReleaseGil {
 public:
  ReleaseGil();
  ~ReleaseGil();
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  std::optional<InterruptScope> scope_;  // of the main thread, which sees to signals
  PyThreadState* state_;
};

/// While it lives, the thread holds the GIL; for callbacks from C++, which call Python by call_python.
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
