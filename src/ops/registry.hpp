// The list of all ops, made once, when it is first needed. A subfolder's file adds its ops by the register_ function
// that it defines: these declarations are the list of such files.
#pragma once

#include <croton/variable.hpp>

#include "base/index.hpp"
#include "expr/op.hpp"

#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace croton::ops {

class Registry {
 public:
  static const Registry& instance();
  /// Keeps a pointer: the op must live as long as the program.
  void add(const expr::Op& op);
  const expr::Op* find(std::string_view name) const;
  const expr::Op& core(expr::Core core) const { return *core_[base::ordinal(core)]; }
  std::span<const expr::Op* const> all() const { return ops_; }
  /// Adds an operation of the user, which `find` returns but `all` does not. It must live as long as the program.
  static void add_user_op(const expr::Op& op);

 private:
  void find_core();

  std::vector<const expr::Op*> ops_;
  std::vector<const expr::Op*> core_;  // by expr::Core
  std::unordered_map<std::string_view, const expr::Op*> by_name_;
};

void register_leaf(Registry& registry);
void register_elementwise(Registry& registry);
void register_functions(Registry& registry);
void register_special(Registry& registry);
void register_branch(Registry& registry);
void register_loop(Registry& registry);
void register_random(Registry& registry);
void register_reduce(Registry& registry);
void register_view(Registry& registry);
void register_subtensor(Registry& registry);
void register_join(Registry& registry);
void register_window(Registry& registry);
void register_gather(Registry& registry);
void register_generate(Registry& registry);
void register_contract(Registry& registry);
void register_gradient_marks(Registry& registry);
void register_nnet(Registry& registry);
void register_transfer(Registry& registry);
void register_lines(Registry& registry);
void register_cumulate(Registry& registry);
void register_sort(Registry& registry);
void register_scatter(Registry& registry);
void register_ctc(Registry& registry);
void register_complex(Registry& registry);
/// Passes the stable forms to grad (builder/stable_form.hpp).
void register_stable_forms();

/// The type rule of elementwise ops.
expr::InferredType infer_map(expr::InferContext& context);
/// The complex version of an elementwise op; null if it does not take complex numbers.
const expr::ComplexInfo* complex_info(std::string_view op);

/// A new op of the user. Nodes, graphs and functions point to it, so it is never removed. It is not destroyed at exit
/// either, because its functions may be Python's, which ends first.
template <class T>
T& new_user_op() {
  static std::mutex mutex;
  static auto& all = *new std::deque<T>;
  const std::lock_guard lock(mutex);
  return all.emplace_back();
}

/// The broadcast sizes of all inputs, aligned at the last axis.
std::vector<expr::Dim> broadcast_shape(expr::InferContext& context, std::size_t rank);

}  // namespace croton::ops
