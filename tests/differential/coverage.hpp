// Coverage of the graphs: every op (built or made by a rule), every rule, every family of kernels and kind of step, and
// every kind of kernel text by strides and sizes.
#pragma once

#include "codegen/emit.hpp"
#include "run.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace differential {

class Coverage {
 public:
  /// Counts the graph: as it is built, after every group of rules (of that optimizer too, if it runs under it), and as
  /// it is cut into kernels.
  void observe(const Prepared& prepared, bool fast_compile = false);

  /// Counts a text that was made of a kernel.
  void observe(const ct::codegen::Part& part);

  std::map<std::string, std::uint64_t> ops, rules, kernels;  // name -> graphs
  std::map<std::string, std::uint64_t> variants;             // name -> texts
  std::vector<std::size_t> nodes;                            // of each graph, leaves left out

  std::size_t median() const;
  std::size_t most() const;
  /// Ops of the table, leaves left out, that too few graphs have; and rules that never fired.
  std::vector<std::string> rare_ops(std::uint64_t least) const;
  std::vector<std::string> silent_rules() const;
  /// Families, kinds of steps, routines and variants that never came up.
  std::vector<std::string> missing_kernels() const;
  void merge(const Coverage& other);
};

}  // namespace differential
