#include "codegen/emitter.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "base/source_place.hpp"
#include "codegen/division.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/schedule_row.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

using expr::Core;
using kernel::Family;

Emitter::Emitter(const Analysis& analysis, const Variant& variant, const Schedule& schedule, Target target,
                 bool in_loop)
    : analysis_(analysis),
      kernel_(analysis.kernel),
      body_(analysis.kernel.body),
      variant_(variant),
      schedule_(schedule),
      target_(target),
      in_loop_(in_loop) {
  for (const MergedAxis& axis : variant.parallel) axes_.push_back(&axis);
  for (const MergedAxis& axis : variant.inner) axes_.push_back(&axis);
  find_point_level();
  if (target == Target::cuda) conditional_ = conditional_packs(analysis, variant);
  if (is_row_of_packs() && schedule_.held + schedule_.staged > 0) {
    const std::vector<std::size_t> operands = operands_to_hold(analysis, variant);
    const auto held = operands.begin() + schedule_.held;
    held_.assign(operands.begin(), held);
    staged_.assign(held, held + schedule_.staged);
  }
}

void Emitter::line(std::string_view code, std::string_view comment) {
  const std::string padded = std::string(indent_, ' ') + std::string(code);
  code_ += padded + "\n";
  shown_ += comment.empty() ? padded + "\n" : fmt::format("{}  // {}\n", padded, comment);
}

std::string Emitter::origin_of(NodeId id) const {
  const expr::Origin& origin = body_.origin(id);
  if (!origin.where.known()) return "";
  return sanitized(
      fmt::format("{}{}{}", origin.name, origin.name.empty() ? "" : ", ", base::file_and_line(origin.where)));
}

std::string Emitter::support_text() const {
  std::set<std::string_view> texts;
  for (NodeId id = 0; id < body_.size(); ++id) {
    if (body_.op(id).map != nullptr) texts.insert(body_.op(id).map->support);
  }
  std::string all;
  for (const std::string_view text : texts) all += text;
  return all;
}

void Emitter::parameters() {
  struct_ = "struct Params {\n";
  const auto add = [&](Parameter parameter, const std::string& declaration) { add_parameter(parameter, declaration); };
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    const Access& access = analysis_.accesses[a];
    add({Parameter::Kind::pointer, a, 0},
        fmt::format("{}{}* p{}", access.written ? "" : "const ", stored_type(dtype_of(a)), a));
  }
  if (!kernel_.checks.empty()) add({Parameter::Kind::failure}, "ct::Failure* failure");
  if (kernel_.family == Family::split || kernel_.family == Family::contract || in_parts())
    add({Parameter::Kind::workspace}, "char* workspace");
  for (std::size_t m = 0; m < axes_.size(); ++m) {
    add({Parameter::Kind::size, 0, m}, fmt::format("ct::index n{}", m));
  }
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    if (stride_owner(a) != a) continue;
    const bool affine = analysis_.accesses[a].affine;
    const std::size_t count = affine ? axes_.size() : analysis_.accesses[a].index.size();
    for (std::size_t m = 0; m < count; ++m) {
      if (affine && variant_.strides[a][m] != StrideClass::any) continue;
      add({Parameter::Kind::stride, a, m}, fmt::format("ct::index s{}_{}", a, m));
    }
  }
  if (target_ == Target::cuda) {
    for (const std::size_t m : divided_axes()) add_divisor(Parameter::Kind::divisor, m, fmt::format("d{}", m));
    add_template_divisors();
  }
  for (std::size_t k = 0; k < kernel_.extents; ++k) {
    if (analysis_.explicit_extents[k]) add({Parameter::Kind::extent, 0, k}, fmt::format("ct::index e{}", k));
  }
  struct_ += "};\n";
  code_ += struct_;
}

void Emitter::add_parameter(Parameter parameter, const std::string& declaration) {
  parameters_.push_back(parameter);
  struct_ += "  " + declaration + ";\n";
}

void Emitter::add_divisor(Parameter::Kind kind, std::size_t index, const std::string& name) {
  for (std::size_t word = 0; word < divisor_words(schedule_.index); ++word)
    parameters_.push_back({.kind = kind, .access = word, .index = index});
  struct_ += fmt::format("  ct::Divisor<{}> {};\n", base_type(), name);
}

