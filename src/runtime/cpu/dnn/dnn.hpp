// Convolutions on the CPU and their gradients, and products of matrices, by oneDNN, if it is found when the first one
// is prepared.
//
// Promises: nothing is linked and the environment is not changed; the library runs on one thread a call, and the work
// is split over our pool into pieces that depend on the description alone, so that the bits of a result do not depend
// on the number of threads; all arithmetic is float32.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/convolution.hpp"
#include "runtime/device/matrix_product.hpp"

namespace croton::runtime::cpu {

namespace dnn {
class Library;
class PreparedConvolution;
}  // namespace dnn

/// A convolution that oneDNN has a routine for, with the memory that it needs. It may run on several threads at once.
class DnnConvolution final : public ReadyConvolution {
 public:
  explicit DnnConvolution(std::unique_ptr<const dnn::PreparedConvolution> prepared);
  ~DnnConvolution() override;
  DnnConvolution(const DnnConvolution&) = delete;
  DnnConvolution& operator=(const DnnConvolution&) = delete;

  /// Writes the result. The arrays must not overlap it. It allocates memory only for more threads than at its
  /// preparation, or for several callers at once: then OutOfMemory may be raised. DeviceError if the library reports a
  /// failure; no other error.
  void run(const ConvolutionArrays& arrays) const override;

  /// For logs: "forward: jit:avx512_core", "by image: ...", "by filters: ...", and the arrays that are copied into
  /// another order.
  const std::string& routine() const;
  /// The number of pieces; each thread takes one after another.
  std::size_t pieces() const;

 private:
  std::unique_ptr<const dnn::PreparedConvolution> prepared_;
};

/// The library for convolutions, and for products that it computes faster than BLAS. All functions may be called from
/// any thread.
class Dnn {
 public:
  /// Chooses the library for later preparations: "auto" (the first one found), "none", or the path of one. It is loaded
  /// at its first use. Throws ConfigError if `choice` is empty.
  static void configure(const std::string& choice);
  /// True if there is a library; if not, `why` gets the places that were searched and the package that has it.
  /// Throws DeviceError if a path was chosen and cannot be used.
  static bool available(std::string* why = nullptr);
  /// The library in use; loads it first, as available() does.
  static const Dnn& instance();

  /// For logs: "oneDNN 2.6.3 (libdnnl.so.2.6)", or "none".
  const std::string& name() const { return name_; }

  /// The convolution, ready to run; null, and `why` gets the reason, if there is no library or it has no routine for
  /// it: for other dtypes than float32, empty sizes, strides and spreads together, and others (see dnn::recognise).
  /// Takes some milliseconds if code is made for it. Throws OutOfMemory.
  std::shared_ptr<const DnnConvolution> prepare(const Convolution& convolution, std::string* why = nullptr) const;

  /// One float32 product (`batch` is ignored) on the calling thread, unsplit; its sizes must have been checked. False
  /// if there is no library, and then nothing is written, or if the library reports a failure.
  bool gemm(const MatrixProduct& product) const noexcept;

 private:
  friend struct DnnLoader;
  std::string name_ = "none";
  std::string missing_;  // why there is no library
  std::shared_ptr<const dnn::Library> library_;
};

}  // namespace croton::runtime::cpu
