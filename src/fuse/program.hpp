// Program: what a graph is cut into. Kernels, products and other calls in an order that respects what each needs.
#pragma once

#include "expr/graph.hpp"
#include "kernel/kernel.hpp"

#include <memory>
#include <string>
#include <vector>

namespace croton::fuse {

using expr::NodeId;

/// One launch: a kernel with the graph's nodes for its operands and sizes.
struct KernelCall {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::vector<NodeId> reads;    // as kernel.operands, the read ones
  std::vector<NodeId> writes;   // the written ones
  std::vector<NodeId> extents;  // int64 scalars of the graph, found on the host
  std::vector<expr::Origin> origins;  // the user's lines that it computes
};

/// A matrix product result = beta * accumulate + alpha * left right, by a library or a generated kernel.
struct ProductCall {
  NodeId result;
  NodeId left, right;  // possibly views
  double alpha = 1, beta = 0;
  NodeId accumulate = expr::no_node;
  expr::Origin origin = {};
  std::shared_ptr<const KernelCall> small = {};  // the same by a generated kernel, for sizes below is_small
};

/// Whether a generated kernel beats a library on an m by k by n product: packing and dispatch cost a library more than so few
/// multiplications (measured: an 8 by 8 by 8 product).
inline bool is_small(std::int64_t m, std::int64_t k, std::int64_t n) { return m * n <= 256 && k <= 64 && m * n * k <= 4096; }

struct Call {
  std::shared_ptr<KernelCall> kernel;    // one of the two
  std::shared_ptr<ProductCall> product;
};

struct Program {
  expr::Graph graph;
  std::vector<Call> calls;
  std::size_t kernel_count() const;
  std::size_t product_count() const;
};

struct Options {
  bool join = true;  // false: every op its own kernel (optimizer=none)
  std::size_t max_body_nodes = 300;
};

Program fuse(expr::Graph graph, const Options& options = {});
std::string print(const Program& program);

/// For each node: whether the host can find its value from sizes and integer scalar arguments, without running anything.
std::vector<bool> host_values(const expr::Graph& graph);

}  // namespace croton::fuse
