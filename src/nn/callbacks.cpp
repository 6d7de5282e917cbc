#include <croton/error.hpp>
#include <croton/event_file.hpp>
#include <croton/nn/callbacks.hpp>
#include <croton/nn/model.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <ostream>
#include <span>
#include <system_error>

#include "base/output.hpp"
#include "base/rethrow.hpp"
#include "nn/model_state.hpp"

namespace croton::nn {
namespace {

// ---- monitored numbers ----

double number_of(const Logs& logs, const std::string& name, std::string_view callback) {
  try {
    return logs[name];
  } catch (const Error&) {
    base::rethrow_with(fmt::format("{}: ", callback), "");
  }
}

/// The monitored number; nothing if it is one of the validation data and this epoch has no validation.
std::optional<double> monitored(const Model& model, const Logs& logs, const std::string& name,
                                std::string_view callback) {
  if (name.starts_with("val_") && !logs.find(name) && model.leaves_out_validation()) return std::nullopt;
  return number_of(logs, name, callback);
}

bool larger_is_better(const Model& model, const std::string& name, Better better, std::string_view callback) {
  if (better == Better::automatic) better = model.better(name);
  if (better == Better::automatic)
    throw ValueError(
        fmt::format("{}: it is not known whether a smaller or a larger '{}' is better, as it is no metric of {}: give "
                    ".better, Better::smaller or Better::larger",
                    callback, name, model.name()));
  return better == Better::larger;
}

/// Whether `now` is better than `best` by more than `delta`. NaN never is; any other number is better than no `best`.
bool improves(double now, std::optional<double> best, bool larger, double delta) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return larger ? now - std::abs(delta) > best.value_or(-infinity) : now + std::abs(delta) < best.value_or(infinity);
}

// ---- paths with numbers in them ----

std::string with_numbers(const std::string& path, std::int64_t epoch, const Logs& logs) {
  std::string result;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t open = std::min(path.find('{', at), path.size());
    result += path.substr(at, open - at);
    if (open == path.size()) break;
    const std::size_t close = path.find('}', open);
    if (close == path.npos) throw ValueError(fmt::format("ModelCheckpoint: '{}' has a {{ without a }}", path));
    const std::string field = path.substr(open + 1, close - open - 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::string name = field.substr(0, colon), format = "{" + field.substr(colon) + "}";
    try {
      result += name == "epoch" ? fmt::format(fmt::runtime(format), epoch + 1)
                                : fmt::format(fmt::runtime(format), number_of(logs, name, "ModelCheckpoint"));
    } catch (const fmt::format_error& error) {
      throw ValueError(fmt::format("ModelCheckpoint: '{{{}}}' in '{}': {}", field, path, error.what()));
    }
    at = close + 1;
  }
  return result;
}

// ---- CSV ----

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

/// A file that begins with the content and is then appended to. It is written as a new file, which replaces the old one
/// when the content is complete, so that an existing log is never lost.
base::AppendFile growing_file(const std::filesystem::path& file, std::vector<std::byte> content) {
  const std::filesystem::path growing = file.string() + ".new";
  std::error_code error, ignored;
  std::filesystem::remove(growing, ignored);
  std::optional<base::AppendFile> lines = base::AppendFile::create(growing);
  if (!lines) throw FileError(fmt::format("cannot create {}: it is there already", growing.string()));
  lines->append(content);
  std::filesystem::rename(growing, file, error);
  if (!error) return *std::move(lines);
  std::filesystem::remove(growing, ignored);
  throw FileError(fmt::format("cannot write {}: {}", file.string(), error.message()));
}

}  // namespace

// ---- ModelCheckpoint ----

ModelCheckpoint::ModelCheckpoint(std::string path, CheckpointOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  check_kind(path_);
}

