#include "expr/arena.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/index.hpp"
#include "base/source_place.hpp"
#include "expr/print.hpp"

namespace croton::expr {

namespace {

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  seed ^= value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2);
  return seed * 0xFF51AFD7ED558CCDull;
}

std::uint64_t hash_node(const Op* op, std::span<const NodeId> inputs, AttrsId attrs, Place place) {
  std::uint64_t seed = mix(reinterpret_cast<std::uintptr_t>(op), attrs + (std::uint64_t{place} << 32));
  for (const NodeId input : inputs) seed = mix(seed, input);
  return seed ^ (seed >> 31);
}

/// The id of the next element that is added.
template <class Held>
std::uint32_t next_id(const Held& held) {
  return static_cast<std::uint32_t>(held.size());
}

/// The node of a size.
NodeId node_of(Dim dim) { return static_cast<NodeId>(dim); }

/// Type rules over an arena: sizes are nodes.
class ArenaInfer final : public InferContext {
 public:
  ArenaInfer(Arena& arena, const Op& op, std::span<const NodeId> nodes, const Attrs& a)
      : InferContext(a, op.name), arena_(arena), nodes_(nodes) {
    inputs.reserve(nodes.size());
    for (const NodeId id : nodes) {
      const TensorType& type = arena.type(id);
      inputs.push_back({type.dtype, {type.shape.begin(), type.shape.end()}});
    }
  }

  std::optional<std::int64_t> known(Dim dim) const override { return arena_.known(node_of(dim)); }
  Dim constant(std::int64_t value) override { return arena_.integer(value); }
  Dim require_equal(Dim a, Dim b, std::string_view why) override {
    const auto x = known(a), y = known(b);
    if (x && y && *x != *y) shape_error(fmt::format("{}: {} is not {}", why, *x, *y));
    return arena_.require_equal(node_of(a), node_of(b), why);
  }
  Dim value_of(std::size_t input) override {
    if (input >= nodes_.size()) type_error("an argument is missing");
    const NodeId id = nodes_[input];
    if (arena_.type(id).rank() != 0 || !is_discrete(arena_.type(id).dtype))
      type_error("a size or an index must be an integer scalar");
    if (const auto value = arena_.scalar_value(id)) {
      if (value->dtype == DType::uint64 && value->i < 0) shape_error("a number that is more than an index can count");
      return arena_.integer(value->as_int());
    }
    if (arena_.type(id).dtype == DType::int64) return id;
    return arena_.make(Core::cast, {id}, {{"dtype", DType::int64}});
  }
  Dim apply(std::string_view op, Dim a, Dim b) override { return arena_.size_arithmetic(op, node_of(a), node_of(b)); }
  void require_index(Dim index, Dim size, std::string_view why) override {
    const auto i = known(index), n = known(size);
    if (i && n && (*i < -*n || *i >= *n))
      throw IndexError(describe() + fmt::format("{}: index {} of an axis of size {}", why, *i, *n));
    arena_.require_index(node_of(index), node_of(size), why);
  }
  void require_size(Dim size) override {
    const auto value = known(size);
    if (value && *value < 0) shape_error(fmt::format("a size of {}; sizes are at least 0", *value));
    if (!value && !arena_.is_size_of_input(node_of(size))) arena_.require_number(node_of(size), "a size");
  }
  /// Requires that an int64 index can count the elements of that shape.
  void require_count(std::span<const NodeId> shape) {
    if (std::ranges::any_of(shape, [&](NodeId size) { return known(size) == 0; })) return;
    NodeId count = arena_.integer(1);
    for (const NodeId size : shape) {
      const auto before = known(count), more = known(size);
      if (before && more && !exact_integers(expr::op(Core::mul), *before, *more))
        shape_error("the result has more elements than an index can count");
      count = arena_.size_arithmetic(Core::mul, count, size);
    }
    if (!known(count) && arena_.op(count).kind != Kind::Leaf) arena_.require_number(count, "the number of elements");
  }
  void type_error(const std::string& message) const override { throw TypeError(describe() + message); }
  void shape_error(const std::string& message) const override { throw ShapeError(describe() + message); }