void Emitter::add_template_divisors() {
  using Kind = Parameter::Kind;
  if (kernel_.family == Family::contract) {
    for (const auto& [side, name] :
         {std::pair(kernel::Side::rows, "row"), std::pair(kernel::Side::columns, "column")}) {
      add_divisor(Kind::side_divisor, base::ordinal(side), fmt::format("by_{}s", name));
      add_divisor(Kind::side_tiles_divisor, base::ordinal(side), fmt::format("by_{}_tiles", name));
    }
  }
  if (is_by_element() || in_loop_) return;
  if (!is_row_of_packs() && axes_.size() > 1 && schedule_.rows == 0) {
    if (!variant_.tiled()) add_parameter({.kind = Kind::lines}, "ct::index lines");
    add_parameter({.kind = Kind::tiles_of_line}, "ct::index tiles");
    add_divisor(Kind::tiles_divisor, 0, "by_tiles");
  }
  if (variant_.tiled() && axes_.size() > 2) {
    add_parameter({.kind = Kind::bands}, "ct::index bands");
    add_divisor(Kind::bands_divisor, 0, "by_bands");
  }
  if (in_parts()) {
    add_parameter({.kind = Kind::parts}, "ct::index parts");
    if (has_parts_of_points()) add_divisor(Kind::parts_divisor, 0, "by_parts");
    add_parameter({.kind = Kind::counters}, "unsigned int* counters");
  }
}

std::string Emitter::axis_name(std::size_t k) const {
  for (std::size_t m = 0; m < axes_.size(); ++m) {
    if (axes_[m]->axes.size() == 1 && axes_[m]->axes[0] == k)
      return fmt::format("{}{}", target_ == Target::cuda ? "at" : "i", m);
  }
  throw InternalError("a merged axis is used as a number");
}

std::size_t Emitter::stride_owner(std::size_t a) const {
  const Access& own = analysis_.accesses[a];
  for (std::size_t other = 0; own.affine && other < a; ++other) {
    const Access& access = analysis_.accesses[other];
    if (access.affine && access.operand == own.operand && access.coefficient == own.coefficient) return other;
  }
  return a;
}

std::string Emitter::element_of(const std::string& address, const std::string& at) {
  const std::size_t sum = address.find(" + ");
  if (sum == std::string::npos) return fmt::format("{}[{}]", address, at);
  const std::string offset = address.substr(sum + 3);
  return fmt::format("{}[{}{}]", address.substr(0, sum), offset, at == "0" ? "" : " + " + at);
}

std::string Emitter::address(std::size_t a) {
  const Access& access = analysis_.accesses[a];
  if (is_folded() && has_line(a)) return element_of(pack_address(a), "0");
  if (is_in_packs() && has_line(a)) {
    const std::string from = pack_address(a), at = fmt::format("i{}", fast_axis());
    switch (along_line(a)) {
      case StrideClass::none:
        return element_of(from, "0");
      case StrideClass::unit:
        return element_of(from, at);
      case StrideClass::any:
        return element_of(from, fmt::format("{} * Offset(p.s{}_{})", at, stride_owner(a), fast_axis()));
    }
  }
  std::string text;
  const auto add = [&](const std::string& term) { text += (text.empty() ? "" : " + ") + term; };
  if (!access.affine) {
    for (std::size_t d = 0; d < access.index.size(); ++d)
      add(fmt::format("{} * p.s{}_{}", operand(access.index[d]), a, d));
  } else {
    for (std::size_t m = 0; m < axes_.size(); ++m) {
      switch (variant_.strides[a][m]) {
        case StrideClass::none:
          break;
        case StrideClass::unit:
          add(fmt::format("i{}", m));
          break;
        case StrideClass::any:
          add(fmt::format(fmt::runtime(target_ == Target::cuda ? "i{} * Base(p.s{}_{})" : "i{} * p.s{}_{}"), m,
                          stride_owner(a), m));
          break;
      }
    }
  }
  return fmt::format("p.p{}[{}]", a, text.empty() ? "0" : text);
}

std::string Emitter::read(std::size_t a) {
  if (!is_staged(a)) return as_value(a, address(a));
  return as_value(a, fmt::format(fmt::runtime(is_in_packs() ? "t{}[e]" : "tile.t{}[at]"), a));
}

std::string Emitter::as_value(std::size_t a, const std::string& stored) const {
  return compute_dtype(dtype_of(a)) == dtype_of(a) ? stored : fmt::format("ct::to_float({})", stored);
}

