#include "rewrite/place.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/device_name.hpp"
#include "base/shape.hpp"
#include "base/source_place.hpp"
#include "expr/body.hpp"

namespace croton::rewrite {
namespace {

using base::DeviceName;
using base::host_place;
using base::is_host;
using base::placed_number;
using base::unplaced;
using expr::Arena;
using expr::Core;
using expr::Kind;
using expr::NodeId;
using expr::Place;

constexpr std::int64_t unstated_size = 1000;
constexpr std::int64_t max_bytes = INT64_MAX / 4;

std::string name_of(Place place) { return DeviceName::of_place(place).to_string(); }

class Placer {
 public:
  Placer(const expr::Graph& graph, const PlaceOptions& options, std::vector<Placement>* log)
      : from_(graph), arena_(graph.arena), options_(options), log_(log), decisions_(arena_.size()) {}

  std::vector<Place> places() {
    decide();
    std::vector<Place> all;
    for (const Decision& decision : decisions_) all.push_back(decision.place);
    return all;
  }

  expr::Graph run() {
    decide();
    demand();
    make_all();
    result_.results = options_.results;
    for (const expr::Requirement& r : arena_.requirements()) {
      expr::Requirement moved = r;
      moved.left = number(r.left);
      moved.right = number(r.right);
      moved.origin = to().add_origin(arena_.origin_of(r.origin));
      to().add_requirement(std::move(moved));
    }
    for (const NodeId output : from_.outputs) result_.outputs.push_back(at(output, options_.results));
    for (const expr::Update& update : from_.updates)
      result_.updates.push_back({update.input, at(update.value, place_of_update(update))});
    return std::move(result_);
  }

 private:
  struct Decision {
    bool needed = false;
    bool anywhere = false;  // a scalar of sizes and constants only: computed wherever it is needed
    bool number = false;    // integer arithmetic: the host computes it for sizes and bounds, even if a device also does
    bool stored_on_host = false;   // needed in the host's memory, not only as a number
    bool has_host_inputs = false;  // a number whose inputs are all in the host's memory
    bool has_pin = false;          // an input is pinned or transferred by the user
    Place place = host_place;
    Place pin = host_place;
    std::int64_t bytes = 0;  // of an input, if known
    std::string reason;
    std::vector<std::pair<Place, NodeId>> made;  // the places that need its value, and its node there
  };

  Arena& to() { return result_.arena; }

  // ---- where nodes run ----

  void decide() {
    const std::vector<bool> needed = expr::reachable(from_);
    for (const expr::GraphInput& input : from_.inputs) {
      Decision& d = decisions_[input.node];
      d.place = d.pin = placed_number(input.place);
      d.has_pin = input.pinned;
      d.bytes = std::min(input.bytes, max_bytes);
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (needed[id]) decide(id);
    }
  }

  void decide(NodeId id) {
    const expr::Op& op = arena_.op(id);
    Decision& d = decisions_[id];
    d.needed = true;
    if (op.kind == Kind::Leaf) {
      d.anywhere = !op.is(Core::input);
      return;
    }
    const auto inputs = arena_.inputs(id);
    d.anywhere = arena_.node(id).place == unplaced && op.kind == Kind::Map && arena_.type(id).rank() == 0 &&
                 std::ranges::all_of(inputs, [&](NodeId input) { return decisions_[input].anywhere; });
    if (d.anywhere) {
      d.reason = "a number";
      return;
    }
    d.number = arena_.node(id).place == unplaced && op.kind == Kind::Map && is_integer_scalar(id) &&
               std::ranges::all_of(inputs, [&](NodeId input) { return is_integer_scalar(input); });
    d.has_host_inputs = d.number && std::ranges::all_of(inputs, [&](NodeId input) {
                          const Decision& of = decisions_[input];
                          return of.anywhere || of.place == host_place || of.has_host_inputs;
                        });
    if (op.kind == Kind::Host) {
      d.place = host_place;
      d.reason = "host callback";
      return;
    }
    // The node inherits the pin of its largest pinned input.
    std::int64_t heaviest = -1;
    for (const NodeId input : inputs) {
      if (!decisions_[input].has_pin || bytes(input) <= heaviest) continue;
      heaviest = bytes(input);
      d.has_pin = true;
      d.pin = decisions_[input].pin;
    }
    const Place stated = arena_.node(id).place;
    std::string missing;
    if (stated != unplaced && is_available(stated)) {
      d.place = placed_number(stated);
      d.reason = op.kind == Kind::Transfer ? "transfer" : "device_scope";
      if (op.kind == Kind::Transfer) {
        d.has_pin = true;
        d.pin = d.place;
        if (!arena_.origin(id).name.empty()) named_transfers_[{inputs[0], d.place}] = id;
      }
      return;
    }
    if (stated != unplaced) {
      if (!options_.soft) throw_missing_device(id);
      missing = fmt::format("there is no {}, so: ", name_of(stated));
    }
    if (options_.scoped != unplaced) {
      d.place = placed_number(options_.scoped);
      d.reason = missing + "change_flags";
    } else if (d.has_pin) {
      d.place = d.pin;
      d.reason = missing + "pinned input";
    } else {
      d.place = placed_number(options_.fallback);
      d.reason = missing + "default";
    }
  }

