#include "runtime/cuda/driver/staging.hpp"

#include <algorithm>
#include <cstring>

#include "base/rounding.hpp"
#include "runtime/cuda/driver/context.hpp"

namespace croton::runtime::cuda {

Staging::~Staging() {
  for (Slot& slot : slots_) {
    // The memory must outlive the copies from it.
    if (slot.busy) context_.release(context_.driver().cuEventSynchronize, slot.used);
    if (slot.used != nullptr) context_.release(context_.driver().cuEventDestroy, slot.used);
    if (slot.memory != nullptr) context_.release(context_.driver().cuMemFreeHost, slot.memory);
  }
}

Staging::Slot& Staging::make_ready(std::size_t number, Where where) {
  Slot& slot = slots_[number];
  const Driver& driver = context_.driver();
  if (slot.used == nullptr) context_.call(driver.cuEventCreate, where, &slot.used, flag::event_without_timing);
  if (slot.memory == nullptr) {
    void* memory = nullptr;
    context_.call(driver.cuMemHostAlloc, where, &memory, slot_bytes, flag::host_memory_portable);
    slot.memory = static_cast<std::byte*>(memory);
  }
  if (slot.busy) wait(slot, where);
  return slot;
}

void Staging::wait(Slot& slot, Where where) {
  context_.call(context_.driver().cuEventSynchronize, where, slot.used);
  slot.busy = false;
}

void Staging::mark_busy(Slot& slot, StreamHandle stream, Where where) {
  context_.call(context_.driver().cuEventRecord, where, slot.used, stream);
  slot.busy = true;
}

void Staging::copy_in(StreamHandle stream, Pointer to, std::span<const std::byte> from, Where where) {
  const std::lock_guard lock(mutex_);
  while (!from.empty()) {
    Slot& slot = make_ready(next_, where);
    next_ = (next_ + 1) % slot_count;
    const std::span<const std::byte> piece = from.first(std::min(slot_bytes, from.size()));
    std::memcpy(slot.memory, piece.data(), piece.size());
    try {
      context_.call(context_.driver().cuMemcpyHtoDAsync, where, to, slot.memory, piece.size(), stream);
      mark_busy(slot, stream, where);
    } catch (...) {
      // The copy may run, and no event marks its end.
      context_.release(context_.driver().cuStreamSynchronize, stream);
      throw;
    }
    to += piece.size();
    from = from.subspan(piece.size());
  }
}

void Staging::copy_out(StreamHandle stream, std::span<std::byte> to, Pointer from, Where where) {
  const std::lock_guard lock(mutex_);
  const std::size_t pieces = base::ceil_div(to.size(), slot_bytes);
  const auto piece = [&](std::size_t number) {
    const std::size_t begin = number * slot_bytes;
    return to.subspan(begin, std::min(slot_bytes, to.size() - begin));
  };
  try {
    for (std::size_t started = 0, done = 0; done < pieces; ++done) {
      for (; started < pieces && started < done + slot_count; ++started) {
        Slot& slot = make_ready(started % slot_count, where);
        context_.call(context_.driver().cuMemcpyDtoHAsync, where, slot.memory, from + started * slot_bytes,
                      piece(started).size(), stream);
        mark_busy(slot, stream, where);
      }
      Slot& slot = slots_[done % slot_count];
      wait(slot, where);
      std::memcpy(piece(done).data(), slot.memory, piece(done).size());
    }
  } catch (...) {
    context_.release(context_.driver().cuStreamSynchronize, stream);
    for (Slot& slot : slots_) slot.busy = false;
    throw;
  }
}

}  // namespace croton::runtime::cuda
