#include "codegen/emit.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "base/hash.hpp"
#include "base/source_place.hpp"
#include "codegen/embedded.hpp"
#include "codegen/functor.hpp"
#include "kernel/guard.hpp"

namespace croton::codegen {

std::string_view stored_type(DType t) {
  static constexpr std::string_view names[] = {"bool",
                                               "ct::i8",
                                               "ct::i16",
                                               "ct::i32",
                                               "ct::i64",
                                               "ct::u8",
                                               "ct::u16",
                                               "ct::u32",
                                               "ct::u64",
                                               "ct::f16",
                                               "ct::bf16",
                                               "float",
                                               "double",
                                               "ct::complex<float>",
                                               "ct::complex<double>"};
  return names[static_cast<std::size_t>(t)];
}

std::string harmless(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 160)) result += c >= ' ' && c < 127 && c != '\\' ? c : '?';
  return result;
}

std::string name_of(Target target) { return target == Target::cpu ? "cpu" : "cuda"; }

std::string commented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "// " + harmless(line) + "\n";
  return text;
}

namespace {

using expr::Arena;
using kernel::Family;

/// In registers: 16-bit floats are computed in float.
std::string_view value_type(DType t) { return stored_type(compute_dtype(t)); }

std::string number(double value, DType dtype) {
  const std::string_view type = value_type(dtype);
  if (std::isnan(value)) return fmt::format("ct::nan<{}>()", type);
  if (std::isinf(value)) return value < 0 ? fmt::format("(-ct::inf<{}>())", type) : fmt::format("ct::inf<{}>()", type);
  std::string text =
      compute_dtype(dtype) == DType::float32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (compute_dtype(dtype) == DType::float32) text += 'f';
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

std::string number(const expr::Scalar& value) {
  if (is_float(value.dtype)) return number(value.d, value.dtype);
  if (is_complex(value.dtype)) {
    const DType part = value.dtype == DType::complex64 ? DType::float32 : DType::float64;
    return fmt::format("{}({}, {})", stored_type(value.dtype), number(value.d, part), number(value.im, part));
  }
  if (is_bool(value.dtype)) return value.i ? "true" : "false";
  if (value.dtype == DType::uint64) return fmt::format("{}ull", static_cast<std::uint64_t>(value.i));
  if (value.i == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
  const std::string digits = value.dtype == DType::int64 ? fmt::format("{}ll", value.i)
                                                         : fmt::format("{}({})", stored_type(value.dtype), value.i);
  return value.i < 0 ? "(" + digits + ")" : digits;
}

class Emitter {
 public:
  Emitter(const Analysis& analysis, const Variant& variant, Target target, bool in_grid = false)
      : analysis_(analysis),
        kernel_(analysis.kernel),
        body_(analysis.kernel.body),
        variant_(variant),
        target_(target),
        in_grid_(in_grid) {
    for (const MergedAxis& axis : variant.parallel) axes_.push_back(&axis);
    for (const MergedAxis& axis : variant.inner) axes_.push_back(&axis);
    find_point_level();
  }

  Functor functor() {
    parameters();
    line("struct Body {");
    indent_ = 2;
    line("const Params& p;");
    if (guarded()) line("mutable unsigned int bad = 0;", "the check that failed");
    switch (kernel_.family) {
      case Family::pointwise:
        if (variant_.tiled())
          emit_tiles();
        else
          emit_pointwise();
        break;
      case Family::row:
        emit_row();
        break;
      case Family::column:
        emit_column();
        break;
      case Family::split:
        emit_split();
        break;
      case Family::contract:
        emit_contract();
        break;
    }
    indent_ = 0;
    line("};");
    const std::string support = support_text();
    return {support + code_, support + struct_ + "\n" + shown_, parameters_,
            kernel_.family == Family::split ? state_bytes() : 0};
  }

  Text run(const std::vector<std::string>& comment) {
    Functor made = functor();
    Text text;
    text.digest = base::to_hex(base::hash128(made.code + name_of(target_)));
    text.name = fmt::format("{}_{}", kernel::name_of(kernel_.family), text.digest.substr(0, 12));
    text.code = commented(comment);
    // The entries are C functions at the top, which is where launchers look; the rest has a namespace of its own.
    text.code += fmt::format("namespace {}_text {{\n\n", text.name) + made.shown +
                 fmt::format("\n}}  // namespace {}_text\n\n", text.name) + entries(text.name);
    text.parameters = std::move(made.parameters);
    text.state_bytes = made.state_bytes;
    return text;
  }

 private:
  // ---- text ----

  /// Code counts for the digest, comments do not: a line added to the user's program keeps the cache warm.
  void line(std::string_view code, std::string_view comment = "") {
    const std::string padded = std::string(static_cast<std::size_t>(indent_), ' ') + std::string(code);
    code_ += padded + "\n";
    shown_ += comment.empty() ? padded + "\n" : fmt::format("{}  // {}\n", padded, comment);
  }

  std::string origin_of(NodeId id) const {
    const expr::Origin& origin = body_.origin(id);
    if (!origin.where.known()) return "";
    return harmless(
        fmt::format("{}{}{}", origin.name, origin.name.empty() ? "" : ", ", base::file_and_line(origin.where)));
  }

  /// What operations of the user bring along, each text once.
  std::string support_text() const {
    std::set<std::string_view> texts;
    for (NodeId id = 0; id < body_.size(); ++id) {
      if (body_.op(id).map != nullptr) texts.insert(body_.op(id).map->support);
    }
    std::string all;
    for (const std::string_view text : texts) all += text;
    return all;
  }

  // ---- parameters ----

  void parameters() {
    struct_ = "struct Params {\n";
    const auto add = [&](Parameter parameter, const std::string& declaration) {
      parameters_.push_back(parameter);
      struct_ += "  " + declaration + ";\n";
    };
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      const Access& access = analysis_.accesses[a];
      add({Parameter::Kind::pointer, static_cast<int>(a), 0},
          fmt::format("{}{}* p{}", access.written ? "" : "const ", stored_type(dtype_of(static_cast<int>(a))), a));
    }
    if (!kernel_.checks.empty()) add({Parameter::Kind::failure}, "ct::Failure* failure");
    if (kernel_.family == Family::split || kernel_.family == Family::contract)
      add({Parameter::Kind::workspace}, "char* workspace");
    for (std::size_t m = 0; m < axes_.size(); ++m) {
      add({Parameter::Kind::size, 0, static_cast<int>(m)}, fmt::format("ct::index n{}", m));
    }
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (stride_owner(a) != a) continue;
      const bool affine = analysis_.accesses[a].affine;
      const std::size_t count = affine ? axes_.size() : analysis_.accesses[a].index.size();
      for (std::size_t m = 0; m < count; ++m) {
        if (affine && variant_.strides[a][m] != StrideClass::any) continue;
        add({Parameter::Kind::stride, static_cast<int>(a), static_cast<int>(m)}, fmt::format("ct::index s{}_{}", a, m));
      }
    }
    for (int k = 0; k < kernel_.extents; ++k) {
      if (analysis_.explicit_extents[static_cast<std::size_t>(k)])
        add({Parameter::Kind::extent, 0, k}, fmt::format("ct::index e{}", k));
    }
    struct_ += "};\n";
    code_ += struct_;
  }

  // ---- addresses and values ----

  /// A kernel axis as its index; it is alone in its merged axis, or it would not be asked for.
  std::string axis_name(std::int64_t k) const {
    for (std::size_t m = 0; m < axes_.size(); ++m) {
      if (axes_[m]->axes.size() == 1 && axes_[m]->axes[0] == k) return fmt::format("i{}", m);
    }
    throw InternalError("a merged axis is used as a number");
  }

  /// The first access that walks the same operand by the same strides, from another place perhaps: elements of one
  /// window do, and their addresses are found once.
  std::size_t stride_owner(std::size_t a) const {
    const Access& own = analysis_.accesses[a];
    for (std::size_t other = 0; own.affine && other < a; ++other) {
      const Access& access = analysis_.accesses[other];
      if (access.affine && access.operand == own.operand && access.coefficient == own.coefficient) return other;
    }
    return a;
  }

  std::string address(int a) {
    const Access& access = analysis_.accesses[static_cast<std::size_t>(a)];
    std::string text;
    const auto add = [&](const std::string& term) { text += (text.empty() ? "" : " + ") + term; };
    if (!access.affine) {
      for (std::size_t d = 0; d < access.index.size(); ++d)
        add(fmt::format("{} * p.s{}_{}", operand(access.index[d]), a, d));
    } else {
      for (std::size_t m = 0; m < axes_.size(); ++m) {
        switch (variant_.strides[static_cast<std::size_t>(a)][m]) {
          case StrideClass::none:
            break;
          case StrideClass::unit:
            add(fmt::format("i{}", m));
            break;
          case StrideClass::any:
            add(fmt::format("i{} * p.s{}_{}", m, stride_owner(static_cast<std::size_t>(a)), m));
            break;
        }
      }
    }
    return fmt::format("p.p{}[{}]", a, text.empty() ? "0" : text);
  }

  DType dtype_of(int a) const {
    return kernel_.operands[static_cast<std::size_t>(analysis_.accesses[static_cast<std::size_t>(a)].operand)].dtype;
  }
  bool is_staged(int a) const { return variant_.tiled() && variant_.staged[static_cast<std::size_t>(a)]; }

  std::string read(int a) {
    const DType dtype = dtype_of(a);
    const std::string text = is_staged(a) ? fmt::format("tile.t{}[at]", a) : address(a);
    return compute_dtype(dtype) == dtype ? text : fmt::format("ct::to_float({})", text);
  }

  /// What stands for a node in an expression: its name, or a literal.
  std::string operand(NodeId id) const {
    if (const auto value = body_.scalar_value(id)) return number(*value);
    const std::string_view name = body_.op(id).name;
    if (name == "axis") return axis_name(body_.attrs(id).integer("k"));
    if (name == "extent") return fmt::format("p.e{}", body_.attrs(id).integer("k"));
    if (name == "result") {
      return fmt::format("r{}{}", body_.attrs(id).integer("stage"), kernel_.family == Family::column ? "[t]" : "");
    }
    return names_.at(id);
  }

  std::string converted(NodeId id, DType to) const {
    const DType from = body_.type(id).dtype;
    std::string text = operand(id);
    if (compute_dtype(from) == compute_dtype(to)) return text;
    return fmt::format("ct::cast<{}>({})", value_type(to), text);
  }

  std::string expression(NodeId id) {
    const expr::Op& op = body_.op(id);
    const auto inputs = body_.inputs(id);
    if (turned_.contains(id)) {
      const Turn& turn = analysis_.turns.at(id);
      const bool moved = body_.known(turn.offset) != 0;
      return fmt::format("start{} {} {}", moved ? " + " + operand(turn.offset) : "", turn.sign, operand(turn.limit));
    }
    if (op.name == "load") return read(analysis_.load_access.at(id));
    if (op.name == "load_if") {
      return fmt::format("{} ? {} : {}(0)", operand(inputs[0]), read(analysis_.load_access.at(id)),
                         value_type(body_.type(id).dtype));
    }
    if (op.name == "cast") {
      const DType to = body_.type(id).dtype;
      std::string value = converted(inputs[0], to);
      // A cast to a storage type rounds now; other results of 16 bits are rounded when they are stored.
      if (compute_dtype(to) != to) return fmt::format("ct::to_float(ct::from_float<{}>({}))", stored_type(to), value);
      return value;
    }
    std::vector<DType> dtypes;
    for (const NodeId input : inputs) dtypes.push_back(body_.type(input).dtype);
    const expr::MapInfo::Types types = op.map->types(dtypes);
    std::string text;
    const std::string_view code = op.map->code;
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
      const auto i = static_cast<std::size_t>(hole[0] - '0');
      const bool condition = op.name == "where" && i == 0;
      text += condition ? operand(inputs[i]) : converted(inputs[i], types.operand);
    }
    return text;
  }

