#include "builder/node.hpp"

#include <croton/error.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/checked.hpp"
#include "base/config.hpp"
#include "base/source_place.hpp"
#include "builder/device_scope.hpp"
#include "builder/gradient_context.hpp"
#include "builder/own_lines.hpp"
#include "builder/walk.hpp"
#include "expr/print.hpp"

namespace croton::builder {
namespace {

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}

/// Type rules over the user's graph: sizes are numbers or unknown.
class BuilderInfer final : public expr::InferContext {
 public:
  BuilderInfer(const expr::Op& op, const std::vector<Variable>& variables, const expr::Attrs& a, Where where)
      : InferContext(a, op.name), variables_(variables), where_(where) {
    for (const Variable& v : variables) {
      inputs.push_back({v.dtype(), v.type().shape});
      std::ranges::replace(inputs.back().shape, unknown_size, expr::unknown_dim);
    }
  }
  std::optional<std::int64_t> known(expr::Dim dim) const override {
    return dim == expr::unknown_dim ? std::nullopt : std::optional(dim);
  }
  expr::Dim constant(std::int64_t value) override { return value; }
  expr::Dim require_equal(expr::Dim a, expr::Dim b, std::string_view why) override {
    if (a == expr::unknown_dim) return b;
    if (b != expr::unknown_dim && a != b) shape_error(fmt::format("{}: {} is not {}", why, a, b));
    return a;
  }
  expr::Dim value_of(std::size_t input) override {
    const Node& node = *variables_[input].node();
    if (!variables_[input].is_constant() || node.value.rank() != 0) return expr::unknown_dim;
    if (!fits_index(node.value)) shape_error(fmt::format("{} is more than an index can count", node.value.to_string()));
    return node.value.astype(DType::int64).item<std::int64_t>();
  }
  expr::Dim apply(std::string_view name, expr::Dim a, expr::Dim b) override {
    if (a == expr::unknown_dim || b == expr::unknown_dim) return expr::unknown_dim;
    const auto value = expr::exact_integers(expr::op(name), a, b);
    if (!value) shape_error(fmt::format("{} of the sizes {} and {} is more than an index can count", name, a, b));
    return *value;
  }
  void require_index(expr::Dim index, expr::Dim size, std::string_view why) override {
    if (index == expr::unknown_dim || size == expr::unknown_dim || (index >= -size && index < size)) return;
    throw IndexError(text(fmt::format("{}: index {} of an axis of size {}", why, index, size)));
  }
  void require_size(expr::Dim size) override {
    if (size < 0 && size != expr::unknown_dim) shape_error(fmt::format("a size of {}; sizes are at least 0", size));
  }
  /// Checks that known sizes are not negative and that an index can count the elements.
  void require_sizes(std::span<const expr::Dim> shape) {
    for (const expr::Dim size : shape) require_size(size);
    std::optional<std::int64_t> count = 1;
    for (const expr::Dim size : shape) {
      if (size == expr::unknown_dim || size == 0) return;
      count = count ? base::checked_mul(*count, size) : count;
    }
    if (!count) shape_error("the result has more elements than an index can count");
  }
  void type_error(const std::string& message) const override { throw TypeError(text(message)); }
  void shape_error(const std::string& message) const override { throw ShapeError(text(message)); }

 private:
  std::string text(const std::string& message) const {
    std::vector<std::string> parts;
    for (const Variable& v : variables_) parts.push_back(describe(v));
    return fmt::format("{} ({}): {}: {}", op_name, describe(where_), fmt::join(parts, ", "), message);
  }
  const std::vector<Variable>& variables_;
  Where where_;
};

}  // namespace

Node::~Node() {
  // The outermost destructor destroys the nodes that the inner ones would have destroyed recursively.
  static thread_local std::vector<std::shared_ptr<Node>> doomed;
  static thread_local bool draining = false;
  for (Variable& input : inputs) {
    std::shared_ptr<Node> handle = input.handle();
    input = Variable();
    if (handle && handle.use_count() == 1) doomed.push_back(std::move(handle));
  }
  if (draining) return;
  draining = true;
  while (!doomed.empty()) {
    const std::shared_ptr<Node> last = std::move(doomed.back());
    doomed.pop_back();
  }
  draining = false;
}

std::string describe(Where where) { return base::file_and_line(where); }

std::string describe(const Variable& v) {
  std::string subject = v.name();
  if (subject.empty() && v.is_constant() && v.rank() == 0) subject = v.node()->value.to_string();
  if (subject.empty())
    subject =
        v.node()->op->kind == expr::Kind::Leaf ? "an unnamed variable" : fmt::format("{}(...)", v.node()->op->name);
  return fmt::format("{} is {} ({})", subject, v.type().to_string(), describe(v.where()));
}

