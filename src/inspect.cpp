// Trees of the user's graph.
#include <croton/function.hpp>

#include <fmt/format.h>

#include <unordered_map>

#include "base/index.hpp"
#include "builder/node.hpp"
#include "expr/print.hpp"

namespace croton {

namespace {

void print_tree(const Variable& v, int depth, std::unordered_map<const builder::Node*, int>& ids, std::string& text) {
  const auto [at, fresh] = ids.try_emplace(v.node(), base::to_int(ids.size()));
  const builder::Node& node = *v.node();
  std::string label = node.name.empty() ? std::string(node.op->name) : node.name;
  if (v.is_constant() && v.rank() == 0) label = node.value.to_string();
  std::string attrs;
  for (const auto& [key, value] : node.attrs.items())
    attrs += fmt::format("{}{}={}", attrs.empty() ? "{" : ", ", key, expr::to_string(value));
  if (!attrs.empty()) attrs += "}";
  text += fmt::format("{:{}}{}{} [id {}] {}\n", "", depth * 2, label, attrs, at->second, v.type().to_string());
  if (!fresh && !node.inputs.empty()) {
    text += fmt::format("{:{}}...\n", "", depth * 2 + 2);
    return;
  }
  constexpr int max_depth = 200;  // this recursive printout omits deeper nodes
  if (depth >= max_depth && !node.inputs.empty()) {
    text += fmt::format("{:{}}... (deeper)\n", "", depth * 2 + 2);
    return;
  }
  for (const Variable& input : node.inputs) print_tree(input, depth + 1, ids, text);
}

}  // namespace

std::string debugprint(const Variable& variable) {
  std::unordered_map<const builder::Node*, int> ids;
  std::string text;
  print_tree(variable, 0, ids, text);
  return text;
}

}  // namespace croton
