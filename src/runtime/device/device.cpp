// What devices do that have no better way.
#include "runtime/device/device.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <cstring>

#include "base/memory.hpp"

namespace croton::runtime {

void Device::copy_from(Device& other, void* to, const void* from, std::size_t bytes) {
  if (!runs_cuda()) return other.copy_out(to, from, bytes);
  if (!other.runs_cuda()) return copy_in(to, from, bytes);
  const auto staging = base::allocate_shared_memory(bytes);
  other.copy_out(staging.get(), from, bytes);
  copy_in(to, staging.get(), bytes);
}

std::string Device::architecture() const { return fmt::format("sm_{}{}", facts().major, facts().minor); }

bool Device::prepare(const Convolution&) { return false; }
void Device::convolve(const Convolution&, const ConvolutionArrays&) {
  throw InternalError(fmt::format("{} has no convolutions", name()));
}

std::unique_ptr<Uploads> Device::make_uploads() { return nullptr; }
int Device::most_cooperative_blocks(const codegen::Text&, int) { return 0; }
std::unique_ptr<Recording> Device::record(const std::function<void()>&) { return nullptr; }

void Device::lose(const std::string&) noexcept {}

void copy_between(Device* to, void* target, Device* from, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (to != nullptr && from != nullptr) return to->copy_from(*from, target, source, bytes);
  if (to != nullptr) return to->copy_in(target, source, bytes);
  if (from != nullptr) return from->copy_out(target, source, bytes);
  std::memcpy(target, source, bytes);
}

}  // namespace croton::runtime
