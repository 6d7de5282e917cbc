#include "fuse/product.hpp"

#include <algorithm>

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Core;
using expr::Kind;

/// Whether what is stored of a matrix lies the other way round in memory; views that are not stored are read through.
bool lies_transposed(const Arena& arena, const std::vector<bool>& stored, NodeId matrix) {
  bool transposed = false;
  for (; arena.op(matrix).kind == Kind::View && !stored[matrix]; matrix = arena.input(matrix, 0))
    transposed ^= matrix_view(arena, matrix).value();
  return transposed;
}

/// Whether all axes of the batch have the stated size 1, and those of the result do not.
bool is_repeated(const Arena& arena, NodeId operand, NodeId result) {
  const auto ones = [&](NodeId node) {
    const auto& shape = arena.type(node).shape;
    return std::all_of(shape.begin(), shape.end() - 2, [&](NodeId dim) { return arena.known(dim) == 1; });
  };
  return ones(operand) && !ones(result);
}

/// The product as a kernel: result[..., i, j] = sum over k of left[..., i, k] right[..., k, j].
KernelCall product_kernel(const expr::Graph& graph, const std::vector<bool>& stored, const ProductCall& product,
                          GeneratedProduct form) {
  const Arena& arena = graph.arena;
  KernelCall call;
  kernel::Kernel k;
  Arena& body = k.body;
  body.set_origin(body.add_origin(product.origin));
  const expr::TypeId index_type = body.intern_type({DType::int64, {}});
  const auto extent = [&](NodeId dim) {
    dim = arena.representative(dim);
    if (const auto number = arena.known(dim)) return body.integer(*number);
    const auto at = std::ranges::find(call.extents, dim);
    const auto number = static_cast<std::int64_t>(at - call.extents.begin());
    if (at == call.extents.end()) call.extents.push_back(dim);
    return body.make_typed(Core::extent, {}, {{"k", number}}, index_type);
  };
  const auto add_axis = [&](NodeId dim, bool inner) {
    k.axes.push_back({extent(dim), inner});
    return body.make_typed(Core::axis, {}, {{"k", static_cast<std::int64_t>(k.axes.size()) - 1}}, index_type);
  };
  const auto& shape = arena.type(product.result).shape;
  const std::size_t rank = shape.size();
  std::vector<NodeId> at;  // of the result
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) at.push_back(add_axis(shape[axis], false));
  NodeId i = expr::no_node, j = expr::no_node;
  if (form == GeneratedProduct::along_columns) {
    j = add_axis(shape[rank - 1], false);
    i = add_axis(shape[rank - 2], false);
  } else {
    i = add_axis(shape[rank - 2], false);
    j = add_axis(shape[rank - 1], false);
  }
  at.insert(at.end(), {i, j});
  const NodeId inner = add_axis(arena.type(product.left).shape[rank - 1], true);
  // The index, below a reshape, of an element above it. Axes that both have are taken from the front and the back; what
  // is between is counted out.
  const auto unravelled = [&](NodeId reshape, const std::vector<NodeId>& index) {
    const std::vector<NodeId>&from = arena.type(arena.input(reshape, 0)).shape, &to = arena.type(reshape).shape;
    std::size_t front = 0, back = 0;
    const std::size_t most = std::min(from.size(), to.size());
    while (front < most && arena.same_dim(from[front], to[front])) ++front;
    while (back < most - front && arena.same_dim(from.end()[-1 - back], to.end()[-1 - back])) ++back;
    NodeId flat = body.integer(0);
    for (std::size_t axis = front; axis + back < to.size(); ++axis)
      flat = body.size_arithmetic(Core::add, body.size_arithmetic(Core::mul, flat, extent(to[axis])), index[axis]);
    std::vector<NodeId> below(from.size());
    for (std::size_t axis = 0; axis < front; ++axis) below[axis] = index[axis];
    for (std::size_t axis = 1; axis <= back; ++axis) below.end()[-axis] = index.end()[-axis];
    for (std::size_t axis = from.size() - back; axis-- > front;) {
      const NodeId size = extent(from[axis]);
      below[axis] = axis == front ? flat : body.size_arithmetic(Core::mod, flat, size);
      flat = body.size_arithmetic(Core::floor_divide, flat, size);
    }
    return below;
  };
  const auto load = [&](NodeId matrix, NodeId row, NodeId column) {
    std::vector<NodeId> index = at;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      if (arena.known(arena.type(matrix).shape[axis]) == 1) index[axis] = body.integer(0);
    }
    index[rank - 2] = row;
    index[rank - 1] = column;
    for (; arena.op(matrix).kind == Kind::View && !stored[matrix]; matrix = arena.input(matrix, 0)) {
      std::vector<NodeId> within(arena.type(arena.input(matrix, 0)).rank());
      if (arena.op(matrix).is(Core::reshape)) {
        index = unravelled(matrix, index);
        continue;
      }
      const expr::Ints& pattern = arena.attrs(matrix).ints("pattern");
      for (std::size_t axis = 0; axis < pattern.size(); ++axis) {
        if (pattern[axis] >= 0) within[static_cast<std::size_t>(pattern[axis])] = index[axis];
      }
      index = std::move(within);
    }
    const auto known = std::ranges::find(call.reads, matrix);
    const auto operand = static_cast<std::int64_t>(known - call.reads.begin());
    if (known == call.reads.end()) {
      call.reads.push_back(matrix);
      k.operands.push_back({arena.type(matrix).dtype, static_cast<int>(index.size()), false});
    }
    return body.make_typed(Core::load, index, {{"operand", operand}}, body.intern_type({arena.type(matrix).dtype, {}}));
  };
  const DType dtype = arena.type(product.result).dtype;
  k.stages.push_back(
      {&expr::op(Core::sum), body.make(Core::mul, {load(product.left, i, inner), load(product.right, inner, j)})});
  NodeId value = body.make_typed(Core::result, {}, {{"stage", std::int64_t{0}}}, body.intern_type({dtype, {}}));
  const auto scaled = [&](NodeId x, double factor) {
    return factor == 1 ? x : body.make(Core::mul, {x, body.scalar(expr::Scalar::of_double(factor, dtype))});
  };
  value = scaled(value, product.alpha);
  if (product.accumulate != expr::no_node)
    value = body.make(Core::add, {scaled(load(product.accumulate, i, j), product.beta), value});
  k.stores.push_back({static_cast<int>(k.operands.size()), at, value});
  k.operands.push_back({dtype, static_cast<int>(rank), true});
  k.family = form == GeneratedProduct::sums ? kernel::Family::row : kernel::Family::column;
  k.extents = static_cast<int>(call.extents.size());
  kernel::verify(k);
  call.writes.push_back(product.result);
  call.origins.push_back(product.origin);
  call.kernel = std::make_shared<const kernel::Kernel>(std::move(k));
  return call;
}

