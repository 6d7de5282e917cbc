// Copies between ordinary host memory and a device, by way of pinned memory. The driver would use memory of its own and
// block the caller; here the host copies one piece while the device transfers another.
#pragma once

#include <croton/where.hpp>

#include <array>
#include <cstddef>
#include <mutex>
#include <span>

#include "runtime/cuda/driver/driver_types.hpp"

namespace croton::runtime::cuda {

class Context;

/// Part of a Device, for one use. Calls of several threads run one after another.
class Staging {
 public:
  static constexpr std::size_t slot_count = 4, slot_bytes = std::size_t{512} << 10;

  explicit Staging(Context& context) : context_(context) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// `from` may change as soon as this returns; the copy itself is work of the stream.
  void copy_in(StreamHandle stream, Pointer to, std::span<const std::byte> from, Where where);
  /// Waits for the data.
  void copy_out(StreamHandle stream, std::span<std::byte> to, Pointer from, Where where);

 private:
  struct Slot {
    std::byte* memory = nullptr;
    EventHandle used = nullptr;  // after the last copy from or to the memory
    bool busy = false;           // the copy may still run
  };

  Slot& make_ready(std::size_t number, Where where);
  void wait(Slot& slot, Where where);
  void mark_busy(Slot& slot, StreamHandle stream, Where where);

  Context& context_;
  std::mutex mutex_;  // guards the members below
  std::array<Slot, slot_count> slots_;
  std::size_t next_ = 0;
};

}  // namespace croton::runtime::cuda
