// The expected results of a graph, and their tolerances.
//
// The graph before rewriting is computed node by node by the reference functions of the ops. It is then computed again
// a few times, with every node's value perturbed by a random fraction of the allowed error of its op: some units in the
// last place of its dtype, and for sums, products of matrices and the like a relative change of every operand (backward
// error). The changes of the outputs show the effect of rounding anywhere in the graph, including the conditioning of
// every op. If a comparison, a rounding or an index jumps between the runs, or a number becomes infinite in some, the
// element is not compared. (The method is stochastic arithmetic: J. Vignes, A stochastic arithmetic for reliable
// scientific computation, 1993.)
#pragma once

#include "case.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace differential {

/// Which elements a rewrite may change besides rounding.
enum class Freedom {
  none,      // no rules run
  overflow,  // stable forms: a result that is infinite or nan for finite operands may become a number
  special,   // special_values=theano: all that depends on an infinity or a nan
};

/// The value of an output and, for each element, the tolerance of a result (infinite: not compared).
struct Expected {
  Array value;
  std::vector<double> tolerance;
};

/// The largest finite number of a float dtype.
double largest(DType dtype);

using NodeValues = std::map<const ct::builder::Node*, Array>;

/// One op on arrays, by the reference evaluator; raises what the op raises.
Array compute(const ct::builder::Node& node, const std::vector<Array>& inputs);

/// The caller adds the values of leaves; `value_of` computes missing values.
class Values {
 public:
  NodeValues known;
  const Array& of(const Variable& variable);

 private:
  std::vector<Variable> asked_;  // kept: a new node at the address of a deleted one would have its value
};

/// For each root; `leaves` has the values of arguments and shared variables.
std::vector<Expected> expect(const std::vector<Variable>& roots, const NodeValues& leaves, Freedom freedom,
                             std::uint64_t seed);

struct Difference {
  std::int64_t position;
  std::string got, expected;
  double tolerance;
  std::string text() const;
};

/// How many elements were compared, and how many were not comparable.
struct Compared {
  std::uint64_t elements = 0, ambiguous = 0;
};

/// The first element outside its tolerance.
std::optional<Difference> compare(const Array& got, const Expected& expected, Compared& count);

/// Equal bits, except that all nans are equal.
bool same_bits(const Array& a, const Array& b);

}  // namespace differential
