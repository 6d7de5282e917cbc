// Convolutions on a device by cuDNN 9, which is loaded when the first one is asked for.
//
// Promises: one algorithm for a description, chosen by the library's heuristics (nothing is timed) among those that the
// library calls deterministic, so that results repeat bit for bit on one kind of device with one version of the
// library; float32 is multiplied as float32, without TF32; sums of products alone, no transforms (FFT, Winograd), in
// which an infinity or a NaN would reach results whose windows do not hold it.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/cuda/libraries/toolkit.hpp"
#include "runtime/cuda/stream.hpp"
#include "runtime/device/convolution.hpp"

namespace croton::runtime::cuda {

template <class Entries>
class LibraryBySettings;

/// Convolutions of one device. All functions may be called from any thread.
class Dnn {
 public:
  /// Whether there is a library; if not, `why` (may be null) receives the reason. Needs no device. ConfigError where
  /// the flag cuda_dnn names a file that cannot be used.
  static bool available(std::string* why = nullptr);

  /// Version, file and kind of place of the library. Throws DeviceError where available() is false.
  static FoundPart found();

  /// "9.19.0 at /usr/local/cuda/lib64/libcudnn.so.9". Throws DeviceError where available() is false.
  static std::string installed();

  /// Whether the library has a routine for such a convolution, as far as the description tells. Needs no library.
  static bool describes(const Convolution& convolution);

  /// `home`: the stream that the library has between convolutions; of the device that they are for. Throws DeviceError,
  /// with every place searched, where there is no library, and what available() throws.
  explicit Dnn(Stream home, Where where = {});
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  /// "cuDNN 9.19.0"
  std::string name() const;

  /// The memory that convolve needs for it: what the algorithm works in, and copies of arrays that the library cannot
  /// take as they lie. Chooses the algorithm, so that nothing is left to fail later but the launch. Throws DeviceError
  /// where the library knows no way, InternalError where describes() is false.
  std::size_t workspace_bytes(const Convolution& convolution, Where where = {});

  /// Puts the convolution into the stream, of the same device. `workspace` is aligned to 256 bytes, has
  /// workspace_bytes() and is used by nothing else until the convolution has run; no other memory is asked for. Throws
  /// OutOfMemory and DeviceError for the library's errors.
  void convolve(const Stream& stream, const Convolution& convolution, const ConvolutionArrays& arrays,
                std::span<std::byte> workspace, Where where = {});

 private:
  struct Library;
  struct Choice;
  struct Choices;
  class Maker;
  class StreamOfCall;

  static LibraryBySettings<Library>& libraries();
  static const Library& library();
  std::shared_ptr<const Choice> choose(const Convolution& convolution, Where where);
  void check(int status, const char* call, const std::string& what, Where where);

  const Stream home_;
  const Library& library_;
  void* handle_ = nullptr;
  StreamHandle current_ = nullptr;  // the library's
  std::unique_ptr<Choices> choices_;
};

}  // namespace croton::runtime::cuda
