#include <croton/nn/model.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "nn/model_state.hpp"
#include "nn/progress.hpp"
#include "nn/rows.hpp"
#include "nn/steps.hpp"

namespace croton::nn {
namespace {

/// The rows of all parts as one array. ShapeError for rows of different shapes.
Array joined_rows(const std::vector<Array>& parts) {
  Sizes shape = parts[0].shape();
  shape[0] = 0;
  for (const Array& part : parts) {
    if (!std::ranges::equal(part.shape().begin() + 1, part.shape().end(), shape.begin() + 1, shape.end()))
      throw ShapeError(fmt::format("predict: batches give rows of {} and of {}, which cannot be rows of one array",
                                   to_string(Sizes(shape.begin() + 1, shape.end())),
                                   to_string(Sizes(part.shape().begin() + 1, part.shape().end()))));
    shape[0] += part.shape(0);
  }
  Array result = Array::empty(parts[0].dtype(), shape);
  std::int64_t begin = 0;
  for (const Array& part : parts) {
    result.slice(0, begin, begin + part.shape(0)).copy_from(part);
    begin += part.shape(0);
  }
  return result;
}

}  // namespace

Array Model::predict(const Array& x, const PredictOptions& options) {
  std::vector<Array> results = predict(std::vector<Array>{x}, options);
  if (results.size() != 1)
    throw TypeError(fmt::format("{}: {} outputs; predict(std::vector) gives all of them", name(), results.size()));
  return results[0];
}

std::vector<Array> Model::predict(const std::vector<Array>& x, const PredictOptions& options) {
  State& model = *state_;
  if (options.batch_size < 1) throw ValueError(fmt::format("{}: a batch_size of {}", model.name, options.batch_size));
  model.connect(x);
  const Batch all{x, {}};
  const std::int64_t rows = common_rows(all);
  const Dataset data = Dataset::from_arrays(x, {}, {}, {.batch_size = options.batch_size});
  const Function step = predict_step(model);
  std::vector<Array> results;
  EpochProgress progress(options.verbose, "Predict", data.batches());
  std::int64_t done = 0;
  for (std::int64_t begin = 0; begin < rows || begin == 0; begin += options.batch_size) {
    const Batch part = rows_between(all, begin, std::min(rows, begin + options.batch_size));
    const Outputs outputs = call_step(model, step, part);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (begin == 0) {
        Sizes shape = outputs[i].shape();
        shape[0] = rows;
        results.push_back(Array::empty(outputs[i].dtype(), shape));
      }
      results[i].slice(0, begin, begin + outputs[i].shape(0)).copy_from(outputs[i].to_host());
    }
    progress.update(++done, [] { return Logs(); });
  }
  return results;
}

std::vector<Array> Model::predict(const Dataset& dataset, const PredictOptions& options) {
  State& model = *state_;
  std::vector<std::vector<Array>> parts;  // of each output
  EpochProgress progress(options.verbose, "Predict", dataset.batches());
  const Dataset::Next next = dataset.prefetch(2).begin();
  std::int64_t done = 0;
  while (const std::optional<Batch> batch = next()) {
    common_rows({batch->x, {}});
    model.connect(batch->x);
    const Outputs outputs = call_step(model, predict_step(model), {batch->x, {}});
    parts.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) parts[i].push_back(outputs[i].to_host());
    progress.update(++done, [] { return Logs(); });
  }
  if (done == 0) throw ValueError(fmt::format("{}: there are no batches to predict", model.name));
  std::vector<Array> results;
  results.reserve(parts.size());
  for (const std::vector<Array>& list : parts) results.push_back(joined_rows(list));
  return results;
}

}  // namespace croton::nn
