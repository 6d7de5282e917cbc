// Shared code of losses and metrics: it makes targets, predictions and weights fit each other. Messages name the loss
// or metric, `what`, and the variables.
#pragma once

#include <croton/variable.hpp>

#include <string_view>
#include <vector>

namespace croton::nn {

/// x in floats of at least 32 bits, as 16 bits cannot represent 1 - 1e-7; integers become floatX.
Variable in_wide_floats(const Variable& x);

struct Pair {
  Variable target, prediction;
};
/// Target and prediction of one shape, in the prediction's floats. Either may lack a last axis of size 1; each element
/// of a vector is a sample. TypeError for other ranks; ShapeError for different sizes: sizes of 1 do not broadcast, as
/// that would hide a mistake.
Pair paired(std::string_view what, const Variable& target, const Variable& prediction);
/// Rows with a number for each class, of one shape.
Pair paired_rows(std::string_view what, const Variable& target, const Variable& prediction);
/// Integer classes, and rows with a number for each class; the targets may have a last axis of size 1.
Pair classes_and_rows(std::string_view what, const Variable& target, const Variable& prediction);

/// Weights (or a mask) with trailing axes of size 1, so that they broadcast against `values`. TypeError for more axes
/// than the values have.
Variable along_values(std::string_view what, const Variable& weight, const Variable& values);

/// All names that `Loss(name)` accepts.
std::vector<std::string_view> loss_names();

}  // namespace croton::nn
