#include "runtime/cuda/inspect/path_facts.hpp"

#include <algorithm>
#include <array>

namespace croton::runtime::cuda {
namespace {

/// a + factor b, in the order of terms, without those that vanish.
template <class Terms>
Terms add_terms(Terms a, const Terms& b, int factor) {
  for (const auto& [symbol, times] : b) {
    const auto at = std::ranges::lower_bound(a, symbol, {}, &Terms::value_type::first);
    if (at != a.end() && at->first == symbol)
      at->second += factor * times;
    else
      a.insert(at, {symbol, factor * times});
  }
  std::erase_if(a, [](const auto& term) { return term.second == 0; });
  return a;
}

bool is_any(const Instruction& i, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return i.is(name); });
}
bool compares(const Instruction& i) { return is_any(i, {"ISETP", "UISETP"}); }
bool moves(const Instruction& i) { return is_any(i, {"MOV", "UMOV"}) || i.opcode.starts_with("IMAD.MOV"); }
bool adds(const Instruction& i) { return is_any(i, {"IADD3", "UIADD3", "VIADD", "IADD"}) && !i.has_modifier("X"); }
bool combines_bits(const Instruction& i) { return is_any(i, {"LOP3", "ULOP3"}); }

}  // namespace

PathFacts::Predicate PathFacts::make_known(bool value) { return {.known = value, .key = {}, .bounds = {}}; }

std::optional<bool> PathFacts::value_of(const Predicate& p) const {
  if (p.known || p.key.first.empty()) return p.known;
  const auto at = bounds_.find(p.key);
  const Bounds bounds = at == bounds_.end() ? Bounds() : at->second;
  if (p.bounds.contains(bounds)) return !p.negated;
  if (p.bounds.misses(bounds)) return p.negated;
  return std::nullopt;
}

PathFacts::Predicate PathFacts::predicate_of(std::string_view operand) const {
  const bool negated = operand.starts_with('!');
  if (negated) operand.remove_prefix(1);
  if (operand == "PT" || operand == "UPT") return make_known(!negated);
  const auto at = predicates_.find(place_of(operand));
  Predicate result = at == predicates_.end() ? Predicate() : at->second;
  if (result.known) result.known = *result.known != negated;
  result.negated = result.negated != negated;
  return result;
}

std::optional<bool> PathFacts::value(std::string_view guard) const { return value_of(predicate_of(guard)); }

void PathFacts::decide(std::string_view guard, bool value) {
  const bool negated = guard.starts_with('!');
  const int place = place_of(negated ? guard.substr(1) : guard);
  if (place == no_place) return;
  const Predicate predicate = predicates_[place];
  predicates_[place] = make_known(value != negated);
  narrow(predicate, value != negated);
}

/// Bounds from the value of a predicate, and what follows for choices whose result it is.
void PathFacts::narrow(const Predicate& predicate, bool value) {
  if (predicate.known || predicate.key.first.empty()) return;
  Bounds& bounds = bounds_[predicate.key];
  const Bounds& of = predicate.bounds;
  if (value != predicate.negated) {
    bounds.least = std::max(bounds.least, of.least);
    bounds.most = std::min(bounds.most, of.most);
  } else if (bounds.least >= of.least) {  // what is left is above
    bounds.least = of.most == INT64_MAX ? bounds.least : std::max(bounds.least, of.most + 1);
  } else if (bounds.most <= of.most) {
    bounds.most = std::min(bounds.most, of.least - 1);
  }
  const auto& [symbol, factor] = predicate.key.first.front();
  const auto choice = choices_.find(symbol);
  if (predicate.key.first.size() != 1 || factor != 1 || choice == choices_.end()) return;
  const std::int64_t constant = choice->second.constant;
  if (!bounds.misses({constant, constant})) return;
  const Choice made = choice->second;
  choices_.erase(choice);
  narrow(made.condition, !made.when);
}

