// Device: what the runtime asks of a machine that has memory and computes. The host is one too (host_device() in
// runtime/cpu/device.hpp); is_host() is for the few places where it differs: it reads arrays where they lie, and its
// results are the program's.
#pragma once

#include "base/device_memory.hpp"
#include "base/device_name.hpp"
#include "codegen/emit.hpp"
#include "expr/arena.hpp"
#include "runtime/device/convolution.hpp"
#include "runtime/device/matrix_product.hpp"
#include "runtime/device/memory_account.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace croton::runtime {

struct DeviceFacts {
  enum class Kind : std::uint8_t { host, real, simulated, logical };
  base::DeviceName name;
  Kind kind = Kind::host;
  std::string title;                              // as its maker calls it
  std::size_t memory = 0;                         // in bytes
  int major = 0, minor = 0;                       // compute capability
  std::string pci;                                // "0000:17:00.0"
  codegen::Target target = codegen::Target::cpu;  // the language of its kernels
  // The host, and parts of it: the runtime reads its memory, and runs its kernels by itself, in the host's threads. All
  // others are asked for each kernel (Device::prepare, Device::launch).
  bool on_host = false;
  bool has_processor = false;  // of its own: the host's cores do something else while it works
  // Of a GPU:
  int multiprocessors = 0;
  std::size_t cache_bytes = 0;  // of the second level, which all multiprocessors share
  bool cooperates = false;      // has cooperative launches, whose blocks may wait for each other
  bool copies_ahead = false;    // has Uploads
};

/// A piece of a device's memory that a launch uses, and how.
struct Operand {
  void* address = nullptr;
  std::size_t bytes = 0;
  bool read = false, written = false;
};

/// One launch of a text: its main kernel and, if it is a split one, the kernel that finishes.
struct DeviceLaunch {
  const codegen::Text* text = nullptr;
  std::span<std::uint64_t> parameters;  // as the text lists them, with addresses of the device
  std::int64_t items = 0;               // points, parts of a split kernel, or tiles of a group
  int blocks = 1, threads = 32;         // of a text in CUDA
  bool cooperative = false;             // all blocks run at the same time, and may wait for each other
  std::span<const Operand> operands;    // all memory that its kernels may touch
};

/// Launches, products and copies inside of a device, noted instead of run. Texts and memory of theirs must still be
/// there when it is replayed.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Asks the device for all of them, in their order. False where it has no memory left for that: none has run.
  virtual bool replay() = 0;
};

/// Memory on a device for what the calls of a function are given, and copies into it that run while the device still
/// computes the call before. Calls use two sets of memory in turn. One thread at a time.
class Uploads {
 public:
  virtual ~Uploads() = default;
  /// Memory for the call that begins, whose predecessors have asked for all of their work. Waits until the work of the
  /// call before the last one has run: it read this memory, and no more than two calls are under way.
  virtual char* begin(std::size_t bytes) = 0;
  /// Into the memory of this call. `host` may change when it returns; the device's work that is asked for from now on
  /// finds the data.
  virtual void copy_in(void* to, const void* host, std::size_t bytes) = 0;
  /// From now on there is one set of memory, that of the present call, and copies run in the order of the device's
  /// work. False where that was so before.
  virtual bool save_memory() = 0;
};

/// What it took to make a text ready to run.
enum class Prepared : std::uint8_t { before, from_cache, compiled };

/// Work of a device runs in the order in which it was asked for, and may run on after a function has returned; copies
/// to the host wait for what was asked for before.
class Device : public base::DeviceMemory {
 public:
  const DeviceFacts& facts() const { return facts_; }
  std::string name() const final { return facts_.name.to_string(); }
  std::uint16_t place() const final { return facts_.name.place(); }
  /// The language of its kernels.
  codegen::Target target() const { return facts_.target; }
  bool runs_cuda() const { return facts_.target == codegen::Target::cuda; }
  /// Whether the runtime runs its kernels by itself and reads its memory: the host, and parts of it.
  bool on_host() const { return facts_.on_host; }
  /// Of a GPU: "sm_90".
  std::string architecture() const;

  /// The memory that it has handed out; the host's is counted by base/memory.hpp instead.
  MemoryUse memory_use() const { return account_->use(); }

  /// For one function. Null unless it copies ahead.
  virtual std::unique_ptr<Uploads> make_uploads();
  /// From another device, or within this one; by way of the host where there is no other. Neither is the host.
  virtual void copy_from(Device& other, void* to, const void* from, std::size_t bytes);

  /// Makes the text ready to run in blocks of so many threads, compiling it where that has not been done, so that a
  /// launch has nothing left to fail for but the kernel itself. Not asked where the runtime runs kernels by itself.
  virtual Prepared prepare(const codegen::Text& text, int threads);
  virtual void launch(const DeviceLaunch& launch);
  /// How many blocks of so many threads a cooperative launch of the text, which is ready, may have: those that run at
  /// the same time while nothing else does. 0: there are no such launches here.
  virtual int most_cooperative_blocks(const codegen::Text& text, int threads);
  /// Makes a product ready: an algorithm, memory to work in. Its pointers are not looked at. False where the device has
  /// no routine for it: a generated kernel has to serve.
  virtual bool prepare(const MatrixProduct& product) = 0;
  /// A product whose operands are here.
  virtual void gemm(const MatrixProduct& product) = 0;
  /// Makes a convolution ready in the same way. Null where the device has no routine for it, or none that pays: it has
  /// to be done by kernels and products.
  virtual std::shared_ptr<const ReadyConvolution> prepare(const Convolution& convolution);

  /// Runs `work`, of which what it asks of this device in this thread is noted and does not run. Everything in it must
  /// be ready, as after a run of the same work: it may not ask for memory, nor copy from or to somewhere else
  /// (InternalError). Null where the device cannot do that, or could not this time; then nothing has happened.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work);

  /// A call failed when it had begun to overwrite values on this device, and nobody has the old ones: where that can be
  /// remembered, every later use raises DeviceError with the reason.
  virtual void lose(const std::string& why) noexcept;

 protected:
  explicit Device(DeviceFacts facts) : DeviceMemory(facts.kind == DeviceFacts::Kind::host), facts_(std::move(facts)) {}
  /// The memory, which is counted until its last owner ends.
  std::shared_ptr<void> counted(std::shared_ptr<void> memory, std::size_t bytes) {
    return on_account(account_, std::move(memory), bytes);
  }

 private:
  const DeviceFacts facts_;
  const std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();
};

/// Between any two devices, or within one.
void copy_between(Device& to, void* target, Device& from, const void* source, std::size_t bytes);
/// A copy, in C order, of an array that lies on `from`.
Array copy_to(Device& to, Device& from, const Array& value);

}  // namespace croton::runtime