  bool is_integer_scalar(NodeId id) const { return arena_.type(id).rank() == 0 && is_discrete(arena_.type(id).dtype); }

  bool is_available(Place place) const {
    return is_host(place) || std::ranges::find(options_.devices, place) != options_.devices.end();
  }

  [[noreturn]] void throw_missing_device(NodeId id) const {
    std::string available = "cpu";
    for (const Place place : options_.devices) available += ", " + name_of(place);
    const expr::Origin& origin = arena_.origin(id);
    throw DeviceError(
        fmt::format("{}{} ({}) was requested on {}, which does not exist; there are: {} (allow_soft_placement=true "
                    "lets it run on one of them)",
                    arena_.op(id).name, origin.name.empty() ? "" : " " + origin.name, base::file_and_line(origin.where),
                    name_of(arena_.node(id).place), available));
  }

  std::int64_t bytes(NodeId id) const {
    if (decisions_[id].bytes > 0) return decisions_[id].bytes;
    std::int64_t total = base::element_size(arena_.type(id).dtype);
    for (const NodeId dim : arena_.type(id).shape) {
      const std::int64_t size = arena_.known(arena_.representative(dim)).value_or(unstated_size);
      total = size > 0 && total > max_bytes / size ? max_bytes : total * size;
    }
    return total;
  }

  // ---- where values are needed: from the results back ----

  void demand() {
    for (const NodeId output : from_.outputs) demand_stored(output, options_.results);
    for (const expr::Update& update : from_.updates) demand_stored(update.value, place_of_update(update));
    for (const expr::Requirement& r : arena_.requirements()) {
      demand_number(r.left);
      demand_number(r.right);
    }
    for (const expr::GraphInput& input : from_.inputs) demand(input.node, decisions_[input.node].place);
    for (NodeId id = arena_.size(); id-- > 0;) {
      // A value that is sent elsewhere has to be computed at its own place first.
      const auto is_sent = [&](const auto& made) { return !runs_at(id, made.first); };
      if (std::ranges::any_of(decisions_[id].made, is_sent)) demand_stored(id, decisions_[id].place);
      // Not the representative of an equal size: it may come later in the graph, and its inputs were visited already.
      for (const NodeId dim : arena_.type(id).shape) {
        if (!decisions_[id].made.empty()) demand_number(dim);
      }
      for (std::size_t m = 0; m < decisions_[id].made.size(); ++m) {
        const Place place = decisions_[id].made[m].first;
        if (!runs_at(id, place)) continue;
        for (std::size_t i = 0; i < arena_.inputs(id).size(); ++i) {
          const NodeId input = arena_.input(id, i);
          if (reads_number(id, i, place))
            demand_number(input);
          else
            demand_stored(input, input_place(id, i, place));
        }
      }
    }
  }

  void demand(NodeId id, Place place) {
    auto& made = decisions_[id].made;
    if (std::ranges::find(made, place, &std::pair<Place, NodeId>::first) == made.end())
      made.emplace_back(place, expr::no_node);
  }
  void demand_stored(NodeId id, Place place) {
    decisions_[id].stored_on_host |= place == host_place;
    demand(id, place);
  }
  /// The host, which keeps sizes, bounds and indices as numbers; or the device that computes it, from which it is read.
  Place place_of_number(NodeId id) const {
    const Decision& d = decisions_[id];
    return d.anywhere || d.number ? host_place : d.place;
  }
  void demand_number(NodeId id) { demand(id, place_of_number(id)); }

