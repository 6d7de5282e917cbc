// Reductions that are computed in one pass over their elements (codegen_templates/joint.cuh).
#include <fmt/format.h>

#include "codegen/emitter.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

std::string Emitter::group_name(const StageGroup& group) {
  return fmt::format("{}{}", group.size() == 1 ? "r" : "j", group.begin);
}

std::string Emitter::combiner(const StageGroup& group) const {
  std::string text = combiner(kernel_.stages[group.end - 1]);
  for (std::size_t s = group.end - 1; s-- > group.begin;)
    text = fmt::format("ct::Joint<{}, {}>", combiner(kernel_.stages[s]), text);
  return text;
}

void Emitter::begin_group(const StageGroup& group) {
  available_stages_ = group.begin;
  std::string from = group_name(group) + (is_column_of_packs() ? "[e]" : "");
  for (std::size_t s = group.begin; s < group.end; ++s) {
    declare({kernel_.stages[s].value}, true);
    const bool last = s + 1 == group.end;
    results_[s] = last ? from : from + ".first";
    from += ".second";
  }
}

void Emitter::declare_values(const StageGroup& group) {
  for (std::size_t s = group.begin; s < group.end; ++s) declare({kernel_.stages[s].value}, false);
}

std::string Emitter::values(const StageGroup& group) const {
  std::string text = operand(kernel_.stages[group.end - 1].value);
  for (std::size_t s = group.end - 1; s-- > group.begin;)
    text = fmt::format("ct::both({}, {})", operand(kernel_.stages[s].value), text);
  return text;
}

}  // namespace croton::codegen
