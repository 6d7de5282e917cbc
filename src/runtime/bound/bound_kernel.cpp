#include "runtime/bound/bound_kernel.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "codegen/inner_outer.hpp"
#include "codegen/schedule_overrides.hpp"
#include "codegen/state_size.hpp"
#include "runtime/bound/user_line.hpp"

namespace croton::runtime {
namespace {

// With more elements index arithmetic could overflow.
constexpr std::int64_t max_elements = std::int64_t{1} << 62;

/// Whether nothing outside the launch reads a buffer that one of its steps writes.
bool is_unread(const plan::Plan& plan, const plan::Launch& launch, plan::BufferId b) {
  const plan::Buffer& buffer = plan.buffers[b];
  return buffer.role == plan::Buffer::Role::temporary && buffer.last_step < launch.end_step &&
         std::ranges::none_of(
             plan.segments, [&](const plan::Segment& s) { return std::ranges::count(s.fresh, b) > 0; });
}

codegen::MatrixKernel matrix_kernel(const BoundKernel& kernel, codegen::Schedule& schedule) {
  std::vector<std::size_t> arrays;
  for (const plan::BufferId b : kernel.operands) arrays.push_back(b.index());
  return {*kernel.analysis, kernel.launch, schedule, std::move(arrays), kernel.unread};
}

codegen::Part part_of(const BoundKernel& kernel) {
  return {kernel.analysis, &kernel.launch.variant, kernel.schedule, kernel_comment(*kernel.call)};
}

std::string group_name(std::span<const BoundKernel> kernels) {
  std::vector<codegen::Part> parts;
  for (const BoundKernel& kernel : kernels)
    parts.push_back({.analysis = kernel.analysis, .variant = &kernel.launch.variant});
  return codegen::group_name(parts);
}

}  // namespace

codegen::Launch specialise_kernel(const BoundKernel& kernel, const Memory& memory) {
  std::vector<codegen::Layout> layouts;
  layouts.reserve(kernel.operands.size());
  for (const plan::BufferId b : kernel.operands) layouts.push_back(memory.layouts[b]);
  return codegen::specialise(*kernel.analysis, kernel.extents, layouts);
}

void find_unread(BoundKernel& kernel, const plan::Plan& plan, const plan::Launch& launch) {
  if (launch.size() == 1) return;
  const std::size_t written_from = kernel.operands.size() - kernel.call->writes.size();
  for (std::size_t k = written_from; k < kernel.operands.size(); ++k)
    kernel.unread[k] = is_unread(plan, launch, kernel.operands[k]);
}

BoundKernel kernel_of(const Executable& executable, const plan::Step& step, int generated) {
  const fuse::Call& call = executable.call_of(step);
  const auto* product = std::get_if<fuse::ProductCall>(&call.work);
  const std::size_t which = product == nullptr || generated < 0 ? 0 : static_cast<std::size_t>(generated);
  BoundKernel result;
  result.call = product != nullptr ? product->generated[which].get() : &call.as<fuse::KernelCall>();
  result.analysis = executable.analyses[step.call][which].get();
  result.operands = product != nullptr ? step.generated_reads[which] : step.reads;
  result.operands.insert(result.operands.end(), step.writes.begin(), step.writes.end());
  result.unread.assign(result.operands.size(), false);
  return result;
}

BoundKernel bind_kernel(const Executable& executable, const plan::Step& step, int generated, const SizeTable& sizes,
                        const Memory& memory) {
  BoundKernel result = kernel_of(executable, step, generated);
  for (const NodeId extent : result.call->extents) result.extents.push_back(sizes[extent]);
  result.launch = specialise_kernel(result, memory);
  std::int64_t elements = 1;
  for (const std::int64_t size : result.launch.sizes) {
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(1, size), &elements) || elements > max_elements) {
      throw ShapeError(
          fmt::format("a kernel would walk more than {} elements ({})", max_elements, lines_of(result.call->origins)));
    }
  }
  return result;
}

