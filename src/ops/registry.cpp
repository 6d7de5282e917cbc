#include "ops/registry.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "builder/node.hpp"

namespace croton::ops {
namespace {

struct UserOps {
  std::shared_mutex mutex;
  std::unordered_map<std::string_view, const expr::Op*> by_name;
  static UserOps& instance() {
    static UserOps all;
    return all;
  }
};

}  // namespace

const Registry& Registry::instance() {
  static const Registry registry = [] {
    Registry all;
    register_leaf(all);
    register_elementwise(all);
    register_functions(all);
    register_special(all);
    register_random(all);
    register_branch(all);
    register_loop(all);
    register_reduce(all);
    register_view(all);
    register_subtensor(all);
    register_join(all);
    register_window(all);
    register_gather(all);
    register_generate(all);
    register_contract(all);
    register_gradient_marks(all);
    register_nnet(all);
    register_transfer(all);
    register_lines(all);
    register_cumulate(all);
    register_sort(all);
    register_scatter(all);
    register_ctc(all);
    register_complex(all);
    all.find_core();
    register_stable_forms();
    return all;
  }();
  return registry;
}

void Registry::add(const expr::Op& op) {
  if (!by_name_.emplace(op.name, &op).second) throw InternalError(fmt::format("two ops are called {}", op.name));
  ops_.push_back(&op);
}

void Registry::find_core() {
  static constexpr std::string_view names[] = {
#define CROTON_CORE_OP(name) #name,
#include "expr/core_ops.def"
#undef CROTON_CORE_OP
  };
  for (std::string_view name : names) {
    if (name.ends_with('_')) name.remove_suffix(1);
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) throw InternalError(fmt::format("no op is called {}, which stages know", name));
    core_.push_back(at->second);
  }
}

const expr::Op* Registry::find(std::string_view name) const {
  if (const auto at = by_name_.find(name); at != by_name_.end()) return at->second;
  UserOps& others = UserOps::instance();
  const std::shared_lock lock(others.mutex);
  const auto at = others.by_name.find(name);
  return at == others.by_name.end() ? nullptr : at->second;
}

void Registry::add_user_op(const expr::Op& op) {
  UserOps& others = UserOps::instance();
  const std::unique_lock lock(others.mutex);
  if (!others.by_name.emplace(op.name, &op).second)
    throw InternalError(fmt::format("two operations of the user are called {}", op.name));
}

}  // namespace croton::ops

namespace croton::expr {

const Op& op(Core core) { return ops::Registry::instance().core(core); }

const Op* find_op(std::string_view name) { return ops::Registry::instance().find(name); }

const Op& op(std::string_view name) {
  if (const Op* found = find_op(name)) return *found;
  throw InternalError("there is no op called " + std::string(name));
}

std::span<const Op* const> all_ops() { return ops::Registry::instance().all(); }

}  // namespace croton::expr
