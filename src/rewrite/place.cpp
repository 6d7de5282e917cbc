#include "rewrite/place.hpp"

#include <algorithm>
#include <map>

#include "base/device_name.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Kind;
using expr::NodeId;
using expr::Place;

constexpr std::int64_t unstated_size = 1000;

/// A place as placed graphs have it: the first CPU is the host.
Place normal(Place place) { return place == base::DeviceName{}.place() ? host_place : place; }

class Placer {
 public:
  Placer(const expr::Graph& graph, const PlaceOptions& options, std::vector<Placement>* log)
      : from_(graph), arena_(graph.arena), options_(options), log_(log) {}

  expr::Graph run() {
    decide();
    result_.constants = from_.constants;
    // Sizes are leaves that types need before anything else is made.
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (arena_.op(id).name == "size" || arena_.scalar_value(id)) at(id, host_place);
    }
    for (const expr::GraphInput& input : from_.inputs) {
      result_.inputs.push_back(input);
      result_.inputs.back().node = at(input.node, place_[input.node]);
      result_.inputs.back().place = place_[input.node];
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (computed_[id] && !anywhere_[id]) at(id, place_[id]);
    }
    for (const expr::Requirement& r : arena_.requirements()) {
      expr::Requirement moved = r;
      moved.left = scalar(r.left);
      moved.right = scalar(r.right);
      moved.origin = result_.arena.add_origin(arena_.origin_of(r.origin));
      result_.arena.add_requirement(std::move(moved));
    }
    for (const NodeId output : from_.outputs) result_.outputs.push_back(at(output, host_place));
    for (const expr::Update& update : from_.updates) {
      const expr::GraphInput& target = result_.inputs[update.input];
      const Place computed = anywhere_[update.value] ? target.place : place_[update.value];
      result_.updates.push_back({update.input, at(update.value, target.pinned ? target.place : computed)});
    }
    return std::move(result_);
  }

 private:
  /// Where each node runs, and which may run anywhere: scalars made of sizes and numbers alone.
  void decide() {
    const std::vector<bool> needed = expr::reachable(from_);
    place_.assign(arena_.size(), host_place);
    pinned_.assign(arena_.size(), host_place);
    weight_.assign(arena_.size(), 0);
    anywhere_.assign(arena_.size(), false);
    computed_ = needed;
    std::vector<bool> has_pin(arena_.size(), false);
    for (const expr::GraphInput& input : from_.inputs) {
      place_[input.node] = normal(input.place);
      pinned_[input.node] = place_[input.node];
      has_pin[input.node] = input.pinned;
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (!needed[id]) continue;
      const expr::Op& op = arena_.op(id);
      weight_[id] = bytes(id);
      if (op.kind == Kind::Leaf) {
        anywhere_[id] = op.name != "input";
        continue;
      }
      const auto inputs = arena_.inputs(id);
      const Place stated = arena_.node(id).place;
      anywhere_[id] = stated == 0 && op.kind == Kind::Map && arena_.type(id).rank() == 0 &&
                      std::ranges::all_of(inputs, [&](NodeId input) { return anywhere_[input]; });
      if (anywhere_[id]) continue;
      // The pin of the heaviest input that has one is handed on.
      std::int64_t heaviest = -1;
      for (const NodeId input : inputs) {
        if (!has_pin[input] || weight_[input] <= heaviest) continue;
        heaviest = weight_[input];
        has_pin[id] = true;
        pinned_[id] = pinned_[input];
      }
      std::string_view reason = "default";
      if (stated != 0) {
        place_[id] = normal(stated);
        reason = "device_scope";
      } else if (options_.scoped != 0) {
        place_[id] = normal(options_.scoped);
        reason = "change_flags";
      } else if (has_pin[id]) {
        place_[id] = pinned_[id];
        reason = "pinned input";
      } else {
        place_[id] = normal(options_.fallback);
      }
      reasons_[id] = reason;
    }
  }

  std::int64_t bytes(NodeId id) const {
    std::int64_t total = static_cast<std::int64_t>(size_of(arena_.type(id).dtype));
    for (const NodeId dim : arena_.type(id).shape) {
      const std::int64_t size = arena_.known(arena_.representative(dim)).value_or(unstated_size);
      total = size > 0 && total > INT64_MAX / 4 / size ? INT64_MAX / 4 : total * size;
    }
    return total;
  }

  /// Numbers for the host: sizes, bounds and indices, wherever they are computed.
  NodeId scalar(NodeId id) { return anywhere_[id] ? at(id, host_place) : at(id, place_[id]); }

  /// The value of a node on a device: made there, or sent there.
  NodeId at(NodeId id, Place place) {
    const auto key = std::pair(id, place);
    if (const auto known = made_.find(key); known != made_.end()) return known->second;
    NodeId result = expr::no_node;
    if (anywhere_[id] || place_[id] == place) {
      result = make(id, place);
    } else {
      const NodeId source = at(id, place_[id]);
      Arena& to = result_.arena;
      to.set_origin(to.origin_id(source));
      result = to.make_typed(expr::op("transfer"), std::span(&source, 1), {}, to.node(source).type, place);
      note(result, "transfer");
    }
    made_[key] = result;
    return result;
  }

  NodeId make(NodeId id, Place place) {
    Arena& to = result_.arena;
    const expr::Op& op = arena_.op(id);
    // A transfer that the user asked for has done its work when its input is where it should be.
    if (op.kind == Kind::Transfer) return at(arena_.input(id, 0), place);
    std::vector<NodeId> inputs;
    for (const NodeId input : arena_.inputs(id)) {
      const bool number = op.kind != Kind::Map && arena_.type(input).rank() == 0 && is_discrete(arena_.type(input).dtype);
      inputs.push_back(number ? scalar_input(id, input, place) : at(input, place));
    }
    expr::TensorType type{arena_.type(id).dtype, {}};
    for (const NodeId dim : arena_.type(id).shape) type.shape.push_back(scalar(arena_.representative(dim)));
    to.set_origin(to.add_origin(arena_.origin(id)));
    const NodeId result = to.make_typed(op, inputs, arena_.attrs(id), to.intern_type(type), place);
    if (op.kind != Kind::Leaf) note(result, anywhere_[id] ? "default" : reasons_.at(id));
    return result;
  }

  /// A scalar that a view or generator reads: a number of the host, unless it is the thing that is viewed.
  NodeId scalar_input(NodeId user, NodeId input, Place place) {
    const bool first = arena_.input(user, 0) == input && arena_.op(user).kind == Kind::View;
    return first ? at(input, place) : scalar(input);
  }

  void note(NodeId node, std::string_view reason) {
    if (log_ != nullptr) log_->push_back({node, reason});
  }

  const expr::Graph& from_;
  const Arena& arena_;
  PlaceOptions options_;
  std::vector<Placement>* log_;
  expr::Graph result_;
  std::vector<Place> place_, pinned_;
  std::vector<std::int64_t> weight_;
  std::vector<bool> anywhere_, computed_;
  std::map<NodeId, std::string_view> reasons_;
  std::map<std::pair<NodeId, Place>, NodeId> made_;
};

}  // namespace

bool uses_devices(const expr::Graph& graph, const PlaceOptions& options) {
  if (normal(options.scoped) != host_place || normal(options.fallback) != host_place) return true;
  for (const expr::GraphInput& input : graph.inputs) {
    if (normal(input.place) != host_place) return true;
  }
  for (NodeId id = 0; id < graph.arena.size(); ++id) {
    if (normal(graph.arena.node(id).place) != host_place) return true;
  }
  return false;
}

expr::Graph place(const expr::Graph& graph, const PlaceOptions& options, std::vector<Placement>* log) {
  return Placer(graph, options, log).run();
}

}  // namespace croton::rewrite
