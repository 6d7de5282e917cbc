#include "runtime/cpu/device.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <cstring>

#include "base/memory.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/threads.hpp"

namespace croton::runtime::cpu {
namespace {

class LogicalCpu final : public Device {
 public:
  explicit LogicalCpu(int index) {
    facts_.name = {base::DeviceName::Kind::cpu, index};
    facts_.kind = DeviceFacts::Kind::logical;
    facts_.title = fmt::format("a part of the host, {} cores", ThreadPool::usable_cores());
  }

  const DeviceFacts& facts() const override { return facts_; }
  MemoryUse memory_use() const override { return account_->use(); }
  bool runs_cuda() const override { return false; }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    return on_account(account_, base::allocate_shared_memory(bytes), bytes);
  }
  void copy_in(void* to, const void* host, std::size_t bytes) override { std::memcpy(to, host, bytes); }
  void copy_out(void* host, const void* from, std::size_t bytes) override { std::memcpy(host, from, bytes); }

  // Its kernels are the host's, which the runtime prepares and runs itself.
  Prepared prepare(const codegen::Text&, int) override { throw InternalError("CUDA text on a part of the host"); }
  void launch(const DeviceLaunch&) override { throw InternalError("CUDA text on a part of the host"); }
  bool prepare(const MatrixProduct&) override { return true; }
  void gemm(const MatrixProduct& product) override { cpu::gemm(product); }

 private:
  DeviceFacts facts_;
  std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();
};

}  // namespace

std::unique_ptr<Device> make_device(int index) { return std::make_unique<LogicalCpu>(index); }

}  // namespace croton::runtime::cpu