void ModelCheckpoint::on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) {
  if (options_.save_best_only) {
    const std::optional<double> now = monitored(model, logs, options_.monitor, "ModelCheckpoint");
    if (!now) return;
    const bool larger = larger_is_better(model, options_.monitor, options_.better, "ModelCheckpoint");
    if (!improves(*now, best_, larger, 0)) return;
    best_ = now;
  }
  const std::filesystem::path file = with_numbers(path_, epoch, logs);
  base::make_folders(file.parent_path());
  if (options_.save_weights_only) {
    model.save_weights(file);
  } else {
    model.save_checkpoint(file);
  }
}

// ---- EarlyStopping ----

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {}

void EarlyStopping::on_train_begin(Model&) {
  best_.reset();
  best_weights_.clear();
  waited_ = 0;
}

void EarlyStopping::on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) {
  const std::optional<double> found = monitored(model, logs, options_.monitor, "EarlyStopping");
  if (!found || epoch < options_.start_from_epoch) return;
  const double now = *found;
  const bool larger = larger_is_better(model, options_.monitor, options_.better, "EarlyStopping");
  const bool better = improves(now, best_, larger, options_.min_delta);
  // The first weights are the best so far even if their number is NaN.
  if (options_.restore_best_weights && (better || best_weights_.empty())) best_weights_ = model.get_weights();
  ++waited_;
  if (better) {
    best_ = now;
    if (!options_.baseline || improves(now, options_.baseline, larger, options_.min_delta)) waited_ = 0;
    return;
  }
  // One epoch is never enough to stop, as in Keras.
  if (waited_ >= options_.patience && epoch > 0) model.stop_training();
}

void EarlyStopping::on_train_end(Model& model, const History&) {
  if (!best_weights_.empty()) model.set_weights(best_weights_);
}

// ---- the learning rate ----

void LearningRateScheduler::on_epoch_begin(Model& model, std::int64_t epoch) {
  const Optimizer optimizer = model.optimizer();
  optimizer.set_learning_rate(schedule_(epoch, optimizer.learning_rate()));
}

void LearningRateScheduler::on_epoch_end(Model& model, std::int64_t, Logs& logs) {
  logs.set("learning_rate", model.optimizer().learning_rate());
}

ReduceLROnPlateau::ReduceLROnPlateau(PlateauOptions options) : options_(std::move(options)) {
  if (!(options_.factor >= 0 && options_.factor < 1)) {
    throw ValueError(fmt::format("ReduceLROnPlateau: factor is {}; it must be 0 or more and below 1", options_.factor));
  }
}

void ReduceLROnPlateau::on_train_begin(Model&) {
  best_.reset();
  waited_ = cooling_ = 0;
}

void ReduceLROnPlateau::on_epoch_end(Model& model, std::int64_t, Logs& logs) {
  const Optimizer optimizer = model.optimizer();
  const double rate = optimizer.learning_rate();
  logs.set("learning_rate", rate);
  const std::optional<double> now = monitored(model, logs, options_.monitor, "ReduceLROnPlateau");
  if (!now) return;
  const bool larger = larger_is_better(model, options_.monitor, options_.better, "ReduceLROnPlateau");
  if (cooling_ > 0) --cooling_;
  if (improves(*now, best_, larger, options_.min_delta)) {
    best_ = now;
    waited_ = 0;
  } else if (cooling_ == 0 && ++waited_ >= options_.patience && rate > options_.min_rate) {
    optimizer.set_learning_rate(std::max(rate * options_.factor, options_.min_rate));
    cooling_ = options_.cooldown;
    waited_ = 0;
  }
}

// ---- CSVLogger ----

CSVLogger::CSVLogger(std::filesystem::path file, bool append) : file_(std::move(file)), append_(append) {}

void CSVLogger::on_train_begin(Model&) {
  names_.clear();
  header_.clear();
  std::vector<std::byte> old;
  base::make_folders(file_.parent_path());
  if (append_) old = base::read_file(file_, std::numeric_limits<std::size_t>::max()).value_or(old);
  const auto line_end = std::find(old.begin(), old.end(), std::byte{'\n'});
  std::transform(old.begin(), line_end, std::back_inserter(header_), [](std::byte b) { return static_cast<char>(b); });
  if (header_.ends_with('\r')) header_.pop_back();
  if (!old.empty() && old.back() != std::byte{'\n'}) old.push_back(std::byte{'\n'});

  lines_ = std::make_shared<base::AppendFile>(growing_file(file_, std::move(old)));
}

