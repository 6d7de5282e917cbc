#include "runtime/cuda/inspect/origins.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/cuda/inspect/operands.hpp"

namespace croton::runtime::cuda {
namespace {

/// Per register, the parameters from which it is computed, as bits; and a bit for other values that all threads of a
/// block have, and one for those that are a thread's own.
using Origins = std::array<std::uint64_t, first_predicate>;
constexpr int most_parameters = 62;
constexpr std::uint64_t of_block = std::uint64_t{1} << most_parameters, of_thread = of_block << 1;

/// The place of "c[0x0][0x210]" or "c[0x0][R5+0x210]", the constants of the launch.
std::optional<int> constant_in(std::string_view operand) {
  const std::size_t at = operand.find("c[0x0][");
  const std::size_t number = at == operand.npos ? at : operand.rfind("0x");
  int place = 0;
  if (number == operand.npos || number < at + 7) return std::nullopt;
  const char* end = operand.data() + operand.size();
  const auto [last, error] = std::from_chars(operand.data() + number + 2, end, place, 16);
  return error == std::errc() && last != end && *last == ']' ? std::optional(place) : std::nullopt;
}

/// Where parameters begin: after the descriptor of memory, whose place is that of an architecture.
int first_parameter(const Code& code) {
  int begin = 0x160;
  for (const Instruction& i : code.instructions) {
    const auto place = constant_in(i.operands);
    if (place == 0x208 && begin < 0x210) begin = 0x210;
    if (place == 0x358) begin = 0x380;
  }
  return begin;
}

/// The registers in an operand: "R2", "-R3", "[R2.64+0x10]", "R4.64".
template <class Use>
void each_register(std::string_view operand, const Use& use) {
  constexpr std::string_view digits = "0123456789";
  for (std::size_t at = operand.find('R'); at != operand.npos; at = operand.find('R', at + 1)) {
    const std::size_t end = std::min(operand.find_first_not_of(digits, at + 1), operand.size());
    const bool uniform = at > 0 && operand[at - 1] == 'U';
    if (const int place = place_of(operand.substr(uniform ? at - 1 : at, end - at + (uniform ? 1 : 0)));
        place != no_place)
      use(static_cast<std::size_t>(place), operand.substr(end).starts_with(".64"));
  }
}

/// The address in the operands of an access: "[R2.64+0x10".
std::string_view address_in(std::string_view operands) {
  const std::size_t open = operands.rfind('['), close = operands.find(']', open);
  return close == operands.npos ? std::string_view() : operands.substr(open, close - open);
}

class OriginFinder {
 public:
  explicit OriginFinder(const Code& code) : begin_(first_parameter(code)) {}

  std::uint64_t of(std::string_view operand, const Origins& known, bool is_wide) const {
    std::uint64_t origins = 0;
    each_register(operand, [&](std::size_t place, bool pair) {
      origins |= known[place];
      if ((pair || is_wide) && place + 1 < known.size()) origins |= known[place + 1];
    });
    if (const auto place = constant_in(operand)) {
      // The registers in an address of constants choose the element of a table.
      const int number = (*place - begin_) / 8;
      const bool is_parameter = *place >= begin_ && number < most_parameters;
      return (origins & of_thread) | (is_parameter ? std::uint64_t{1} << number : of_block);
    }
    return origins;
  }

  void run(const Instruction& i, Origins& known) const {
    const auto operands = split_operands(i.operands);
    const Results results = results_of(i, operands);
    // Values from memory are no part of a parameter, and a constant of 4 bytes that is loaded is no pointer.
    const bool is_number = (i.is("LDC") || i.is("ULDC")) && !i.has_modifier("64");
    std::uint64_t origins = 0;
    for (std::size_t o = results.operands; o < operands.size() && i.space() == Space::none && !is_number; ++o) {
      const bool is_pair = i.has_modifier("64") || (i.has_modifier("WIDE") && o + 1 == operands.size());
      origins |= of(operands[o], known, is_pair);
    }
    origins |= from_memory(i, known) | from_launch(i, operands);
    for (std::size_t place = 0; place < known.size() && results.places.any(); ++place) {
      if (results.places.test(place)) known[place] = i.guard.empty() ? origins : known[place] | origins;
    }
  }

