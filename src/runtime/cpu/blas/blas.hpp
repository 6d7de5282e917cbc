// Matrix products on the CPU, by a library with the CBLAS interface that is found when the first product runs
// (OpenBLAS, MKL, BLIS), by oneDNN, or by a plain loop of our own.
//
// Promises: nothing is linked and the environment is not changed; the library runs on one thread, and large products
// are split over the pool into blocks whose sizes depend on the product alone, so that the bits of the result do not
// depend on the number of threads; C is not read if beta is 0; sizes beyond 32 bits work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/matrix_product.hpp"

namespace croton::runtime::cpu {

/// Another library that products could use here.
struct OtherBlas {
  std::string place;  ///< for the flag blas: a path, or a name that the loader knows
  std::string name;   ///< as Blas::name()
  double speed = 0;   ///< on one thread, for a float32 product of 512 x 512: 2 takes half of the time of the one in use
};

/// The library for products. All functions may be called from any thread.
class Blas {
 public:
  /// Chooses the library for later products: "auto" (the first one found), "none" (our own loop) or the path of one. It
  /// is loaded at its first use. Throws ConfigError if `choice` is empty.
  static void configure(const std::string& choice);
  /// True if there is a library; if not, `why` gets the places that were searched and the package that has it.
  /// Throws DeviceError if a path was chosen and cannot be used.
  static bool available(std::string* why = nullptr);
  /// The library in use; loads it first, as available() does.
  static const Blas& instance();
  /// The others that "auto" would try, measured one after the other in turns with the library in use, in some tenths of
  /// a second. For reports: they stay loaded.
  static std::vector<OtherBlas> others();

  /// For logs: "OpenBLAS 0.3.21 (libopenblas.so.0)", or "none".
  const std::string& name() const { return name_; }
  /// The processor whose kernels OpenBLAS runs, such as "SkylakeX"; empty for other libraries.
  const std::string& core() const { return core_; }
  /// The processor that OpenBLAS detected by itself, if it runs other kernels because Croton asked for them; else
  /// empty.
  const std::string& detected_core() const { return detected_core_; }
  /// True if the user did not choose this library and oneDNN, where available, may be faster.
  bool yields_to_dnn() const { return yields_to_dnn_; }
  /// One product (`batch` is ignored) on the calling thread, unsplit; without a library as gemm_fallback. The sizes
  /// must have been checked.
  void gemm(const MatrixProduct& product) const noexcept;

 private:
  friend struct BlasLoader;
  using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                         const float* b, int ldb, float beta, float* c, int ldc);
  using Dgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double* a,
                         int lda, const double* b, int ldb, double beta, double* c, int ldc);

  std::string name_ = "none";
  std::string missing_;  // why there is no library
  std::string core_, detected_core_;
  bool yields_to_dnn_ = false;
  Sgemm sgemm_ = nullptr;
  Dgemm dgemm_ = nullptr;
};

/// The libraries of products, for logs: "OpenBLAS 0.3.21 (libopenblas.so.0), large float32 ones: oneDNN 2.6.3
/// (libdnnl.so.2), those of a few rows: Croton".
std::string product_libraries();

/// The products on the thread pool, by the BLAS library, or by oneDNN where that is faster and the user chose no
/// library. Throws InternalError if dtype, a size or a leading dimension is not valid.
void gemm(const MatrixProduct& product);

/// One product by a plain blocked loop on the calling thread: correct, in a fixed order of operations, and slow.
void gemm_fallback(const MatrixProduct& product) noexcept;

}  // namespace croton::runtime::cpu
