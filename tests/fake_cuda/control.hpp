// A CUDA driver, a cuBLASLt, a cuDNN and an NVRTC for tests: shared libraries with the real entry points, in which
// device memory is host memory. They check errors that a real device would ignore or report late: every address against
// a table, the order of streams, operations that a captured stream cannot contain, pinned memory that changes or is
// freed before its copy has run, objects that are never released. A finding is a *fault*; a test must end with none.
//
// Work runs when it is put into a stream, or, with delay=1, only when something waits for it, or, with delay=2, kernels
// and products only then and the rest as soon as possible, so that copies overtake work that they do not wait for: a
// missing wait is found. Kernels are host functions with fixed names (kernels.cpp), or texts: the code made by the
// NVRTC contains the text, and the runner that the test has set executes its launches.
//
// Any call can be made to fail. For whole programs the environment does that, with settings as below and failures as
// ENTRY=CODE: FAKE_CUDA=devices=0,cuInit=100. FAKE_CUDA_RUNNER names a library with a runner of texts for them
// (libcroton_fake_runner.so).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/cuda/driver_types.hpp"

namespace fake_cuda {

/// A piece of the memory of a device.
struct Memory {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

/// A launch, run in the order of its stream with all memory that the device has then. "" if it went well; else what was
/// wrong, which is a fault and loses the device.
using Launch = std::function<std::string(const std::vector<Memory>&)>;
/// Makes a launch of a kernel from the text that it was compiled from; the parameters must be copied.
using Runner = std::function<Launch(const std::string& text, const std::string& kernel, unsigned blocks,
                                    unsigned threads, bool cooperative, void** parameters)>;

/// Stands in code in front of the text that it was made from.
inline constexpr const char* text_mark = "---- text ----\n";

}  // namespace fake_cuda

extern "C" {

/// Who runs texts from now on, also after reset.
void fake_cuda_set_runner(const fake_cuda::Runner& runner);
/// Forgets objects, settings, failures to come and faults; not the counts of failures that happened.
void fake_cuda_reset();
/// devices, version (13000), capability (90), memory (bytes of a device), pools, peers, delay, trace (a trace begins,
/// or ends), max_threads (of a block of any kernel, 1024), multiprocessors (132), resident (blocks of any kernel on one
/// of them, 2), cooperative (whether there are such launches, 1), split_k_only (cuBLASLt),
/// random_order_only, no_channels_last (cuDNN).
void fake_cuda_set(const char* setting, long long value);
/// The nth call from now of that entry returns `code` and does nothing else; so do the `count - 1` after it. A code
/// that loses the device does.
void fake_cuda_fail(const char* entry, long long nth, long long count, int code);
/// Calls since reset, and failures made so since the process began.
long long fake_cuda_calls(const char* entry);
long long fake_cuda_failures(const char* entry);
/// Objects not released: contexts, streams, events, allocations, pinned, modules, graphs, executable graphs, blaslt,
/// dnn.
long long fake_cuda_live(const char* kind);
/// What was done wrong, a line each.
const char* fake_cuda_faults();
/// What was asked for and what ran, a line each: "ran cuMemcpyHtoDAsync in stream 2", by the order in which streams
/// were made. Of copies, kernels and products.
const char* fake_cuda_trace();
/// The entries of all libraries that were loaded, a line each.
const char* fake_cuda_entries();
}

// For the fake cuBLASLt and cuDNN, whose work runs in the fake driver's streams.
namespace fake_cuda {

/// Counts a call; what it must return, where a failure was asked for.
int enter(const char* entry);
void register_entry(const char* entry);
void count_live(const char* kind, long long change);
/// False for a stream that there is not.
bool enqueue(croton::runtime::cuda::StreamHandle stream, std::function<void()> work);
/// Whether the bytes are in device memory that may be used; a fault if not.
bool require_device_memory(const void* at, std::size_t bytes, const char* by);
long long setting(const char* name);

struct Registration {
  explicit Registration(const char* entry) { register_entry(entry); }
};

}  // namespace fake_cuda
