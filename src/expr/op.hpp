// Op: the complete definition of an operation, as a struct of functions and facts. Each op is defined in one place (a
// row of ops/elementwise/elementwise.cpp or a file of ops/). Stages use only this struct: they switch over `kind`, and
// compare with the few ops of `Core`, never with names. Only rewrite rules, each about a few ops, name them.
#pragma once

#include <croton/array.hpp>
#include <croton/type.hpp>

#include "expr/attrs.hpp"

#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton {
class Variable;
namespace builder {
struct BatchContext;
struct Batched;
struct GradientContext;
struct ResultsGradientContext;
}  // namespace builder
}  // namespace croton

namespace croton::expr {

class Arena;
struct Op;
struct RoutineInfo;  // routine.hpp
using NodeId = std::uint32_t;
inline constexpr NodeId no_node = ~NodeId{0};

/// The kind of an op, by which stages treat it.
enum class Kind : std::uint8_t {
  Leaf,      // inputs, constants, sizes; in kernel bodies axes, loads and stage results
  Map,       // elementwise: a row of the table
  Reduce,    // over axes, with an associative combiner
  Generate,  // values from indices alone: arange, eye
  View,      // another way to index the same elements: dimshuffle, reshape, slices
  Join,      // piecewise index maps: concatenate, pad
  Gather,    // reads at computed indices
  Contract,  // products of matrices
  Window,    // windows that slide along axes: convolutions, pooling
  Routine,   // a fixed sequence of launches (routine.hpp): running sums, sorting, writes at computed indices
  Expand,    // rewritten to other ops, after the stability rules
  Loop,
  Branch,
  Host,      // callbacks of the user
  Check,     // passes a value on if a condition holds
  Transfer,  // to another device
};

/// The ops that stages know individually (core_ops.def). A stage tests `op.is(Core::load, Core::load_if)` and makes
/// `arena.make(Core::cast, ...)` instead of using names, so that a wrong name does not compile.
enum class Core : std::uint8_t {
#define CROTON_CORE_OP(name) name,
#include "expr/core_ops.def"
#undef CROTON_CORE_OP
};

/// A size while types are inferred. In the builder: the number, which may be negative while sizes are computed, or
/// `unknown_dim`. In an arena: the id of an int64 scalar node.
using Dim = std::int64_t;
inline constexpr Dim unknown_dim = INT64_MIN;

struct InferredType {
  DType dtype;
  std::vector<Dim> shape;
};

/// The context of a type rule; the builder (known or unknown sizes) and the arena (sizes as nodes) use the same rule.
class InferContext {
 public:
  virtual ~InferContext() = default;
  const Attrs& attrs;
  std::string_view op_name;
  std::vector<InferredType> inputs;

  /// The value of the size, if it is known.
  virtual std::optional<std::int64_t> known(Dim dim) const = 0;
  virtual Dim constant(std::int64_t value) = 0;
  /// Requires that both sizes are equal (checked when the plan is bound if they are not known); returns the one to use
  /// from here on.
  virtual Dim require_equal(Dim a, Dim b, std::string_view why) = 0;
  /// The value of an integer scalar input, as a size.
  virtual Dim value_of(std::size_t input) = 0;
  /// a op b; `op` is the name of an elementwise integer op.
  virtual Dim apply(std::string_view op, Dim a, Dim b) = 0;
  /// Requires -size <= index < size (IndexError when the plan is bound).
  virtual void require_index(Dim index, Dim size, std::string_view why) = 0;
  /// Requires that the number is a valid size: 0 or more, without overflow in its arithmetic (ShapeError when the plan
  /// is bound). The sizes of results are required without a call.
  virtual void require_size(Dim size) = 0;
  /// Raises the user's error with the inputs' names, lines and types in front of `message`.
  [[noreturn]] virtual void type_error(const std::string& message) const = 0;
  [[noreturn]] virtual void shape_error(const std::string& message) const = 0;

 protected:
  InferContext(const Attrs& a, std::string_view name) : attrs(a), op_name(name) {}
};

/// One scalar, in the arithmetic of its dtype: integers and bool in i (unsigned ones by their bits), floats in d,
/// complex numbers in d and im.
struct Scalar {
  DType dtype = DType::float64;
  std::int64_t i = 0;
  double d = 0;
  double im = 0;

