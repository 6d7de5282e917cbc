#include "text_stages.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/device_name.hpp"
#include "expr/evaluate.hpp"
#include "expr/verify.hpp"
#include "kernel/evaluate.hpp"

namespace croton::text {

using expr::Arena;
using expr::Graph;
using expr::NodeId;

namespace {

void add(rewrite::Fired& to, const rewrite::Fired& fired) {
  for (const auto& [rule, count] : fired) to[rule] += count;
}

/// The nodes that the roots need, each after its inputs and sizes, in the order of a walk from the roots.
std::vector<NodeId> walk(const Graph& graph) {
  const Arena& arena = graph.arena;
  std::vector<NodeId> order, stack = graph.roots();
  std::ranges::reverse(stack);
  std::vector<bool> opened(arena.size(), false), placed(arena.size(), false);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    if (opened[id]) {
      stack.pop_back();
      if (!placed[id]) order.push_back(id);
      placed[id] = true;
      continue;
    }
    opened[id] = true;
    std::vector<NodeId> needs(arena.inputs(id).begin(), arena.inputs(id).end());
    for (const NodeId dim : arena.type(id).shape) needs.push_back(arena.representative(dim));
    std::ranges::reverse(needs);
    for (const NodeId need : needs) {
      if (!opened[need]) stack.push_back(need);
    }
  }
  return order;
}

bool takes_positive(const Graph& graph) {
  const std::vector<bool> needed = expr::reachable(graph);
  for (NodeId id = 0; id < graph.arena.size(); ++id) {
    const expr::Op& op = graph.arena.op(id);
    if (!needed[id]) continue;
    if (op.map != nullptr &&
        std::ranges::any_of(op.map->domains, [](const expr::Domain& d) { return d.low > -0.95; }) && op.name != "where")
      return true;
    if (op.name.starts_with("crossentropy")) return true;
  }
  return false;
}

}  // namespace

Graph rewrite(Graph graph, std::string_view stage, bool special_values, rewrite::Fired& fired,
              const std::vector<std::string_view>& off) {
  const rewrite::Options options{.special_values = special_values, .off = off};
  if (stage == "all") {
    const auto check = [](const rewrite::GroupReport&, const Graph& after) { expr::verify(after); };
    for (const rewrite::GroupReport& report : rewrite::run(graph, options, check)) add(fired, report.fired);
    expr::verify(graph);
    return graph;
  }
  std::string names = "all";
  for (const rewrite::Group& group : rewrite::groups()) {
    if (group.name == stage) {
      add(fired, rewrite::run_group(graph, group, options).fired);
      expr::verify(graph);
      return rewrite::compact(graph);
    }
    if (names.find(group.name) == std::string::npos) names += ", " + std::string(group.name);
  }
  throw ValueError("there is no group of rules called '" + std::string(stage) + "': " + names);
}

Graph place(const Graph& graph, std::span<const std::string> words, std::vector<rewrite::Placement>* log) {
  rewrite::PlaceOptions options;
  for (const std::string& word : words) {
    const auto value = [&](std::string_view name) -> std::optional<std::string> {
      return word.starts_with(name) ? std::optional(word.substr(name.size())) : std::nullopt;
    };
    if (const auto scoped = value("scoped=")) {
      options.scoped = base::parse_device(*scoped).place();
    } else if (const auto fallback = value("fallback=")) {
      options.fallback = base::parse_device(*fallback).place();
    } else if (const auto devices = value("devices=")) {
      for (std::size_t at = 0; at <= devices->size();) {
        const std::size_t end = std::min(devices->find('+', at), devices->size());
        options.devices.push_back(base::parse_device(devices->substr(at, end - at)).place());
        at = end + 1;
      }
    } else if (word == "soft") {
      options.soft = true;
    } else if (word == "stay") {
      options.keep_homes = true;
    } else {
      throw ValueError("'" + word + "' where devices=, scoped=, fallback=, soft or stay is expected");
    }
  }
  Graph placed = rewrite::place(graph, options, log);
  expr::verify(placed);
  return placed;
}

Graph in_order_of_use(const Graph& graph) {
  const Arena& from = graph.arena;
  Graph result;
  result.constants = graph.constants;
  std::vector<NodeId> to(from.size(), expr::no_node);
  const auto move = [&](NodeId id) {
    if (to[id] != expr::no_node) return;
    std::vector<NodeId> inputs;
    for (const NodeId input : from.inputs(id)) inputs.push_back(to[input]);
    expr::TensorType type{from.type(id).dtype, {}};
    for (const NodeId dim : from.type(id).shape) type.shape.push_back(to[from.representative(dim)]);
    to[id] = result.arena.make_typed(from.op(id), inputs, from.attrs(id), result.arena.intern_type(type),
                                     from.node(id).place);
  };
  for (const expr::GraphInput& input : graph.inputs) {
    for (const NodeId dim : from.type(input.node).shape) move(from.representative(dim));
    move(input.node);
    result.inputs.push_back(input);
    result.inputs.back().node = to[input.node];
  }
  for (const NodeId id : walk(graph)) move(id);
  for (const NodeId output : graph.outputs) result.outputs.push_back(to[output]);
  for (const expr::Update& update : graph.updates) result.updates.push_back({update.input, to[update.value]});
  return result;
}