std::string Emitter::operand(NodeId id) const {
  if (const auto value = body_.scalar_value(id)) return number(*value);
  const expr::Op& op = body_.op(id);
  if (op.is(Core::axis)) return axis_name(body_.attrs(id).index("k"));
  if (op.is(Core::extent)) return fmt::format("p.e{}", body_.attrs(id).integer("k"));
  if (op.is(Core::result)) {
    const std::size_t stage = body_.attrs(id).index("stage");
    const auto found = results_.find(stage);
    return rounded(id, found != results_.end()
                           ? found->second
                           : fmt::format("r{}{}", stage, kernel_.family == Family::column ? "[t]" : ""));
  }
  return names_.at(id);
}

std::string Emitter::rounded(NodeId id, const std::string& text) const {
  return rounded_[id] ? fmt::format("ct::round_to<{}>({})", stored_type(body_.type(id).dtype), text) : text;
}

std::string Emitter::converted(NodeId id, DType to) const {
  const DType from = body_.type(id).dtype;
  std::string text = operand(id);
  if (compute_dtype(from) == compute_dtype(to)) return text;
  return fmt::format("ct::cast<{}>({})", value_type(to), text);
}

std::string Emitter::expression(NodeId id) {
  const expr::Op& op = body_.op(id);
  const auto inputs = body_.inputs(id);
  if (switched_.contains(id)) {
    const ConditionSwitch& change = analysis_.switches.at(id);
    const bool moved = body_.known(change.offset) != 0;
    return fmt::format("start{} {} {}", moved ? " + " + operand(change.offset) : "", change.sign,
                       operand(change.limit));
  }
  if (op.is(Core::load, Core::load_if) && is_gathered(analysis_.load_access.at(id))) {
    const std::size_t a = analysis_.load_access.at(id);
    return as_value(a, fmt::format("g{}[e]", a));
  }
  if (op.is(Core::load)) {
    const std::size_t a = analysis_.load_access.at(id);
    if (!is_in_packs() || !(is_fetched(a) || is_fixed(a))) return read(a);
    return as_value(a, fmt::format("{}.l{}{}",
                                   is_fixed(a)        ? "fixed"
                                   : is_held(a)       ? "held"
                                   : is_staged_row(a) ? "staged"
                                                      : "in",
                                   a, is_one_for_pack(a) ? "" : "[e]"));
  }
  if (op.is(Core::load_if) && is_conditional_pack(analysis_.load_access.at(id))) {
    const std::size_t a = analysis_.load_access.at(id);
    return as_value(a, fmt::format("in.l{}[e]", a));  // 0 where the condition is false
  }
  if (op.is(Core::load_if)) {
    return fmt::format("{} ? {} : {}(0)", operand(inputs[0]), read(analysis_.load_access.at(id)),
                       value_type(body_.type(id).dtype));
  }
  if (op.is(Core::cast)) {
    const DType to = body_.type(id).dtype;
    // A cast to a 16-bit type rounds here, once.
    if (compute_dtype(to) != to)
      return fmt::format("ct::to_float(ct::cast<{}>({}))", stored_type(to), operand(inputs[0]));
    return converted(inputs[0], to);
  }
  std::vector<DType> dtypes;
  for (const NodeId input : inputs) dtypes.push_back(body_.type(input).dtype);
  const expr::MapInfo::Types types = op.map->types(dtypes);
  std::string text;
  const bool wraps = is_integer(types.operand) && analysis_.wraps[id] && !op.map->wrapping.empty();
  const std::string_view code = wraps ? op.map->wrapping : op.map->code;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] != '{') {
      text += code[at];
      continue;
    }
    const std::size_t close = code.find('}', at);
    const std::string_view hole = code.substr(at + 1, close - at - 1);
    at = close;
    if (hole == "T") {
      text += value_type(types.operand);
      continue;
    }
    const std::size_t i = operand_of_hole(hole[0]);
    const bool condition = op.is(Core::where) && i == 0;
    text += condition ? operand(inputs[i]) : converted(inputs[i], types.operand);
  }
  return text;
}

