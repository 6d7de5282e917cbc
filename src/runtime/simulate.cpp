#include "runtime/simulate.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/simulator/driver.hpp"

namespace croton::runtime {
namespace {

/// Compiled texts of this process, by kernel name.
std::shared_ptr<const simulator::Program> program_of(const codegen::Text& text, bool split) {
  static std::mutex mutex;
  static auto* programs = new std::map<std::string, std::shared_ptr<const simulator::Program>>;
  const std::lock_guard lock(mutex);
  auto& program = (*programs)[text.name];
  if (!program) {
    const std::string unit = codegen::prelude(codegen::Target::cuda, true) + text.code;
    std::vector<std::string> names{text.name};
    if (split) names.push_back(text.name + "_finish");
    program = std::make_shared<const simulator::Program>(simulator::compile(unit, names, true), unit);
  }
  return program;
}

}  // namespace

void simulate(const SimulatedLaunch& request, std::uint32_t* failure) {
  const codegen::Analysis& analysis = *request.analysis;
  const codegen::Launch& launch = *request.launch;
  const bool split = analysis.kernel.family == kernel::Family::split;
  const codegen::Text text = codegen::emit(analysis, launch.variant, codegen::Target::cuda);
  const auto program = program_of(text, split);

  simulator::DeviceMemory memory;
  // An operand that is written in place of another one is one piece of memory on the device as well.
  std::map<void*, char*> device;
  for (const SimulatedOperand& operand : request.operands) {
    if (operand.bytes == 0 || device.contains(operand.host)) continue;
    char* address = static_cast<char*>(memory.allocate(operand.bytes));
    memory.copy_in(address, {static_cast<const std::byte*>(operand.host), operand.bytes});
    device[operand.host] = address;
  }
  constexpr std::size_t failure_bytes = 3 * sizeof(std::uint32_t);
  void* device_failure = memory.allocate(failure_bytes);
  memory.copy_in(device_failure, {reinterpret_cast<const std::byte*>(failure), failure_bytes});
  void* workspace = split ? memory.allocate(text.state_bytes * static_cast<std::size_t>(std::max<std::int64_t>(1, request.points))) : nullptr;

  std::vector<std::uint64_t> parameters;
  for (const codegen::Parameter& parameter : text.parameters) {
    const auto access = static_cast<std::size_t>(parameter.access), index = static_cast<std::size_t>(parameter.index);
    using Kind = codegen::Parameter::Kind;
    switch (parameter.kind) {
      case Kind::pointer: {
        const auto operand = static_cast<std::size_t>(analysis.accesses[access].operand);
        const auto item = static_cast<std::int64_t>(size_of(analysis.kernel.operands[operand].dtype));
        const auto at = device.find(request.operands[operand].host);
        parameters.push_back(at == device.end() ? 0 : reinterpret_cast<std::uint64_t>(at->second + launch.offsets[access] * item));
        break;
      }
      case Kind::failure: parameters.push_back(reinterpret_cast<std::uint64_t>(device_failure)); break;
      case Kind::workspace: parameters.push_back(reinterpret_cast<std::uint64_t>(workspace)); break;
      case Kind::size: parameters.push_back(static_cast<std::uint64_t>(launch.sizes[index])); break;
      case Kind::stride: parameters.push_back(static_cast<std::uint64_t>(launch.strides[access][index])); break;
      case Kind::extent: parameters.push_back(static_cast<std::uint64_t>(request.extents[index])); break;
    }
  }

  std::int64_t points = request.points;
  void* arguments[] = {parameters.data(), &points};
  // Two warps a block and few blocks: kernels walk the rest in their grid loops, which is part of what is tested.
  const simulator::LaunchShape shape{.blocks = static_cast<unsigned>(std::clamp<std::int64_t>((points + 63) / 64, 1, 8)), .threads = 64};
  if (points > 0) simulator::launch(*program, text.name, shape, arguments, memory, request.seed);
  if (split) simulator::launch(*program, text.name + "_finish", {.blocks = 1, .threads = 32}, std::span(arguments, 1), memory, request.seed);

  for (const SimulatedOperand& operand : request.operands) {
    if (operand.written && operand.bytes > 0) memory.copy_out({static_cast<std::byte*>(operand.host), operand.bytes}, device.at(operand.host));
  }
  memory.copy_out({reinterpret_cast<std::byte*>(failure), failure_bytes}, device_failure);
}

}  // namespace croton::runtime
