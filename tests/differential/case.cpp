#include "case.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "builder/node.hpp"

namespace differential {

namespace {

/// Marks the operand by which the public function of an op has no derivative, as the function does.
void mark_order(std::string_view op, Operands& operands) {
  static const std::map<std::string_view, std::size_t> orders{
      {"gammainc", 0}, {"gammaincc", 0}, {"chi2sf", 1}, {"gamma_pdf", 0}, {"polygamma", 0}, {"jv", 0}, {"iv", 0}};
  const auto at = orders.find(op);
  if (at == orders.end()) return;
  Variable& order = operands[at->second];
  if (!order.is_constant()) order = ct::undefined_grad(order);
}

/// The results of a row with several; the last ones are kept, so that steps of one loop share it.
const std::vector<Variable>& make_all(const Step& step, const Operands& given) {
  struct Made {
    const Row* row;
    Parameters p;
    Operands operands;
    std::vector<Variable> results;
  };
  static auto& last = *new std::deque<Made>;
  constexpr std::size_t kept = 32;
  const auto same = [](const Variable& a, const Variable& b) { return a.node() == b.node(); };
  for (const Made& made : last) {
    if (made.row == step.row && made.p.recipe == step.p.recipe && made.p.n == step.p.n &&
        std::ranges::equal(made.operands, given, same))
      return made.results;
  }
  std::vector<Variable> results = step.row->make_all(given, step.p);
  if (last.size() == kept) last.pop_front();
  last.push_back({step.row, step.p, given, std::move(results)});
  return last.back().results;
}

}  // namespace

Variable make(const Step& step, const Operands& given) {
  if (step.row->make_all != nullptr) {
    const std::vector<Variable>& results = make_all(step, given);
    return step.p.pick < results.size() ? results[step.p.pick] : Variable();
  }
  if (step.row->op == nullptr) return step.row->make(given, step.p);
  Operands operands = given;
  mark_order(step.row->op->name, operands);
  return ct::builder::apply(*step.row->op, operands, step.p.attrs, std::source_location::current());
}

Variable make_leaf(const Leaf& leaf, const std::string& name) {
  switch (leaf.role) {
    case Leaf::Role::constant:
      return ct::constant(leaf.value);
    case Leaf::Role::shared:
      return ct::shared(leaf.value, {.name = name});
    case Leaf::Role::argument:
      break;
  }
  return ct::variable(leaf.type, name);
}

Built build(const Case& test, const std::string& prefix) {
  Built built;
  for (std::size_t i = 0; i < test.nodes.size(); ++i) {
    const Node& node = test.nodes[i];
    built.shared.emplace_back();
    if (node.is_leaf()) {
      built.nodes.push_back(make_leaf(node.leaf, prefix + "x" + std::to_string(i)));
      if (node.leaf.role == Leaf::Role::shared) built.shared.back() = ct::SharedVariable(built.nodes.back().handle());
      continue;
    }
    Operands operands;
    for (const int input : node.step.inputs) operands.push_back(built.nodes[static_cast<std::size_t>(input)]);
    built.nodes.push_back(make(node.step, operands));
  }
  return built;
}

Case Case::pruned() const {
  std::vector<bool> needed(nodes.size(), false);
  const auto need = [&](int node) { needed[static_cast<std::size_t>(node)] = true; };
  for (const int output : outputs) need(output);
  for (const Update& update : updates) {
    need(update.leaf);
    need(update.value);
  }
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int input : nodes[i].step.inputs) need(input);
  }
  Case result;
  result.seed = seed;
  result.special = special;
  result.smooth = smooth;
  std::vector<int> to(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!needed[i]) continue;
    to[i] = static_cast<int>(result.nodes.size());
    result.nodes.push_back(nodes[i]);
    for (int& input : result.nodes.back().step.inputs) input = to[static_cast<std::size_t>(input)];
  }
  for (const int output : outputs) result.outputs.push_back(to[static_cast<std::size_t>(output)]);
  for (const Update& update : updates)
    result.updates.push_back({to[static_cast<std::size_t>(update.leaf)], to[static_cast<std::size_t>(update.value)]});
  return result;
}

Array laid_out(const Leaf& leaf) {
  const Array& plain = leaf.value;
  if (plain.rank() == 0) return plain;
  switch (leaf.layout) {
    case Layout::transposed:
      return plain.transpose().copy().transpose();
    case Layout::backwards: {
      const auto turned = [](const Array& a) { return a.slice(0, -1, -a.shape(0) - 1, -1); };
      return turned(turned(plain).copy());
    }
    case Layout::gaps: {
      ct::Sizes wide = plain.shape();
      wide.back() = 2 * wide.back() + 1;
      const Array block = Array::zeros(plain.dtype(), wide);
      Array view = block.slice(plain.rank() - 1, 1, wide.back(), 2);
      view.copy_from(plain);
      return view;
    }
    case Layout::unaligned: {
      const Array block = Array::zeros(DType::uint8, {static_cast<std::int64_t>(plain.bytes()) + 1});
      char* at = static_cast<char*>(block.address()) + 1;
      if (plain.bytes() > 0) std::memcpy(at, plain.raw(), plain.bytes());
      return Array::adopt(block.owner(), at, plain.dtype(), plain.shape());
    }
    default:
      return plain;
  }
}

}  // namespace differential
