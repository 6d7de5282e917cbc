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

bool is_machine_code(std::span<const std::byte> code) {
  constexpr std::string_view elf(
      "\x7f"
      "ELF",
      4);
  return std::string_view(reinterpret_cast<const char*>(code.data()), code.size()).starts_with(elf);
}

}  // namespace

Module::Module(std::shared_ptr<Context> owner, std::span<const std::byte> code, Where where) {
  auto loaded = std::make_shared<LoadedCode>(std::move(owner));
  Context& context = *loaded->context;
  std::string terminated;  // PTX is text, and its end is a zero
  const void* image = code.data();
  if (!is_machine_code(code)) {
    terminated.assign(reinterpret_cast<const char*>(code.data()), code.size());
    image = terminated.c_str();
  }
  std::array<char, 8192> log{};
  constexpr unsigned option_count = 2;
  std::array<int, option_count> options{flag::jit_error_log, flag::jit_error_log_bytes};
  // Values are pointers, or sizes in their place.
  std::array<void*, option_count> values{log.data(), std::bit_cast<void*>(log.size() - 1)};
  const auto& entry = context.driver().cuModuleLoadDataEx;
  const Result code_of_call =
      context.attempt(entry, where, &loaded->handle, image, option_count, options.data(), values.data());
  try {
    context.check(code_of_call, entry.name, where);
  } catch (const DeviceError& error) {
    if (log[0] == '\0') throw;
    throw DeviceError(fmt::format("{}\nThe driver's compiler says:\n{}", error.what(), log.data()));
  }
  code_ = std::move(loaded);
}

Kernel Module::kernel(const std::string& name, std::size_t dynamic_shared, Where where) const {
  Context& context = *code_->context;
  const Driver& driver = context.driver();
  FunctionHandle function = nullptr;
  const auto& find = driver.cuModuleGetFunction;
  const Result found = context.attempt(find, where, &function, code_->handle, name.c_str());
  if (found != result::success) context.check(found, fmt::format("{} of {}", find.name, name).c_str(), where);
  Kernel kernel(code_, name, function);
  const auto fact = [&](int which) {
    int value = 0;
    context.call(driver.cuFuncGetAttribute, where, &value, which, function);
    return value;
  };
  const auto bytes = [&](int which) { return static_cast<std::size_t>(fact(which)); };
  kernel.facts_ = {.registers = fact(function_attribute::registers),
                   .shared_bytes = bytes(function_attribute::shared_bytes),
                   .local_bytes = bytes(function_attribute::local_bytes),
                   .threads_per_block = fact(function_attribute::max_threads),
                   .architecture = fact(function_attribute::binary_version)};
  kernel.allow_dynamic_shared(dynamic_shared, where);
  return kernel;
}

}  // namespace croton::runtime::cuda
