#include "programs.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace croton::smoke {
namespace {

/// The results of a call: its outputs, then the new values of updated variables.
std::vector<Array> call(const Function& f, const Graph& graph, const std::vector<Array>& values) {
  const std::vector<Argument> arguments(values.begin(), values.end());
  const Outputs outputs = f.call(arguments);
  std::vector<Array> results;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) results.push_back(outputs[i]);
  for (const auto& [variable, next] : graph.updates) results.push_back(variable.get_value());
  return results;
}

struct Compiled {
  Graph graph;
  Function function;
  std::string flags;

  Compiled(const Program& program, std::string settings) : flags(std::move(settings)) {
    const change_flags scope(flags);
    graph = program.graph();
    FunctionOptions options{.on_unused_input = UnusedInput::ignore};
    for (const auto& [variable, next] : graph.updates) options.updates.emplace_back(variable, next);
    function = croton::function(graph.inputs, OutputList(graph.outputs), options);
  }
  std::vector<Array> operator()(const std::vector<Array>& values) const {
    const change_flags scope(flags);
    return call(function, graph, values);
  }
};

/// The difference of the bits; empty if they are equal. The sign and payload of a NaN depend on the processor and are
/// not compared.
std::string difference(const Array& got, const Array& wanted) {
  if (got.shape() != wanted.shape()) return fmt::format("has {} elements instead of {}", got.size(), wanted.size());
  const Array a = got.copy(), b = wanted.copy();
  std::int64_t wrong = 0, first = -1;
  double farthest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.as_double(i), y = b.as_double(i);
    if ((x == y && std::signbit(x) == std::signbit(y)) || (x != x && y != y)) continue;
    if (first < 0) first = i;
    ++wrong;
    farthest = std::max(farthest, std::abs(x - y));
  }
  if (wrong == 0) return a.dtype() == b.dtype() ? "" : "has another dtype";
  return fmt::format("differs in {} of {} elements, by at most {:.3g}; element {} is {:.9g} instead of {:.9g}", wrong,
                     a.size(), farthest, first, a.as_double(first), b.as_double(first));
}

void compare(const Program& program, const Size& size, const std::vector<Array>& got, const std::vector<Array>& wanted,
             const std::string& whose) {
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (program.tolerance != 0 && got[k].all_close(wanted[k], program.tolerance, program.tolerance)) continue;
    const std::string how = difference(got[k], wanted[k]);
    if (how.empty()) continue;
    throw std::runtime_error(fmt::format("size {} x {}: result {} {} {}", size.rows, size.columns, k, how, whose));
  }
}

std::string run(const Program& program, const Machine& machine) {
  const Compiled host(program, "device=cpu"), device(program, "device=" + machine.device + program.flags);
  std::string kernels;
  bool found = program.kernel.empty();
  for (const Size& size : sizes(machine)) {
    const std::vector<Array> values = program.inputs(size);
    const std::vector<Array> wanted = host(values), got = device(values);
    compare(program, size, got, wanted, "of the CPU");
    if (program.repeats) {
      Program exact = program;
      exact.tolerance = 0;
      compare(exact, size, device(values), got, "of the first call");
    }
  }
  const change_flags scope(device.flags);
  for (const KernelInfo& kernel : device.function.kernels()) {
    found = found || kernel.source.find(program.kernel) != std::string::npos;
    kernels += (kernels.empty() ? "" : " ") + kernel.name.substr(0, kernel.name.rfind('_'));
  }
  require(found, fmt::format("no kernel has {}: {}", program.kernel, kernels));
  return kernels;
}

}  // namespace

std::vector<Size> sizes(const Machine& machine) {
  if (machine.small) return {{3, 5}, {33, 65}, {70, 40}};
  return {{3, 5}, {129, 65}, {2100, 1027}};
}

Check check_of(Program program) {
  const std::string name = program.name;
  return {name, [program = std::move(program)](const Machine& machine) { return run(program, machine); }};
}

Array reals(const Sizes& shape, std::uint64_t seed, DType dtype) {
  return Array::uniform(DType::float64, shape, seed, -1, 1).astype(dtype).copy();
}

Array whole(const Sizes& shape, std::uint64_t seed, std::int64_t end, DType dtype) {
  return Array::uniform(DType::float64, shape, seed, 0, static_cast<double>(end)).astype(dtype).copy();
}

}  // namespace croton::smoke
