#include "device.hpp"

#include <atomic>
#include <cstring>
#include <string>

#include "base/device_name.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/devices.hpp"

namespace croton::test::stub {
namespace {

base::DeviceName::Kind kind() {
  static const base::DeviceName::Kind added = base::add_device_kind("stub");
  return added;
}

runtime::DeviceFacts stub_facts() {
  runtime::DeviceFacts facts;  // not on_host: the device runs its kernels, which are CPU code
  facts.name = {kind(), 0};
  facts.kind = runtime::DeviceFacts::Kind::logical;
  facts.title = "a stub";
  return facts;
}

class Device final : public runtime::Device {
 public:
  Device() : runtime::Device(stub_facts()) {}

  std::shared_ptr<void> allocate(std::size_t bytes) override { return counted(memory_.allocate(bytes), bytes); }
  void copy_in(void* to, const void* host, std::size_t bytes) override {
    ++copies_in_;
    memory_.check(to, bytes);
    std::memcpy(to, host, bytes);
  }
  void copy_out(void* host, const void* from, std::size_t bytes) override {
    ++copies_out_;
    memory_.check(from, bytes);
    std::memcpy(host, from, bytes);
  }

  runtime::Prepared prepare(const codegen::Text& text, int, std::size_t) override { return kernels_.prepare(text); }
  void launch(const runtime::DeviceLaunch& launch) override {
    ++launches_;
    for (const runtime::Operand& operand : launch.operands) memory_.check(operand.address, operand.bytes);
    kernels_.launch(launch);
  }

  bool prepare(const runtime::MatrixProduct&) override { return true; }
  void gemm(const runtime::MatrixProduct& product) override {
    ++products_;
    runtime::cpu::gemm(product);
  }

  Work work() const { return {launches_, products_, copies_in_, copies_out_}; }

 private:
  Memory memory_;
  Kernels kernels_;
  std::atomic<std::uint64_t> launches_{0}, products_{0}, copies_in_{0}, copies_out_{0};
};

Device& device() {
  static auto& made = *new Device;  // never destroyed, because arrays may have memory on it
  return made;
}

std::atomic<int> present{0};
int count() { return present > 0 ? 1 : 0; }
runtime::Device& find(int) { return device(); }
std::string remark(int) { return " (stub)"; }
std::string advice(int) { return " (the test is over)"; }

}  // namespace

Present::Present() {
  [[maybe_unused]] static const bool added = (runtime::add_backend({kind(), count, find, remark, advice}), true);
  ++present;
}
Present::~Present() { --present; }

Work work() { return device().work(); }

}  // namespace croton::test::stub
