#include "runtime/cpu/device.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/index.hpp"
#include "base/memory.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/dnn/dnn.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/device/device_split.hpp"

namespace croton::runtime {
namespace cpu {
namespace {

DeviceFacts facts_of(int index) {
  DeviceFacts facts;
  facts.name = {base::DeviceName::Kind::cpu, index};
  facts.kind = index == 0 ? DeviceFacts::Kind::host : DeviceFacts::Kind::logical;
  facts.title = fmt::format("{}{} cores", index == 0 ? "" : "a part of the host, ", ThreadPool::usable_cores());
  facts.on_host = true;
  return facts;
}

/// The host.
class Device : public runtime::Device {
 public:
  explicit Device(int index = 0) : runtime::Device(facts_of(index)) {}

  std::shared_ptr<void> allocate(std::size_t bytes) override { return base::allocate_shared_memory(bytes); }
  void copy_in(void* to, const void* host, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, host, bytes);  // of nothing there may be no address
  }
  void copy_out(void* host, const void* from, std::size_t bytes) override { copy_in(host, from, bytes); }

  bool prepare(const MatrixProduct&) override { return true; }
  void gemm(const MatrixProduct& product) override { cpu::gemm(product); }
  std::shared_ptr<const ReadyConvolution> prepare(const Convolution& convolution) override {
    return Dnn::instance().prepare(convolution);
  }
};

class Part final : public Device {
 public:
  using Device::Device;
  std::shared_ptr<void> allocate(std::size_t bytes) override { return counted(Device::allocate(bytes), bytes); }
};

int count() { return current_split().cpus; }

runtime::Device& find(int number) {
  if (number == 0) return host_device();
  static auto& made = *new MadeDevices<int>;
  return made.get(number, [&] { return std::make_unique<Part>(number); });
}

std::string remark(int number) { return number == 0 ? "" : " (logical)"; }

std::string advice(int number) {
  return fmt::format(" (the flag logical_devices=cpu:{} makes cpu0 to cpu{})", number + 1, number);
}

void configure(const base::Flags& flags) {
  ThreadPool::instance().set_threads(base::to_int(flags.threads));
  Blas::configure(flags.blas);
  Dnn::configure(flags.dnn);
}

}  // namespace

const Backend& backend() {
  static constexpr Backend cpu{.kind = base::DeviceName::Kind::cpu,
                               .count = count,
                               .find = find,
                               .remark = remark,
                               .advice = advice,
                               .configure = configure};
  return cpu;
}

}  // namespace cpu

Device& host_device() {
  static Device& host = *new cpu::Device;  // never destroyed: functions may be called by destructors of static objects
  return host;
}

}  // namespace croton::runtime
