#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "expr/print.hpp"
#include "fuse/fold_updates.hpp"
#include "fuse/guard.hpp"
#include "fuse/lower.hpp"
#include "fuse/node_work.hpp"
#include "fuse/product.hpp"
#include "fuse/region.hpp"

namespace croton::fuse {

using expr::Arena;
using expr::Kind;

namespace {

/// The computed results of each loop and branch, by the first result. Results in different segments are computed by
/// separate calls, because one may depend on the other.
using ResultGroups = std::map<NodeId, std::vector<NodeId>>;
ResultGroups group_results(const Arena& arena, const std::vector<bool>& computed, const HostValues& host) {
  ResultGroups groups;
  const auto application = [&](NodeId id) {
    if (arena.op(id).kind == Kind::Loop) return expr::without_result(arena.attrs(id));
    expr::Attrs attrs = arena.attrs(id);
    attrs.set("index", std::int64_t{0});
    return attrs;
  };
  const auto same = [&](NodeId a, NodeId b) {
    return host.segment[a] == host.segment[b] && &arena.op(a) == &arena.op(b) &&
           arena.node(a).place == arena.node(b).place && std::ranges::equal(arena.inputs(a), arena.inputs(b)) &&
           application(a) == application(b);
  };
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!computed[id] || !expr::has_body(arena.op(id))) continue;
    const auto found = std::ranges::find_if(groups, [&](const auto& group) { return same(group.first, id); });
    (found != groups.end() ? found->second : groups[id]).push_back(id);
  }
  return groups;
}

std::shared_ptr<const Program> fuse_body(const expr::BodyPtr& body, Options options) {
  options.nan_guard.clear();  // the results of the node itself are checked
  return std::make_shared<const Program>(fuse(body->graph(), options));
}

BranchCall branch_call(const Arena& arena, const std::vector<NodeId>& members, const Options& options) {
  const auto inputs = arena.inputs(members[0]);
  BranchCall call{.branch = expr::Branch(arena.attrs(members[0]), inputs.size()),
                  .results = {},
                  .inputs = {inputs.begin(), inputs.end()},
                  .then = nullptr,
                  .otherwise = nullptr,
                  .origin = arena.origin(members[0])};
  for (const NodeId member : members)
    call.results.push_back({member, expr::Branch(arena.attrs(member), inputs.size()).index});
  call.then = fuse_body(call.branch.then, options);
  call.otherwise = fuse_body(call.branch.otherwise, options);
  return call;
}

LoopCall loop_call(const Arena& arena, const std::vector<NodeId>& members, const Options& options) {
  const auto inputs = arena.inputs(members[0]);
  LoopCall call{.loop = expr::Loop(arena.attrs(members[0]), inputs.size()),
                .results = {},
                .inputs = {inputs.begin(), inputs.end()},
                .body = nullptr,
                .origin = arena.origin(members[0])};
  for (const NodeId member : members) {
    const expr::Loop result(arena.attrs(member), inputs.size());
    call.results.push_back({member, result.result, result.index});
  }
  call.body = fuse_body(call.loop.body, options);
  return call;
}

}  // namespace

bool is_loop_number(const LoopCall& call, const Arena& arena, std::size_t input) {
  return input == expr::Loop::steps_input || is_number(arena, call.inputs[input]);
}

bool is_sequence_view(const expr::Graph& graph, const HostValues& host, NodeId node) {
  const Arena& arena = graph.arena;
  if (arena.op(node).is(expr::Core::subtensor)) {
    const expr::Ints& spec = arena.attrs(node).ints("spec");
    constexpr std::int64_t slice_kind = 1;
    return spec.size() == 4 && spec[0] == slice_kind &&
           std::ranges::all_of(arena.inputs(node).subspan(1),
                               [&](NodeId bound) { return host.known[bound] || arena.scalar_value(bound); });
  }
  // A device has no strided copy that could make such an operand of a product contiguous.
  if (!arena.op(node).is(expr::Core::dimshuffle) || !base::is_host(arena.node(node).place)) return false;
  const expr::Ints& pattern = arena.attrs(node).ints("pattern");
  return pattern.size() == arena.type(arena.input(node, 0)).rank() &&
         std::ranges::all_of(pattern, [](std::int64_t axis) { return axis >= 0; });
}

