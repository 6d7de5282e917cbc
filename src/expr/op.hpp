// Op: all that Croton knows of an operation, as a struct of functions and facts. Each op is written in one place (a row
// of ops/elementwise/elementwise.cpp or a file of ops/); the stages see this struct only, switch over `kind`, and ask
// for one of the few ops of `Core`, never for names.
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

/// What an op is to the stages.
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
  Expand,    // rewritten into other ops, after the stability rules have seen it
  Loop,
  Branch,
  Host,      // callbacks of the user
  Check,     // passes a value on if a condition holds
  Transfer,  // to another device
};

/// The ops that stages know one by one (core_ops.def). A stage asks `op.is(Core::load, Core::load_if)` and makes
/// `arena.make(Core::cast, ...)`; it writes no names, so that a wrong one does not compile.
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

/// What a type rule sees; the same rule serves the builder (sizes known or not) and the arena (sizes as nodes).
class InferContext {
 public:
  virtual ~InferContext() = default;
  const Attrs& attrs;
  std::string_view op_name;
  std::vector<InferredType> inputs;

  /// The size as a number, if it is one.
  virtual std::optional<std::int64_t> known(Dim dim) const = 0;
  virtual Dim constant(std::int64_t value) = 0;
  /// Both sizes must be equal (checked when the plan is bound where they are not known); returns the one to use from
  /// here on.
  virtual Dim require_equal(Dim a, Dim b, std::string_view why) = 0;
  /// The value of an integer scalar input, as a size.
  virtual Dim value_of(std::size_t input) = 0;
  /// a op b, `op` being the name of an elementwise integer op.
  virtual Dim apply(std::string_view op, Dim a, Dim b) = 0;
  /// -size <= index < size must hold (IndexError when the plan is bound).
  virtual void require_index(Dim index, Dim size, std::string_view why) = 0;
  /// The number must be a size: 0 or more, and what its arithmetic says without wrapping (ShapeError when the plan is
  /// bound). Sizes of results need not be asked for: all of them are.
  virtual void require_size(Dim size) = 0;
  /// Raises the user's error with the inputs' names, lines and types in front of `message`.
  [[noreturn]] virtual void type_error(const std::string& message) const = 0;
  [[noreturn]] virtual void shape_error(const std::string& message) const = 0;

 protected:
  InferContext(const Attrs& a, std::string_view name) : attrs(a), op_name(name) {}
};

/// One scalar, in the arithmetic of its dtype: integers and bool in i or u (unsigned), floats in d, complex numbers in
/// d and im.
struct Scalar {
  DType dtype = DType::float64;
  std::int64_t i = 0;
  double d = 0;
  double im = 0;

  static Scalar of_double(double value, DType dtype);
  static Scalar of_int(std::int64_t value, DType dtype);
  static Scalar of_unsigned(std::uint64_t value, DType dtype);
  static Scalar of_complex(std::complex<double> value, DType dtype);
  /// `i` as that of an unsigned dtype.
  std::uint64_t as_unsigned() const { return static_cast<std::uint64_t>(i); }
  /// Converted by the rule of Array::astype and rounded to what `to` can hold.
  Scalar cast(DType to) const;
  /// Nan for a complex number that is not real: it equals no number.
  double as_double() const;
  std::complex<double> as_complex() const { return {is_complex(dtype) ? d : as_double(), im}; }
  std::int64_t as_int() const { return is_discrete(dtype) ? i : cast(DType::int64).i; }
};

/// The interval in which an op's input is drawn for tests and rule checks.
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

  TypeRule real_types;    // of operands that are not complex; throws TypeError for dtypes that are not taken
  std::string_view code;  // C++ with {0}, {1}, ... for operands and {T} for the operands' type
  Reference real_reference;
  bool commutative = false;
  int cost = 1;  // in additions, for the decision to recompute or to store
  std::vector<Domain> domains;
  const ComplexInfo* complex = nullptr;  // null: complex operands are not taken
  std::string_view support = "";         // text that `code` needs in front of the kernel
  bool foldable = true;                  // the reference may be asked for the value of constants
  std::string_view wrapping = "";  // in place of `code` for integers that wrap, where C++'s operators may overflow
  Exact exact = nullptr;           // whether an int64 result is what it is without wrapping; null: always

  /// By the rule for operands of these dtypes; TypeError where they are not taken.
  Types types(std::span<const DType> inputs) const;
  Scalar reference(std::span<const Scalar> operands, DType result) const;
};