  // ---- statements ----

  /// Nodes that are the same for all elements of a point, and may be computed once in front of them.
  void find_point_level() {
    const std::size_t fast =
        variant_.parallel.empty() ? 0 : static_cast<std::size_t>(variant_.parallel.back().axes.back());
    point_level_.assign(body_.size(), true);
    for (NodeId id = 0; id < body_.size(); ++id) {
      bool level = !analysis_.inner[id];
      if (kernel_.family == Family::pointwise) level = false;
      if (kernel_.family == Family::column) {
        if (body_.op(id).name == "result") level = false;
        if (body_.op(id).name == "axis" && body_.attrs(id).integer("k") == static_cast<std::int64_t>(fast))
          level = false;
        const auto load = analysis_.load_access.find(id);
        if (load != analysis_.load_access.end() && analysis_.accesses[static_cast<std::size_t>(load->second)].affine) {
          for (const int k : variant_.parallel.back().axes) {
            if (analysis_.accesses[static_cast<std::size_t>(load->second)].moves(static_cast<std::size_t>(k)))
              level = false;
          }
        }
      }
      for (const NodeId input : body_.inputs(id)) level = level && point_level_[input];
      point_level_[id] = level;
    }
  }

  bool has_name(NodeId id) const {
    const std::string_view name = body_.op(id).name;
    return name != "const" && name != "axis" && name != "extent" && name != "result";
  }