/// Whether the node is the rows of several matrices one after another, as they lie: (t, r, c) as (t r, c).
bool is_rows_together(const Arena& arena, NodeId node) {
  if (!arena.op(node).is(Core::reshape)) return false;
  const NodeId x = arena.input(node, 0);
  const std::vector<NodeId>&from = arena.type(x).shape, &to = arena.type(node).shape;
  return from.size() == 3 && to.size() == 2 && arena.same_dim(from[2], to[1]) && !matrix_view(arena, x);
}

}  // namespace

bool is_other_sizes(const Arena& arena, NodeId node) {
  if (!arena.op(node).is(Core::reshape)) return false;
  const NodeId x = arena.input(node, 0);
  const auto has_elements_in_order = [&] {
    const Kind kind = arena.op(x).kind;
    return kind != Kind::Leaf && kind != Kind::Generate && !arena.op(x).is(Core::reshape) && !matrix_view(arena, x);
  };
  return arena.type(node).rank() >= 2 && has_elements_in_order();
}

std::optional<bool> matrix_view(const Arena& arena, NodeId node) {
  if (is_rows_together(arena, node) || is_other_sizes(arena, node)) return false;
  if (!arena.op(node).is(Core::dimshuffle)) return std::nullopt;
  const expr::Ints& pattern = arena.attrs(node).ints("pattern");
  const std::size_t rank = arena.type(arena.input(node, 0)).rank();
  if (rank < 2 || pattern.size() < rank) return std::nullopt;
  const std::size_t added = pattern.size() - rank;
  expr::Ints axes(pattern.size(), -1);
  for (std::size_t axis = 0; axis < rank; ++axis) axes[added + axis] = static_cast<std::int64_t>(axis);
  if (pattern == axes) return false;
  std::swap(axes[pattern.size() - 2], axes[pattern.size() - 1]);
  return pattern == axes ? std::optional(true) : std::nullopt;
}

ProductCall product_call(const expr::Graph& graph, const std::vector<bool>& stored, NodeId id) {
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
  call.left_transposed = lies_transposed(arena, stored, call.left);
  call.right_transposed = lies_transposed(arena, stored, call.right);
  call.left_repeated = is_repeated(arena, call.left, id);
  call.right_repeated = is_repeated(arena, call.right, id);
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
  // Each walks the larger operand along its fast axis, or does not pay.
  const bool both_along_k = (!call.left_transposed || m == 1) && (call.right_transposed || n == 1);
  if (both_along_k) return GeneratedProduct::sums;
  if (n <= few && call.left_transposed) return GeneratedProduct::along_columns;
  if (m <= few && !call.right_transposed) return GeneratedProduct::along_rows;
  return std::nullopt;
}

}  // namespace croton::fuse
