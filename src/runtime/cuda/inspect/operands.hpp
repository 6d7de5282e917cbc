// Operands of instructions: the registers, predicates and numbers in their text, and which of them are results.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/cuda/inspect/instructions.hpp"

namespace croton::runtime::cuda {

/// Registers and predicates have numbers: general registers, uniform ones, predicates, uniform ones.
constexpr int first_predicate = 512, uniform_predicates = 528, no_place = -1;
using Places = std::bitset<544>;

/// The operands, without ".reuse".
std::vector<std::string_view> split_operands(std::string_view text);
/// The place of an operand that is a register or a predicate, without a sign; RZ and PT have none.
int place_of(std::string_view operand);
bool is_predicate(std::string_view operand);
/// The value of "0x80", "-0x80" or "RZ", as a signed number of 32 bits.
std::optional<std::int64_t> number_of(std::string_view operand);

/// The results of an instruction: predicates that come first, then a register, then the predicates after it.
struct Results {
  Places places;
  std::size_t operands = 0;  ///< how many operands they are
};
Results results_of(const Instruction& instruction, const std::vector<std::string_view>& operands);

}  // namespace croton::runtime::cuda
