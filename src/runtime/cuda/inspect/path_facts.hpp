// Facts on a way through a kernel's code: the predicates that it has decided, and what these say of later ones.
// A thread of a full tile passes the guards of its first access; later guards then follow, as they compare the same
// number with other constants. Without them a way could load a full pack and then skip its arithmetic.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/inspect/control_flow.hpp"
#include "runtime/cuda/inspect/operands.hpp"

namespace croton::runtime::cuda {

/// Facts about registers and predicates: a register is a sum of numbers that are not known and a constant, and of
/// such sums bounds are known; or single bits of it are known, in which compilers keep predicates. Everything else is
/// unknown. A call leaves all of it alone, since subroutines preserve what is needed later.
class PathFacts {
 public:
  /// The value of a guard ("P0", "!UP1"), if it is known.
  std::optional<bool> value(std::string_view guard) const;
  /// The way goes on as if the guard had this value, which must not be known to be the other one.
  void decide(std::string_view guard, bool value);
  /// The effect of an instruction; `at` is its number.
  void run(const Instruction& instruction, std::size_t at);
  /// Forgets what is of no use for the instructions that read `live`.
  void keep(const Places& live);
  /// Forgets the values of these places.
  void forget(const Places& written);

  auto operator<=>(const PathFacts&) const = default;

 private:
  using Operands = std::vector<std::string_view>;
  /// Numbers that are not known, by the instruction that first used them, each times 1 or another small factor.
  using Terms = std::vector<std::pair<std::int64_t, int>>;
  struct Value {  // the terms and the constant; without terms the bits of `known` are those of the constant
    Terms terms;
    std::int64_t constant = 0;
    std::uint32_t known = 0;
    auto operator<=>(const Value&) const = default;
  };
  struct Bounds {
    std::int64_t least = INT64_MIN, most = INT64_MAX;
    auto operator<=>(const Bounds&) const = default;
    bool contains(const Bounds& other) const { return least <= other.least && other.most <= most; }
    bool misses(const Bounds& other) const { return other.most < least || most < other.least; }
  };
  using Key = std::pair<Terms, bool>;  // of bounds; the second one: the terms as an unsigned number
  struct Predicate {                   // known, or true if the terms are within the bounds; `negated`: if they are not
    std::optional<bool> known;
    Key key;
    Bounds bounds;
    bool negated = false;
    auto operator<=>(const Predicate&) const = default;
  };
  struct Choice {  // a number that is the constant if the condition has this value
    Predicate condition;
    bool when = false;
    std::int64_t constant = 0;
    auto operator<=>(const Choice&) const = default;
  };
  /// The results of an instruction, as far as they are known.
  struct Effects {
    std::optional<Value> value;
    std::optional<Predicate> predicate;
  };

  static Predicate make_known(bool value);
  std::optional<bool> value_of(const Predicate& predicate) const;
  Predicate predicate_of(std::string_view operand) const;
  std::optional<Value> value_of_operand(std::string_view operand, std::size_t at);
  void narrow(const Predicate& predicate, bool value);
  std::optional<Predicate> compare(const Instruction& instruction, const Operands& operands, std::size_t at);
  std::optional<Value> sum(const Operands& operands, std::size_t at);
  std::optional<Value> choose(const Operands& operands, std::size_t at);
  Effects combine_bits(const Operands& operands) const;
  std::optional<Predicate> combine_predicates(const Operands& operands) const;
  void apply(const Instruction& instruction, std::size_t at);
  void join(const PathFacts& other);

  std::map<int, Value> values_;
  std::map<Key, Bounds> bounds_;
  std::map<std::int64_t, Choice> choices_;
  std::map<int, Predicate> predicates_;
};

/// Per block, the places on which a later comparison or guard may depend at its begin.
std::vector<Places> places_used_later(const Code& code, const ControlFlow& flow);

}  // namespace croton::runtime::cuda
