// Models: graphs of layers that can be trained.
#pragma once

#include <croton/function.hpp>
#include <croton/nn/callbacks.hpp>
#include <croton/nn/data.hpp>
#include <croton/nn/layer.hpp>
#include <croton/nn/losses.hpp>
#include <croton/nn/metrics.hpp>
#include <croton/nn/optimizers.hpp>

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace croton::nn {

class MirroredStrategy;

/// One loss for all outputs, or one for each.
struct Losses {
  std::vector<Loss> list;
  Losses() = default;
  Losses(const char* name) : list{Loss(name)} {}
  Losses(const std::string& name) : list{Loss(name)} {}
  Losses(const Loss& loss) : list{loss} {}
  Losses(std::initializer_list<Loss> losses) : list(losses) {}
  Losses(std::vector<Loss> losses) : list(std::move(losses)) {}
};

struct CompileOptions {
  static constexpr const char* default_optimizer = "rmsprop";
  Losses loss = {};
  Optimizer optimizer = {default_optimizer, Where()};  // its line is that of compile
  /// Metrics of the first output. A second metric of the same name is logged as "precision_1", and so on. ValueError
  /// for the name "loss", and for those that begin with "val_".
  std::vector<Metric> metrics = {};
  std::vector<double> loss_weights = {};
  /// Metrics weighted by `sample_weight` and `class_weight`, unlike `metrics`. A metric in both lists is logged as
  /// "accuracy" and "weighted_accuracy".
  std::vector<Metric> weighted_metrics = {};
};

/// Output during training: nothing, a progress bar for each epoch (a line if there is no terminal), or a line.
enum class Verbose { silent, bar, line };

struct FitOptions {
  std::int64_t epochs = 1;
  std::int64_t batch_size = default_batch_size;
  Verbose verbose = Verbose::bar;
  std::vector<CallbackRef> callbacks = {};
  /// The fraction of the samples, from the end, that is used for validation instead of training; ignored if there is
  /// validation data. ValueError for a Dataset.
  double validation_split = 0;
  std::optional<std::pair<Array, Array>> validation_data = {};
  std::optional<Dataset> validation_dataset = {};
  bool shuffle = true;
  /// The seed of the order of samples, which differs in each epoch, also from the epochs of earlier calls of fit.
  std::uint64_t seed = 0;
  std::optional<Array> sample_weight = {};
  /// {class, weight}; other classes have weight 1. Targets are class numbers, or rows whose largest number is at the
  /// class. ValueError for a model of several outputs.
  std::vector<std::pair<std::int64_t, double>> class_weight = {};
  /// The number of completed epochs. Absent: that of the checkpoint that was loaded last, else 0.
  std::optional<std::int64_t> initial_epoch = {};
  /// The number of batches of an epoch (1 or more, ValueError): the next epoch continues after them. Absent: a pass of
  /// the data. Data that ends within an epoch ends the epoch, with a warning, and the next epoch starts it again.
  std::optional<std::int64_t> steps_per_epoch = {};
  /// The number of batches of a validation, from the first on, and the number of epochs between validations (1 or more,
  /// ValueError).
  std::optional<std::int64_t> validation_steps = {};
  std::int64_t validation_freq = 1;
};
struct EvaluateOptions {
  std::int64_t batch_size = default_batch_size;
  Verbose verbose = Verbose::silent;
  std::optional<Array> sample_weight = {};
};
struct PredictOptions {
  std::int64_t batch_size = default_batch_size;
  Verbose verbose = Verbose::silent;
};

/// A graph of layers from inputs to outputs. Copies are the same model.
class Model {
 public:
  /// ValueError for outputs that depend on an input outside the list.
  Model(const Tensor& input, const Tensor& output, const std::string& name = {})
      : Model(std::vector<Tensor>{input}, std::vector<Tensor>{output}, name) {}
  Model(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const std::string& name = {});

  // ---- as a function of variables, and as a layer in another model ----
  Variable operator()(const Variable& x) const;
  Variable operator()(const Variable& x, CallContext& context) const;
  std::vector<Variable> call(const std::vector<Variable>& x, CallContext& context) const;
  Layer layer() const;
  Tensor operator()(const Tensor& x, Where where = std::source_location::current()) const { return layer()(x, where); }

  /// A model with the same layers and weights that trains and predicts with this strategy; it must be compiled
  /// separately.
  Model with_strategy(const MirroredStrategy& strategy) const;

  // ---- its parts ----
  const std::string& name() const;
  std::vector<Layer> layers() const;
  Layer layer(std::string_view name) const;  ///< ValueError, with the names
  std::vector<Shape> input_shapes() const;
  std::vector<Shape> output_shapes() const;
  std::vector<SharedVariable> weights() const;
  std::vector<SharedVariable> trainable_variables() const;
  std::vector<SharedVariable> non_trainable_variables() const;
  std::int64_t count_params() const;
  std::vector<Array> get_weights() const;
  /// Sets the values of the weights. ValueError or ShapeError, and nothing is changed, unless all match.
  void set_weights(const std::vector<Array>& values) const;
  /// A table of the layers, with output shapes and numbers of parameters.
  std::string summary() const;

  // ---- training ----
  /// Sets losses, optimizer and metrics. The losses of several outputs are logged under the names of their layers:
  /// "dense_1_loss". Functions that were compiled before are dropped. Regularizers of layers are added to the loss. The
  /// nodes of loss and metrics have the line of this call.
  void compile(const CompileOptions& options, Where where = std::source_location::current());
  History fit(const Array& x, const Array& y, const FitOptions& options = {});
  History fit(const std::vector<Array>& x, const std::vector<Array>& y, const FitOptions& options = {});
  History fit(const Dataset& dataset, const FitOptions& options = {});
  Logs evaluate(const Array& x, const Array& y, const EvaluateOptions& options = {});
  Logs evaluate(const std::vector<Array>& x, const std::vector<Array>& y, const EvaluateOptions& options = {});
  Logs evaluate(const Dataset& dataset, const EvaluateOptions& options = {});
  Array predict(const Array& x, const PredictOptions& options = {});
  std::vector<Array> predict(const std::vector<Array>& x, const PredictOptions& options = {});
  /// All outputs for the inputs of the batches. ValueError without batches; ShapeError if the rows of batches have
  /// different shapes.
  std::vector<Array> predict(const Dataset& dataset, const PredictOptions& options = {});
  /// Runs one step and returns the loss and metrics of this batch alone.
  Logs train_on_batch(const Batch& batch);
  Logs test_on_batch(const Batch& batch);
  /// Ends training after this batch: for callbacks.
  void stop_training();
  Optimizer optimizer() const;  ///< TypeError before compile
  /// Whether smaller or larger values of a number in the logs are better, by the metric of this name; `automatic` for
  /// an unknown name.
  Better better(std::string_view number) const;
  /// Whether the current epoch has no validation because of `validation_freq`: for callbacks.
  bool leaves_out_validation() const;
  /// The function of a training step, after it has been made: to inspect its plan and kernels.
  Function train_function() const;

  // ---- files ----
  /// Saves the weights, by their names: safetensors, or NPZ if the name ends in .npz. FileError; ValueError for names
  /// that end in .h5, .hdf5 or .keras.
  void save_weights(const std::filesystem::path& file) const;
  /// Loads weights. ValueError that names missing and superfluous weights and those of another shape; nothing is
  /// changed then.
  void load_weights(const std::filesystem::path& file) const;
  /// Saves weights, states of layers, the optimizer, and the position in epochs and data: training that continues from
  /// it gives the same bits as training that was never interrupted, except for the state of callbacks, which starts
  /// again. The name determines the kind of file, as for weights.
  void save_checkpoint(const std::filesystem::path& file) const;
  void load_checkpoint(const std::filesystem::path& file);

  struct State;

 protected:
  explicit Model(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// A model of layers one after another. If the first one has no input_shape, the model is built when it first gets
/// data.
class Sequential : public Model {
 public:
  /// A layer, or the input of the first one: Sequential{Input({784}), Dense(10)}.
  struct Part {
    Part(const Layer& part) : layer(part) {}
    Part(const Tensor& part) : input(part) {}
    std::optional<Layer> layer = {};
    std::optional<Tensor> input = {};
  };
  Sequential(std::initializer_list<Part> parts = {}, const std::string& name = {});
  explicit Sequential(const std::vector<Layer>& layers, const std::string& name = {});
  void add(const Layer& layer);
  /// Adds the input. ValueError unless it is the first part.
  void add(const Tensor& input);
};

}  // namespace croton::nn
