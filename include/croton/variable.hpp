// Variable: a node of the user's symbolic graph. Operations on variables build new variables; nothing is computed until
// a function is compiled (function.hpp) or `eval` is called. Every variable stores the line of the program that made
// it.
#pragma once

#include <croton/array.hpp>
#include <croton/type.hpp>
#include <croton/where.hpp>

#include <complex>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace croton {

namespace builder {
struct Node;
}

struct Operand;
struct SliceSpec;
class Variable;

/// An input and its value, for `eval`.
using Binding = std::pair<Variable, Array>;

/// A handle to a symbolic expression; copies are the same variable. `==` is identity; for elementwise equality use
/// `eq`.
class Variable {
 public:
  /// An empty Variable; using it in an expression raises TypeError.
  Variable() = default;

  const Type& type() const;
  DType dtype() const { return type().dtype; }
  int rank() const { return static_cast<int>(type().rank()); }
  /// The user's name, or "".
  const std::string& name() const;
  /// Names the variable (for prints and errors) and returns it.
  Variable& named(std::string name);
  /// The line of the program that made it.
  Where where() const;
  explicit operator bool() const = delete;
  bool defined() const { return node_ != nullptr; }
  bool is_constant() const;

  /// The size of one axis (negative axes count from the end) as an int64 scalar; it is found without computing the
  /// variable.
  Variable shape(int axis, Where where = std::source_location::current()) const;
  /// All sizes, each an int64 scalar.
  std::vector<Variable> shape(Where where = std::source_location::current()) const;
  /// The number of elements as an int64 scalar.
  Variable size(Where where = std::source_location::current()) const;
  /// The transpose: all axes reversed.
  Variable T(Where where = std::source_location::current()) const;
  /// Indexing: `x[0]`, `x[slice(1, n)]`, `x[rows]`; further axes with `x.at({i, slice(0, 2)})`. See SliceSpec.
  Variable operator[](SliceSpec spec) const;
  Variable at(std::vector<SliceSpec> specs, Where where = std::source_location::current()) const;
  Variable astype(DType dtype, Where where = std::source_location::current()) const;

  /// Compiles and computes the variable for the given values of its inputs. The compiled function is not kept.
  Array eval(std::initializer_list<Binding> values = {}, Where where = std::source_location::current()) const;

  friend bool operator==(const Variable& a, const Variable& b) { return a.node_ == b.node_; }

  // Internal.
  explicit Variable(std::shared_ptr<builder::Node> node) : node_(std::move(node)) {}
  builder::Node* node() const { return node_.get(); }
  const std::shared_ptr<builder::Node>& handle() const { return node_; }

 protected:
  std::shared_ptr<builder::Node> node_;
};

std::ostream& operator<<(std::ostream& out, const Variable& variable);

/// An argument of an operation: a variable, or a number or array that becomes a constant. The conversion stores the
/// user's line. A whole number gets the smallest integer dtype that holds it; a real number is floatX (with
/// floatX=float64: float32 if that is exact), so that `x_float32 * 0.1` stays float32 under floatX=float32. A complex
/// number is complex64 (with floatX=float64: if that is exact, else complex128).
struct Operand {
  Variable variable;
  Where where;

  Operand(const Variable& v, Where w = std::source_location::current());
  Operand(int value, Where w = std::source_location::current());
  Operand(long value, Where w = std::source_location::current());
  Operand(long long value, Where w = std::source_location::current());
  Operand(unsigned long value, Where w = std::source_location::current());
  Operand(bool value, Where w = std::source_location::current());
  Operand(double value, Where w = std::source_location::current());
  Operand(float value, Where w = std::source_location::current());
  Operand(std::complex<double> value, Where w = std::source_location::current());
  Operand(std::complex<float> value, Where w = std::source_location::current())
      : Operand(std::complex<double>(value), w) {}
  Operand(const Array& value, Where w = std::source_location::current());
};

