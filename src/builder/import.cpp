#include "builder/import.hpp"

#include <croton/error.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/index.hpp"
#include "base/interrupt.hpp"
#include "builder/branches.hpp"
#include "builder/clone.hpp"
#include "builder/device_scope.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "expr/branch.hpp"

namespace croton::builder {
namespace {

using expr::NodeId;

class Importer {
 public:
  explicit Importer(const ImportRequest& request) : request_(request) {
    for (const auto& [from, to] : request.givens) givens_[from.node()] = to;
  }

  Imported run() {
    for (const Variable& input : request_.inputs) {
      if (!ids_.emplace(input.node(), add_leaf(input, expr::Role::argument)).second) {
        throw UnusedInputError(fmt::format("function ({}): {} is listed twice among the inputs",
                                           describe(request_.where), describe(input)));
      }
    }
    std::vector<Variable> roots = request_.outputs;
    for (const auto& [target, value] : request_.updates) {
      roots.push_back(value);
      roots.push_back(target);
    }
    const std::vector<Node*> all = order(roots);
    std::vector<const Node*> kept;  // results and replacements of givens are needed in both sides of branches
    kept.reserve(roots.size() + request_.givens.size());
    for (const Variable& root : roots) kept.push_back(resolve(root).node());
    for (const auto& [from, to] : request_.givens) kept.push_back(to.node());
    branches_ = find_branches(all, kept, [&](const Variable& v) { return resolve(v).node(); });
    for (Node* node : all) {
      base::check_interrupt();
      // Of mirrored variables only the copies that are read are imported, by `id_at`.
      if (!branches_.inside.contains(node) && !(node->shared && is_mirrored(*node))) import(node);
    }
    for (const Variable& output : request_.outputs) result_.graph.outputs.push_back(id_of(output));
    for (const auto& [target, value] : request_.updates) {
      const NodeId input = shared_id(target.node());
      const auto at = std::ranges::find(result_.graph.inputs, input, &expr::GraphInput::node);
      result_.graph.updates.push_back({base::to_size(at - result_.graph.inputs.begin()), id_of(value)});
    }
    const std::vector<bool> needed = expr::reachable(result_.graph);
    for (std::size_t i = 0; i < request_.inputs.size(); ++i) {
      // An input also counts as used if only one of its sizes is.
      result_.used.push_back(needed[ids_.at(request_.inputs[i].node())] || size_used(i, needed));
    }
    return std::move(result_);
  }

 private:
  using Sides = std::array<std::vector<Variable>, 2>;  // the results of a branch: then, else

  /// As topological_order, but with the variables of givens replaced.
  std::vector<Node*> order(const std::vector<Variable>& roots) {
    // Depth first with an explicit stack: a given may be newer than its users, so serial numbers are not a topological
    // order here.
    std::vector<Node*> done;
    std::unordered_map<Node*, bool> state;  // false: open, true: done
    std::vector<std::pair<Node*, std::size_t>> stack;
    const auto push = [&](const Variable& v) {
      Node* node = resolve(v).node();
      if (!ids_.contains(node) && state.emplace(node, false).second) stack.emplace_back(node, 0);
    };
    for (const Variable& root : roots) {
      push(root);
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next < node->inputs.size()) {
          const Variable& input = node->inputs[next++];
          Node* to = resolve(input).node();
          const auto at = state.find(to);
          if (at == state.end()) {
            push(input);             // may move the stack: `node` and `next` are not used after this
          } else if (!at->second) {  // open, so it is on the stack below this node
            throw ValueError(
                fmt::format("function ({}): givens: the replacement of {} depends on it; use another replacement",
                            describe(request_.where), describe(input)));
          }
          continue;
        }
        base::check_interrupt();
        state[node] = true;
        done.push_back(node);
        stack.pop_back();
      }
    }
    return done;
  }

  Variable resolve(const Variable& v) const {
    if (givens_.empty()) return v;
    const auto at = givens_.find(v.node());
    return at == givens_.end() ? v : at->second;
  }

  NodeId id_of(const Variable& v) { return id_at(v, 0); }

  /// The node that an op on that device reads for its input v.
  NodeId id_at(const Variable& v, std::uint16_t place) {
    const Variable given = resolve(v);
    if (!given.node()->shared) return ids_.at(given.node());
    return shared_id(place == base::unplaced ? given.node() : copy_at(given, place).node());
  }
  NodeId shared_id(Node* node) {
    import(node);
    return ids_.at(node);
  }

