#include "fuse/region.hpp"

#include <algorithm>
#include <map>

#include "fuse/contraction.hpp"
#include "fuse/product.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;

// A map this cheap, on operands that are stored anyway, is computed again where it is used: storing and reading it back
// costs more.
constexpr int cheap_cost = 10;
constexpr int max_cheap_loads = 2;

// Views of views of views are read through one another by recursion, here and in lowering: after so many one is stored.
constexpr int max_view_depth = 200;

// An element of a join reads each of its parts under a condition of its own, and joins of joins multiply these reads:
// beyond so many the parts are stored first. A join that several nodes read is stored from the lower number on.
constexpr int max_join_reads = 48;
constexpr int max_shared_join_reads = 8;

/// How an element of a source is found from the element of a node that uses it: per dimension of the source, which
/// dimension of the user's iteration space indexes it, or repeated (size 1).
constexpr int repeated = -1;
struct Source {
  NodeId node;
  bool aligned = true;  // false: through a view that is not just a permutation
  std::vector<int> axes;
};

class Finder {
 public:
  Finder(const expr::Graph& graph, const HostValues& host, const Options& options)
      : graph_(graph), arena_(graph.arena), host_(host), options_(options) {
    const std::size_t count = arena_.size();
    result_.region_of.assign(count, -1);
    result_.stored.assign(count, false);
    result_.level_of.assign(count, 0);
    result_.deep.assign(count, false);
    seen_.assign(count, 0);
    sent_.assign(count, false);
    for (NodeId id = 0; id < count; ++id) {
      for (const NodeId input : arena_.inputs(id)) {
        if (arena_.op(input).kind == Kind::Transfer) sent_[arena_.input(input, 0)] = true;
      }
    }
    // A size that is only in a type needs no kernel.
    result_.computed.assign(count, false);
    for (const NodeId root : graph.roots()) result_.computed[root] = true;
    for (const NodeId fresh : host_.fresh) result_.computed[fresh] = true;
    for (NodeId id = static_cast<NodeId>(count); id-- > 0;) {
      if (!result_.computed[id]) continue;
      for (const NodeId input : value_inputs(arena_, id)) result_.computed[input] = true;
    }
  }

