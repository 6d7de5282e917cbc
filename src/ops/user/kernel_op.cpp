// Elementwise operations of the user: a row of the table, made at run time, whose code calls the user's function.
#include <croton/error.hpp>
#include <croton/op.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "base/characters.hpp"
#include "base/hash.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/custom_gradient.hpp"
#include "ops/registry.hpp"
#include "ops/user/identifier.hpp"

namespace croton {
namespace {

using builder::GradientContext;
using expr::MapInfo;
using expr::Scalar;

/// An op with its strings and facts: the op's functions find them through the op.
struct UserOp : expr::Op {
  MapInfo facts;
  std::string own_name, code, support;  // owns the strings to which the op and its facts point
  KernelOp::Definition definition;
};

/// Declarations of the functions of generated code that the body names: compilers of CUDA have global functions of the
/// same names, and with a using directive calls would be ambiguous.
std::string declared(std::string_view body) {
  const auto is_part = [](char c) { return base::is_letter_or_digit(c) || c == '_'; };
  std::set<std::string_view> words, names;
  for (std::size_t at = 0; at < body.size();) {
    std::size_t end = at;
    while (end < body.size() && is_part(body[end])) ++end;
    if (end > at) words.insert(body.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  for (const expr::Op* op : expr::all_ops()) {
    if (op->map == nullptr) continue;
    const std::string_view code = op->map->code;
    for (std::size_t at = code.find("ct::"); at != code.npos; at = code.find("ct::", at + 4)) {
      std::size_t end = at + 4;
      while (end < code.size() && is_part(code[end])) ++end;
      if (words.contains(code.substr(at + 4, end - at - 4))) names.insert(code.substr(at + 4, end - at - 4));
    }
  }
  std::string text;
  for (const std::string_view name : names) text += fmt::format("  using ct::{};\n", name);
  return text;
}

void check(const KernelOp::Definition& d, Where where) {
  const auto fail = [&](const std::string& message) {
    throw ValueError(fmt::format("KernelOp '{}' ({}): {}", d.name, builder::describe(where), message));
  };
  if (!ops::is_identifier(d.name)) fail("the name must be a C++ identifier");
  if (d.operands.empty()) fail("at least one operand is needed");
  std::set<std::string> names = {"T"};
  for (const std::string& operand : d.operands) {
    if (!ops::is_identifier(operand)) fail(fmt::format("the operand '{}' must be a C++ identifier", operand));
    if (!names.insert(operand).second)
      fail(fmt::format("the name '{}' is used twice; T is the operands' type", operand));
  }
  if (d.body.find_first_not_of(" \t\n") == std::string::npos) fail("the body is empty; `return x;` is the least");
}

std::vector<Variable> gradient(const GradientContext& c) {
  const auto& user = static_cast<const UserOp&>(*c.node.op);
  std::vector<Variable> gradients = user.definition.gradient(c.inputs, c.output, c.gradient);
  ops::check_gradients(user.definition.name, c.node.where, c.inputs, gradients, c.output);
  return gradients;
}

}  // namespace

KernelOp::KernelOp(Definition d, Where where) {
  check(d, where);
  std::string parameters, holes;
  for (std::size_t i = 0; i < d.operands.size(); ++i) {
    parameters += fmt::format("{}T {}", i > 0 ? ", " : "", d.operands[i]);
    holes += fmt::format("{}{{{}}}", i > 0 ? ", " : "", i);
  }
  const std::string text = fmt::format("({}) {{\n{}{}\n}}", parameters, declared(d.body), d.body);
  // Named after its text, so that the next process finds its kernels in the cache.
  const std::string function = fmt::format("user_{}_{}", d.name, base::to_hex(base::hash128(text)).substr(0, 8));
  static std::atomic<int> count{0};

  auto& op = ops::new_user_op<UserOp>();
  op.own_name = fmt::format("{}_{}", d.name, ++count);
  op.support = fmt::format("template <class T>\nCT_DEVICE auto {}{}\n", function, text);
  op.code = fmt::format("{}<{{T}}>({})", function, holes);
  op.definition = std::move(d);
  op.facts.code = op.code;
  op.facts.support = op.support;
  op.facts.cost = op.definition.cost;
  op.facts.domains.resize(op.definition.operands.size());
  op.facts.real_types = [result = op.definition.result](std::span<const DType> inputs) {
    DType operand = inputs[0];
    for (const DType other : inputs.subspan(1)) operand = promote(operand, other);
    return MapInfo::Types{result.value_or(operand), operand};
  };
  if (op.definition.reference) {
    op.facts.real_reference = [&op](std::span<const Scalar> operands, DType dtype) {
      std::vector<double> values;
      for (const Scalar& operand : operands) values.push_back(operand.as_double());
      return Scalar::of_double(op.definition.reference(values), DType::float64).cast(dtype);
    };
  } else {
    op.facts.real_reference = [&op](std::span<const Scalar>, DType) -> Scalar {
      throw NotImplementedError(
          fmt::format("the operation {} has no reference in C++, which mode=reference runs", op.definition.name));
    };
    op.facts.foldable = false;
  }
  op.name = op.own_name;
  op.kind = expr::Kind::Map;
  op.arity = base::to_int(op.definition.operands.size());
  op.doc = "the user's";
  op.infer = expr::op("add").infer;  // the type rule of all elementwise ops
  op.gradient = op.definition.gradient ? gradient : nullptr;
  op.map = &op.facts;
  ops::Registry::add_user_op(op);
  op_ = &op;
}

Variable KernelOp::apply(const std::vector<Operand>& operands) const {
  if (std::cmp_not_equal(operands.size(), op_->arity)) {
    throw TypeError(fmt::format("{} ({}): {} operand(s) are given, where {} are expected", op_->name,
                                builder::describe(operands.empty() ? Where() : operands[0].where), operands.size(),
                                op_->arity));
  }
  std::vector<Variable> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.variable);
  return builder::apply(*op_, inputs, {}, operands[0].where);
}

}  // namespace croton
