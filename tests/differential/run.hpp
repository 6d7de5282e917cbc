// Runs cases under settings and compares the results: with the reference values, the simulator with the CPU, and
// gradients with differences. Many cases are one function, so that their kernels are compiled together.
#pragma once

#include "case.hpp"
#include "tolerance.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace differential {

/// A back-end with its flags, and the freedom of its rules.
struct Setting {
  std::string name;
  std::string flags;
  Freedom freedom = Freedom::none;
};

enum class Fault {
  value,        // a result is too far from the reference
  bits,         // the simulator's bits are not the CPU's
  error,        // a call raises although the reference does not
  requirement,  // sizes that do not fit are accepted
  gradient,     // not the slope given by differences
};

struct Failure {
  Case test;
  Setting setting;
  Fault fault = Fault::value;
  std::string what;
  int root = -1;              // which of the outputs, then updates
  std::int64_t position = 0;  // which element
};

/// The results of a case: outputs, then the new values of the updated variables.
using Results = std::vector<Array>;

struct Prepared {
  Case test;
  Built built;
  std::vector<Variable> roots;
  NodeValues leaves;
  std::map<Freedom, std::vector<Expected>> expected;
  const std::vector<Expected>& expect(Freedom freedom);
};

Prepared prepare(const Case& test, const std::string& prefix = "");

/// Time and counts of all runs.
struct Tally {
  std::map<std::string, double> seconds;  // by setting
  std::map<std::string, std::uint64_t> graphs;
  Compared compared;
  std::uint64_t kernels = 0, products = 0, probes = 0, gradients = 0;
};

/// Further work of a batch: the first setting is also called with wrong sizes.
struct BatchOptions {
  bool probe = true;
};

/// The first failure of each case that fails.
std::vector<Failure> run_batch(std::vector<Prepared>& batch, std::span<const Setting> settings,
                               const BatchOptions& options, Tally& tally);
/// One case alone; `fault` is the kind that was found.
std::optional<Failure> check(const Case& test, const Setting& setting, Fault fault);

/// Compares the gradients of a smooth case with differences from the reference evaluator.
std::optional<Failure> check_gradients(Prepared& prepared, Tally& tally);

}  // namespace differential
