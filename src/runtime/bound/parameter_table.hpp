// ParameterTable: the parameters of a launch in the memory of its device, for texts that have more of them than a
// launch can pass (codegen::needs_table).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codegen/emit.hpp"
#include "runtime/device/device.hpp"

namespace croton::runtime {

class ParameterTable {
 public:
  /// Allocates the table, if the text has one; if not, the functions below change nothing. Raises OutOfMemory.
  ParameterTable(Device& device, const codegen::Text& text);

  explicit operator bool() const { return memory_ != nullptr; }
  /// Copies the parameters to the device if they are others than those of the last copy. Earlier launches still read
  /// the old ones. Raises the errors of copies.
  void upload(std::span<const std::uint64_t> parameters);
  /// The parameters to launch with: the address of the table, which becomes an operand; else `parameters`.
  std::span<std::uint64_t> to_launch(std::span<std::uint64_t> parameters, std::vector<Operand>& operands);

 private:
  Device& device_;
  std::shared_ptr<void> memory_;         // null: no table
  std::vector<std::uint64_t> uploaded_;  // what is in the memory; empty: unknown
  std::uint64_t address_ = 0;
};

}  // namespace croton::runtime
