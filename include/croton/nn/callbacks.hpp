// What happens beside training: callbacks, and what a training leaves behind.
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

/// Named numbers in order: "loss", the metrics, and the same with "val_" of validation data.
class Logs {
 public:
  /// ValueError that lists the names for one that is not there.
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
  /// One number of all epochs, NaN for those that lack it; ValueError, with the names, for one that none has.
  std::vector<double> operator[](std::string_view name) const;
  std::vector<std::string> names() const;
  /// A plot of the loss, and one of each other metric beside it, training and validation in one: an SVG file.
  /// FileError.
  void plot(const std::filesystem::path& file) const;
  std::string svg() const;
};

/// Derive from it; every function does nothing until it is overridden. What they raise ends the training.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Model&) {}
  virtual void on_train_end(Model&, const History&) {}
  virtual void on_epoch_begin(Model&, std::int64_t /*epoch*/) {}
  /// `logs` may be added to.
  virtual void on_epoch_end(Model&, std::int64_t /*epoch*/, Logs& /*logs*/) {}
  virtual void on_batch_begin(Model&, std::int64_t /*batch*/) {}
  virtual void on_batch_end(Model&, std::int64_t /*batch*/, const Logs& /*logs*/) {}
  /// Whether on_batch_end is given the numbers so far, for which the device has to be waited for.
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

// What callbacks monitor is better when it is smaller (losses) or larger, as its metric says; ValueError for a number
// of which neither the model nor `better` says it.

struct CheckpointOptions {
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = false;  ///< else the whole state of training, from which `Model::load_checkpoint` resumes
  Better better = Better::automatic;
};
/// Writes a file behind each epoch (NPZ where its name ends in .npz, else safetensors); "{epoch}" (from 1) and names of
/// numbers in braces stand for their values in the path, with a format if wanted: "{epoch:02d}", "{val_loss:.3f}".
/// Missing folders are made. ValueError when a number is not there that it needs; FileError.
class ModelCheckpoint : public Callback {
 public:
  /// ValueError for a kind of file that is not written (".h5").
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

/// Sets the rate before each epoch to what the function gives for (epoch from 0, rate so far), and logs it as
/// "learning_rate".
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
/// Multiplies the rate by the factor behind `patience` epochs without improvement.
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

/// A line of a CSV file for each epoch (from 0), behind one with the names, which are sorted. "NA" stands for a number
/// that an epoch lacks. A new training begins a new file, or with `append` goes on with one that has the same names.
/// FileError.
class CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::filesystem::path file, bool append = false);
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  std::filesystem::path file_;
  bool append_;
  std::vector<std::string> names_;
  std::string header_;  // the line of names that the file has
  std::shared_ptr<base::AppendFile> lines_;
};

/// A line for each epoch (from 1) to a stream, which must outlive the training: its numbers, and the rate:
/// "epoch 3: loss: 0.1234 - accuracy: 0.9876 - learning_rate: 0.0100".
class StreamLogger : public Callback {
 public:
  explicit StreamLogger(std::ostream& out) : out_(&out) {}
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override;

 private:
  std::ostream* out_;
};

/// Event files for TensorBoard: epoch_loss, epoch_learning_rate and so on in folder/train and folder/validation, over
/// epochs from 0. FileError.
class TensorBoard : public Callback {
 public:
  explicit TensorBoard(std::filesystem::path folder = "logs");
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

/// Functions in place of a class.
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
