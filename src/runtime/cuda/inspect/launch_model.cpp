#include "runtime/cuda/inspect/launch_model.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/rounding.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::runtime::cuda {
namespace {

bool is_family(const KernelInfo& kernel, std::string_view family) {
  return kernel.name.starts_with(family) && kernel.name.substr(family.size()).starts_with('_');
}
/// Whether the model knows how the work is divided among threads: not for contractions, whose elements are used many
/// times, and loops, whose launch depends on the device.
bool knows_threads(const KernelInfo& kernel) { return kernel.blocks > 0 && !is_family(kernel, "contract"); }

bool is_routine(const KernelInfo& kernel) { return kernel.expression.starts_with("routine "); }

/// A number of a printed schedule, such as that of "run"; 0 if it has none.
std::int64_t number_of(const KernelInfo& kernel, std::string_view key) {
  const std::size_t at = kernel.schedule.find(" " + std::string(key) + "=");
  if (at == std::string::npos) return 0;
  return std::strtoll(kernel.schedule.c_str() + at + key.size() + 2, nullptr, 10);
}

/// Whether each block does a part of a row, or of everything.
bool in_row_parts(const KernelInfo& kernel) {
  return number_of(kernel, "part") > 0 && (is_family(kernel, "split") || is_family(kernel, "row"));
}

/// Threads that do one item together.
std::int64_t threads_of_item(const KernelInfo& kernel) {
  if (is_family(kernel, "row") && number_of(kernel, "lanes") > 0)
    return number_of(kernel, "lanes") * std::max<std::int64_t>(1, number_of(kernel, "warps"));
  if (in_row_parts(kernel)) return kernel.threads;
  if (is_family(kernel, "row") || is_family(kernel, "split")) return ct::lanes;
  return kernel.items == kernel.points ? 1 : std::max<std::int64_t>(1, kernel.threads);
}

std::int64_t parts_of_split(const KernelInfo& kernel) {
  return base::ceil_div(kernel.length, std::int64_t{ct::part_elements});
}

/// The elements that one thread walks, one after the other, in each pass.
double elements_of_thread(const KernelInfo& kernel, const EntryCode& entry) {
  if (is_finish(entry)) return static_cast<double>(parts_of_split(kernel));
  if (is_routine(kernel)) return static_cast<double>(kernel.length);
  const std::int64_t together = threads_of_item(kernel);
  const std::int64_t at_once = std::max<std::int64_t>(1, kernel.blocks * kernel.threads / together);
  const std::int64_t items = base::ceil_div(std::max<std::int64_t>(1, kernel.items), at_once);
  const double of_item = static_cast<double>(kernel.points) * static_cast<double>(kernel.length) /
                         static_cast<double>(std::max<std::int64_t>(1, kernel.items));
  return static_cast<double>(items) * std::max(1.0, of_item / static_cast<double>(together));
}

/// Waits for memory that a thread needs for an element: one for all loads that are under way together.
double waits_for_element(const Pass& pass) {
  std::int64_t loaded = 0;
  for (const auto& [width, count] : pass.loads) loaded += std::int64_t{width} * count;
  if (loaded == 0) return 0;
  const double of_element = static_cast<double>(loaded) / static_cast<double>(pass.elements);
  return of_element / static_cast<double>(std::max<std::int64_t>(1, pass.in_flight));
}

/// How often all multiprocessors are filled with blocks.
double waves(const EntryLaunch& launch, const Occupancy& occupancy, const MachineConstants& machine) {
  const std::int64_t resident = std::max<std::int64_t>(1, occupancy.blocks * machine.multiprocessors);
  return static_cast<double>(base::ceil_div(std::max<std::int64_t>(1, launch.blocks), resident));
}

}  // namespace

double ModelledTime::seconds() const { return std::max({memory, issue, chain}) + meetings; }

std::string_view ModelledTime::limiter() const {
  if (meetings > std::max({memory, issue, chain})) return "meetings";
  if (memory >= issue && memory >= chain) return "memory";
  return issue >= chain ? "instructions" : "chain";
}

bool is_finish(const EntryCode& entry) { return entry.facts.entry.ends_with("_finish"); }

EntryLaunch launch_of(const KernelInfo& kernel, const EntryCode& entry) {
  if (is_finish(entry)) return {1, ct::lanes};
  return {kernel.blocks, kernel.threads};
}

Occupancy occupancy_of(const KernelInfo& kernel, const EntryCode& entry, std::string_view architecture) {
  return codegen::occupancy_of({.threads = launch_of(kernel, entry).threads,
                                .registers = entry.facts.registers,
                                .shared_bytes = entry.facts.shared_bytes + kernel.shared_bytes},
                               architecture);
}

std::int64_t bytes_in_flight(const KernelInfo& kernel, const EntryCode& entry, std::string_view architecture,
                             const MachineConstants& machine) {
  const EntryLaunch launch = launch_of(kernel, entry);
  const std::int64_t blocks = base::ceil_div(launch.blocks, std::int64_t{machine.multiprocessors});
  const std::int64_t resident = std::min(blocks, occupancy_of(kernel, entry, architecture).blocks);
  return resident * launch.threads * entry.code.in_flight();
}

