// Copies between GPUs that are under way: they run in streams of their own, so that GPUs compute meanwhile. What
// touches their memory later waits for them; each GPU has a list of those that its computing stream has not waited for.
#pragma once

#include "runtime/cuda/stream.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace croton::runtime::cuda {

/// The copies into the memory of one GPU, and out of it. Any thread may use it.
class PeerCopies {
 public:
  explicit PeerCopies(Stream computing) : computing_(std::move(computing)) {}

  /// A copy that has run when the event is done. `into`: into this memory, else out of it, to another GPU.
  void add(const void* begin, std::size_t bytes, bool into, std::shared_ptr<const Event> done);
  /// The computing stream is about to read the bytes, or to write or free them: it waits for copies into them, and
  /// before it writes for those out of them.
  void wait_for(const void* begin, std::size_t bytes, bool written);
  void wait_for_all();
  /// The same of memory that ends, in a destructor.
  void end_of(const void* begin, std::size_t bytes) noexcept;

 private:
  struct Copy {
    const std::byte *begin, *end;
    bool into;
    std::shared_ptr<const Event> done;
  };
  /// Takes those out of the list that fit.
  template <class Fits>
  std::vector<Copy> take(const Fits& fits);
  /// Where the stream cannot wait, the host does, and then raises.
  void wait_in_stream(const std::vector<Copy>& copies);

  const Stream computing_;
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Copy> copies_;
};

}  // namespace croton::runtime::cuda