void CSVLogger::on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) {
  if (!lines_) on_train_begin(model);
  std::string text;
  if (names_.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : logs) names.push_back(name);
    std::sort(names.begin(), names.end());  // so that columns do not depend on the order of callbacks
    std::string header = "epoch";
    for (const std::string& name : names) header += "," + quoted(name);
    if (header_.empty()) {
      text = header + "\n";
      header_ = header;
    } else if (header_ != header) {
      throw FileError(fmt::format("cannot append to {}: its first line is '{}', that of this training '{}'",
                                  file_.string(), header_, header));
    }
    names_ = std::move(names);
  }
  text += fmt::format("{}", epoch);
  for (const std::string& name : names_) {
    const std::optional<double> value = logs.find(name);
    text += "," + (value ? fmt::format("{}", *value) : "NA");  // the shortest text that reads back as the same number
  }
  text += "\n";
  const auto bytes = std::as_bytes(std::span(text));
  std::vector<std::byte> content(bytes.begin(), bytes.end());
  lines_->append(content);
}

// ---- StreamLogger ----

void StreamLogger::on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) {
  Logs all = logs;
  if (!all.find("learning_rate")) all.set("learning_rate", model.optimizer().learning_rate());
  *out_ << fmt::format("epoch {}: {}\n", epoch + 1, to_string(all));
}

// ---- TensorBoard ----

struct TensorBoard::Files {
  io::EventFile train;
  std::optional<io::EventFile> validation;
};

TensorBoard::TensorBoard(std::filesystem::path folder) : folder_(std::move(folder)) {}
TensorBoard::~TensorBoard() = default;
TensorBoard::TensorBoard(TensorBoard&&) noexcept = default;

void TensorBoard::on_train_begin(Model&) {
  files_ = std::make_unique<Files>(Files{io::EventFile(folder_ / "train"), std::nullopt});
}

void TensorBoard::on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) {
  if (!files_) on_train_begin(model);
  for (const auto& [name, value] : logs) {
    if (!name.starts_with("val_")) {
      files_->train.scalar("epoch_" + name, value, epoch);
      continue;
    }
    if (!files_->validation) files_->validation.emplace(folder_ / "validation");
    files_->validation->scalar("epoch_" + name.substr(4), value, epoch);
  }
  if (!logs.find("learning_rate")) {
    files_->train.scalar("epoch_learning_rate", model.optimizer().learning_rate(), epoch);
  }
  // So that TensorBoard shows a training while it runs.
  files_->train.flush();
  if (files_->validation) files_->validation->flush();
}

// ---- other callbacks ----

void TerminateOnNaN::on_batch_end(Model& model, std::int64_t, const Logs& logs) {
  const std::optional<double> loss = logs.find("loss");
  if (loss && !std::isfinite(*loss)) model.stop_training();
}

void LambdaCallback::on_train_begin(Model& model) {
  if (train_begin) train_begin(model);
}
void LambdaCallback::on_train_end(Model& model, const History& history) {
  if (train_end) train_end(model, history);
}
void LambdaCallback::on_epoch_begin(Model& model, std::int64_t epoch) {
  if (epoch_begin) epoch_begin(model, epoch);
}
void LambdaCallback::on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) {
  if (epoch_end) epoch_end(model, epoch, logs);
}
void LambdaCallback::on_batch_begin(Model& model, std::int64_t batch) {
  if (batch_begin) batch_begin(model, batch);
}
void LambdaCallback::on_batch_end(Model& model, std::int64_t batch, const Logs& logs) {
  if (batch_end) batch_end(model, batch, logs);
}

}  // namespace croton::nn
