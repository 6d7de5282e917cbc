// Errors and results of the verification modes: mode=verify, which compares each call with two slower computations of
// the same result, and nan_guard, which finds the origin of a NaN, an infinity or an oversized number.
#pragma once

#include <croton/array.hpp>
#include <croton/error.hpp>

#include <string>
#include <vector>

namespace croton {

/// mode=verify: the compiled function gave another result than the graph before rewriting. Nothing is changed. `what()`
/// names the output, its worst element, the rule or kernel at fault, and the file of a minimal program.
class VerificationError : public Error {
 public:
  using Error::Error;
};

/// nan_guard: an op made a NaN, an infinity or a number that is too large. Nothing is changed. `what()` names the op,
/// the user's line, and the ranges of its inputs.
class NanError : public Error {
 public:
  using Error::Error;
};

/// The check of one output of a call, or of the new value of a shared variable, against double precision.
struct OutputCheck {
  std::string name;  ///< "output 0 (loss, train.cpp:12)", "update of w"
  DType dtype = DType::float32;
  Sizes shape;
  double fused_ulp = 0;    ///< largest error, in units in the last place of the exact value in this dtype
  double unfused_ulp = 0;  ///< the same for the graph before rewriting, one kernel for each op
  double allowed_ulp = 0;  ///< the largest error that rounding allows, at the element of fused_ulp
  Sizes index;             ///< that element
  double exact = 0;        ///< its value in double precision; for complex numbers the real part, here and below
  double fused = 0;
  double unfused = 0;
};

/// The results of a call under mode=verify.
struct Verification {
  std::vector<OutputCheck> outputs;  ///< outputs, then updates
  std::string to_string() const;     ///< a table
};

}  // namespace croton