std::vector<Array> random_inputs(const Graph& graph, std::uint64_t seed) {
  const Arena& arena = graph.arena;
  const double low = takes_positive(graph) ? 0.1 : -2;
  std::map<NodeId, std::int64_t> sizes;
  std::vector<Array> inputs;
  for (const expr::GraphInput& input : graph.inputs) {
    Sizes shape;
    for (const NodeId dim : arena.type(input.node).shape) {
      const auto known = arena.known(dim);
      const auto next = static_cast<std::int64_t>(3 + sizes.size());
      shape.push_back(known ? *known : sizes.try_emplace(arena.representative(dim), next).first->second);
    }
    const DType dtype = arena.type(input.node).dtype;
    const double high = is_float(dtype) ? 2 : is_bool(dtype) ? 1 : 3;
    ++seed;
    inputs.push_back(is_bool(dtype)
                         ? Array::uniform(DType::float64, shape, seed, -0.5, 1.5).astype(DType::int32).astype(dtype)
                         : Array::uniform(dtype, shape, seed, is_float(dtype) ? low : 0, high));
  }
  return inputs;
}

namespace {

class ProgramEvaluator {
 public:
  ProgramEvaluator(const fuse::Program& program, std::span<const Array> inputs)
      : program_(program), graph_(program.graph), inputs_(inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_.insert_or_assign(graph_.inputs[i].node, inputs[i]);
  }

  std::vector<Array> run() {
    for (const fuse::Call& call : program_.calls) std::visit([&](const auto& work) { run(work); }, call.work);
    std::vector<Array> results;
    for (const NodeId root : graph_.roots()) results.push_back(value(root));
    return results;
  }

 private:
  /// The stored value of a kernel or product, a leaf, or a view of one of these, which products may read.
  Array value(NodeId id) {
    if (const auto at = values_.find(id); at != values_.end()) return at->second;
    const expr::Op& op = graph_.arena.op(id);
    if (op.kind == expr::Kind::Leaf) return by_reference({id})[0];
    if (op.name != "dimshuffle")
      throw InternalError("a program reads " + std::string(op.name) + ", which nothing has computed");
    Sizes shape;
    for (const NodeId dim : graph_.arena.type(id).shape) shape.push_back(number(dim));
    return op.evaluate(
        {graph_.arena.attrs(id), {value(graph_.arena.input(id, 0)).contiguous()}, graph_.arena.type(id).dtype, shape});
  }

  std::vector<Array> by_reference(std::vector<NodeId> nodes) const {
    Graph asked = graph_;
    asked.outputs = std::move(nodes);
    asked.updates.clear();
    return expr::evaluate(asked, inputs_);
  }
  std::int64_t number(NodeId id) const { return expr::element_of(by_reference({id})[0], 0).as_int(); }

  void run(const fuse::KernelCall& call) {
    std::vector<Array> reads;
    for (const NodeId read : call.reads) reads.push_back(value(read));
    std::vector<std::int64_t> extents;
    for (const NodeId extent : call.extents) extents.push_back(number(extent));
    std::vector<Sizes> shapes;
    for (const NodeId write : call.writes) {
      Sizes& shape = shapes.emplace_back();
      for (const NodeId dim : graph_.arena.type(write).shape) shape.push_back(number(dim));
    }
    const std::vector<Array> written = kernel::evaluate(*call.kernel, reads, extents, shapes);
    for (std::size_t i = 0; i < written.size(); ++i) values_.insert_or_assign(call.writes[i], written[i]);
  }

  void run(const fuse::TransferCall& call) { values_.insert_or_assign(call.result, value(call.source)); }
  template <class Other>
  void run(const Other&) {
    throw InternalError("programs of texts have no callbacks, loops and branches");
  }

  void run(const fuse::RoutineCall& call) {
    std::vector<Array> inputs;
    for (const NodeId read : call.reads) inputs.push_back(value(read).contiguous());
    Sizes shape;
    for (const NodeId dim : graph_.arena.type(call.result).shape) shape.push_back(number(dim));
    values_.insert_or_assign(call.result, graph_.arena.op(call.result)
                                              .evaluate({graph_.arena.attrs(call.result), std::move(inputs),
                                                         graph_.arena.type(call.result).dtype, shape})
                                              .contiguous());
  }

  void run(const fuse::ProductCall& call) {
    const DType dtype = graph_.arena.type(call.result).dtype;
    const Array left = value(call.left), right = value(call.right);
    const Sizes shape{left.shape(0), right.shape(1)};
    if (call.accumulate == expr::no_node) {
      values_.insert_or_assign(call.result,
                               expr::op("dot").evaluate({{}, {left.contiguous(), right.contiguous()}, dtype, shape}));
    } else {
      const expr::Attrs attrs{{"alpha", call.alpha}, {"beta", call.beta}};
      const std::vector<Array> inputs{value(call.accumulate).contiguous(), left.contiguous(), right.contiguous()};
      values_.insert_or_assign(call.result, expr::op("gemm").evaluate({attrs, inputs, dtype, shape}));
    }
  }

  const fuse::Program& program_;
  const Graph& graph_;
  std::span<const Array> inputs_;
  std::map<NodeId, Array> values_;
};

}  // namespace

std::vector<Array> evaluate(const fuse::Program& program, std::span<const Array> inputs) {
  return ProgramEvaluator(program, inputs).run();
}

}  // namespace croton::text
