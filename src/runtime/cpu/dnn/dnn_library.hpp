// oneDNN, versions 2 and 3, as far as Croton uses it: the entry points of a loaded library, and its objects as shared
// pointers. No header of oneDNN is needed to build Croton.
//
// Only builds that can be limited to one thread are used: sequential ones, and those with OpenMP, whose number of
// threads belongs to the calling thread (OneThread). TBB, SYCL and others share one pool among all callers, and split
// work by its size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/signals.hpp"
#include "runtime/cpu/dnn/dnn_problem.hpp"
#include "runtime/device/matrix_product.hpp"
#include "runtime/support/library.hpp"

namespace croton::runtime::cpu::dnn {

using Status = int;
using Handle = void*;
using Numbers = std::vector<std::int64_t>;  // sizes or steps, one for each axis of an array

/// An array for a primitive: which of its arguments it is, and a memory.
struct Argument {
  int which;
  Handle memory;
};

/// The layout of an array in memory; the description of a primitive; the primitive itself; a stream; an array as the
/// argument of a primitive. Null if the library has no such thing.
using Layout = std::shared_ptr<const void>;
using Description = std::shared_ptr<void>;
using Primitive = std::shared_ptr<void>;
using Stream = std::shared_ptr<void>;
using Memory = std::shared_ptr<void>;

/// The numbers of the library's arguments.
namespace argument {
inline constexpr int source = 1, destination = 17, weights = 33, scratchpad = 80, source_gradient = 129,
                     destination_gradient = 145, weights_gradient = 161;
}

struct ConvolutionLayouts {
  Layout image, filters, result;
};

class Library {
 public:
  /// The library in a loaded file; null, and `fault` gets the reason, if it cannot be used. Its objects refer to it.
  static std::unique_ptr<const Library> of(SharedLibrary& file, std::string& fault);

  /// "oneDNN 3.2.0 (libdnnl.so.3.2)"
  const std::string& name() const { return name_; }

  /// A float32 array with these sizes and steps; null if the library cannot describe it.
  Layout strided(const Numbers& sizes, const Numbers& steps) const;
  /// An array whose layout the primitive chooses.
  Layout any(const Numbers& sizes) const;
  std::size_t bytes(const Layout& layout) const;
  bool equal(const Layout& a, const Layout& b) const;

  /// The problem with its arrays in these layouts.
  Description convolution(const Problem& problem, const ConvolutionLayouts& layouts) const;
  /// The layouts of its arrays, also of those that had `any`.
  ConvolutionLayouts layouts(const Description& convolution, Task task) const;
  /// "jit:avx512_core"
  std::string routine(const Description& description) const;
  /// The memory that it needs while it runs; null if it needs none.
  Layout scratch(const Description& description) const;
  Description reorder(const Layout& from, const Layout& to) const;

  Primitive primitive(const Description& description) const;
  Stream stream() const;
  /// An array without an address.
  Memory memory(const Layout& layout) const;
  /// Gives the array its address.
  void place(const Memory& memory, const void* begin) const noexcept;
  /// Runs it on the calling thread; false if the library reports a failure.
  bool run(const Primitive& primitive, const Stream& stream, std::span<const Argument> arguments) const noexcept;
  /// One product of float32 matrices on the calling thread; false if the library reports a failure.
  bool multiply(const MatrixProduct& product) const noexcept;

 private:
  friend class OneThread;
  Library() = default;
  std::string load(SharedLibrary& file);
  Description described(Status status, Handle description) const;
  Layout chosen(const Description& description, int which) const;

  struct Entries {
#define CROTON_DNN_ENTRY(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
#define CROTON_DNN_ENTRY_2 CROTON_DNN_ENTRY
#define CROTON_DNN_ENTRY_3 CROTON_DNN_ENTRY
#include "runtime/cpu/dnn/dnn_entries.def"
#undef CROTON_DNN_ENTRY
#undef CROTON_DNN_ENTRY_2
#undef CROTON_DNN_ENTRY_3
  };

  std::string name_;
  int major_ = 0;
  Entries call_;
  Handle engine_ = nullptr, attributes_ = nullptr;
  void (*set_threads_)(int) = nullptr;  // of OpenMP; null in a sequential build
  int (*get_threads_)() = nullptr;
};

/// While it lives, the library runs on the calling thread alone, and signals do not interrupt it: oneDNN's products of
/// matrices (3.2, AVX-512) use the stack pointer for their workspace, so that handlers of signals destroyed the heap.
class OneThread {
 public:
  explicit OneThread(const Library& library) : library_(library) {
    if (library.set_threads_ == nullptr) return;
    before_ = library.get_threads_();
    if (before_ != 1) library.set_threads_(1);
  }
  ~OneThread() {
    if (before_ != 1) library_.set_threads_(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const base::SignalsBlocked quiet_;
  const Library& library_;
  int before_ = 1;
};

}  // namespace croton::runtime::cpu::dnn
