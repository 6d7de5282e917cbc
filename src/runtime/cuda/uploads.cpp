#include "runtime/cuda/uploads.hpp"

#include <utility>

#include "runtime/cuda/transfer.hpp"

namespace croton::runtime::cuda {

TwoSets::TwoSets(runtime::Device& gpu, std::shared_ptr<Context> context, Stream computing, Stream copying,
                 std::shared_ptr<PeerCopies> peer_copies)
    : gpu_(gpu),
      context_(std::move(context)),
      computing_(std::move(computing)),
      copying_(std::move(copying)),
      peer_copies_(std::move(peer_copies)),
      sets_{Set{{}, 0, Event(context_)}, Set{{}, 0, Event(context_)}},
      arrived_(context_) {}

char* TwoSets::begin(std::size_t bytes) {
  if (ahead_) {
    // Not at the end of the last call: that may have failed anywhere, or be behind its commit point.
    peer_copies_->wait_for(sets_[now_].memory.get(), sets_[now_].bytes, true);  // what was sent on from there
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

void TwoSets::make_ready(Set& set, std::size_t bytes) {
  if (set.bytes >= bytes) return;
  set.memory.reset();  // what is in it is of no use: give it back before the larger one is asked for
  set.bytes = 0;
  std::shared_ptr<void> memory = gpu_.allocate(bytes);
  Event made(context_);
  made.record(computing_);
  copying_.wait(made);
  set.memory = std::move(memory);
  set.bytes = bytes;
}

void TwoSets::copy_in(void* to, const void* host, std::size_t bytes) {
  if (!ahead_) return gpu_.copy_in(to, host, bytes);
  try {
    copy_ahead(copying_, to, {static_cast<const std::byte*>(host), bytes});
    arrived_.record(copying_);
    computing_.wait(arrived_);
  } catch (...) {
    // The memory may end before the copy has run, as nothing stands behind it there.
    context_->release(context_->driver().cuStreamSynchronize, copying_.handle());
    throw;
  }
}

bool TwoSets::save_memory() {
  sets_[1 - now_].memory.reset();
  sets_[1 - now_].bytes = 0;
  return std::exchange(ahead_, false);
}

}  // namespace croton::runtime::cuda