  bool runs_at(NodeId id, Place place) const {
    const Decision& d = decisions_[id];
    if (d.anywhere || d.place == place) return true;
    // A kernel stores a number in memory, and reads the memory of its own device: other numbers are sent.
    return d.number && place == host_place && (!d.stored_on_host || d.has_host_inputs);
  }

  Place place_of_update(const expr::Update& update) const {
    const expr::GraphInput& target = from_.inputs[update.input];
    const Decision& value = decisions_[update.value];
    return target.pinned || options_.keep_homes || value.anywhere ? placed_number(target.place) : value.place;
  }

  /// Whether node `id`, running at `place`, reads its input as a number of the host.
  bool reads_number(NodeId id, std::size_t i, Place place) const {
    const Decision& d = decisions_[id];
    if (d.number && place == host_place && !d.stored_on_host) return true;
    const expr::Op& op = arena_.op(id);
    const expr::TensorType& type = arena_.type(arena_.input(id, i));
    const bool value = std::cmp_less(i, op.values) || op.kind == Kind::Branch || (op.kind == Kind::Loop && i != 0) ||
                       (op.kind == Kind::Host && i + arena_.type(id).rank() < arena_.inputs(id).size());
    return op.kind != Kind::Map && op.kind != Kind::Transfer && !value && type.rank() == 0 && is_discrete(type.dtype);
  }

  /// Where node `id`, running at `place`, reads its input.
  Place input_place(NodeId id, std::size_t i, Place place) const {
    const NodeId input = arena_.input(id, i);
    // A branch reads other inputs where they are: they are only sent if the body that runs needs them.
    if (arena_.op(id).kind == Kind::Branch && i != 0 && !decisions_[input].anywhere && !has_kept_copies(from_, input))
      return decisions_[input].place;
    return reads_number(id, i, place) ? place_of_number(input) : place;
  }

  // ---- the new graph: inputs first ----

  void make_all() {
    result_.constants = from_.constants;
    // Sizes are leaves, and types need them before other nodes are made.
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (arena_.op(id).is(Core::size) || arena_.scalar_value(id)) make(id, host_place);
    }
    for (NodeId id = 0; id < arena_.size(); ++id) {
      for (std::size_t m = 0; m < decisions_[id].made.size(); ++m) {
        const Place place = decisions_[id].made[m].first;
        if (runs_at(id, place)) decisions_[id].made[m].second = make(id, place);
      }
      for (auto& [place, node] : decisions_[id].made) {
        if (node == expr::no_node) node = send(id, place);
      }
    }
    for (const expr::GraphInput& input : from_.inputs) {
      result_.inputs.push_back(input);
      result_.inputs.back().place = decisions_[input.node].place;
      result_.inputs.back().node = at(input.node, decisions_[input.node].place);
    }
  }

  NodeId make(NodeId id, Place place) {
    const expr::Op& op = arena_.op(id);
    if (op.kind == Kind::Transfer) return at(arena_.input(id, 0), place);  // the input is at its destination already
    // Numbers are passed with every launch; constant arrays are stored on devices.
    if (op.kind == Kind::Leaf && decisions_[id].anywhere && !op.is(Core::constant)) place = host_place;
    std::vector<NodeId> inputs;
    for (std::size_t i = 0; i < arena_.inputs(id).size(); ++i)
      inputs.push_back(at(arena_.input(id, i), input_place(id, i, place)));
    expr::TensorType type{arena_.type(id).dtype, {}};
    for (const NodeId dim : arena_.type(id).shape) {
      const NodeId equal = arena_.representative(dim);
      type.shape.push_back(is_made(equal) ? number(equal) : number(dim));
    }
    to().set_origin(to().add_origin(arena_.origin(id)));
    const std::size_t before = to().size();
    const expr::TypeId type_id = to().intern_type(type);
    const NodeId result = expr::has_body(op)
                              ? to().make_typed(op, inputs, with_placed_bodies(id, place), type_id, place)
                              : to().make_typed(op, inputs, arena_.attrs(id), type_id, place);
    const Decision& d = decisions_[id];
    if (op.kind != Kind::Leaf && result >= before) note(result, d.number && place != d.place ? "a number" : d.reason);
    return result;
  }

