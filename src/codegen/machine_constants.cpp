#include "codegen/machine_constants.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/characters.hpp"

namespace croton::codegen {
namespace {

/// The numbers of a data sheet: the clock with boost; teraflops of dense products, without TensorFloat-32.
struct DataSheet {
  std::string_view name, architecture;
  int multiprocessors;
  double cache_megabytes, gigabytes_per_second, megahertz;
  double teraflops_64, teraflops_32, teraflops_16;
};

/// The shares of the data sheet's rates that the H200 reaches (4.229 of 4.8 TB/s; three quarters for products, as in
/// the header) are taken for others, too, and so are the times of its accesses and launches.
constexpr MachineConstants of(const DataSheet& sheet) {
  constexpr double copy_share = 4.229 / 4.8, product_share = 0.75;
  MachineConstants machine = h200;
  machine.name = sheet.name;
  machine.report = "its data sheet";
  machine.architecture = sheet.architecture;
  machine.multiprocessors = sheet.multiprocessors;
  machine.cache_bytes = static_cast<std::int64_t>(sheet.cache_megabytes * 1024 * 1024);
  machine.copy_bytes_per_second = copy_share * 1e9 * sheet.gigabytes_per_second;
  machine.instructions_per_second = sheet.multiprocessors * 4.0 * 32 * 1e6 * sheet.megahertz;
  machine.block_seconds = h200.block_seconds * 1980 / sheet.megahertz;
  machine.product_rate_64 = product_share * 1e12 * sheet.teraflops_64;
  machine.product_rate_32 = product_share * 1e12 * sheet.teraflops_32;
  machine.product_rate_16 = product_share * 1e12 * sheet.teraflops_16;
  return machine;
}

constexpr std::array<MachineConstants, 8> machines{
    h200,
    of({"NVIDIA H100 SXM", "sm_90", 132, 50, 3350, 1980, 67, 67, 989}),
    of({"NVIDIA A100 SXM 80GB", "sm_80", 108, 40, 2039, 1410, 19.5, 19.5, 312}),
    of({"NVIDIA B200", "sm_100", 148, 126, 8000, 1965, 37, 75, 2250}),
    of({"NVIDIA L40S", "sm_89", 142, 96, 864, 2520, 1.4, 91.6, 362}),
    of({"NVIDIA GeForce RTX 4090", "sm_89", 128, 72, 1008, 2520, 1.3, 82.6, 165}),
    of({"NVIDIA GeForce RTX 5090", "sm_120", 170, 96, 1792, 2407, 1.6, 105, 210}),
    of({"NVIDIA T4", "sm_75", 40, 4, 320, 1590, 0.25, 8.1, 65}),
};

std::string lowered(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), base::lower);
  return low;
}

}  // namespace

std::span<const MachineConstants> known_machines() { return machines; }

const MachineConstants& find_machine(std::string_view name) {
  const std::string part = lowered(name);
  const auto* at = std::ranges::find_if(
      machines, [&](const MachineConstants& machine) { return lowered(machine.name).find(part) != std::string::npos; });
  if (at != machines.end() && !name.empty()) return *at;
  std::string names;
  for (const MachineConstants& machine : machines)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", machine.name);
  throw ValueError(fmt::format("no machine is named '{}': there are cpu, {}", name, names));
}

}  // namespace croton::codegen
