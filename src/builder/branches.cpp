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

bool is_branch(const Node& node) { return node.op->kind == expr::Kind::Branch; }

/// Of each side's results among the inputs of an ifelse node, which follow the condition.
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
      if (is_branch(*node)) keep_outside(resolve_(node->inputs[0]), resolve_, always_);
    }
    for (const Node* node : all_) {
      if (is_branch(*node)) applications_[application_of(*node)].push_back(node);
    }
  }

  Branches run() {
    // The last ones first: a branch that lies in another is that one's business.
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

  /// Results of one branch are computed together, inside of another one or outside: those of which another is outside
  /// go `elsewhere`. Whether there are any new ones.
  bool leave_together(const Nodes& own, Nodes& elsewhere) const {
    const std::size_t before = elsewhere.size();
    for (const auto& [inputs, results] : applications_) {
      const auto is_own = [&](const Node* result) { return own.contains(result); };
      if (!std::ranges::all_of(results, is_own))
        std::ranges::copy_if(results, std::inserter(elsewhere, elsewhere.end()), is_own);
    }
    return elsewhere.size() > before;
  }

  /// The nodes all of whose uses are by this side of the condition, or by each other.
  Nodes used_under(const Node* condition, bool then) const {
    Nodes own, elsewhere;
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
            elsewhere.contains(candidate))
          continue;
        const auto used = uses_.find(candidate);
        if (used != uses_.end() && std::ranges::all_of(used->second, is_own_use)) own.insert(candidate);
      }
    } while (leave_together(own, elsewhere));
    return own;
  }

  /// What is needed under a condition alone, by whichever application has that: a gradient shares much with what it is
  /// of.
  const Nodes& needed_under(const Node* condition, bool then) {
    const auto [at, fresh] = needed_under_.try_emplace({condition, then});
    Nodes& own = at->second;
    if (!fresh) return own;
    own = used_under(condition, then);
    found_.inside.insert(own.begin(), own.end());
    for (const Node* each : own) {
      if (!is_branch(*each) || resolve_(each->inputs[0]) != condition) continue;
      const std::size_t index = each->attrs.index("index");
      found_.taken.emplace(each, each->inputs[1 + (then ? 0 : results_of_side(*each)) + index]);
    }
    return own;
  }

  /// Adds what one side of an ifelse node needs of what is needed under its condition alone.
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
      const auto taken = found_.taken.find(next);
      if (taken != found_.taken.end()) {
        reach(taken->second);
        continue;
      }
      for (const Variable& input : next->inputs) reach(input);
    }
  }

  const std::vector<Node*>& all_;
  const std::function<Node*(const Variable&)>& resolve_;
  std::unordered_map<const Node*, std::vector<Use>> uses_;
  Nodes always_;  // needed in any case
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
