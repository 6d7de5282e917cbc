#include <fmt/format.h>

#include <algorithm>

#include "fuse/lower.hpp"
#include "fuse/product.hpp"
#include "fuse/region.hpp"
#include "expr/print.hpp"

namespace croton::fuse {

using expr::Arena;
using expr::Kind;

std::vector<bool> host_values(const expr::Graph& graph) {
  const Arena& arena = graph.arena;
  std::vector<bool> host(arena.size(), false);
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (arena.type(id).rank() != 0 || !is_discrete(arena.type(id).dtype)) continue;
    const expr::Op& op = arena.op(id);
    if (op.name == "const" || op.name == "size") host[id] = true;
    if (op.name == "input") host[id] = graph.inputs[static_cast<std::size_t>(arena.attrs(id).integer("index"))].role == expr::Role::argument;
    if (op.kind == Kind::Map) host[id] = std::ranges::all_of(arena.inputs(id), [&](NodeId input) { return host[input]; });
  }
  return host;
}

Program fuse(expr::Graph graph, const Options& options) {
  Program program;
  program.graph = std::move(graph);
  if (options.join) fold_updates(program.graph);
  const expr::Graph& g = program.graph;
  const Regions regions = find_regions(g, options);
  const std::vector<bool> host = host_values(g);

  // Regions and products, the lower levels first: each finds what it reads already computed.
  struct Item {
    int level;
    NodeId first;
    int region;
  };
  std::vector<Item> items;
  for (std::size_t r = 0; r < regions.regions.size(); ++r) {
    const Region& region = regions.regions[r];
    const bool stores = std::ranges::any_of(region.members, [&](NodeId m) { return regions.stored[m]; });
    if (stores) items.push_back({region.level, region.members.front(), static_cast<int>(r)});
  }
  const std::vector<bool> needed = expr::reachable(g);
  for (NodeId id = 0; id < g.arena.size(); ++id) {
    if (needed[id] && g.arena.op(id).kind == Kind::Contract) items.push_back({regions.level_of[id], id, -1});
  }
  std::ranges::sort(items, [](const Item& a, const Item& b) { return std::pair(a.level, a.first) < std::pair(b.level, b.first); });
  for (const Item& item : items) {
    Call call;
    if (item.region >= 0) {
      call.kernel = std::make_shared<KernelCall>(lower(g, regions, regions.regions[static_cast<std::size_t>(item.region)], host));
    } else {
      call.product = std::make_shared<ProductCall>(product_call(g, regions.stored, item.first));
    }
    program.calls.push_back(std::move(call));
  }
  return program;
}

std::size_t Program::kernel_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(calls, [](const Call& c) { return c.kernel != nullptr; }));
}
std::size_t Program::product_count() const { return calls.size() - kernel_count(); }

std::string print(const Program& program) {
  const expr::Names names(program.graph);
  const auto list = [&](const std::vector<NodeId>& nodes) {
    std::string text;
    for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + names(node);
    return text;
  };
  std::string text;
  for (const Call& call : program.calls) {
    if (call.kernel) {
      text += fmt::format("{} = kernel({})", list(call.kernel->writes), list(call.kernel->reads));
      if (!call.kernel->extents.empty()) text += fmt::format(" sizes({})", list(call.kernel->extents));
      text += '\n' + kernel::print(*call.kernel->kernel);
    } else {
      const ProductCall& p = *call.product;
      text += fmt::format("{} = ", names(p.result));
      if (p.accumulate != expr::no_node) text += fmt::format("{} * {} + ", p.beta, names(p.accumulate));
      text += fmt::format("{} * product({}, {})\n", p.alpha, names(p.left), names(p.right));
    }
  }
  return text;
}

}  // namespace croton::fuse
