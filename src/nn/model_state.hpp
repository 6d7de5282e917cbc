// The parts of a model; model.cpp puts it together, training.cpp teaches it, model_files.cpp keeps it.
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
  std::vector<Layer> waiting;      // of a Sequential that does not know what it takes
  bool is_sequential = false;
  std::weak_ptr<LayerDefinition> as_layer;  // of other models: one, as its weights are

  // ---- learning ----
  Shards shards = current_shards();
  /// Weights get a copy on each device.
  void set_shards(const Shards& to);
  std::optional<CompileOptions> options;
  Where compiled_at;
  /// A metric as it is counted: with "accuracy" replaced by the one that fits, and by a name that no other has.
  struct CountedMetric {
    Metric metric;
    std::string name;
    bool weighted = false;
  };
  std::vector<CountedMetric> metrics;
  std::vector<std::string> loss_names;        // of the outputs, where there are several: "dense_1_loss"
  SharedVariable counts;                      // of the loss and all metrics, one behind another
  std::map<std::string, Function> functions;  // by what they do and the types that they take
  Function last_train;
  bool stop = false;
  bool leaves_out_validation = false;          // in this epoch
  std::int64_t epochs_done = 0;                // of the training that runs, or ran last
  std::int64_t first_pass = 0;                 // of the data: what this training began with
  std::int64_t next_pass = 0;                  // behind those that all trainings have begun
  std::optional<std::int64_t> resumed_epochs;  // of a checkpoint that was loaded and not gone on from

  /// Whether layers are connected, and weights made.
  bool is_connected() const { return !outputs.empty(); }
  /// ValueError for a Sequential that has not seen what it takes.
  void demand_connected() const;
  /// Connects a Sequential; `x` is what is to come in.
  void connect(const std::vector<Array>& x);
  /// Finds order, layers and names from inputs and outputs.
  void find_layers();

  /// Variables as the inputs take them, with their sizes stated.
  std::vector<Variable> input_variables() const;
  /// The model on values whose sizes are stated where it knows them.
  std::vector<Flow> run(const std::vector<Variable>& x, CallContext& context) const;
  std::vector<Flow> run(const std::vector<Flow>& x, CallContext& context) const;

  struct NamedWeight {
    std::string name;  // "dense/kernel": in this model
    SharedVariable variable;
    Sizes shape;
    Regularizer regularizer;
    bool trained = false;
  };
  /// Each once, however often a model or layer that holds it is used.
  std::vector<NamedWeight> weights() const;
  /// What layers keep that is no parameter, named in the same way.
  std::vector<NamedWeight> states() const;
};

/// ValueError for a name that says HDF5 or Keras's own format.
void check_kind(const std::filesystem::path& file);

/// A new value for a shared variable, by the name that messages have for it.
struct NewValue {
  std::string name;
  SharedVariable variable;
  Array value;
};
/// All of them, or none where one does not fit.
void set_all(const std::vector<NewValue>& values);

}  // namespace croton::nn
