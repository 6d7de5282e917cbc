#include "runtime/simulator/device.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/memory.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/device/device_split.hpp"
#include "runtime/device/elements.hpp"
#include "runtime/simulator/architecture.hpp"
#include "runtime/simulator/kernels.hpp"
#include "runtime/simulator/launch.hpp"
#include "runtime/simulator/memory.hpp"
#include "runtime/simulator/range.hpp"

namespace croton::runtime::simulator {
namespace {

/// Work of a device, to be started again.
class RecordedWork final : public Recording {
 public:
  void add(std::function<void()> item) { items_.push_back(std::move(item)); }
  bool replay() override {
    for (const auto& item : items_) item();
    return true;
  }

 private:
  std::vector<std::function<void()>> items_;
};

/// The recording of this thread.
struct Recorder {
  const runtime::Device* device = nullptr;  // none: it records nothing
  RecordedWork* work = nullptr;
};
thread_local Recorder recorder;

/// Each launch of the process has a seed of its own, unless the flag sets one.
std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> launches{0};
  const auto fixed = static_cast<std::uint64_t>(base::config().cuda_simulator_seed);
  return fixed != 0 ? fixed : ++launches;
}

DeviceFacts facts_of(int index, const Architecture& architecture) {
  DeviceFacts facts;
  facts.name = {base::DeviceName::Kind::cuda, index};
  facts.kind = DeviceFacts::Kind::simulated;
  facts.title = "simulated GPU";
  facts.memory = std::size_t{1} << 34;
  facts.major = architecture.major;
  facts.minor = architecture.minor;
  facts.target = codegen::Target::cuda;
  facts.multiprocessors = multiprocessors;
  facts.shared_bytes = architecture.shared_bytes_per_block();
  facts.cache_bytes = std::size_t{50} << 20;
  facts.cooperates = true;
  return facts;
}

class Device final : public runtime::Device {
 public:
  Device(int index, const Architecture& architecture)
      : runtime::Device(facts_of(index, architecture)), architecture_(architecture) {}

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    refuse_while_recording("memory");
    base::check_allocation(bytes);
    if (bytes > facts().memory) {
      throw OutOfMemory(
          fmt::format("{} bytes of memory of {} could not be allocated; it has {}", bytes, name(), facts().memory));
    }
    // The owner keeps the table of the memory alive: arrays may outlive the other users of the device.
    std::shared_ptr<void> piece(memory_->allocate(bytes), [memory = memory_](void* p) { memory->free(p); });
    return counted(std::move(piece), bytes);
  }
  void copy_in(void* to, const void* host, std::size_t bytes) override {
    refuse_while_recording("a copy from the host");
    memory_->copy_in(to, bytes_at(host, bytes));
  }
  void copy_out(void* host, const void* from, std::size_t bytes) override {
    refuse_while_recording("a copy to the host");
    memory_->copy_out(bytes_at(host, bytes), from);
  }
  void copy_from(runtime::Device& other, void* to, const void* from, std::size_t bytes) override {
    if (&other == this && is_recording()) return record_item([this, to, from, bytes] { copy_in(to, from, bytes); });
    // The host can read the memory of another simulated device; a copy through other memory might fail to allocate it.
    if (other.facts().kind == DeviceFacts::Kind::simulated) return copy_in(to, from, bytes);
    runtime::Device::copy_from(other, to, from, bytes);
  }

  Prepared prepare(const codegen::Text& text, int, std::size_t shared_bytes) override {
    if (const std::size_t most = architecture_.shared_bytes_per_block(); shared_bytes > most) {
      throw DeviceError(fmt::format("{} needs {} bytes of dynamic shared memory: a block of {} has {}", text.name,
                                    shared_bytes, architecture_.name, most));
    }
    return prepare_program(text);
  }

  void launch(const DeviceLaunch& launch) override {
    if (is_recording()) return record_launch(launch);
    const auto program = program_of(*launch.text);
    const std::vector<Allocation> pieces = pieces_of(launch);
    // A changed text may run for ever; no correct program of the tests needs so many steps.
    const std::uint64_t max_steps = texts_are_changed() ? 1 << 20 : LaunchShape{}.max_steps;
    std::int64_t items = launch.items;
    void* arguments[] = {launch.parameters.data(), &items};
    LaunchShape shape = shape_of(launch.threads, launch.shared_bytes);
    shape.blocks = static_cast<unsigned>(launch.blocks);
    shape.cooperative = launch.cooperative;
    shape.max_steps = max_steps;
    if (items > 0) run(*program, launch.text->name, shape, arguments, pieces);
    if (launch.text->state_bytes > 0) {
      LaunchShape finish = shape_of(32, 0);
      finish.max_steps = max_steps;
      run(*program, launch.text->name + "_finish", finish, std::span(arguments, 1), pieces);
    }
    for (const Allocation& piece : pieces) memory_->set_written(piece);
  }

  int max_cooperative_blocks(const codegen::Text& text, int threads, std::size_t shared_bytes) override {
    return static_cast<int>(resident_blocks(*program_of(text), shape_of(threads, shared_bytes)));
  }

  bool prepare(const MatrixProduct&) override { return true; }

