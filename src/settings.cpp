#include "settings.hpp"

#include <atomic>

#include "base/index.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/dnn/dnn.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/libraries/toolkit.hpp"
#include "runtime/devices.hpp"

namespace croton::detail {

void apply_settings(const base::Flags& flags) {
  static constinit std::atomic<const base::Flags*> applied{nullptr};
  if (applied.load(std::memory_order_acquire) == &flags) return;
  runtime::place_of(flags.device, flags.allow_soft_placement);  // raises if there is no such device
  runtime::cpu::ThreadPool::instance().set_threads(base::to_int(flags.threads));
  runtime::cpu::Blas::configure(flags.blas);
  runtime::cpu::Dnn::configure(flags.dnn);
  runtime::cuda::set_toolkit(flags);
  runtime::cuda::set_driver_library(flags.cuda_driver);
  trace_to(flags.trace);
  applied.store(&flags, std::memory_order_release);
}

}  // namespace croton::detail