 private:
  std::string describe() const {
    // Includes the user's line, if there is one: an error may be found only after rules have folded sizes.
    const Where where = arena_.origin_of(arena_.current_origin()).where;
    std::string text =
        where.line() == 0 ? fmt::format("{}:", op_name) : fmt::format("{} ({}):", op_name, base::file_and_line(where));
    for (const NodeId id : nodes_) text += fmt::format(" {}", arena_.type_text(id));
    return text + ": ";
  }

  Arena& arena_;
  std::span<const NodeId> nodes_;
};

}  // namespace

Arena::Arena() {
  table_.assign(64, no_node);
  origins_.emplace_back();
  attrs_.emplace_back();
}

void Arena::grow_table() {
  table_.assign(table_.size() * 2, no_node);
  const std::size_t mask = table_.size() - 1;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (table_[slot] != no_node) slot = (slot + 1) & mask;
    table_[slot] = id;
  }
}

NodeId Arena::find_or_add(const Op& op, std::span<const NodeId> inputs, AttrsId attrs, Place place, TypeId type,
                          bool infer_type) {
  const std::uint64_t hash = hash_node(&op, inputs, attrs, place);
  const auto find_slot = [&]() -> std::size_t {
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hash & mask;
    for (; table_[slot] != no_node; slot = (slot + 1) & mask) {
      const Node& other = nodes_[table_[slot]];
      if (hashes_[table_[slot]] == hash && other.op == &op && other.attrs == attrs && other.place == place &&
          std::ranges::equal(this->inputs(table_[slot]), inputs)) {
        break;
      }
    }
    return slot;
  };
  if (const NodeId found = table_[find_slot()]; found != no_node) return found;

  if (infer_type) type = intern_type(infer(op, inputs, attrs_[attrs]));
  if (nodes_.size() >= std::numeric_limits<NodeId>::max() - 1) throw OutOfMemory("a graph of over 4 billion nodes");
  // The rule above may have added nodes, and `inputs` may point into inputs_.
  const std::vector<NodeId> held(inputs.begin(), inputs.end());
  const NodeId id = size();
  nodes_.push_back({&op, next_id(inputs_), next_id(held), type, attrs, current_origin_, place});
  inputs_.insert(inputs_.end(), held.begin(), held.end());
  hashes_.push_back(hash);
  if (nodes_.size() * 2 > table_.size()) {
    grow_table();
  } else {
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hash & mask;
    while (table_[slot] != no_node) slot = (slot + 1) & mask;
    table_[slot] = id;
  }
  return id;
}

TensorType Arena::infer(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs) {
  ArenaInfer context(*this, op, inputs, attrs);
  refuse_complex(op, context);
  const InferredType inferred = op.infer(context);
  return {inferred.dtype, {inferred.shape.begin(), inferred.shape.end()}};
}

void Arena::require_sizes(NodeId id) {
  const std::vector<NodeId> shape = type(id).shape;
  const auto is_of = [&](NodeId dim) { return [this, dim](NodeId other) { return same_dim(dim, other); }; };
  // A node whose sizes are all those of one input needs no requirements beyond the input's.
  const auto is_within = [&](NodeId input) {
    std::vector<NodeId> rest = type(input).shape;
    return std::ranges::all_of(shape, [&](NodeId dim) {
      if (known(dim) == 1) return true;
      const auto at = std::ranges::find_if(rest, is_of(dim));
      if (at == rest.end()) return false;
      rest.erase(at);
      return true;
    });
  };
  if (shape.empty() || std::ranges::any_of(inputs(id), is_within)) return;
  const std::vector<NodeId> of(inputs(id).begin(), inputs(id).end());
  ArenaInfer context(*this, op(id), of, attrs(id));
  for (const NodeId dim : shape) {
    const bool is_new =
        std::ranges::none_of(of, [&](NodeId input) { return std::ranges::any_of(type(input).shape, is_of(dim)); });
    if (is_new) context.require_size(dim);
  }
  context.require_count(shape);
}

