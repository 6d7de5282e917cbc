#include "fuse/region.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/device_name.hpp"
#include "base/index.hpp"
#include "fuse/node_work.hpp"
#include "fuse/sources.hpp"
#include "fuse/storage.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;

std::vector<NodeId> without(const std::vector<NodeId>& space, const Axes& axes) {
  std::vector<NodeId> left;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    if (!std::ranges::binary_search(axes, axis)) left.push_back(space[axis]);
  }
  return left;
}

Axes identity(const std::vector<NodeId>& space) {
  Axes axes(space.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

/// The parallel axes of the region's space.
Axes outer_axes(const Region& region) {
  Axes axes;
  for (std::size_t axis = 0; axis < region.space.size(); ++axis) {
    if (!std::ranges::binary_search(region.inner, axis)) axes.push_back(axis);
  }
  return axes;
}

/// A node that needs a region: its iteration space and, for a reduction, the reduced axes.
struct Candidate {
  NodeId node;
  std::vector<NodeId> space;
  Axes inner;
  bool reduces = false;
};

class RegionFinder {
 public:
  RegionFinder(const expr::Graph& graph, const HostValues& host, const Options& options)
      : graph_(graph),
        arena_(graph.arena),
        host_(host),
        options_(options),
        storage_(find_storage(graph, host, options)),
        collector_(storage_) {
    const NodeId count = arena_.size();
    result_.region_of.assign(count, no_region);
    result_.stored.assign(count, Stored::no);
    result_.level_of.assign(count, 0);
    is_sent_.assign(count, false);
    is_update_.assign(count, false);
    for (const expr::Update& update : graph.updates) is_update_[update.value] = true;
    for (NodeId id = 0; id < count; ++id) {
      for (const NodeId input : arena_.inputs(id)) {
        if (arena_.op(input).kind == Kind::Transfer) is_sent_[arena_.input(input, 0)] = true;
      }
    }
  }

  Regions run() {
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (storage_.computed[id]) place(id);
    }
    mark_stored();
    result_.computed = std::move(storage_.computed);
    return std::move(result_);
  }

 private:
  void place(NodeId id) {
    const expr::Op& op = arena_.op(id);
    if (op.kind == Kind::Leaf || storage_.is_virtual(id)) return;
    if (is_call(op)) return place_call(id);
    const Candidate c = candidate_of(id);
    const std::vector<Source>& sources = collector_.sources();
    RegionId found = storage_.contracts[id] ? no_region : choose(c, sources);
    if (found == no_region) {
      std::vector<Separation> apart = separations(c, sources);
      found = open_region(c, sources);
      result_.regions[found].apart = std::move(apart);
    }
    join(found, c, sources);
  }

  /// Calls are in no region. The level of a call is higher than the levels of all nodes that it reads.
  void place_call(NodeId id) {
    collector_.begin();
    for (const NodeId input : arena_.inputs(id)) {
      // A transfer reads a stored node, even a number that kernels would compute again.
      if (storage_.is_stored(input))
        collector_.add(input);
      else
        collector_.collect(input, Axes(arena_.type(input).rank(), 0), false);
    }
    // Transfers of leaves come before everything else, so that kernels are the same for inputs on any device.
    if (arena_.op(id).kind == Kind::Transfer) result_.level_of[id] = -1;
    for (const Source& s : collector_.sources())
      result_.level_of[id] = std::max(result_.level_of[id], result_.level_of[s.node] + 1);
    note_reader(collector_.sources(), result_.level_of[id]);
  }

  /// Notes that a call or the region `reader`, of this level, reads the sources.
  void note_reader(const std::vector<Source>& sources, int level, RegionId reader = no_region) {
    for (const Source& source : sources) {
      const RegionId r = result_.region_of[source.node];
      if (r != no_region && r != reader) lowest_reader_[r] = std::min(lowest_reader_[r], level);
    }
  }

  /// The node as a candidate. The collector then has its sources.
  Candidate candidate_of(NodeId id) {
    Candidate c{id, {}, {}, reduces(arena_, id)};
    collector_.begin();
    const bool is_reduction = arena_.op(id).kind == Kind::Reduce;
    const std::int64_t copies = unrolled_count(arena_, id);
    const Space space = space_of(arena_, arena_.type(is_reduction && copies == 0 ? arena_.input(id, 0) : id).shape);
    c.space = space.sizes;
    if (c.reduces) {
      for (const std::int64_t axis : arena_.attrs(id).ints("axes")) {
        const std::size_t of_space = base::nth(space.axes, axis);
        if (of_space != repeated) c.inner.push_back(of_space);
      }
    }
    if (copies != 0) {
      const NodeId input = arena_.input(id, 0);
      collector_.collect(input, Axes(arena_.type(input).rank(), repeated), false);
    } else if (is_reduction) {
      for (const NodeId input : value_inputs(arena_, id)) collector_.collect(input, space.axes, true);
    } else {
      collector_.collect_inputs(id, space.axes, true);
    }
    return c;
  }

  /// Why the candidate cannot join the region whatever their shapes are.
  std::optional<Apart> is_elsewhere(const Candidate& c, const Region& region) const {
    if (region.place != arena_.node(c.node).place) return Apart::device;
    if (region.segment != host_.segment[c.node]) return Apart::sizes_read_back;
    if (region.body_nodes >= options_.max_body_nodes) return Apart::too_large;
    return std::nullopt;
  }

  /// The axis of the region's space for each dimension of the candidate; nothing if the candidate cannot
  /// join the region.
  std::optional<Axes> fit(const Candidate& c, const Region& region) const {
    if (c.reduces) {
      if (c.space != region.space || (!region.inner.empty() && region.inner != c.inner)) return std::nullopt;
      return identity(c.space);
    }
    if (c.space == region.space) return identity(c.space);
    if (region.inner.empty() || c.space != without(region.space, region.inner)) return std::nullopt;
    return outer_axes(region);
  }

  /// Whether the candidate reads a source in the region at the same point at which the region computes it.
  bool is_aligned(const Source& source, const Axes& candidate_axes, const Region& region) const {
    if (!source.aligned) return false;
    const bool reduced = reduces(arena_, source.node);
    const auto& shape = arena_.type(source.node).shape;
    const Space space = space_of(arena_, shape);
    // The axis of the region for each axis of the source.
    const bool is_whole = !reduced && space.sizes == region.space;
    const Axes own = is_whole ? identity(space.sizes) : outer_axes(region);
    if (own.size() != space.sizes.size()) return false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (space.axes[d] == repeated) continue;
      if (source.axes[d] == repeated) return false;
      if (candidate_axes[source.axes[d]] != own[space.axes[d]]) return false;
    }
    return true;
  }

  RegionId choose(const Candidate& c, const std::vector<Source>& sources) {
    if (!options_.join) return no_region;
    std::vector<RegionId> tried;
    for (const Source& source : sources) {
      const RegionId r = result_.region_of[source.node];
      if (r != no_region && std::ranges::find(tried, r) == tried.end()) tried.push_back(r);
    }
    // The highest region comes first: only it can be at or above the level of all others.
    std::ranges::sort(tried, std::ranges::greater{}, [&](RegionId r) { return result_.regions[r].level; });
    const std::vector<RegionId> read = tried;
    for (const RegionId r : neighbours(c)) {
      if (std::ranges::find(tried, r) == tried.end()) tried.push_back(r);
    }
    for (const RegionId r : tried) {
      if (!why_apart(c, sources, r, result_.regions[r].level)) return r;
    }
    for (const RegionId r : tried) {
      const int level = level_above(sources, r);
      const bool shares = std::ranges::find(read, r) != read.end() || (updates(c, r) && !mixes(c, r));
      if (!shares || !may_rise(c, r, level) || why_apart(c, sources, r, level)) continue;
      raise(r, level);
      return r;
    }
    return no_region;
  }

  /// The reasons why the candidate, for which `choose` has found no region, is apart from those that it reads.
  std::vector<Separation> separations(const Candidate& c, const std::vector<Source>& sources) const {
    std::vector<Separation> found;
    std::vector<RegionId> seen;
    for (const Source& source : sources) {
      const RegionId r = result_.region_of[source.node];
      if (r == no_region || std::ranges::find(seen, r) != seen.end()) continue;
      seen.push_back(r);
      Apart reason = Apart::every_op;
      if (storage_.contracts[c.node]) {
        reason = Apart::contraction;
      } else if (options_.join) {
        const auto why = why_apart(c, sources, r, result_.regions[r].level);
        if (!why) throw InternalError("a node is apart from a kernel that it could join");
        reason = *why;
      }
      found.push_back({source.node, reason});
    }
    return found;
  }

  /// Regions of which the candidate need not read values: those of the same space, and for updates those that read the
  /// same arrays. Nodes that work on another device waits for join none: that work would wait for the whole region.
  std::vector<RegionId> neighbours(const Candidate& c) const {
    std::vector<RegionId> found;
    if (is_sent_[c.node]) return found;
    std::vector<RegionId> of_arrays;
    for (const NodeId array : collector_.arrays()) {
      const auto at = by_array_.find(array);
      if (at != by_array_.end()) of_arrays.insert(of_arrays.end(), at->second.begin(), at->second.end());
    }
    const auto add = [&](RegionId r) {
      if (sending_regions_.contains(r)) return;
      // Updates of different parameters become one launch of several kernels, which share one text.
      if (!updates(c, r) || std::ranges::find(of_arrays, r) != of_arrays.end()) found.push_back(r);
    };
    if (const auto at = by_space_.find(c.space); at != by_space_.end()) std::ranges::for_each(at->second, add);
    if (is_update_[c.node]) std::ranges::for_each(of_arrays, add);
    return found;
  }

  bool updates(const Candidate& c, RegionId r) const {
    return !c.space.empty() && (is_update_[c.node] || updating_regions_.contains(r));
  }

  /// Whether a kernel of both would store updates and other results, so that it could not overwrite the old values.
  bool mixes(const Candidate& c, RegionId r) const {
    return is_update_[c.node] ? storing_regions_.contains(r)
                              : storage_.is_stored(c.node) && updating_regions_.contains(r);
  }

  /// The lowest level above those of the sources that are not in the region.
  int level_above(const std::vector<Source>& sources, RegionId r) const {
    int level = 0;
    for (const Source& source : sources) {
      if (result_.region_of[source.node] != r) level = std::max(level, result_.level_of[source.node] + 1);
    }
    return level;
  }

  /// Whether the region may wait for values of higher levels that the candidate reads, too. Elements that both need are
  /// then read once: the new value of a parameter is computed with the moments of its gradient, although it also reads
  /// the rate of the step.
  bool may_rise(const Candidate& c, RegionId r, int level) const {
    const Region& region = result_.regions[r];
    const bool element_wise = c.reduces || c.space == region.space;
    return element_wise && level < lowest_reader_[r] && !sending_regions_.contains(r);
  }
  void raise(RegionId r, int level) {
    result_.regions[r].level = level;
    for (const NodeId member : result_.regions[r].members) result_.level_of[member] = level;
  }

  /// Whether a contraction can compute the candidate in its epilogue, from its sums. The gradient of a parameter is
  /// left to the launch that updates all parameters.
  bool may_be_epilogue(const Candidate& c, const Region& region) const {
    if (c.reduces || c.space == region.space) return false;
    return std::ranges::none_of(graph_.updates, [&](const expr::Update& update) {
      return space_of(arena_, arena_.type(graph_.inputs[update.input].node).shape).sizes == c.space;
    });
  }

  /// Why the candidate cannot join the region, if that has this level; nothing if it can.
  std::optional<Apart> why_apart(const Candidate& c, const std::vector<Source>& sources, RegionId r, int level) const {
    const Region& region = result_.regions[r];
    if (const auto elsewhere = is_elsewhere(c, region)) return elsewhere;
    if (storage_.contracts[region.members.front()] && !may_be_epilogue(c, region)) return Apart::contraction;
    const auto axes = fit(c, region);
    if (!axes) return Apart::shape;
    const bool element_wise = c.reduces || c.space == region.space, whole = reduces_all(region);
    const bool is_apart = base::DeviceName::of_place(region.place).is_gpu();
    for (const Source& source : sources) {
      const RegionId from = result_.region_of[source.node];
      if (from != r) {
        if (result_.level_of[source.node] >= level) return Apart::order;
        // Reductions of everything that do not depend on each other are one launch on a GPU, at whose end a kernel of
        // its own joins their results; the end of one of them would have to wait for the others.
        const bool is_other = from != no_region && reduces_all(result_.regions[from]) && !read_by_[r].contains(from);
        if (is_apart && whole && !element_wise && is_other) return Apart::other_reduction;
        continue;
      }
      if (!is_aligned(source, *axes, region)) return Apart::position;
      // Without parallel axes the reduction is split over blocks, so no member may iterate over the elements after it.
      if (whole && element_wise && after_reduction_.contains(source.node)) return Apart::after_reduction;
    }
    return std::nullopt;
  }

  static bool reduces_all(const Region& region) {
    return region.inner.size() == region.space.size() && !region.inner.empty();
  }

  RegionId open_region(const Candidate& c, const std::vector<Source>& sources) {
    Region region;
    region.space = c.space;
    region.segment = host_.segment[c.node];
    region.place = arena_.node(c.node).place;
    for (const Source& source : sources) region.level = std::max(region.level, result_.level_of[source.node] + 1);
    const RegionId r = result_.regions.end_id();
    result_.regions.push_back(std::move(region));
    lowest_reader_.push_back(std::numeric_limits<int>::max());
    read_by_.emplace_back();
    add_recent(by_space_[c.space], r);
    return r;
  }

  /// Keeps the search short: old regions are full or on too low a level.
  static void add_recent(std::vector<RegionId>& list, RegionId r) {
    if (std::ranges::find(list, r) != list.end()) return;
    list.insert(list.begin(), r);
    if (list.size() > 4) list.pop_back();
  }

  void join(RegionId r, const Candidate& c, const std::vector<Source>& sources) {
    Region& region = result_.regions[r];
    if (c.reduces) region.inner = c.inner;
    region.members.push_back(c.node);
    if (is_sent_[c.node]) sending_regions_.insert(r);
    if (storage_.is_stored(c.node)) (is_update_[c.node] ? updating_regions_ : storing_regions_).insert(r);
    for (const NodeId array : collector_.arrays()) add_recent(by_array_[array], r);
    region.body_nodes += 1 + arena_.inputs(c.node).size() + base::to_size(3 * unrolled_count(arena_, c.node));
    result_.region_of[c.node] = r;
    result_.level_of[c.node] = region.level;
    note_reader(sources, region.level, r);
    bool after = c.reduces;
    for (const Source& source : sources) {
      const RegionId from = result_.region_of[source.node];
      if (from != r && from != no_region) read_by_[r].insert(from);
      after = after || (from == r && after_reduction_.contains(source.node));
    }
    if (after) after_reduction_.insert(c.node);
  }

  /// Marks the members that are read outside of their region.
  void mark_stored() {
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!storage_.computed[id]) continue;
      if (storage_.is_stored(id)) result_.stored[id] = storage_.stored[id];
      if (arena_.op(id).kind == Kind::Leaf || storage_.is_virtual(id)) continue;
      collector_.begin();
      for (const NodeId input : value_inputs(arena_, id))
        collector_.collect(input, Axes(arena_.type(input).rank(), 0), false);
      for (const Source& source : collector_.sources()) {
        if (result_.region_of[source.node] != result_.region_of[id] || result_.region_of[id] == no_region)
          note_stored(source.node);
      }
    }
  }

  void note_stored(NodeId read) {
    if (result_.stored[read] == Stored::no) result_.stored[read] = Stored::other_kernel;
  }

  const expr::Graph& graph_;
  const Arena& arena_;
  const HostValues& host_;
  const Options& options_;
  Storage storage_;
  SourceCollector collector_;
  Regions result_;
  std::set<NodeId> after_reduction_;
  base::IdVector<RegionId, std::set<RegionId>> read_by_;  // per region: the regions that it reads
  base::IdVector<RegionId, int> lowest_reader_;  // per region: the lowest level of the calls and regions that read it
  std::vector<bool> is_sent_;                    // nodes that are sent to another device
  std::vector<bool> is_update_;                  // nodes that are the new value of a shared variable
  std::set<RegionId> sending_regions_, updating_regions_;          // regions with such nodes
  std::set<RegionId> storing_regions_;                             // regions with other results
  std::map<std::vector<NodeId>, std::vector<RegionId>> by_space_;  // the latest ones first
  std::map<NodeId, std::vector<RegionId>> by_array_;               // those that read the array, the latest ones first
};

}  // namespace

Regions find_regions(const expr::Graph& graph, const HostValues& host, const Options& options) {
  return RegionFinder(graph, host, options).run();
}

}  // namespace croton::fuse
