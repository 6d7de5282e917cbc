#include "runtime/cuda/peer_copies.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <iterator>
#include <new>

#include "runtime/device/elements.hpp"

namespace croton::runtime::cuda {
namespace {

constexpr std::size_t max_copies = 64;  // from so many on all are waited for, though nothing touches their memory

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

void PeerCopies::add(const void* begin, std::size_t bytes, bool into, std::shared_ptr<const Event> done) {
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    copies_.push_back({bytes_at(begin, bytes), into, std::move(done)});
    any_ = true;
    full = copies_.size() >= max_copies;
  }
  if (full) wait_for_all();
}

template <class Fits>
std::vector<PeerCopies::Copy> PeerCopies::take(const Fits& fits) {
  std::vector<Copy> taken;
  if (!any_) return taken;
  const std::lock_guard lock(mutex_);
  const auto rest = std::stable_partition(copies_.begin(), copies_.end(), [&](const Copy& c) { return !fits(c); });
  taken.assign(std::make_move_iterator(rest), std::make_move_iterator(copies_.end()));
  copies_.erase(rest, copies_.end());
  any_ = !copies_.empty();
  return taken;
}

void PeerCopies::wait_in_stream(const std::vector<Copy>& copies) {
  std::size_t waited = 0;
  try {
    for (; waited < copies.size(); ++waited) computing_.wait(*copies[waited].done);
  } catch (...) {
    Context& context = computing_.context();
    for (; waited < copies.size(); ++waited)
      context.release(context.driver().cuEventSynchronize, copies[waited].done->handle());
    throw;
  }
}

void PeerCopies::wait_for(const void* begin, std::size_t bytes, bool written) {
  const std::span<const std::byte> touched = bytes_at(begin, bytes);
  wait_in_stream(take([&](const Copy& copy) { return (written || copy.into) && overlap(copy.memory, touched); }));
}

void PeerCopies::wait_for_all() {
  wait_in_stream(take([](const Copy&) { return true; }));
}

void PeerCopies::wait_before_free(const void* begin, std::size_t bytes) noexcept {
  try {
    wait_for(begin, bytes, true);
  } catch (const Error&) {           // of the driver: the host has waited
  } catch (const std::bad_alloc&) {  // no memory for the list
    Context& context = computing_.context();
    context.release(context.driver().cuCtxSynchronize);
  }
}

}  // namespace croton::runtime::cuda