  /// The attributes with placed bodies: results of a body, inputs of a loop's body and unplaced nodes get the place of
  /// the node.
  expr::Attrs with_placed_bodies(NodeId id, Place place) const {
    expr::Attrs attrs = arena_.attrs(id);
    for (const auto& [name, value] : arena_.attrs(id).items()) {
      const auto* body = std::get_if<expr::BodyPtr>(&value);
      if (body == nullptr) continue;
      expr::Graph graph = (*body)->graph();
      for (std::size_t k = 0; k < graph.inputs.size(); ++k)
        graph.inputs[k].place = arena_.op(id).kind == Kind::Branch ? input_place(id, k + 1, place) : place;
      PlaceOptions options = options_;
      options.scoped = options.fallback = place;
      options.results = place;
      if (place != host_place || uses_devices(graph, {}))
        attrs.set(name, std::make_shared<const expr::Body>(rewrite::place(graph, options)));
    }
    return attrs;
  }

  NodeId send(NodeId id, Place place) {
    const NodeId source = at(id, decisions_[id].place);
    // The user may send a number, which has no memory: it is passed with every launch.
    if (to().scalar_value(source) || to().op(source).is(Core::size)) return source;
    const auto transfer = named_transfers_.find({id, place});
    to().set_origin(transfer == named_transfers_.end() ? to().origin_id(source)
                                                       : to().add_origin(arena_.origin(transfer->second)));
    const NodeId result = to().make_typed(Core::transfer, std::span(&source, 1), {}, to().node(source).type, place);
    note(result, "transfer");
    return result;
  }

  bool is_made(NodeId id) const {
    const auto& made = decisions_[id].made;
    const auto found = std::ranges::find(made, place_of_number(id), &std::pair<Place, NodeId>::first);
    return (found != made.end() && found->second != expr::no_node) || arena_.op(id).is(Core::size) ||
           arena_.scalar_value(id);
  }
  NodeId number(NodeId id) { return at(id, place_of_number(id)); }

  NodeId at(NodeId id, Place place) {
    for (const auto& [where, node] : decisions_[id].made) {
      if (where == place && node != expr::no_node) return node;
    }
    if (arena_.op(id).kind == Kind::Leaf && decisions_[id].anywhere) return make(id, place);
    throw InternalError(fmt::format("placement: %{} is needed on {}, and was not made there", id, name_of(place)));
  }

  void note(NodeId node, std::string reason) {
    if (log_ != nullptr) log_->push_back({node, std::move(reason)});
  }

  const expr::Graph& from_;
  const Arena& arena_;
  const PlaceOptions& options_;
  std::vector<Placement>* log_;
  std::vector<Decision> decisions_;
  std::map<std::pair<NodeId, Place>, NodeId> named_transfers_;  // of the user, by the node and the destination
  expr::Graph result_;
};

}  // namespace

bool has_kept_copies(const expr::Graph& graph, NodeId id) {
  const expr::Op& op = graph.arena.op(id);
  if (op.is(Core::constant)) return true;
  return op.is(Core::input) && graph.inputs[graph.arena.attrs(id).index("index")].role == expr::Role::shared;
}

bool uses_devices(const expr::Graph& graph, const PlaceOptions& options) {
  if (!is_host(options.scoped) || !is_host(options.fallback)) return true;
  for (const expr::GraphInput& input : graph.inputs) {
    if (!is_host(input.place)) return true;
  }
  for (NodeId id = 0; id < graph.arena.size(); ++id) {
    // Also nodes in a scope of the host, which have the number of the name cpu.
    if (graph.arena.node(id).place != unplaced || graph.arena.op(id).kind == Kind::Transfer) return true;
    if (!expr::has_body(graph.arena.op(id))) continue;
    for (const auto& [name, value] : graph.arena.attrs(id).items()) {
      const auto* body = std::get_if<expr::BodyPtr>(&value);
      if (body != nullptr && uses_devices((*body)->graph(), {})) return true;
    }
  }
  return false;
}

std::vector<Place> decide_places(const expr::Graph& graph, const PlaceOptions& options) {
  return Placer(graph, options, nullptr).places();
}

expr::Graph place(const expr::Graph& graph, const PlaceOptions& options, std::vector<Placement>* log) {
  return Placer(graph, options, log).run();
}

}  // namespace croton::rewrite