  Regions run() {
    must_store();
    find_contractions();
    find_cheap();
    store_repeated();
    bound_reads();
    bound_depth();
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (result_.computed[id]) place(id);
    }
    mark_stored();
    return std::move(result_);
  }

 private:
  bool is_leaf(NodeId id) const { return arena_.op(id).kind == Kind::Leaf; }
  bool is_view(NodeId id) const { return arena_.op(id).kind == Kind::View; }
  bool is_call(NodeId id) const { return fuse::is_call(arena_.op(id)); }
  /// Read through where it is used, unless it must be stored.
  bool is_virtual(NodeId id) const {
    if (must_store_[id]) return false;
    const Kind kind = arena_.op(id).kind;
    return kind == Kind::View || kind == Kind::Generate || kind == Kind::Join || kind == Kind::Gather ||
           kind == Kind::Window || cheap_[id] || host_.known[id];
  }

  void must_store() {
    must_store_.assign(arena_.size(), false);
    for (const NodeId root : graph_.roots()) {
      if (!is_leaf(root)) must_store_[root] = true;
    }
    for (const NodeId fresh : host_.fresh) must_store_[fresh] = true;
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id] || !is_call(id)) continue;
      must_store_[id] = true;
      // The other inputs of callbacks are sizes; the first of a loop is its number of steps, of a branch its condition.
      const Kind kind = arena_.op(id).kind;
      for (const NodeId input : kind == Kind::Host ? host_arguments(arena_, id)
                                : kind == Kind::Loop || (kind == Kind::Branch && host_.known[arena_.input(id, 0)])
                                    ? arena_.inputs(id).subspan(1)
                                    : arena_.inputs(id)) {
        // A product reads transposed operands itself; any other view is made a matrix of its own.
        NodeId base = input;
        while (arena_.op(id).kind == Kind::Contract && !must_store_[base] && matrix_view(arena_, base))
          base = arena_.input(base, 0);
        // A loop walks its sequences as they lie.
        while (is_sequence(id, input) && !must_store_[base] && is_sequence_view(graph_, host_, base))
          base = arena_.input(base, 0);
        if (!is_leaf(base)) must_store_[base] = true;
      }
    }
  }

  /// Whether the loop reads it as a sequence, and as nothing else.
  bool is_sequence(NodeId loop, NodeId input) const {
    if (arena_.op(loop).kind != Kind::Loop) return false;
    const auto inputs = arena_.inputs(loop);
    const auto sequences = static_cast<std::size_t>(arena_.attrs(loop).integer("sequences"));
    const auto others = inputs.subspan(1 + sequences);
    return std::ranges::find(others, input) == others.end();
  }

  void find_contractions() {
    contracts_.assign(arena_.size(), false);
    cheap_.assign(arena_.size(), false);
    if (!options_.join) return;
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id]) continue;
      contracts_[id] = is_contraction(arena_, id);
      if (!contracts_[id] && !computes_filters(arena_, id)) continue;
      cheap_[arena_.input(id, 0)] = true;  // the products
      for (const NodeId operand : contraction_operands(arena_, id)) {
        if (!is_leaf(operand)) must_store_[operand] = true;
      }
    }
  }

  void find_cheap() {
    std::vector<int> cost(arena_.size(), 0), loads(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id]) continue;
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
      cheap_[id] = cheap_[id] || (options_.join && (kind == Kind::Map || kind == Kind::Check) && from_stored &&
                                  cost[id] <= cheap_cost && loads[id] <= max_cheap_loads);
    }
    find_slid();
  }

  /// Each element of a map that only windows slide over is read by one element of one window: it is computed there.
  void find_slid() {
    std::vector<int> users(arena_.size(), 0);
    std::vector<NodeId> user(arena_.size(), expr::no_node);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id]) continue;
      for (const NodeId input : arena_.inputs(id)) {
        ++users[input];
        user[input] = id;
      }
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (arena_.op(id).kind != Kind::Map || users[id] != 1 || !options_.join) continue;
      const NodeId window = user[id];
      cheap_[id] = cheap_[id] || (arena_.op(window).kind == Kind::Window && users[window] == 1);
    }
  }

  /// Random numbers are drawn again by each reader, which costs as much as to read them back; but not by one that would
  /// draw an element many times, as it is repeated along an axis.
  void store_repeated() {
    std::vector<bool> drawn(arena_.size(), false);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id]) continue;
      const expr::Op& op = arena_.op(id);
      const bool repeats = op.kind == Kind::Map || op.kind == Kind::Check || op.is(expr::Core::alloc);
      for (const NodeId input : arena_.inputs(id)) {
        if (!drawn[input] || arena_.type(input).rank() == 0) continue;
        if (repeats && !arena_.same_shape(arena_.type(id).shape, arena_.type(input).shape))
          must_store_[input] = true;
        else if (is_virtual(id))
          drawn[id] = true;
      }
      if (op.element_cost > cheap_cost) drawn[id] = true;
    }
  }

  void bound_reads() {
    std::vector<int> reads(arena_.size(), 0), users(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id]) continue;
      for (const NodeId input : arena_.inputs(id)) ++users[input];
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id] || arena_.type(id).rank() == 0) continue;
      reads[id] = 1;
      const bool joins = arena_.op(id).kind == Kind::Join || arena_.op(id).kind == Kind::Gather;
      if (is_leaf(id) || (!joins && !is_virtual(id))) continue;
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
          must_store_[input] = true;
          reads[input] = 1;
        }
        reads[id] = total();
      }
      must_store_[id] = must_store_[id] || reads[id] > (users[id] > 1 ? max_shared_join_reads : max_join_reads);
      if (must_store_[id]) reads[id] = 1;
    }
  }

  void bound_depth() {
    std::vector<int> depth(arena_.size(), 0);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id] || is_leaf(id) || !is_virtual(id)) continue;
      for (const NodeId input : arena_.inputs(id)) depth[id] = std::max(depth[id], depth[input] + 1);
      if (depth[id] < max_view_depth) continue;
      must_store_[id] = result_.deep[id] = true;
      depth[id] = 0;
    }
  }

  /// The computed nodes that `user` reads, with how it indexes them, views and cheap maps read through.
  void collect(NodeId node, std::vector<int> axes, bool aligned, std::vector<Source>& sources) const {
    // What the host has at once is computed again even where it is stored as a result.
    const bool again = is_virtual(node) || (host_.known_at_once(node) && !is_leaf(node) && !result_.deep[node]);
    if (again && arena_.type(node).rank() == 0) {
      // One element, whichever way leads to it: once is enough, and there may be very many ways.
      if (seen_[node] == collection_) return;
      seen_[node] = collection_;
      return collect_inputs(node, {}, true, sources);
    }
    if (!again) {
      if (!is_leaf(node)) sources.push_back({node, aligned, std::move(axes)});
      return;
    }
    collect_inputs(node, axes, aligned, sources);
  }

  /// What the node, whose dimensions are indexed by `axes`, reads through its inputs.
  void collect_inputs(NodeId node, const std::vector<int>& axes, bool aligned, std::vector<Source>& sources) const {
    const expr::Op& op = arena_.op(node);
    const bool broadcasts =
        op.kind == Kind::Map || op.kind == Kind::Check || op.is(expr::Core::alloc, expr::Core::specify_shape);
    for (const NodeId input : arena_.inputs(node)) {
      if (op.is(expr::Core::dimshuffle)) {
        const expr::Ints& pattern = arena_.attrs(node).ints("pattern");
        std::vector<int> inner(arena_.type(input).rank(), repeated);
        for (std::size_t d = 0; d < pattern.size(); ++d) {
          if (pattern[d] >= 0) inner[static_cast<std::size_t>(pattern[d])] = axes[d];
        }
        collect(input, std::move(inner), aligned, sources);
      } else if (broadcasts) {
        collect(input, broadcast(input, axes), aligned, sources);
      } else {
        collect(input, std::vector<int>(arena_.type(input).rank(), repeated), false, sources);
      }
    }
  }

  /// The axes of an operand of a map, aligned at the end.
  std::vector<int> broadcast(NodeId operand, const std::vector<int>& axes) const {
    const auto& shape = arena_.type(operand).shape;
    std::vector<int> result;
    result.reserve(shape.size());
    const std::size_t missing = axes.size() >= shape.size() ? axes.size() - shape.size() : 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      result.push_back(arena_.known(shape[d]) == 1 ? repeated : axes[missing + d]);
    }
    return result;
  }

  /// A shape without its stated sizes of 1, and where each dimension went (`repeated` for those).
  struct Space {
    std::vector<NodeId> sizes;
    std::vector<int> axes;
  };
  Space space_of(const std::vector<NodeId>& shape) const {
    Space space;
    for (const NodeId dim : shape) {
      const bool one = arena_.known(dim) == 1;
      space.axes.push_back(one ? repeated : static_cast<int>(space.sizes.size()));
      if (!one) space.sizes.push_back(arena_.representative(dim));
    }
    return space;
  }

  static std::vector<NodeId> without(const std::vector<NodeId>& space, const expr::Ints& axes) {
    std::vector<NodeId> left;
    for (std::size_t axis = 0; axis < space.size(); ++axis) {
      if (!std::ranges::binary_search(axes, static_cast<std::int64_t>(axis))) left.push_back(space[axis]);
    }
    return left;
  }

  /// A node to be placed: its iteration space and, for a reduction, the reduced axes.
  struct Candidate {
    NodeId node;
    std::vector<NodeId> space;
    expr::Ints inner;
    bool reduces = false;
  };

  void place(NodeId id) {
    const expr::Op& op = arena_.op(id);
    if (op.kind == Kind::Leaf || is_virtual(id)) return;
    if (is_call(id)) {
      std::vector<Source> sources;
      ++collection_;
      for (const NodeId input : arena_.inputs(id)) {
        // What is sent has been stored, also a number that kernels would compute again.
        if (must_store_[input])
          sources.push_back({input, false, {}});
        else
          collect(input, std::vector<int>(arena_.type(input).rank(), 0), false, sources);
      }
      // What only sends a leaf comes before everything, so that kernels are the same wherever inputs lie.
      if (op.kind == Kind::Transfer) result_.level_of[id] = -1;
      for (const Source& s : sources)
        result_.level_of[id] = std::max(result_.level_of[id], result_.level_of[s.node] + 1);
      return;
    }
    Candidate c{id, {}, {}, reduces(arena_, id)};
    std::vector<Source> sources;
    ++collection_;
    const std::int64_t copies = written_out(arena_, id);
    const Space space = space_of(arena_.type(op.kind == Kind::Reduce && copies == 0 ? arena_.input(id, 0) : id).shape);
    c.space = space.sizes;
    if (c.reduces) {
      for (const std::int64_t axis : arena_.attrs(id).ints("axes")) {
        if (space.axes[static_cast<std::size_t>(axis)] != repeated)
          c.inner.push_back(space.axes[static_cast<std::size_t>(axis)]);
      }
    }
    if (copies != 0) {
      const NodeId input = arena_.input(id, 0);
      collect(input, std::vector<int>(arena_.type(input).rank(), repeated), false, sources);
    } else if (op.kind == Kind::Reduce) {
      for (const NodeId input : value_inputs(arena_, id)) collect(input, space.axes, true, sources);
    } else {
      collect_inputs(id, space.axes, true, sources);
    }
    const int found = contracts_[id] ? -1 : choose(c, sources);
    join(found >= 0 ? found : open_region(c, sources), c, sources);
  }

  static std::vector<int> identity(const std::vector<NodeId>& space) {
    std::vector<int> axes(space.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
    return axes;
  }

  /// Where the candidate's dimensions lie in the region's space: -1 if it does not fit in; else the axis per dimension.
  std::optional<std::vector<int>> fit(const Candidate& c, const Region& region) const {
    if (region.body_nodes >= options_.max_body_nodes || region.segment != host_.segment[c.node] ||
        region.place != arena_.node(c.node).place)
      return std::nullopt;
    if (c.reduces) {
      if (c.space != region.space || (!region.inner.empty() && region.inner != c.inner)) return std::nullopt;
      return identity(c.space);
    }
    if (c.space == region.space) return identity(c.space);
    if (region.inner.empty() || c.space != without(region.space, region.inner)) return std::nullopt;
    std::vector<int> axes;
    for (std::size_t axis = 0; axis < region.space.size(); ++axis) {
      if (!std::ranges::binary_search(region.inner, static_cast<std::int64_t>(axis)))
        axes.push_back(static_cast<int>(axis));
    }
    return axes;
  }

  /// Whether a source that is a member of the region is read by the candidate at the point where the region computes
  /// it.
  bool lines_up(const Source& source, const std::vector<int>& candidate_axes, const Region& region) const {
    if (!source.aligned) return false;
    const bool reduced = reduces(arena_, source.node);
    const auto& shape = arena_.type(source.node).shape;
    const Space space = space_of(shape);
    std::vector<int> own;  // axis of the region for each axis of the source
    if (!reduced && space.sizes == region.space) {
      own = identity(space.sizes);
    } else {
      for (std::size_t axis = 0; axis < region.space.size(); ++axis) {
        if (!std::ranges::binary_search(region.inner, static_cast<std::int64_t>(axis)))
          own.push_back(static_cast<int>(axis));
      }
    }
    if (own.size() != space.sizes.size()) return false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (space.axes[d] == repeated) continue;
      if (source.axes[d] == repeated) return false;
      if (candidate_axes[static_cast<std::size_t>(source.axes[d])] != own[static_cast<std::size_t>(space.axes[d])])
        return false;
    }
    return true;
  }

  int choose(const Candidate& c, const std::vector<Source>& sources) {
    if (!options_.join) return -1;
    std::vector<int> tried;
    for (const Source& source : sources) {
      const int r = result_.region_of[source.node];
      if (r >= 0 && std::ranges::find(tried, r) == tried.end()) tried.push_back(r);
    }
    // The highest region first: only it can be at or above all the others.
    std::ranges::sort(tried, std::ranges::greater{},
                      [&](int r) { return result_.regions[static_cast<std::size_t>(r)].level; });
    // Siblings of the same space may be joined as well; not with what work on another device waits for, which would
    // wait for them all.
    if (const auto at = by_space_.find(c.space); at != by_space_.end() && !sent_[c.node]) {
      for (const int r : at->second) {
        if (std::ranges::find(tried, r) == tried.end() && !sends_.contains(r)) tried.push_back(r);
      }
    }
    for (const int r : tried) {
      if (may_join(c, sources, r)) return r;
    }
    return -1;
  }

  /// Whether the region is a contraction that takes the candidate in as part of what it does with its sums. The
  /// gradient of a parameter is left to the launch that updates all parameters.
  bool may_follow(const Candidate& c, const Region& region) const {
    if (c.reduces || c.space == region.space) return false;
    return std::ranges::none_of(graph_.updates, [&](const expr::Update& update) {
      return space_of(arena_.type(graph_.inputs[update.input].node).shape).sizes == c.space;
    });
  }

  bool may_join(const Candidate& c, const std::vector<Source>& sources, int r) const {
    const Region& region = result_.regions[static_cast<std::size_t>(r)];
    if (contracts_[region.members.front()] && !may_follow(c, region)) return false;
    const auto axes = fit(c, region);
    if (!axes) return false;
    const bool element_wise = c.reduces || c.space == region.space;
    for (const Source& source : sources) {
      const int from = result_.region_of[source.node];
      if (from != r) {
        if (result_.level_of[source.node] >= region.level) return false;
        continue;
      }
      if (!lines_up(source, *axes, region)) return false;
      // With no parallel axes the reduction is split over blocks: nothing may walk the elements again after it.
      const bool whole = region.inner.size() == region.space.size() && !region.inner.empty();
      if (whole && element_wise && after_reduction_.contains(source.node)) return false;
    }
    return true;
  }

  int open_region(const Candidate& c, const std::vector<Source>& sources) {
    Region region;
    region.space = c.space;
    region.segment = host_.segment[c.node];
    region.place = arena_.node(c.node).place;
    for (const Source& source : sources) region.level = std::max(region.level, result_.level_of[source.node] + 1);
    result_.regions.push_back(std::move(region));
    const int r = static_cast<int>(result_.regions.size()) - 1;
    auto& list = by_space_[c.space];
    list.insert(list.begin(), r);
    if (list.size() > 4) list.pop_back();  // keeps the search short; old regions are full or too low
    return r;
  }

  void join(int r, const Candidate& c, const std::vector<Source>& sources) {
    Region& region = result_.regions[static_cast<std::size_t>(r)];
    if (c.reduces) region.inner = c.inner;
    region.members.push_back(c.node);
    if (sent_[c.node]) sends_.insert(r);
    region.body_nodes += 1 + arena_.inputs(c.node).size() + static_cast<std::size_t>(3 * written_out(arena_, c.node));
    result_.region_of[c.node] = r;
    result_.level_of[c.node] = region.level;
    bool after = c.reduces;
    for (const Source& source : sources)
      after = after || (result_.region_of[source.node] == r && after_reduction_.contains(source.node));
    if (after) after_reduction_.insert(c.node);
  }

  /// Members that something outside their region reads.
  void mark_stored() {
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!result_.computed[id]) continue;
      if (must_store_[id]) result_.stored[id] = true;
      if (is_leaf(id) || is_virtual(id)) continue;
      std::vector<Source> sources;
      ++collection_;
      for (const NodeId input : value_inputs(arena_, id))
        collect(input, std::vector<int>(arena_.type(input).rank(), 0), false, sources);
      for (const Source& source : sources) {
        if (result_.region_of[source.node] != result_.region_of[id] || result_.region_of[id] < 0)
          result_.stored[source.node] = true;
      }
    }
  }

  const expr::Graph& graph_;
  const Arena& arena_;
  const HostValues& host_;
  Options options_;
  Regions result_;
  mutable std::vector<std::uint32_t> seen_;  // per node: in which collection it was met last
  std::uint32_t collection_ = 0;
  std::vector<bool> must_store_, cheap_;
  std::vector<bool> contracts_;  // per node: a sum of products that is a kernel of its own kind
  std::set<NodeId> after_reduction_;
  std::vector<bool> sent_;  // nodes that work on another device waits for
  std::set<int> sends_;     // regions with such members
  std::map<std::vector<NodeId>, std::vector<int>> by_space_;
};

}  // namespace

