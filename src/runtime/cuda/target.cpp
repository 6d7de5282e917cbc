#include "runtime/cuda/target.hpp"

#include <croton/error.hpp>

#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace croton::runtime::cuda {

CompileTarget choose_target(const GpuFacts& facts, std::span<const std::string> known) {
  const int chip = 10 * facts.major + facts.minor;
  int newest = 0;
  for (const std::string_view name : known) {
    constexpr std::string_view prefix = "sm_";
    int number = 0;
    if (name.starts_with(prefix)) std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    if (number <= chip && number > newest) newest = number;
  }
  if (newest == chip) return {fmt::format("sm_{}", chip), Form::cubin};
  if (newest > 0) return {fmt::format("compute_{}", newest), Form::ptx};
  throw DeviceError(fmt::format("{} has compute capability {}.{}, which this compiler does not support; it knows {}",
                                facts.name, facts.major, facts.minor, fmt::join(known, ", ")));
}

}  // namespace croton::runtime::cuda
