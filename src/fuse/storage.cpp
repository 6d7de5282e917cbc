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

// A map of at most this cost, on operands that are stored anyway, is computed again by each reader, because it costs
// more to store it and to read it back. A reader of the stored value loads it instead of an operand, so that the store
// is what is saved: on an H200 4 bytes take the time of 32 instructions (codegen/machine_constants.hpp), which are 21
// additions (codegen/cost_model.cpp), for each of two readers 10.
constexpr int cheap_cost = 10;
constexpr int max_cheap_loads = 2;

// sources.cpp and lowering read through chains of views by recursion. One view of a longer chain is stored.
constexpr int max_view_depth = 200;

// An element of a join has a conditional read for each part, and joins of joins multiply these reads. If there are more
// reads than this, the parts are stored first. The lower limit is for joins that several nodes read.
constexpr int max_join_reads = 48;
constexpr int max_shared_join_reads = 8;

class StorageFinder {
 public:
  StorageFinder(const expr::Graph& graph, const HostValues& host, const Options& options)
      : graph_(graph), arena_(graph.arena), host_(host), options_(options), storage_{graph.arena, host, {},
                                                                                     {},          {},   {}} {
    storage_.stored.assign(arena_.size(), Stored::no);
    for (auto* nodes : {&storage_.computed, &storage_.cheap, &storage_.contracts}) nodes->assign(arena_.size(), false);
  }

  Storage run() {
    find_computed();
    store_results_and_calls();
    find_contractions();
    find_cheap();
    find_maps_of_windows();
    store_repeated_draws();
    bound_reads();
    bound_depth();
    return std::move(storage_);
  }

 private:
  void store(NodeId id, Stored reason) {
    if (!storage_.is_stored(id)) storage_.stored[id] = reason;
  }
  bool is_leaf(NodeId id) const { return arena_.op(id).kind == Kind::Leaf; }
  bool is_call(NodeId id) const { return fuse::is_call(arena_.op(id)); }

  /// The nodes that results depend on by value. A size that occurs only in a type needs no kernel.
  void find_computed() {
    for (const NodeId root : graph_.roots()) storage_.computed[root] = true;
    for (const NodeId fresh : host_.fresh) storage_.computed[fresh] = true;
    for (NodeId id = arena_.size(); id-- > 0;) {
      if (!storage_.computed[id]) continue;
      for (const NodeId input : value_inputs(arena_, id)) storage_.computed[input] = true;
    }
  }