bool is_call(const expr::Op& op) {
  return op.kind == Kind::Contract || op.kind == Kind::Transfer || op.kind == Kind::Host || op.kind == Kind::Loop ||
         op.kind == Kind::Branch || op.routine != nullptr;
}

namespace {

/// Whether all axes have the stated size 1.
bool is_of_one(const Arena& arena, NodeId reduction) {
  const auto& shape = arena.type(arena.input(reduction, 0)).shape;
  return std::ranges::all_of(arena.attrs(reduction).ints("axes"), [&](std::int64_t axis) {
    return arena.known(shape[static_cast<std::size_t>(axis)]) == 1;
  });
}

/// Whether it is the elements of windows, or one map of such.
bool is_of_windows(const Arena& arena, NodeId node) {
  const auto slides = [&](NodeId x) {
    while (arena.op(x).is(expr::Core::dimshuffle)) x = arena.input(x, 0);
    return arena.op(x).kind == Kind::Window;
  };
  return slides(node) || (arena.op(node).kind == Kind::Map && std::ranges::any_of(arena.inputs(node), slides));
}

}  // namespace

std::int64_t written_out(const Arena& arena, NodeId node) {
  // A kernel has as many copies of what it reduces.
  constexpr std::int64_t most = 32;
  if (arena.op(node).kind != Kind::Reduce || is_of_one(arena, node)) return 0;
  const NodeId input = arena.input(node, 0);
  std::int64_t count = 1;
  for (const std::int64_t axis : arena.attrs(node).ints("axes")) {
    const auto size = arena.known(arena.type(input).shape[static_cast<std::size_t>(axis)]);
    if (!size || *size < 1 || *size > most / count) return 0;
    count *= *size;
  }
  return is_of_windows(arena, input) ? count : 0;
}

bool reduces(const Arena& arena, NodeId node) {
  return arena.op(node).kind == Kind::Reduce && !is_of_one(arena, node) && written_out(arena, node) == 0;
}

std::span<const NodeId> value_inputs(const Arena& arena, NodeId node) {
  const expr::Op& op = arena.op(node);
  const bool constant = op.reduce != nullptr && op.reduce->yields_index && is_of_one(arena, node);
  return constant ? std::span<const NodeId>{} : arena.inputs(node);
}

Regions find_regions(const expr::Graph& graph, const HostValues& host, const Options& options) {
  return Finder(graph, host, options).run();
}

}  // namespace croton::fuse
