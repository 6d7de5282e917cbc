// Analysis: the memory accesses of a kernel. Each load and store whose index is affine in the axes becomes an Access
// with a stride for each axis, which the host computes. The generated text then needs no index arithmetic but
// multiplications by strides. Other accesses keep their index expressions.
#pragma once

#include "kernel/contraction.hpp"
#include "kernel/kernel.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace croton::codegen {

using expr::NodeId;

/// An access pattern: all loads of an operand with the same index, or one store.
struct Access {
  std::size_t operand = 0;
  bool written = false;
  bool affine = false;
  std::vector<NodeId> index;  // body nodes, one for each dimension of the operand
  /// Of affine accesses: coefficient[axis][dimension], a host value or no_node for 0; offset[dimension].
  std::vector<std::vector<NodeId>> coefficient;
  std::vector<NodeId> offset;
  /// Of a read that is not affine: the axis whose index is that of the operand's last dimension, and on which no other
  /// index of the read depends. So it reads lines: rows of a table, by numbers. Only of pointwise kernels.
  std::optional<std::size_t> line_axis = {};
  /// Of an affine read by one load under a condition that depends on indices and sizes alone: the condition. Only of
  /// pointwise kernels.
  std::optional<NodeId> condition = {};
  /// Whether the access depends on the axis.
  bool moves(std::size_t axis) const;
};

/// A comparison of an index along an axis with a host value: axis + offset SIGN limit. Its value changes once along the
/// axis: at the index at which both sides are equal, or at the next index (`after_equal`).
struct ConditionSwitch {
  std::size_t axis;
  NodeId offset, limit;
  std::string_view sign;
  bool after_equal;
};

/// A kernel with its accesses. Owns a copy of the kernel: finding strides adds nodes to the body.
struct Analysis {
  kernel::Kernel kernel;
  std::vector<Access> accesses;                // loads in the order of their nodes, then stores in order
  std::map<NodeId, std::size_t> load_access;   // per load node: its access
  std::map<NodeId, ConditionSwitch> switches;  // per comparison node of that form
  std::vector<bool> explicit_axes;     // the body uses the index along the axis as a number: it cannot be merged
  std::vector<bool> explicit_extents;  // the body uses the size as a number
  std::vector<bool> host;              // per node: it depends only on the extents
  std::vector<bool> inner;             // per node: it depends on an inner axis
  /// Per node: its integer arithmetic wraps. That is so for all values that are stored, checked or reduced, and for
  /// indices that depend on loaded values. Other nodes are indices that depend only on axes and sizes, which cannot
  /// overflow.
  std::vector<bool> wraps;
  std::optional<kernel::Contraction> contraction;  // only of kernels of the family contract

  /// Whether the node is a load with an affine access, which needs no index nodes.
  bool is_affine_load(NodeId id) const;
  /// Whether a read of the access depends on a condition.
  bool is_conditional(std::size_t access) const;
  /// Whether the node depends on the index along the axis, also through loads.
  bool depends_on(NodeId id, std::size_t axis) const;
  /// Whether results of elements are stored, in addition to those of points.
  bool stores_elements() const;
  /// The operand of an access.
  const kernel::Operand& operand_of(std::size_t access) const { return kernel.operands[accesses[access].operand]; }
  /// The access of a store of the kernel.
  std::size_t store_access(std::size_t store) const { return accesses.size() - kernel.stores.size() + store; }
  /// The values of all host nodes for the given extents; 0 for other nodes.
  std::vector<std::int64_t> host_values(std::span<const std::int64_t> extents) const;
};

/// Analyses a kernel.
std::shared_ptr<const Analysis> analyse(const kernel::Kernel& kernel);

/// Whether nothing but the results of points depends on reductions, which do not depend on each other: so that the
/// reductions of a point may be cut into parts, which store results of elements that do not depend on them.
bool only_points_use_reductions(const Analysis& analysis);

}  // namespace croton::codegen
