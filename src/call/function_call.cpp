// The public interface of calls.
#include <croton/function.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "builder/node.hpp"
#include "call/callable.hpp"

namespace croton {

using builder::describe;

Function::Function(std::shared_ptr<const detail::CompiledFunction> compiled)
    : impl_(std::make_shared<detail::Callable>(std::move(compiled))) {
  impl_->placed();  // with the current flags, so that errors are raised here, not by a call
}

detail::Callable& Function::impl() const {
  if (!impl_) throw TypeError("an empty Function was used; make one with function(inputs, outputs)");
  return *impl_;
}

Outputs Function::call(std::span<const Argument> arguments) const {
  std::vector<Array> results;
  impl().call(arguments, false, [&](std::vector<Array>& outputs) { results = std::move(outputs); });
  return Outputs(std::move(results), impl_->function().single);
}

bool Function::call_briefly(std::span<const Argument> arguments,
                            const std::function<void(std::span<const Array>)>& read) const {
  return impl().is_tiny() && impl().call(arguments, true, [&](const std::vector<Array>& outputs) { read(outputs); });
}

Outputs Function::call_named(const std::map<std::string, Argument>& arguments) const {
  std::vector<Argument> ordered;
  std::size_t found = 0;
  for (const detail::InputRules& rules : impl().function().inputs) {
    std::size_t same_name = 0;
    for (const detail::InputRules& other : impl_->function().inputs) same_name += other.name == rules.name ? 1 : 0;
    const auto at = arguments.find(rules.name);
    if (at != arguments.end() && same_name > 1) {
      throw TypeError(
          fmt::format("{}: two inputs are called '{}'; call with positions", impl_->function().name, rules.name));
    }
    if (at == arguments.end() && !rules.value)
      throw TypeError(fmt::format("{}: the input {} is missing", impl_->function().name, describe(rules.variable)));
    if (at != arguments.end()) ++found;
    ordered.push_back(at != arguments.end() ? at->second : Argument(*rules.value));
  }
  for (const auto& [name, value] : arguments) {
    const bool known =
        std::ranges::any_of(impl_->function().inputs, [&](const auto& rules) { return rules.name == name; });
    if (known) continue;
    std::string names;
    for (const detail::InputRules& rules : impl_->function().inputs)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", rules.name);
    throw TypeError(fmt::format("{}: there is no input called '{}'; there are {}", impl_->function().name, name,
                                names.empty() ? "none" : names));
  }
  return call(ordered);
}

Function Function::copy() const { return impl_ ? Function(impl_->copy()) : Function(); }
const std::string& Function::name() const { return impl().function().name; }
CallCounts Function::counts() const { return impl().counts(); }
Verification Function::verification() const { return impl().verification(); }

const Array& Outputs::only() const {
  if (arrays_.size() != 1)
    throw TypeError(fmt::format("the function gives {} outputs; take them by index", arrays_.size()));
  return arrays_[0];
}

}  // namespace croton