  void gemm(const MatrixProduct& product) override {
    if (is_recording()) return record_item([this, product] { gemm(product); });
    // The host's BLAS, on this device's memory: one access for each operand, checked as a kernel's would be.
    const std::size_t a = product.a_bytes(), b = product.b_bytes(), c = product.c_bytes();
    memory_->check_read(product.a, a, "the left operand of a product");
    memory_->check_read(product.b, b, "the right operand of a product");
    if (product.beta != 0) memory_->check_read(product.c, c, "the result of a product, which adds to it");
    const Range result = range_of(product.c, c);
    if (overlap(result, range_of(product.a, a)) || overlap(result, range_of(product.b, b)))
      throw DeviceError("race on a simulated device: the result of a product overlaps one of its operands");
    memory_->check_written(product.c, c, "the result of a product");
    cpu::gemm(product);
  }

  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    if (recorder.device != nullptr) throw InternalError("work is recorded while work is recorded");
    auto recorded = std::make_unique<RecordedWork>();
    recorder = {this, recorded.get()};
    try {
      work();
    } catch (...) {
      recorder = {};
      throw;
    }
    recorder = {};
    return recorded;
  }

 private:
  bool is_recording() const { return recorder.device == this; }
  void refuse_while_recording(const char* what) const {
    if (is_recording()) throw InternalError(fmt::format("{} was requested while work of {} is recorded", what, name()));
  }
  void record_item(std::function<void()> item) { recorder.work->add(std::move(item)); }

  /// Copies the parameters and operands, as the driver does.
  void record_launch(const DeviceLaunch& launch) {
    record_item([this, again = launch,
                 parameters = std::vector<std::uint64_t>(launch.parameters.begin(), launch.parameters.end()),
                 operands = std::vector<Operand>(launch.operands.begin(), launch.operands.end())]() mutable {
      again.parameters = parameters;
      again.operands = operands;
      this->launch(again);
    });
  }

  LaunchShape shape_of(int threads, std::size_t shared_bytes) const {
    return {.threads = static_cast<unsigned>(threads),
            .dynamic_shared = shared_bytes,
            .strict = true,
            .architecture = &architecture_};
  }

  /// A report names the seed, so that the run can be repeated.
  static void run(const Program& program, const std::string& kernel, const LaunchShape& shape,
                  std::span<void* const> arguments, const std::vector<Allocation>& pieces) {
    const std::uint64_t seed = next_seed();
    try {
      simulator::launch(program, kernel, shape, arguments, pieces, seed);
    } catch (const DeviceError& error) {
      throw DeviceError(fmt::format("{} (cuda_simulator_seed={})", error.what(), seed));
    }
  }

  static Range range_of(const void* begin, std::size_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(begin), bytes};
  }
  static Range range_of(const Operand& operand) { return range_of(operand.address, operand.bytes); }
  static bool overlap(const Range& a, const Range& b) { return a.begin < b.end() && b.begin < a.end(); }

  /// The memory that the launch may touch. Operands that it only writes count as not yet written.
  std::vector<Allocation> pieces_of(const DeviceLaunch& launch) const {
    std::vector<Operand> operands(launch.operands.begin(), launch.operands.end());
    std::erase_if(operands, [](const Operand& operand) { return operand.bytes == 0; });
    std::ranges::sort(operands, std::less<>{}, &Operand::address);
    // A result and the operand that it replaces in place are one piece, and so are operands that overlap, such as a
    // sequence and an element of it. A result that overlaps an operand by mistake is a piece of its own.
    const auto are_one = [](const Operand& a, const Operand& b) {
      return a.address == b.address || (!a.written && !b.written && overlap(range_of(a), range_of(b)));
    };
    std::vector<Operand> apart;
    for (const Operand& operand : operands) {
      if (apart.empty() || !are_one(apart.back(), operand)) {
        apart.push_back(operand);
        continue;
      }
      Operand& piece = apart.back();
      piece.bytes = std::max(range_of(piece).end(), range_of(operand).end()) - range_of(piece).begin;
      piece.read = piece.read || operand.read;
      piece.written = piece.written || operand.written;
    }
    std::vector<Allocation> pieces;
    for (const Operand& operand : apart) {
      pieces.push_back(memory_->piece(operand.address, operand.bytes, operand.read));
      // A broken text must not find the results of the previous run.
      if (!operand.read && texts_are_changed()) std::memset(operand.address, 0xab, operand.bytes);
    }
    return pieces;
  }

  const Architecture& architecture_;
  std::shared_ptr<simulator::DeviceMemory> memory_ = std::make_shared<simulator::DeviceMemory>();
};

int count() {
  const int gpus = static_cast<int>(base::config().cuda_simulator);
  return gpus == 0 ? 0 : count_parts(current_split(), gpus);
}

runtime::Device& find(int number) {
  static auto& made = *new MadeDevices<std::pair<int, std::string_view>>;
  const Architecture& architecture = current_architecture();
  return made.get({number, architecture.name}, [&] { return std::make_unique<Device>(number, architecture); });
}

std::string remark(int) { return " (simulated)"; }

std::string advice(int) { return ""; }

}  // namespace

const Backend& backend() {
  static constexpr Backend simulator{.kind = base::DeviceName::Kind::cuda,
                                     .count = count,
                                     .find = find,
                                     .remark = remark,
                                     .advice = advice,
                                     .simulates = true};
  return simulator;
}

}  // namespace croton::runtime::simulator