  NodeId add_leaf(const Variable& v, expr::Role role) {
    expr::Graph& graph = result_.graph;
    graph.arena.set_origin(graph.arena.add_origin({v.name(), v.where()}));
    return graph.add_input(v.name(), v.type(), role, v.node()->place);
  }

  void import(Node* node) {
    if (ids_.contains(node)) return;
    expr::Graph& graph = result_.graph;
    if (node->shared) {
      const Variable v = find_handle(node);
      ids_[node] = add_leaf(v, expr::Role::shared);
      graph.inputs.back().place = node->shared->home;
      graph.inputs.back().pinned = node->shared->pinned;
      result_.shared.push_back(v);
      return;
    }
    graph.arena.set_origin(graph.arena.add_origin({node->name, node->where}));
    if (node->op->is(expr::Core::constant)) {
      ids_[node] = graph.add_constant(node->value);
      return;
    }
    if (node->op->kind == expr::Kind::Leaf) {
      throw MissingInputError(
          fmt::format("function ({}): the outputs need {}, which is neither an input, nor given, nor shared",
                      describe(request_.where), describe(find_handle(node))));
    }
    if (node->op->kind == expr::Kind::Branch) {
      ids_[node] = import_branch(*node);
      return;
    }
    std::vector<NodeId> inputs;
    inputs.reserve(node->inputs.size());
    for (const Variable& input : node->inputs) inputs.push_back(id_at(input, node->place));
    const NodeId id = graph.arena.make(*node->op, inputs, node->attrs, node->place);
    graph.arena.require_sizes(id);
    ids_[node] = node->op->expand_at_import ? node->op->expand(graph.arena, id) : id;
    if (node->op->kind == expr::Kind::Map) require_stated_broadcasts(*node, inputs, id);
  }

  /// The nodes that only one side needs become its body; values that it reads from outside are captured.
  NodeId import_branch(const Node& node) {
    BranchParts& parts = branches_.of(node);
    if (!parts.then) {
      const std::size_t count = (node.inputs.size() - 1) / 2;
      Replacements placeholders;
      std::vector<Variable> captures, inside;
      const auto capture = [&](const Variable& v) {
        if (placeholders.contains(v.node()) || (resolve(v).is_constant() && v.rank() == 0)) return;
        captures.push_back(v);
        inside.push_back(placeholder(resolve(v)));
        placeholders[v.node()] = inside.back();
      };
      Sides sides;
      for (std::size_t i = 1; i < node.inputs.size(); ++i) {
        const Variable& result = node.inputs[i];
        sides[i <= count ? 0 : 1].push_back(result);
        if (!branches_.inside.contains(resolve(result).node())) capture(result);
      }
      const auto capture_outside = [&](const Variable& v) {
        if (!branches_.inside.contains(resolve(v).node())) capture(v);
      };
      for (const Node* own : parts.inside) {
        const auto replaced_by = branches_.replaced_by.find(own);
        if (replaced_by != branches_.replaced_by.end())
          capture_outside(replaced_by->second);
        else
          for (const Variable& input : own->inputs) capture_outside(input);
      }
      for (const Node* own : parts.inside) {
        const auto replaced_by = branches_.replaced_by.find(own);
        if (replaced_by != branches_.replaced_by.end())
          placeholders[own] = clone({replaced_by->second}, placeholders)[0];
      }
      for (std::vector<Variable>& side : sides) side = clone(side, placeholders);
      for (const Variable& v : captures) parts.captures.push_back(id_at(v, node.place));
      import_sides(parts, inside, sides);
      capture_unknown_sizes(node, parts, inside, sides);
    }
    return make_branch(node, parts, node.attrs.index("index"));
  }

  NodeId make_branch(const Node& node, const BranchParts& parts, std::size_t index) {
    std::vector<NodeId> inputs{id_of(node.inputs[0])};
    inputs.insert(inputs.end(), parts.captures.begin(), parts.captures.end());
    return result_.graph.arena.make(expr::op(expr::Core::branch), inputs,
                                    expr::branch_attrs(parts.then, parts.otherwise, index), node.place);
  }

  void import_sides(BranchParts& parts, const std::vector<Variable>& inputs, const Sides& sides) {
    const auto body = [&](const std::vector<Variable>& results) {
      const ImportRequest request{inputs, results, {}, request_.givens, request_.where};
      return std::make_shared<const expr::Body>(Importer(request).run().graph);
    };
    parts.then = body(sides[0]);
    parts.otherwise = body(sides[1]);
  }

