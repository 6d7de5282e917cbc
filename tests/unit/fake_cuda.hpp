// Replaces libcuda by the fake driver (tests/fake_cuda) for one test. It is loaded, not linked, so that its symbols do
// not hide the real ones.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "fake_cuda/control.hpp"
#include "folders.hpp"
#include "runtime/cuda/driver/driver.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"

namespace croton::test {

/// The user's line in all of these tests.
inline constexpr Where user_line("/home/user/train.py", 7);

class FakeCuda {
 public:
  FakeCuda() {
    control<decltype(fake_cuda_reset)>("fake_cuda_reset")();
    runtime::cuda::set_toolkit({.root = fake_cuda_folder()});
    runtime::cuda::set_driver_library(path());
  }
  ~FakeCuda() {
    runtime::cuda::set_driver_library("");
    runtime::cuda::set_toolkit(toolkit_before_);
  }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  static std::string path() { return fake_cuda_folder() + "/libcroton_fake_cuda.so"; }
  /// A newly started driver: there is a table of entries for each name of the file.
  static void restart() {
    static std::string name = fake_cuda_folder() + "/";
    name += "./";
    runtime::cuda::set_driver_library(name + "libcroton_fake_cuda.so");
  }

  void reset() { control<decltype(fake_cuda_reset)>("fake_cuda_reset")(); }
  void set(const char* setting, long long value) { control<decltype(fake_cuda_set)>("fake_cuda_set")(setting, value); }
  void fail(const std::string& entry, long long nth, int code, long long count = 1) {
    control<decltype(fake_cuda_fail)>("fake_cuda_fail")(entry.c_str(), nth, count, code);
  }
  /// Sets the runner of texts that the fake NVRTC compiled.
  void set_runner(const fake_cuda::Runner& runner) {
    control<decltype(fake_cuda_set_runner)>("fake_cuda_set_runner")(runner);
  }
  long long calls(const std::string& entry) {
    return control<decltype(fake_cuda_calls)>("fake_cuda_calls")(entry.c_str());
  }
  long long failures(const std::string& entry) {
    return control<decltype(fake_cuda_failures)>("fake_cuda_failures")(entry.c_str());
  }
  long long live(const char* kind) { return control<decltype(fake_cuda_live)>("fake_cuda_live")(kind); }
  std::string faults() { return control<decltype(fake_cuda_faults)>("fake_cuda_faults")(); }
  void start_trace() { set("trace", 1); }
  std::string trace() { return control<decltype(fake_cuda_trace)>("fake_cuda_trace")(); }
  std::string entries() { return control<decltype(fake_cuda_entries)>("fake_cuda_entries")(); }

  /// The objects that were never released: "2 streams, 1 events"; empty if there are none.
  std::string leaks() {
    std::string text;
    for (const char* kind : {"contexts", "streams", "events", "allocations", "pinned", "modules", "graphs",
                             "executable graphs", "blaslt", "dnn"}) {
      if (const long long count = live(kind); count != 0) text += std::to_string(count) + " " + kind + ", ";
    }
    return text;
  }

 private:
  template <class Function>
  static Function* control(const char* name) {
    static runtime::SharedLibrary library(
        {"the fake driver", {"libcroton_fake_cuda.so"}, {fake_cuda_folder()}, false, "the tests"});
    return library.function<Function>(name);
  }

  runtime::cuda::ToolkitSettings toolkit_before_ = runtime::cuda::toolkit();
};

/// Code of the fake device with these kernels.
inline std::vector<std::byte> fake_cubin(const std::vector<std::string>& kernels) {
  std::string text =
      "\x7f"
      "ELF\n";
  for (const std::string& kernel : kernels) text += "kernel " + kernel + "\n";
  text += '\0';  // machine code contains its size; this text ends with a zero
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The message of the croton::Error that `body` raises; "" if it raises none. The error must have the type `Kind`.
template <class Kind, class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Kind& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another type of error: ") + error.what();
  }
  return "";
}

}  // namespace croton::test
