#include "runtime/cuda/module.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace croton::runtime::cuda {
namespace {

// Above this a kernel must be told before its launch (CUDA C++ Programming Guide, compute capabilities).
constexpr std::size_t shared_without_asking = 48 * 1024;

bool is_machine_code(std::span<const std::byte> code) {
  constexpr std::string_view elf(
      "\x7f"
      "ELF",
      4);
  return std::string_view(reinterpret_cast<const char*>(code.data()), code.size()).starts_with(elf);
}

}  // namespace

struct Module::State {
  explicit State(std::shared_ptr<Device> owner) : device(std::move(owner)) {}
  ~State() {
    if (handle != nullptr) device->release(device->driver().cuModuleUnload, handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<Device> device;
  ModuleHandle handle = nullptr;
};

Module::Module(std::shared_ptr<Device> owner, std::span<const std::byte> code, Where where) {
  auto state = std::make_shared<State>(std::move(owner));
  Device& device = *state->device;
  std::string terminated;  // PTX is text, and its end is a zero
  const void* image = code.data();
  if (!is_machine_code(code)) {
    terminated.assign(reinterpret_cast<const char*>(code.data()), code.size());
    image = terminated.c_str();
  }
  std::array<char, 8192> log{};
  std::array<int, 2> options{flag::jit_error_log, flag::jit_error_log_bytes};
  // Sizes stand where the pointers of other options do.
  std::array<void*, 2> values{log.data(), std::bit_cast<void*>(log.size() - 1)};
  const auto& entry = device.driver().cuModuleLoadDataEx;
  const Result code_of_call = device.attempt(entry, where, &state->handle, image, static_cast<unsigned>(options.size()),
                                             options.data(), values.data());
  try {
    device.check(code_of_call, entry.name, where);
  } catch (const DeviceError& error) {
    if (log[0] == '\0') throw;
    throw DeviceError(fmt::format("{}\nThe driver's compiler says:\n{}", error.what(), log.data()));
  }
  state_ = std::move(state);
}

Kernel Module::kernel(const std::string& name, std::size_t dynamic_shared, Where where) const {
  Device& device = *state_->device;
  const Driver& driver = device.driver();
  FunctionHandle function = nullptr;
  const auto& find = driver.cuModuleGetFunction;
  const Result found = device.attempt(find, where, &function, state_->handle, name.c_str());
  if (found != result::success) device.check(found, fmt::format("{} of {}", find.name, name).c_str(), where);
  Kernel kernel(state_, name, function);
  const auto fact = [&](int which) {
    int value = 0;
    device.call(driver.cuFuncGetAttribute, where, &value, which, function);
    return value;
  };
  kernel.facts_ = {.registers = fact(function_attribute::registers),
                   .shared_bytes = static_cast<std::size_t>(fact(function_attribute::shared_bytes)),
                   .local_bytes = static_cast<std::size_t>(fact(function_attribute::local_bytes)),
                   .threads_per_block = fact(function_attribute::max_threads),
                   .architecture = fact(function_attribute::binary_version)};
  if (kernel.facts_.shared_bytes + dynamic_shared > shared_without_asking) {
    device.call(driver.cuFuncSetAttribute, where, function, function_attribute::max_dynamic_shared_bytes,
                static_cast<int>(dynamic_shared));
  }
  return kernel;
}

void Kernel::launch(const Stream& stream, const LaunchShape& shape, std::span<const std::uint64_t> parameters,
                    std::optional<std::int64_t> points, Where where) const {
  if (shape.blocks == 0) return;
  Device& device = *module_->device;
  if (&stream.device() != &device) throw InternalError("a kernel of one device launched into a stream of another");
  std::int64_t count = points.value_or(0);
  // The driver reads as many arguments as the kernel has, and writes none.
  std::array<void*, 2> arguments{const_cast<std::uint64_t*>(parameters.data()), &count};
  const auto shared = static_cast<unsigned>(shape.dynamic_shared);
  const auto check = [&](const char* entry, Result code) {
    if (code != result::success) device.check(code, fmt::format("{} of {}", entry, name_).c_str(), where);
  };
  if (shape.cooperative) {
    const auto& entry = device.driver().cuLaunchCooperativeKernel;
    check(entry.name, device.attempt(entry, where, function_, shape.blocks, 1, 1, shape.threads, 1, 1, shared,
                                     stream.handle(), arguments.data()));
  } else {
    const auto& entry = device.driver().cuLaunchKernel;
    check(entry.name, device.attempt(entry, where, function_, shape.blocks, 1, 1, shape.threads, 1, 1, shared,
                                     stream.handle(), arguments.data(), nullptr));
  }
}

int Kernel::resident_blocks(unsigned threads, Where where) const {
  Device& device = *module_->device;
  int of_one = 0;  // multiprocessor
  device.call(device.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor, where, &of_one, function_,
              static_cast<int>(threads), 0);
  return of_one * device.facts().multiprocessors;
}

}  // namespace croton::runtime::cuda
