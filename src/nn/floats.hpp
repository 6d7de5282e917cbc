// floatX in layers.
#pragma once

#include <croton/variable.hpp>

namespace croton::nn {

/// The dtype of weights, and of integers that layers convert.
DType float_dtype();
/// x, with integers and bool converted to floatX.
Variable in_floats(const Variable& x);

}  // namespace croton::nn
