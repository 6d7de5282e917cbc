// What grad differentiates where the user wrote a stable function in parts that overflow.
#pragma once

#include <croton/variable.hpp>

namespace croton::builder {

/// softmax(x) where `y` is exp(x) / sum(exp(x)), and the like: the same function, whose derivative is finite where that
/// by way of the parts is not. Not defined where y is no such form. Defined in ops/, which knows the functions.
Variable stable_form(const Variable& y);

}  // namespace croton::builder
