#include "runtime/cuda/uploads.hpp"

#include <utility>

#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/device/elements.hpp"

namespace croton::runtime::cuda {

DoubleBufferedUploads::DoubleBufferedUploads(runtime::Device& gpu, std::shared_ptr<Context> context, Stream computing,
                                             Stream copying, std::shared_ptr<PeerCopies> peer_copies)
    : gpu_(gpu),
      context_(std::move(context)),
      computing_(std::move(computing)),
      copying_(std::move(copying)),
      peer_copies_(std::move(peer_copies)),
      sets_{Set{{}, 0, Event(context_)}, Set{{}, 0, Event(context_)}},
      arrived_(context_) {}

char* DoubleBufferedUploads::begin(std::size_t bytes) {
  if (ahead_) {
    // Not at the end of the last call: it may have failed at any point, or be after its commit point.
    peer_copies_->wait_for(sets_[now_].memory.get(), sets_[now_].bytes, true);  // for copies from it to other GPUs
    sets_[now_].used.record(computing_);
    Set& next = sets_[1 - now_];
    next.used.synchronize();
    make_ready(next, bytes);
    now_ = 1 - now_;
  } else {
    make_ready(sets_[now_], bytes);
  }
  return static_cast<char*>(sets_[now_].memory.get());
}

void DoubleBufferedUploads::make_ready(Set& set, std::size_t bytes) {
  if (set.bytes >= bytes) return;
  set.memory.reset();  // its data is not needed: free it before the larger one is allocated
  set.bytes = 0;
  std::shared_ptr<void> memory = gpu_.allocate(bytes);
  Event made(context_);
  made.record(computing_);
  copying_.wait(made);
  set.memory = std::move(memory);
  set.bytes = bytes;
}

void DoubleBufferedUploads::copy_in(void* to, const void* host, std::size_t bytes) {
  if (!ahead_) return gpu_.copy_in(to, host, bytes);
  try {
    copy_ahead(copying_, to, bytes_at(host, bytes));
    arrived_.record(copying_);
    computing_.wait(arrived_);
  } catch (...) {
    // The memory may end before the copy has run, as the computing stream does not wait for it.
    context_->release(context_->driver().cuStreamSynchronize, copying_.handle());
    throw;
  }
}

bool DoubleBufferedUploads::save_memory() {
  sets_[1 - now_].memory.reset();
  sets_[1 - now_].bytes = 0;
  return std::exchange(ahead_, false);
}

}  // namespace croton::runtime::cuda
