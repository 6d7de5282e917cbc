// Copies between GPUs that are under way: they run in streams of their own, so that GPUs compute meanwhile. Later work
// on their memory waits for them; each GPU has a list of the copies that its computing stream has not waited for.
#pragma once

#include "runtime/cuda/driver/stream.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace croton::runtime::cuda {

/// The copies into the memory of one GPU, and out of it. Any thread may use it.
class PeerCopies {
 public:
  explicit PeerCopies(Stream computing) : computing_(std::move(computing)) {}

  /// Adds a copy that ends with the event. `into`: into this memory; else out of it, to another GPU.
  void add(const void* begin, std::size_t bytes, bool into, std::shared_ptr<const Event> done);
  /// To be called before the computing stream reads the bytes, or writes or frees them (`written`): it waits for copies
  /// into them, and if they are written also for copies out of them.
  void wait_for(const void* begin, std::size_t bytes, bool written);
  void wait_for_all();
  /// The same in the destructor of the memory.
  void wait_before_free(const void* begin, std::size_t bytes) noexcept;

 private:
  struct Copy {
    std::span<const std::byte> memory;
    bool into;
    std::shared_ptr<const Event> done;
  };
  /// Removes the copies that fit from the list, and returns them.
  template <class Fits>
  std::vector<Copy> take(const Fits& fits);
  /// If the stream cannot wait, the host waits and then raises.
  void wait_in_stream(const std::vector<Copy>& copies);

  const Stream computing_;
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Copy> copies_;
};

}  // namespace croton::runtime::cuda