  void store_results_and_calls() {
    for (const NodeId root : graph_.roots()) {
      if (!is_leaf(root)) store(root, Stored::result);
    }
    for (const NodeId fresh : host_.fresh) store(fresh, Stored::result);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id] || !is_call(id)) continue;
      store(id, Stored::call);
      for (const NodeId input : arrays_of_call(id)) {
        const NodeId base = read_by_call(id, input);
        if (!is_leaf(base)) store(base, Stored::operand);
      }
    }
  }

  /// The inputs that a call reads as arrays. The other inputs of callbacks are sizes; the first input of a loop is its
  /// number of steps, that of a branch its condition.
  std::span<const NodeId> arrays_of_call(NodeId call) const {
    const Kind kind = arena_.op(call).kind;
    if (kind == Kind::Host) return host_arguments(arena_, call);
    const bool has_number = kind == Kind::Loop || (kind == Kind::Branch && host_.known[arena_.input(call, 0)]);
    return has_number ? arena_.inputs(call).subspan(1) : arena_.inputs(call);
  }

  /// The node that a call reads for an input: the call reads through some views.
  NodeId read_by_call(NodeId call, NodeId input) const {
    // A product can read transposed operands; any other view is stored as a matrix.
    NodeId base = input;
    while (arena_.op(call).kind == Kind::Contract && !storage_.is_stored(base) && matrix_view(arena_, base))
      base = arena_.input(base, 0);
    // A loop reads its sequences with any strides.
    while (is_sequence(call, input) && !storage_.is_stored(base) && is_sequence_view(graph_, host_, base))
      base = arena_.input(base, 0);
    return base;
  }

  /// Whether the loop reads the input only as a sequence.
  bool is_sequence(NodeId loop, NodeId input) const {
    if (arena_.op(loop).kind != Kind::Loop) return false;
    const auto inputs = arena_.inputs(loop);
    const auto others = inputs.subspan(1 + arena_.attrs(loop).index("sequences"));
    return std::ranges::find(others, input) == others.end();
  }

  void find_contractions() {
    if (!options_.join) return;
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id]) continue;
      storage_.contracts[id] = is_contraction(arena_, id);
      if (!storage_.contracts[id] && !computes_filters(arena_, id)) continue;
      storage_.cheap[arena_.input(id, 0)] = true;  // the products of the factors
      for (const NodeId operand : contraction_operands(arena_, id)) {
        if (!is_leaf(operand)) store(operand, Stored::operand);
      }
    }
  }

  void find_cheap() {
    std::vector<int> cost(arena_.size(), 0), loads(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id]) continue;
      const Kind kind = arena_.op(id).kind;
      if (kind == Kind::Leaf || is_call(id)) {
        loads[id] = arena_.scalar_value(id) || arena_.type(id).rank() == 0 ? 0 : 1;
        continue;
      }
      bool from_stored = kind == Kind::Map || kind == Kind::Check || kind == Kind::View || kind == Kind::Generate ||
                         kind == Kind::Window;
      for (const NodeId input : arena_.inputs(id)) {
        if (is_stored_scalar(id, input, cost[input])) continue;
        const Kind read = arena_.op(input).kind;
        const bool recomputed = read != Kind::Reduce && read != Kind::Join && read != Kind::Gather;
        from_stored = from_stored && recomputed && cost[input] <= cheap_cost;
        // Values are capped just above the limits: shared operands count twice, so the exact sums could overflow.
        cost[id] = std::min(cost[id] + cost[input], cheap_cost + 1);
        loads[id] = std::min(loads[id] + loads[input], max_cheap_loads + 1);
      }
      if (arena_.op(id).map != nullptr) cost[id] += arena_.op(id).map->cost;
      if (!from_stored) cost[id] = cheap_cost + 1;
      storage_.cheap[id] =
          storage_.cheap[id] || (options_.join && (kind == Kind::Map || kind == Kind::Check) && from_stored &&
                                 cost[id] <= cheap_cost && loads[id] <= max_cheap_loads);
    }
  }

  /// Whether an array reads a scalar that costs too much to be computed again for each element: it has a kernel of its
  /// own, and costs the readers of the array no more than a scalar argument.
  bool is_stored_scalar(NodeId reader, NodeId scalar, int cost) const {
    return cost > cheap_cost && arena_.op(reader).kind == Kind::Map && arena_.type(scalar).rank() == 0 &&
           arena_.type(reader).rank() > 0;
  }

  /// A map whose only reader is a Window with one reader is computed where the windows are read: one element of one
  /// window reads each of its elements.
  void find_maps_of_windows() {
    std::vector<int> users(arena_.size(), 0);
    std::vector<NodeId> user(arena_.size(), expr::no_node);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id]) continue;
      for (const NodeId input : arena_.inputs(id)) {
        ++users[input];
        user[input] = id;
      }
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (arena_.op(id).kind != Kind::Map || users[id] != 1 || !options_.join) continue;
      const NodeId window = user[id];
      storage_.cheap[id] = storage_.cheap[id] || (arena_.op(window).kind == Kind::Window && users[window] == 1);
    }
  }

  /// Each reader draws random numbers again, which costs as much as to read them back. They are stored if a reader
  /// repeats them along an axis, because it would draw each element many times.
  void store_repeated_draws() {
    std::vector<bool> drawn(arena_.size(), false);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id]) continue;
      const expr::Op& op = arena_.op(id);
      const bool repeats = op.kind == Kind::Map || op.kind == Kind::Check || op.is(expr::Core::alloc);
      for (const NodeId input : arena_.inputs(id)) {
        if (!drawn[input] || arena_.type(input).rank() == 0) continue;
        if (repeats && !arena_.same_shape(arena_.type(id).shape, arena_.type(input).shape))
          store(input, Stored::repeated_draw);
        else if (storage_.is_virtual(id))
          drawn[id] = true;
      }
      if (op.element_cost > cheap_cost) drawn[id] = true;
    }
  }

  void bound_reads() {
    std::vector<int> reads(arena_.size(), 0), users(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id]) continue;
      for (const NodeId input : arena_.inputs(id)) ++users[input];
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id] || arena_.type(id).rank() == 0) continue;
      reads[id] = 1;
      const bool joins = arena_.op(id).kind == Kind::Join || arena_.op(id).kind == Kind::Gather;
      if (is_leaf(id) || (!joins && !storage_.is_virtual(id))) continue;
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
          store(input, Stored::many_reads);
          reads[input] = 1;
        }
        reads[id] = total();
      }
      if (reads[id] > (users[id] > 1 ? max_shared_join_reads : max_join_reads)) store(id, Stored::many_reads);
      if (storage_.is_stored(id)) reads[id] = 1;
    }
  }

  void bound_depth() {
    std::vector<int> depth(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id] || is_leaf(id) || !storage_.is_virtual(id)) continue;
      for (const NodeId input : arena_.inputs(id)) depth[id] = std::max(depth[id], depth[input] + 1);
      if (depth[id] < max_view_depth) continue;
      store(id, Stored::depth);
      depth[id] = 0;
    }
  }

  const expr::Graph& graph_;
  const Arena& arena_;
  const HostValues& host_;
  const Options& options_;
  Storage storage_;
};

}  // namespace

Storage find_storage(const expr::Graph& graph, const HostValues& host, const Options& options) {
  return StorageFinder(graph, host, options).run();
}

}  // namespace croton::fuse
