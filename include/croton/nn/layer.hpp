// Layers: functions with weights. A layer makes its weights when it first learns what sizes it takes, and has one set
// of them however often it is called.
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

/// New values of shared variables, as `FunctionOptions::updates` takes them.
using Updates = std::vector<std::pair<Variable, Variable>>;

/// One call of a model or layer on variables.
struct CallContext {
  bool training = false;  ///< dropout drops, batch normalisation takes the statistics of the batch
  Updates updates = {};   ///< what the call changes beside parameters (running averages); to be passed to function()
  std::map<const void*, std::int64_t> draws = {};  ///< how often layers have drawn random numbers in it: for their use
};

/// What flows between layers: values, and which steps (of axis 1) count, where some do not.
struct Flow {
  Variable value;
  Variable mask = {};  ///< bool (batch, time); empty: all count
};

class LayerDefinition;
class Layer;

/// A value in a model that is being put together: what some layer gives, in words of layers, not of numbers.
class Tensor {
 public:
  const Shape& shape() const;  ///< without the batch
  DType dtype() const;
  /// The layer that gives it; TypeError for an input of a model.
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

  /// The layer in a model that is being put together. ShapeError for sizes that it does not take.
  Tensor operator()(const Tensor& x, Where where = std::source_location::current()) const;
  Tensor operator()(const std::vector<Tensor>& x, Where where = std::source_location::current()) const;
  /// The layer on variables with a batch in front; weights are made if the sizes that they depend on are stated.
  Variable operator()(const Variable& x, Where where = std::source_location::current()) const;
  Variable operator()(const Variable& x, CallContext& context, Where where = std::source_location::current()) const;

  /// Makes the weights for what comes in; nothing if they are there.
  void build(const std::vector<Shape>& inputs) const;
  bool built() const;
  const std::string& name() const;
  std::string type() const;  ///< "Dense"
  /// Those that are trained (none where `trainable` is off), the others, and all, in the order in which they were made.
  std::vector<SharedVariable> trainable_weights() const;
  std::vector<SharedVariable> non_trainable_weights() const;
  std::vector<SharedVariable> weights() const;
  std::int64_t count_params() const;
  /// The values of `weights`, in that order.
  std::vector<Array> get_weights() const;
  /// ValueError or ShapeError, and nothing is changed, unless all fit.
  void set_weights(const std::vector<Array>& values) const;
  /// Whether optimizers change its weights. Counts for functions that are made later: `compile` a model again.
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

/// What a kind of layer is: derive from it for a layer of your own, and make it with `make_layer`.
class LayerDefinition {
 public:
  struct Weight {
    SharedVariable variable;
    std::string name;  ///< "kernel"
    Sizes shape;
    Regularizer regularizer;
    bool trainable;
  };

  /// An empty name: "dense", "dense_1", ... by the type. It comes from the line of the LayerLine that lives.
  LayerDefinition(std::string type, std::string name);
  virtual ~LayerDefinition() = default;
  LayerDefinition(const LayerDefinition&) = delete;
  LayerDefinition& operator=(const LayerDefinition&) = delete;

  /// The sizes that it gives for those that it takes; `fail` for those that it does not take.
  virtual Shape output_shape(const std::vector<Shape>& inputs) const = 0;
  /// That of the first (floatX for integers) and of its weights: asked for once they are made.
  virtual DType output_dtype(const std::vector<DType>& inputs) const;
  /// Makes weights with add_weight; called once.
  virtual void make_weights(const std::vector<Shape>& /*inputs*/) {}
  virtual Flow call(const std::vector<Flow>& inputs, CallContext& context) = 0;
  /// How many inputs it takes: {least, most}.
  virtual std::pair<std::size_t, std::size_t> arity() const { return {1, 1}; }
  /// The shape of the input, where the layer was told one: a Sequential begins with it.
  virtual std::optional<Shape> input_shape() const { return input_shape_; }
  /// The dtype that a model which begins with the layer takes: floatX.
  virtual DType input_dtype() const;

  const std::string& type() const { return type_; }
  const std::string& name() const { return name_; }
  bool was_named() const { return was_named_; }  ///< by the user
  const std::vector<Weight>& all_weights() const { return weights_; }
  /// What it keeps between calls that is no parameter, like the state of random numbers: in checkpoints of a training,
  /// and neither counted nor in files of weights. Of each only variable, name and shape mean something.
  const std::vector<Weight>& all_states() const { return states_; }
  /// Layers inside of it, whose weights count as its own.
  virtual std::vector<Layer> inner() const { return {}; }
  void build(const std::vector<Shape>& inputs);
  bool built() const { return built_; }
  /// The user's line that made it; where that told none, the first that called it.
  Where made_at() const { return where_; }
  void called_at(Where where) {
    if (!where_.known()) where_ = where;
  }
  /// The line with the layer's name in front, "dense_1, train.cpp:12": where what it computes comes from.
  Where line(Where where) const;

  bool trainable = true;

 protected:
  /// A weight named "layer/name".
  SharedVariable add_weight(const std::string& name, const Sizes& shape, const WeightOptions& options = {});
  /// A state named "layer/name".
  SharedVariable add_state(const std::string& name, const Array& first);
  /// The weight with its sizes stated, which kernels are the better for: what `call` computes with.
  Variable value_of(const SharedVariable& weight) const;
  /// ShapeError: "train.cpp:12: dense (Dense): message".
  [[noreturn]] void fail(const std::string& message) const;
  /// ValueError of the same form, for what the layer is told when it is made.
  [[noreturn]] void refuse(const std::string& message) const;
  std::optional<Shape> input_shape_;

 private:
  std::string type_, name_;
  std::vector<Weight> weights_, states_;
  bool was_named_ = false, built_ = false;
  Where where_;
};

/// While it lives, layers made on this thread come from that line; of nested ones the innermost counts.
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
/// The same of a layer whose messages name the line.
template <class Definition, class... Arguments>
Layer make_layer_at(Where where, Arguments&&... arguments) {
  const LayerLine line(where);
  return make_layer<Definition>(std::forward<Arguments>(arguments)...);
}

/// What made a tensor.
struct Tensor::Node {
  Node() = default;
  ~Node();  // takes a long chain apart without recursion
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::optional<Layer> layer;  // none: an input
  std::vector<Tensor> inputs;
  Shape shape;
  DType dtype = DType::float32;
  std::string name;  // of an input
  Where where;
  std::uint64_t serial = 0;  // order of creation: a topological order
};

}  // namespace croton::nn
