// A request for random numbers, for all generators: the method's name, its caller's line, the sizes.
#pragma once

#include <croton/random.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace croton::ops {

class DrawRequest {
 public:
  /// Without sizes the shape is the broadcast shape of `parameters`, a scalar if there are none. TypeError for complex
  /// parameters, and for sizes that are not integer scalars.
  DrawRequest(std::string_view method, const DrawShape& shape, const std::vector<Operand>& parameters, Where where);

  const std::vector<Operand>& sizes() const { return sizes_; }
  void add_axis(const Operand& size);
  Where where() const { return where_; }
  /// "uniform (train.cpp:12)".
  std::string line() const;

  /// The dtype of real numbers, by default floatX; TypeError if it is not a float.
  DType real_dtype(std::optional<DType> dtype) const;
  /// TypeError for a complex dtype.
  void demand_real(DType dtype) const;
  [[noreturn]] void throw_type_error(const Operand& what, const std::string& why) const;

 protected:
  std::vector<Operand> sizes_;

 private:
  void check_size(const Operand& size) const;

  std::string method_;
  Where where_;
};

/// The value of a constant scalar.
std::optional<double> known_number(const Operand& x);
/// The common dtype of floatX and the parameters.
DType float_of_parameters(const std::vector<Operand>& parameters);

}  // namespace croton::ops
