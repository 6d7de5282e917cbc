// Operations of your own: an elementwise body as C++ text that fuses into kernels, and a graph that is used like an
// operation, with a gradient of your own if you like.
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
/// fuses with what stands around it; rewrites do not look into it. Operands broadcast as those of other operations.
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
    std::string name;                   ///< an identifier; it stands in printed graphs and in generated code
    std::vector<std::string> operands;  ///< their names in the text
    /// What stands between the braces of a C++ function of the operands, all of type T: `return x * x;`. The functions
    /// of codegen_templates/common that ops use (exp, tanh, maximum ...) may be called by their plain names; no header
    /// is there, and nothing of CUDA, so that the text runs everywhere.
    std::string body;
    /// dtype of the result; else that of the operands. T is the operands' promoted dtype; float for 16-bit floats.
    std::optional<DType> result = {};
    /// The gradients of the operands, one each; an empty Variable where there is none. Without it `grad` raises
    /// NotImplementedError where it meets the operation.
    std::function<std::vector<Variable>(const std::vector<Variable>& inputs, const Variable& output,
                                        const Variable& gradient)>
        gradient = {};
    /// The same in plain C++: what mode=reference runs and what others are compared with. Without it that mode raises
    /// NotImplementedError.
    std::function<double(std::span<const double> operands)> reference = {};
    int cost = 10;  ///< of one element, in additions: what is cheap may be computed again where it is used
  };
  /// ValueError where a name is no identifier or is used twice, or the body is empty. Whether the text compiles shows
  /// when a kernel with it is compiled. The operation stays for the life of the process.
  explicit KernelOp(Definition definition, Where where = std::source_location::current());

  /// TypeError where the number of operands is wrong.
  Variable apply(const std::vector<Operand>& operands) const;
  template <class... Operands>
  Variable operator()(Operand first, const Operands&... others) const {
    return apply({first, Operand(others, first.where)...});
  }

 private:
  const expr::Op* op_;
};

/// A function of C++ as an operation. It runs on the host, whatever device the rest is on; arguments are sent there.
/// Rewrites do not look into it, and nothing fuses with it.
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
  /// dtype and sizes of a result. Sizes may be symbolic: expressions of the inputs' sizes or values.
  struct Result {
    DType dtype = DType::float32;
    std::vector<Operand> shape;
  };
  struct Definition {
    std::string name;  ///< an identifier; it stands in printed graphs and messages
    /// The types of the results, found when the operation is applied. It raises TypeError for what it does not take.
    std::function<std::vector<Result>(const std::vector<Variable>& inputs)> results;
    /// The values. The arrays given are contiguous and read-only, and lie in memory of the call: copy what outlives it.
    /// Their number, dtypes and shapes are compared with what `results` said. What it raises ends the call, and nothing
    /// has changed; errors of error.hpp get the user's line. Calls of one function never overlap; those of several may.
    std::function<std::vector<Array>(const std::vector<Array>& inputs)> compute;
    /// As OpFromGraph's. Without it `grad` raises NotImplementedError where it meets the operation.
    std::function<std::vector<Variable>(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs,
                                        const std::vector<Variable>& gradients)>
        gradient = {};
    /// Whether equal inputs give equal results: then equal applications are computed once. Either way nothing is
    /// computed that nobody uses.
    bool pure = true;
  };
  /// ValueError where the name is no identifier or a function is missing. The operation stays for the life of the
  /// process.
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

/// A graph as an operation: `inputs` are stand-ins for the arguments, and each call copies the graph with arguments in
/// their places, so that rewrites and fusion see what is inside. Shared variables and constants are part of it.
class OpFromGraph {
 public:
  /// The gradients of the inputs, given the inputs, the outputs and the gradients of the outputs. It must be linear in
  /// the last, as every gradient is. An empty Variable: the cost does not depend on that input; undefined_grad(input):
  /// there is none, which is an error only where it is wanted.
  using Gradient =
      std::function<std::vector<Variable>(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs,
                                          const std::vector<Variable>& gradients)>;

  struct Options {
    std::string name = {};
    /// In place of the graph's own; L-operator, gradient and R-operator all follow it.
    Gradient gradient = {};
  };

  /// TypeError where an input is no input variable or stands twice, or no output is given.
  OpFromGraph(std::vector<Variable> inputs, std::vector<Variable> outputs, Options options,
              Where where = std::source_location::current());
  OpFromGraph(std::vector<Variable> inputs, std::vector<Variable> outputs,
              Where where = std::source_location::current())
      : OpFromGraph(std::move(inputs), std::move(outputs), Options(), where) {}

  /// The outputs for these arguments; TypeError where their number, a dtype or a number of dimensions differs from the
  /// input's.
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

/// The expressions with some variables replaced, all at once: a copy of what depends on them, the rest shared.
/// TypeError where a replacement has another dtype or number of dimensions.
std::vector<Variable> clone(const std::vector<Variable>& outputs,
                            const std::vector<std::pair<Variable, Variable>>& replace,
                            Where where = std::source_location::current());
Variable clone(const Variable& output, const std::vector<std::pair<Variable, Variable>>& replace,
               Where where = std::source_location::current());

}  // namespace croton
