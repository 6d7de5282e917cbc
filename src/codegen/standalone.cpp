#include "codegen/standalone.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/shape.hpp"
#include "codegen/division.hpp"
#include "codegen/embedded.hpp"

namespace croton::codegen {
namespace {

// The elements before and after an operand whose indices are only known when the kernel runs.
constexpr std::int64_t margin = std::int64_t{1} << 20;

std::string_view type_of(DType dtype) { return is_bool(dtype) ? "boolean" : short_name_of(dtype); }

/// The elements that an operand needs: [first, end), where element 0 is at the operand's address.
struct Range {
  std::int64_t first = 0, end = 1;
};

Range range_of(const StandalonePart& part, std::size_t operand) {
  Range range;
  for (std::size_t a = 0; a < part.analysis->accesses.size(); ++a) {
    const Access& access = part.analysis->accesses[a];
    if (access.operand != operand) continue;
    if (!access.affine) {
      range = {std::min(range.first, -margin), std::max(range.end, margin)};
      continue;
    }
    std::int64_t low = part.launch->offsets[a], high = low;
    for (std::size_t m = 0; m < part.launch->sizes.size(); ++m) {
      const std::int64_t reach = std::max<std::int64_t>(0, part.launch->sizes[m] - 1) * part.launch->strides[a][m];
      (reach < 0 ? low : high) += reach;
    }
    range = {std::min(range.first, low), std::max(range.end, high + 1)};
  }
  return range;
}

/// The value of a parameter that is a number.
std::int64_t number_of(const Parameter& parameter, const StandalonePart& part, std::int64_t& last_tile) {
  switch (parameter.kind) {
    case Parameter::Kind::size:
      return part.launch->sizes[parameter.index];
    case Parameter::Kind::stride:
      return part.launch->strides[parameter.access][parameter.index];
    case Parameter::Kind::extent:
      return part.extents[parameter.index];
    case Parameter::Kind::last_tile:
      return last_tile += gpu_items(*part.analysis, *part.launch, part.schedule);
    case Parameter::Kind::points:
      return point_count(*part.launch);
    case Parameter::Kind::divisor:
    case Parameter::Kind::tiles_of_line:
    case Parameter::Kind::tiles_divisor:
    case Parameter::Kind::lines:
    case Parameter::Kind::parts:
    case Parameter::Kind::parts_divisor:
    case Parameter::Kind::bands:
    case Parameter::Kind::bands_divisor:
    case Parameter::Kind::side_divisor:
    case Parameter::Kind::side_tiles_divisor:
      return position_parameter(parameter, *part.analysis, *part.launch, part.schedule);
    case Parameter::Kind::matrix:
    case Parameter::Kind::matrix_divisor:
    case Parameter::Kind::motion:
    case Parameter::Kind::loop:
    case Parameter::Kind::pointer:
    case Parameter::Kind::failure:
    case Parameter::Kind::workspace:
    case Parameter::Kind::counters:
      break;
  }
  throw InternalError("a parameter that is an address was asked for its number");
}

}  // namespace

std::string standalone_program(const Text& text, std::span<const StandalonePart> parts) {
  const bool split = text.state_bytes > 0;
  std::int64_t items = 0;
  LaunchMemory memory;
  std::vector<LaunchMemory> memory_begin;  // of each part
  for (const StandalonePart& part : parts) {
    memory_begin.push_back(memory);
    memory.add(launch_memory(*part.analysis, *part.launch, part.schedule));
    if (is_epilogue(parts[0].analysis->kernel.family, part.analysis->kernel.family))
      ++memory.counters;
    else
      items += gpu_items(*part.analysis, *part.launch, part.schedule);
  }
  const Schedule& schedule = parts[0].schedule;
  const std::int64_t blocks = gpu_blocks(*parts[0].analysis, items, schedule);

  std::string operands, parameters;
  std::vector<std::size_t> first_operand;
  std::size_t count = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    first_operand.push_back(count);
    const std::vector<kernel::Operand>& list = parts[p].analysis->kernel.operands;
    for (std::size_t i = 0; i < list.size(); ++i, ++count) {
      const Range range = range_of(parts[p], i);
      operands += fmt::format("      {{Type::{}, {}, {}, {}}},\n", type_of(list[i].dtype), range.end, -range.first,
                              list[i].written);
    }
  }
  std::int64_t last_tile = 0;
  for (const Parameter& parameter : text.parameters) {
    const StandalonePart& part = parts[parameter.part];
    if (parameter.kind == Parameter::Kind::pointer) {
      const std::size_t operand = part.analysis->accesses[parameter.access].operand;
      const std::int64_t item = base::element_size(part.analysis->kernel.operands[operand].dtype);
      parameters += fmt::format("      {{Kind::pointer, {}, {}}},\n", first_operand[parameter.part] + operand,
                                part.launch->offsets[parameter.access] * item);
    } else if (parameter.kind == Parameter::Kind::workspace && memory.state_bytes == 0) {
      parameters += "      {Kind::number, 0, 0},\n";  // the sums of a library: none is used
    } else if (parameter.kind == Parameter::Kind::failure) {
      // The word of failed checks comes first, then the partial results of a long reduction, then counters.
      parameters += "      {Kind::scratch, 0, 0},\n";
    } else if (parameter.kind == Parameter::Kind::workspace) {
      parameters += fmt::format("      {{Kind::scratch, 0, {}}},\n", 64 + memory_begin[parameter.part].state_bytes);
    } else if (parameter.kind == Parameter::Kind::counters) {
      parameters += fmt::format("      {{Kind::scratch, 0, {}}},\n",
                                64 + memory.state_bytes + 4 * memory_begin[parameter.part].counters);
    } else {
      parameters += fmt::format("      {{Kind::number, 0, {}}},\n", number_of(parameter, part, last_tile));
    }
  }
  std::string program = fmt::format("// nvcc -arch={} -fmad=false {}_main.cu\n", default_architecture, text.name);
  program += prelude(Target::cuda) + text.code;
  program += fmt::format("\nstatic_assert(sizeof({}_text::Params) == {}, \"the host passes other parameters\");\n\n",
                         text.name, text.parameters.size() * sizeof(std::uint64_t));
  program += standalone_mark;
  program += embedded_file("standalone.cuh");
  const std::string finish = split ? fmt::format("reinterpret_cast<const void*>(&{}_finish)", text.name) : "nullptr";
  return program +
         fmt::format(
             "\nint main(int count, char** words) {{\n"
             "  using namespace standalone;\n"
             "  const Program program{{\n"
             "      \"{0}\",\n      reinterpret_cast<const void*>(&{0}),\n      {1},\n"
             "      {{  // type, elements, elements in front of the first, whether it is written\n{2}      }},\n"
             "      {{  // in the order of Params\n{3}      }},\n"
             "      {4}, {5}, {6}, {7}, {8}, {9}, {10}}};  // scratch bytes, items, blocks, threads, shared bytes, "
             "parameters in memory, cooperative\n"
             "  return run(program, count, words);\n"
             "}}\n",
             text.name, finish, operands, parameters, 64 + memory.state_bytes + 4 * memory.counters, items, blocks,
             schedule.threads, schedule.shared_bytes, needs_table(text.parameters, Target::cuda), schedule.meets > 0);
}

}  // namespace croton::codegen
