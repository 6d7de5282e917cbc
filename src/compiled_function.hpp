// A compiled function: the part that is the same for all devices and sizes. It is immutable; calls and copies of the
// function share it.
#pragma once

#include <croton/function.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "compile.hpp"
#include "runtime/devices.hpp"

namespace croton::detail {

/// The values that a call may pass for an input.
struct InputRules {
  Variable variable;
  std::string name;
  std::optional<Array> value;
  bool strict = false;
  std::optional<bool> allow_downcast;
};

struct CompiledFunction {
  std::string name;
  std::vector<InputRules> inputs;
  bool single = false;                 // one output, not a list
  std::vector<Variable> shared;        // in the order of the graph
  std::vector<std::size_t> update_of;  // per update: index in `shared`
  Rewritten rewritten;                 // before placement
  base::RunMode mode{};
  bool join = true;                             // fusion
  bool names_devices = false;                   // in device scopes or transfers
  std::string schedule;                         // overrides
  std::string nan_guard;                        // values that kernels may not store
  std::shared_ptr<const expr::Graph> imported;  // not rewritten; null unless nan_guard or verified() need it

  const expr::Graph& graph() const { return *rewritten.graph; }
  bool reference() const { return mode == base::RunMode::reference; }
  bool simulated() const { return mode == base::RunMode::simulate; }  // it runs on the simulated cuda0
  runtime::Gpus gpus() const { return simulated() ? runtime::Gpus::simulated : runtime::Gpus::of_flags; }
  bool verified() const { return mode == base::RunMode::verify; }
};

/// Runs the stages that are the same for all devices on an imported graph, with the current flags. ConfigError for
/// flags that cannot be parsed.
std::shared_ptr<const CompiledFunction> compile_function(std::string name, std::vector<InputRules> inputs, bool single,
                                                         builder::Imported imported);

}  // namespace croton::detail