bool is_branch_number(const Program& program, const BranchCall& call, std::size_t input) {
  const NodeId node = call.inputs[input];
  return input == expr::Branch::condition_input ? bool{program.host.known[node]} : is_number(program.graph.arena, node);
}

std::string_view name_of(const Work& work) {
  struct Name {
    std::string_view operator()(const KernelCall&) const { return "kernel"; }
    std::string_view operator()(const ProductCall&) const { return "product"; }
    std::string_view operator()(const TransferCall&) const { return "transfer"; }
    std::string_view operator()(const RoutineCall&) const { return "routine"; }
    std::string_view operator()(const HostCall&) const { return "host"; }
    std::string_view operator()(const LoopCall&) const { return "loop"; }
    std::string_view operator()(const BranchCall&) const { return "branch"; }
  };
  return std::visit(Name{}, work);
}

bool Call::is_kernel(kernel::Family family) const {
  const auto* call = std::get_if<KernelCall>(&work);
  return call != nullptr && call->kernel->family == family;
}

bool Call::has_checks() const {
  const auto* call = std::get_if<KernelCall>(&work);
  return call != nullptr && !call->kernel->checks.empty();
}

std::vector<std::shared_ptr<const Program>> Call::bodies() const {
  if (const auto* loop = std::get_if<LoopCall>(&work)) return {loop->body};
  if (const auto* branch = std::get_if<BranchCall>(&work)) return {branch->then, branch->otherwise};
  return {};
}

namespace {

/// The work of a call that is not a region of fused nodes.
Work work_of(const expr::Graph& graph, const Regions& regions, const std::vector<NodeId>& members,
             const Options& options) {
  const Arena& arena = graph.arena;
  const NodeId first = members.front();
  switch (arena.op(first).kind) {
    case Kind::Transfer:
      return TransferCall{first, arena.input(first, 0)};
    case Kind::Host: {
      const auto arguments = host_arguments(arena, first);
      return HostCall{first, {arguments.begin(), arguments.end()}, arena.origin(first)};
    }
    case Kind::Loop:
      return loop_call(arena, members, options);
    case Kind::Branch:
      return branch_call(arena, members, options);
    default:
      break;
  }
  if (arena.op(first).routine == nullptr) return product_call(graph, regions.stored, first);
  const auto reads = arena.inputs(first);
  return RoutineCall{first, {reads.begin(), reads.end()}, arena.origin(first)};
}

}  // namespace

Program fuse(expr::Graph graph, const Options& options) {
  Program program;
  program.graph = std::move(graph);
  const bool guarded = !options.nan_guard.empty();
  // Guarded values are checked before they overwrite anything, so no product is added to a variable in place.
  if (options.join && !guarded) fold_updates(program.graph, options.special_values);
  const expr::Graph& g = program.graph;
  program.host = host_values(g);
  const HostValues& host = program.host;
  Regions regions = find_regions(g, host, options);

  // Regions, products and other calls, by segment and then by level, so that each call comes after the calls whose
  // results it reads.
  struct Item {
    SegmentId segment;
    int level;
    NodeId first;
    RegionId region;
  };
  std::vector<Item> items;
  for (const RegionId r : regions.regions.ids()) {
    const Region& region = regions.regions[r];
    const bool stores = std::ranges::any_of(region.members, [&](NodeId m) { return regions.is_stored(m); });
    if (stores) items.push_back({region.segment, region.level, region.members.front(), r});
  }
  const ResultGroups groups = group_results(g.arena, regions.computed, host);
  for (NodeId id = 0; id < g.arena.size(); ++id) {
    if (!regions.computed[id] || !is_call(g.arena.op(id))) continue;
    if (expr::has_body(g.arena.op(id)) && !groups.contains(id)) continue;  // part of the call of its first result
    items.push_back({host.segment[id], regions.level_of[id], id, no_region});
  }
  std::ranges::sort(items, [](const Item& a, const Item& b) {
    return std::tuple(a.segment, a.level, a.first) < std::tuple(b.segment, b.level, b.first);
  });
  for (const Item& item : items) {
    Call call;
    call.segment = item.segment;
    call.place = g.arena.node(item.first).place;
    if (item.region != no_region) {
      call.members = regions.regions[item.region].members;
      call.apart = regions.regions[item.region].apart;
      call.work = lower(g, regions, regions.regions[item.region], host);
    } else {
      call.members = {item.first};
      if (expr::has_body(g.arena.op(item.first))) call.members = groups.at(item.first);
      call.work = work_of(g, regions, call.members, options);
    }
    program.calls.push_back(std::move(call));
  }
  program.stored = std::move(regions.stored);
  if (guarded) guard_values(program, options.nan_guard);
  return program;
}

