#include "fuse/product.hpp"

#include <algorithm>

#include "expr/axes.hpp"
#include "fuse/product_kernel.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Core;
using expr::Kind;

/// Whether the stored matrix is the transpose of this one; views that are not stored are read through.
bool is_stored_transposed(const Arena& arena, const std::vector<Stored>& stored, NodeId matrix) {
  bool transposed = false;
  for (; arena.op(matrix).kind == Kind::View && stored[matrix] == Stored::no; matrix = arena.input(matrix, 0))
    transposed ^= matrix_view(arena, matrix).value();
  return transposed;
}

/// Whether all batch axes of the operand have the stated size 1, but not those of the result.
bool is_broadcast(const Arena& arena, NodeId operand, NodeId result) {
  const auto ones = [&](NodeId node) {
    const auto& shape = arena.type(node).shape;
    return std::all_of(shape.begin(), shape.end() - 2, [&](NodeId dim) { return arena.known(dim) == 1; });
  };
  return ones(operand) && !ones(result);
}

/// Whether the node has the rows of several matrices in their order in memory, as one matrix: (t, r, c) as (t r, c).
bool merges_rows(const Arena& arena, NodeId node) {
  if (!arena.op(node).is(Core::reshape)) return false;
  const NodeId x = arena.input(node, 0);
  const std::vector<NodeId>&from = arena.type(x).shape, &to = arena.type(node).shape;
  return from.size() == 3 && to.size() == 2 && arena.same_dim(from[2], to[1]) && !matrix_view(arena, x);
}

}  // namespace

bool is_contiguous_reshape(const Arena& arena, NodeId node) {
  if (!arena.op(node).is(Core::reshape)) return false;
  const NodeId x = arena.input(node, 0);
  const auto has_elements_in_order = [&] {
    const Kind kind = arena.op(x).kind;
    return kind != Kind::Leaf && kind != Kind::Generate && !arena.op(x).is(Core::reshape) && !matrix_view(arena, x);
  };
  return arena.type(node).rank() >= 2 && has_elements_in_order();
}

std::optional<bool> matrix_view(const Arena& arena, NodeId node) {
  if (merges_rows(arena, node) || is_contiguous_reshape(arena, node)) return false;
  if (!arena.op(node).is(Core::dimshuffle)) return std::nullopt;
  const expr::Ints& pattern = arena.attrs(node).ints("pattern");
  const std::size_t rank = arena.type(arena.input(node, 0)).rank();
  if (rank < 2 || pattern.size() < rank) return std::nullopt;
  expr::Ints axes = expr::all_axes(rank);
  axes.insert(axes.begin(), pattern.size() - rank, -1);
  if (pattern == axes) return false;
  std::swap(axes[pattern.size() - 2], axes[pattern.size() - 1]);
  return pattern == axes ? std::optional(true) : std::nullopt;
}

ProductCall product_call(const expr::Graph& graph, const std::vector<Stored>& stored, NodeId id) {
  const Arena& arena = graph.arena;
  ProductCall call{.result = id, .left = 0, .right = 0, .origin = arena.origin(id)};
  if (arena.op(id).is(Core::gemm)) {
    call.accumulate = arena.input(id, 0);
    call.left = arena.input(id, 1);
    call.right = arena.input(id, 2);
    call.alpha = arena.attrs(id).real("alpha");
    call.beta = arena.attrs(id).real("beta");
  } else {
    call.left = arena.input(id, 0);
    call.right = arena.input(id, 1);
  }
  call.left_transposed = is_stored_transposed(arena, stored, call.left);
  call.right_transposed = is_stored_transposed(arena, stored, call.right);
  call.left_broadcast = is_broadcast(arena, call.left, id);
  call.right_broadcast = is_broadcast(arena, call.right, id);
  for (const auto form : {GeneratedProduct::along_rows, GeneratedProduct::along_columns, GeneratedProduct::sums}) {
    call.generated.push_back(std::make_shared<const KernelCall>(product_kernel(graph, stored, call, form)));
  }
  return call;
}

std::optional<GeneratedProduct> generated_product(const ProductCall& call, std::int64_t m, std::int64_t k,
                                                  std::int64_t n) {
  constexpr std::int64_t few = 2;
  if (is_small_product(m, k, n)) return GeneratedProduct::along_rows;
  if (m > few && n > few) return std::nullopt;
  // A kernel only pays if it reads the larger operand along its fast axis.
  const bool both_along_k = (!call.left_transposed || m == 1) && (call.right_transposed || n == 1);
  if (both_along_k) return GeneratedProduct::sums;
  if (n <= few && call.left_transposed) return GeneratedProduct::along_columns;
  if (m <= few && !call.right_transposed) return GeneratedProduct::along_rows;
  return std::nullopt;
}

}  // namespace croton::fuse
