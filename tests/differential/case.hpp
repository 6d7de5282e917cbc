// Case: one random graph as a list of steps, each a call of a function over earlier nodes. The generator makes it,
// reduction edits it, and it is printed as a program; Variables are built from it again for every function.
#pragma once

#include <croton/croton.hpp>

#include "expr/attrs.hpp"
#include "expr/op.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace differential {

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;

struct Recipe;  // of a loop (loops.hpp)

/// The parameters of a step, in addition to its operands.
struct Parameters {
  std::vector<int> list;        // axes, patterns
  std::vector<std::int64_t> n;  // numbers
  std::vector<double> real;
  DType dtype = DType::float32;
  ct::expr::Attrs attrs;  // of an op that is applied as it is
  std::shared_ptr<const Recipe> recipe;
  std::size_t pick = 0;  // index among several results
};

using Operands = std::vector<Variable>;
class Generator;

/// A function of the public interface, or an op of the table.
struct Row {
  std::string_view name;
  /// Chooses operands and parameters among the existing nodes; false if nothing fits.
  bool (*sample)(Generator& generator, struct Step& step);
  Variable (*make)(const Operands& in, const Parameters& p) = nullptr;
  std::string_view code = "";        // the text of `make`: C++ with in[0], p.list, p.n[0], p.real[0], p.dtype
  const ct::expr::Op* op = nullptr;  // the op itself, if there is no `make`
  /// For a row with several results, of which a step is one: steps with equal operands share them.
  std::vector<Variable> (*make_all)(const Operands& in, const Parameters& p) = nullptr;
};

struct Step {
  const Row* row = nullptr;
  std::vector<int> inputs;
  Parameters p;
};

enum class Layout { plain, transposed, backwards, gaps, unaligned, count };

struct Leaf {
  enum class Role { argument, shared, constant } role = Role::argument;
  ct::Type type;  // with the sizes that are declared
  Array value;    // in C order
  Layout layout = Layout::plain;
};

/// A leaf, or a step over earlier nodes.
struct Node {
  Leaf leaf;
  Step step;
  bool is_leaf() const { return step.row == nullptr; }
};

struct Update {
  int leaf, value;
};

struct Case {
  std::uint64_t seed = 0;
  bool special = false;  // inputs hold nan, infinities and extreme integers
  bool smooth = false;   // float64 and differentiable almost everywhere: gradients are compared with differences
  std::vector<Node> nodes;
  std::vector<int> outputs;
  std::vector<Update> updates;

  /// A copy without the nodes that neither outputs nor updates need.
  Case pruned() const;
};

/// The Variables of a case, node by node.
struct Built {
  std::vector<Variable> nodes;
  std::vector<ct::SharedVariable> shared;  // one for each node; empty for nodes that are not shared
};

Variable make(const Step& step, const Operands& operands);
Variable make_leaf(const Leaf& leaf, const std::string& name);
Built build(const Case& test, const std::string& prefix = "");
/// The leaf's value with the memory layout of the leaf.
Array laid_out(const Leaf& leaf);

}  // namespace differential
