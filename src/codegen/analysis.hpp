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
  int operand = 0;
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
  std::int64_t axis;
  NodeId offset, limit;
  std::string_view sign;
  bool behind;
};

/// A kernel with its accesses. Owns a copy of the kernel: finding strides adds nodes to the body.
struct Analysis {
  kernel::Kernel kernel;
  std::vector<Access> accesses;        // loads in order of their nodes, then stores in order
  std::map<NodeId, int> load_access;   // per load node
  std::map<NodeId, Turn> turns;        // per comparison that is one
  std::vector<bool> explicit_axes;     // the body uses the axis as a number: it may not be merged
  std::vector<bool> explicit_extents;  // the body uses the size as a number
  std::vector<bool> host;              // per node: found from the extents alone
  std::vector<bool> inner;             // per node: depends on an inner axis
  /// Per node: integers wrap. So do all that are stored, checked or reduced, and indices that depend on loaded ones.
  /// What remains are indices made of axes and sizes alone, which are known to fit.
  std::vector<bool> wraps;
  std::optional<kernel::Contraction> contraction;  // of the family contract

  /// All host nodes for the given extents; others are 0.
  std::vector<std::int64_t> host_values(std::span<const std::int64_t> extents) const;
};

std::shared_ptr<const Analysis> analyse(const kernel::Kernel& kernel);

}  // namespace croton::codegen
