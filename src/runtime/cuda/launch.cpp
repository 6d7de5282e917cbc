#include "runtime/cuda/launch.hpp"

#include <croton/error.hpp>

#include <array>

#include <fmt/format.h>

namespace croton::runtime::cuda {

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

int Kernel::resident_blocks(unsigned threads, Where where) const {
  Context& context = *code_->context;
  int of_one = 0;  // multiprocessor
  context.call(context.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor, where, &of_one, function_,
               static_cast<int>(threads), 0);
  return of_one * context.facts().multiprocessors;
}

}  // namespace croton::runtime::cuda
