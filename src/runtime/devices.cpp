#include "runtime/devices.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>

#include "base/config.hpp"
#include "base/fork_safe_mutex.hpp"
#include "runtime/cpu/device.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/cuda/gpu.hpp"
#include "runtime/device/device_split.hpp"
#include "runtime/simulator/device.hpp"

namespace croton::runtime {
namespace {

using base::DeviceName;

/// Devices of this process, made when first asked for; they stay, as arrays may live on them.
template <class Key>
class Made {
 public:
  Device& get(const Key& key, const std::function<std::unique_ptr<Device>()>& make) {
    const std::lock_guard lock(mutex_);
    auto& device = devices_[key];
    if (!device) device = make();
    return *device;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Device>> devices_;
};

// Parts of a simulated GPU differ in nothing from simulated GPUs, nor parts of the host from each other.
Device& simulated_device(int index) {
  static auto& made = *new Made<int>;
  return made.get(index, [&] { return simulator::make_device(index); });
}

Device& logical_cpu(int index) {
  static auto& made = *new Made<int>;
  return made.get(index, [&] { return cpu::make_device(index); });
}

Device& real_device(const cuda::FoundGpus& found, const DeviceSplit& split, int number) {
  // Under another driver, or as another part, the same number is another device.
  using Key = std::tuple<std::string, int, int, int, int>;
  static auto& made = *new Made<Key>;
  const GpuPart part = part_of(split, found.count, number);
  return made.get({found.driver, number, part.gpu, part.part, part.parts},
                  [&] { return cuda::make_device(number, part.gpu, part.part, part.parts); });
}

DeviceSplit present_split() { return parse_split(base::config().logical_devices); }

int simulated_count() { return static_cast<int>(base::config().cuda_simulator); }

/// How many numbers GPUs have.
int gpu_count(const DeviceSplit& split) {
  return count_parts(split, simulated_count() > 0 ? simulated_count() : cuda::find_gpus().count);
}

DeviceFacts host_facts() {
  return {.name = {},
          .kind = DeviceFacts::Kind::host,
          .title = fmt::format("{} cores", cpu::ThreadPool::usable_cores()),
          .pci = {}};
}

std::string what_there_is() { return fmt::format("there {}: {}", places().empty() ? "is" : "are", describe_devices()); }

[[noreturn]] void raise_no_device(const DeviceName& name) {
  std::string hint;
  if (name.kind == DeviceName::Kind::cpu) {
    hint = fmt::format(" (the flag logical_devices=cpu:{} makes cpu0 to {})", name.index + 1, name.to_string());
  } else if (simulated_count() == 0) {
    const cuda::FoundGpus& found = cuda::find_gpus();
    hint =
        fmt::format(" ({}the flag cuda_simulator=2 makes two simulated GPUs)", found.count > 0 ? "" : found.why + "; ");
  }
  throw DeviceError(fmt::format("there is no device {}; {}{}", name.to_string(), what_there_is(), hint));
}

// Whoever links the runtime finds devices by it.
const bool registered = [] {
  base::set_device_lookup([](std::uint16_t place) -> base::DeviceMemory* { return &device_at(place); });
  return true;
}();

}  // namespace

Device& device_at(expr::Place place, bool simulated) {
  const DeviceName name = DeviceName::of_place(place);
  const DeviceSplit split = present_split();
  if (name.kind == DeviceName::Kind::cpu) {
    if (name.index > 0 && name.index < split.cpus) return logical_cpu(name.index);
  } else {
    if (simulated) return simulated_device(name.index);
    if (name.index < gpu_count(split)) {
      return simulated_count() > 0 ? simulated_device(name.index) : real_device(cuda::find_gpus(), split, name.index);
    }
  }
  raise_no_device(name);
}

expr::Place place_of(const std::string& device, bool soft) {
  constexpr expr::Place host = 1;
  const DeviceSplit split = present_split();
  if (device == "auto") {
    const bool real = simulated_count() == 0 && cuda::find_gpus().count > 0;
    return real ? DeviceName{DeviceName::Kind::cuda, 0}.place() : host;
  }
  try {
    const DeviceName name = base::parse_device(device);
    if (name.place() == host) return host;
    const bool there = name.kind == DeviceName::Kind::cpu ? name.index < split.cpus : name.index < gpu_count(split);
    if (there) return name.place();
    if (soft) return place_of("auto", true);
    raise_no_device(name);
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("device={}: {}; {}", device, error.what(), what_there_is()));
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("device={}: {}", device, error.what()));
  }
}

std::string target_of(expr::Place place, bool simulated) {
  if (place == 0) return "cpu";
  Device& device = device_at(place, simulated);
  return device.runs_cuda() ? "cuda:" + device.architecture() : "cpu";
}

std::vector<expr::Place> places() {
  const DeviceSplit split = present_split();
  std::vector<expr::Place> all;
  for (int i = 1; i < split.cpus; ++i) all.push_back(DeviceName{DeviceName::Kind::cpu, i}.place());
  for (int i = 0; i < gpu_count(split); ++i) all.push_back(DeviceName{DeviceName::Kind::cuda, i}.place());
  return all;
}

std::vector<DeviceFacts> list_devices() {
  std::vector<DeviceFacts> all{host_facts()};
  for (const expr::Place place : places()) {
    try {
      all.push_back(device_at(place).facts());
    } catch (const DeviceError& error) {  // of one GPU, which another process may hold
      DeviceFacts& facts = all.emplace_back();
      facts.name = DeviceName::of_place(place);
      facts.kind = DeviceFacts::Kind::real;
      facts.title = fmt::format("cannot be used: {}", error.what());
    }
  }
  return all;
}

std::string describe_devices() {
  const DeviceSplit split = present_split();
  std::string text = "cpu";
  for (const expr::Place place : places()) {
    const DeviceName name = DeviceName::of_place(place);
    const bool gpu = name.kind == DeviceName::Kind::cuda;
    const bool logical = !gpu || part_of(split, gpu_count(split), name.index).parts > 1;
    text += fmt::format(", {}{}", name.to_string(),
                        gpu && simulated_count() > 0 ? " (simulated)" : (logical ? " (logical)" : ""));
  }
  return text;
}

std::uint16_t device_set() {
  // Simulated devices, and parts of the host, are the same ones under all flags.
  const base::Flags& flags = base::config();
  if (flags.cuda_simulator > 0) return 0;
  static auto& mutex = *new base::ForkSafeMutex;
  static auto& numbers = *new std::map<std::tuple<std::string, std::string, std::string>, std::uint16_t>;
  const std::lock_guard lock(mutex);
  const auto next = static_cast<std::uint16_t>(numbers.size() + 1);
  return numbers.try_emplace({flags.cuda_driver, flags.cuda_root, flags.logical_devices}, next).first->second;
}

}  // namespace croton::runtime