  static Scalar of_double(double value, DType dtype);
  static Scalar of_int(std::int64_t value, DType dtype);
  static Scalar of_unsigned(std::uint64_t value, DType dtype);
  static Scalar of_complex(std::complex<double> value, DType dtype);
  /// `i` as a number of an unsigned dtype.
  std::uint64_t as_unsigned() const { return static_cast<std::uint64_t>(i); }
  /// The value converted by the rules of Array::astype and rounded to `to`.
  Scalar cast(DType to) const;
  /// NaN for a complex number that is not real, because it equals no real number.
  double as_double() const;
  std::complex<double> as_complex() const { return {is_complex(dtype) ? d : as_double(), im}; }
  std::int64_t as_int() const { return is_discrete(dtype) ? i : cast(DType::int64).i; }
};

/// The interval from which an op's inputs are drawn for tests and rule checks.
struct Domain {
  double low = -4;
  double high = 4;
};

struct ComplexInfo;

/// The facts of an elementwise op.
struct MapInfo {
  /// Result dtype and the dtype that the operands are cast to before the body computes.
  struct Types {
    DType result;
    DType operand;
  };
  using TypeRule = std::function<Types(std::span<const DType> inputs)>;
  using Reference = std::function<Scalar(std::span<const Scalar> operands, DType result)>;
  using Exact = bool (*)(std::span<const Scalar> operands);

  TypeRule real_types;    // of operands that are not complex; throws TypeError for dtypes that are not accepted
  std::string_view code;  // C++ with {0}, {1}, ... for operands and {T} for the operands' type
  Reference real_reference;
  bool commutative = false;
  int cost = 1;  // in additions, for the decision to recompute or to store
  std::vector<Domain> domains;
  const ComplexInfo* complex = nullptr;  // null: complex operands are not accepted
  std::string_view support = "";         // text that `code` needs before the kernel
  bool foldable = true;                  // constants may be folded by the reference
  std::string_view wrapping = "";  // used instead of `code` for integers that wrap, if C++'s operators may overflow
  Exact exact = nullptr;           // whether an int64 result does not overflow; null: it never does
  bool chooses = false;            // the result for floats is an operand, its negation, or an integer next to it

  /// The types for operands of these dtypes; TypeError if they are not accepted.
  Types types(std::span<const DType> inputs) const;
  Scalar reference(std::span<const Scalar> operands, DType result) const;
};

/// The facts of an elementwise op for complex operands; its code is the same.
struct ComplexInfo {
  MapInfo::TypeRule types;
  MapInfo::Reference reference;  // in double
  /// Differentiable as a complex function: the gradient follows from the formula for real numbers. Otherwise the op's
  /// gradient is written for complex numbers.
  bool holomorphic = true;
  /// Used instead of the op's gradient, if complex numbers need another formula.
  std::vector<Variable> (*gradient)(const builder::GradientContext&) = nullptr;
};

/// The facts of a reduction.
struct ReduceInfo {
  std::string_view combiner;    // a struct of codegen_templates/common/combine.cuh
  bool needs_elements = false;  // no identity: an empty axis is an error
  bool yields_index = false;    // the result is the position of the chosen element
};

/// The facts of a user's callback. A node is one result of an application: its inputs are the arguments and then the
/// sizes of that result; its attributes are `output`, the index of the result, `outputs`, the number of results, and
/// `application`, 0 if equal arguments give equal results.
struct HostInfo {
  std::function<std::vector<Array>(const std::vector<Array>& arguments)> compute;
};

/// The context of the reference evaluation of a non-elementwise op.
struct EvaluateContext {
  const Attrs& attrs;
  std::vector<Array> inputs;
  DType dtype;
  Sizes shape;             // of the result
  const Op* op = nullptr;  // the evaluated op, if it is a user-defined operation
};

/// The context in which a View, Generate, Join or Check op computes one of its elements inside a kernel: the index and
/// the sizes as nodes of the kernel's body. The op returns a node, and reads its inputs as needed.
class ElementContext {
 public:
  virtual ~ElementContext() = default;
  Arena& body;
  const Attrs& attrs;
  DType dtype;                // of the result
  std::vector<NodeId> index;  // one per axis of the result
  std::vector<NodeId> shape;  // of the result
  std::vector<std::vector<NodeId>> input_shapes;

