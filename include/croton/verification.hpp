// What the verifying modes say: mode=verify, which compares each call with two slower ways of computing the same, and
// nan_guard, which finds where a NaN, an infinity or an oversized number came from.
#pragma once

#include <croton/array.hpp>
#include <croton/error.hpp>

#include <string>
#include <vector>

namespace croton {

/// mode=verify: the compiled function gave another result than the graph as it was written. Nothing has changed.
/// `what()` names the output, its worst element, the rule or kernel at fault, and the file of a minimal program.
class VerificationError : public Error {
 public:
  using Error::Error;
};

/// nan_guard: an op made a NaN, an infinity or a number that is too large. Nothing has changed. `what()` names the op,
/// the user's line, and the ranges of its inputs.
class NanError : public Error {
 public:
  using Error::Error;
};

/// One output of a call, or the new value of a shared variable, against the same in double precision.
struct OutputCheck {
  std::string name;  ///< "output 0 (loss, train.cpp:12)", "update of w"
  DType dtype = DType::float32;
  Sizes shape;
  double fused_ulp = 0;    ///< largest error, in units in the last place of the exact value in this dtype
  double unfused_ulp = 0;  ///< the same of the graph as it was written, one kernel for each op
  double allowed_ulp = 0;  ///< what rounding may do, at the element where fused_ulp was found
  Sizes index;             ///< that element
  double exact = 0;        ///< its value in double precision; of complex numbers the real part, here and below
  double fused = 0;
  double unfused = 0;
};

/// What a call under mode=verify found.
struct Verification {
  std::vector<OutputCheck> outputs;  ///< outputs, then updates
  std::string to_string() const;     ///< a table
};

}  // namespace croton