/// The value of "R3", "-R3", "0x80" or "RZ"; a register of which nothing is known gets a number of its own.
std::optional<PathFacts::Value> PathFacts::value_of_operand(std::string_view operand, std::size_t at) {
  if (const auto number = number_of(operand)) return Value{.terms = {}, .constant = *number, .known = UINT32_MAX};
  const bool negative = operand.starts_with('-');
  const int place = place_of(negative ? operand.substr(1) : operand);
  if (place == no_place || place >= first_predicate) return std::nullopt;
  constexpr std::int64_t places = 1024;
  const auto [known, is_new] = values_.try_emplace(place);
  Value& value = known->second;
  if (is_new) value.terms = {{static_cast<std::int64_t>(at) * places + place, 1}};
  if (!negative) return value;
  if (value.terms.empty() && value.known != UINT32_MAX) return std::nullopt;
  return Value{.terms = add_terms({}, value.terms, -1), .constant = -value.constant, .known = value.known};
}

/// "ISETP.GE.AND P0, PT, R3, 0x81, PT": the bounds are those of the difference of both.
std::optional<PathFacts::Predicate> PathFacts::compare(const Instruction& i, const Operands& operands, std::size_t at) {
  if (operands.size() < 5 || i.has_modifier("EX")) return std::nullopt;
  const auto a = value_of_operand(operands[2], at), b = value_of_operand(operands[3], at);
  const auto is_sum = [](const auto& value) { return value && (!value->terms.empty() || value->known == UINT32_MAX); };
  if (!is_sum(a) || !is_sum(b)) return std::nullopt;
  const bool is_unsigned = i.has_modifier("U32");
  // Sums of unsigned numbers have no order: they wrap.
  if (is_unsigned && (!b->terms.empty() || (!a->terms.empty() && a->constant != 0))) return std::nullopt;
  const auto as_compared = [&](std::int64_t n) { return is_unsigned ? static_cast<std::uint32_t>(n) : n; };
  Predicate result{.known = {}, .key = {add_terms(a->terms, b->terms, -1), is_unsigned}, .bounds = {}};
  const std::int64_t limit = as_compared(b->constant) - as_compared(a->constant);
  if (i.has_modifier("GE")) result.bounds.least = limit;
  if (i.has_modifier("GT")) result.bounds.least = limit + 1;
  if (i.has_modifier("LE")) result.bounds.most = limit;
  if (i.has_modifier("LT")) result.bounds.most = limit - 1;
  if (i.has_modifier("EQ") || i.has_modifier("NE")) result.bounds = {limit, limit};
  result.negated = i.has_modifier("NE");
  Terms& terms = result.key.first;
  if (terms.empty()) {
    result = make_known(result.bounds.contains({0, 0}) != result.negated);
  } else if (terms.front().second < 0) {  // one sign for both orders of operands
    terms = add_terms({}, terms, -1);
    const auto opposite = [](std::int64_t n) { return n == INT64_MIN ? INT64_MAX : n == INT64_MAX ? INT64_MIN : -n; };
    result.bounds = {opposite(result.bounds.most), opposite(result.bounds.least)};
  }
  // The last operand is joined to the result.
  const Predicate other = predicate_of(operands[4]);
  const std::optional<bool> mine = value_of(result), its = value_of(other);
  const bool neutral = i.has_modifier("AND");
  if (its) return *its == neutral ? result : other;
  if (mine) return *mine == neutral ? other : result;
  return std::nullopt;
}

/// A sum: "IADD3 R2, R3, 0x80, RZ", "VIADD R2, R3, 0xffffff80", "MOV R2, R3".
std::optional<PathFacts::Value> PathFacts::sum(const Operands& operands, std::size_t at) {
  constexpr std::size_t most_terms = 3;
  Value sum{.terms = {}, .constant = 0, .known = UINT32_MAX};
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i] == "PT" || operands[i] == "!PT") continue;
    const auto value = value_of_operand(operands[i], at);
    if (!value) return std::nullopt;
    if (value->terms.empty() && value->known != UINT32_MAX) return operands.size() == 2 ? value : std::nullopt;
    sum.terms = add_terms(sum.terms, value->terms, 1);
    sum.constant += value->constant;
  }
  if (sum.terms.size() > most_terms) return std::nullopt;
  sum.constant = sum.terms.empty() ? static_cast<std::int32_t>(sum.constant) : sum.constant;
  if (!sum.terms.empty()) sum.known = 0;
  return sum;
}