  virtual NodeId read(std::size_t input, std::vector<NodeId> at) = 0;
  /// As `read`, but 0 and no access where `guard` (bool) is false.
  virtual NodeId read_if(NodeId guard, std::size_t input, std::vector<NodeId> at) = 0;
  /// The condition (bool) must hold for every computed element; otherwise the call fails with `message`, in which {}
  /// is `value`.
  virtual void check(NodeId condition, NodeId value, std::string message) = 0;
  /// Whether the sizes of the result along `axes` have the same product as those of input 0 along `input_axes`,
  /// whatever the sizes are.
  virtual bool same_product(std::span<const std::size_t> axes, std::span<const std::size_t> input_axes) const = 0;

 protected:
  ElementContext(Arena& b, const Attrs& a, DType t) : body(b), attrs(a), dtype(t) {}
};

/// The op of that enumerator.
const Op& op(Core core);

struct Op {
  std::string_view name;
  Kind kind = Kind::Map;
  int arity = 1;  // -1: any
  std::string_view doc = "";

  InferredType (*infer)(InferContext&) = nullptr;
  std::vector<Variable> (*gradient)(const builder::GradientContext&) = nullptr;
  /// Used instead for an op with several results, each of which is a node, with equal inputs and an equal `body`.
  std::vector<Variable> (*results_gradient)(const builder::ResultsGradientContext&) = nullptr;
  /// Expand: the same value in simpler ops. `node` is in `arena`.
  NodeId (*expand)(Arena& arena, NodeId node) = nullptr;
  Array (*evaluate)(const EvaluateContext&) = nullptr;
  /// View, Generate, Join, Check: one element of the result.
  NodeId (*element)(ElementContext&) = nullptr;
  const MapInfo* map = nullptr;
  const ReduceInfo* reduce = nullptr;
  const HostInfo* host = nullptr;
  const RoutineInfo* routine = nullptr;  // runs as a fixed sequence of launches
  bool expand_at_import = false;         // sizes: known as soon as the types are
  bool gives_infinities = false;         // infinities are valid results, so nan_guard checks only for NaN
  /// For View, Generate, Join, Gather and Check: this many inputs, from the first, are values even if they are integer
  /// scalars. Other integer scalars are numbers (sizes, bounds, starts) that the host reads and passes to launches.
  int values = 0;
  int element_cost = 0;        // of one element of a Generate, in additions: it is stored if a reader would repeat it
  bool takes_complex = false;  // for ops that compute; elementwise ops and ops that move elements do not need it
  /// Applies the op once for each position of a new leading axis that some inputs have (builder/batch.hpp). Maps and
  /// reductions do not need it.
  builder::Batched (*batch)(const builder::BatchContext&) = nullptr;

  /// Whether it is one of these ops.
  template <std::same_as<Core>... Cores>
  bool is(Cores... cores) const {
    return ((this == &op(cores)) || ...);
  }
};

/// Raises TypeError for an op that has complex inputs and does not accept them. Elementwise ops have other
/// rules (MapInfo).
void refuse_complex(const Op& op, const InferContext& context);

/// The op of that name (InternalError if there is none), or null.
const Op& op(std::string_view name);
const Op* find_op(std::string_view name);
/// `a op b` in int64, for arithmetic on sizes; `op` is an elementwise integer op of two operands.
std::int64_t apply_integers(const Op& op, std::int64_t a, std::int64_t b);

/// Whether the result does not overflow: int64 arithmetic on sizes must not, on data it wraps. `operands` are in the
/// dtype in which the op computes.
bool is_exact(const Op& op, std::span<const Scalar> operands, DType result);
/// apply_integers, or nothing if the result does not fit.
std::optional<std::int64_t> exact_integers(const Op& op, std::int64_t a, std::int64_t b);
/// All ops, in the order of their registration.
std::span<const Op* const> all_ops();

}  // namespace croton::expr
