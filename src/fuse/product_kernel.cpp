#include "fuse/product_kernel.hpp"

#include <algorithm>
#include <utility>

#include "base/find.hpp"
#include "base/index.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Core;
using expr::Kind;

/// Builds the kernel of one product, and its call.
class ProductKernel {
 public:
  ProductKernel(const Arena& arena, const std::vector<Stored>& stored, const ProductCall& product)
      : arena_(arena), stored_(stored), product_(product), rank_(arena.type(product.result).rank()) {
    body_.set_origin(body_.add_origin(product.origin));
    index_type_ = body_.intern_type({DType::int64, {}});
  }

  KernelCall make(GeneratedProduct form) {
    add_axes(form);
    kernel_.stages.push_back({&expr::op(Core::sum), body_.make(Core::mul, {load(product_.left, row_, inner_),
                                                                           load(product_.right, inner_, column_)})});
    store(result());
    kernel_.family = form == GeneratedProduct::sums ? kernel::Family::row : kernel::Family::column;
    kernel_.extents = call_.extents.size();
    kernel::verify(kernel_);
    call_.writes.push_back(product_.result);
    call_.origins.push_back(product_.origin);
    call_.kernel = std::make_shared<const kernel::Kernel>(std::move(kernel_));
    return std::move(call_);
  }

 private:
  NodeId extent(NodeId dim) {
    dim = arena_.representative(dim);
    if (const auto number = arena_.known(dim)) return body_.integer(*number);
    const std::size_t k = base::index_of(call_.extents, dim);
    if (k == call_.extents.size()) call_.extents.push_back(dim);
    return body_.make_typed(Core::extent, {}, {{"k", k}}, index_type_);
  }

  NodeId add_axis(NodeId dim, bool inner) {
    const std::size_t k = kernel_.axes.size();
    kernel_.axes.push_back({extent(dim), inner});
    return body_.make_typed(Core::axis, {}, {{"k", k}}, index_type_);
  }

  /// Adds the batch axes, then the two axes of the result matrix in the order of the form, then the axis that
  /// is summed over.
  void add_axes(GeneratedProduct form) {
    const auto& shape = arena_.type(product_.result).shape;
    for (std::size_t axis = 0; axis + 2 < rank_; ++axis) at_.push_back(add_axis(shape[axis], false));
    if (form == GeneratedProduct::along_columns) {
      column_ = add_axis(shape[rank_ - 1], false);
      row_ = add_axis(shape[rank_ - 2], false);
    } else {
      row_ = add_axis(shape[rank_ - 2], false);
      column_ = add_axis(shape[rank_ - 1], false);
    }
    at_.insert(at_.end(), {row_, column_});
    inner_ = add_axis(arena_.type(product_.left).shape[rank_ - 1], true);
  }

  /// The index in the input of a reshape, for an index in its result. Axes that both have at the front and at the back
  /// keep their index; between them the index is flattened and split again.
  std::vector<NodeId> unravelled(NodeId reshape, const std::vector<NodeId>& index) {
    const std::vector<NodeId>&from = arena_.type(arena_.input(reshape, 0)).shape, &to = arena_.type(reshape).shape;
    std::size_t front = 0, back = 0;
    const std::size_t most = std::min(from.size(), to.size());
    while (front < most && arena_.same_dim(from[front], to[front])) ++front;
    while (back < most - front && arena_.same_dim(from.end()[-1 - back], to.end()[-1 - back])) ++back;
    NodeId flat = body_.integer(0);
    for (std::size_t axis = front; axis + back < to.size(); ++axis)
      flat = body_.size_arithmetic(Core::add, body_.size_arithmetic(Core::mul, flat, extent(to[axis])), index[axis]);
    std::vector<NodeId> below(from.size());
    for (std::size_t axis = 0; axis < front; ++axis) below[axis] = index[axis];
    for (std::size_t axis = 1; axis <= back; ++axis) below.end()[-axis] = index.end()[-axis];
    for (std::size_t axis = from.size() - back; axis-- > front;) {
      const NodeId size = extent(from[axis]);
      below[axis] = axis == front ? flat : body_.size_arithmetic(Core::mod, flat, size);
      flat = body_.size_arithmetic(Core::floor_divide, flat, size);
    }
    return below;
  }

