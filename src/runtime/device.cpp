#include "runtime/device.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/config.hpp"
#include "base/memory.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/simulator/device.hpp"

namespace croton::runtime {
namespace {

/// Simulated devices of this process, made when first asked for; they stay, as arrays may live on them.
Device* simulated_device(int index) {
  static std::mutex mutex;
  static auto* devices = new std::vector<std::unique_ptr<Device>>;
  const std::lock_guard lock(mutex);
  while (static_cast<int>(devices->size()) <= index) {
    devices->push_back(simulator::make_device(static_cast<int>(devices->size())));
  }
  return (*devices)[static_cast<std::size_t>(index)].get();
}

int simulated_count() { return static_cast<int>(base::config().cuda_simulator); }

// Whoever links the runtime finds devices by it.
const bool registered = [] {
  base::set_device_lookup([](std::uint16_t place) -> base::DeviceMemory* { return &device_at(place); });
  return true;
}();

}  // namespace

void Device::copy_from(Device& other, void* to, const void* from, std::size_t bytes) {
  const auto staging = base::allocate_shared_memory(bytes);
  other.copy_out(staging.get(), from, bytes);
  copy_in(to, staging.get(), bytes);
}

Device& device_at(expr::Place place, bool simulated) {
  const base::DeviceName name = base::DeviceName::of_place(place);
  if (name.kind == base::DeviceName::Kind::cuda && (simulated || name.index < simulated_count()))
    return *simulated_device(name.index);
  throw DeviceError(fmt::format("there is no device {}; there {}: {}{}", name.to_string(),
                                places().empty() ? "is" : "are", describe_devices(),
                                name.kind == base::DeviceName::Kind::cuda && simulated_count() == 0
                                    ? " (the flag cuda_simulator=2 makes two simulated GPUs)"
                                    : ""));
}

expr::Place place_of(const std::string& device, bool soft) {
  constexpr expr::Place host = 1;
  if (device == "auto") return host;
  try {
    const expr::Place place = base::parse_device(device).place();
    if (place == host) return host;
    const std::vector<expr::Place> there = places();
    if (std::ranges::find(there, place) != there.end()) return place;
    if (soft) return place_of("auto", true);
    device_at(place);  // raises
    return place;
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("device={}: {}", device, error.what()));
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("device={}: {}", device, error.what()));
  }
}

std::string target_of(expr::Place place, bool simulated) {
  if (place == 0) return "cpu";
  Device& device = device_at(place, simulated);
  return device.runs_cuda() ? fmt::format("cuda:sm_{}{}", device.facts().major, device.facts().minor) : "cpu";
}

std::vector<expr::Place> places() {
  std::vector<expr::Place> all;
  for (int i = 0; i < simulated_count(); ++i) all.push_back(base::DeviceName{base::DeviceName::Kind::cuda, i}.place());
  return all;
}

std::vector<DeviceFacts> list_devices() {
  std::vector<DeviceFacts> all;
  all.push_back({.name = {},
                 .kind = DeviceFacts::Kind::host,
                 .title = fmt::format("{} cores", cpu::ThreadPool::usable_cores()),
                 .pci = {}});
  for (int i = 0; i < simulated_count(); ++i) all.push_back(simulated_device(i)->facts());
  return all;
}

std::string describe_devices() {
  static constexpr std::string_view kinds[] = {"", "", " (simulated)", " (logical)"};
  std::string text;
  for (const DeviceFacts& facts : list_devices()) {
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", facts.name.to_string(), kinds[static_cast<int>(facts.kind)]);
  }
  return text;
}

}  // namespace croton::runtime