/// What an elementwise op does with complex operands; its code is the same.
struct ComplexInfo {
  MapInfo::TypeRule types;
  MapInfo::Reference reference;  // in double
  /// Differentiable as a function of complex numbers: the gradient follows from the formula for real ones. Else the
  /// op's gradient is written for complex numbers.
  bool holomorphic = true;
  /// In place of the op's own gradient, where another formula is needed.
  std::vector<Variable> (*gradient)(const builder::GradientContext&) = nullptr;
};

/// The facts of a reduction: how a combiner is spelled in templates and its reference.
struct ReduceInfo {
  std::string_view combiner;    // a struct of codegen_templates/common/combine.cuh
  bool needs_elements = false;  // no identity: an empty axis is an error
  bool yields_index = false;    // the result is the position of the chosen element
};

/// The facts of a callback of the user's. A node is one result of an application: its inputs are the arguments and then
/// the sizes of that result; its attributes are `output`, which one it is, `outputs`, how many there are, and
/// `application`, 0 where equal arguments give equal results.
struct HostInfo {
  std::function<std::vector<Array>(const std::vector<Array>& arguments)> compute;
};

/// What the reference evaluation of a non-elementwise op sees.
struct EvaluateContext {
  const Attrs& attrs;
  std::vector<Array> inputs;
  DType dtype;
  Sizes shape;             // of the result
  const Op* op = nullptr;  // that is evaluated, of an operation of the user's
};

/// What a View, Generate, Join or Check op sees when one element of it is asked for inside a kernel: the index and the
/// sizes as nodes of the kernel's body. The op answers with a node, reading its inputs where it needs them.
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
  /// The condition (bool) must hold of every element computed; else the call fails with `message`, {} being `value`.
  virtual void check(NodeId condition, NodeId value, std::string message) = 0;

 protected:
  ElementContext(Arena& b, const Attrs& a, DType t) : body(b), attrs(a), dtype(t) {}
};

/// The op itself.
const Op& op(Core core);

struct Op {
  std::string_view name;
  Kind kind = Kind::Map;
  int arity = 1;  // -1: any
  std::string_view doc = "";

  InferredType (*infer)(InferContext&) = nullptr;
  std::vector<Variable> (*gradient)(const builder::GradientContext&) = nullptr;
  /// In its place for an op with several results, each a node of its own with equal inputs and an equal `body`.
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
  bool gives_infinities = false;         // as a part of what it says: nan_guard asks it for nan alone
  /// How many inputs, from the first, are values also where they are integer scalars: such others are numbers (sizes,
  /// bounds, starts) that the host reads and gives to launches. Of View, Generate, Join, Gather and Check.
  int values = 0;
  int element_cost = 0;        // of one element of a Generate, in additions: where a reader repeats it, it is stored
  bool takes_complex = false;  // of those that compute; what moves elements and elementwise ops need not say it
  /// The op applied once for each position of a new leading axis that some inputs have (builder/batch.hpp). Maps and
  /// reductions need none.
  builder::Batched (*batch)(const builder::BatchContext&) = nullptr;

  /// Whether it is that op, or one of those.
  template <std::same_as<Core>... Cores>
  bool is(Cores... cores) const {
    return ((this == &op(cores)) || ...);
  }
};

/// Raises the TypeError of an op that has complex inputs and does not take them. Elementwise ops have rules of their
/// own (MapInfo).
void refuse_complex(const Op& op, const InferContext& context);

/// The op of that name (InternalError if there is none), or null.
const Op& op(std::string_view name);
const Op* find_op(std::string_view name);
/// `a op b` in int64, `op` being an elementwise integer op of two operands: arithmetic on sizes.
std::int64_t apply_integers(const Op& op, std::int64_t a, std::int64_t b);

/// Whether the result is what it is without wrapping: int64 arithmetic on sizes must be, on data it wraps. `operands`
/// are in the dtype in which the op computes.
bool is_exact(const Op& op, std::span<const Scalar> operands, DType result);
/// apply_integers, or nothing if the result does not fit.
std::optional<std::int64_t> exact_integers(const Op& op, std::int64_t a, std::int64_t b);
/// All ops, in the order of their registration.
std::span<const Op* const> all_ops();

}  // namespace croton::expr