namespace {

thread_local const Where* current_origin = nullptr;

/// The line of a node that is made at `where`: inside a composed operation it is the line of its caller.
Where line_of_caller(Where where) { return current_origin != nullptr ? *current_origin : where; }

}  // namespace

Variable apply(const expr::Op& op, const std::vector<Variable>& inputs, const expr::Attrs& attrs, Where where) {
  where = line_of_caller(where);
  check_line(op.name, where);
  for (const Variable& input : inputs) {
    if (!input.defined()) {
      throw TypeError(fmt::format("{} ({}): an argument is an empty Variable; it was never given an expression",
                                  op.name, describe(where)));
    }
  }
  BuilderInfer context(op, inputs, attrs, where);
  expr::refuse_complex(op, context);
  expr::InferredType type = op.infer(context);
  context.require_sizes(type.shape);
  std::ranges::replace(type.shape, expr::unknown_dim, unknown_size);
  auto node = std::make_shared<Node>();
  node->type = {type.dtype, type.shape};
  node->op = &op;
  node->attrs = attrs;
  node->inputs = inputs;
  node->where = where;
  node->serial = next_serial();
  node->place = current_place();
  return Variable(std::move(node));
}

bool fits_index(const Array& number) {
  return number.dtype() != DType::uint64 || number.astype(DType::int64).item<std::int64_t>() >= 0;
}

Variable as_index(const Variable& index) {
  if (index.dtype() != DType::uint64) return index;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (index.is_constant() && index.rank() == 0) {
    const Array& value = index.node()->value;
    return constant(fits_index(value) ? value.astype(DType::int64) : Array(most));
  }
  return cast(minimum(index, constant(Array(static_cast<std::uint64_t>(most)))), DType::int64);
}

OriginScope::OriginScope(Where where) : where_(where), outer_(current_origin) {
  if (outer_ == nullptr) current_origin = &where_;
}
OriginScope::~OriginScope() { current_origin = outer_; }
const Where* OriginScope::current() { return current_origin; }

Variable apply(std::string_view op, const std::vector<Variable>& inputs, const expr::Attrs& attrs, Where where) {
  return apply(expr::op(op), inputs, attrs, where);
}
Variable apply(expr::Core core, const std::vector<Variable>& inputs, const expr::Attrs& attrs, Where where) {
  return apply(expr::op(core), inputs, attrs, where);
}

std::vector<Node*> topological_order(const std::vector<Variable>& roots) {
  std::unordered_set<const Node*> seen;
  return reachable(roots, seen, [](const Node&) { return true; });
}

}  // namespace croton::builder

