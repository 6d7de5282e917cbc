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
  /// Counts the graph as it is built, after every group of rules (also under fast_compile, if it runs so), and cut into
  /// kernels.
  void observe(const Prepared& prepared, bool fast_compile = false);

  /// Counts a generated text.
  void observe(const ct::codegen::Part& part);

  std::map<std::string, std::uint64_t> ops, rules, kernels;  // name -> graphs
  std::map<std::string, std::uint64_t> variants;             // name -> texts
  std::vector<std::size_t> nodes;                            // of each graph, without leaves

  std::size_t median() const;
  std::size_t most() const;
  /// Ops of the table, without leaves, that too few graphs have; and rules that never fired.
  std::vector<std::string> rare_ops(std::uint64_t least) const;
  std::vector<std::string> silent_rules() const;
  /// Families, kinds of steps, routines and variants that never occurred.
  std::vector<std::string> missing_kernels() const;
  void merge(const Coverage& other);
};

}  // namespace differential
