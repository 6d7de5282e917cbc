#include "base/device_memory.hpp"

#include <atomic>

#include "base/device_name.hpp"

namespace croton::base {
namespace {

std::atomic<DeviceMemory* (*)(std::uint16_t)> lookup_function{nullptr};

}  // namespace

DeviceMemory* device_memory(std::uint16_t place) {
  if (is_host(place)) return nullptr;
  return lookup_function.load()(place);
}

void set_device_lookup(DeviceMemory* (*lookup)(std::uint16_t place)) { lookup_function.store(lookup); }

std::uint16_t home_place(const std::string& device) {
  return device == "auto" ? host_place : placed_number(parse_device(device).place());
}

Array moved_to(DeviceMemory* memory, const Array& array) {
  if (memory == nullptr || memory->is_host()) return array.to_host();
  if (memory->has(array)) return array;
  const Array host = array.to_host().contiguous();
  Array result = Array::empty_on(*memory, array.dtype(), array.shape());
  memory->copy_in(result.address(), host.raw(), host.bytes());
  return result;
}

}  // namespace croton::base
