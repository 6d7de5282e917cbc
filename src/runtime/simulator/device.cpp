#include "runtime/simulator/device.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "runtime/simulator/driver.hpp"

namespace croton::runtime::simulator {
namespace {

bool is_split(const codegen::Text& text) { return text.state_bytes > 0; }

/// Compiled texts of this process, by kernel name: all simulated devices run the same code.
std::shared_ptr<const Program> program_of(const codegen::Text& text) {
  static std::mutex mutex;
  static auto* programs = new std::map<std::string, std::shared_ptr<const Program>>;
  const std::lock_guard lock(mutex);
  auto& program = (*programs)[text.name];
  if (!program) {
    const std::string unit = codegen::prelude(codegen::Target::cuda, true) + text.code;
    std::vector<std::string> names{text.name};
    if (is_split(text)) names.push_back(text.name + "_finish");
    program = std::make_shared<const Program>(compile(unit, names, true), unit);
  }
  return program;
}

class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(int index) {
    facts_.name = {base::DeviceName::Kind::cuda, index};
    facts_.kind = DeviceFacts::Kind::simulated;
    facts_.title = "simulated GPU";
    facts_.memory = std::size_t{1} << 34;
    facts_.major = 9;
  }

  const DeviceFacts& facts() const override { return facts_; }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    // The owner keeps the memory's table alive: arrays may outlive the device's other users.
    return {memory_->allocate(std::max<std::size_t>(1, bytes)), [memory = memory_](void* p) { memory->free(p); }};
  }
  void copy_in(void* to, const void* host, std::size_t bytes) override {
    if (bytes > 0) memory_->copy_in(to, {static_cast<const std::byte*>(host), bytes});
  }
  void copy_out(void* host, const void* from, std::size_t bytes) override {
    if (bytes > 0) memory_->copy_out({static_cast<std::byte*>(host), bytes}, from);
  }

  void prepare(const codegen::Text& text) override { program_of(text); }

  void launch(const codegen::Text& text, std::span<std::uint64_t> parameters, std::int64_t items, int blocks,
              int threads) override {
    const auto program = program_of(text);
    void* arguments[] = {parameters.data(), &items};
    const LaunchShape shape{.blocks = static_cast<unsigned>(blocks), .threads = static_cast<unsigned>(threads)};
    if (items > 0) simulator::launch(*program, text.name, shape, arguments, *memory_);
    if (is_split(text)) {
      simulator::launch(*program, text.name + "_finish", {.blocks = 1, .threads = 32}, std::span(arguments, 1), *memory_);
    }
  }

  void gemm(const cpu::MatrixProduct& product) override {
    // One access each, checked as a kernel's would be: rows of lda elements but for the last.
    const auto item = static_cast<std::int64_t>(size_of(product.dtype));
    const auto check = [&](const void* address, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
      if (rows > 0 && columns > 0) memory_->require(address, static_cast<std::size_t>(((rows - 1) * stride + columns) * item), "a product reads or writes");
    };
    const bool ta = product.transpose_a, tb = product.transpose_b;
    check(product.a, ta ? product.k : product.m, ta ? product.m : product.k, product.lda);
    check(product.b, tb ? product.n : product.k, tb ? product.k : product.n, product.ldb);
    check(product.c, product.m, product.n, product.ldc);
    cpu::gemm(product);
  }

 private:
  DeviceFacts facts_;
  std::shared_ptr<DeviceMemory> memory_ = std::make_shared<DeviceMemory>();
};

}  // namespace

std::unique_ptr<Device> make_device(int index) { return std::make_unique<SimulatedDevice>(index); }

}  // namespace croton::runtime::simulator