NodeId Arena::make(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs, Place place) {
  return find_or_add(op, inputs, intern_attrs(attrs), place, 0, true);
}

NodeId Arena::make(std::string_view op_name, std::initializer_list<NodeId> inputs, const Attrs& attrs, Place place) {
  return make(expr::op(op_name), std::span<const NodeId>(inputs.begin(), inputs.size()), attrs, place);
}

NodeId Arena::make_typed(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs, TypeId type, Place place) {
  return find_or_add(op, inputs, intern_attrs(attrs), place, type, false);
}

NodeId Arena::scalar(const Scalar& value) {
  Attrs attrs{{"dtype", value.dtype}};
  const auto one_nan = [](double x) { return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; };
  if (is_discrete(value.dtype))
    attrs.set("value", value.i);
  else
    attrs.set("value", one_nan(value.d));
  if (is_complex(value.dtype)) attrs.set("imag", one_nan(value.im));
  return make_typed(Core::const_, {}, attrs, intern_type({value.dtype, {}}));
}

std::optional<Scalar> Arena::scalar_value(NodeId id) const {
  if (!op(id).is(Core::const_)) return std::nullopt;
  const Attrs& a = attrs(id);
  const DType dtype = a.dtype("dtype");
  if (is_complex(dtype)) return Scalar::of_complex({a.real("value"), a.real("imag")}, dtype);
  return is_float(dtype) ? Scalar::of_double(a.real("value"), dtype) : Scalar::of_int(a.integer("value"), dtype);
}

std::optional<std::int64_t> Arena::known(NodeId dim) const {
  const auto value = scalar_value(representative(dim));
  if (!value) return std::nullopt;
  return value->as_int();
}

NodeId Arena::size_arithmetic(const Op& op, NodeId a, NodeId b) {
  a = representative(a);
  b = representative(b);
  const auto x = known(a);
  const auto y = known(b);
  // If the result overflows, the operation remains: as a size it is an error when it is used, as data it wraps.
  if (x && y) {
    if (const auto value = exact_integers(op, *x, *y)) return integer(*value);
    return make(op, std::array{a, b});
  }
  if (op.is(Core::add) && x == 0) return b;
  if (op.is(Core::add, Core::sub) && y == 0) return a;
  if (op.is(Core::mul) && x == 1) return b;
  if (op.is(Core::mul, Core::floor_divide) && y == 1) return a;
  if (op.is(Core::mul) && (x == 0 || y == 0)) return integer(0);
  if (op.is(Core::sub) && a == b) return integer(0);
  if (op.is(Core::maximum, Core::minimum) && a == b) return a;
  // Constants last, then in the order of ids, as in the canonical rules.
  if (op.map->commutative && (x || (!y && b < a))) std::swap(a, b);
  return make(op, std::array{a, b});
}

TypeId Arena::intern_type(const TensorType& type) {
  std::uint64_t hash = base::ordinal(type.dtype) + 17;
  for (const NodeId dim : type.shape) hash = mix(hash, dim);
  const auto [first, last] = type_index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (types_[it->second] == type) return it->second;
  }
  const TypeId id = next_id(types_);
  types_.push_back(type);
  type_index_.emplace(hash, id);
  return id;
}

AttrsId Arena::intern_attrs(const Attrs& attrs) {
  if (attrs.empty()) return 0;
  const std::uint64_t hash = attrs.hash();
  const auto [first, last] = attrs_index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (attrs_[it->second] == attrs) return it->second;
  }
  const AttrsId id = next_id(attrs_);
  attrs_.push_back(attrs);
  attrs_index_.emplace(hash, id);
  return id;
}

