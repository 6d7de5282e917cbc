// The list of all ops. Each file of ops/ adds its own; the list is made once, when an op is first asked for.
#pragma once

#include <croton/variable.hpp>

#include "expr/op.hpp"

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
  std::span<const expr::Op* const> all() const { return ops_; }

 private:
  std::vector<const expr::Op*> ops_;
  std::unordered_map<std::string_view, const expr::Op*> by_name_;
};

void register_leaf(Registry& registry);
void register_elementwise(Registry& registry);
void register_reduce(Registry& registry);
void register_view(Registry& registry);
void register_generate(Registry& registry);
void register_contract(Registry& registry);
void register_gradient_marks(Registry& registry);
void register_nnet(Registry& registry);
void register_transfer(Registry& registry);

/// The broadcast sizes of all inputs, aligned at the last axis.
std::vector<expr::Dim> broadcast_shape(expr::InferContext& context, std::size_t rank);
/// Axes by number with negative ones counted from the end; TypeError outside, or when named twice.
std::vector<std::int64_t> normal_axes(const std::vector<int>& axes, int rank, std::string_view op, const Operand& x);

}  // namespace croton::ops
