// Matrix products on a device by cuBLASLt, which is loaded for the first product.
//
// Promises: a product of given sizes, leading dimensions and alignment has one algorithm, which the library's heuristic
// chooses among those that add along k in one sequence (no split-K, no atomics), so that results repeat bit for bit on
// one kind of device with one version of the library; float32 is multiplied as float32 unless TF32 is requested; C is
// not read if beta is 0.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/cuda/driver/stream.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"
#include "runtime/device/matrix_product.hpp"

namespace croton::runtime::cuda {

template <class Entries>
class LibraryBySettings;

namespace blaslt {
struct HandleTag;
}

/// The product of runtime/device/matrix_product.hpp; its pointers are addresses of the device.
using MatrixProduct = runtime::MatrixProduct;

enum class Precision : std::uint8_t {
  full,
  tf32,  ///< float32 operands are rounded to 10 bits of mantissa first; several times faster
};

/// Products of one device. All functions may be called from any thread.
class BlasLt {
 public:
  /// Whether there is a library; if not, `why` (may be null) gets the reason. Needs no device. ConfigError if the flag
  /// cuda_blaslt names a file that cannot be used.
  static bool available(std::string* why = nullptr);

  /// Version, file and kind of place of the library. Throws DeviceError if available() is false.
  static FoundPart found();

  /// "13.0.2 at /usr/local/cuda/lib64/libcublasLt.so.13". Throws DeviceError if available() is false.
  static std::string installed();

  /// Throws DeviceError, with every place searched, if there is no library, and the errors of available().
  explicit BlasLt(std::shared_ptr<Context> context, Where where = {});
  ~BlasLt();
  BlasLt(const BlasLt&) = delete;
  BlasLt& operator=(const BlasLt&) = delete;

  /// "cuBLASLt 13.0.2"
  std::string name() const;

  /// The memory that gemm needs for such a product, with any pointers. Chooses algorithms, so that later only the
  /// launch can fail.
  std::size_t workspace_bytes(const MatrixProduct& product, Precision precision = Precision::full, Where where = {});

  /// Puts the product into the stream, which is of the same device. `workspace` is aligned to 256 bytes, has
  /// workspace_bytes() and has no other use until the product has run. Throws InternalError if dtype, a size or a
  /// leading dimension is not valid, OutOfMemory and DeviceError for the library's errors.
  void gemm(const Stream& stream, const MatrixProduct& product, std::byte* workspace,
            Precision precision = Precision::full, Where where = {});
  /// The same with workspace from the device's pool.
  void gemm(const Stream& stream, const MatrixProduct& product, Precision precision = Precision::full,
            Where where = {});

 private:
  struct Library;
  struct Key;
  struct Choice;
  struct Choices;
  struct Form;

  static LibraryBySettings<Library>& libraries();
  static const Library& library();
  static Form form_of(const MatrixProduct& product);
  std::shared_ptr<const Choice> choose(const Key& key, Where where);
  std::shared_ptr<const Choice> make_choice(const Key& key, Where where);
  void check(int status, const char* call, const std::string& what, Where where);

  std::shared_ptr<Context> context_;
  const Library& library_;
  blaslt::HandleTag* handle_ = nullptr;
  std::unique_ptr<Choices> choices_;
};

}  // namespace croton::runtime::cuda