NodeId Arena::representative(NodeId dim) const {
  auto it = same_dims_.find(dim);
  if (it == same_dims_.end()) return dim;
  NodeId root = it->second;
  for (auto next = same_dims_.find(root); next != same_dims_.end(); next = same_dims_.find(root)) root = next->second;
  it->second = root;
  return root;
}

bool Arena::same_shape(std::span<const NodeId> a, std::span<const NodeId> b) const {
  return std::ranges::equal(a, b, [this](NodeId x, NodeId y) { return same_dim(x, y); });
}

NodeId Arena::require_equal(NodeId a, NodeId b, std::string_view why) {
  a = representative(a);
  b = representative(b);
  if (a == b) return a;
  const auto x = known(a);
  const auto y = known(b);
  if (x && y) throw ShapeError(fmt::format("{}: {} is not {}", why, *x, *y));
  requirements_.push_back({.left = a, .right = b, .why = std::string(why), .origin = current_origin_});
  // A number is the best representative, then the size of an input, which is known before any computation, then the
  // node with the lowest id.
  const auto rank = [&](NodeId dim) { return known(dim) ? 0 : is_size_of_input(dim) ? 1 : 2; };
  const bool keep_a = std::pair(rank(a), a) < std::pair(rank(b), b);
  const NodeId kept = keep_a ? a : b;
  same_dims_[keep_a ? b : a] = kept;
  return kept;
}

void Arena::require_number(NodeId number, std::string_view why) {
  add_requirement({.left = number,
                   .right = number,
                   .why = std::string(why),
                   .origin = current_origin_,
                   .kind = Requirement::Kind::number});
}

void Arena::require_index(NodeId index, NodeId size, std::string_view why) {
  const auto i = known(index);
  const auto n = known(size);
  if (i && n) {
    if (*i < -*n || *i >= *n) throw IndexError(fmt::format("{}: index {} of an axis of size {}", why, *i, *n));
    return;
  }
  add_requirement({.left = index,
                   .right = size,
                   .why = std::string(why),
                   .origin = current_origin_,
                   .kind = Requirement::Kind::index});
}

void Arena::add_requirement(Requirement r) {
  if (r.kind == Requirement::Kind::equal) {
    const OriginId kept = current_origin_;
    current_origin_ = r.origin;
    require_equal(r.left, r.right, r.why);
    current_origin_ = kept;
  } else if (required_indices_.emplace(r.left, r.right).second) {  // rebuilt nodes add their requirements again
    requirements_.push_back(std::move(r));
  }
}

void Arena::renew_requirements(std::span<const NodeId> to) {
  std::set<std::tuple<NodeId, NodeId, Requirement::Kind>> seen;
  std::vector<Requirement> renewed;
  for (Requirement& r : requirements_) {
    for (NodeId* node : {&r.left, &r.right}) {
      if (*node < to.size()) *node = to[*node];
    }
    const bool holds = r.kind == Requirement::Kind::number ? known(r.left).value_or(-1) >= 0
                                                           : r.kind == Requirement::Kind::equal && r.left == r.right;
    if (!holds && seen.emplace(r.left, r.right, r.kind).second) renewed.push_back(std::move(r));
  }
  requirements_ = std::move(renewed);
}

OriginId Arena::add_origin(Origin origin) {
  const OriginId id = next_id(origins_);
  origins_.push_back(std::move(origin));
  return id;
}

std::string Arena::type_text(NodeId id) const { return expr::type_text(*this, type(id)); }

Type static_type(const Arena& arena, NodeId id) {
  Type result{arena.type(id).dtype, {}};
  for (const NodeId dim : arena.type(id).shape) result.shape.push_back(arena.known(dim).value_or(unknown_size));
  return result;
}

}  // namespace croton::expr
