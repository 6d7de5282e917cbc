#include "nn/class_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nn/floats.hpp"
#include "nn/rows.hpp"
#include "nn/steps.hpp"

namespace croton::nn {
namespace {

/// The class of each sample. Targets are class numbers, or rows with a number for each class: the largest counts.
std::vector<std::int64_t> classes_of(const Array& targets, bool are_classes) {
  const std::int64_t rows = targets.shape(0), columns = rows == 0 ? 1 : targets.size() / rows;
  if (columns != 1 && (targets.rank() != 2 || are_classes))
    throw ValueError(
        "class weights are for targets that are class numbers, one for each sample, or rows of one number for each "
        "class");
  const Array values = targets.to_host().contiguous();
  std::vector<std::int64_t> classes;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto value = [&](std::int64_t column) { return values.as_double(row * columns + column); };
    std::int64_t best = 0;
    for (std::int64_t column = 1; column < columns; ++column) best = value(column) > value(best) ? column : best;
    classes.push_back(columns == 1 ? std::llround(value(0)) : best);
  }
  return classes;
}

}  // namespace

Dataset with_class_weights(const Model::State& model, const Dataset& data,
                           const std::vector<std::pair<std::int64_t, double>>& table) {
  if (table.empty()) return data;
  if (model.is_connected() && model.outputs.size() > 1)
    throw ValueError(fmt::format("{}: class_weight is for a model of one output, and this one has {}", model.name,
                                 model.outputs.size()));
  return data.map([table, are_classes = loss_of(model, 0).takes_classes()](Batch batch) {
    common_rows(batch);
    if (batch.y.size() != 1) return batch;  // the model raises the error
    if (batch.weights && batch.weights->size() != batch.size())
      throw ValueError("class weights are for samples, and the weights that the batch has are for their steps");
    Array weights = Array::full(float_dtype(), {batch.size()}, 1);
    std::int64_t row = 0;
    for (const std::int64_t own : classes_of(batch.y.at(0), are_classes)) {
      const auto found = std::ranges::find(table, own, &std::pair<std::int64_t, double>::first);
      const double weight = found == table.end() ? 1 : found->second;
      const double given = batch.weights ? batch.weights->as_double(row) : 1;
      weights.slice(0, row, row + 1).copy_from(Array::full(float_dtype(), {1}, weight * given));
      ++row;
    }
    batch.weights = weights;
    return batch;
  });
}

}  // namespace croton::nn
