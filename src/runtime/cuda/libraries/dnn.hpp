// Convolutions on a device by cuDNN 9, which is loaded for the first convolution.
//
// Promises: a description has one algorithm, which the library's heuristics choose (nothing is timed) among those that
// the library calls deterministic, so that results repeat bit for bit on one kind of device with one version of the
// library; float32 is multiplied as float32, without TF32; only sums of products are used, no transforms (FFT,
// Winograd), by which an infinity or a NaN would reach results whose windows do not have it.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/cuda/driver/stream.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"
#include "runtime/device/convolution.hpp"

namespace croton::runtime::cuda {

template <class Entries>
class LibraryBySettings;

namespace dnn {
struct HandleTag;
}

/// Convolutions of one device. All functions may be called from any thread.
class Dnn {
 public:
  /// Whether there is a library; if not, `why` (may be null) gets the reason. Needs no device. ConfigError if the flag
  /// cuda_dnn names a file that cannot be used.
  static bool available(std::string* why = nullptr);

  /// Version, file and kind of place of the library. Throws DeviceError if available() is false.
  static FoundPart found();

  /// "9.19.0 at /usr/local/cuda/lib64/libcudnn.so.9". Throws DeviceError if available() is false.
  static std::string installed();

  /// Whether the library has a routine for such a convolution, according to the description. Needs no library.
  static bool describes(const Convolution& convolution);

  /// `home`: the stream of the library between convolutions, and of their device. Throws DeviceError, with every place
  /// searched, if there is no library, and the errors of available().
  explicit Dnn(Stream home, Where where = {});
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  /// "cuDNN 9.19.0"
  std::string name() const;

  /// The memory that convolve needs for it: the workspace of the algorithm, and copies of arrays whose layout the
  /// library does not support. Chooses the algorithm, so that later only the launch can fail. Throws DeviceError if the
  /// library has no algorithm, InternalError if describes() is false.
  std::size_t workspace_bytes(const Convolution& convolution, Where where = {});

  /// Puts the convolution into the stream, which is of the same device. `workspace` is aligned to 256 bytes, has
  /// workspace_bytes() and has no other use until the convolution has run; no other memory is allocated. Throws
  /// OutOfMemory and DeviceError for the library's errors.
  void convolve(const Stream& stream, const Convolution& convolution, const ConvolutionArrays& arrays,
                std::span<std::byte> workspace, Where where = {});

 private:
  struct Library;
  struct Choice;
  struct Choices;
  class Maker;
  class StreamScope;

  static LibraryBySettings<Library>& libraries();
  static const Library& library();
  std::shared_ptr<const Choice> choose(const Convolution& convolution, Where where);
  void check(int status, const char* call, const std::string& what, Where where);

  const Stream home_;
  const Library& library_;
  dnn::HandleTag* handle_ = nullptr;
  StreamHandle current_ = nullptr;  // of the library
  std::unique_ptr<Choices> choices_;
};

}  // namespace croton::runtime::cuda