/// "SEL R2, R3, RZ, P0": R3 if P0.
std::optional<PathFacts::Value> PathFacts::choose(const Operands& operands, std::size_t at) {
  if (operands.size() != 4) return std::nullopt;
  const Predicate condition = predicate_of(operands[3]);
  if (const auto known = value_of(condition)) return value_of_operand(operands[*known ? 1 : 2], at);
  const auto first = number_of(operands[1]), second = number_of(operands[2]);
  if (first.has_value() == second.has_value() || condition.key.first.empty()) return std::nullopt;
  const std::int64_t symbol = -1 - static_cast<std::int64_t>(at);
  choices_[symbol] = {condition, first.has_value(), first ? *first : *second};
  return Value{.terms = {{symbol, 1}}, .constant = 0, .known = 0};
}

/// "LOP3.LUT R2, R3, 0x2, RZ, 0xfc, !PT" sets bits, with 0xc0 it clears others; "LOP3.LUT P1, RZ, R3, 0x2, RZ, 0xc0,
/// !PT" tells whether some are set.
PathFacts::Effects PathFacts::combine_bits(const Operands& operands) const {
  const std::size_t result = !operands.empty() && is_predicate(operands[0]) ? 1 : 0;
  if (operands.size() < result + 5 || operands[result + 3] != "RZ") return {};
  const auto mask = number_of(operands[result + 2]);
  const int from = place_of(operands[result + 1]);
  if (!mask || from == no_place) return {};
  const auto bits = static_cast<std::uint32_t>(*mask);
  const auto at = values_.find(from);
  Value value = at == values_.end() || !at->second.terms.empty() ? Value() : at->second;
  auto content = static_cast<std::uint32_t>(value.constant);
  if (operands[result + 4] == "0xfc") {
    value.known |= bits;
    content |= bits;
  } else if (operands[result + 4] == "0xc0") {
    value.known |= ~bits;
    content &= bits;
  } else {
    return {};
  }
  content &= value.known;
  value.constant = static_cast<std::int32_t>(content);
  Effects effects{value, {}};
  if (content != 0 || value.known == UINT32_MAX) effects.predicate = make_known(content != 0);
  return effects;
}

/// "PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0": bit 4 a + 2 b + c of the number is the result for three predicates.
std::optional<PathFacts::Predicate> PathFacts::combine_predicates(const Operands& operands) const {
  const auto table = operands.size() < 7 ? std::nullopt : number_of(operands[5]);
  if (!table) return std::nullopt;
  std::array<bool, 2> possible{};  // results
  for (unsigned combination = 0; combination < 8; ++combination) {
    bool fits = true;
    for (unsigned input = 0; input < 3; ++input) {
      const auto known = value_of(predicate_of(operands[2 + input]));
      fits = fits && (!known || *known == ((combination >> (2 - input) & 1u) != 0));
    }
    if (fits) possible[static_cast<std::size_t>(*table >> combination & 1)] = true;
  }
  if (possible[0] == possible[1]) return std::nullopt;
  return make_known(possible[1]);
}

void PathFacts::apply(const Instruction& i, std::size_t at) {
  Operands operands = split_operands(i.operands);
  const Places results = results_of(i, operands).places;
  Effects effects;
  if (compares(i)) {
    effects.predicate = compare(i, operands, at);
  } else if (combines_bits(i)) {
    effects = combine_bits(operands);
  } else if (is_any(i, {"PLOP3", "UPLOP3"})) {
    effects.predicate = combine_predicates(operands);
  } else if (is_any(i, {"SEL", "USEL"})) {
    effects.value = choose(operands, at);
  } else if (adds(i) || moves(i)) {
    if (i.opcode.starts_with("IMAD.MOV") && operands.size() == 4)
      operands.erase(operands.begin() + 1, operands.end() - 1);
    if (results.count() == 1) effects.value = sum(operands, at);
  }
  forget(results);
  for (std::size_t place = 0; place < results.size() && results.any(); ++place) {
    if (!results.test(place)) continue;
    const int to = static_cast<int>(place);
    if (to >= first_predicate) {
      if (effects.predicate && place_of(operands[0]) == to) predicates_[to] = *effects.predicate;
    } else if (effects.value) {
      values_[to] = *effects.value;
    }
  }
}

