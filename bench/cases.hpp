// The workloads as Croton's functions, on existing arrays.
#pragma once

#include <croton/croton.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace bench {

struct Case {
  croton::Function function;
  std::function<croton::Outputs()> call;        ///< one call; for a training step it returns the loss
  std::vector<croton::SharedVariable> weights;  ///< updated by a training step, in the order of the inputs
};

/// Builds the graph and compiles it with croton::function; kernels may be compiled only in the first call.
Case make_case(std::string_view workload, const std::vector<croton::Array>& inputs);
/// The inputs of make_case.
std::vector<croton::Array> case_inputs(std::string_view workload);

}  // namespace bench
