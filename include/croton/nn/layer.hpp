// Layers: functions with weights. A layer makes its weights when its input sizes are first known, and has one set of
// weights for all calls.
#pragma once

#include <croton/nn/initializers.hpp>
#include <croton/shared.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace croton::nn {

/// New values of shared variables, in the format of `FunctionOptions::updates`.
using Updates = std::vector<std::pair<Variable, Variable>>;

/// One call of a model or layer on variables.
struct CallContext {
  bool training = false;  ///< dropout is active, batch normalisation uses the statistics of the batch
  Updates updates = {};   ///< of non-trainable weights (running averages); pass them to function()
  std::map<const void*, std::int64_t> draws = {};  ///< counts of random draws per layer, for internal use of layers
};

/// A value between layers, with an optional mask of the valid steps (axis 1).
struct Flow {
  Variable value;
  Variable mask = {};  ///< bool (batch, time); empty: all steps are valid
};

class LayerDefinition;
class Layer;

/// A symbolic value while a model is built: the result of a layer, or an input.
class Tensor {
 public:
  const Shape& shape() const;  ///< without the batch
  DType dtype() const;
  /// The layer that makes it; TypeError for an input of a model.
  Layer layer() const;

  struct Node;
  explicit Tensor(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  const Node& node() const { return *node_; }
  const std::shared_ptr<const Node>& handle() const { return node_; }
  friend bool operator==(const Tensor& a, const Tensor& b) { return a.node_ == b.node_; }

 private:
  std::shared_ptr<const Node> node_;
};

struct InputOptions {
  std::string name = {};
  std::optional<DType> dtype = {};  ///< floatX if empty
};
/// An input of a model: batches of arrays of this shape.
Tensor Input(Shape shape, const InputOptions& options = {}, Where where = std::source_location::current());

/// A handle of a layer; copies are the same layer with the same weights.
class Layer {
 public:
  explicit Layer(std::shared_ptr<LayerDefinition> definition) : definition_(std::move(definition)) {}

  /// Applies the layer while a model is built. ShapeError for invalid sizes.
  Tensor operator()(const Tensor& x, Where where = std::source_location::current()) const;
  Tensor operator()(const std::vector<Tensor>& x, Where where = std::source_location::current()) const;
  /// Applies the layer to variables with a batch axis; weights are made if the sizes that they depend on are static.
  Variable operator()(const Variable& x, Where where = std::source_location::current()) const;
  Variable operator()(const Variable& x, CallContext& context, Where where = std::source_location::current()) const;

  /// Makes the weights for these inputs; does nothing if they exist.
  void build(const std::vector<Shape>& inputs) const;
  bool built() const;
  const std::string& name() const;
  std::string type() const;  ///< "Dense"
  /// The trainable weights (none if `trainable` is off), the others, and all, in the order in which they were made.
  std::vector<SharedVariable> trainable_weights() const;
  std::vector<SharedVariable> non_trainable_weights() const;
  std::vector<SharedVariable> weights() const;
  std::int64_t count_params() const;
  /// The values of `weights`, in that order.
  std::vector<Array> get_weights() const;
  /// Sets the values of `weights`. ValueError or ShapeError, and nothing is changed, unless all match.
  void set_weights(const std::vector<Array>& values) const;
  /// Sets whether optimizers change the weights, for functions that are made later: `compile` a model again.
  void set_trainable(bool trainable) const;
  bool trainable() const;

  LayerDefinition& definition() const { return *definition_; }
  const std::shared_ptr<LayerDefinition>& handle() const { return definition_; }
  friend bool operator==(const Layer& a, const Layer& b) { return a.definition_ == b.definition_; }

 private:
  std::shared_ptr<LayerDefinition> definition_;
};

struct WeightOptions {
  Initializer initializer = "glorot_uniform";
  Regularizer regularizer = {};
  bool trainable = true;
  std::optional<DType> dtype = {};  ///< floatX if empty
};

/// The base class of a kind of layer: derive from it for your own layer, and make it with `make_layer`.
class LayerDefinition {
 public:
  struct Weight {
    SharedVariable variable;
    std::string name;  ///< "kernel"
    Sizes shape;
    Regularizer regularizer;
    bool trainable;
  };

