// Arena: immutable, hash-consed nodes. Tensor expressions, scalar bodies of kernels, index maps and symbolic sizes are
// all nodes of this one kind. Ids are topological (inputs come before users), so a pass is a loop over ids with a
// vector as its memory, equal work is one node by construction, and a cycle cannot be written. Nothing here recurses
// over depth.
#pragma once

#include "expr/op.hpp"

#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace croton::expr {

using TypeId = std::uint32_t;
using AttrsId = std::uint32_t;
using OriginId = std::uint32_t;
/// A device scope of the user; 0 is free.
using Place = std::uint16_t;

/// dtype and sizes; the sizes are int64 scalar nodes of the same arena.
struct TensorType {
  DType dtype = DType::float32;
  std::vector<NodeId> shape;
  std::size_t rank() const { return shape.size(); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

struct Node {
  const Op* op;
  std::uint32_t first_input;
  std::uint32_t input_count;
  TypeId type;
  AttrsId attrs;
  OriginId origin;
  Place place;
};

/// Where in the user's program a node comes from.
struct Origin {
  std::string name;  // of the variable, or empty
  Where where;
};

/// Something that must hold of sizes when a plan is bound. equal: left == right. index: left is an index of an axis of
/// size right, -right <= left < right. number: left (and right, which is the same) is a size, 0 or more. The numbers of
/// all of them are what their arithmetic says, without wrapping.
struct Requirement {
  enum class Kind : std::uint8_t { equal, index, number };
  NodeId left;
  NodeId right;
  std::string why;
  OriginId origin;
  Kind kind = Kind::equal;
};

class Arena {
 public:
  Arena();
  /// The node of `op` over `inputs`: an equal one if there is one, else a new one whose type the op's rule infers.
  NodeId make(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs = {}, Place place = 0);
  NodeId make(Core core, std::initializer_list<NodeId> inputs, const Attrs& attrs = {}, Place place = 0) {
    return make(expr::op(core), {inputs.begin(), inputs.size()}, attrs, place);
  }
  NodeId make(std::string_view op_name, std::initializer_list<NodeId> inputs, const Attrs& attrs = {}, Place place = 0);
  /// What the op's rule says of the type; it may add sizes and requirements.
  TensorType infer(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs);
  /// A node whose type is given: leaves, and nodes that are parsed or copied.
  NodeId make_typed(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs, TypeId type, Place place = 0);
  NodeId make_typed(Core core, std::span<const NodeId> inputs, const Attrs& attrs, TypeId type, Place place = 0) {
    return make_typed(expr::op(core), inputs, attrs, type, place);
  }

  /// A 0-d constant.
  NodeId scalar(const Scalar& value);
  NodeId integer(std::int64_t value) { return scalar(Scalar::of_int(value, DType::int64)); }
  /// The value of a `const` node, else nothing.
  std::optional<Scalar> scalar_value(NodeId id) const;
  /// `x` as `to`: itself where that is its dtype.
  NodeId cast(NodeId x, DType to) { return type(x).dtype == to ? x : make(Core::cast, {x}, {{"dtype", to}}); }
  /// A size as a number, if it is one.
  std::optional<std::int64_t> known(NodeId dim) const;
  /// Integer arithmetic on sizes, with constants folded and neutral elements dropped.
  NodeId size_arithmetic(const Op& op, NodeId a, NodeId b);
  NodeId size_arithmetic(Core core, NodeId a, NodeId b) { return size_arithmetic(expr::op(core), a, b); }
  NodeId size_arithmetic(std::string_view op_name, NodeId a, NodeId b) {
    return size_arithmetic(expr::op(op_name), a, b);
  }

  TypeId intern_type(const TensorType& type);
  AttrsId intern_attrs(const Attrs& attrs);

  /// How many nodes there are: the id after the last one.
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const Op& op(NodeId id) const { return *nodes_[id].op; }
  const TensorType& type(NodeId id) const { return types_[nodes_[id].type]; }
  const Attrs& attrs(NodeId id) const { return attrs_[nodes_[id].attrs]; }
  std::span<const NodeId> inputs(NodeId id) const {
    return {inputs_.data() + nodes_[id].first_input, nodes_[id].input_count};
  }
  NodeId input(NodeId id, std::size_t i) const { return inputs_[nodes_[id].first_input + i]; }
  const Origin& origin(NodeId id) const { return origins_[nodes_[id].origin]; }

  /// Equality of sizes as far as requirements tell.
  NodeId representative(NodeId dim) const;
  bool same_dim(NodeId a, NodeId b) const { return representative(a) == representative(b); }
  bool same_shape(std::span<const NodeId> a, std::span<const NodeId> b) const;
  /// Records that two sizes must be equal and returns the one to use. ShapeError if they are different numbers.
  NodeId require_equal(NodeId a, NodeId b, std::string_view why);
  /// -size <= index < size; IndexError if both are numbers and it does not hold.
  void require_index(NodeId index, NodeId size, std::string_view why);
  /// The number must be 0 or more, and what its arithmetic says, without wrapping.
  void require_number(NodeId number, std::string_view why);
  /// The sizes of a node must be sizes, and an index must be able to count its elements, also where rules will need
  /// none of them. ShapeError where numbers tell; else a requirement.
  void require_sizes(NodeId id);
  bool is_size_of_input(NodeId id) const { return op(id).is(Core::size); }
  /// Takes over a requirement of another arena (its nodes are already translated).
  void add_requirement(Requirement requirement);
  const std::vector<Requirement>& requirements() const { return requirements_; }
  /// Requirements speak of `to[node]` in place of each node that has one; what is said twice is said once, and what
  /// holds always not at all.
  void renew_requirements(std::span<const NodeId> to);

  /// New nodes are said to come from here until the next call.
  void set_origin(OriginId origin) { current_origin_ = origin; }
  OriginId current_origin() const { return current_origin_; }
  OriginId add_origin(Origin origin);
  const Origin& origin_of(OriginId id) const { return origins_[id]; }
  OriginId origin_id(NodeId id) const { return nodes_[id].origin; }

  /// "f32[n, 10]": sizes by number, or by the text of their nodes.
  std::string type_text(NodeId id) const;

 private:
  NodeId find_or_add(const Op& op, std::span<const NodeId> inputs, AttrsId attrs, Place place, TypeId type,
                     bool infer_type);
  void grow_table();

  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_;
  std::vector<NodeId> table_;          // open addressing; no_node marks a free slot
  std::vector<std::uint64_t> hashes_;  // of each node
  std::deque<TensorType> types_;       // deques: references stay valid while rules add more
  std::unordered_multimap<std::uint64_t, TypeId> type_index_;
  std::deque<Attrs> attrs_;
  std::unordered_multimap<std::uint64_t, AttrsId> attrs_index_;
  std::vector<Origin> origins_;
  OriginId current_origin_ = 0;
  mutable std::unordered_map<NodeId, NodeId> same_dims_;  // towards the representative
  std::vector<Requirement> requirements_;
  std::set<std::pair<NodeId, NodeId>> required_indices_;
};

/// The dtype and static sizes of a node, sizes that are not numbers being unknown.
Type static_type(const Arena& arena, NodeId id);

}  // namespace croton::expr
