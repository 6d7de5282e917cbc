// A CUDA driver, a cuBLASLt, a cuDNN and an NVRTC for tests: shared libraries with the real entry points, in which
// device memory is host memory. They check errors that a real device would ignore or report late: every address against
// a table, the order of streams, operations that a captured stream cannot contain, pinned memory that changes or is
// freed before its copy has run, objects that are never released. A finding is a *fault*; a test must end without
// faults.
//
// Work runs when it is added to a stream. With delay=1 it runs only when something waits for it; with delay=2 this
// holds only for kernels and products, and the rest runs as soon as possible, so that copies overtake work for which
// they do not wait: this finds missing waits. Kernels are host functions with fixed names (kernels.cpp), or texts: the
// code from the fake NVRTC contains the text, and the runner that the test has set executes its launches.
//
// Any call can be made to fail. For whole programs the environment variable FAKE_CUDA does so, with settings as below
// and failures as ENTRY=CODE: FAKE_CUDA=devices=0,cuInit=100. FAKE_CUDA_RUNNER names a library with a runner of texts
// for them (libcroton_fake_runner.so).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/cuda/driver/driver_types.hpp"

namespace fake_cuda {

/// A piece of the memory of a device.
struct Memory {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

struct LaunchConfiguration {
  unsigned blocks = 1, threads = 1;
  unsigned shared_bytes = 0;  // of dynamic shared memory
  bool cooperative = false;
};

/// A launch, executed in the order of its stream with all memory that the device has at that time. Returns "" on
/// success; any other text is a fault and loses the device.
using Launch = std::function<std::string(const std::vector<Memory>&)>;
/// Makes a launch of a kernel from its source text; the parameters must be copied.
using Runner = std::function<Launch(const std::string& text, const std::string& kernel, const LaunchConfiguration&,
                                    void** parameters)>;

/// A mark in code, before the text from which the code was made.
inline constexpr const char* text_mark = "---- text ----\n";

}  // namespace fake_cuda

extern "C" {

/// Sets the runner of texts, also for the time after reset.
void fake_cuda_set_runner(const fake_cuda::Runner& runner);
/// Removes objects, settings, planned failures and faults; the counts of past failures remain.
void fake_cuda_reset();
/// devices, version (13000), capability (90), memory (bytes of a device), pools, peers, delay, trace (begins or ends a
/// trace), max_threads (of a block of any kernel, 1024), multiprocessors (132), resident (blocks of any kernel on one
/// of them, 2), cooperative (whether there are such launches, 1), split_k_only (cuBLASLt), random_order_only,
/// no_channels_last (cuDNN).
void fake_cuda_set(const char* setting, long long value);
/// The nth call of this entry from now on, and the `count - 1` calls after it, return `code` and do nothing else,
/// except that a code that loses the device does so.
void fake_cuda_fail(const char* entry, long long nth, long long count, int code);
/// Calls since reset, and failures of this kind since the process began.
long long fake_cuda_calls(const char* entry);
long long fake_cuda_failures(const char* entry);
/// Objects not released: contexts, streams, events, allocations, pinned, modules, graphs, executable graphs, blaslt,
/// dnn.
long long fake_cuda_live(const char* kind);
/// The faults, one per line.
const char* fake_cuda_faults();
/// The operations that were requested and those that ran, one per line: "ran cuMemcpyHtoDAsync in stream 2", where
/// streams are numbered in order of creation. Only copies, kernels and products.
const char* fake_cuda_trace();
/// The entries of all libraries that were loaded, one per line.
const char* fake_cuda_entries();
}

// For the fake cuBLASLt and cuDNN, whose work runs in streams of the fake driver.
namespace fake_cuda {

/// Counts a call; returns the planned failure, if there is one.
int enter(const char* entry);
void register_entry(const char* entry);
void count_live(const char* kind, long long change);
/// False for a stream that does not exist.
bool enqueue(croton::runtime::cuda::StreamHandle stream, std::function<void()> work);
/// Whether the bytes are in usable device memory; a fault if not.
bool require_device_memory(const void* at, std::size_t bytes, const char* by);
long long setting(const char* name);

struct Registration {
  explicit Registration(const char* entry) { register_entry(entry); }
};

}  // namespace fake_cuda