/// Facts that both know.
void PathFacts::join(const PathFacts& other) {
  std::erase_if(predicates_, [&](const auto& entry) {
    const auto at = other.predicates_.find(entry.first);
    return at == other.predicates_.end() || at->second != entry.second;
  });
  for (auto& [place, value] : values_) {
    const auto its = other.values_.find(place);
    if (its != other.values_.end() && its->second == value) continue;
    const bool are_bits = its != other.values_.end() && its->second.terms.empty() && value.terms.empty();
    const std::int64_t different = are_bits ? its->second.constant ^ value.constant : 0;
    value.known &= are_bits ? its->second.known & ~static_cast<std::uint32_t>(different) : 0;
    value.constant &= static_cast<std::int32_t>(value.known);
    value.terms.clear();
  }
  std::erase_if(values_, [](const auto& entry) { return entry.second.terms.empty() && entry.second.known == 0; });
}

void PathFacts::run(const Instruction& instruction, std::size_t at) {
  const auto guard = instruction.guard.empty() ? std::optional(true) : value(instruction.guard);
  if (guard && !*guard) return;
  if (guard) return apply(instruction, at);
  const PathFacts before = *this;
  apply(instruction, at);
  join(before);
}

void PathFacts::forget(const Places& written) {
  const auto is_written = [&](const auto& entry) { return written.test(static_cast<std::size_t>(entry.first)); };
  std::erase_if(values_, is_written);
  std::erase_if(predicates_, is_written);
}

void PathFacts::keep(const Places& live) {
  forget(~live);
  // Facts that no later comparison can use would only tell ways apart that are the same from here on.
  std::map<std::int64_t, int> uses;  // of symbols
  const auto use = [&](const Terms& terms) {
    for (const auto& [symbol, factor] : terms) ++uses[symbol];
  };
  for (const auto& [place, value] : values_) use(value.terms);
  for (const auto& [place, predicate] : predicates_) use(predicate.key.first);
  std::erase_if(choices_, [&](const auto& entry) { return !uses.contains(entry.first); });
  for (const auto& [symbol, choice] : choices_) use(choice.condition.key.first);
  std::erase_if(bounds_, [&](const auto& entry) {
    return std::ranges::any_of(entry.first.first, [&](const auto& term) { return !uses.contains(term.first); });
  });
  for (const auto& [symbol, choice] : choices_) ++uses[symbol];
  for (const auto& [key, bounds] : bounds_) use(key.first);
  std::erase_if(values_, [&](const auto& entry) {
    const Terms& terms = entry.second.terms;
    return !terms.empty() && std::ranges::all_of(terms, [&](const auto& term) { return uses[term.first] == 1; });
  });
}

std::vector<Places> places_used_later(const Code& code, const ControlFlow& flow) {
  const auto use = [](const Instruction& i, Places& live) {
    if (i.guard.empty()) live &= ~results_of(i, split_operands(i.operands)).places;
    const std::vector<std::string_view> operands = split_operands(i.operands);
    const std::size_t results = results_of(i, operands).operands;
    const bool registers = compares(i) || moves(i) || adds(i) || combines_bits(i) || is_any(i, {"SEL", "USEL", "R2P"});
    const auto add = [&](std::string_view operand) {
      if (operand.starts_with('!')) operand.remove_prefix(1);
      const int place = place_of(operand);
      if (place >= first_predicate || (place >= 0 && registers)) live.set(static_cast<std::size_t>(place));
    };
    for (std::size_t at = results; at < operands.size(); ++at) add(operands[at]);
    add(i.guard);
  };
  std::vector<Places> at_begin(flow.blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockIndex b = flow.blocks.size(); b-- > 0;) {
      Places live;
      for (const BlockIndex to : flow.blocks[b].next) live |= at_begin[to];
      for (std::size_t i = flow.blocks[b].end; i-- > flow.blocks[b].begin;) use(code.instructions[i], live);
      changed = changed || live != at_begin[b];
      at_begin[b] = live;
    }
  }
  return at_begin;
}

}  // namespace croton::runtime::cuda
