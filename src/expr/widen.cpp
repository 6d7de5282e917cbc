#include "expr/widen.hpp"

#include <croton/error.hpp>

#include "expr/body.hpp"

namespace croton::expr {
namespace {

class Widener {
 public:
  explicit Widener(const Graph& graph) : graph_(graph), from_(graph.arena), to_(from_.size(), no_node) {}

  Graph run() {
    // Inputs first, with their sizes; then all other nodes in order.
    for (const GraphInput& input : graph_.inputs) add_input(input);
    const std::vector<bool> needed = reachable(graph_);
    for (NodeId id = 0; id < from_.size(); ++id) {
      if (needed[id] && to_[id] == no_node) to_[id] = widen(id);
    }
    for (const NodeId output : graph_.outputs) result_.outputs.push_back(root(output));
    for (const Update& update : graph_.updates) result_.updates.push_back({update.input, root(update.value)});
    return std::move(result_);
  }

 private:
  void add_input(const GraphInput& input) {
    Type type = static_type(from_, input.node);
    type.dtype = wide(type.dtype);
    result_.arena.set_origin(result_.arena.add_origin(from_.origin(input.node)));
    to_[input.node] = result_.add_input(input.name, type, input.role);
  }

  NodeId widen(NodeId id) {
    Arena& arena = result_.arena;
    arena.set_origin(arena.add_origin(from_.origin(id)));
    const Op& op = from_.op(id);
    const Attrs& attrs = from_.attrs(id);
    if (const auto value = from_.scalar_value(id)) {
      Scalar scalar = *value;
      scalar.dtype = wide(scalar.dtype);
      return arena.scalar(scalar);
    }
    if (op.is(Core::size)) {
      const GraphInput& input = result_.inputs[attrs.index("input")];
      return arena.type(input.node).shape[attrs.index("axis")];
    }
    if (op.is(Core::constant)) {
      const Array& value = graph_.constants[attrs.index("index")];
      return result_.add_constant(value.astype(wide(value.dtype())));
    }
    if (op.kind == Kind::Host) return in_own_dtypes(id);  // its dtypes are fixed
    std::vector<NodeId> inputs;
    for (const NodeId input : from_.inputs(id)) inputs.push_back(to_[input]);
    try {
      Attrs raised = attrs;
      for (const auto& [name, value] : attrs.items()) {
        if (const auto* dtype = std::get_if<DType>(&value)) raised.set(name, wide(*dtype));
        if (const auto* body = std::get_if<BodyPtr>(&value))
          raised.set(name, std::make_shared<const Body>(widened((*body)->graph())));
      }
      return arena.make(op, inputs, raised);
    } catch (const TypeError&) {
      return in_own_dtypes(id);
    }
  }

  /// The op with operands of the dtypes that they have in the graph.
  NodeId in_own_dtypes(NodeId id) {
    Arena& arena = result_.arena;
    std::vector<NodeId> inputs;
    for (const NodeId input : from_.inputs(id)) inputs.push_back(arena.cast(to_[input], from_.type(input).dtype));
    const NodeId narrow = arena.make(from_.op(id), inputs, from_.attrs(id));
    return arena.cast(narrow, wide(arena.type(narrow).dtype));
  }

  NodeId root(NodeId id) { return result_.arena.cast(to_[id], wide(from_.type(id).dtype)); }

  const Graph& graph_;
  const Arena& from_;
  Graph result_;
  std::vector<NodeId> to_;
};

}  // namespace

DType wide(DType dtype) { return is_float(dtype) ? DType::float64 : is_complex(dtype) ? DType::complex128 : dtype; }

Graph widened(const Graph& graph) { return Widener(graph).run(); }

}  // namespace croton::expr