  /// With an empty name it is called "dense", "dense_1", ... by the type. Its line is that of the current LayerLine.
  LayerDefinition(std::string type, std::string name);
  virtual ~LayerDefinition() = default;
  LayerDefinition(const LayerDefinition&) = delete;
  LayerDefinition& operator=(const LayerDefinition&) = delete;

  /// The output shape for these input shapes; calls `fail` for invalid ones.
  virtual Shape output_shape(const std::vector<Shape>& inputs) const = 0;
  /// By default the promoted dtype of the first input (floatX for integers) and the weights; called after they are
  /// made.
  virtual DType output_dtype(const std::vector<DType>& inputs) const;
  /// Makes weights with add_weight; called once.
  virtual void make_weights(const std::vector<Shape>& /*inputs*/) {}
  virtual Flow call(const std::vector<Flow>& inputs, CallContext& context) = 0;
  /// The number of inputs: {minimum, maximum}.
  virtual std::pair<std::size_t, std::size_t> arity() const { return {1, 1}; }
  /// The shape of the input, if it was given: for the first layer of a Sequential.
  virtual std::optional<Shape> input_shape() const { return input_shape_; }
  /// The input dtype of a model whose first layer this is: floatX.
  virtual DType input_dtype() const;

  const std::string& type() const { return type_; }
  const std::string& name() const { return name_; }
  bool was_named() const { return was_named_; }  ///< by the user
  const std::vector<Weight>& all_weights() const { return weights_; }
  /// State between calls that is not a parameter, such as the state of random numbers: it is in checkpoints, but not in
  /// files of weights and not in counts of parameters. Only variable, name and shape of each are used.
  const std::vector<Weight>& all_states() const { return states_; }
  /// Inner layers, whose weights count as its own.
  virtual std::vector<Layer> inner() const { return {}; }
  void build(const std::vector<Shape>& inputs);
  bool built() const { return built_; }
  /// The user's line that made it; if unknown, the line of its first call.
  Where made_at() const { return where_; }
  void called_at(Where where) {
    if (!where_.known()) where_ = where;
  }
  /// The line with the layer's name before it, "dense_1, train.cpp:12": the line of its nodes.
  Where line(Where where) const;

  bool trainable = true;

 protected:
  /// Adds a weight named "layer/name".
  SharedVariable add_weight(const std::string& name, const Sizes& shape, const WeightOptions& options = {});
  /// Adds a state named "layer/name".
  SharedVariable add_state(const std::string& name, const Array& first);
  /// The weight with static sizes, for better kernels: use it in `call`.
  Variable value_of(const SharedVariable& weight) const;
  /// Raises ShapeError: "train.cpp:12: dense (Dense): message".
  [[noreturn]] void fail(const std::string& message) const;
  /// Raises ValueError of the same form, for arguments of the constructor.
  [[noreturn]] void refuse(const std::string& message) const;
  std::optional<Shape> input_shape_;

 private:
  std::string type_, name_;
  std::vector<Weight> weights_, states_;
  bool was_named_ = false, built_ = false;
  Where where_;
};

/// During its lifetime, layers made on this thread get that line; of nested scopes the innermost one applies.
class LayerLine {
 public:
  explicit LayerLine(Where where);
  ~LayerLine();
  LayerLine(const LayerLine&) = delete;
  LayerLine& operator=(const LayerLine&) = delete;
  static Where current();

 private:
  Where outer_;
};

template <class Definition, class... Arguments>
Layer make_layer(Arguments&&... arguments) {
  return Layer(std::make_shared<Definition>(std::forward<Arguments>(arguments)...));
}
/// The same for a layer whose messages name the line.
template <class Definition, class... Arguments>
Layer make_layer_at(Where where, Arguments&&... arguments) {
  const LayerLine line(where);
  return make_layer<Definition>(std::forward<Arguments>(arguments)...);
}

/// The node of a tensor: a layer and its inputs, or an input of a model.
struct Tensor::Node {
  Node() = default;
  ~Node();  // frees a long chain without recursion
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::optional<Layer> layer;  // empty: an input
  std::vector<Tensor> inputs;
  Shape shape;
  DType dtype = DType::float32;
  std::string name;  // of an input
  Where where;
  std::uint64_t serial = 0;  // order of creation: a topological order
};

}  // namespace croton::nn