void Emitter::find_point_level() {
  const std::size_t fast = variant_.parallel.empty() ? 0 : variant_.parallel.back().axes.back();
  point_level_.assign(body_.size(), true);
  for (NodeId id = 0; id < body_.size(); ++id) {
    bool level = !analysis_.inner[id];
    if (kernel_.family == Family::pointwise) level = false;
    if (kernel_.family == Family::column) {
      if (body_.op(id).is(Core::result)) level = false;
      if (body_.op(id).is(Core::axis) && body_.attrs(id).index("k") == fast) level = false;
      if (analysis_.is_affine_load(id)) {
        const Access& access = analysis_.accesses[analysis_.load_access.at(id)];
        for (const std::size_t k : variant_.parallel.back().axes) level = level && !access.moves(k);
      }
    }
    for (const NodeId input : body_.inputs(id)) level = level && point_level_[input];
    point_level_[id] = level;
  }
}

bool Emitter::has_name(NodeId id) const {
  return !body_.op(id).is(Core::const_, Core::axis, Core::extent, Core::result);
}

std::set<NodeId> Emitter::needed_by(std::vector<NodeId> pending) const {
  std::set<NodeId> needed;
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!has_name(id) || names_.contains(id) || !needed.insert(id).second || switched_.contains(id)) continue;
    if (analysis_.is_affine_load(id)) {
      const bool has_condition = body_.op(id).is(Core::load_if) && !is_conditional_pack(analysis_.load_access.at(id));
      if (has_condition) pending.push_back(body_.input(id, 0));
      continue;  // the address needs no index nodes
    }
    if (body_.op(id).is(Core::load, Core::load_if) && is_gathered(analysis_.load_access.at(id))) continue;
    for (const NodeId input : body_.inputs(id)) pending.push_back(input);
  }
  return needed;
}

void Emitter::declare(const std::vector<NodeId>& targets, bool only_point_level) {
  for (const NodeId id : needed_by(targets)) {
    if (only_point_level && (!point_level_[id] || stage_[id] > available_stages_)) continue;
    const std::string text = rounded(id, expression(id));
    const std::string name = fmt::format("v{}", next_value_++);
    const DType dtype = body_.type(id).dtype;
    const bool is_index = dtype == DType::int64 && !analysis_.wraps[id];
    line(fmt::format("const {} {} = {};", is_index ? "ct::index" : value_type(dtype), name, text), origin_of(id));
    names_[id] = name;
  }
}

void Emitter::store(std::size_t s) {
  const std::size_t access = analysis_.store_access(s);
  const DType dtype = dtype_of(access);
  std::string value = operand(stored(kernel_.stores[s]));
  const bool packed = is_stored_in_packs(access);
  // Packs are rounded when they are complete.
  if (compute_dtype(dtype) != dtype && !packed)
    value = fmt::format("ct::from_float<{}>({})", stored_type(dtype), value);
  line(fmt::format("{} = {};", packed ? fmt::format("o{}[e]", access) : address(access), value));
}

// A cast of a float32 to a 16-bit type is left to the store, which rounds, unless others need the result of the cast.
NodeId Emitter::stored(const kernel::Store& store) const {
  if (!body_.op(store.value).is(Core::cast) || names_.contains(store.value)) return store.value;
  const NodeId from = body_.input(store.value, 0);
  const DType to = body_.type(store.value).dtype;
  return compute_dtype(to) != to && compute_dtype(body_.type(from).dtype) == DType::float32 ? from : store.value;
}

std::vector<NodeId> Emitter::store_targets(std::size_t s) const {
  const kernel::Store& store = kernel_.stores[s];
  std::vector<NodeId> targets{stored(store)};
  if (!analysis_.accesses[analysis_.store_access(s)].affine)
    targets.insert(targets.end(), store.index.begin(), store.index.end());
  return targets;
}

void Emitter::check(std::size_t c) {
  declare({kernel_.checks[c].condition, kernel_.checks[c].value}, false);
  if (is_guard(kernel_.checks[c])) {
    line(fmt::format("ct::note(bad, {}, {}u);", operand(kernel_.checks[c].condition), c + 1));
    return;
  }
  line(fmt::format("if (!{}) ct::report(p.failure, {}u, {});", operand(kernel_.checks[c].condition), c + 1,
                   operand(kernel_.checks[c].value)));
}

bool Emitter::by_element(const kernel::Store& store) const {
  return std::ranges::any_of(store.index, [&](NodeId i) { return analysis_.inner[i]; }) || analysis_.inner[store.value];
}

