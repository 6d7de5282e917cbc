// Device: the interface of the runtime to a machine that has memory and computes. The host is one too (host_device() in
// runtime/cpu/device.hpp); is_host() is for the few places where it differs: it reads arrays in place, and its results
// belong to the program.
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
  Kind kind = Kind::real;
  std::string title;                              // the name that its maker gives it
  std::size_t memory = 0;                         // in bytes
  int major = 0, minor = 0;                       // compute capability
  std::string pci;                                // "0000:17:00.0"
  codegen::Target target = codegen::Target::cpu;  // the language of its kernels
  // True for the host and its parts: the runtime reads their memory and runs their kernels in the host's threads. All
  // other devices get each kernel by Device::prepare and Device::launch.
  bool on_host = false;
  bool has_processor = false;  // of its own: the host's cores are free while it works
  // Of a GPU:
  int multiprocessors = 0;
  std::size_t shared_bytes = 0;  // of a block, at most
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

/// One launch of a text: its main kernel and, for a split kernel, the one that finishes.
struct DeviceLaunch {
  const codegen::Text* text = nullptr;
  std::span<std::uint64_t> parameters;  // in the order of the text, with addresses of the device
  std::int64_t items = 0;               // points, parts of a split kernel, or tiles of a group
  int blocks = 1, threads = 32;         // of a text in CUDA
  std::size_t shared_bytes = 0;         // of dynamic shared memory, of the main kernel
  bool cooperative = false;             // all blocks run at the same time, and may wait for each other
  std::span<const Operand> operands;    // all memory that its kernels may touch
};

/// Launches, products and copies within a device that were recorded instead of run. Their texts and memory must still
/// exist when it is replayed.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Starts all of them, in their order. False if the device has no memory left for that: then none has run.
  virtual bool replay() = 0;
};

/// Memory on a device for the arguments of a function's calls, and copies into it that run while the device still
/// computes the previous call. Calls use two sets of memory in turn. One thread at a time may use it.
class Uploads {
 public:
  virtual ~Uploads() = default;
  /// Memory for the call that begins, when all work of its predecessors has been started. Waits for the work of the
  /// call before the previous one: that call read this memory, and no more than two calls are under way.
  virtual char* begin(std::size_t bytes) = 0;
  /// Copies into the memory of this call. `host` may change when it returns; work that is started later finds the data.
  virtual void copy_in(void* to, const void* host, std::size_t bytes) = 0;
  /// Keeps one set of memory only, that of the current call; copies then run in the order of the device's work. False
  /// if that was so before.
  virtual bool save_memory() = 0;
};

/// How a text became ready to run.
enum class Prepared : std::uint8_t { before, from_cache, compiled };

/// Work of a device runs in the order in which it was started, and may continue after a function has returned; copies
/// to the host wait for the work before them.
class Device : public base::DeviceMemory {
 public:
  const DeviceFacts& facts() const { return facts_; }
  std::string name() const final { return facts_.name.to_string(); }
  std::uint16_t place() const final { return facts_.name.place(); }
  /// The language of its kernels.
  codegen::Target target() const { return facts_.target; }
  bool runs_cuda() const { return facts_.target == codegen::Target::cuda; }
  /// Whether the runtime reads its memory and runs its kernels itself: true for the host and its parts.
  bool on_host() const { return facts_.on_host; }
  /// The architecture for which CUDA texts are compiled, such as "sm_90"; codegen::default_architecture if the device
  /// runs no CUDA.
  std::string architecture() const;

  /// The memory that it has handed out; base/memory.hpp counts that of the host instead.
  MemoryUse memory_use() const { return account_->use(); }

  /// For one function. Null unless the device copies ahead.
  virtual std::unique_ptr<Uploads> make_uploads();
  /// Copies from another device or within this one, through the host if there is no direct way. Neither is the host.
  virtual void copy_from(Device& other, void* to, const void* from, std::size_t bytes);

  /// Makes the text ready to run in blocks of `threads` threads with so many bytes of dynamic shared memory and
  /// compiles it if necessary, so that only the kernel itself can make a launch fail. Not called where the runtime runs
  /// kernels itself.
  virtual Prepared prepare(const codegen::Text& text, int threads, std::size_t shared_bytes = 0);
  virtual void launch(const DeviceLaunch& launch);
  /// The maximum number of blocks of `threads` threads, with so much dynamic shared memory, in a cooperative launch of
  /// the text, which is ready: as many as run at the same time while nothing else does. 0: there are no such launches
  /// here.
  virtual int max_cooperative_blocks(const codegen::Text& text, int threads, std::size_t shared_bytes = 0);
  /// Makes a product ready: chooses an algorithm and allocates workspace, without use of its pointers. False if the
  /// device has no routine for it: then a generated kernel is needed.
  virtual bool prepare(const MatrixProduct& product) = 0;
  /// Starts a product whose operands are on this device.
  virtual void gemm(const MatrixProduct& product) = 0;
  /// Makes a convolution ready in the same way. Null if the device has no routine for it that is worth its cost: then
  /// kernels and products are needed.
  virtual std::shared_ptr<const ReadyConvolution> prepare(const Convolution& convolution);

  /// Calls `work` and records the work of this device that it starts in this thread, which does not run. All of it must
  /// be ready, as after a run of the same work: it may neither allocate memory nor copy from or to another device
  /// (InternalError). Null if the device cannot record, or could not this time; then nothing has happened.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work);

  /// A call failed after it had begun to overwrite values on this device, and the old ones are gone. If the device can
  /// remember that, every later use raises DeviceError with the reason.
  virtual void lose(const std::string& why) noexcept;

 protected:
  explicit Device(DeviceFacts facts) : DeviceMemory(facts.kind == DeviceFacts::Kind::host), facts_(std::move(facts)) {}
  /// The same memory, which counts as used until its last owner ends.
  std::shared_ptr<void> counted(std::shared_ptr<void> memory, std::size_t bytes) {
    return on_account(account_, std::move(memory), bytes);
  }

 private:
  const DeviceFacts facts_;
  const std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();
};

/// A copy between any two devices, or within one.
void copy_between(Device& to, void* target, Device& from, const void* source, std::size_t bytes);
/// A copy, in C order, of an array on `from`.
Array copy_to(Device& to, Device& from, const Array& value);

}  // namespace croton::runtime
