// User-defined operations: an elementwise body as C++ text that fuses into kernels (KernelOp), a function on the host
// (HostOp), and a graph that is used like an operation (OpFromGraph). Each may have its own gradient.
#pragma once

#include <croton/variable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace croton {

namespace expr {
struct Op;
}

/// An elementwise operation whose body is C++ text. The text is compiled into the kernels of every device, where it
/// fuses with the operations around it; rewrites do not look into it. Operands broadcast like those of other
/// operations.
///
///     const KernelOp gate({.name = "gate",
///                          .operands = {"x", "limit"},
///                          .body = "return x > limit ? x : T(0.1) * x;",
///                          .gradient = [](const auto& in, const auto&, const Variable& g) {
///                            return std::vector<Variable>{where(in[0] > in[1], g, 0.1 * g), Variable()};
///                          },
///                          .reference = [](std::span<const double> v) { return v[0] > v[1] ? v[0] : 0.1 * v[0]; }});
///     Variable y = gate(x, 0.5);
class KernelOp {
 public:
  struct Definition {
    std::string name;                   ///< an identifier, for printed graphs and generated code
    std::vector<std::string> operands;  ///< their names in the text
    /// The body of a C++ function of the operands, all of type T: `return x * x;`. The functions of
    /// codegen_templates/common that ops use (exp, tanh, maximum ...) may be called by their plain names; there are no
    /// headers and no CUDA features, so the text runs on every device.
    std::string body;
    /// The dtype of the result; by default that of the operands. T is the operands' promoted dtype; float for 16-bit
    /// floats.
    std::optional<DType> result = {};
    /// The gradients of the operands, one each; an empty Variable for none. Without this function `grad` through the
    /// operation raises NotImplementedError.
    std::function<std::vector<Variable>(const std::vector<Variable>& inputs, const Variable& output,
                                        const Variable& gradient)>
        gradient = {};
    /// The same function in plain C++, for mode=reference and for comparisons. Without it that mode raises
    /// NotImplementedError.
    std::function<double(std::span<const double> operands)> reference = {};
    int cost = 10;  ///< of one element, in additions: cheap results may be recomputed by their readers
  };
  /// ValueError if a name is not an identifier or is used twice, or if the body is empty. Errors in the text are found
  /// when a kernel with it is compiled. The operation is never freed.
  explicit KernelOp(Definition definition, Where where = std::source_location::current());

  /// Applies the operation. TypeError for a wrong number of operands.
  Variable apply(const std::vector<Operand>& operands) const;
  template <class... Operands>
  Variable operator()(Operand first, const Operands&... others) const {
    return apply({first, Operand(others, first.where)...});
  }

 private:
  const expr::Op* op_;
};

/// A C++ function as an operation. It runs on the host; arguments on other devices are sent there. Rewrites do not look
/// into it, and nothing fuses with it.
///
///     const HostOp median({.name = "median",
///                          .results = [](const std::vector<Variable>& in) {
///                            return std::vector<HostOp::Result>{{in[0].dtype(), {in[0].shape(0)}}};
///                          },
///                          .compute = [](const std::vector<Array>& in) { return
///                          std::vector<Array>{row_medians(in[0])}; }});
///     Variable m = median(x);
class HostOp {
 public:
  /// The dtype and sizes of a result. Sizes may be symbolic: expressions of the inputs' sizes or values.
  struct Result {
    DType dtype = DType::float32;
    std::vector<Operand> shape;
  };
  struct Definition {
    std::string name;  ///< an identifier, for printed graphs and messages
    /// Computes the types of the results when the operation is applied. It raises TypeError for wrong inputs.
    std::function<std::vector<Result>(const std::vector<Variable>& inputs)> results;
    /// Computes the results. The arguments are contiguous and read-only, in memory of the call: copy values that must
    /// outlive it. The number, dtypes and shapes of the results are compared with `results`. An exception ends the
    /// call, and nothing is changed; errors of error.hpp get the user's line. Calls of one function never overlap;
    /// those of several functions may.
    std::function<std::vector<Array>(const std::vector<Array>& inputs)> compute;
    /// The gradient, as in OpFromGraph. Without it `grad` through the operation raises NotImplementedError.
    std::function<std::vector<Variable>(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs,
                                        const std::vector<Variable>& gradients)>
        gradient = {};
    /// Whether equal inputs give equal results: then equal applications are computed once. In either case unused
    /// results are not computed.
    bool pure = true;
  };
  /// ValueError if the name is not an identifier or a function is missing. The operation is never freed.
  explicit HostOp(Definition definition, Where where = std::source_location::current());

  std::vector<Variable> apply(const std::vector<Operand>& arguments,
                              Where where = std::source_location::current()) const;
  /// The only result: TypeError where there are several.
  template <class... Operands>
  Variable operator()(Operand first, const Operands&... others) const {
    return only(apply({first, Operand(others, first.where)...}, first.where), first.where);
  }

 private:
  static Variable only(const std::vector<Variable>& results, Where where);
  std::shared_ptr<const Definition> definition_;
  const expr::Op* op_;
};

/// A graph as an operation: `inputs` are placeholders for the arguments, and each call copies the graph with the
/// arguments inserted, so that rewrites and fusion apply to its contents. Shared variables and constants are part of
/// the graph.
class OpFromGraph {
 public:
  /// The gradients of the inputs, given the inputs, the outputs and the gradients of the outputs. It must be linear in
  /// the last, like every gradient. An empty Variable: the cost does not depend on that input; undefined_grad(input):
  /// the gradient is undefined, which is an error only if it is used.
  using Gradient =
      std::function<std::vector<Variable>(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs,
                                          const std::vector<Variable>& gradients)>;

  struct Options {
    std::string name = {};
    /// Replaces the graph's own gradient, also in the L-operator and the R-operator.
    Gradient gradient = {};
  };

  /// TypeError if an input is not an input variable or occurs twice, or if there is no output.
  OpFromGraph(std::vector<Variable> inputs, std::vector<Variable> outputs, Options options,
              Where where = std::source_location::current());
  OpFromGraph(std::vector<Variable> inputs, std::vector<Variable> outputs,
              Where where = std::source_location::current())
      : OpFromGraph(std::move(inputs), std::move(outputs), Options(), where) {}

  /// The outputs for these arguments; TypeError if their number, a dtype or a rank differs from the input's.
  std::vector<Variable> apply(const std::vector<Operand>& arguments) const;
  /// The only output: TypeError where there are several.
  template <class... Operands>
  Variable operator()(Operand first, const Operands&... others) const {
    return only(apply({first, Operand(others, first.where)...}), first.where);
  }

 private:
  static Variable only(const std::vector<Variable>& outputs, Where where);

  std::vector<Variable> inputs_, outputs_;
  std::string name_;
  std::shared_ptr<const expr::Op> with_gradient_;
};

/// The expressions with some variables replaced, all at once: nodes that depend on them are copied, the others are
/// shared. TypeError if a replacement has another dtype or rank.
std::vector<Variable> clone(const std::vector<Variable>& outputs,
                            const std::vector<std::pair<Variable, Variable>>& replace,
                            Where where = std::source_location::current());
Variable clone(const Variable& output, const std::vector<std::pair<Variable, Variable>>& replace,
               Where where = std::source_location::current());

}  // namespace croton