  /// The origins of an address in an operand of an access of global memory.
  std::uint64_t of_address(const Instruction& i, const Origins& known) const {
    return of(address_in(i.operands), known, true);
  }

 private:
  /// Values from memory are of a thread if their address is; those in memory of a block or thread may always be.
  std::uint64_t from_memory(const Instruction& i, const Origins& known) const {
    if (i.space() == Space::none) return 0;
    const bool same = i.space() == Space::global && i.loads() && (of_address(i, known) & of_thread) == 0;
    return same ? of_block : of_thread;
  }
  /// The numbers of threads in a block and of lanes are of a thread, that of the block is not.
  static std::uint64_t from_launch(const Instruction& i, const std::vector<std::string_view>& operands) {
    const bool reads = i.is("S2R") || i.is("S2UR") || i.is("CS2R");
    return reads && operands.size() > 1 && !operands[1].starts_with("SRZ") && !operands[1].starts_with("SR_CTAID")
               ? of_thread
               : 0;
  }

  int begin_;
};

/// Per loop, the registers that it writes.
std::vector<Places> registers_of_loops(const Code& code, const ControlFlow& flow) {
  std::vector<Places> written(flow.loops.size());
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
    Places in_block;
    for (std::size_t at = flow.blocks[b].begin; at < flow.blocks[b].end; ++at) {
      const Instruction& i = code.instructions[at];
      in_block |= results_of(i, split_operands(i.operands)).places;
    }
    for (std::size_t loop = 0; loop < flow.loops.size(); ++loop) {
      if (flow.loops[loop].contains[b]) written[loop] |= in_block;
    }
  }
  return written;
}

/// Per block, the origins of registers at its beginning.
std::vector<Origins> origins_at_begin(const Code& code, const ControlFlow& flow, const OriginFinder& finder) {
  std::vector<Origins> at_begin(flow.blocks.size(), Origins{});
  std::vector<bool> reached(flow.blocks.size(), false);
  std::vector<BlockIndex> pending;
  const auto reach = [&](BlockIndex b, const Origins& from) {
    bool changed = !reached[b];
    reached[b] = true;
    for (std::size_t place = 0; place < from.size(); ++place) {
      const std::uint64_t all = at_begin[b][place] | from[place];
      changed = changed || all != at_begin[b][place];
      at_begin[b][place] = all;
    }
    if (changed) pending.push_back(b);
  };
  if (!flow.blocks.empty()) reach(0, Origins{});
  while (!pending.empty()) {
    const BlockIndex b = pending.back();
    pending.pop_back();
    Origins known = at_begin[b];
    for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) finder.run(code.instructions[i], known);
    for (const BlockIndex to : flow.blocks[b].next) reach(to, known);
  }
  return at_begin;
}

}  // namespace

std::vector<Address> find_addresses(const Code& code, const ControlFlow& flow) {
  const OriginFinder finder(code);
  const std::vector<Origins> at_begin = origins_at_begin(code, flow, finder);
  const std::vector<Places> written = registers_of_loops(code, flow);
  // A loop that writes a register of the address may advance it.
  const auto advances = [&](std::string_view address, BlockIndex b) {
    Places places;
    each_register(address, [&](std::size_t place, bool pair) {
      places.set(place);
      if (pair) places.set(place + 1);
    });
    for (std::size_t loop = 0; loop < flow.loops.size(); ++loop) {
      if (flow.loops[loop].contains[b] && (written[loop] & places).any()) return true;
    }
    return false;
  };
  std::vector<Address> addresses(code.instructions.size());
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
    Origins known = at_begin[b];
    for (std::size_t at = flow.blocks[b].begin; at < flow.blocks[b].end; ++at) {
      const Instruction& i = code.instructions[at];
      if (const std::string_view address = address_in(i.operands); i.space() == Space::global && !address.empty()) {
        const std::uint64_t origins = finder.of_address(i, known), parameters = origins & ~(of_block | of_thread);
        if (parameters != 0) addresses[at].parameter = std::countr_zero(parameters);
        addresses[at].of_thread = origins == 0 || (origins & of_thread) != 0 || advances(address, b);
      }
      finder.run(i, known);
    }
  }
  return addresses;
}

}  // namespace croton::runtime::cuda