codegen::Text emit_launch(std::span<const BoundKernel> kernels, codegen::Target target) {
  std::vector<codegen::Part> parts;
  for (const BoundKernel& kernel : kernels) parts.push_back(part_of(kernel));
  if (is_inner_outer(kernels))
    return codegen::emit_inner_outer(parts[0], parts[1], shared_operands(kernels[0], kernels[1]));
  return parts.size() == 1 ? codegen::emit(parts[0], target) : codegen::emit_group(parts, target);
}

codegen::Machine machine_of(const Device& device) {
  const DeviceFacts& facts = device.facts();
  if (!device.runs_cuda()) return {};
  codegen::Machine machine{.multiprocessors = facts.multiprocessors,
                           .shared_bytes = static_cast<std::int64_t>(facts.shared_bytes),
                           .cooperates = facts.cooperates,
                           .limits = codegen::limits_or_usual(device.architecture())};
  if (facts.cache_bytes > 0) machine.cache_bytes = static_cast<std::int64_t>(facts.cache_bytes);
  if (facts.kind == DeviceFacts::Kind::simulated) {
    machine.pointwise_threads = machine.threads = 64;
    machine.blocks = 8;
  }
  return machine;
}

void schedule_kernels(std::span<BoundKernel> kernels, const codegen::Machine& machine, std::string_view overrides) {
  for (BoundKernel& kernel : kernels) {
    if (kernels.size() > 1) kernel.launch.variant = kernel.launch.variant.without_tiles();
  }
  std::string group;
  const auto name_of_group = [&] {
    if (group.empty()) group = group_name(kernels);
    return group;
  };
  const codegen::NameOf name = kernels.size() > 1 ? codegen::NameOf(name_of_group) : codegen::NameOf();
  for (BoundKernel& kernel : kernels)
    kernel.schedule = codegen::choose_schedule(*kernel.analysis, kernel.launch, machine, overrides, name);
}

codegen::Machine machine_of_pass(codegen::Machine machine) {
  machine.whole_warps = true;
  return machine;
}

bool is_inner_outer(std::span<const BoundKernel> kernels) {
  return kernels.size() == 2 && kernels[0].schedule.rows > 0;
}

codegen::SharedOperands shared_operands(const BoundKernel& rows, const BoundKernel& columns) {
  codegen::Schedule of_rows = rows.schedule, of_columns = columns.schedule;
  return codegen::share_operands(matrix_kernel(rows, of_rows), matrix_kernel(columns, of_columns));
}

namespace {

// Static shared memory of a launch of several reductions; a block has 48 KB.
constexpr std::int64_t most_state_bytes = 32 * 1024;

/// The static shared memory of a split kernel in packs: a state for each block of a part, and one for each warp.
std::int64_t state_bytes(const BoundKernel& kernel) {
  return (kernel.schedule.row_blocks + kernel.schedule.warps) * codegen::state_bytes_of_groups(*kernel.analysis);
}

/// Finds kernels of a launch of reductions that fit into one launch: those in packs, as long as shared memory has room
/// for the states of all different texts.
class TogetherFinder {
 public:
  bool operator()(const BoundKernel& kernel) {
    if (kernel.schedule.part == 0) return false;
    const auto text = std::pair(codegen::kernel_name(*kernel.analysis, kernel.launch.variant), kernel.schedule);
    if (texts_.contains(text)) return true;
    if (bytes_ + state_bytes(kernel) > most_state_bytes) return false;
    bytes_ += state_bytes(kernel);
    texts_.insert(text);
    return true;
  }

