// How a kernel touches memory. Each load and store whose index is affine in the axes becomes an Access with a stride
// per axis, found on the host; the generated text then holds no index arithmetic but i * stride. Other accesses keep
// their index expressions.
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

/// One address pattern: all loads (or one store) of an operand with one index.
struct Access {
  std::size_t operand = 0;
  bool written = false;
  bool affine = false;
  std::vector<NodeId> index;  // body nodes, one a dimension of the operand
  /// Affine: coefficient[axis][dimension], a host value or no_node for 0; offset[dimension].
  std::vector<std::vector<NodeId>> coefficient;
  std::vector<NodeId> offset;
  /// Whether the access moves along the axis at all.
  bool moves(std::size_t axis) const;
};

/// A comparison of a place of an axis with a host value: axis + offset SIGN limit. It is the same on either side of one
/// place, at which both are equal or (`behind`) one further.
struct Turn {
  std::size_t axis;
  NodeId offset, limit;
  std::string_view sign;
  bool behind;
};

/// A kernel with its accesses. Owns a copy of the kernel: finding strides adds nodes to the body.
struct Analysis {
  kernel::Kernel kernel;
  std::vector<Access> accesses;               // loads in order of their nodes, then stores in order
  std::map<NodeId, std::size_t> load_access;  // per load node
  std::map<NodeId, Turn> turns;               // per comparison that is one
  std::vector<bool> explicit_axes;            // the body uses the axis as a number: it may not be merged
  std::vector<bool> explicit_extents;         // the body uses the size as a number
  std::vector<bool> host;                     // per node: found from the extents alone
  std::vector<bool> inner;                    // per node: depends on an inner axis
  /// Per node: integers wrap. So do all that are stored, checked or reduced, and indices that depend on loaded ones.
  /// What remains are indices made of axes and sizes alone, which are known to fit.
  std::vector<bool> wraps;
  std::optional<kernel::Contraction> contraction;  // of the family contract

  /// Whether the node is a load of an affine access, which needs no index nodes.
  bool is_affine_load(NodeId id) const;
  /// The operand of an access.
  const kernel::Operand& operand_of(std::size_t access) const { return kernel.operands[accesses[access].operand]; }
  /// The access of a store of the kernel.
  std::size_t store_access(std::size_t store) const { return accesses.size() - kernel.stores.size() + store; }
  /// All host nodes for the given extents; others are 0.
  std::vector<std::int64_t> host_values(std::span<const std::int64_t> extents) const;
};

std::shared_ptr<const Analysis> analyse(const kernel::Kernel& kernel);

}  // namespace croton::codegen
