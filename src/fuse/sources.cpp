#include "fuse/sources.hpp"

#include <string_view>
#include <utility>

#include "base/index.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;

/// The axes of an operand of a map. Operands are aligned at their last dimensions.
Axes broadcast(const Arena& arena, NodeId operand, const Axes& axes) {
  const auto& shape = arena.type(operand).shape;
  Axes result;
  result.reserve(shape.size());
  const std::size_t missing = axes.size() >= shape.size() ? axes.size() - shape.size() : 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    result.push_back(arena.known(shape[d]) == 1 ? repeated : axes[missing + d]);
  }
  return result;
}

}  // namespace

Space space_of(const Arena& arena, const std::vector<NodeId>& shape) {
  Space space;
  for (const NodeId dim : shape) {
    const bool one = arena.known(dim) == 1;
    space.axes.push_back(one ? repeated : space.sizes.size());
    if (!one) space.sizes.push_back(arena.representative(dim));
  }
  return space;
}

void SourceCollector::begin() {
  ++collection_;
  sources_.clear();
  arrays_.clear();
}

void SourceCollector::collect(NodeId node, Axes axes, bool aligned) {
  // Values that the host knows from the start are computed again even if they are also stored as results.
  const bool is_leaf = arena_.op(node).kind == Kind::Leaf;
  const bool recomputed = storage_.is_virtual(node) ||
                          (storage_.host.known_at_once(node) && !is_leaf && storage_.stored[node] != Stored::depth);
  if (recomputed && arena_.type(node).rank() == 0) {
    // A scalar is the same element on every path, and there may be very many paths, so it is visited once.
    if (seen_[node] == collection_) return;
    seen_[node] = collection_;
    return collect_inputs(node, {}, true);
  }
  if (!recomputed) {
    if (arena_.type(node).rank() > 0) arrays_.push_back(node);
    if (!is_leaf) sources_.push_back({node, aligned, std::move(axes)});
    return;
  }
  collect_inputs(node, axes, aligned);
}

void SourceCollector::collect_inputs(NodeId node, const Axes& axes, bool aligned) {
  const expr::Op& op = arena_.op(node);
  const bool broadcasts =
      op.kind == Kind::Map || op.kind == Kind::Check || op.is(expr::Core::alloc, expr::Core::specify_shape);
  for (const NodeId input : arena_.inputs(node)) {
    if (op.is(expr::Core::dimshuffle)) {
      const expr::Ints& pattern = arena_.attrs(node).ints("pattern");
      Axes inner(arena_.type(input).rank(), repeated);
      for (std::size_t d = 0; d < pattern.size(); ++d) {
        if (pattern[d] >= 0) base::nth(inner, pattern[d]) = axes[d];
      }
      collect(input, std::move(inner), aligned);
    } else if (broadcasts) {
      collect(input, broadcast(arena_, input, axes), aligned);
    } else {
      collect(input, Axes(arena_.type(input).rank(), repeated), false);
    }
  }
}

}  // namespace croton::fuse
