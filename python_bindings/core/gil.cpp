#include "core/gil.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace croton::python {
namespace {

// Python's main thread, in which the interpreter also ends.
unsigned long main_thread = 0;
bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

// The number of threads, except the main one, that are in C++ without the GIL. The process must not end while there are
// any: its end destroys objects that they use.
std::atomic<int> threads_inside{0};
thread_local int depth = 0;  // of calls into C++; callbacks nest them
std::atomic<bool> exiting{false};

/// For Python's atexit: waits until other threads have left C++; they cannot enter it again. It does not wait longer
/// than five seconds, for a kernel that runs for long.
void stop_other_threads() {
  exiting = true;
  PyThreadState* state = PyEval_SaveThread();  // Python callbacks need the GIL to finish
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (threads_inside.load() > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

/// Runs Python's signal handlers, which do not run while the main thread is in C++.
void check_signals() {
  const AcquireGil gil;
  if (in_python([] { return PyErr_CheckSignals(); }) != 0) throw nanobind::python_error();
}

void enter() {
  if (++depth == 1) ++threads_inside;
}
void leave() {
  if (--depth == 0) --threads_inside;
}
/// In the child of a fork: the thread that forked is the only one, and Python's main thread.
void reset_after_fork() {
  main_thread = PyThread_get_thread_ident();
  threads_inside = depth > 0 ? 1 : 0;  // a callback may fork
}
void block_at_exit() {
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
  pthread_atfork(nullptr, nullptr, reset_after_fork);
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(&stop_other_threads));
}

ReleaseGil::ReleaseGil() : state_(PyEval_SaveThread()) {
  if (is_main_thread()) {
    scope_.emplace(&check_signals);
    return;
  }
  enter();
  block_at_exit();
}
ReleaseGil::~ReleaseGil() {
  if (!scope_) block_at_exit();
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
        // An interpreter that is ending accepts no other threads; the main one still frees objects.
        if (!Py_IsInitialized() && !is_main_thread()) sleep_until_exit();
        return PyGILState_Ensure();
      })) {}
AcquireGil::~AcquireGil() { PyGILState_Release(state_); }

}  // namespace croton::python
