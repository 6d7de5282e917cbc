// What a method of random streams was asked for, whichever generator draws it: its name, its caller's line, the sizes.
#pragma once

#include <croton/random.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace croton::ops {

class DrawRequest {
 public:
  /// Without sizes the shape is that of `parameters` (of none: one number). TypeError for complex parameters, and for
  /// sizes that are no integer scalars.
  DrawRequest(std::string_view method, const DrawShape& shape, const std::vector<Operand>& parameters, Where where);

  const std::vector<Operand>& sizes() const { return sizes_; }
  void add_axis(const Operand& size);
  Where where() const { return where_; }
  /// "uniform (train.cpp:12)".
  std::string line() const;

  /// The dtype of real numbers, floatX unless it is given; TypeError for another.
  DType real_dtype(std::optional<DType> dtype) const;
  /// TypeError for a complex dtype.
  void demand_real(DType dtype) const;
  [[noreturn]] void refuse(const Operand& what, const std::string& why) const;  ///< TypeError

 protected:
  std::vector<Operand> sizes_;

 private:
  void check_size(const Operand& size) const;

  std::string method_;
  Where where_;
};

/// The number that a scalar is known to be.
std::optional<double> known_number(const Operand& x);
/// floatX, or what it becomes together with the parameters.
DType float_of_parameters(const std::vector<Operand>& parameters);

}  // namespace croton::ops