  /// The index in the input of a dimshuffle, for an index in its result.
  std::vector<NodeId> unshuffled(NodeId dimshuffle, const std::vector<NodeId>& index) const {
    std::vector<NodeId> below(arena_.type(arena_.input(dimshuffle, 0)).rank());
    const expr::Ints& pattern = arena_.attrs(dimshuffle).ints("pattern");
    for (std::size_t axis = 0; axis < pattern.size(); ++axis) {
      if (pattern[axis] >= 0) base::nth(below, pattern[axis]) = index[axis];
    }
    return below;
  }

  /// The index of the operand in the kernel, which is added at the first use.
  std::size_t operand_of(NodeId read, std::size_t rank) {
    const std::size_t operand = base::index_of(call_.reads, read);
    if (operand == call_.reads.size()) {
      call_.reads.push_back(read);
      kernel_.operands.push_back({arena_.type(read).dtype, rank, false});
    }
    return operand;
  }

  /// Loads an element of a matrix, through views that are not stored.
  NodeId load(NodeId matrix, NodeId row, NodeId column) {
    std::vector<NodeId> index = at_;
    for (std::size_t axis = 0; axis + 2 < rank_; ++axis) {
      if (arena_.known(arena_.type(matrix).shape[axis]) == 1) index[axis] = body_.integer(0);
    }
    index[rank_ - 2] = row;
    index[rank_ - 1] = column;
    for (; arena_.op(matrix).kind == Kind::View && stored_[matrix] == Stored::no; matrix = arena_.input(matrix, 0))
      index = arena_.op(matrix).is(expr::Core::reshape) ? unravelled(matrix, index) : unshuffled(matrix, index);
    const std::size_t operand = operand_of(matrix, index.size());
    return body_.make_typed(Core::load, index, {{"operand", operand}},
                            body_.intern_type({arena_.type(matrix).dtype, {}}));
  }

  /// alpha times the sum, plus beta times the accumulated matrix.
  NodeId result() {
    const DType dtype = arena_.type(product_.result).dtype;
    const auto scaled = [&](NodeId x, double factor) {
      return factor == 1 ? x : body_.make(Core::mul, {x, body_.scalar(expr::Scalar::of_double(factor, dtype))});
    };
    NodeId value = body_.make_typed(Core::result, {}, {{"stage", std::int64_t{0}}}, body_.intern_type({dtype, {}}));
    value = scaled(value, product_.alpha);
    if (product_.accumulate != expr::no_node)
      value = body_.make(Core::add, {scaled(load(product_.accumulate, row_, column_), product_.beta), value});
    return value;
  }

  void store(NodeId value) {
    kernel_.stores.push_back({kernel_.operands.size(), at_, value});
    kernel_.operands.push_back({arena_.type(product_.result).dtype, rank_, true});
  }

  const Arena& arena_;
  const std::vector<Stored>& stored_;
  const ProductCall& product_;
  std::size_t rank_;
  KernelCall call_;
  kernel::Kernel kernel_;
  Arena& body_ = kernel_.body;
  expr::TypeId index_type_ = 0;
  std::vector<NodeId> at_;  // the index in the result
  NodeId row_ = expr::no_node, column_ = expr::no_node, inner_ = expr::no_node;
};

}  // namespace

KernelCall product_kernel(const expr::Graph& graph, const std::vector<Stored>& stored, const ProductCall& product,
                          GeneratedProduct form) {
  return ProductKernel(graph.arena, stored, product).make(form);
}

}  // namespace croton::fuse
