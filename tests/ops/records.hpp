// Records of the tests of operations, for docs/use/ops.md (tools/op_page.py defines their format): the ops that were
// part of programs whose calls gave results, on which back-ends, for which dtypes. The environment variable
// CROTON_OP_RECORDS names the file; it is written when the program ends. Records do not say whether results were right:
// a wrong result fails the program, and ctest then does not read its records.
#pragma once

#include <croton/croton.hpp>

#include "builder/node.hpp"
#include "expr/op.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace croton_test {

/// Ops, each with the dtype of its first operand.
using Ops = std::set<std::pair<const croton::expr::Op*, croton::DType>>;

/// The ops of the registry below `outputs` that depend on an input: the others may be evaluated when the program is
/// compiled.
inline Ops ops_of(const std::vector<croton::Variable>& outputs) {
  Ops found;
  std::unordered_set<const croton::builder::Node*> depends;
  for (const croton::builder::Node* node : croton::builder::topological_order(outputs)) {
    if (node->op->name == "input" || node->op->name == "shared") depends.insert(node);
    for (const croton::Variable& input : node->inputs) {
      if (!depends.contains(input.node())) continue;
      depends.insert(node);
      if (croton::expr::find_op(node->op->name) == node->op) found.emplace(node->op, node->inputs[0].dtype());
      break;
    }
  }
  return found;
}

/// Whether the gradient of some result of the op can be nonzero: comparisons give no floats.
inline bool differentiable(const croton::expr::Op& op) {
  if (op.gradient == nullptr || op.kind != croton::expr::Kind::Map) return op.gradient != nullptr;
  try {
    const std::vector<croton::DType> floats(static_cast<std::size_t>(op.arity), croton::DType::float64);
    return !is_discrete(op.map->types(floats).result);
  } catch (const croton::TypeError&) {
    return false;
  }
}

class Records {
 public:
  static Records& all() {
    static Records records;
    return records;
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  /// Records that `ops` did `what` under the current flags.
  void add(const Ops& ops, const std::string& what, int count = 1) {
    if (path_.empty()) return;
    const std::string device = croton::flag("device"), backend = device == "auto" ? croton::flag("mode") : device;
    for (const auto& [op, dtype] : ops) line(*op, backend, croton::name_of(dtype), what + " " + std::to_string(count));
  }

 private:
  Records() {
    if (const char* path = std::getenv("CROTON_OP_RECORDS")) path_ = path;
    for (const croton::expr::Op* op : croton::expr::all_ops())
      if (op->kind != croton::expr::Kind::Leaf) line(*op, "-", "-", differentiable(*op) ? "op 1" : "op 0");
  }
  ~Records() {
    if (path_.empty()) return;
    std::filesystem::create_directories(path_.parent_path());
    std::ofstream out(path_);
    for (const std::string& text : lines_) out << text << "\n";
  }
  void line(const croton::expr::Op& op, const std::string& backend, std::string_view dtype, const std::string& rest) {
    lines_.insert("op:" + std::string(op.name) + " " + backend + " " + std::string(dtype) + " " + rest);
  }

  std::filesystem::path path_;
  std::set<std::string> lines_;
};

/// Whether the values of an argument contain nan or an infinity.
template <class T>
bool holds_special(const T&) {
  return false;
}
inline bool holds_special(const croton::Array& array) {
  if (!is_float(array.dtype())) return false;
  const croton::Array plain = array.contiguous();
  for (std::int64_t i = 0; i < plain.size(); ++i)
    if (!std::isfinite(plain.as_double(i))) return true;
  return false;
}

/// The error of ct::verify_grad; writes records.
inline double grad_error(const std::function<croton::Variable(const std::vector<croton::Variable>&)>& f,
                         const std::vector<croton::Array>& points, int order = 1, std::uint64_t seed = 1) {
  std::vector<croton::Variable> x;
  croton::Variable y;
  const auto kept = [&](const std::vector<croton::Variable>& inputs) { return x = inputs, y = f(inputs); };
  const double error = croton::verify_grad(kept, points, order, seed);
  const auto add = [](const Ops& all, int times) {
    Ops with_gradient;
    for (const auto& [op, dtype] : all)
      if (op->gradient != nullptr) with_gradient.emplace(op, dtype);
    Records::all().add(all, "runs");
    Records::all().add(with_gradient, "gradient", times);
  };
  add(ops_of({y}), order);
  if (order == 2 && !is_complex(y.dtype())) {  // the gradient was differentiated again
    std::erase_if(x, [](const croton::Variable& v) { return is_discrete(v.dtype()); });
    add(ops_of(croton::grad(croton::sum(y), x, {.disconnected_inputs = croton::Disconnected::ignore})), 1);
  }
  return error;
}

}  // namespace croton_test