  /// What the targets need and is not declared yet.
  std::set<NodeId> needed_by(std::vector<NodeId> pending) const {
    std::set<NodeId> needed;
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (!has_name(id) || names_.contains(id) || !needed.insert(id).second || turned_.contains(id)) continue;
      const auto load = analysis_.load_access.find(id);
      const bool affine =
          load != analysis_.load_access.end() && analysis_.accesses[static_cast<std::size_t>(load->second)].affine;
      if (affine) {
        if (body_.op(id).name == "load_if") pending.push_back(body_.input(id, 0));
        continue;  // the address needs no index nodes
      }
      for (const NodeId input : body_.inputs(id)) pending.push_back(input);
    }
    return needed;
  }

  /// Declares that. `only_point_level`: the part that may stand in front of the elements.
  void declare(const std::vector<NodeId>& targets, bool only_point_level) {
    const int stage = available_stages_;
    for (const NodeId id : needed_by(targets)) {
      if (only_point_level && (!point_level_[id] || stage_[id] > stage)) continue;
      const std::string text = expression(id);
      const std::string name = fmt::format("v{}", next_value_++);
      line(fmt::format("const {} {} = {};", value_type(body_.type(id).dtype), name, text), origin_of(id));
      names_[id] = name;
    }
  }

  /// Names declared inside a block are forgotten at its end.
  template <class F>
  void block(F inside) {
    const auto outer = names_;
    indent_ += 2;
    inside();
    indent_ -= 2;
    names_ = outer;
  }

  void store(const kernel::Store& store, int access) {
    const DType dtype = kernel_.operands[static_cast<std::size_t>(store.operand)].dtype;
    std::string value = operand(store.value);
    if (compute_dtype(dtype) != dtype) value = fmt::format("ct::from_float<{}>({})", stored_type(dtype), value);
    line(fmt::format("{} = {};", address(access), value));
  }

  std::vector<NodeId> store_targets(const kernel::Store& store, int access) const {
    std::vector<NodeId> targets{store.value};
    if (!analysis_.accesses[static_cast<std::size_t>(access)].affine)
      targets.insert(targets.end(), store.index.begin(), store.index.end());
    return targets;
  }

  static bool is_guard(const kernel::Check& c) { return c.message == kernel::guard_message; }
  bool guarded() const { return std::ranges::any_of(kernel_.checks, is_guard); }

  void check(std::size_t c) {
    declare({kernel_.checks[c].condition, kernel_.checks[c].value}, false);
    if (is_guard(kernel_.checks[c])) {
      line(fmt::format("ct::note(bad, {}, {}u);", operand(kernel_.checks[c].condition), c + 1));
      return;
    }
    line(fmt::format("if (!{}) ct::report(p.failure, {}u, {});", operand(kernel_.checks[c].condition), c + 1,
                     operand(kernel_.checks[c].value)));
  }

  /// The stores and checks that run over the elements of a point, or (`by_element` false) once a point.
  bool by_element(const kernel::Store& store) const {
    return std::ranges::any_of(store.index, [&](NodeId i) { return analysis_.inner[i]; }) ||
           analysis_.inner[store.value];
  }
  bool by_element(const kernel::Check& c) const { return analysis_.inner[c.condition] || analysis_.inner[c.value]; }

  void stores_and_checks(bool elements) {
    for (std::size_t c = 0; c < kernel_.checks.size(); ++c) {
      if (by_element(kernel_.checks[c]) == elements) check(c);
    }
    const int first = static_cast<int>(analysis_.accesses.size() - kernel_.stores.size());
    std::vector<NodeId> targets;
    for (std::size_t s = 0; s < kernel_.stores.size(); ++s) {
      if (by_element(kernel_.stores[s]) != elements) continue;
      for (const NodeId target : store_targets(kernel_.stores[s], first + static_cast<int>(s)))
        targets.push_back(target);
    }
    declare(targets, false);  // all values first: an operand may be written in place
    for (std::size_t s = 0; s < kernel_.stores.size(); ++s) {
      if (by_element(kernel_.stores[s]) == elements) store(kernel_.stores[s], first + static_cast<int>(s));
    }
  }
  bool any_by_element(bool elements) const {
    return std::ranges::any_of(kernel_.stores, [&](const kernel::Store& s) { return by_element(s) == elements; }) ||
           std::ranges::any_of(kernel_.checks, [&](const kernel::Check& c) { return by_element(c) == elements; });
  }
  std::vector<NodeId> targets_of(bool elements) const {
    std::vector<NodeId> targets;
    for (const kernel::Check& c : kernel_.checks) {
      if (by_element(c) == elements) targets.insert(targets.end(), {c.condition, c.value});
    }
    for (const kernel::Store& s : kernel_.stores) {
      if (by_element(s) == elements) targets.push_back(s.value);
    }
    return targets;
  }

  // ---- what a stage keeps for the elements ----

  /// A value that the last stage computes and the elements need again, such as the exponentials of a softmax, waits
  /// where the result will be: on a CPU that is cheaper than to compute it twice. The result may lie where an operand
  /// lies, so nothing but this value may be read behind that stage. `value` is no_node where there is none.
  struct Kept {
    NodeId value = expr::no_node;
    int access = -1;  // of the store
  };

  static constexpr int worth_keeping = 8;  // cost of an op (MapInfo) from which it is cheaper to store its result

  Kept find_kept() const {
    if (target_ != Target::cpu || kernel_.stages.empty() || !kernel_.checks.empty()) return {};
    const auto is_by_element = [&](const kernel::Store& s) { return by_element(s); };
    if (std::ranges::count_if(kernel_.stores, is_by_element) != 1) return {};
    const auto store = std::ranges::find_if(kernel_.stores, is_by_element);
    const std::size_t access =
        analysis_.accesses.size() - kernel_.stores.size() + static_cast<std::size_t>(store - kernel_.stores.begin());
    const DType dtype = dtype_of(static_cast<int>(access));
    if (!analysis_.accesses[access].affine || compute_dtype(dtype) != dtype) return {};
    const std::vector<bool> in_stage = needed_for(kernel_.stages.back().value, expr::no_node),
                            in_store = needed_for(store->value, expr::no_node);
    for (NodeId id = static_cast<NodeId>(body_.size()); id-- > 0;) {
      const expr::MapInfo* map = body_.op(id).map;
      if (!in_stage[id] || !in_store[id] || !analysis_.inner[id] || body_.type(id).dtype != dtype) continue;
      if (map == nullptr || map->cost < worth_keeping) continue;
      const std::vector<bool> behind = needed_for(store->value, id);
      bool reads = false;
      for (const auto& [load, at] : analysis_.load_access) reads = reads || (behind[load] && analysis_.inner[load]);
      if (!reads) return {id, static_cast<int>(access)};
    }
    return {};
  }

  /// The nodes that `root` is computed from, where `known` needs none.
  std::vector<bool> needed_for(NodeId root, NodeId known) const {
    std::vector<bool> needed(body_.size());
    std::vector<NodeId> pending{root};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (needed[id]) continue;
      needed[id] = true;
      if (id == known) continue;
      for (const NodeId input : body_.inputs(id)) pending.push_back(input);
    }
    return needed;
  }

  // ---- index variables ----

  /// i{first} ... i{first + count - 1} from a C-order position.
  void split_index(const std::string& position, std::size_t first, std::size_t count) {
    std::vector<std::size_t> axes;
    for (std::size_t m = first; m < first + count; ++m) axes.push_back(m);
    split_index(position, axes);
  }
  void split_index(std::string position, const std::vector<std::size_t>& axes) {
    for (std::size_t k = axes.size(); k-- > 0;) {
      const std::size_t m = axes[k];
      if (k == 0) {
        line(fmt::format("const ct::index i{} = {};", m, position));
      } else {
        line(fmt::format("const ct::index i{} = {} % {};", m, position, divisor(m)));
        line(fmt::format("const ct::index q{} = {} / {};", m, position, divisor(m)));
        position = fmt::format("q{}", m);
      }
    }
  }

  std::string product(std::size_t first, std::size_t count) const {
    std::string text;
    for (std::size_t m = first; m < first + count; ++m) text += fmt::format("{}p.n{}", text.empty() ? "" : " * ", m);
    return text.empty() ? "ct::index(1)" : text;
  }

  std::string combiner(const kernel::Stage& stage) const {
    return fmt::format("ct::{}<{}>", stage.op->reduce->combiner, value_type(body_.type(stage.value).dtype));
  }

  /// [&](k) { ... return value; }
  void value_lambda(const std::string& head, const kernel::Stage& stage, const std::string& arguments,
                    const std::string& tail, const Kept& kept) {
    line(fmt::format("{}[&]({}) CT_INLINE {{", head, arguments));
    block([&] {
      inner_index();
      declare({stage.value}, false);
      if (kept.value != expr::no_node) line(fmt::format("{} = {};", address(kept.access), operand(kept.value)));
      line(fmt::format("return {};", operand(stage.value)));
    });
    line("}" + tail);
  }

  void inner_index() { split_index("k", variant_.parallel.size(), variant_.inner.size()); }

  /// The size of a merged axis as a divisor of positions. Stated sizes of what is walked for every point are numbers:
  /// a processor divides by them far faster.
  std::string divisor(std::size_t m) const {
    std::int64_t total = 1;
    for (const int axis : axes_[m]->axes) {
      const auto size = body_.known(kernel_.axes[static_cast<std::size_t>(axis)].extent);
      if (!size || m < variant_.parallel.size()) return fmt::format("p.n{}", m);
      total *= *size;
    }
    return total == 0 ? fmt::format("p.n{}", m) : fmt::format("ct::index({})", total);
  }

  // ---- families ----

  /// On a CPU, conditions on the fast axis alone, such as those of the parts of a join, are the same for all elements
  /// up to the next one that turns: they are not asked of each element.
  std::vector<Turn> find_turns() {
    if (target_ != Target::cpu || axes_.empty() || axes_.back()->axes.size() != 1) return {};
    std::vector<NodeId> targets = targets_of(false);
    for (const kernel::Store& store : kernel_.stores)
      targets.insert(targets.end(), store.index.begin(), store.index.end());
    std::vector<Turn> turns;
    for (const NodeId id : needed_by(targets)) {
      const auto found = analysis_.turns.find(id);
      if (found == analysis_.turns.end() || found->second.axis != axes_.back()->axes[0]) continue;
      turned_.insert(id);
      const auto same_place = [&](const Turn& other) {
        const Turn& own = found->second;
        return std::tuple(own.offset, own.limit, own.behind) == std::tuple(other.offset, other.limit, other.behind);
      };
      if (std::ranges::none_of(turns, same_place)) turns.push_back(found->second);
    }
    return turns;
  }

  void emit_pointwise() {
    const std::size_t count = axes_.size();
    line(fmt::format("CT_MEMBER ct::index width() const {{ return {}; }}",
                     count == 0 ? "1" : fmt::format("p.n{}", count - 1)));
    const std::vector<Turn> turns = find_turns();
    std::vector<NodeId> places;
    for (const Turn& turn : turns) places.insert(places.end(), {turn.offset, turn.limit});
    if (!turns.empty()) {
      line("CT_MEMBER ct::index turn(ct::index column, ct::index stop) const {");
      block([&] {
        declare(places, false);
        for (const Turn& turn : turns)
          line(fmt::format("stop = ct::turn(column, {}, {}, {}, stop);", operand(turn.offset), operand(turn.limit),
                           turn.behind ? 1 : 0));
        line("return stop;");
      });
      line("}");
    }
    line(fmt::format("CT_MEMBER void element(ct::index{}, ct::index column{}) const {{", count <= 1 ? "" : " row",
                     turns.empty() ? "" : ", ct::index start"));
    block([&] {
      declare(places, false);
      if (count >= 2) split_index("row", 0, count - 1);
      if (count >= 1)
        line(fmt::format("const ct::index i{} = column;", count - 1));
      else
        line("(void)column;");
      // Without inner axes everything is "once a point", and the point is the element.
      stores_and_checks(false);
    });
    line("}");
  }

  /// `fetch` copies what is staged into the place `at` of a tile, `element` uses it.
  void emit_tiles() {
    const std::size_t down = static_cast<std::size_t>(variant_.tile_axis), across = axes_.size() - 1;
    std::vector<std::size_t> others;
    for (std::size_t m = 0; m < across; ++m) {
      if (m != down) others.push_back(m);
    }
    line(fmt::format("CT_MEMBER ct::index height() const {{ return p.n{}; }}", down));
    line(fmt::format("CT_MEMBER ct::index width() const {{ return p.n{}; }}", across));
    line("struct Tile {");
    for (int a = 0; a < static_cast<int>(variant_.staged.size()); ++a) {
      if (is_staged(a)) line(fmt::format("  {} t{}[ct::tile_elements];", stored_type(dtype_of(a)), a));
    }
    line("};");
    const std::string point =
        fmt::format("ct::index{}, ct::index i{}, ct::index i{}, int at", others.empty() ? "" : " outer", down, across);
    line(fmt::format("CT_MEMBER void fetch(Tile& tile, {}) const {{", point));
    block([&] {
      split_index("outer", others);
      for (int a = 0; a < static_cast<int>(variant_.staged.size()); ++a) {
        if (is_staged(a)) line(fmt::format("tile.t{}[at] = {};", a, address(a)));
      }
    });
    line("}");
    line(fmt::format("CT_MEMBER void element(const Tile& tile, {}) const {{", point));
    block([&] {
      split_index("outer", others);
      stores_and_checks(false);
    });
    line("}");
  }

  void emit_row() {
    line("template <class Team>");
    line("CT_MEMBER void point(const Team& team, ct::index position) const {");
    block([&] {
      if (variant_.parallel.empty()) line("(void)position;");
      split_index("position", 0, variant_.parallel.size());
      const Kept kept = find_kept();
      line(fmt::format("const ct::index length = {};", product(variant_.parallel.size(), variant_.inner.size())));
      for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
        available_stages_ = static_cast<int>(s);
        declare({kernel_.stages[s].value}, true);
        value_lambda(fmt::format("const auto r{} = team.template reduce<{}>(length, ", s, combiner(kernel_.stages[s])),
                     kernel_.stages[s], "ct::index k", ");", s + 1 == kernel_.stages.size() ? kept : Kept());
      }
      available_stages_ = static_cast<int>(kernel_.stages.size());
      if (any_by_element(true)) {
        declare(targets_of(true), true);
        line("team.each(length, [&](ct::index k) CT_INLINE {");
        block([&] {
          inner_index();
          if (kept.value != expr::no_node) {
            const std::string name = fmt::format("v{}", next_value_++);
            line(fmt::format("const auto {} = {};", name, read(kept.access)), "kept by the last reduction");
            names_[kept.value] = name;
          }
          stores_and_checks(true);
        });
        line("});");
      }
      if (any_by_element(false)) {
        line("team.sync();  // all have read what one of them may write");
        line("if (team.leads()) {");
        block([&] { stores_and_checks(false); });
        line("}");
      }
    });
    line("}");
  }

  void emit_column() {
    const std::size_t fast = variant_.parallel.size() - 1;
    line(fmt::format("CT_MEMBER ct::index width() const {{ return p.n{}; }}", fast));
    line("template <class Team>");
    line(fmt::format("CT_MEMBER void tile(const Team& team, ct::index{}, ct::index first) const {{",
                     fast > 0 ? " row" : ""));
    const std::string point = fmt::format("const ct::index i{} = first + t;", fast);
    block([&] {
      split_index("row", 0, fast);
      line(fmt::format("const ct::index length = {};", product(variant_.parallel.size(), variant_.inner.size())));
      for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
        available_stages_ = static_cast<int>(s);
        declare({kernel_.stages[s].value}, true);
        line(fmt::format("const auto r{} = team.template reduce<{}>(length, [&](ct::index t, ct::index k) CT_INLINE {{",
                         s, combiner(kernel_.stages[s])));
        block([&] {
          line(point);
          line("(void)t;");
          inner_index();
          declare({kernel_.stages[s].value}, false);
          line(fmt::format("return {};", operand(kernel_.stages[s].value)));
        });
        line("});");
      }
      available_stages_ = static_cast<int>(kernel_.stages.size());
      if (any_by_element(true)) {
        declare(targets_of(true), true);
        line("team.each(length, [&](ct::index t, ct::index k) CT_INLINE {");
        block([&] {
          line(point);
          inner_index();
          stores_and_checks(true);
        });
        line("});");
      }
      if (any_by_element(false)) {
        line("team.points_do([&](ct::index t) CT_INLINE {");
        block([&] {
          line(point);
          stores_and_checks(false);
        });
        line("});");
      }
    });
    line("}");
  }

  /// Bytes of all stages' states, each in a slot of 16.
  std::size_t state_bytes() const { return split_state_bytes(analysis_); }
  std::string parts_of(std::size_t s) const {
    return fmt::format("reinterpret_cast<typename {}::State*>(p.workspace + {} * parts())", combiner(kernel_.stages[s]),
                       16 * s);
  }

  void emit_split() {
    line(fmt::format("CT_MEMBER ct::index length() const {{ return {}; }}", product(0, axes_.size())));
    line(fmt::format("CT_MEMBER ct::index parts() const {{ return (length() + {0} - 1) / {0}; }}",
                     in_grid_ ? "ct::block_elements" : "ct::part_elements"));
    line("template <class Team>");
    line("CT_MEMBER void part(const Team& team, ct::index part, ct::index first, ct::index count) const {");
    block([&] {
      for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
        declare({kernel_.stages[s].value}, true);
        line(
            fmt::format("const auto r{} = team.template combine<ct::Shifted<{}>>(count, [&](ct::index at) CT_INLINE {{",
                        s, combiner(kernel_.stages[s])));
        block([&] {
          line("const ct::index k = first + at;");
          inner_index();
          declare({kernel_.stages[s].value}, false);
          line(fmt::format("return ct::At<{}>{{{}, k}};", value_type(body_.type(kernel_.stages[s].value).dtype),
                           operand(kernel_.stages[s].value)));
        });
        line("});");
        line(fmt::format("if (team.leads()) {}[part] = r{};", parts_of(s), s));
      }
      if (any_by_element(true)) {
        declare(targets_of(true), true);
        line("team.each(count, [&](ct::index at) CT_INLINE {");
        block([&] {
          line("const ct::index k = first + at;");
          inner_index();
          stores_and_checks(true);
        });
        line("});");
      }
    });
    line("}");
    if (in_grid_) line("template <class Team>");
    line(fmt::format("CT_MEMBER void finish({}) const {{", in_grid_ ? "const Team& team" : ""));
    block([&] {
      for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
        line(fmt::format("const auto r{} = ct::{}<{}>({}, parts());", s, in_grid_ ? "total_of_blocks" : "split_total",
                         combiner(kernel_.stages[s]), parts_of(s)));
      }
      available_stages_ = static_cast<int>(kernel_.stages.size());
      if (in_grid_) line("if (!team.leads()) return;");
      stores_and_checks(false);
    });
    line("}");
  }

  // ---- contractions ----

  /// Declares {prefix}M for each of the axes: where the C-order position stands along it.
  void begin_walk(std::string position, const std::vector<std::size_t>& axes, std::string_view prefix) {
    for (std::size_t k = axes.size(); k-- > 0;) {
      const std::size_t m = axes[k];
      line(fmt::format("ct::index {}{} = {}{};", prefix, m, position, k == 0 ? "" : fmt::format(" % p.n{}", m)));
      if (k == 0) continue;
      line(fmt::format("const ct::index q{} = {} / p.n{};", m, position, m));
      position = fmt::format("q{}", m);
    }
  }
  /// Moves on by `by` along the last axis, whose place has the name `fast` and of which so much is left, and to the
  /// next line at its end.
  void walk_on(const std::string& fast, std::string_view by, const std::vector<std::size_t>& axes) {
    std::string text = fmt::format("{0} += {1}; if ({0} == p.n{2}) {{ {0} = 0;", fast, by, axes.back());
    for (std::size_t k = axes.size() - 1; k-- > 0;)
      text += k == 0 ? fmt::format(" ++i{};", axes[k]) : fmt::format(" if (++i{0} == p.n{0}) {{ i{0} = 0;", axes[k]);
    line(text + std::string(std::max<std::size_t>(axes.size(), 2) - 1, '}'));
  }

  /// Loops over `outers` positions of some axes from `outer` on, and over `count` of others from `first` on in runs
  /// along the last one of these. Divisions stand in front of the loops only.
  template <class F>
  void by_runs(const std::vector<std::size_t>& outer, const std::vector<std::size_t>& along, const F& element) {
    begin_walk("outer", outer, "i");
    begin_walk("first", along, "f");
    line("for (ct::index o = 0; o < outers; ++o) {");
    block([&] {
      for (std::size_t k = 0; k + 1 < along.size(); ++k) line(fmt::format("ct::index i{0} = f{0};", along[k]));
      const std::size_t fast = along.back();
      line(fmt::format("ct::index s{0} = f{0};", fast));
      line("for (ct::index done = 0, run; done < count; done += run) {");
      block([&] {
        line(fmt::format("run = ct::smaller(p.n{0} - s{0}, count - done);", fast));
        line("#pragma clang loop vectorize(assume_safety)");
        line("for (ct::index t = 0; t < run; ++t) {");
        block([&] {
          line(fmt::format("const ct::index i{0} = s{0} + t;", fast));
          element();
        });
        line("}");
        walk_on(fmt::format("s{}", fast), "run", along);
      });
      line("}");
      walk_on(fmt::format("i{}", outer.back()), "1", outer);
    });
    line("}");
  }
  std::vector<std::size_t> inner_axes() const {
    std::vector<std::size_t> axes;
    for (std::size_t m = variant_.parallel.size(); m < axes_.size(); ++m) axes.push_back(m);
    return axes;
  }
  void split_batch(const std::vector<std::size_t>& batch) {
    if (batch.empty())
      line("(void)batch;");
    else
      split_index("batch", batch);
  }

  /// On a CPU factors are brought together in pieces, and sums are taken over in lines; on a GPU one by one.
  void emit_contract() {
    const std::vector<std::size_t> batch = axes_of_side(analysis_, variant_, kernel::Side::both),
                                   rows = axes_of_side(analysis_, variant_, kernel::Side::rows),
                                   columns = axes_of_side(analysis_, variant_, kernel::Side::columns),
                                   inner = inner_axes();
    const kernel::Contraction& contraction = *analysis_.contraction;
    const std::string_view type = value_type(body_.type(contraction.left).dtype);
    line(fmt::format("typedef {} Value;", type));
    const auto counts = [&](std::string_view name, const std::vector<std::size_t>& axes) {
      std::string total;
      for (const std::size_t m : axes) total += fmt::format("{}p.n{}", total.empty() ? "" : " * ", m);
      line(fmt::format("CT_MEMBER ct::index {}() const {{ return {}; }}", name, total.empty() ? "1" : total));
    };
    counts("batches", batch);
    counts("rows", rows);
    counts("columns", columns);
    counts("length", inner);
    line("CT_MEMBER const Value* sums() const { return reinterpret_cast<const Value*>(p.workspace); }",
         "of a library; null: they are computed here");
    available_stages_ = 1;
    if (target_ == Target::cpu) {
      const auto pieces = [&](std::string_view name, NodeId factor, const std::vector<std::size_t>& lines,
                              bool by_lines) {
        line(fmt::format("static constexpr bool {}_by_lines = {};", name, by_lines));
        line(
            fmt::format("CT_MEMBER void {}(ct::index batch, ct::index outer, ct::index outers, ct::index first, "
                        "ct::index count, Value* to, ct::index outer_step, ct::index step) const {{",
                        name));
        block([&] {
          split_batch(batch);
          by_runs(by_lines ? inner : lines, by_lines ? lines : inner, [&] {
            declare({factor}, false);
            line(fmt::format("to[o * outer_step + (done + t) * step] = {};", operand(factor)));
          });
        });
        line("}");
      };
      pieces("left", contraction.left, rows, variant_.left_by_rows);
      pieces("right", contraction.right, columns, variant_.right_by_columns);
      line(
          "CT_MEMBER void finish(ct::index batch, ct::index outer, ct::index outers, ct::index first, ct::index count, "
          "const Value* sums, ct::index outer_step) const {");
      block([&] {
        split_batch(batch);
        by_runs(rows, columns, [&] {
          line("const Value r0 = sums[o * outer_step + done + t];");
          stores_and_checks(false);
        });
      });
      line("}");
      return;
    }
    const auto one = [&](std::string_view name, NodeId factor, const std::vector<std::size_t>& lines) {
      line(fmt::format("CT_MEMBER Value {}(ct::index batch, ct::index line, ct::index k) const {{", name));
      block([&] {
        split_batch(batch);
        split_index("line", lines);
        split_index("k", inner);
        declare({factor}, false);
        line(fmt::format("return {};", operand(factor)));
      });
      line("}");
    };
    one("left", contraction.left, rows);
    one("right", contraction.right, columns);
    line("CT_MEMBER void finish(ct::index batch, ct::index row, ct::index column, Value r0) const {");
    block([&] {
      split_batch(batch);
      split_index("row", rows);
      split_index("column", columns);
      stores_and_checks(false);
    });
    line("}");
  }

  /// Runs `call`, in which {} is the body.
  std::string run_body(const std::string& space, std::string_view call) const {
    const std::string body = fmt::format("{}Body{{p}}", space);
    if (!guarded()) return fmt::format("  {};\n", fmt::format(fmt::runtime(call), body));
    return fmt::format("  const {} body{{p}};\n  {};\n  if (body.bad != 0) ct::report(p.failure, body.bad, 0);\n",
                       space + "Body", fmt::format(fmt::runtime(call), "body"));
  }

  std::string entries(const std::string& name) const {
    const bool split = kernel_.family == Family::split;
    const std::string family = split              ? "split_parts"
                               : variant_.tiled() ? "pointwise_tiles"
                                                  : std::string(kernel::name_of(kernel_.family));
    const std::string space = name + "_text::";
    std::string text;
    if (target_ == Target::cpu) {
      const auto entry = [&](std::string_view head, std::string_view call) {
        text += fmt::format("extern \"C\" void {}{} {{\n  const {}Params p = *arguments;\n{}}}\n", name,
                            fmt::format(fmt::runtime(head), space), space, run_body(space, call));
      };
      entry("(const {}Params* arguments, ct::index begin, ct::index end)", "ct::" + family + "({}, begin, end)");
      if (split) entry("_finish(const {}Params* arguments)", "{}.finish()");
      return text;
    }
    text = fmt::format("CT_KERNEL void {}(const {}Params p, ct::index points) {{\n{}}}\n", name, space,
                       run_body(space, "ct::" + family + "({}, points)"));
    if (split) {
      text += fmt::format(
          "CT_KERNEL void {}_finish(const {}Params p) {{\n"
          "  if (ct::block_index() != 0 || ct::thread_index() != 0) return;\n{}}}\n",
          name, space, run_body(space, "{}.finish()"));
    }
    return text;
  }

  const Analysis& analysis_;
  const kernel::Kernel& kernel_;
  const Arena& body_;
  const Variant& variant_;
  Target target_;
  bool in_grid_;
  std::vector<const MergedAxis*> axes_;
  std::vector<bool> point_level_;
  std::vector<int> stage_ = kernel::stage_of(kernel_);
  std::vector<Parameter> parameters_;
  std::map<NodeId, std::string> names_;
  std::set<NodeId> turned_;  // comparisons that are made once for many elements
  std::string struct_, code_, shown_;
  int indent_ = 0;
  int next_value_ = 0;
  int available_stages_ = 0;
};

}  // namespace

