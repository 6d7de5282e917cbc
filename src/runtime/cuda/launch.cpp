#include "runtime/cuda/launch.hpp"

#include <croton/error.hpp>

#include <array>

#include <fmt/format.h>

namespace croton::runtime::cuda {
namespace {

// A kernel with more must allow it before its launch (CUDA C++ Programming Guide, compute capabilities).
constexpr std::size_t shared_without_asking = 48 * 1024;

}  // namespace

void Kernel::launch(const Stream& stream, const LaunchShape& shape, std::span<const std::uint64_t> parameters,
                    std::optional<std::int64_t> points, Where where) const {
  if (shape.blocks == 0) return;
  Context& context = *code_->context;
  if (&stream.context() != &context) throw InternalError("a kernel of one device launched into a stream of another");
  std::int64_t count = points.value_or(0);
  // The driver reads as many arguments as the kernel has, and writes none.
  std::array<void*, 2> arguments{const_cast<std::uint64_t*>(parameters.data()), &count};
  const auto shared = static_cast<unsigned>(shape.dynamic_shared);
  const auto check = [&](const char* entry, Result code) {
    if (code != result::success) context.check(code, fmt::format("{} of {}", entry, name_).c_str(), where);
  };
  if (shape.cooperative) {
    const auto& entry = context.driver().cuLaunchCooperativeKernel;
    check(entry.name, context.attempt(entry, where, function_, shape.blocks, 1, 1, shape.threads, 1, 1, shared,
                                      stream.handle(), arguments.data()));
  } else {
    const auto& entry = context.driver().cuLaunchKernel;
    check(entry.name, context.attempt(entry, where, function_, shape.blocks, 1, 1, shape.threads, 1, 1, shared,
                                      stream.handle(), arguments.data(), nullptr));
  }
}

int Kernel::resident_blocks(unsigned threads, std::size_t dynamic_shared, Where where) const {
  Context& context = *code_->context;
  int of_one = 0;  // multiprocessor
  context.call(context.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor, where, &of_one, function_,
               static_cast<int>(threads), dynamic_shared);
  return of_one * context.facts().multiprocessors;
}

void Kernel::allow_dynamic_shared(std::size_t bytes, Where where) const {
  if (facts_.shared_bytes + bytes <= shared_without_asking) return;
  Context& context = *code_->context;
  if (const std::size_t most = context.facts().shared_bytes_per_block;
      bytes > most || facts_.shared_bytes > most - bytes) {
    throw DeviceError(fmt::format("kernel {} needs {} + {} bytes of shared memory: a block of {} has {}", name_,
                                  facts_.shared_bytes, bytes, context.title(), most));
  }
  context.call(context.driver().cuFuncSetAttribute, where, function_, function_attribute::max_dynamic_shared_bytes,
               static_cast<int>(bytes));
}

}  // namespace croton::runtime::cuda
