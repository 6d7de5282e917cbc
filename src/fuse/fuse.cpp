#include <fmt/format.h>

#include <algorithm>

#include "expr/print.hpp"
#include "fuse/guard.hpp"
#include "fuse/lower.hpp"
#include "fuse/product.hpp"
#include "fuse/region.hpp"

namespace croton::fuse {

using expr::Arena;
using expr::Kind;

Program fuse(expr::Graph graph, const Options& options) {
  Program program;
  program.graph = std::move(graph);
  const bool guarded = !options.nan_guard.empty();
  // What is guarded is looked at before it overwrites anything, so no product adds itself to a variable.
  if (options.join && !guarded) fold_updates(program.graph);
  const expr::Graph& g = program.graph;
  program.host = host_values(g);
  const HostValues& host = program.host;
  const Regions regions = find_regions(g, host, options);

  // Regions, products and other calls by segment, the lower levels first: each finds what it reads already computed.
  struct Item {
    int segment;
    int level;
    NodeId first;
    int region;
  };
  std::vector<Item> items;
  for (std::size_t r = 0; r < regions.regions.size(); ++r) {
    const Region& region = regions.regions[r];
    const bool stores = std::ranges::any_of(region.members, [&](NodeId m) { return regions.stored[m]; });
    if (stores) items.push_back({region.segment, region.level, region.members.front(), static_cast<int>(r)});
  }
  for (NodeId id = 0; id < g.arena.size(); ++id) {
    if (regions.computed[id] && is_call(g.arena.op(id))) items.push_back({host.segment[id], regions.level_of[id], id, -1});
  }
  std::ranges::sort(items, [](const Item& a, const Item& b) {
    return std::tuple(a.segment, a.level, a.first) < std::tuple(b.segment, b.level, b.first);
  });
  for (const Item& item : items) {
    Call call;
    call.segment = item.segment;
    call.place = g.arena.node(item.first).place;
    call.members = item.region >= 0 ? regions.regions[static_cast<std::size_t>(item.region)].members
                                    : std::vector<NodeId>{item.first};
    if (item.region >= 0) {
      call.kernel =
          std::make_shared<KernelCall>(lower(g, regions, regions.regions[static_cast<std::size_t>(item.region)], host));
    } else if (g.arena.op(item.first).kind == Kind::Transfer) {
      call.transfer = std::make_shared<TransferCall>(TransferCall{item.first, g.arena.input(item.first, 0)});
    } else if (g.arena.op(item.first).kind == Kind::Host) {
      const auto arguments = host_arguments(g.arena, item.first);
      call.host = std::make_shared<HostCall>(
          HostCall{item.first, {arguments.begin(), arguments.end()}, g.arena.origin(item.first)});
    } else if (g.arena.op(item.first).routine != nullptr) {
      const auto reads = g.arena.inputs(item.first);
      call.routine = std::make_shared<RoutineCall>(
          RoutineCall{item.first, {reads.begin(), reads.end()}, g.arena.origin(item.first)});
    } else {
      call.product = std::make_shared<ProductCall>(product_call(g, regions.stored, item.first));
    }
    program.calls.push_back(std::move(call));
  }
  if (guarded) guard_values(program, options.nan_guard);
  return program;
}

std::span<const NodeId> host_arguments(const Arena& arena, NodeId node) {
  return arena.inputs(node).first(arena.inputs(node).size() - arena.type(node).rank());
}

std::size_t Program::kernel_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(calls, [](const Call& c) { return c.kernel != nullptr; }));
}
std::size_t Program::product_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(calls, [](const Call& c) { return c.product != nullptr; }));
}
std::size_t Program::transfer_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(calls, [](const Call& c) { return c.transfer != nullptr; }));
}
std::size_t Program::routine_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(calls, [](const Call& c) { return c.routine != nullptr; }));
}

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
    } else if (call.transfer) {
      text += fmt::format("{} = transfer({})\n", names(call.transfer->result), names(call.transfer->source));
    } else if (call.host) {
      text += fmt::format("{} = host {}({})\n", names(call.host->result),
                          program.graph.arena.op(call.host->result).name, list(call.host->arguments));
    } else if (call.routine) {
      text += fmt::format("{} = {}({})\n", names(call.routine->result),
                          program.graph.arena.op(call.routine->result).name, list(call.routine->reads));
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
