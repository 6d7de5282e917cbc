// oneDNN, versions 2 and 3, as far as Croton uses it: its entry points in a library that was loaded, and its objects as
// shared pointers. No header of oneDNN is needed to build Croton.
//
// Only builds that can be held to one thread are taken: sequential ones, and those with OpenMP, whose number of threads
// belongs to the thread that calls (OneThread). TBB, SYCL and others share one pool among all callers, and split by its
// size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/signals.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/dnn/dnn_problem.hpp"
#include "runtime/support/library.hpp"

namespace croton::runtime::cpu::dnn {

using Status = int;
using Handle = void*;
using Numbers = std::vector<std::int64_t>;  // sizes or steps, one for each axis of an array

/// An array given to a primitive: which of its arguments, and a memory.
struct Argument {
  int which;
  Handle memory;
};

/// How an array lies in memory; a Description of a primitive; the primitive itself; a stream; an array that a primitive
/// may be given. Null where the library has no such thing.
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
  /// The library in a file that was loaded; null with `fault` set where it cannot be used. Objects that it makes refer
  /// to it.
  static std::unique_ptr<const Library> of(SharedLibrary& file, std::string& fault);

  /// "oneDNN 3.2.0 (libdnnl.so.3.2)"
  const std::string& name() const { return name_; }

  /// A float32 array with these sizes and steps; null where the library cannot say it.
  Layout strided(const Numbers& sizes, const Numbers& steps) const;
  /// One that lies as a primitive likes it best.
  Layout any(const Numbers& sizes) const;
  std::size_t bytes(const Layout& layout) const;
  bool equal(const Layout& a, const Layout& b) const;

  /// The problem with its arrays in these layouts.
  Description convolution(const Problem& problem, const ConvolutionLayouts& layouts) const;
  /// The layouts that it chose where `any` was given.
  ConvolutionLayouts layouts(const Description& convolution, Task task) const;
  /// "jit:avx512_core"
  std::string routine(const Description& description) const;
  /// Memory that it needs while it runs; null where it needs none.
  Layout scratch(const Description& description) const;
  Description reorder(const Layout& from, const Layout& to) const;

  Primitive primitive(const Description& description) const;
  Stream stream() const;
  /// An array that begins nowhere yet.
  Memory memory(const Layout& layout) const;
  void place(const Memory& memory, const void* begin) const noexcept;
  /// Runs it on the calling thread; false where the library reports a failure.
  bool run(const Primitive& primitive, const Stream& stream, std::span<const Argument> arguments) const noexcept;
  /// One product of float32 matrices, on the calling thread; false where the library reports a failure.
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

/// While it lives, the library runs on the calling thread alone, which signals do not interrupt: oneDNN's products of
/// matrices (3.2, AVX-512) use the stack pointer for their workspace, and handlers of signals destroyed the heap.
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
