#include "fuse/storage.hpp"

#include <algorithm>
#include <utility>

#include "fuse/contraction.hpp"
#include "fuse/node_work.hpp"
#include "fuse/product.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;

// A map this cheap, on operands that are stored anyway, is computed again where it is used: storing and reading it back
// costs more.
constexpr int cheap_cost = 10;
constexpr int max_cheap_loads = 2;

// Views of views of views are read through one another by recursion, in sources.cpp and in lowering: after so many one
// is stored.
constexpr int max_view_depth = 200;

// An element of a join reads each of its parts under a condition of its own, and joins of joins multiply these reads:
// beyond so many the parts are stored first. A join that several nodes read is stored from the lower number on.
constexpr int max_join_reads = 48;
constexpr int max_shared_join_reads = 8;

class StorageFinder {
 public:
  StorageFinder(const expr::Graph& graph, const HostValues& host, const Options& options)
      : graph_(graph), arena_(graph.arena), host_(host), options_(options), found_{graph.arena, host, {}, {},
                                                                                   {},          {},   {}} {
    for (auto* nodes : {&found_.computed, &found_.must_store, &found_.cheap, &found_.contracts, &found_.deep})
      nodes->assign(arena_.size(), false);
  }

  Storage run() {
    find_computed();
    store_results_and_calls();
    find_contractions();
    find_cheap();
    find_slid();
    store_repeated();
    bound_reads();
    bound_depth();
    return std::move(found_);
  }

 private:
  bool is_leaf(NodeId id) const { return arena_.op(id).kind == Kind::Leaf; }
  bool is_call(NodeId id) const { return fuse::is_call(arena_.op(id)); }

  /// A size that is only in a type needs no kernel.
  void find_computed() {
    for (const NodeId root : graph_.roots()) found_.computed[root] = true;
    for (const NodeId fresh : host_.fresh) found_.computed[fresh] = true;
    for (NodeId id = arena_.size(); id-- > 0;) {
      if (!found_.computed[id]) continue;
      for (const NodeId input : value_inputs(arena_, id)) found_.computed[input] = true;
    }
  }

