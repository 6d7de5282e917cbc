#include "runtime/cuda/inspect/operands.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace croton::runtime::cuda {
namespace {

constexpr int uniform_registers = 256;

/// The number of registers that an instruction writes, at least.
int result_width(const Instruction& i) {
  if (i.loads()) return std::max(1, i.bytes() / 4);
  if (i.has_modifier("128")) return 4;
  return i.has_modifier("64") || i.has_modifier("WIDE") || i.opcode.starts_with("D") || i.is("CS2R") ? 2 : 1;
}

bool has_no_result(const Instruction& i) {
  constexpr std::array names{"RED", "REDG", "BRA", "EXIT", "RET", "CALL", "BAR", "BSSY", "BSYNC", "MEMBAR"};
  return i.stores() || std::ranges::any_of(names, [&](const char* name) { return i.is(name); });
}

}  // namespace

std::vector<std::string_view> split_operands(std::string_view text) {
  std::vector<std::string_view> operands;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (const std::size_t suffix = word.find(".reuse"); suffix != word.npos) word = word.substr(0, suffix);
    operands.push_back(word);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return operands;
}

int place_of(std::string_view operand) {
  int base = 0;
  if (operand.starts_with('U')) {
    base = uniform_registers;
    operand.remove_prefix(1);
  }
  if (operand.starts_with('P'))
    base = base == 0 ? first_predicate : uniform_predicates;
  else if (!operand.starts_with('R'))
    return no_place;
  int number = 0;
  const char* end = operand.data() + operand.size();
  const auto [at, error] = std::from_chars(operand.data() + 1, end, number);
  const int most = base >= first_predicate ? uniform_predicates - first_predicate : uniform_registers;
  return error == std::errc() && at == end && number < most ? base + number : no_place;
}

bool is_predicate(std::string_view operand) {
  return operand == "PT" || operand == "UPT" || place_of(operand) >= first_predicate;
}

std::optional<std::int64_t> number_of(std::string_view operand) {
  if (operand == "RZ" || operand == "URZ") return 0;
  const bool negative = operand.starts_with('-');
  if (negative) operand.remove_prefix(1);
  if (!operand.starts_with("0x")) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = operand.data() + operand.size();
  const auto [at, error] = std::from_chars(operand.data() + 2, end, number, 16);
  if (error != std::errc() || at != end || number > UINT32_MAX) return std::nullopt;
  const std::int64_t value = static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
  return negative ? -static_cast<std::int64_t>(number) : value;
}

Results results_of(const Instruction& i, const std::vector<std::string_view>& operands) {
  Results results;
  if (has_no_result(i)) return results;
  if (i.is("R2P")) {  // "R2P PR, R5, 0x7f"
    for (int place = first_predicate; place < uniform_predicates; ++place)
      results.places.set(static_cast<std::size_t>(place));
    results.operands = 1;
    return results;
  }
  const auto take = [&](int width) {
    const int place = place_of(operands[results.operands++]);
    for (int w = 0; place != no_place && w < width; ++w) results.places.set(static_cast<std::size_t>(place + w));
  };
  while (results.operands < operands.size() && is_predicate(operands[results.operands])) take(1);
  const bool only_predicates = results.operands > 0 && (i.opcode.find("SETP") != i.opcode.npos || i.is("PLOP3") ||
                                                        i.is("UPLOP3") || i.is("FCHK"));
  if (only_predicates || results.operands >= operands.size()) return results;
  take(result_width(i));
  while (results.operands < operands.size() && is_predicate(operands[results.operands])) take(1);
  return results;
}

}  // namespace croton::runtime::cuda
