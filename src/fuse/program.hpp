// Program: what a graph is cut into. Kernels, products, routines and other calls in an order that respects what each
// needs.
#pragma once

#include "expr/branch.hpp"
#include "expr/graph.hpp"
#include "expr/loop.hpp"
#include "fuse/host.hpp"
#include "kernel/kernel.hpp"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace croton::fuse {

using expr::NodeId;

/// One launch: a kernel with the graph's nodes for its operands and sizes.
struct KernelCall {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::vector<NodeId> reads;          // as kernel.operands, the read ones
  std::vector<NodeId> writes;         // the written ones
  std::vector<NodeId> extents;        // int64 scalars of the graph, found on the host
  std::vector<expr::Origin> origins;  // the user's lines that it computes
};

/// A matrix product result = beta * accumulate + alpha * left right, by a library or, where that does not pay, by a
/// generated kernel. The last two axes are the matrices'; one product for each index of the others, along all of which
/// an operand may have the stated size 1: then it is the same in each.
struct ProductCall {
  NodeId result;
  NodeId left, right;  // possibly views
  double alpha = 1, beta = 0;
  NodeId accumulate = expr::no_node;
  expr::Origin origin = {};
  bool left_transposed = false, right_transposed = false;         // how they lie in memory
  bool left_repeated = false, right_repeated = false;             // one matrix for all products of a batch
  std::vector<std::shared_ptr<const KernelCall>> generated = {};  // by GeneratedProduct
};

/// The kernels that may stand in for a product: sums side by side along the result's rows, along its columns, or each
/// sum along the two operands' fast axes.
enum class GeneratedProduct : std::uint8_t { along_rows, along_columns, sums };

/// Whether an m by k by n product has so few multiplications that the packing and dispatch of a library cost more
/// (measured: up to 8 by 8 by 8).
inline bool is_small_product(std::int64_t m, std::int64_t k, std::int64_t n) {
  return m * n <= 256 && k <= 64 && m * n * k <= 4096;
}
/// The kernel that beats a library on an m by k by n product, if one does: small ones, and skinny ones, where each
/// element of the larger operand is used only once or twice.
std::optional<GeneratedProduct> generated_product(const ProductCall& call, std::int64_t m, std::int64_t k,
                                                  std::int64_t n);

/// A copy to another device.
struct TransferCall {
  NodeId result;
  NodeId source;
};

/// A running sum, a sort, ...: a fixed sequence of launches (expr/routine.hpp).
struct RoutineCall {
  NodeId result;
  std::vector<NodeId> reads;
  expr::Origin origin;
};

/// One result of a callback of the user's, which runs on the host. Arguments that are numbers known from sizes alone
/// are no buffers.
struct HostCall {
  NodeId result;
  std::vector<NodeId> arguments;
  expr::Origin origin;
};
/// The arguments among the inputs of a Host node.
std::span<const NodeId> host_arguments(const expr::Arena& arena, NodeId node);
/// Whether a node is a scalar constant or a size: a number that has no buffer.
inline bool is_number(const expr::Arena& arena, NodeId node) {
  return arena.scalar_value(node).has_value() || arena.op(node).is(expr::Core::size);
}

struct Program;

/// A loop: all of its results that are wanted. Its body is a program of its own.
struct LoopCall {
  struct Result {
    NodeId node;
    expr::LoopResult what;
    std::size_t index;
  };
  expr::Loop loop;
  std::vector<Result> results;
  std::vector<NodeId> inputs;
  std::shared_ptr<const Program> body;
  expr::Origin origin;
};
/// Whether an input of a loop is a number that has no buffer.
bool is_loop_number(const LoopCall& call, const expr::Arena& arena, std::size_t input);
/// Whether a loop that reads the node as a sequence reads the node's input in its place: a slice along the first axis,
/// or, on the host, other axes in front.
bool is_sequence_view(const expr::Graph& graph, const HostValues& host, NodeId node);

/// A branch: the results that are wanted of either body.
struct BranchCall {
  struct Result {
    NodeId node;
    std::size_t index;
  };
  expr::Branch branch;
  std::vector<Result> results;
  std::vector<NodeId> inputs;
  std::shared_ptr<const Program> then, otherwise;
  expr::Origin origin;
};
bool is_branch_number(const Program& program, const BranchCall& call, std::size_t input);

/// What a call does: one of seven kinds, which whoever treats them differently visits.
using Work = std::variant<KernelCall, ProductCall, TransferCall, RoutineCall, HostCall, LoopCall, BranchCall>;

struct Call {
  Work work;
  expr::Place place = 0;              // the device that it runs on
  std::vector<NodeId> members;        // what it computes
  SegmentId segment = first_segment;  // what it waits for: sizes read back at the end of all segments before

  template <class Kind>
  bool is() const {
    return std::holds_alternative<Kind>(work);
  }
  /// Of that kind; std::bad_variant_access where it is another.
  template <class Kind>
  const Kind& as() const {
    return std::get<Kind>(work);
  }
  bool is_kernel(kernel::Family family) const;
  /// Whether it is a kernel that checks values, and so may fail.
  bool has_checks() const;
  /// The programs inside: of a loop one, of a branch two.
  std::vector<std::shared_ptr<const Program>> bodies() const;
};

/// A call of a program.
using CallId = base::Id<struct CallTag>;

struct Program {
  expr::Graph graph;
  HostValues host;
  base::IdVector<CallId, Call> calls;  // segment by segment
  std::size_t kernel_count() const;    // of bodies, too
  std::size_t product_count() const;
  std::size_t transfer_count() const;
  std::size_t routine_count() const;
};

struct Options {
  bool join = true;  // false: every op its own kernel (optimizer=none)
  std::size_t max_body_nodes = 300;
  bool special_values = true;  // as of rewrite::Options, where updates become products
  std::string nan_guard = {};  // what kernels may not store (guard.hpp); empty: nothing is checked
};

Program fuse(expr::Graph graph, const Options& options = {});
std::string print(const Program& program);

}  // namespace croton::fuse