  void store_results_and_calls() {
    for (const NodeId root : graph_.roots()) {
      if (!is_leaf(root)) found_.must_store[root] = true;
    }
    for (const NodeId fresh : host_.fresh) found_.must_store[fresh] = true;
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id] || !is_call(id)) continue;
      found_.must_store[id] = true;
      for (const NodeId input : arrays_of_call(id)) {
        const NodeId base = read_by_call(id, input);
        if (!is_leaf(base)) found_.must_store[base] = true;
      }
    }
  }

  /// The inputs of a call that it reads as arrays: the other inputs of callbacks are sizes; the first of a loop is its
  /// number of steps, of a branch its condition.
  std::span<const NodeId> arrays_of_call(NodeId call) const {
    const Kind kind = arena_.op(call).kind;
    if (kind == Kind::Host) return host_arguments(arena_, call);
    const bool has_number = kind == Kind::Loop || (kind == Kind::Branch && host_.known[arena_.input(call, 0)]);
    return has_number ? arena_.inputs(call).subspan(1) : arena_.inputs(call);
  }

  /// What a call reads in place of its input, below views that it reads through.
  NodeId read_by_call(NodeId call, NodeId input) const {
    // A product reads transposed operands itself; any other view is made a matrix of its own.
    NodeId base = input;
    while (arena_.op(call).kind == Kind::Contract && !found_.must_store[base] && matrix_view(arena_, base))
      base = arena_.input(base, 0);
    // A loop walks its sequences as they lie.
    while (is_sequence(call, input) && !found_.must_store[base] && is_sequence_view(graph_, host_, base))
      base = arena_.input(base, 0);
    return base;
  }

  /// Whether the loop reads it as a sequence, and as nothing else.
  bool is_sequence(NodeId loop, NodeId input) const {
    if (arena_.op(loop).kind != Kind::Loop) return false;
    const auto inputs = arena_.inputs(loop);
    const auto others = inputs.subspan(1 + arena_.attrs(loop).index("sequences"));
    return std::ranges::find(others, input) == others.end();
  }

  void find_contractions() {
    if (!options_.join) return;
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id]) continue;
      found_.contracts[id] = is_contraction(arena_, id);
      if (!found_.contracts[id] && !computes_filters(arena_, id)) continue;
      found_.cheap[arena_.input(id, 0)] = true;  // the products
      for (const NodeId operand : contraction_operands(arena_, id)) {
        if (!is_leaf(operand)) found_.must_store[operand] = true;
      }
    }
  }

  void find_cheap() {
    std::vector<int> cost(arena_.size(), 0), loads(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id]) continue;
      const Kind kind = arena_.op(id).kind;
      if (kind == Kind::Leaf || is_call(id)) {
        loads[id] = arena_.scalar_value(id) || arena_.type(id).rank() == 0 ? 0 : 1;
        continue;
      }
      bool from_stored = kind == Kind::Map || kind == Kind::Check || kind == Kind::View || kind == Kind::Generate ||
                         kind == Kind::Window;
      for (const NodeId input : arena_.inputs(id)) {
        const Kind read = arena_.op(input).kind;
        const bool again = read != Kind::Reduce && read != Kind::Join && read != Kind::Gather;
        from_stored = from_stored && again && cost[input] <= cheap_cost;
        // Of no interest beyond the limits; shared operands count twice, so that sums of sums would overflow.
        cost[id] = std::min(cost[id] + cost[input], cheap_cost + 1);
        loads[id] = std::min(loads[id] + loads[input], max_cheap_loads + 1);
      }
      if (arena_.op(id).map != nullptr) cost[id] += arena_.op(id).map->cost;
      if (!from_stored) cost[id] = cheap_cost + 1;
      found_.cheap[id] = found_.cheap[id] || (options_.join && (kind == Kind::Map || kind == Kind::Check) &&
                                              from_stored && cost[id] <= cheap_cost && loads[id] <= max_cheap_loads);
    }
  }

  /// Each element of a map that only windows slide over is read by one element of one window: it is computed there.
  void find_slid() {
    std::vector<int> users(arena_.size(), 0);
    std::vector<NodeId> user(arena_.size(), expr::no_node);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id]) continue;
      for (const NodeId input : arena_.inputs(id)) {
        ++users[input];
        user[input] = id;
      }
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (arena_.op(id).kind != Kind::Map || users[id] != 1 || !options_.join) continue;
      const NodeId window = user[id];
      found_.cheap[id] = found_.cheap[id] || (arena_.op(window).kind == Kind::Window && users[window] == 1);
    }
  }

  /// Random numbers are drawn again by each reader, which costs as much as to read them back; but not by one that would
  /// draw an element many times, as it is repeated along an axis.
  void store_repeated() {
    std::vector<bool> drawn(arena_.size(), false);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id]) continue;
      const expr::Op& op = arena_.op(id);
      const bool repeats = op.kind == Kind::Map || op.kind == Kind::Check || op.is(expr::Core::alloc);
      for (const NodeId input : arena_.inputs(id)) {
        if (!drawn[input] || arena_.type(input).rank() == 0) continue;
        if (repeats && !arena_.same_shape(arena_.type(id).shape, arena_.type(input).shape))
          found_.must_store[input] = true;
        else if (found_.is_virtual(id))
          drawn[id] = true;
      }
      if (op.element_cost > cheap_cost) drawn[id] = true;
    }
  }

  void bound_reads() {
    std::vector<int> reads(arena_.size(), 0), users(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id]) continue;
      for (const NodeId input : arena_.inputs(id)) ++users[input];
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id] || arena_.type(id).rank() == 0) continue;
      reads[id] = 1;
      const bool joins = arena_.op(id).kind == Kind::Join || arena_.op(id).kind == Kind::Gather;
      if (is_leaf(id) || (!joins && !found_.is_virtual(id))) continue;
      const auto total = [&] {
        int sum = 0;
        for (const NodeId input : arena_.inputs(id)) sum = std::min(sum + reads[input], max_join_reads + 1);
        return std::max(sum, 1);
      };
      reads[id] = total();
      if (!joins) continue;
      if (reads[id] > max_join_reads) {
        for (const NodeId input : arena_.inputs(id)) {
          if (reads[input] <= 1) continue;
          found_.must_store[input] = true;
          reads[input] = 1;
        }
        reads[id] = total();
      }
      found_.must_store[id] =
          found_.must_store[id] || reads[id] > (users[id] > 1 ? max_shared_join_reads : max_join_reads);
      if (found_.must_store[id]) reads[id] = 1;
    }
  }

  void bound_depth() {
    std::vector<int> depth(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!found_.computed[id] || is_leaf(id) || !found_.is_virtual(id)) continue;
      for (const NodeId input : arena_.inputs(id)) depth[id] = std::max(depth[id], depth[input] + 1);
      if (depth[id] < max_view_depth) continue;
      found_.must_store[id] = found_.deep[id] = true;
      depth[id] = 0;
    }
  }

  const expr::Graph& graph_;
  const Arena& arena_;
  const HostValues& host_;
  const Options& options_;
  Storage found_;
};

}  // namespace

Storage find_storage(const expr::Graph& graph, const HostValues& host, const Options& options) {
  return StorageFinder(graph, host, options).run();
}

}  // namespace croton::fuse
