// The CUDA simulator: it runs your CUDA kernels on the host, thread by thread, and reports invalid operations. It needs
// no GPU and no CUDA toolkit. docs/use/simulator.md explains the checks.
#pragma once

#include <croton/array.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace croton {

/// An argument of a kernel: an array, passed as a pointer to device memory, or a number.
class CudaArgument {
 public:
  /// An array that is copied to the device before the launch and back after it (unless it is read-only). ValueError if
  /// not contiguous.
  CudaArgument(Array array);
  template <Element T>
  CudaArgument(T number) : bytes_(sizeof number) {
    std::memcpy(value_.data(), &number, sizeof number);
  }
  /// An array in uninitialised device memory: a read before a write is reported.
  static CudaArgument output(Array array);

  bool is_array() const { return is_array_; }
  bool is_output() const { return is_output_; }
  const Array& array() const { return array_; }
  const void* number() const { return value_.data(); }
  std::size_t bytes() const { return bytes_; }  ///< of the parameter: a pointer or the number

 private:
  Array array_;
  bool is_array_ = false;
  bool is_output_ = false;
  std::array<unsigned char, 16> value_{};
  std::size_t bytes_;
};

/// The launch configuration between <<< and >>>, and the order in which the simulator runs blocks and threads.
struct CudaLaunch {
  std::string kernel;  ///< its name; "sum<float>" for an instance of a template
  std::array<unsigned, 3> blocks{1, 1, 1};
  std::array<unsigned, 3> threads{1, 1, 1};
  std::size_t shared_bytes = 0;  ///< dynamic shared memory
  bool cooperative = false;      ///< all blocks run at the same time, and may use grid barriers
  bool strict = false;           ///< races by the memory model of PTX, not by what existing programs assume
  std::uint64_t seed = 0;        ///< of the order; a correct kernel gives the same results for every seed
};

/// The text of CUDA kernels. Compiled when a kernel is first launched; copies share the compiled code. May be used from
/// several threads at once.
class CudaText {
 public:
  /// `file` is its name in messages.
  explicit CudaText(std::string text, std::string file = "kernel.cu");

  /// Compiles a kernel before its first launch. ValueError if the text does not compile, or has features that are not
  /// simulated: assembly, calls of functions that it does not define, and others (docs/use/simulator.md).
  void compile(const std::string& kernel) const;

  /// Runs a kernel to its end. ValueError if the text does not compile or the arguments do not match the kernel's
  /// parameters; DeviceError with the report if the launch exceeds the limits of a GPU (those of the flag
  /// cuda_simulator_architecture) or the kernel does an invalid
  /// operation: then no array has changed.
  void launch(const CudaLaunch& launch, std::span<const CudaArgument> arguments) const;
  void launch(const CudaLaunch& launch, std::initializer_list<CudaArgument> arguments) const {
    this->launch(launch, std::span<const CudaArgument>(arguments.begin(), arguments.size()));
  }

  /// The position of the kernel that runs in this thread, as far as known: its simulated thread, and the line of its
  /// last access or call. For signal handlers.
  static std::string describe_running();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace croton
