#include "compiled_function.hpp"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "base/index.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "codegen/schedule.hpp"

namespace croton::detail {

std::shared_ptr<const CompiledFunction> compile_function(std::string name, std::vector<InputRules> inputs, bool single,
                                                         builder::Imported imported) {
  const base::Flags& flags = base::config();
  auto result = std::make_shared<CompiledFunction>();
  result->name = std::move(name);
  result->inputs = std::move(inputs);
  result->single = single;
  result->shared = std::move(imported.shared);
  result->mode = flags.mode;
  result->join = flags.optimizer != base::OptimizerMode::none;
  codegen::choose_schedule(kernel::Family::pointwise, {}, flags.schedule);  // raises if it cannot be parsed
  result->schedule = flags.schedule;
  result->nan_guard = flags.nan_guard;
  if (result->verified() || !result->nan_guard.empty())
    result->imported = std::make_shared<const expr::Graph>(imported.graph);
  result->rewritten = rewrite_graph(result->name, std::move(imported.graph), rewriting_of_flags());
  result->names_devices = rewrite::uses_devices(result->graph(), {});
  // Shared variables are numbered in their order among the inputs.
  for (const expr::Update& update : result->graph().updates) {
    const auto before = std::span(result->graph().inputs).first(update.input);
    result->update_of.push_back(base::to_size(std::ranges::count(before, expr::Role::shared, &expr::GraphInput::role)));
  }
  for (const Variable& variable : result->shared) {
    builder::SharedState& state = *variable.node()->shared;
    const std::unique_lock lock(state.mutex);
    if (!state.copies) state.copies = std::make_shared<runtime::SharedCopies>();
  }
  return result;
}

}  // namespace croton::detail
