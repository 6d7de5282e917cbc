#include "runtime/bound/parameter_table.hpp"

#include <algorithm>

namespace croton::runtime {

ParameterTable::ParameterTable(Device& device, const codegen::Text& text) : device_(device) {
  if (!codegen::needs_table(text.parameters, device.target())) return;
  memory_ = device.allocate(text.parameters.size() * sizeof(std::uint64_t));
  address_ = reinterpret_cast<std::uint64_t>(memory_.get());
}

void ParameterTable::upload(std::span<const std::uint64_t> parameters) {
  if (!memory_ || std::ranges::equal(parameters, uploaded_)) return;
  uploaded_.clear();  // until the copy has succeeded
  std::vector<std::uint64_t> copied(parameters.begin(), parameters.end());
  device_.copy_in(memory_.get(), copied.data(), parameters.size_bytes());
  uploaded_ = std::move(copied);
}

std::span<std::uint64_t> ParameterTable::to_launch(std::span<std::uint64_t> parameters,
                                                   std::vector<Operand>& operands) {
  if (!memory_) return parameters;
  operands.push_back({memory_.get(), parameters.size_bytes(), true, false});
  return {&address_, 1};
}

}  // namespace croton::runtime
