// Callbacks of training, including those written in Python, and the history of a training.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/shared_ptr.h>

#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/object_ref.hpp"
#include "core/python_stream.hpp"
#include "nn/fields.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

/// A Python object with some of the methods of croton.nn.Callback. Methods that are marked as doing nothing are not
/// called, so that a training without callbacks never waits for the GIL, nor for the logs of a batch.
class PythonCallback : public nn::Callback {
 public:
  PythonCallback(nb::object object, nb::object model)
      : object_(make_ref(object)),
        model_(make_ref(std::move(model))),
        train_begin_(has(object, "on_train_begin")),
        train_end_(has(object, "on_train_end")),
        epoch_begin_(has(object, "on_epoch_begin")),
        epoch_end_(has(object, "on_epoch_end")) {
    for (const char* name : {"on_batch_begin", "on_train_batch_begin"}) {
      if (has(object, name)) batch_begin_.push_back(name);
    }
    for (const char* name : {"on_batch_end", "on_train_batch_end"}) {
      if (has(object, name)) batch_end_.push_back(name);
    }
  }

  void on_train_begin(nn::Model&) override {
    const AcquireGil gil;
    if (nb::hasattr(*object_, "set_model")) call_python(object_->attr("set_model"), *model_);
    if (train_begin_) call_python(object_->attr("on_train_begin"), nb::dict());
  }
  void on_train_end(nn::Model&, const nn::History& history) override {
    if (!train_end_) return;
    const AcquireGil gil;
    call_python(object_->attr("on_train_end"), history.logs.empty() ? nb::dict() : from_logs(history.logs.back()));
  }
  void on_epoch_begin(nn::Model&, std::int64_t epoch) override {
    if (!epoch_begin_) return;
    const AcquireGil gil;
    call_python(object_->attr("on_epoch_begin"), epoch, nb::dict());
  }
  void on_epoch_end(nn::Model&, std::int64_t epoch, nn::Logs& logs) override {
    if (!epoch_end_) return;
    const AcquireGil gil;
    const nb::dict numbers = from_logs(logs);
    call_python(object_->attr("on_epoch_end"), epoch, numbers);
    for (const auto [name, value] : numbers)
      logs.set(nb::cast<std::string>(nb::str(name)), to_double(value, "a number of the logs"));
  }
  void on_batch_begin(nn::Model&, std::int64_t batch) override {
    if (batch_begin_.empty()) return;
    const AcquireGil gil;
    for (const char* name : batch_begin_) call_python(object_->attr(name), batch, nb::dict());
  }
  void on_batch_end(nn::Model&, std::int64_t batch, const nn::Logs& logs) override {
    if (batch_end_.empty()) return;
    const AcquireGil gil;
    for (const char* name : batch_end_) call_python(object_->attr(name), batch, from_logs(logs));
  }
  bool wants_batch_logs() const override { return !batch_end_.empty(); }

 private:
  static bool has(nb::handle object, const char* name) {
    const nb::object method = nb::getattr(object, name, nb::none());
    return !method.is_none() && !nb::hasattr(method, "does_nothing");
  }

  ObjectRef object_, model_;
  bool train_begin_, train_end_, epoch_begin_, epoch_end_;
  std::vector<const char*> batch_begin_, batch_end_;
};

/// A StreamLogger that owns its stream.
struct PythonLogger : nn::Callback {
  explicit PythonLogger(nb::object file) : stream(std::move(file)), logger(stream.stream()) {}
  void on_epoch_end(nn::Model& model, std::int64_t epoch, nn::Logs& logs) override {
    logger.on_epoch_end(model, epoch, logs);
    stream.stream().flush();
  }
  PythonStream stream;
  nn::StreamLogger logger;
};

template <class C>
using CallbackClass = nb::class_<C, nn::Callback>;

void bind_history(nb::module_& m) {
  nb::class_<nn::History>(m, "History", "The logs of each epoch of a training.")
      .def_prop_ro(
          "history",
          [](const nn::History& history) {
            nb::dict all;
            for (const std::string& name : history.names()) all[nb::str(name.c_str())] = nb::cast(history[name]);
            return all;
          },
          "{name: [one number for each epoch]}; nan for epochs without it.")
      .def_ro("epoch", &nn::History::epochs, "The numbers of the epochs, from 0.")
      .def_prop_ro(
          "logs",
          [](const nn::History& history) {
            nb::list list;
            for (const nn::Logs& logs : history.logs) list.append(from_logs(logs));
            return list;
          },
          "A list of {name: number}, one for each epoch.")
      .def(
          "__getitem__", [](const nn::History& history, const std::string& name) { return history[name]; },
          "The values of a name in all epochs; a ValueError lists the names.")
      .def_prop_ro("names", &nn::History::names)
      .def("plot", &nn::History::plot, "file"_a,
           "Writes an SVG file with a plot of the loss and of each metric, with training and validation in the same "
           "plot. FileError if it cannot be written.")
      .def("svg", &nn::History::svg, "The plots as the text of an SVG file.")
      .def("_repr_svg_", &nn::History::svg, "The plots, as notebooks show them.")
      .def("__repr__", [](const nn::History& history) {
        return "<croton.nn.History of " + std::to_string(history.epochs.size()) + " epochs>";
      });
}

