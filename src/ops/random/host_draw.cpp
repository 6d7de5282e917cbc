#include "ops/random/host_draw.hpp"

#include <croton/error.hpp>
#include <croton/grad.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/rethrow.hpp"

namespace croton::ops {
namespace {

/// The arguments of the operation: states, sizes, then parameters.
struct Layout {
  std::size_t states, rank;
};

std::vector<HostOp::Result> results_of(const std::vector<Variable>& arguments, const Layout& layout, DType dtype) {
  std::vector<HostOp::Result> results(1);
  results[0].dtype = dtype;
  for (std::size_t axis = 0; axis < layout.rank; ++axis) results[0].shape.emplace_back(arguments[layout.states + axis]);
  for (std::size_t s = 0; s < layout.states; ++s) {
    HostOp::Result& state = results.emplace_back();
    state.dtype = arguments[s].dtype();
    for (const Variable& size : arguments[s].shape()) state.shape.emplace_back(size);
  }
  return results;
}

std::vector<Array> compute(const std::vector<Array>& arguments, const Layout& layout, const HostDrawing& drawing) {
  HostDraw draw{{}, {}, {}, drawing.dtype};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i < layout.states)
      draw.states.push_back(arguments[i].copy());
    else if (i < layout.states + layout.rank)
      draw.shape.push_back(arguments[i].item<std::int64_t>());
    else
      draw.parameters.push_back(arguments[i]);
  }
  std::vector<Array> results;
  try {
    results.push_back(drawing.function(draw));
  } catch (...) {
    base::rethrow_with(fmt::format("{}: ", drawing.method), "");
  }
  results.insert(results.end(), draw.states.begin(), draw.states.end());
  return results;
}

/// Parameters are marked as having no defined gradient: placeholders suffice.
std::vector<Variable> gradients_of(const std::vector<Variable>& arguments, const Layout& layout) {
  std::vector<Variable> gradients(arguments.size());
  for (std::size_t i = layout.states + layout.rank; i < arguments.size(); ++i) {
    if (is_float(arguments[i].dtype())) gradients[i] = ones_like(arguments[i]);
  }
  return gradients;
}

/// Operations live as long as the process: there is one for each drawing and layout of the arguments.
HostOp operation(const HostDrawing& drawing, const Layout& layout) {
  using Key = std::tuple<std::string, DrawFunction, DType, std::size_t, std::size_t>;
  static std::mutex mutex;
  static std::map<Key, HostOp> made;
  const std::lock_guard lock(mutex);
  const Key key{drawing.method, drawing.function, drawing.dtype, layout.states, layout.rank};
  const auto known = made.find(key);
  if (known != made.end()) return known->second;
  std::string name = drawing.method;
  std::ranges::replace(name, '.', '_');
  HostOp op({.name = name,
             .results = [=](const std::vector<Variable>& in) { return results_of(in, layout, drawing.dtype); },
             .compute = [=](const std::vector<Array>& in) { return compute(in, layout, drawing); },
             .gradient = [=](const std::vector<Variable>& in, const std::vector<Variable>&,
                             const std::vector<Variable>&) { return gradients_of(in, layout); }});
  return made.emplace(key, op).first->second;
}

}  // namespace

std::vector<Variable> draw_on_host(const HostDrawing& drawing, const std::vector<Variable>& states,
                                   const std::vector<Operand>& sizes, const std::vector<Operand>& parameters,
                                   Where where) {
  std::vector<Operand> arguments(states.begin(), states.end());
  arguments.insert(arguments.end(), sizes.begin(), sizes.end());
  for (const Operand& parameter : parameters) {
    const bool real = is_float(parameter.variable.dtype());
    arguments.push_back(real ? Operand(undefined_grad(parameter, "a random number is not a function of it"))
                             : parameter);
  }
  return operation(drawing, {states.size(), sizes.size()}).apply(arguments, where);
}

}  // namespace croton::ops