 private:
  std::set<std::pair<std::string, codegen::Schedule>> texts_;
  std::int64_t bytes_ = 0;
};

/// The kernels of a pass over a matrix: as one launch, where a GPU is faster then, or two.
std::vector<std::vector<BoundKernel>> schedule_pass(std::vector<BoundKernel> kernels, codegen::Target target,
                                                    const codegen::Machine& machine, std::string_view overrides) {
  BoundKernel &rows = kernels[0], &columns = kernels[1];
  for (BoundKernel& kernel : kernels) schedule_kernels(std::span(&kernel, 1), machine, overrides);
  if (target == codegen::Target::cuda) {
    const auto name = [&] { return codegen::inner_outer_name(part_of(rows), part_of(columns)); };
    const std::optional<int> wanted = codegen::read_overrides(overrides, kernel::Family::row, name).kernels;
    BoundKernel of_pass = rows;
    schedule_kernels(std::span(&of_pass, 1), machine_of_pass(machine), overrides);
    rows.why_alone = codegen::fit_inner_outer(matrix_kernel(of_pass, of_pass.schedule),
                                              matrix_kernel(columns, columns.schedule), machine, wanted);
    if (rows.why_alone.empty()) {
      rows.schedule = of_pass.schedule;
      return {std::move(kernels)};
    }
  }
  std::vector<std::vector<BoundKernel>> launches;
  for (BoundKernel& kernel : kernels) launches.emplace_back().push_back(std::move(kernel));
  return launches;
}

}  // namespace

std::vector<std::vector<BoundKernel>> schedule_launches(std::vector<BoundKernel> kernels, codegen::Target target,
                                                        const codegen::Machine& machine, std::string_view overrides) {
  std::vector<std::vector<BoundKernel>> launches;
  if (kernels.empty()) return launches;  // another kind of work
  if (kernels.size() == 2 && kernels.front().analysis->kernel.family == kernel::Family::row)
    return schedule_pass(std::move(kernels), target, machine, overrides);
  std::vector<BoundKernel> together;  // the last launch
  const bool are_reductions = kernels.front().analysis->kernel.family == kernel::Family::split;
  if (kernels.size() == 1 || !are_reductions) {
    together = std::move(kernels);
  } else {
    schedule_kernels(kernels, machine, overrides);
    TogetherFinder fits;
    std::vector<BoundKernel> alone;
    for (const BoundKernel& kernel : kernels) {
      const bool joins = is_epilogue(kernels, kernel) || (target == codegen::Target::cuda && fits(kernel));
      (joins ? together : alone).push_back(kernel);
    }
    const auto reduces = [&](const BoundKernel& kernel) { return !is_epilogue(kernels, kernel); };
    if (std::ranges::count_if(together, reduces) < 2) {
      alone = std::move(kernels);
      together.clear();
    }
    for (BoundKernel& kernel : alone) launches.push_back({std::move(kernel)});
  }
  if (!together.empty()) launches.push_back(std::move(together));
  for (std::vector<BoundKernel>& launch : launches) schedule_kernels(launch, machine, overrides);
  return launches;
}

bool is_epilogue(std::span<const BoundKernel> kernels, const BoundKernel& kernel) {
  return codegen::is_epilogue(kernels.front().analysis->kernel.family, kernel.analysis->kernel.family);
}

std::int64_t gpu_items(std::span<const BoundKernel> kernels) {
  std::int64_t items = 0;
  for (const BoundKernel& kernel : kernels) {
    if (!is_epilogue(kernels, kernel)) items += codegen::gpu_items(*kernel.analysis, kernel.launch, kernel.schedule);
  }
  return items;
}

std::int64_t gpu_blocks(std::span<const BoundKernel> kernels) {
  const BoundKernel& first = kernels.front();
  const std::int64_t blocks = codegen::gpu_blocks(*first.analysis, gpu_items(kernels), first.schedule);
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw ValueError(fmt::format("a launch on a GPU can have 2147483647 blocks; a kernel of {} would need {} ({})",
                                 fmt::join(first.launch.sizes, " x "), blocks, lines_of(first.call->origins)));
  }
  return blocks;
}

codegen::Work cpu_work(std::span<const BoundKernel> kernels) {
  const BoundKernel& first = kernels.front();
  if (kernels.size() == 1) return codegen::cpu_work(*first.analysis, first.launch, first.schedule);
  std::int64_t tiles = 0;
  for (const BoundKernel& kernel : kernels) tiles += codegen::group_tiles(kernel.launch);
  return codegen::group_work(tiles, first.schedule);
}

void count_prepared(Prepared prepared, RunCounts& counts) {
  switch (prepared) {
    case Prepared::before:
      break;
    case Prepared::from_cache:
      ++counts.cached;
      break;
    case Prepared::compiled:
      ++counts.compiled;
      break;
  }
}

}  // namespace croton::runtime
