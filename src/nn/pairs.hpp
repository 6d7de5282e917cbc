// What losses and metrics share: targets and predictions made to fit each other, and weights to fit the numbers of
// samples. Messages name the loss or metric, `what`, and the variables.
#pragma once

#include <croton/variable.hpp>

#include <string_view>
#include <vector>

namespace croton::nn {

/// In floats of 32 bits at least, as 16 have no room for 1e-7 beside 1; integers in floatX.
Variable in_wide_floats(const Variable& x);

struct Pair {
  Variable target, prediction;
};
/// Both of one shape, in the prediction's floats. Either may lack a last axis of size 1; of n numbers each is a sample.
/// TypeError for other ranks; sizes of 1 do not repeat (ShapeError), which would hide a mistake.
Pair paired(std::string_view what, const Variable& target, const Variable& prediction);
/// Rows of one number for each class, of one shape.
Pair paired_rows(std::string_view what, const Variable& target, const Variable& prediction);
/// Integer classes, and rows of one number for each class; the targets may have a last axis of size 1.
Pair classes_and_rows(std::string_view what, const Variable& target, const Variable& prediction);

/// Weights (or a mask) with axes behind them so that they repeat over what a number of `values` stands for. TypeError
/// for more axes than the values have.
Variable along_values(std::string_view what, const Variable& weight, const Variable& values);

/// All that `Loss(name)` takes.
std::vector<std::string_view> loss_names();

}  // namespace croton::nn
