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

/// Conditions that depend only on scalars, such as `n > 0`, are computed outside of all branches: that is cheap and
/// cannot fail, and the sizes of the branch's results, which depend on the condition, are known there.
void keep_unconditional(const Node* condition, const std::function<Node*(const Variable&)>& resolve,
                        std::unordered_set<const Node*>& outside) {
  constexpr std::size_t max_nodes = 16;
  std::vector<const Node*> chain{condition};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i]->op->kind == expr::Kind::Leaf) continue;
    if (chain[i]->op->kind != expr::Kind::Map || chain[i]->type.rank() != 0 || i >= max_nodes) return;
    for (const Variable& input : chain[i]->inputs) chain.push_back(resolve(input));
  }
  outside.insert(chain.begin(), chain.end());
}

bool is_branch(const Node& node) { return node.op->kind == expr::Kind::Branch; }

/// The number of results of each side; they are inputs of an ifelse node after the condition.
std::size_t results_of_side(const Node& branch) { return (branch.inputs.size() - 1) / 2; }

/// Whether that input of an ifelse node is read by this side.
bool is_of_side(const Node& branch, std::size_t input, bool then) {
  return input != 0 && (input <= results_of_side(branch)) == then;
}

class BranchFinder {
 public:
  BranchFinder(const std::vector<Node*>& all, const std::vector<const Node*>& kept,
               const std::function<Node*(const Variable&)>& resolve)
      : all_(all), resolve_(resolve), always_(kept.begin(), kept.end()) {
    for (const Node* node : all_) {
      for (std::size_t i = 0; i < node->inputs.size(); ++i) uses_[resolve_(node->inputs[i])].push_back({node, i});
    }
    for (const Node* node : all_) {
      if (is_branch(*node)) keep_unconditional(resolve_(node->inputs[0]), resolve_, always_);
    }
    for (const Node* node : all_) {
      if (is_branch(*node)) applications_[application_of(*node)].push_back(node);
    }
  }

  Branches run() {
    // From the last node to the first, so that a branch inside another one is skipped.
    for (std::size_t at = all_.size(); at-- > 0;) {
      const Node& node = *all_[at];
      if (!is_branch(node) || found_.inside.contains(&node)) continue;
      const auto [parts, fresh] = found_.parts.try_emplace(application_of(node));
      if (!fresh) continue;
      std::unordered_set<const Node*> reached;
      for (const bool then : {true, false}) reach_side(node, then, reached);
      for (const Node* each : all_) {
        if (reached.contains(each)) parts->second.inside.push_back(each);
      }
    }
    return std::move(found_);
  }

 private:
  using Nodes = std::unordered_set<const Node*>;
  struct Use {
    const Node* user;
    std::size_t input;
  };

  /// All results of one branch are computed together, either inside or outside of another branch: if one of them is
  /// outside, the others are added to `excluded`. Returns whether any were added.
  bool exclude_split(const Nodes& own, Nodes& excluded) const {
    const std::size_t before = excluded.size();
    for (const auto& [inputs, results] : applications_) {
      const auto is_own = [&](const Node* result) { return own.contains(result); };
      if (!std::ranges::all_of(results, is_own))
        std::ranges::copy_if(results, std::inserter(excluded, excluded.end()), is_own);
    }
    return excluded.size() > before;
  }

  /// The nodes that are used only by this side of the condition, or by each other.
  Nodes used_under(const Node* condition, bool then) const {
    Nodes own, excluded;
    const auto is_own_use = [&](const Use& use) {
      if (own.contains(use.user)) return true;
      return is_branch(*use.user) && is_of_side(*use.user, use.input, then) &&
             resolve_(use.user->inputs[0]) == condition;
    };
    do {
      own.clear();
      for (std::size_t k = all_.size(); k-- > 0;) {
        const Node* candidate = all_[k];
        if (candidate->op->kind == expr::Kind::Leaf || candidate == condition || always_.contains(candidate) ||
            excluded.contains(candidate))
          continue;
        const auto used = uses_.find(candidate);
        if (used != uses_.end() && std::ranges::all_of(used->second, is_own_use)) own.insert(candidate);
      }
    } while (exclude_split(own, excluded));
    return own;
  }

  /// The nodes that are needed only under a condition, by all applications with that condition: a gradient shares many
  /// nodes with its function.
  const Nodes& needed_under(const Node* condition, bool then) {
    const auto [at, fresh] = needed_under_.try_emplace({condition, then});
    Nodes& own = at->second;
    if (!fresh) return own;
    own = used_under(condition, then);
    found_.inside.insert(own.begin(), own.end());
    for (const Node* each : own) {
      if (!is_branch(*each) || resolve_(each->inputs[0]) != condition) continue;
      const std::size_t index = each->attrs.index("index");
      found_.replaced_by.emplace(each, each->inputs[1 + (then ? 0 : results_of_side(*each)) + index]);
    }
    return own;
  }

  /// Adds the nodes that one side of an ifelse node needs, among those that are needed only under its condition.
  void reach_side(const Node& node, bool then, Nodes& reached) {
    const Nodes& own = needed_under(resolve_(node.inputs[0]), then);
    std::vector<const Node*> pending;
    const auto reach = [&](const Variable& v) {
      const Node* to = resolve_(v);
      if (own.contains(to) && reached.insert(to).second) pending.push_back(to);
    };
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (is_of_side(node, i, then)) reach(node.inputs[i]);
    }
    while (!pending.empty()) {
      const Node* next = pending.back();
      pending.pop_back();
      const auto replaced_by = found_.replaced_by.find(next);
      if (replaced_by != found_.replaced_by.end()) {
        reach(replaced_by->second);
        continue;
      }
      for (const Variable& input : next->inputs) reach(input);
    }
  }

  const std::vector<Node*>& all_;
  const std::function<Node*(const Variable&)>& resolve_;
  std::unordered_map<const Node*, std::vector<Use>> uses_;
  Nodes always_;  // needed unconditionally
  std::map<std::vector<const Node*>, std::vector<const Node*>> applications_;
  std::map<std::pair<const Node*, bool>, Nodes> needed_under_;
  Branches found_;
};

}  // namespace

Branches find_branches(const std::vector<Node*>& all, const std::vector<const Node*>& kept,
                       const std::function<Node*(const Variable&)>& resolve) {
  if (std::ranges::none_of(all, [](const Node* node) { return is_branch(*node); })) return {};
  return BranchFinder(all, kept, resolve).run();
}

}  // namespace croton::builder
