// Callbacks of training, and the history that training returns.
#pragma once

#include <croton/array.hpp>
#include <croton/nn/metrics.hpp>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace croton::base {
class AppendFile;
}

namespace croton::nn {

class Model;

/// Named numbers in order: "loss", the metrics, and the same for validation data with the prefix "val_".
class Logs {
 public:
  /// The number of this name; ValueError that lists the names if there is none.
  double operator[](std::string_view name) const;
  std::optional<double> find(std::string_view name) const;
  void set(const std::string& name, double value);
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }

 private:
  std::vector<std::pair<std::string, double>> values_;
};
/// "loss: 0.1234 - accuracy: 0.9876"
std::string to_string(const Logs& logs);
std::ostream& operator<<(std::ostream& out, const Logs& logs);

/// The numbers of each epoch of a training.
struct History {
  std::vector<std::int64_t> epochs;
  std::vector<Logs> logs;
  /// The numbers of this name of all epochs, NaN for epochs without it; ValueError, with the names, if no epoch has it.
  std::vector<double> operator[](std::string_view name) const;
  std::vector<std::string> names() const;
  /// Writes an SVG file with a plot of the loss and one of each other metric, each with the curves of training and
  /// validation. FileError.
  void plot(const std::filesystem::path& file) const;
  std::string svg() const;
};

/// Base of callbacks; every function does nothing until it is overridden. An exception ends the training.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Model&) {}
  virtual void on_train_end(Model&, const History&) {}
  virtual void on_epoch_begin(Model&, std::int64_t /*epoch*/) {}
  /// `logs` may get more numbers.
  virtual void on_epoch_end(Model&, std::int64_t /*epoch*/, Logs& /*logs*/) {}
  virtual void on_batch_begin(Model&, std::int64_t /*batch*/) {}
  virtual void on_batch_end(Model&, std::int64_t /*batch*/, const Logs& /*logs*/) {}
  /// Whether on_batch_end gets the numbers so far, for which it has to wait for the device.
  virtual bool wants_batch_logs() const { return false; }
};

/// A callback in a list: made of any callback by value, or shared.
class CallbackRef {
 public:
  template <std::derived_from<Callback> T>
  CallbackRef(T callback) : callback_(std::make_shared<T>(std::move(callback))) {}
  template <std::derived_from<Callback> T>
  CallbackRef(std::shared_ptr<T> callback) : callback_(std::move(callback)) {}
  Callback& operator*() const { return *callback_; }
  Callback* operator->() const { return callback_.get(); }

 private:
  std::shared_ptr<Callback> callback_;
};

// The metric of a monitored number says whether smaller (losses) or larger is better; ValueError if neither the model
// nor `better` says so.

struct CheckpointOptions {
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = false;  ///< false: the whole state of training, from which `Model::load_checkpoint` resumes
  Better better = Better::automatic;
};
/// Writes a file after each epoch (NPZ if its name ends in .npz, else safetensors); in the path "{epoch}" (from 1) and
/// names of numbers in braces are replaced by their values, optionally with a format: "{epoch:02d}", "{val_loss:.3f}".
/// Missing folders are made. ValueError if a number that it needs is missing; FileError.
class ModelCheckpoint : public Callback {
 public:
  /// ValueError for an unsupported kind of file (".h5").
  explicit ModelCheckpoint(std::string path, CheckpointOptions options = {});
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  std::string path_;
  CheckpointOptions options_;
  std::optional<double> best_;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;
  std::int64_t patience = 0;  ///< epochs without improvement before training ends
  Better better = Better::automatic;
  std::optional<double> baseline = {};
  bool restore_best_weights = false;
  std::int64_t start_from_epoch = 0;
};
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;
  void on_train_end(Model& model, const History& history) override;

 private:
  EarlyStoppingOptions options_;
  std::optional<double> best_;
  std::vector<Array> best_weights_;
  std::int64_t waited_ = 0;
};

/// Sets the rate before each epoch to function(epoch from 0, current rate), and logs it as "learning_rate".
class LearningRateScheduler : public Callback {
 public:
  explicit LearningRateScheduler(std::function<double(std::int64_t epoch, double rate)> schedule)
      : schedule_(std::move(schedule)) {}
  void on_epoch_begin(Model& model, std::int64_t epoch) override;
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  std::function<double(std::int64_t, double)> schedule_;
};

struct PlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1, min_delta = 1e-4, min_rate = 0;
  std::int64_t patience = 10, cooldown = 0;
  Better better = Better::automatic;
};
/// Multiplies the rate by the factor after `patience` epochs without improvement.
class ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(PlateauOptions options = {});
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  PlateauOptions options_;
  std::optional<double> best_;
  std::int64_t waited_ = 0, cooling_ = 0;
};

/// Writes a CSV file with a line for each epoch (from 0), after a line with the sorted names. "NA" means that an epoch
/// lacks the number. New training starts a new file, or with `append` continues a file with the same names. FileError.
class CSVLogger : public Callback {
 public:
  static constexpr bool default_append = false;
  explicit CSVLogger(std::filesystem::path file, bool append = default_append);
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  std::filesystem::path file_;
  bool append_;
  std::vector<std::string> names_;
  std::string header_;  // the line of names in the file
  std::shared_ptr<base::AppendFile> lines_;
};

/// Writes a line for each epoch (from 1) to a stream, which must outlive the training, with its numbers and the rate:
/// "epoch 3: loss: 0.1234 - accuracy: 0.9876 - learning_rate: 0.0100".
class StreamLogger : public Callback {
 public:
  explicit StreamLogger(std::ostream& out) : out_(&out) {}
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  std::ostream* out_;
};

/// Writes event files for TensorBoard: epoch_loss, epoch_learning_rate and so on in folder/train and folder/validation,
/// over epochs from 0. FileError.
class TensorBoard : public Callback {
 public:
  static constexpr const char* default_folder = "logs";
  explicit TensorBoard(std::filesystem::path folder = default_folder);
  ~TensorBoard() override;
  TensorBoard(TensorBoard&&) noexcept;
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  struct Files;
  std::filesystem::path folder_;
  std::unique_ptr<Files> files_;
};

/// Ends the training when the loss is nan or infinite.
class TerminateOnNaN : public Callback {
 public:
  void on_batch_end(Model& model, std::int64_t batch, const Logs& logs) override;
  bool wants_batch_logs() const override { return true; }
};

/// A callback made of functions.
class LambdaCallback : public Callback {
 public:
  std::function<void(Model&)> train_begin;
  std::function<void(Model&, const History&)> train_end;
  std::function<void(Model&, std::int64_t)> epoch_begin, batch_begin;
  std::function<void(Model&, std::int64_t, Logs&)> epoch_end;
  std::function<void(Model&, std::int64_t, const Logs&)> batch_end;
  void on_train_begin(Model& model) override;
  void on_train_end(Model& model, const History& history) override;
  void on_epoch_begin(Model& model, std::int64_t epoch) override;
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;
  void on_batch_begin(Model& model, std::int64_t batch) override;
  void on_batch_end(Model& model, std::int64_t batch, const Logs& logs) override;
  bool wants_batch_logs() const override { return batch_end != nullptr; }
};

}  // namespace croton::nn
