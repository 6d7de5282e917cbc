// Program: the result of fusion. A graph as a list of kernels, products, routines and other calls,
// in topological order.
#pragma once

#include "expr/branch.hpp"
#include "expr/graph.hpp"
#include "expr/loop.hpp"
#include "fuse/decision.hpp"
#include "fuse/host.hpp"
#include "kernel/kernel.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace croton::fuse {

using expr::NodeId;

/// One launch: a kernel, and the nodes of the graph that are its operands and sizes.
struct KernelCall {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::vector<NodeId> reads;          // the read operands, as in kernel.operands
  std::vector<NodeId> writes;         // the written operands
  std::vector<NodeId> extents;        // int64 scalars of the graph, computed on the host
  std::vector<expr::Origin> origins;  // the user's lines that it comes from
};

/// A matrix product result = beta * accumulate + alpha * left right, by a library, or by a generated kernel if that is
/// faster. The last two axes are those of the matrices; there is one product for each index of the other axes. An
/// operand whose other axes all have the stated size 1 is the same matrix in each product.
struct ProductCall {
  NodeId result;
  NodeId left, right;  // possibly views
  double alpha = 1, beta = 0;
  NodeId accumulate = expr::no_node;
  expr::Origin origin = {};
  bool left_transposed = false, right_transposed = false;         // in memory
  bool left_broadcast = false, right_broadcast = false;           // one matrix for all products of the batch
  std::vector<std::shared_ptr<const KernelCall>> generated = {};  // indexed by GeneratedProduct
};

/// The kernels that can replace the library's routine: they compute neighbouring sums along the result's rows, or along
/// its columns, or they compute each sum along the fast axes of the two operands.
enum class GeneratedProduct : std::uint8_t { along_rows, along_columns, sums };

/// Whether an m by k by n product is so small that the packing and dispatch of a library cost more than its
/// multiplications (measured: up to 8 by 8 by 8).
inline bool is_small_product(std::int64_t m, std::int64_t k, std::int64_t n) {
  return m * n <= 256 && k <= 64 && m * n * k <= 4096;
}
/// The kernel that is faster than a library for an m by k by n product, if there is one: for small products, and for
/// narrow ones that use each element of the larger operand only once or twice.
std::optional<GeneratedProduct> generated_product(const ProductCall& call, std::int64_t m, std::int64_t k,
                                                  std::int64_t n);

/// A copy to another device.
struct TransferCall {
  NodeId result;
  NodeId source;
};

/// A routine, such as a running sum or a sort: a fixed sequence of launches (expr/routine.hpp).
struct RoutineCall {
  NodeId result;
  std::vector<NodeId> reads;
  expr::Origin origin;
};

/// One result of the user's callback, which runs on the host. Arguments that are constants or sizes have no buffers.
struct HostCall {
  NodeId result;
  std::vector<NodeId> arguments;
  expr::Origin origin;
};
/// The inputs of a Host node that are arguments of the callback.
std::span<const NodeId> host_arguments(const expr::Arena& arena, NodeId node);
/// Whether a node is a number without a buffer: a scalar constant or a size.
inline bool is_number(const expr::Arena& arena, NodeId node) {
  return arena.scalar_value(node).has_value() || arena.op(node).is(expr::Core::size);
}

struct Program;

/// A loop with those of its results that are needed. Its body is a separate program.
struct LoopCall {
  struct Result {
    NodeId node;
    expr::LoopResult kind;
    std::size_t index;
  };
  expr::Loop loop;
  std::vector<Result> results;
  std::vector<NodeId> inputs;
  std::shared_ptr<const Program> body;
  expr::Origin origin;
};
/// Whether an input of a loop is a number without a buffer.
bool is_loop_number(const LoopCall& call, const expr::Arena& arena, std::size_t input);
/// Whether a loop with this node as a sequence reads the node's input instead. That is so for a slice along the first
/// axis and, on the host, for a permutation of the axes.
bool is_sequence_view(const expr::Graph& graph, const HostValues& host, NodeId node);

/// A branch with those of its results that are needed.
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
/// Whether an input of a branch is a number without a buffer.
bool is_branch_number(const Program& program, const BranchCall& call, std::size_t input);

/// The work of a call: one of seven kinds, for std::visit.
using Work = std::variant<KernelCall, ProductCall, TransferCall, RoutineCall, HostCall, LoopCall, BranchCall>;
/// The kind: "kernel", "product", "transfer", "routine", "host", "loop" or "branch".
std::string_view name_of(const Work& work);

struct Call {
  Work work;
  expr::Place place = base::host_place;  // the device that runs it
  std::vector<NodeId> members;           // the nodes that it computes
  std::vector<Separation> apart = {};    // why a kernel is apart from those whose values its first node reads
  SegmentId segment = first_segment;     // it needs the sizes read back at the ends of all segments before

  template <class Kind>
  bool is() const {
    return std::holds_alternative<Kind>(work);
  }
  /// The work as that kind; std::bad_variant_access if it is of another kind.
  template <class Kind>
  const Kind& as() const {
    return std::get<Kind>(work);
  }
  bool is_kernel(kernel::Family family) const;
  /// Whether it is a kernel that checks values and can therefore fail.
  bool has_checks() const;
  /// The programs inside: one for a loop, two for a branch.
  std::vector<std::shared_ptr<const Program>> bodies() const;
};

/// The index of a call in its program.
using CallId = base::Id<struct CallTag>;

struct Program {
  expr::Graph graph;
  HostValues host;
  base::IdVector<CallId, Call> calls;  // segment by segment
  std::vector<Stored> stored;          // per node: why it has a buffer
  std::size_t kernel_count() const;    // these counts include bodies
  std::size_t product_count() const;
  std::size_t transfer_count() const;
  std::size_t routine_count() const;
};

struct Options {
  bool join = true;  // false: one kernel for each op (optimizer=none)
  std::size_t max_body_nodes = 300;
  bool special_values = true;  // as in rewrite::Options; used when updates become products
  std::string nan_guard = {};  // the values that kernels may not store (guard.hpp); empty: no checks
};

/// Cuts the graph into calls: regions of nodes become kernels, all other work one call each.
Program fuse(expr::Graph graph, const Options& options = {});
/// The calls as text.
std::string print(const Program& program);

}  // namespace croton::fuse
