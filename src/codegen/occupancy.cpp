#include "codegen/occupancy.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/rounding.hpp"

namespace croton::codegen {
namespace {

constexpr int kilobyte = 1024;
constexpr std::array<MultiprocessorLimits, 7> all_limits{{{"sm_75", 32, 16, 64 * kilobyte},
                                                          {"sm_80", 64, 32, 164 * kilobyte},
                                                          {"sm_86", 48, 16, 100 * kilobyte},
                                                          {"sm_89", 48, 24, 100 * kilobyte},
                                                          usual_limits,
                                                          {"sm_100", 64, 32, 228 * kilobyte},
                                                          {"sm_120", 48, 24, 100 * kilobyte}}};

// The same for all of these: registers of a multiprocessor, and the units in which they and shared memory are given
// out.
constexpr std::int64_t all_registers = 65536, registers_unit = 256, warps_unit = 4, lanes = 32, shared_unit = 128;

}  // namespace

/// Null for other names than those of the table and their variants.
static const MultiprocessorLimits* find_limits(std::string_view architecture) {
  const std::size_t end = architecture.find_last_of("0123456789");
  const std::string_view number = architecture.substr(0, end == architecture.npos ? 0 : end + 1);
  const auto* at = std::ranges::find(all_limits, number, &MultiprocessorLimits::architecture);
  return at == all_limits.end() ? nullptr : at;
}

/// Since compute capability 8.0 the system takes a kilobyte for each block.
static std::int64_t reserved_bytes(const MultiprocessorLimits& limits) {
  return limits.architecture == "sm_75" ? 0 : kilobyte;
}

std::int64_t shared_bytes_of_block(std::string_view architecture) {
  const MultiprocessorLimits* limits = find_limits(architecture);
  return limits == nullptr ? 48 * kilobyte : limits->shared_bytes - reserved_bytes(*limits);
}

MultiprocessorLimits limits_of(std::string_view architecture) {
  if (const MultiprocessorLimits* limits = find_limits(architecture)) return *limits;
  std::string known;
  for (const MultiprocessorLimits& limits : all_limits)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", limits.architecture);
  throw ValueError(
      fmt::format("the limits of a multiprocessor of '{}' are not known; those of {} are", architecture, known));
}

MultiprocessorLimits limits_or_usual(std::string_view architecture) {
  const MultiprocessorLimits* limits = find_limits(architecture);
  return limits == nullptr ? usual_limits : *limits;
}

Occupancy occupancy_of(const BlockResources& block, std::string_view architecture) {
  return occupancy_of(block, limits_of(architecture));
}

Occupancy occupancy_of(const BlockResources& block, const MultiprocessorLimits& limits) {
  const std::int64_t warps = std::max<std::int64_t>(1, base::ceil_div(block.threads, lanes));
  const std::int64_t of_warp = base::round_up(std::max<std::int64_t>(1, block.registers) * lanes, registers_unit);
  const std::int64_t warps_by_registers = all_registers / of_warp / warps_unit * warps_unit;
  const std::int64_t shared = base::round_up(block.shared_bytes + reserved_bytes(limits), shared_unit);
  struct Limit {
    std::string_view name;
    std::int64_t blocks;
  };
  const std::array<Limit, 4> by{{{"threads", limits.warps / warps},
                                 {"blocks", limits.blocks},
                                 {"registers", warps_by_registers / warps},
                                 {"shared memory", shared == 0 ? limits.blocks : limits.shared_bytes / shared}}};
  const Limit least = *std::ranges::min_element(by, {}, &Limit::blocks);
  return {least.blocks, least.blocks * warps, static_cast<double>(least.blocks * warps) / limits.warps, least.name};
}

}  // namespace croton::codegen
