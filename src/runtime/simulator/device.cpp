#include "runtime/simulator/device.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/memory.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/device/device_split.hpp"
#include "runtime/simulator/kernels.hpp"
#include "runtime/simulator/launch.hpp"
#include "runtime/simulator/memory.hpp"

namespace croton::runtime::simulator {
namespace {

/// What was asked of a device, to be asked again.
class NotedWork final : public Recording {
 public:
  void add(std::function<void()> item) { items_.push_back(std::move(item)); }
  bool replay() override {
    for (const auto& item : items_) item();
    return true;
  }

 private:
  std::vector<std::function<void()>> items_;
};

/// What this thread records, and of which device.
struct Noting {
  const runtime::Device* device = nullptr;  // none: it records nothing
  NotedWork* work = nullptr;
};
thread_local Noting noting;

DeviceFacts facts_of(int index) {
  DeviceFacts facts;
  facts.name = {base::DeviceName::Kind::cuda, index};
  facts.kind = DeviceFacts::Kind::simulated;
  facts.title = "simulated GPU";
  facts.memory = std::size_t{1} << 34;
  facts.major = 9;
  facts.target = codegen::Target::cuda;
  facts.multiprocessors = static_cast<int>(Limits::multiprocessors);
  facts.cache_bytes = std::size_t{50} << 20;
  facts.cooperates = true;
  return facts;
}

class Device final : public runtime::Device {
 public:
  explicit Device(int index) : runtime::Device(facts_of(index)) {}

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    refuse_while_noting("memory");
    base::check_allocation(bytes);
    if (bytes > facts().memory) {
      throw OutOfMemory(
          fmt::format("{} bytes of memory of {} could not be allocated; it has {}", bytes, name(), facts().memory));
    }
    // The owner keeps the memory's table alive: arrays may outlive the device's other users.
    std::shared_ptr<void> piece(memory_->allocate(bytes), [memory = memory_](void* p) { memory->free(p); });
    return counted(std::move(piece), bytes);
  }
  void copy_in(void* to, const void* host, std::size_t bytes) override {
    refuse_while_noting("a copy from the host");
    memory_->copy_in(to, {static_cast<const std::byte*>(host), bytes});
  }
  void copy_out(void* host, const void* from, std::size_t bytes) override {
    refuse_while_noting("a copy to the host");
    memory_->copy_out({static_cast<std::byte*>(host), bytes}, from);
  }
  void copy_from(runtime::Device& other, void* to, const void* from, std::size_t bytes) override {
    if (&other == this && notes()) return note([this, to, from, bytes] { copy_in(to, from, bytes); });
    // Memory of another simulated device can be read as it is; a detour could fail for want of memory.
    if (other.facts().kind == DeviceFacts::Kind::simulated) return copy_in(to, from, bytes);
    runtime::Device::copy_from(other, to, from, bytes);
  }

  Prepared prepare(const codegen::Text& text, int) override { return prepare_program(text); }

  void launch(const DeviceLaunch& launch) override {
    if (notes()) return note_launch(launch);
    const auto program = program_of(*launch.text);
    const std::vector<Allocation> pieces = pieces_of(launch);
    // A changed text may go on for ever; none of the tests' programs comes near this.
    const std::uint64_t most_steps = texts_are_changed() ? 1 << 20 : LaunchShape{}.most_steps;
    std::int64_t items = launch.items;
    void* arguments[] = {launch.parameters.data(), &items};
    const LaunchShape shape{.blocks = static_cast<unsigned>(launch.blocks),
                            .threads = static_cast<unsigned>(launch.threads),
                            .cooperative = launch.cooperative,
                            .most_steps = most_steps};
    if (items > 0) simulator::launch(*program, launch.text->name, shape, arguments, pieces);
    if (launch.text->state_bytes > 0) {
      simulator::launch(*program, launch.text->name + "_finish", {.blocks = 1, .threads = 32, .most_steps = most_steps},
                        std::span(arguments, 1), pieces);
    }
    for (const Allocation& piece : pieces) memory_->set_written(piece);
  }

  int most_cooperative_blocks(const codegen::Text&, int threads) override {
    return static_cast<int>(resident_blocks(static_cast<unsigned>(threads)));
  }

  bool prepare(const MatrixProduct&) override { return true; }