void Emitter::stores_and_checks(bool elements) {
  for (std::size_t c = 0; c < kernel_.checks.size(); ++c) {
    if (by_element(kernel_.checks[c]) == elements && !checked_.contains(c)) check(c);
  }
  std::vector<NodeId> targets;
  for (std::size_t s = 0; s < kernel_.stores.size(); ++s) {
    if (by_element(kernel_.stores[s]) != elements) continue;
    for (const NodeId target : store_targets(s)) targets.push_back(target);
  }
  declare(targets, false);  // all values first: an operand may be written in place
  for (std::size_t s = 0; s < kernel_.stores.size(); ++s) {
    if (by_element(kernel_.stores[s]) == elements) store(s);
  }
}

bool Emitter::any_by_element(bool elements) const {
  return std::ranges::any_of(kernel_.stores, [&](const kernel::Store& s) { return by_element(s) == elements; }) ||
         std::ranges::any_of(kernel_.checks, [&](const kernel::Check& c) { return by_element(c) == elements; });
}

// Whether a result of a row may be in the memory of an operand that all lanes read: a plan lets results take the place
// of operands that are read at the same index.
bool Emitter::overwrites_shared_reads() const {
  std::vector<NodeId> roots = targets_of(true);
  for (const kernel::Stage& stage : kernel_.stages) roots.push_back(stage.value);
  const std::vector<bool> read = kernel::needed_for(body_, roots);
  for (NodeId id = 0; id < body_.size(); ++id) {
    if (!read[id] || !body_.op(id).is(Core::load)) continue;
    const bool is_overwritten = std::ranges::any_of(kernel_.stores, [&](const kernel::Store& store) {
      return !by_element(store) && std::ranges::equal(body_.inputs(id), store.index);
    });
    if (is_overwritten) return true;
  }
  return false;
}

std::vector<NodeId> Emitter::targets_of(bool elements) const {
  std::vector<NodeId> targets;
  for (const kernel::Check& c : kernel_.checks) {
    if (by_element(c) == elements) targets.insert(targets.end(), {c.condition, c.value});
  }
  for (const kernel::Store& s : kernel_.stores) {
    if (by_element(s) == elements) targets.push_back(stored(s));
  }
  return targets;
}

void Emitter::split_index(const std::string& position, std::size_t first, std::size_t count) {
  std::vector<std::size_t> axes;
  for (std::size_t m = first; m < first + count; ++m) axes.push_back(m);
  split_index(position, axes);
}

void Emitter::split_index(std::string position, const std::vector<std::size_t>& axes, std::string_view start) {
  if (target_ == Target::cuda) {
    divide_position(position, axes);
    declare_numbers(axes);
    return;
  }
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::size_t m = axes[k];
    if (k == 0) {
      line(fmt::format("{}{} = {};", start, m, position));
    } else {
      line(fmt::format("{}{} = {} % {};", start, m, position, divisor(m)));
      line(fmt::format("const ct::index q{} = {} / {};", m, position, divisor(m)));
      position = fmt::format("q{}", m);
    }
  }
}

std::string Emitter::product(std::size_t first, std::size_t count) const {
  std::string text;
  for (std::size_t m = first; m < first + count; ++m) text += fmt::format("{}p.n{}", text.empty() ? "" : " * ", m);
  return text.empty() ? "ct::index(1)" : text;
}

std::string Emitter::combiner(const kernel::Stage& stage) const {
  return fmt::format("ct::{}<{}>", stage.op->reduce->combiner, value_type(body_.type(stage.value).dtype));
}

void Emitter::declare_numbers(const std::vector<std::size_t>& axes) {
  for (const std::size_t m : axes) {
    if (analysis_.explicit_axes[axes_[m]->axes[0]]) line(fmt::format("const ct::index at{0} = i{0};", m));
  }
}

std::optional<std::int64_t> Emitter::constant_size(std::size_t m) const {
  std::int64_t total = 1;
  for (const std::size_t axis : axes_[m]->axes) {
    const auto size = body_.known(kernel_.axes[axis].extent);
    if (!size || m < variant_.parallel.size()) return std::nullopt;
    total *= *size;
  }
  return total == 0 ? std::nullopt : std::optional(total);
}

std::string Emitter::divisor(std::size_t m) const {
  const auto size = constant_size(m);
  return size ? fmt::format("{}({})", position_type(), *size) : fmt::format("p.n{}", m);
}

}  // namespace croton::codegen
