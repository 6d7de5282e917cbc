#include "core/gil.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace croton::python {
namespace {

// The thread that Python runs in by itself, and ends in.
unsigned long main_thread = 0;
bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

// Threads but the main one that are in C++ without the GIL. The process must not end while they are: what the end
// destroys is what they use.
std::atomic<int> threads_inside{0};
thread_local int depth = 0;  // of calls into C++, which callbacks nest
std::atomic<bool> exiting{false};

/// Python's atexit: other threads come out of C++, and stay at its border. One that does not come within the time (a
/// kernel of many seconds) is left to its luck.
void hold_other_threads() {
  exiting = true;
  PyThreadState* state = PyEval_SaveThread();  // callbacks of Python's want the GIL to come to their ends
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (threads_inside.load() > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

/// Python sees to signals where it runs; here for it, as it does not.
void see_to_signals() {
  const AcquireGil gil;
  if (in_python([] { return PyErr_CheckSignals(); }) != 0) throw nanobind::python_error();
}

void enter() {
  if (++depth == 1) ++threads_inside;
}
void leave() {
  if (--depth == 0) --threads_inside;
}
/// In a child of fork: the thread that forked is Python's main one there, and the only one.
void be_main_thread() {
  main_thread = PyThread_get_thread_ident();
  threads_inside = depth > 0 ? 1 : 0;  // a callback may fork
}
void stay_outside_at_exit() {
  if (!exiting) return;
  --threads_inside;
  sleep_until_exit();
}

}  // namespace

void sleep_until_exit() noexcept {
  for (;;) pause();
}

void prepare_for_exit() {
  const nanobind::object thread = nanobind::module_::import_("threading").attr("main_thread")();
  main_thread = nanobind::cast<unsigned long>(thread.attr("ident"));
  pthread_atfork(nullptr, nullptr, be_main_thread);
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(&hold_other_threads));
}

ReleaseGil::ReleaseGil() : state_(PyEval_SaveThread()) {
  if (is_main_thread()) {
    scope_.emplace(&see_to_signals);
    return;
  }
  enter();
  stay_outside_at_exit();
}
ReleaseGil::~ReleaseGil() {
  if (!scope_) stay_outside_at_exit();
  in_python([this] { PyEval_RestoreThread(state_); });
  if (!scope_) leave();
}

nanobind::object call_python_with(const nanobind::object& function, const nanobind::tuple& arguments) {
  PyObject* result = in_python([&] { return PyObject_CallObject(function.ptr(), arguments.ptr()); });
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

AcquireGil::AcquireGil()
    : state_(in_python([] {
        // Once the interpreter is ending it has no place for other threads; the main one still frees objects.
        if (!Py_IsInitialized() && !is_main_thread()) sleep_until_exit();
        return PyGILState_Ensure();
      })) {}
AcquireGil::~AcquireGil() { PyGILState_Release(state_); }

}  // namespace croton::python
