#include "runtime/cuda/peer_copies.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <iterator>
#include <new>

namespace croton::runtime::cuda {
namespace {

constexpr std::size_t most = 64;  // copies that nobody touches are waited for once there are so many

}  // namespace

void PeerCopies::add(const void* begin, std::size_t bytes, bool into, std::shared_ptr<const Event> done) {
  const auto* first = static_cast<const std::byte*>(begin);
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    copies_.push_back({first, first + bytes, into, std::move(done)});
    any_ = true;
    full = copies_.size() >= most;
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
  const auto* first = static_cast<const std::byte*>(begin);
  wait_in_stream(take([&](const Copy& c) { return (written || c.into) && c.begin < first + bytes && first < c.end; }));
}

void PeerCopies::wait_for_all() {
  wait_in_stream(take([](const Copy&) { return true; }));
}

void PeerCopies::end_of(const void* begin, std::size_t bytes) noexcept {
  try {
    wait_for(begin, bytes, true);
  } catch (const Error&) {           // of the driver's: the host has waited
  } catch (const std::bad_alloc&) {  // no memory for the list
    Context& context = computing_.context();
    context.release(context.driver().cuCtxSynchronize);
  }
}

}  // namespace croton::runtime::cuda