void bind_monitors(nb::module_& m) {
  using Checkpoint = nn::CheckpointOptions;
  CallbackClass<nn::ModelCheckpoint> checkpoint(
      m, "ModelCheckpoint",
      "Writes a file after each epoch (NPZ if its name ends in .npz, else safetensors): the state of the training, "
      "from which load_checkpoint resumes, or only the weights. '{epoch}' (from 1) and names of logs in braces are "
      "replaced by their values, with an optional format: '{epoch:02d}', '{val_loss:.3f}'. ValueError if a log that it "
      "needs is missing, and for a file name that ends in .h5 or .keras; FileError if the file cannot be written.");
  def_with<nn::ModelCheckpoint*, nb::handle>(
      checkpoint, "__init__",
      keywords(std::tuple{Field{"monitor", &Checkpoint::monitor}, Field{"save_best_only", &Checkpoint::save_best_only},
                          Field{"save_weights_only", &Checkpoint::save_weights_only},
                          Field{"mode", &Checkpoint::better}}),
      [](nn::ModelCheckpoint* self, nb::handle path, const Checkpoint& options) {
        make(self, nb::cast<std::string>(nb::str(path)), options);
      },
      "filepath"_a);
  using Stopping = nn::EarlyStoppingOptions;
  CallbackClass<nn::EarlyStopping> stopping(
      m, "EarlyStopping",
      "Ends the training after `patience` epochs in which a log has not improved by more than min_delta. mode: 'min' "
      "or 'max'; 'auto': that of the metric (ValueError for a log without a known mode).");
  def_init(stopping, keywords(std::tuple{Field{"monitor", &Stopping::monitor}, Field{"min_delta", &Stopping::min_delta},
                                         Field{"patience", &Stopping::patience}, Field{"mode", &Stopping::better},
                                         OptionalField{"baseline", &Stopping::baseline},
                                         Field{"restore_best_weights", &Stopping::restore_best_weights},
                                         Field{"start_from_epoch", &Stopping::start_from_epoch}}));
  using Plateau = nn::PlateauOptions;
  CallbackClass<nn::ReduceLROnPlateau> plateau(
      m, "ReduceLROnPlateau",
      "Multiplies the learning rate by the factor after `patience` epochs without improvement.");
  def_init(plateau, keywords(std::tuple{Field{"monitor", &Plateau::monitor}, Field{"factor", &Plateau::factor},
                                        Field{"patience", &Plateau::patience}, Field{"mode", &Plateau::better},
                                        Field{"min_delta", &Plateau::min_delta}, Field{"cooldown", &Plateau::cooldown},
                                        Field{"min_lr", &Plateau::min_rate}}));
}

void bind_others(nb::module_& m) {
  CallbackClass<nn::LearningRateScheduler>(m, "LearningRateScheduler",
                                           "Sets the learning rate before each epoch to schedule(epoch from 0, current "
                                           "rate), and logs it as 'learning_rate'.")
      .def(
          "__init__",
          [](nn::LearningRateScheduler* self, nb::object schedule) {
            new (self)
                nn::LearningRateScheduler([schedule = make_ref(std::move(schedule))](std::int64_t epoch, double rate) {
                  const AcquireGil gil;
                  return to_double(call_python(*schedule, epoch, rate), "a learning rate");
                });
          },
          "schedule"_a);
  CallbackClass<nn::CSVLogger>(
      m, "CSVLogger",
      "Writes a CSV file with a line for each epoch (from 0), after a header with the sorted names. append: continues "
      "a file that has the same names. FileError if it cannot be written.")
      .def(nb::init<std::filesystem::path, bool>(), "filename"_a, "append"_a = nn::CSVLogger::default_append);
  CallbackClass<PythonLogger>(m, "StreamLogger",
                              "Writes a line for each epoch (from 1) to a Python file: its logs and the learning rate.")
      .def(nb::init<nb::object>(), "file"_a);
  CallbackClass<nn::TensorBoard>(m, "TensorBoard",
                                 "Writes event files for TensorBoard, in log_dir/train and log_dir/validation. "
                                 "FileError if they cannot be written.")
      .def(nb::init<std::filesystem::path>(), "log_dir"_a = nn::TensorBoard::default_folder);
  CallbackClass<nn::TerminateOnNaN>(m, "TerminateOnNaN", "Ends the training when the loss is nan or infinite.")
      .def(nb::init<>());
}

}  // namespace

nn::CallbackRef to_callback(nb::handle object, nb::handle model) {
  if (nb::isinstance<nn::Callback>(object)) return nb::cast<std::shared_ptr<nn::Callback>>(object);
  if (PyType_Check(object.ptr()))
    throw TypeError("callbacks are objects, but " + nb::cast<std::string>(object.attr("__name__")) + " is a class");
  return std::make_shared<PythonCallback>(nb::borrow(object), nb::borrow(model));
}

void bind_nn_callbacks(nb::module_& m) {
  bind_history(m);
  // The module keeps the class. NOLINTNEXTLINE(bugprone-unused-raii)
  nb::class_<nn::Callback>(m, "NativeCallback", "The base of the callbacks that Croton ships.");
  bind_monitors(m);
  bind_others(m);
}

}  // namespace croton::python
