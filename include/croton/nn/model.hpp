// Models: graphs of layers, which learn from data.
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

/// One loss for all outputs, or one each.
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
  Losses loss = {};
  Optimizer optimizer = {"rmsprop", Where()};  // from the line of compile
  /// Of the first output. A second one of a name is logged as "precision_1", and so on. ValueError for the name "loss",
  /// and for those that begin with "val_".
  std::vector<Metric> metrics = {};
  std::vector<double> loss_weights = {};
  /// Metrics that count samples by `sample_weight` and `class_weight`; `metrics` do not. One of both lists is logged as
  /// "accuracy" and "weighted_accuracy".
  std::vector<Metric> weighted_metrics = {};
};

/// What is printed while a model learns: nothing, a bar for the epoch (a line where there is no terminal), or a line.
enum class Verbose { silent, bar, line };

struct FitOptions {
  std::int64_t epochs = 1;
  std::int64_t batch_size = 32;
  Verbose verbose = Verbose::bar;
  std::vector<CallbackRef> callbacks = {};
  /// The share of the samples, from the end, that is kept for validation; all are learnt from where there is other data
  /// for it. ValueError for a Dataset.
  double validation_split = 0;
  std::optional<std::pair<Array, Array>> validation_data = {};
  std::optional<Dataset> validation_dataset = {};
  bool shuffle = true;
  /// Of the order of samples, which is another one in each epoch, those of earlier trainings of the model included.
  std::uint64_t seed = 0;
  std::optional<Array> sample_weight = {};
  /// {class, weight}; others 1. Targets are class numbers, or rows whose largest number says the class. ValueError for
  /// a model of several outputs.
  std::vector<std::pair<std::int64_t, double>> class_weight = {};
  /// Epochs that are done already. Absent: those of the checkpoint that was loaded last, else 0.
  std::optional<std::int64_t> initial_epoch = {};
  /// Batches of an epoch (1 or more, ValueError): the next epoch goes on behind them. Absent: a pass of the data. Data
  /// that ends within an epoch ends it, with a warning, and the next epoch begins it again.
  std::optional<std::int64_t> steps_per_epoch = {};
  /// Validation reads so many batches, from the first on, and comes behind each so-manieth epoch (1 or more,
  /// ValueError).
  std::optional<std::int64_t> validation_steps = {};
  std::int64_t validation_freq = 1;
};
struct EvaluateOptions {
  std::int64_t batch_size = 32;
  Verbose verbose = Verbose::silent;
  std::optional<Array> sample_weight = {};
};
struct PredictOptions {
  std::int64_t batch_size = 32;
  Verbose verbose = Verbose::silent;
};

/// A graph of layers from inputs to outputs. Copies are the same model.
class Model {
 public:
  /// ValueError for outputs that need an input which is not among the inputs.
  Model(const Tensor& input, const Tensor& output, const std::string& name = {})
      : Model(std::vector<Tensor>{input}, std::vector<Tensor>{output}, name) {}
  Model(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const std::string& name = {});

  // ---- as a function of variables, and as a layer of another model ----
  Variable operator()(const Variable& x) const;
  Variable operator()(const Variable& x, CallContext& context) const;
  std::vector<Variable> call(const std::vector<Variable>& x, CallContext& context) const;
  Layer layer() const;
  Tensor operator()(const Tensor& x) const { return layer()(x); }

  /// The same layers and weights as a model that learns and predicts by this strategy; it is to be compiled itself.
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
  /// ValueError or ShapeError, and nothing is changed, unless all fit.
  void set_weights(const std::vector<Array>& values) const;
  /// A table of the layers, with what they give and how many parameters they have.
  std::string summary() const;

  // ---- learning ----
  /// What to minimise, and how. The losses of several outputs are logged as their layers are called: "dense_1_loss".
  /// Forgets functions that were compiled before. Regularisers of layers are added to the loss. What computes loss and
  /// metrics comes from the line that calls it.
  void compile(const CompileOptions& options, Where where = std::source_location::current());
  History fit(const Array& x, const Array& y, const FitOptions& options = {});
  History fit(const std::vector<Array>& x, const std::vector<Array>& y, const FitOptions& options = {});
  History fit(const Dataset& dataset, const FitOptions& options = {});
  Logs evaluate(const Array& x, const Array& y, const EvaluateOptions& options = {});
  Logs evaluate(const std::vector<Array>& x, const std::vector<Array>& y, const EvaluateOptions& options = {});
  Logs evaluate(const Dataset& dataset, const EvaluateOptions& options = {});
  Array predict(const Array& x, const PredictOptions& options = {});
  std::vector<Array> predict(const std::vector<Array>& x, const PredictOptions& options = {});
  /// All outputs, of the inputs of the batches. ValueError where there is no batch; ShapeError where batches give rows
  /// of different shapes.
  std::vector<Array> predict(const Dataset& dataset, const PredictOptions& options = {});
  /// One step; the loss and metrics of this batch alone.
  Logs train_on_batch(const Batch& batch);
  Logs test_on_batch(const Batch& batch);
  /// Ends a training behind this batch: for callbacks.
  void stop_training();
  Optimizer optimizer() const;  ///< TypeError before compile
  /// Which values of a number in the logs are better, by what the metric of this name says; `automatic` for a name of
  /// which the model does not know.
  Better better(std::string_view number) const;
  /// Whether the epoch that ends has no validation, as `validation_freq` wants it: for callbacks.
  bool leaves_out_validation() const;
  /// The function of a step of training, once one has been made: to look at its plan and kernels.
  Function train_function() const;

  // ---- files ----
  /// The weights, by their names: safetensors, or NPZ where the name ends in .npz. FileError; ValueError for names that
  /// end in .h5, .hdf5 or .keras.
  void save_weights(const std::filesystem::path& file) const;
  /// ValueError that names what is missing, too much or of another shape, and nothing is changed.
  void load_weights(const std::filesystem::path& file) const;
  /// Weights, states of layers, optimizer, and the place in epochs and data: training that goes on from it gives the
  /// same bits as one that was never interrupted, but for what callbacks remember, which begin anew. The kind of file
  /// goes by the name, as that of weights does.
  void save_checkpoint(const std::filesystem::path& file) const;
  void load_checkpoint(const std::filesystem::path& file);

  struct State;

 protected:
  explicit Model(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Layers one after another. Where the first one was told no input_shape, the model is put together when it first sees
/// data.
class Sequential : public Model {
 public:
  /// A layer, or what the first one takes: Sequential{Input({784}), Dense(10)}.
  struct Part {
    Part(const Layer& part) : layer(part) {}
    Part(const Tensor& part) : input(part) {}
    std::optional<Layer> layer = {};
    std::optional<Tensor> input = {};
  };
  Sequential(std::initializer_list<Part> parts = {}, const std::string& name = {});
  explicit Sequential(const std::vector<Layer>& layers, const std::string& name = {});
  void add(const Layer& layer);
  /// ValueError unless it is the first.
  void add(const Tensor& input);
};

}  // namespace croton::nn
