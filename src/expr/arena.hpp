// Arena: immutable, hash-consed nodes. Tensor expressions, scalar bodies of kernels, index maps and symbolic sizes are
// all nodes of this one kind. Ids are topological (inputs come before users), so a pass is a loop over ids with a
// vector of results, equal work is one node by construction, and a cycle is impossible. No function recurses over the
// depth of a graph.
#pragma once

#include "base/device_name.hpp"
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
/// The number of a device (base/device_name.hpp): base::unplaced, base::host_place or another one.
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

/// The place in the user's program that a node comes from.
struct Origin {
  std::string name;  // name of the variable, or empty
  Where where;
};

/// A condition on sizes that must hold when a plan is bound. equal: left == right. index: left is an index of an axis
/// of size right, -right <= left < right. number: left (and right, which is the same node) is a size, 0 or more. None
/// of these numbers may have wrapped around in its arithmetic.
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
  NodeId make(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs = {}, Place place = base::unplaced);
  NodeId make(Core core, std::initializer_list<NodeId> inputs, const Attrs& attrs = {}, Place place = base::unplaced) {
    return make(expr::op(core), {inputs.begin(), inputs.size()}, attrs, place);
  }
  NodeId make(std::string_view op_name, std::initializer_list<NodeId> inputs, const Attrs& attrs = {},
              Place place = base::unplaced);
  /// The type by the op's type rule, which may add sizes and requirements.
  TensorType infer(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs);
  /// A node whose type is given: leaves, and nodes that are parsed or copied.
  NodeId make_typed(const Op& op, std::span<const NodeId> inputs, const Attrs& attrs, TypeId type,
                    Place place = base::unplaced);
  NodeId make_typed(Core core, std::span<const NodeId> inputs, const Attrs& attrs, TypeId type,
                    Place place = base::unplaced) {
    return make_typed(expr::op(core), inputs, attrs, type, place);
  }

  /// A 0-d constant.
  NodeId scalar(const Scalar& value);
  NodeId integer(std::int64_t value) { return scalar(Scalar::of_int(value, DType::int64)); }
  /// The value of a `const` node, else nothing.
  std::optional<Scalar> scalar_value(NodeId id) const;
  /// `x` cast to `to`; `x` itself if that is its dtype.
  NodeId cast(NodeId x, DType to) { return type(x).dtype == to ? x : make(Core::cast, {x}, {{"dtype", to}}); }
  /// The value of a size, if it is a constant.
  std::optional<std::int64_t> known(NodeId dim) const;
  /// Integer arithmetic on sizes, with constants folded and neutral elements removed.
  NodeId size_arithmetic(const Op& op, NodeId a, NodeId b);
  NodeId size_arithmetic(Core core, NodeId a, NodeId b) { return size_arithmetic(expr::op(core), a, b); }
  NodeId size_arithmetic(std::string_view op_name, NodeId a, NodeId b) {
    return size_arithmetic(expr::op(op_name), a, b);
  }

  TypeId intern_type(const TensorType& type);
  AttrsId intern_attrs(const Attrs& attrs);

  /// The number of nodes, which is the id after the last one.
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

  /// The node that represents all sizes that requirements make equal to this one.
  NodeId representative(NodeId dim) const;
  bool same_dim(NodeId a, NodeId b) const { return representative(a) == representative(b); }
  bool same_shape(std::span<const NodeId> a, std::span<const NodeId> b) const;
  /// Adds the requirement that two sizes are equal and returns their representative. ShapeError if they are
  /// different numbers.
  NodeId require_equal(NodeId a, NodeId b, std::string_view why);
  /// Adds the requirement -size <= index < size; IndexError if both are constants and it does not hold.
  void require_index(NodeId index, NodeId size, std::string_view why);
  /// Adds the requirement that the number is 0 or more and has not wrapped around.
  void require_number(NodeId number, std::string_view why);
  /// Requires that the sizes of a node are valid sizes and that an index can count its elements, even if rules remove
  /// the node later. ShapeError if constants violate it; otherwise adds requirements.
  void require_sizes(NodeId id);
  bool is_size_of_input(NodeId id) const { return op(id).is(Core::size); }
  /// Adds a requirement of another arena (its nodes are already translated).
  void add_requirement(Requirement requirement);
  const std::vector<Requirement>& requirements() const { return requirements_; }
  /// Replaces each node of requirements by `to[node]`, if there is one; removes duplicates and requirements that
  /// always hold.
  void renew_requirements(std::span<const NodeId> to);

  /// Sets the origin of new nodes until the next call.
  void set_origin(OriginId origin) { current_origin_ = origin; }
  OriginId current_origin() const { return current_origin_; }
  OriginId add_origin(Origin origin);
  const Origin& origin_of(OriginId id) const { return origins_[id]; }
  OriginId origin_id(NodeId id) const { return nodes_[id].origin; }

  /// A type such as "f32[n, 10]": sizes as numbers, or as the text of their nodes.
  std::string type_text(NodeId id) const;

 private:
  NodeId find_or_add(const Op& op, std::span<const NodeId> inputs, AttrsId attrs, Place place, TypeId type,
                     bool infer_type);
  void grow_table();

  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_;
  std::vector<NodeId> table_;          // open addressing; no_node marks a free slot
  std::vector<std::uint64_t> hashes_;  // of each node
  std::deque<TensorType> types_;       // deques: references stay valid while rules add elements
  std::unordered_multimap<std::uint64_t, TypeId> type_index_;
  std::deque<Attrs> attrs_;
  std::unordered_multimap<std::uint64_t, AttrsId> attrs_index_;
  std::vector<Origin> origins_;
  OriginId current_origin_ = 0;
  mutable std::unordered_map<NodeId, NodeId> same_dims_;  // from a size to its representative, in one or more steps
  std::vector<Requirement> requirements_;
  std::set<std::pair<NodeId, NodeId>> required_indices_;
};

/// The dtype and static sizes of a node; sizes that are not constants are unknown_size.
Type static_type(const Arena& arena, NodeId id);

}  // namespace croton::expr