  void gemm(const MatrixProduct& product) override {
    if (notes()) return note([this, product] { gemm(product); });
    // The host's BLAS, on this device's memory: one access for each operand, checked as a kernel's would be.
    const bool ta = product.transpose_a, tb = product.transpose_b;
    const auto bytes = [&](std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t stride) {
      if (rows <= 0 || columns <= 0 || product.batch <= 0) return std::size_t{0};
      return static_cast<std::size_t>((product.batch - 1) * stride + (rows - 1) * leading + columns) *
             size_of(product.dtype);
    };
    const std::size_t a = bytes(ta ? product.k : product.m, ta ? product.m : product.k, product.lda, product.stride_a);
    const std::size_t b = bytes(tb ? product.n : product.k, tb ? product.k : product.n, product.ldb, product.stride_b);
    const std::size_t c = bytes(product.m, product.n, product.ldc, product.stride_c);
    memory_->check_read(product.a, a, "the left operand of a product");
    memory_->check_read(product.b, b, "the right operand of a product");
    if (product.beta != 0) memory_->check_read(product.c, c, "the result of a product, which adds to it");
    if (overlap(product.c, c, product.a, a) || overlap(product.c, c, product.b, b))
      throw DeviceError("race on a simulated device: the result of a product overlaps one of its operands");
    memory_->check_written(product.c, c, "the result of a product");
    cpu::gemm(product);
  }

  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    if (noting.device != nullptr) throw InternalError("work is recorded while work is recorded");
    auto noted = std::make_unique<NotedWork>();
    noting = {this, noted.get()};
    try {
      work();
    } catch (...) {
      noting = {};
      throw;
    }
    noting = {};
    return noted;
  }

 private:
  bool notes() const { return noting.device == this; }
  void refuse_while_noting(const char* what) const {
    if (notes()) throw InternalError(fmt::format("{} was asked for while work of {} is recorded", what, name()));
  }
  void note(std::function<void()> item) { noting.work->add(std::move(item)); }

  /// With copies of its parameters and operands, as the driver takes them.
  void note_launch(const DeviceLaunch& launch) {
    note([this, again = launch,
          parameters = std::vector<std::uint64_t>(launch.parameters.begin(), launch.parameters.end()),
          operands = std::vector<Operand>(launch.operands.begin(), launch.operands.end())]() mutable {
      again.parameters = parameters;
      again.operands = operands;
      this->launch(again);
    });
  }

  static bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return first < second + b_bytes && second < first + a_bytes;
  }

  /// The memory that the launch may touch. What it only writes holds nothing that it may read.
  std::vector<Allocation> pieces_of(const DeviceLaunch& launch) const {
    std::vector<Operand> operands(launch.operands.begin(), launch.operands.end());
    std::erase_if(operands, [](const Operand& operand) { return operand.bytes == 0; });
    std::ranges::sort(operands, std::less<>{}, &Operand::address);
    // One piece are a result and the operand in whose place it is written, and operands that overlap, such as a
    // sequence and an element of it. A result that overlaps by mistake is none with what it spoils.
    const auto are_one = [](const Operand& a, const Operand& b) {
      return a.address == b.address || (!a.written && !b.written && overlap(a.address, a.bytes, b.address, b.bytes));
    };
    std::vector<Operand> apart;
    for (const Operand& operand : operands) {
      if (apart.empty() || !are_one(apart.back(), operand)) {
        apart.push_back(operand);
        continue;
      }
      Operand& piece = apart.back();
      const auto ahead =
          static_cast<std::size_t>(static_cast<std::byte*>(operand.address) - static_cast<std::byte*>(piece.address));
      piece.bytes = std::max(piece.bytes, ahead + operand.bytes);
      piece.read = piece.read || operand.read;
      piece.written = piece.written || operand.written;
    }
    std::vector<Allocation> pieces;
    for (const Operand& operand : apart) {
      pieces.push_back(memory_->piece(operand.address, operand.bytes, operand.read));
      // What a broken text leaves out must not be there from the run before.
      if (!operand.read && texts_are_changed()) std::memset(operand.address, 0xab, operand.bytes);
    }
    return pieces;
  }

  std::shared_ptr<simulator::DeviceMemory> memory_ = std::make_shared<simulator::DeviceMemory>();
};

int count() {
  const int gpus = static_cast<int>(base::config().cuda_simulator);
  return gpus == 0 ? 0 : count_parts(present_split(), gpus);
}

runtime::Device* find(int number) { return number < count() ? &device(number) : nullptr; }

std::string remark(int) { return " (simulated)"; }

std::string advice(int) { return ""; }

}  // namespace

runtime::Device& device(int number) {
  static auto& made = *new MadeDevices<int>;
  return made.get(number, [&] { return std::make_unique<Device>(number); });
}

const Backend& backend() {
  static constexpr Backend simulator{base::DeviceName::Kind::cuda, count, find, remark, advice};
  return simulator;
}

}  // namespace croton::runtime::simulator
