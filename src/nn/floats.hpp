// floatX, as layers use it.
#pragma once

#include <croton/variable.hpp>

namespace croton::nn {

/// The dtype of weights, and of what layers make of integers.
DType float_dtype();
/// x, integers and bool as floatX.
Variable in_floats(const Variable& x);

}  // namespace croton::nn
