#include "fuse/host.hpp"

#include <algorithm>

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Kind;

bool is_integer_scalar(const Arena& arena, NodeId id) {
  return arena.type(id).rank() == 0 && is_discrete(arena.type(id).dtype);
}

class Finder {
 public:
  explicit Finder(const expr::Graph& graph) : arena_(graph.arena), needed_(expr::reachable(graph)) {
    result_.known.assign(arena_.size(), false);
    result_.known_from.assign(arena_.size(), first_segment);
    result_.segment.assign(arena_.size(), first_segment);
  }

  HostValues run() {
    find_known();
    find_fresh();
    if (!result_.fresh.empty()) {
      find_known();  // including the nodes that depend on fresh ones
      find_segments();
    }
    return std::move(result_);
  }

 private:
  void find_known() {
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (result_.known[id] || !is_integer_scalar(arena_, id)) continue;
      const expr::Op& op = arena_.op(id);
      if (op.is(expr::Core::const_, expr::Core::size)) result_.known[id] = true;
      if (op.is(expr::Core::input))
        result_.known[id] = base::is_host(arena_.node(id).place);  // an input on a device is read back
      if (op.kind == Kind::Map)
        result_.known[id] = std::ranges::all_of(arena_.inputs(id), [&](NodeId input) { return result_.known[input]; });
    }
  }

  /// Finds the fresh sizes: the numbers that sizes and requirements need and that the host does not know. Integer
  /// arithmetic stays on the host, so that the sizes n, n + 1 and 2 n need only one fresh size.
  void find_fresh() {
    std::vector<bool> wanted(arena_.size(), false);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!needed_[id]) continue;
      for (const NodeId dim : arena_.type(id).shape) wanted[arena_.representative(dim)] = true;
      // An integer that is read from another device is a number that is passed to a launch: a start, a bound, an index.
      for (const NodeId input : arena_.inputs(id)) {
        if (arena_.op(id).kind != Kind::Transfer && arena_.node(input).place != arena_.node(id).place)
          wanted[input] = wanted[input] || is_integer_scalar(arena_, input);
      }
    }
    for (const expr::Requirement& r : arena_.requirements()) wanted[r.left] = wanted[r.right] = true;
    for (NodeId id = arena_.size(); id-- > 0;) {
      if (!wanted[id] || result_.known[id]) continue;
      const bool arithmetic =
          arena_.op(id).kind == Kind::Map &&
          std::ranges::all_of(arena_.inputs(id), [&](NodeId input) { return is_integer_scalar(arena_, input); });
      if (arithmetic) {
        for (const NodeId input : arena_.inputs(id)) wanted[input] = true;
      } else {
        result_.known[id] = true;
        result_.fresh.push_back(id);
      }
    }
    std::ranges::reverse(result_.fresh);
  }

  void find_segments() {
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!needed_[id]) continue;
      SegmentId& segment = result_.segment[id];
      SegmentId& known_from = result_.known_from[id];
      for (const NodeId dim : arena_.type(id).shape)
        segment = std::max(segment, result_.known_from[arena_.representative(dim)]);
      const bool is_map = arena_.op(id).kind == Kind::Map;
      for (const NodeId input : arena_.inputs(id)) {
        segment = std::max(segment, result_.segment[input]);
        // Views and generators get bounds and starts from the host; maps read values in memory.
        if (!is_map && result_.known[input]) segment = std::max(segment, result_.known_from[input]);
        if (result_.known[input]) known_from = std::max(known_from, result_.known_from[input]);
      }
      if (result_.is_fresh(id)) {
        known_from = segment.next();
        result_.segments = std::max(result_.segments, known_from.index() + 1);
      }
    }
  }

  const Arena& arena_;
  std::vector<bool> needed_;
  HostValues result_;
};

}  // namespace

bool HostValues::is_fresh(NodeId id) const { return std::ranges::binary_search(fresh, id); }

HostValues host_values(const expr::Graph& graph) { return Finder(graph).run(); }

}  // namespace croton::fuse