bool rereads_memory(const KernelInfo& kernel, const EntryCode& main, std::string_view architecture,
                    const MachineConstants& machine) {
  if (is_routine(kernel)) return true;
  const Occupancy occupancy = occupancy_of(kernel, main, architecture);
  const std::int64_t blocks = std::min(kernel.blocks, occupancy.blocks * machine.multiprocessors);
  const std::int64_t points = std::min(kernel.points, blocks * kernel.threads / threads_of_item(kernel));
  std::int64_t resident = 0;
  // Operands that all points share are there once.
  for (const KernelOperand& operand : kernel.operands)
    resident += std::min(operand.bytes, operand.point_bytes * points);
  return resident > machine.cache_bytes;
}

std::int64_t memory_bytes(const KernelInfo& kernel, const EntryCode& main, std::string_view architecture,
                          const MachineConstants& machine) {
  const bool again = rereads_memory(kernel, main, architecture, machine);
  std::int64_t bytes = 0;
  for (const KernelOperand& operand : kernel.operands)
    bytes += operand.bytes * (again ? std::max(1, operand.passes) : 1);
  return bytes;
}

std::int64_t serial_joins(const KernelInfo& kernel) {
  if (is_family(kernel, "row") && !in_row_parts(kernel)) {
    const std::int64_t blocks = base::ceil_div(kernel.length, std::int64_t{ct::block_elements});
    // Packs: the states of blocks are joined by the lanes of a warp, 32 at a time.
    return number_of(kernel, "packs") > 0 ? base::ceil_div(blocks, std::int64_t{ct::lanes}) : blocks;
  }
  if (is_family(kernel, "column")) {
    const std::int64_t run = number_of(kernel, "run"), part = number_of(kernel, "part");
    if (run == 0) return base::ceil_div(kernel.length, std::int64_t{ct::chunk_elements});
    if (part == 0) return run;
    // Then the threads below each other share the parts.
    const std::int64_t below = kernel.threads / std::max<std::int64_t>(1, number_of(kernel, "across"));
    return run + base::ceil_div(base::ceil_div(kernel.length, part), std::max<std::int64_t>(1, below));
  }
  if (is_family(kernel, "split") || is_family(kernel, "row")) {
    const std::int64_t part = number_of(kernel, "part");
    if (part == 0) return base::ceil_div(parts_of_split(kernel), std::int64_t{ct::lanes});
    // A warp joins the blocks of a part, then each warp of the last block its share of the parts, 32 at a time.
    // Parts that meet do so for each reduction.
    return std::max<std::int64_t>(1, number_of(kernel, "meets")) *
           (base::ceil_div(part, ct::block_elements * ct::lanes) +
            base::ceil_div(base::ceil_div(kernel.length, part), std::max<std::int64_t>(1, kernel.threads)));
  }
  if (is_family(kernel, "matrix")) {
    std::int64_t joins = 1;  // of chunks, whose groups are joined in pairs
    for (std::int64_t parts = kernel.items; parts > 1; parts = base::ceil_div<std::int64_t>(parts, ct::joined_parts))
      joins += ct::joined_parts - 1;
    return joins;
  }
  const bool running = is_family(kernel, "cumsum") || is_family(kernel, "cumprod");
  return running ? kernel.length : 0;
}

ModelledTime model_launch(const KernelInfo& kernel, const EntryCode& entry, std::string_view architecture,
                          const MachineConstants& machine) {
  const EntryLaunch launch = launch_of(kernel, entry);
  const Occupancy occupancy = occupancy_of(kernel, entry, architecture);
  const double of_thread = elements_of_thread(kernel, entry);
  const double elements =
      is_finish(entry) ? of_thread : static_cast<double>(kernel.points) * static_cast<double>(kernel.length);
  const double busy = static_cast<double>(std::clamp<std::int64_t>(launch.blocks, 1, machine.multiprocessors)) /
                      machine.multiprocessors;
  ModelledTime time;
  if (!is_finish(entry)) {
    time.memory = static_cast<double>(memory_bytes(kernel, entry, architecture, machine)) /
                  (machine.attainable_share * machine.copy_bytes_per_second);
  }
  if (!knows_threads(kernel)) return time;
  time.issue = elements * entry.code.instructions_per_element() / (machine.instructions_per_second * busy);
  // The first pass over a row brings it into the cache; a long reduction's parts are there.
  const bool again = !is_finish(entry) && rereads_memory(kernel, entry, architecture, machine);
  for (std::size_t i = 0; i < entry.code.passes.size(); ++i) {
    const bool from_memory = again || (i == 0 && !is_finish(entry));
    time.chain += of_thread * waits_for_element(entry.code.passes[i]) * waves(launch, occupancy, machine) *
                  (from_memory ? machine.access_seconds : machine.cache_access_seconds);
  }
  // Nothing else is under way while blocks wait for each other.
  time.meetings = static_cast<double>(number_of(kernel, "meets")) * machine.meeting_seconds();
  return time;
}

}  // namespace croton::runtime::cuda