/// One entry of an index: a position, start:stop:step with optional parts, a new axis, an ellipsis, or an integer array
/// of positions. Bounds and steps may be symbolic; negative positions count from the end.
///
/// Several arrays are broadcast against each other and read together, as in NumPy: `x.at({rows, columns})` pairs them.
/// Their axes replace the first of the indexed axes, or come first if entries other than arrays and positions are
/// between them. A bool array of k dimensions indexes k axes and selects the positions where it is true. A position
/// outside its axis raises IndexError when the function is called.
struct SliceSpec {
  enum class Kind { index, slice, new_axis, ellipsis } kind = Kind::index;
  std::optional<Operand> start, stop, step;
  Where where;
  SliceSpec(int index, Where w = std::source_location::current());
  SliceSpec(const Variable& index, Where w = std::source_location::current());
  SliceSpec(const Array& index, Where w = std::source_location::current());
  explicit SliceSpec(Kind k, Where w = std::source_location::current()) : kind(k), where(w) {}
};
/// start:stop:step; std::nullopt omits a bound. Out-of-range bounds are clipped, negative ones count from the end.
SliceSpec slice(std::optional<Operand> start = {}, std::optional<Operand> stop = {}, std::optional<Operand> step = {},
                Where where = std::source_location::current());
extern const SliceSpec new_axis;
extern const SliceSpec ellipsis;

/// An input of the given type.
Variable variable(Type type, std::string name = "", Where where = std::source_location::current());
/// A constant with a copy of the array.
Variable constant(const Array& value, std::string name = "", Where where = std::source_location::current());

// Inputs by rank: dtype is floatX unless given. row is (1, ?), col is (?, 1): their size of 1 broadcasts.
Variable scalar(std::string name = "", std::optional<DType> dtype = {}, Where where = std::source_location::current());
Variable vector(std::string name = "", std::optional<DType> dtype = {}, Where where = std::source_location::current());
Variable matrix(std::string name = "", std::optional<DType> dtype = {}, Where where = std::source_location::current());
Variable row(std::string name = "", std::optional<DType> dtype = {}, Where where = std::source_location::current());
Variable col(std::string name = "", std::optional<DType> dtype = {}, Where where = std::source_location::current());
Variable tensor3(std::string name = "", std::optional<DType> dtype = {}, Where where = std::source_location::current());
Variable tensor4(std::string name = "", std::optional<DType> dtype = {}, Where where = std::source_location::current());

// Theano's prefixed names: b int8, w int16, i int32, l int64, f float32, d float64, c complex64, z complex128 (and u..
// in dtype arguments).
#define CROTON_DECLARE_INPUTS(prefix, element)                                                            \
  inline Variable prefix##scalar(std::string name = "", Where where = std::source_location::current()) {  \
    return scalar(std::move(name), DType::element, where);                                                \
  }                                                                                                       \
  inline Variable prefix##vector(std::string name = "", Where where = std::source_location::current()) {  \
    return vector(std::move(name), DType::element, where);                                                \
  }                                                                                                       \
  inline Variable prefix##matrix(std::string name = "", Where where = std::source_location::current()) {  \
    return matrix(std::move(name), DType::element, where);                                                \
  }                                                                                                       \
  inline Variable prefix##row(std::string name = "", Where where = std::source_location::current()) {     \
    return row(std::move(name), DType::element, where);                                                   \
  }                                                                                                       \
  inline Variable prefix##col(std::string name = "", Where where = std::source_location::current()) {     \
    return col(std::move(name), DType::element, where);                                                   \
  }                                                                                                       \
  inline Variable prefix##tensor3(std::string name = "", Where where = std::source_location::current()) { \
    return tensor3(std::move(name), DType::element, where);                                               \
  }                                                                                                       \
  inline Variable prefix##tensor4(std::string name = "", Where where = std::source_location::current()) { \
    return tensor4(std::move(name), DType::element, where);                                               \
  }
CROTON_DECLARE_INPUTS(b, int8)
CROTON_DECLARE_INPUTS(w, int16)
CROTON_DECLARE_INPUTS(i, int32)
CROTON_DECLARE_INPUTS(l, int64)
CROTON_DECLARE_INPUTS(f, float32)
CROTON_DECLARE_INPUTS(d, float64)
CROTON_DECLARE_INPUTS(c, complex64)
CROTON_DECLARE_INPUTS(z, complex128)
#undef CROTON_DECLARE_INPUTS

}  // namespace croton
