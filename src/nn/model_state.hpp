// The state of a model. model.cpp connects its layers, training.cpp trains it, model_files.cpp saves and loads it.
#pragma once

#include <croton/nn/model.hpp>

#include "nn/replica.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace croton::nn {

struct Model::State {
  std::string name;
  bool was_named = false;  // by the user
  std::vector<Tensor> inputs, outputs;
  std::vector<Tensor> order;       // all tensors, inputs first; topological
  std::vector<Layer> layers;       // in the order of their first use
  std::vector<std::string> names;  // of the layers in this model: "dense", "dense_1"
  std::vector<Layer> added;        // of a Sequential, connected when its input shape is known
  bool is_sequential = false;
  std::weak_ptr<LayerDefinition> as_layer;  // of other models: one layer, as the weights exist once

  // ---- training ----
  Shards shards = current_shards();
  /// Sets the shards; weights get a copy on each device.
  void set_shards(const Shards& to);
  std::optional<CompileOptions> options;
  Where compiled_at;
  /// A metric as it is counted: "accuracy" is replaced by the one that fits, and the name is unique.
  struct CountedMetric {
    Metric metric;
    std::string name;
    bool weighted = false;
  };
  std::vector<CountedMetric> metrics;
  std::vector<std::string> loss_names;        // of the outputs, if there are several: "dense_1_loss"
  SharedVariable counts;                      // of the loss and all metrics, in one vector
  std::map<std::string, Function> functions;  // by their task and the types of their inputs
  Function last_train;
  bool stop = false;
  bool leaves_out_validation = false;          // in this epoch
  std::int64_t epochs_done = 0;                // of the current or last training
  std::int64_t first_pass = 0;                 // of the data: the pass of epoch 0 of this training
  std::int64_t next_pass = 0;                  // after all passes that trainings have begun
  std::optional<std::int64_t> resumed_epochs;  // of a loaded checkpoint that no training has continued

  /// Whether layers are connected, so that weights exist.
  bool is_connected() const { return !outputs.empty(); }
  /// ValueError for a Sequential whose input shape is not known yet.
  void check_connected() const;
  /// Connects a Sequential for the input `x`.
  void connect(const std::vector<Array>& x);
  /// Finds order, layers and names from inputs and outputs.
  void find_layers();

  /// New variables for the inputs, with their sizes stated.
  std::vector<Variable> input_variables() const;
  /// The outputs for the values `x`, whose sizes are stated where the model knows them.
  std::vector<Flow> run(const std::vector<Variable>& x, CallContext& context) const;
  std::vector<Flow> run(const std::vector<Flow>& x, CallContext& context) const;

  struct NamedWeight {
    std::string name;  // "dense/kernel": in this model
    SharedVariable variable;
    Sizes shape;
    Regularizer regularizer;
    bool trained = false;
  };
  /// All weights, each once, even if its layer or model is used several times.
  std::vector<NamedWeight> weights() const;
  /// The states of layers, which are not parameters, named in the same way.
  std::vector<NamedWeight> states() const;
};

/// ValueError for the file name extensions of HDF5 and of Keras's own format.
void check_kind(const std::filesystem::path& file);

/// A new value for a shared variable, and the variable's name in messages.
struct NewValue {
  std::string name;
  SharedVariable variable;
  Array value;
};
/// Sets all values, or none if one does not fit.
void set_all(const std::vector<NewValue>& values);

}  // namespace croton::nn
