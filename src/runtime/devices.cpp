#include "runtime/devices.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/config.hpp"
#include "base/fork_safe_mutex.hpp"
#include "runtime/cpu/device.hpp"
#include "runtime/cuda/device.hpp"
#include "runtime/device/device_split.hpp"
#include "runtime/simulator/device.hpp"

namespace croton::runtime {
namespace {

using base::DeviceName;

/// The back-ends, in the order of their devices in lists; the simulator comes before real GPUs, because mode=simulate
/// takes its devices where there are both. A new back-end makes a new list, and no list ever changes:
/// one can walk it without a lock.
struct Backends {
  using List = std::vector<const Backend*>;
  base::ForkSafeMutex& mutex = *new base::ForkSafeMutex;
  std::shared_ptr<const List> list =
      std::make_shared<const List>(List{&cpu::backend(), &simulator::backend(), &cuda::backend()});

  static Backends& instance() {
    static auto& backends = *new Backends;
    return backends;
  }
  std::shared_ptr<const List> all() {
    const std::lock_guard lock(mutex);
    return list;
  }
};

constexpr DeviceName host_name{};

/// The number of devices whose names are of that kind.
int count_of(DeviceName::Kind kind) {
  int count = 0;
  for (const Backend* backend : *Backends::instance().all()) {
    if (backend->kind == kind) count += backend->count();
  }
  return count;
}

/// Calls `visit` with each device but the host, its name and its back-end.
template <class Visit>
void each_device(const Visit& visit) {
  for (const Backend* backend : *Backends::instance().all()) {
    const int count = backend->count();
    for (int number = 0; number < count; ++number) {
      if (const DeviceName name{backend->kind, number}; name != host_name) visit(name, *backend);
    }
  }
}

std::string available_devices() {
  return fmt::format("there {}: {}", places().empty() ? "is" : "are", describe_devices());
}

[[noreturn]] void raise_no_device(const DeviceName& name) {
  std::string advice;
  for (const Backend* backend : *Backends::instance().all()) {
    if (backend->kind == name.kind) advice += backend->advice(name.index);
  }
  throw DeviceError(fmt::format("there is no device {}; {}{}", name.to_string(), available_devices(), advice));
}

// Every program that links the runtime finds devices this way.
const bool registered = [] {
  base::set_device_lookup([](std::uint16_t place) -> base::DeviceMemory* { return &device_at(place); });
  return true;
}();

}  // namespace

void add_backend(const Backend& backend) {
  Backends& backends = Backends::instance();
  const std::lock_guard lock(backends.mutex);
  Backends::List more = *backends.list;
  more.push_back(new Backend(backend));  // never destroyed, as its devices are not
  backends.list = std::make_shared<const Backends::List>(std::move(more));
}

Device& device_at(expr::Place place, Gpus gpus) {
  const DeviceName name = DeviceName::of_place(place);
  for (const Backend* backend : *Backends::instance().all()) {
    if (backend->kind != name.kind) continue;
    const bool simulates = backend->simulates && gpus == Gpus::simulated;
    if (simulates || name.index < backend->count()) return backend->find(name.index);
  }
  raise_no_device(name);
}

expr::Place place_of(const std::string& device, bool soft) {
  current_split();  // raises if its flag is wrong
  if (device == "auto") {
    for (const Backend* backend : *Backends::instance().all()) {
      if (backend->automatic && backend->count() > 0) return DeviceName{backend->kind, 0}.place();
    }
    return host_name.place();
  }
  try {
    const DeviceName name = base::parse_device(device);
    if (name == host_name || name.index < count_of(name.kind)) return name.place();
    if (soft) return place_of("auto", true);
    raise_no_device(name);
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("device={}: {}; {}", device, error.what(), available_devices()));
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("device={}: {}", device, error.what()));
  }
}

std::string target_of(expr::Place place, Gpus gpus) {
  const Device& device = device_at(place, gpus);
  return device.runs_cuda() ? "cuda:" + device.architecture() : "cpu";
}

std::vector<expr::Place> places() {
  std::vector<expr::Place> all;
  each_device([&](const DeviceName& name, const Backend&) { all.push_back(name.place()); });
  return all;
}

std::vector<DeviceFacts> list_devices() {
  std::vector<DeviceFacts> all{host_device().facts()};
  for (const expr::Place place : places()) {
    try {
      all.push_back(device_at(place).facts());
    } catch (const DeviceError& error) {  // about one GPU, which another process may hold
      DeviceFacts& facts = all.emplace_back();
      facts.name = DeviceName::of_place(place);
      facts.title = fmt::format("cannot be used: {}", error.what());
    }
  }
  return all;
}

std::string describe_devices() {
  std::string text = host_name.to_string();
  each_device([&](const DeviceName& name, const Backend& backend) {
    text += fmt::format(", {}{}", name.to_string(), backend.remark(name.index));
  });
  return text;
}

std::uint16_t device_set(Gpus gpus) {
  // Parts of the host are the same under all flags; simulated devices differ by their architecture.
  const base::Flags& flags = base::config();
  if (gpus == Gpus::simulated || flags.cuda_simulator > 0)
    return static_cast<std::uint16_t>(flags.cuda_simulator_architecture);
  static auto& mutex = *new base::ForkSafeMutex;
  static auto& numbers = *new std::map<std::tuple<std::string, std::string, std::string>, std::uint16_t>;
  const std::lock_guard lock(mutex);
  const auto next = static_cast<std::uint16_t>(base::simulated_architectures + numbers.size());
  return numbers.try_emplace({flags.cuda_driver, flags.cuda_root, flags.logical_devices}, next).first->second;
}

void configure_backends(const base::Flags& flags) {
  for (const Backend* backend : *Backends::instance().all()) {
    if (backend->configure != nullptr) backend->configure(flags);
  }
}

void dump_texts(const DumpedTexts& texts, const std::string& architecture) noexcept {
  if (base::config().dump_kernels.empty()) return;
  for (const Backend* backend : *Backends::instance().all()) {
    if (backend->dump != nullptr) backend->dump(texts, architecture);
  }
}

void dump_text(const std::function<codegen::Text(codegen::Target)>& emit, const std::string& architecture) noexcept {
  dump_texts([&](codegen::Target language) { return std::vector<DumpedText>{{emit(language)}}; }, architecture);
}

}  // namespace croton::runtime