  /// Memory for the results of a branch is allocated before it runs. So sizes that are known only after a side has run
  /// are results of a separate branch, and captured by this one; the nodes that these sizes need are computed twice.
  void capture_unknown_sizes(const Node& node, BranchParts& parts, std::vector<Variable>& inside, const Sides& sides) {
    // An impure callback may return other sizes the second time.
    const auto is_impure = [](const Node* own) {
      return own->op->kind == expr::Kind::Host && own->attrs.integer("application") != 0;
    };
    if (std::ranges::any_of(parts.inside, is_impure)) return;
    const PlaceScope place(node.place);
    BranchParts first = parts;
    Sides of_first, known = sides;
    const Variable none = constant(Array(std::int64_t{0}), "", node.where);
    for (const std::size_t side : {0U, 1U}) {
      const expr::Graph& graph = (side == 0 ? parts.then : parts.otherwise)->graph();
      const std::vector<bool> found = expr::computable_from_inputs(graph);
      for (std::size_t r = 0; r < graph.outputs.size(); ++r) {
        const std::vector<NodeId>& shape = graph.arena.type(graph.outputs[r]).shape;
        std::vector<std::optional<Operand>> stated(shape.size());
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
          if (found[graph.arena.representative(shape[axis])] || found[shape[axis]]) continue;
          of_first[side].push_back(sides[side][r].shape(base::to_int(axis), node.where));
          of_first[1 - side].push_back(none);
          inside.push_back(placeholder(of_first[side].back()));
          stated[axis] = Operand(inside.back(), node.where);
        }
        if (std::ranges::any_of(stated, [](const auto& size) { return size.has_value(); }))
          known[side][r] = specify_shape(Operand(sides[side][r], node.where), stated);
      }
    }
    if (of_first[0].empty()) return;
    import_sides(first, {inside.begin(), inside.begin() + std::ssize(first.captures)}, of_first);
    for (std::size_t k = 0; k < of_first[0].size(); ++k) parts.captures.push_back(make_branch(node, first, k));
    import_sides(parts, inside, known);
  }

  /// Only axes whose stated size is 1 broadcast, even if a given or arithmetic on sizes makes another size 1 here:
  /// gradients were built from the stated types.
  void require_stated_broadcasts(const Node& node, const std::vector<NodeId>& inputs, NodeId id) {
    expr::Arena& arena = result_.graph.arena;
    const std::size_t rank = arena.type(id).rank();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type& stated = node.inputs[i].type();
      for (std::size_t axis = 0; axis < stated.rank(); ++axis) {
        const NodeId size = arena.representative(arena.type(inputs[i]).shape[axis]);
        const std::size_t at = axis + rank - stated.rank();
        const NodeId whole = arena.representative(arena.type(id).shape[at]);
        if (stated.broadcasts(axis) || arena.known(size) != 1 || whole == size) continue;
        const std::string why =
            fmt::format("sizes along axis {} must be equal (only a stated size of 1 broadcasts)", at);
        const auto number = arena.known(whole);
        if (!number) {
          arena.require_equal(whole, size, why);
        } else if (*number != 1) {
          std::vector<std::string> operands;
          operands.reserve(node.inputs.size());
          for (const Variable& input : node.inputs) operands.push_back(describe(resolve(input)));
          throw ShapeError(fmt::format("{} ({}): {}: {}: 1 is not {}", node.op->name, describe(node.where),
                                       fmt::join(operands, ", "), why, *number));
        }
      }
    }
  }

  /// The variable of a shared node, by a handle of one of its users.
  Variable find_handle(Node* node) { return Variable(node->weak_from_this().lock()); }

  bool size_used(std::size_t input, const std::vector<bool>& needed) const {
    const expr::Arena& arena = result_.graph.arena;
    for (NodeId id = 0; id < arena.size(); ++id) {
      if (needed[id] && arena.op(id).is(expr::Core::size) && std::cmp_equal(arena.attrs(id).integer("input"), input))
        return true;
    }
    return false;
  }

  const ImportRequest& request_;
  Imported result_;
  std::unordered_map<const Node*, Variable> givens_;
  std::unordered_map<const Node*, NodeId> ids_;
  Branches branches_;
};

}  // namespace

Imported import(const ImportRequest& request) {
  const PlaceScope place = PlaceScope::anywhere();  // a device scope around function() does not affect its nodes
  return Importer(request).run();
}

}  // namespace croton::builder