std::span<const NodeId> host_arguments(const Arena& arena, NodeId node) {
  return arena.inputs(node).first(arena.inputs(node).size() - arena.type(node).rank());
}

namespace {
/// The number of calls of that kind, including those in bodies.
template <class Kind>
std::size_t count(const Program& program) {
  std::size_t total = 0;
  for (const Call& call : program.calls) {
    if (call.is<Kind>()) ++total;
    for (const auto& body : call.bodies()) total += count<Kind>(*body);
  }
  return total;
}
}  // namespace

std::size_t Program::kernel_count() const { return count<KernelCall>(*this); }
std::size_t Program::product_count() const { return count<ProductCall>(*this); }
std::size_t Program::transfer_count() const { return count<TransferCall>(*this); }
std::size_t Program::routine_count() const { return count<RoutineCall>(*this); }

namespace {

/// Prints a call: a visitor of the kinds of work.
class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), names_(program.graph) {}

  std::string operator()(const KernelCall& call) const {
    const std::string sizes = call.extents.empty() ? "" : fmt::format(" sizes({})", list(call.extents));
    return fmt::format("{} = kernel({}){}\n{}", list(call.writes), list(call.reads), sizes,
                       kernel::print(*call.kernel));
  }
  std::string operator()(const ProductCall& call) const {
    const std::string sum =
        call.accumulate == expr::no_node ? "" : fmt::format("{} * {} + ", call.beta, names_(call.accumulate));
    return fmt::format("{} = {}{} * product({}, {})\n", names_(call.result), sum, call.alpha, names_(call.left),
                       names_(call.right));
  }
  std::string operator()(const TransferCall& call) const {
    return fmt::format("{} = transfer({})\n", names_(call.result), names_(call.source));
  }
  std::string operator()(const RoutineCall& call) const {
    return fmt::format("{} = {}({})\n", names_(call.result), op_name(call.result), list(call.reads));
  }
  std::string operator()(const HostCall& call) const {
    return fmt::format("{} = host {}({})\n", names_(call.result), op_name(call.result), list(call.arguments));
  }
  std::string operator()(const LoopCall& call) const {
    return fmt::format("{} = loop({}) {{\n{}}}\n", results(call), list(call.inputs), print(*call.body));
  }
  std::string operator()(const BranchCall& call) const {
    return fmt::format("{} = branch({}) {{\n{}}} else {{\n{}}}\n", results(call), list(call.inputs), print(*call.then),
                       print(*call.otherwise));
  }

 private:
  std::string_view op_name(NodeId node) const { return program_.graph.arena.op(node).name; }
  std::string list(const std::vector<NodeId>& nodes) const {
    std::string text;
    for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + names_(node);
    return text;
  }
  std::string results(const auto& call) const {
    std::vector<NodeId> nodes;
    for (const auto& result : call.results) nodes.push_back(result.node);
    return list(nodes);
  }

  const Program& program_;
  const expr::Names names_;
};

}  // namespace

std::string print(const Program& program) {
  const Printer printer(program);
  std::string text;
  for (const Call& call : program.calls) text += std::visit(printer, call.work);
  return text;
}

}  // namespace croton::fuse
