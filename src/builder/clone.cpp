#include "builder/clone.hpp"

#include <croton/error.hpp>
#include <croton/op.hpp>

#include <fmt/format.h>

#include "builder/device_scope.hpp"

namespace croton {
namespace builder {

Variable placeholder(const Variable& x) { return variable(x.type(), x.name(), x.where()); }

std::vector<Variable> clone(const std::vector<Variable>& outputs, const Replacements& replace) {
  Replacements copies = replace;
  for (Node* node : topological_order(outputs)) {
    if (copies.contains(node)) continue;
    bool changed = false;
    std::vector<Variable> inputs;
    for (const Variable& input : node->inputs) {
      const auto at = copies.find(input.node());
      inputs.push_back(at == copies.end() ? input : at->second);
      changed = changed || at != copies.end();
    }
    if (!changed) continue;
    const PlaceScope place(node->place);
    Variable copy = apply(*node->op, inputs, node->attrs, node->where);
    copy.named(node->name);
    copy.node()->own_op = node->own_op;
    copies[node] = copy;
  }
  std::vector<Variable> result;
  for (const Variable& output : outputs) {
    const auto at = copies.find(output.node());
    result.push_back(at == copies.end() ? output : at->second);
  }
  return result;
}

}  // namespace builder

std::vector<Variable> clone(const std::vector<Variable>& outputs,
                            const std::vector<std::pair<Variable, Variable>>& replace, Where where) {
  builder::Replacements all;
  for (const auto& [from, to] : replace) {
    if (!from.defined() || !to.defined())
      throw TypeError(fmt::format("clone ({}): an empty Variable was given", builder::describe(where)));
    if (from.dtype() != to.dtype() || from.rank() != to.rank()) {
      throw TypeError(fmt::format("clone ({}): {} cannot replace {}: dtype and number of dimensions must agree",
                                  builder::describe(where), builder::describe(to), builder::describe(from)));
    }
    if (!all.emplace(from.node(), to).second)
      throw ValueError(
          fmt::format("clone ({}): {} is replaced twice", builder::describe(where), builder::describe(from)));
  }
  return builder::clone(outputs, all);
}

Variable clone(const Variable& output, const std::vector<std::pair<Variable, Variable>>& replace, Where where) {
  return clone(std::vector<Variable>{output}, replace, where)[0];
}

}  // namespace croton
