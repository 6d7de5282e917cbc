#include "builder/branches.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace croton::builder {

std::vector<const Node*> application_of(const Node& node) {
  std::vector<const Node*> inputs;
  for (const Variable& input : node.inputs) inputs.push_back(input.node());
  return inputs;
}

namespace {

/// Conditions that are made of scalars alone, such as `n > 0`, are computed outside of all branches: that is cheap and
/// cannot fail, and the sizes of what the branch gives, which depend on it, are known there.
void keep_outside(const Node* condition, const std::function<Node*(const Variable&)>& resolve,
                  std::unordered_set<const Node*>& outside) {
  constexpr std::size_t most = 16;
  std::vector<const Node*> chain{condition};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i]->op->kind == expr::Kind::Leaf) continue;
    if (chain[i]->op->kind != expr::Kind::Map || chain[i]->type.rank() != 0 || i >= most) return;
    for (const Variable& input : chain[i]->inputs) chain.push_back(resolve(input));
  }
  outside.insert(chain.begin(), chain.end());
}

}  // namespace

Branches find_branches(const std::vector<Node*>& all, const std::vector<const Node*>& kept,
                       const std::function<Node*(const Variable&)>& resolve) {
  Branches found;
  if (std::ranges::none_of(all, [](const Node* node) { return node->op->kind == expr::Kind::Branch; })) return found;
  struct Use {
    const Node* user;
    std::size_t input;
  };
  std::unordered_map<const Node*, std::vector<Use>> uses;
  for (const Node* node : all) {
    for (std::size_t i = 0; i < node->inputs.size(); ++i) uses[resolve(node->inputs[i])].push_back({node, i});
  }
  std::unordered_set<const Node*> always(kept.begin(), kept.end());
  for (const Node* node : all) {
    if (node->op->kind == expr::Kind::Branch) keep_outside(resolve(node->inputs[0]), resolve, always);
  }
  const auto count_of = [](const Node& node) { return (node.inputs.size() - 1) / 2; };
  std::map<std::vector<const Node*>, std::vector<const Node*>> applications;
  for (const Node* node : all) {
    if (node->op->kind == expr::Kind::Branch) applications[application_of(*node)].push_back(node);
  }
  // Results of one branch are computed together, inside of another one or outside.
  const auto leave_together = [&](const std::unordered_set<const Node*>& own,
                                  std::unordered_set<const Node*>& elsewhere) {
    const std::size_t before = elsewhere.size();
    for (const auto& [inputs, results] : applications) {
      const auto is_own = [&](const Node* result) { return own.contains(result); };
      if (!std::ranges::all_of(results, is_own))
        std::ranges::copy_if(results, std::inserter(elsewhere, elsewhere.end()), is_own);
    }
    return elsewhere.size() > before;
  };
  // What is needed under a condition alone, by whichever application has that: a gradient shares much with what it is
  // of.
  std::map<std::pair<const Node*, bool>, std::unordered_set<const Node*>> needed_under;
  const auto find_needed = [&](const Node* condition, bool then) {
    const auto [at, fresh] = needed_under.try_emplace({condition, then});
    if (!fresh) return;
    std::unordered_set<const Node*>& own = at->second;
    std::unordered_set<const Node*> elsewhere;  // results of an application of which another is needed outside
    const auto is_own_use = [&](const Use& use) {
      if (own.contains(use.user)) return true;
      return use.user->op->kind == expr::Kind::Branch && use.input != 0 && resolve(use.user->inputs[0]) == condition &&
             (use.input <= count_of(*use.user)) == then;
    };
    do {
      own.clear();
      for (std::size_t k = all.size(); k-- > 0;) {
        const Node* candidate = all[k];
        if (candidate->op->kind == expr::Kind::Leaf || candidate == condition || always.contains(candidate) ||
            elsewhere.contains(candidate))
          continue;
        const auto used = uses.find(candidate);
        if (used != uses.end() && std::ranges::all_of(used->second, is_own_use)) own.insert(candidate);
      }
    } while (leave_together(own, elsewhere));
    found.inside.insert(own.begin(), own.end());
    for (const Node* each : own) {
      if (each->op->kind != expr::Kind::Branch || resolve(each->inputs[0]) != condition) continue;
      const auto index = static_cast<std::size_t>(each->attrs.integer("index"));
      found.taken.emplace(each, each->inputs[1 + (then ? 0 : count_of(*each)) + index]);
    }
  };
  // The last ones first: a branch that lies in another is that one's business.
  for (std::size_t at = all.size(); at-- > 0;) {
    const Node& node = *all[at];
    if (node.op->kind != expr::Kind::Branch || found.inside.contains(&node)) continue;
    const auto [parts, fresh] = found.parts.try_emplace(application_of(node));
    if (!fresh) continue;
    const Node* condition = resolve(node.inputs[0]);
    std::unordered_set<const Node*> reached;
    for (const bool then : {true, false}) {
      find_needed(condition, then);
      const std::unordered_set<const Node*>& own = needed_under.at({condition, then});
      std::vector<const Node*> pending;
      const auto reach = [&](const Variable& v) {
        const Node* to = resolve(v);
        if (own.contains(to) && reached.insert(to).second) pending.push_back(to);
      };
      for (std::size_t i = 1; i < node.inputs.size(); ++i) {
        if ((i <= count_of(node)) == then) reach(node.inputs[i]);
      }
      while (!pending.empty()) {
        const Node* next = pending.back();
        pending.pop_back();
        const auto taken = found.taken.find(next);
        if (taken != found.taken.end()) {
          reach(taken->second);
          continue;
        }
        for (const Variable& input : next->inputs) reach(input);
      }
    }
    for (const Node* each : all) {
      if (reached.contains(each)) parts->second.inside.push_back(each);
    }
  }
  return found;
}

}  // namespace croton::builder
