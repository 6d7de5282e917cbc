// Lowers Expand ops to simpler ones, after the stability rules.
#include "rewrite/rewriter.hpp"

#include <unordered_map>
#include <vector>

namespace croton::rewrite {
namespace {

using expr::NodeId;

/// Gives the nodes of an op's expansion the place of the op. Sizes stay unplaced: the host computes them.
class ExpansionPlacer {
 public:
  ExpansionPlacer(expr::Arena& arena, NodeId root) : arena_(arena), place_(arena.node(root).place) {
    for (const NodeId input : arena.inputs(root)) to_[input] = input;
  }
  NodeId operator()(NodeId id) {
    const expr::Op& op = arena_.op(id);
    const expr::TensorType& type = arena_.type(id);
    const bool is_size = type.rank() == 0 && type.dtype == DType::int64 && op.kind == expr::Kind::Map;
    if (op.kind == expr::Kind::Leaf || arena_.node(id).place != base::unplaced || is_size) return id;
    if (const auto found = to_.find(id); found != to_.end()) return found->second;
    std::vector<NodeId> inputs(arena_.inputs(id).begin(), arena_.inputs(id).end());
    for (NodeId& input : inputs) input = (*this)(input);
    const NodeId moved = arena_.make_typed(op, inputs, expr::Attrs(arena_.attrs(id)), arena_.node(id).type, place_);
    return to_[id] = moved;
  }

 private:
  expr::Arena& arena_;
  expr::Place place_;
  std::unordered_map<NodeId, NodeId> to_;
};

NodeId expand(Rewriter& r, NodeId root) {
  const NodeId result = r.arena().op(root).expand(r.arena(), root);
  return r.arena().node(root).place == base::unplaced ? result : ExpansionPlacer(r.arena(), root)(result);
}

}  // namespace

std::span<const Rule> expand_rules() {
  static const std::string names = [] {
    std::string list;
    for (const expr::Op* op : expr::all_ops()) {
      if (op->kind == expr::Kind::Expand) list += (list.empty() ? "" : " | ") + std::string(op->name);
    }
    return list;
  }();
  static const Rule rules[] = {{"expand", names, "", "kernels know maps and reductions only", false, expand}};
  return rules;
}

}  // namespace croton::rewrite
