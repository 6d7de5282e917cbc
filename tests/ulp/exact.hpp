// Exact values of the elementwise functions, by MPFR: many more bits than a double has, from definitions that are
// independent of codegen_templates/common.
#pragma once

#include <mpfr.h>

#include <string_view>
#include <vector>

namespace croton_ulp {

/// A number of 200 bits.
class Exact {
 public:
  Exact() {
    mpfr_init2(value_, 200);
    mpfr_set_zero(value_, 1);
  }
  Exact(double x) : Exact() { mpfr_set_d(value_, x, MPFR_RNDN); }
  Exact(const Exact& other) : Exact() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Exact& operator=(const Exact& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Exact() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

struct Function {
  std::string_view op;  // its name in Croton
  Exact (*of_one)(const Exact& x);
  Exact (*of_two)(const Exact& x, const Exact& y);
  double low, high;                            // the interval of samples of float64, in addition to random bit patterns
  double cuda_float, cuda_double;              // CUDA's largest errors, in its own unit; -1: no such function
  double relative_below = 0;                   // from this magnitude of x on the absolute error counts; 0: nowhere
  double excluded_low = 1, excluded_high = 0;  // zeros between poles, where no relative error is promised
  double y_low = -8, y_high = 8;
};

const std::vector<Function>& functions();

}  // namespace croton_ulp
