// The defaults of devices that have no better way.
#include "runtime/device/device.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include "base/memory.hpp"

namespace croton::runtime {

void Device::copy_from(Device& other, void* to, const void* from, std::size_t bytes) {
  if (on_host()) return other.copy_out(to, from, bytes);
  if (other.on_host()) return copy_in(to, from, bytes);
  const auto staging = base::allocate_shared_memory(bytes);
  other.copy_out(staging.get(), from, bytes);
  copy_in(to, staging.get(), bytes);
}

std::string Device::architecture() const {
  return runs_cuda() ? fmt::format("sm_{}{}", facts_.major, facts_.minor) : std::string(codegen::default_architecture);
}

Prepared Device::prepare(const codegen::Text& text, int, std::size_t) {
  throw InternalError(fmt::format("{} was asked to prepare the kernel {}, which the runtime runs", name(), text.name));
}
void Device::launch(const DeviceLaunch& launch) {
  throw InternalError(
      fmt::format("{} was asked to launch the kernel {}, which the runtime runs", name(), launch.text->name));
}

std::shared_ptr<const ReadyConvolution> Device::prepare(const Convolution&) { return nullptr; }

std::unique_ptr<Uploads> Device::make_uploads() { return nullptr; }
int Device::max_cooperative_blocks(const codegen::Text&, int, std::size_t) { return 0; }
std::unique_ptr<Recording> Device::record(const std::function<void()>&) { return nullptr; }

void Device::lose(const std::string&) noexcept {}

void copy_between(Device& to, void* target, Device& from, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (from.is_host()) return to.copy_in(target, source, bytes);
  if (to.is_host()) return from.copy_out(target, source, bytes);
  to.copy_from(from, target, source, bytes);
}

Array copy_to(Device& to, Device& from, const Array& value) {
  const Array whole = from.is_host() ? value.contiguous() : value;  // arrays of other devices are contiguous
  Array result = Array::empty_on(to, value.dtype(), value.shape());
  copy_between(to, result.address(), from, whole.address(), value.bytes());
  return result;
}

}  // namespace croton::runtime