namespace croton {

using builder::Node;

namespace {

std::shared_ptr<Node> leaf(expr::Core core, Type type, std::string name, Where where) {
  const expr::Op& op = expr::op(core);
  where = builder::line_of_caller(where);
  builder::check_line(op.name, where);
  auto node = std::make_shared<Node>();
  node->type = std::move(type);
  node->op = &op;
  node->name = std::move(name);
  node->where = where;
  node->serial = builder::next_serial();
  return node;
}

const Node& checked(const Node* node) {
  if (node == nullptr) throw TypeError("an empty Variable was used; it was never given an expression");
  return *node;
}

Variable constant_of(Array value, Where where) {
  auto node = leaf(expr::Core::constant, Type{value.dtype(), value.shape()}, "", where);
  node->value = std::move(value);
  return Variable(std::move(node));
}

Variable integer_constant(std::int64_t value, Where where) {
  return constant_of(Array(value).astype(smallest_int(value)), where);
}

/// Whether the dtype can represent the number without overflow.
bool can_represent(DType dtype, double value) {
  return std::isfinite(Array(value).astype(dtype).item<double>()) == std::isfinite(value);
}

Variable real_constant(double value, Where where) {
  DType dtype = base::config().float_x();
  const bool exact_in_float32 = value != value || static_cast<double>(static_cast<float>(value)) == value;
  if (dtype == DType::float64 && exact_in_float32) dtype = DType::float32;
  if (!can_represent(dtype, value)) dtype = can_represent(DType::float32, value) ? DType::float32 : DType::float64;
  return constant_of(Array(value).astype(dtype), where);
}

Variable complex_constant(std::complex<double> value, Where where) {
  const Array wide(value);
  const Array narrow = wide.astype(DType::complex64);
  const bool exact = narrow.astype(DType::complex128).same_bits(wide) || value != value;
  const bool fits = can_represent(DType::float32, value.real()) && can_represent(DType::float32, value.imag());
  return constant_of(exact || (fits && base::config().float_x() != DType::float64) ? narrow : wide, where);
}

Variable of_rank(std::string name, std::optional<DType> dtype, Sizes shape, Where where) {
  return variable(Type{dtype.value_or(base::config().float_x()), std::move(shape)}, std::move(name), where);
}

}  // namespace

namespace builder {
std::vector<Operand> shape_of(const Variable& x) {
  std::vector<Operand> shape;
  for (const Variable& size : x.shape()) shape.emplace_back(size);
  return shape;
}

Variable scalar_constant(double value, DType dtype, Where where) {
  return constant_of(Array(value).astype(dtype), where);
}
}  // namespace builder

const Type& Variable::type() const { return checked(node()).type; }
const std::string& Variable::name() const { return checked(node()).name; }
Where Variable::where() const { return checked(node()).where; }
bool Variable::is_constant() const { return checked(node()).op->is(expr::Core::constant); }
Variable& Variable::named(std::string name) {
  checked(node());
  node_->name = std::move(name);
  return *this;
}

Operand::Operand(const Variable& v, Where w) : variable(v), where(builder::line_of_caller(w)) {
  if (!v.defined())
    throw TypeError(
        fmt::format("an empty Variable is an operand ({}); it was never given an expression", builder::describe(w)));
}
Operand::Operand(int value, Where w) : variable(integer_constant(value, w)), where(builder::line_of_caller(w)) {}
Operand::Operand(long value, Where w) : variable(integer_constant(value, w)), where(builder::line_of_caller(w)) {}
Operand::Operand(long long value, Where w) : variable(integer_constant(value, w)), where(builder::line_of_caller(w)) {}
Operand::Operand(unsigned long value, Where w)
    : variable(constant_of(Array(value), w)), where(builder::line_of_caller(w)) {
  if (value <= static_cast<unsigned long>(std::numeric_limits<std::int64_t>::max())) {
    variable = integer_constant(static_cast<std::int64_t>(value), w);
  }
}
Operand::Operand(bool value, Where w) : variable(constant_of(Array(value), w)), where(builder::line_of_caller(w)) {}
Operand::Operand(double value, Where w) : variable(real_constant(value, w)), where(builder::line_of_caller(w)) {}
Operand::Operand(float value, Where w) : variable(real_constant(value, w)), where(builder::line_of_caller(w)) {}
Operand::Operand(std::complex<double> value, Where w)
    : variable(complex_constant(value, w)), where(builder::line_of_caller(w)) {}
Operand::Operand(const Array& value, Where w)
    : variable(constant_of(value.copy(), w)), where(builder::line_of_caller(w)) {}

Variable variable(Type type, std::string name, Where where) {
  for (const std::int64_t size : type.shape) {
    if (size >= unknown_size) continue;
    throw ValueError(
        fmt::format("variable ({}): a size of {} in the type of '{}'; sizes are at least 0, or unknown_size",
                    builder::describe(where), size, name));
  }
  return Variable(leaf(expr::Core::input, std::move(type), std::move(name), where));
}

Variable constant(const Array& value, std::string name, Where where) {
  Variable v = constant_of(value.copy(), where);
  v.named(std::move(name));
  return v;
}

Variable scalar(std::string name, std::optional<DType> dtype, Where where) {
  return of_rank(std::move(name), dtype, {}, where);
}
Variable vector(std::string name, std::optional<DType> dtype, Where where) {
  return of_rank(std::move(name), dtype, {unknown_size}, where);
}
Variable matrix(std::string name, std::optional<DType> dtype, Where where) {
  return of_rank(std::move(name), dtype, {unknown_size, unknown_size}, where);
}
Variable row(std::string name, std::optional<DType> dtype, Where where) {
  return of_rank(std::move(name), dtype, {1, unknown_size}, where);
}
Variable col(std::string name, std::optional<DType> dtype, Where where) {
  return of_rank(std::move(name), dtype, {unknown_size, 1}, where);
}
Variable tensor3(std::string name, std::optional<DType> dtype, Where where) {
  return of_rank(std::move(name), dtype, Sizes(3, unknown_size), where);
}
Variable tensor4(std::string name, std::optional<DType> dtype, Where where) {
  return of_rank(std::move(name), dtype, Sizes(4, unknown_size), where);
}

std::ostream& operator<<(std::ostream& out, const Variable& v) {
  return out << (v.name().empty() ? std::string(v.node()->op->name) : v.name()) << ": " << v.type().to_string();
}

}  // namespace croton
