#include "runtime/cuda/inspect/instructions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

namespace croton::runtime::cuda {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The label of "`(.L_x_1)" or "`($name)"; empty for other text.
std::string_view label_in(std::string_view operands) {
  const std::size_t open = operands.find("`(");
  const std::size_t close = open == operands.npos ? open : operands.find(')', open);
  return close == operands.npos ? std::string_view() : operands.substr(open + 2, close - open - 2);
}

/// An instruction from "/*0010*/ @!P0 LDG.E R2, [R4] ;"; nothing for other text.
std::optional<Instruction> read_instruction(const SassLine& line) {
  std::string_view text = line.text;
  const std::size_t end = text.starts_with("/*") ? text.find("*/") : text.npos;
  if (end == text.npos) return std::nullopt;
  text = trimmed(text.substr(end + 2));
  text = trimmed(text.substr(0, text.find(';')));
  Instruction result;
  if (text.starts_with('@')) {
    const std::size_t space = std::min(text.find(' '), text.size());
    result.guard = text.substr(1, space - 1);
    if (result.guard == "PT" || result.guard == "UPT") result.guard.clear();
    text = trimmed(text.substr(space));
  }
  if (text.empty()) return std::nullopt;
  const std::size_t space = std::min(text.find(' '), text.size());
  result.opcode = text.substr(0, space);
  result.operands = trimmed(text.substr(space));
  result.target = label_in(result.operands);
  result.lines = line.lines;
  return result;
}

constexpr std::array loads_of{
    std::pair(std::string_view("LDG"), Space::global), std::pair(std::string_view("LD"), Space::global),
    std::pair(std::string_view("LDS"), Space::shared), std::pair(std::string_view("LDSM"), Space::shared),
    std::pair(std::string_view("LDL"), Space::local)};
constexpr std::array stores_of{
    std::pair(std::string_view("STG"), Space::global), std::pair(std::string_view("ST"), Space::global),
    std::pair(std::string_view("STS"), Space::shared), std::pair(std::string_view("STL"), Space::local)};
constexpr std::array atomics_of{
    std::pair(std::string_view("ATOMG"), Space::global), std::pair(std::string_view("ATOM"), Space::global),
    std::pair(std::string_view("RED"), Space::global), std::pair(std::string_view("REDG"), Space::global),
    std::pair(std::string_view("ATOMS"), Space::shared)};

template <class Table>
Space space_in(const Table& table, const Instruction& instruction) {
  for (const auto& [name, space] : table) {
    if (instruction.is(name)) return space;
  }
  return Space::none;
}

/// The number of a general register at this place of the text, and the position after it; -1 if there is none. RZ is
/// none.
int register_at(std::string_view text, std::size_t at) {
  const bool begins = at == 0 || (std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0 && text[at - 1] != '_');
  if (!begins || text[at] != 'R') return -1;
  int number = -1;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + at + 1, last, number);
  const bool ends = end == last || std::isalnum(static_cast<unsigned char>(*end)) == 0;
  return error == std::errc() && ends ? number : -1;
}

/// The number of registers of an operand: its own suffix ("R2.64") or the instruction's width says so.
int width_of_register(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("0123456789", at + 1);
  return end != text.npos && text.substr(end).starts_with(".64") ? 2 : 1;
}

}  // namespace

bool Instruction::is(std::string_view name) const {
  return opcode.starts_with(name) && (opcode.size() == name.size() || opcode[name.size()] == '.');
}

bool Instruction::has_modifier(std::string_view modifier) const {
  for (std::size_t at = opcode.find('.'); at != opcode.npos;) {
    const std::size_t next = opcode.find('.', at + 1);
    if (std::string_view(opcode).substr(at + 1, next == opcode.npos ? next : next - at - 1) == modifier) return true;
    at = next;
  }
  return false;
}

bool Instruction::loads() const { return space_in(loads_of, *this) != Space::none; }
bool Instruction::stores() const { return space_in(stores_of, *this) != Space::none; }

Space Instruction::space() const {
  if (const Space space = space_in(loads_of, *this); space != Space::none) return space;
  if (const Space space = space_in(stores_of, *this); space != Space::none) return space;
  return space_in(atomics_of, *this);
}

bool Instruction::counts_as_access() const {
  return space() == Space::global && (loads() || stores()) && !is_exceptional;
}

int Instruction::bytes() const {
  if (!loads() && !stores()) return 0;
  if (has_modifier("256")) return 32;
  if (has_modifier("128")) return 16;
  if (has_modifier("64")) return 8;
  if (has_modifier("U8") || has_modifier("S8") || has_modifier("8")) return 1;
  if (has_modifier("U16") || has_modifier("S16") || has_modifier("16")) return 2;
  return 4;
}

std::vector<int> Instruction::loaded_registers() const {
  std::vector<int> registers;
  if (!loads()) return registers;
  const std::size_t at = operands.find('R');
  if (at == operands.npos) return registers;
  const int first = register_at(operands, at);
  if (first < 0) return registers;  // RZ: a prefetch
  for (int i = 0; i < std::max(1, bytes() / 4); ++i) registers.push_back(first + i);
  return registers;
}

bool Instruction::reads(int general_register) const {
  // The first operand is the result, except of instructions without one.
  const bool no_result = stores() || is("RED") || is("REDG") || is("BRA") || is("EXIT") || is("RET") || is("CALL");
  const std::size_t comma = operands.find(',');
  const std::size_t begin = no_result ? 0 : comma == operands.npos ? operands.size() : comma;
  for (std::size_t at = begin; at < operands.size(); ++at) {
    const int found = register_at(operands, at);
    if (found < 0) continue;
    int width = width_of_register(operands, at);
    if (stores() && at > operands.find(']')) width = std::max(width, bytes() / 4);  // the stored value
    if (has_modifier("WIDE") || opcode.starts_with("D")) width = std::max(width, 2);
    if (general_register >= found && general_register < found + width) return true;
  }
  return false;
}

Code read_code(const SassFunction& function) {
  Code code{function.name, {}, {}};
  for (const SassLine& line : function.lines) {
    if (line.text.ends_with(':')) {
      code.labels[line.text.substr(0, line.text.size() - 1)] = code.instructions.size();
    } else if (auto instruction = read_instruction(line)) {
      code.instructions.push_back(std::move(*instruction));
    }
  }
  return code;
}

}  // namespace croton::runtime::cuda
