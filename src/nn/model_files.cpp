// Models in files: weights by name, and checkpoints, which have the whole state of a training.
#include <croton/archive.hpp>
#include <croton/nn/model.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <optional>
#include <set>
#include <string_view>

#include "base/config.hpp"
#include "nn/model_state.hpp"
#include "nn/names.hpp"

namespace croton::nn {
namespace {

using Named = std::vector<std::pair<std::string, SharedVariable>>;

Named named_weights(const Model::State& model) {
  model.check_connected();
  Named result;
  for (const Model::State::NamedWeight& weight : model.weights()) result.emplace_back(weight.name, weight.variable);
  return result;
}

/// The variables of the model that a checkpoint has: weights and states.
Named named_parts(const Model::State& model) {
  Named result;
  for (const auto& [name, variable] : named_weights(model)) result.emplace_back("model/" + name, variable);
  for (const Model::State::NamedWeight& state : model.states())
    result.emplace_back("states/" + state.name, state.variable);
  return result;
}

/// The optimizer's variables. The name of its state of a parameter ends in the parameter's name in the model, which is
/// the same in every process: "optimizer/adam/m/dense/kernel".
Named named_state(const Model::State& model, const Optimizer& optimizer) {
  Named result;
  std::set<std::string> taken;
  for (const SharedVariable& variable : optimizer.variables()) {
    std::string name = variable.name();
    for (const Model::State::NamedWeight& weight : model.weights()) {
      const std::string own = "/" + weight.variable.name();
      if (!name.ends_with(own)) continue;
      name = name.substr(0, name.size() - own.size() + 1) + weight.name;
      break;
    }
    result.emplace_back(unique_name("optimizer/" + name, taken), variable);
  }
  return result;
}

io::NamedArrays values(const Named& variables) {
  io::NamedArrays arrays;
  for (const auto& [name, variable] : variables) arrays.emplace_back(name, variable.get_value());
  return arrays;
}

bool is_npz(const std::filesystem::path& file) { return file.extension() == ".npz"; }

constexpr const char* checkpoint_format = "croton-checkpoint-1";
/// The progress of a training as named numbers.
using Progress = std::vector<std::pair<std::string, std::int64_t>>;
/// NPZ files have no metadata: there these numbers are arrays whose names have this prefix.
constexpr std::string_view progress_array = "croton-checkpoint-1/";

io::Archive read_archive(const std::filesystem::path& file) {
  check_kind(file);
  if (!is_npz(file)) return io::load_safetensors(file);
  io::Archive archive{io::load_npz(file), {}};
  for (const auto& [name, value] : archive.arrays) {
    if (!name.starts_with(progress_array)) continue;
    archive.metadata["format"] = checkpoint_format;
    if (value.size() == 1 && is_integer(value.dtype()))
      archive.metadata[name.substr(progress_array.size())] =
          std::to_string(value.astype(DType::int64).reshape({}).item<std::int64_t>());
  }
  std::erase_if(archive.arrays, [](const auto& item) { return item.first.starts_with(progress_array); });
  return archive;
}

void write_archive(const std::filesystem::path& file, io::NamedArrays arrays, const Progress& progress) {
  if (is_npz(file)) {
    for (const auto& [name, number] : progress) arrays.emplace_back(std::string(progress_array) + name, Array(number));
    io::save_npz(file, arrays);
    return;
  }
  decltype(io::Archive::metadata) metadata{{"format", checkpoint_format}};
  for (const auto& [name, number] : progress) metadata[name] = std::to_string(number);
  io::save_safetensors(file, arrays, metadata);
}

/// The number with this name, at least 0, or nothing.
std::optional<std::int64_t> progress_of(const io::Archive& archive, const std::string& name) {
  const auto found = archive.metadata.find(name);
  if (found == archive.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t number = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// Older files have states of random numbers ({key, count}, in uint64) among the weights. They are dropped from files
/// of weights, and renamed in checkpoints.
void move_states(io::Archive& archive, bool of_checkpoint) {
  std::erase_if(archive.arrays, [&](std::pair<std::string, Array>& entry) {
    auto& [name, array] = entry;
    if (!name.ends_with("/state") || array.dtype() != DType::uint64 || array.shape() != Sizes{2}) return false;
    if (!of_checkpoint) return true;
    if (name.starts_with("model/")) name.replace(0, 6, "states/");
    return false;
  });
}

bool is_checkpoint(const io::Archive& archive) {
  const auto format = archive.metadata.find("format");
  return format != archive.metadata.end() && format->second == checkpoint_format;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Sets the variables to the arrays with their names; `whole`: there must be no other arrays. ValueError if names
/// differ; then nothing is changed.
void set_from(const std::filesystem::path& file, const io::NamedArrays& arrays, const Named& variables, bool whole) {
  std::vector<NewValue> new_values;
  std::vector<std::string> missing, others;
  for (const auto& [name, variable] : variables) {
    const auto found = std::ranges::find(arrays, name, &std::pair<std::string, Array>::first);
    if (found == arrays.end()) {
      missing.push_back(name);
    } else {
      new_values.push_back({name, variable, found->second});
    }
  }
  for (const auto& [name, array] : arrays) {
    if (std::ranges::find(variables, name, &std::pair<std::string, SharedVariable>::first) == variables.end())
      others.push_back(name);
  }
  if (!missing.empty() || (whole && !others.empty())) {
    std::string text = fmt::format("{} does not fit the model", file.string());
    if (!missing.empty()) text += ": it has no " + listed(missing);
    if (whole && !others.empty())
      text += fmt::format("{} it has {}, which the model does not have", missing.empty() ? ":" : ";", listed(others));
    throw ValueError(text);
  }
  set_all(new_values);
}

}  // namespace

void check_kind(const std::filesystem::path& file) {
  const std::filesystem::path kind = file.extension();
  if (kind == ".h5" || kind == ".hdf5" || kind == ".keras")
    throw ValueError(fmt::format("{}: files of kind {} are neither written nor read; .safetensors and .npz are",
                                 file.string(), kind.string()));
}

void Model::save_weights(const std::filesystem::path& file) const {
  check_kind(file);
  const io::NamedArrays arrays = values(named_weights(*state_));
  is_npz(file) ? io::save_npz(file, arrays) : io::save_safetensors(file, arrays, {{"format", "croton-weights-1"}});
}

void Model::load_weights(const std::filesystem::path& file) const {
  io::Archive archive = read_archive(file);
  move_states(archive, is_checkpoint(archive));
  if (!is_checkpoint(archive)) return set_from(file, archive.arrays, named_weights(*state_), true);
  // A checkpoint also has the weights; their names begin with "model/".
  io::NamedArrays weights;
  for (const auto& [name, array] : archive.arrays) {
    if (name.starts_with("model/")) weights.emplace_back(name.substr(6), array);
  }
  set_from(file, weights, named_weights(*state_), true);
}

void Model::save_checkpoint(const std::filesystem::path& file) const {
  check_kind(file);
  Named all = named_parts(*state_);
  for (const auto& state : named_state(*state_, optimizer())) all.push_back(state);
  write_archive(file, values(all),
                {{"epochs", state_->epochs_done},
                 {"first_pass", state_->first_pass},
                 {"next_pass", state_->next_pass},
                 {"shards", static_cast<std::int64_t>(state_->shards.count())}});
}

void Model::load_checkpoint(const std::filesystem::path& file) {
  io::Archive archive = read_archive(file);
  move_states(archive, true);
  const std::optional<std::int64_t> done = is_checkpoint(archive) ? progress_of(archive, "epochs") : std::nullopt;
  if (!done) throw ValueError(fmt::format("{} is not a checkpoint of a training", file.string()));
  // The optimizer makes its state of a parameter in its first step.
  const Optimizer learner = optimizer();
  std::vector<std::pair<Variable, SharedVariable>> none;
  for (const SharedVariable& parameter : trainable_variables())
    none.emplace_back(zeros_like(Operand(parameter, parameter.where())), parameter);
  if (!none.empty()) learner.apply_gradients(none);
  Named all = named_parts(*state_);
  for (const auto& state : named_state(*state_, learner)) all.push_back(state);
  set_from(file, archive.arrays, all, true);
  const std::int64_t shards = progress_of(archive, "shards").value_or(1), own = std::ssize(state_->shards.device_of);
  if (shards != own && base::config().warn) {
    std::cerr << fmt::format(
        "croton: warning: {}: {} was saved by a training of {} shard(s), and this one has {}: it continues with other "
        "bits\n",
        state_->name, file.string(), shards, own);
  }
  state_->resumed_epochs = state_->epochs_done = *done;
  state_->first_pass = progress_of(archive, "first_pass").value_or(0);
  state_->next_pass = progress_of(archive, "next_pass").value_or(*done);
}

}  // namespace croton::nn
