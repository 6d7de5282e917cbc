#include "settings.hpp"

#include <atomic>

#include "runtime/devices.hpp"

namespace croton::detail {

void apply_settings(const base::Flags& flags) {
  static constinit std::atomic<const base::Flags*> applied{nullptr};
  if (applied.load(std::memory_order_acquire) == &flags) return;
  runtime::place_of(flags.device, flags.allow_soft_placement);  // raises if there is no such device
  runtime::configure_backends(flags);
  trace_to(flags.trace);
  applied.store(&flags, std::memory_order_release);
}

}  // namespace croton::detail