std::size_t split_state_bytes(const Analysis& analysis) { return 16 * analysis.kernel.stages.size(); }

std::string_view embedded_file(std::string_view path) {
  for (const EmbeddedFile& embedded : embedded_files()) {
    if (embedded.path == path) return embedded.text;
  }
  throw InternalError(fmt::format("the template {} is not embedded", path));
}

bool has_text_of_user(std::string_view code) { return code.find("CT_DEVICE auto user_") != code.npos; }

Text emit(const Part& part, Target target) { return Emitter(*part.analysis, *part.variant, target).run(part.comment); }

Functor emit_functor(const Analysis& analysis, const Variant& variant, Target target, bool in_grid) {
  return Emitter(analysis, variant, target, in_grid).functor();
}

std::string prelude(Target target, bool simulator) {
  static constexpr std::string_view common[] = {
      "common/numeric.cuh", "common/math.cuh",   "common/special.cuh", "common/incomplete_gamma.cuh",
      "common/bessel.cuh",  "common/random.cuh", "common/complex.cuh", "common/body.cuh",
      "common/combine.cuh", "common/motion.cuh"};
  static constexpr std::string_view cpu[] = {"cpu/pointwise.hpp", "cpu/tiles.hpp", "cpu/row.hpp",
                                             "cpu/column.hpp",    "cpu/split.hpp", "cpu/group.hpp",
                                             "cpu/product.hpp",   "cpu/loop.hpp",  "cpu/contract.hpp"};
  static constexpr std::string_view cuda[] = {"pointwise.cuh", "tiles.cuh",   "row.cuh",  "column.cuh",  "split.cuh",
                                              "group.cuh",     "product.cuh", "loop.cuh", "contract.cuh"};
  std::string text;
  const auto add = [&](std::string_view path) { text += fmt::format("{}\n", embedded_file(path)); };
  add(target == Target::cpu ? "cpu/device_cpu.hpp"
      : simulator           ? "common/device_simulator.hpp"
                            : "common/device_cuda.cuh");
  for (const std::string_view path : common) add(path);
  for (const std::string_view path : target == Target::cpu ? std::span<const std::string_view>(cpu) : cuda) add(path);
  return text;
}

}  // namespace croton::codegen
