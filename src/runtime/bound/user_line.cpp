#include "runtime/bound/user_line.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/source_place.hpp"
#include "runtime/bound/executable.hpp"

namespace croton::runtime {

std::string lines_of(std::span<const expr::Origin> origins) {
  constexpr std::size_t enough = 200;
  std::string lines;
  std::vector<std::string> seen;
  for (const expr::Origin& origin : origins) {
    std::string line = line_of(origin);
    if (lines.size() >= enough || std::ranges::find(seen, line) != seen.end()) continue;
    lines += (lines.empty() ? "" : "; ") + line;
    seen.push_back(std::move(line));
  }
  return lines.empty() ? "line unknown" : lines;
}

std::string title_of(const expr::Graph& graph, expr::NodeId node) {
  while (graph.arena.op(node).kind == expr::Kind::Transfer && graph.arena.origin(node).name.empty())
    node = graph.arena.input(node, 0);
  for (const expr::GraphInput& input : graph.inputs) {
    if (input.node == node && !input.name.empty()) return input.name;
  }
  const expr::Origin& origin = graph.arena.origin(node);
  if (!origin.name.empty()) return origin.name;
  return origin.where.known() ? base::file_and_line(origin.where) : std::string(graph.arena.op(node).name);
}

}  // namespace croton::runtime
