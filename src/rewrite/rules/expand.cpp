// Expand ops in simpler ones, once the stability rules have seen them.
#include "rewrite/rewriter.hpp"

namespace croton::rewrite {
namespace {

expr::NodeId expand(Rewriter& r, expr::NodeId root) { return r.arena().op(root).expand(r.arena(), root); }

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
