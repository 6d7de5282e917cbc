// The driver's context of a GPU: the facts of the GPU, the pool of its memory, and the one place where calls to the
// driver are made and checked. Streams, events, buffers and modules (stream.hpp, memory.hpp, ../module.hpp) keep their
// context alive. A device of the runtime works in a context (../device.hpp); parts of a GPU share one.
//
// It is the primary context, which other libraries of the process share. Every call makes it current in the calling
// thread, so that any thread may use any object; calls of several threads may run at once.
//
// An error that loses the device (an illegal address in a kernel, uncorrectable memory) is final for the process: every
// later call repeats it. Objects may still be destroyed.
#pragma once

#include <croton/where.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "runtime/cuda/driver/driver.hpp"

namespace croton::runtime::cuda {

/// A GPU as the driver describes it.
struct GpuFacts {
  std::string name;          ///< "NVIDIA H200"
  std::string pci_id;        ///< "0000:1B:00.0"
  int major = 0, minor = 0;  ///< compute capability
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  int threads_per_block = 0;
  std::size_t shared_bytes_per_block = 0;  ///< the maximum for a kernel
  std::size_t l2_bytes = 0;
  bool cooperative_launches = false;  ///< whether it has launches whose blocks may wait for each other
};

/// Memory that has come from the pool.
struct PoolCounters {
  std::uint64_t allocations = 0;   ///< buffers handed out since the start
  std::uint64_t live_buffers = 0;  ///< of these, the ones not yet released
  std::size_t bytes_in_use = 0;    ///< in live buffers
  std::size_t peak_bytes = 0;      ///< the maximum of bytes_in_use
};

class Staging;

class Context {
 public:
  /// The context of the GPU with that number, opened at the first use and kept to the end of the process. Throws
  /// DeviceError, which lists the GPUs of the machine, if there is no driver or no such GPU.
  static std::shared_ptr<Context> get(int index, Where where = {});

  /// A separate context of the GPU, which ends with its last user. Programs use get(); this is for looking at GPUs, and
  /// for tests.
  static std::shared_ptr<Context> open(int index, Where where = {});

  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int index() const { return index_; }
  const GpuFacts& facts() const { return facts_; }
  /// "cuda0 (NVIDIA H200)"
  const std::string& title() const { return title_; }
  const Driver& driver() const { return driver_; }

  /// Waits for all work of all streams. Raises errors of kernels that ran since the last wait.
  void synchronize(Where where = {});

  /// True once an error has made the device unusable for the rest of the process.
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Makes the device unusable, since its memory can no longer be trusted.
  void lose(const std::string& why) noexcept;

  PoolCounters memory_counters() const;
  /// Bytes of the pool, with freed memory that is kept for reuse.
  std::size_t reserved_bytes(Where where = {});
  /// Gives freed memory back to the system, unless running work still uses it.
  void trim(Where where = {});

  /// Lets copies and kernels of this device access the memory of `peer` directly. False if the machine does not allow
  /// it: then copy_peer goes through host memory.
  bool enable_peer_access(Context& peer, Where where = {});

  // ---- for the other files of this folder ----

  /// One call of the driver with the context current. Throws the typed error, or repeats the one that lost the device.
  template <class... Types>
  void call(const Entry<Types...>& entry, Where where, std::type_identity_t<Types>... arguments) {
    check(attempt(entry, where, arguments...), entry.name, where);
  }
  /// The same, for callers that handle the result. Throws only if the device is lost already.
  template <class... Types>
  Result attempt(const Entry<Types...>& entry, Where where, std::type_identity_t<Types>... arguments) {
    enter(entry.name, where);
    return entry.function(arguments...);
  }
  /// For destructors: errors are not raised, but one that loses the device is remembered.
  template <class... Types>
  void release(const Entry<Types...>& entry, std::type_identity_t<Types>... arguments) noexcept {
    const Result current = driver_.cuCtxSetCurrent.function(handle_);
    note(driver_.cuCtxSetCurrent.name, current);
    if (current == result::success) note(entry.name, entry.function(arguments...));
  }
  /// Throws unless `result` is success.
  void check(Result result, const char* call, Where where);
  /// Makes the context current for `call`, which is next. Throws if the device is lost.
  void enter(const char* call, Where where);

  /// Memory from the pool, in the order of the stream. Before it throws OutOfMemory, it gives freed memory of the pool
  /// back and tries again. Buffer (memory.hpp) owns such memory.
  Pointer allocate(std::size_t bytes, StreamHandle stream, Where where);
  void free(Pointer memory, std::size_t bytes, StreamHandle stream) noexcept;

  ContextHandle handle() const { return handle_; }
  /// The pinned memory for copies of the host's data; one for each direction, and one for copies that run ahead of all
  /// other work, so that none waits for another.
  Staging& staging_in() { return *staging_in_; }
  Staging& staging_ahead() { return *staging_ahead_; }
  Staging& staging_out() { return *staging_out_; }

 private:
  Context(const Driver& driver, int index);
  void start(Where where);
  void read_facts(Where where);
  int read_attribute(int which, Where where);
  void note(const char* call, Result result) noexcept;
  [[noreturn]] void raise_out_of_memory(std::size_t bytes, Where where);

  const Driver& driver_;
  const int index_;
  int device_ = 0;
  std::string title_;
  GpuFacts facts_;
  ContextHandle handle_ = nullptr;
  PoolHandle pool_ = nullptr;
  std::unique_ptr<Staging> staging_in_, staging_ahead_, staging_out_;

  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;  // guards the members below
  std::string loss_;          // the error that lost the device
  PoolCounters counters_;
};

}  // namespace croton::runtime::cuda
