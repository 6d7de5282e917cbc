#include "call/bound_plans.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "base/compilation.hpp"
#include "runtime/loops/loop_launch.hpp"

namespace croton::detail {
namespace {

constexpr std::size_t max_plans = 1024, max_renumbered = 8;

/// Calls `visit` with each number of the key.
void visit_key(const runtime::Executable& executable, const runtime::CallArrays& arrays, const auto& visit) {
  for (const Array* array : arrays.arguments) {
    for (const std::int64_t size : array->shape()) visit(size);
    if (array->is_contiguous()) continue;
    visit(-2);  // not a size: strides follow
    for (const std::int64_t stride : array->strides()) visit(stride);
  }
  for (const Array* array : arrays.shared) {
    for (const std::int64_t size : array->shape()) visit(size);
  }
  for (const runtime::InputRef input : executable.host_inputs) visit(arrays.number(input));
}

}  // namespace

std::size_t BoundPlans::KeyHash::operator()(const Key& key) const {
  std::size_t seed = key.size();
  for (const std::int64_t k : key) seed = (seed ^ std::hash<std::int64_t>{}(k)) * 0x9E3779B97F4A7C15ull + 17;
  return seed;
}

runtime::BoundPlan* BoundPlans::find_last(const runtime::Executable& executable,
                                          const runtime::CallArrays& arrays) const {
  if (last_ == nullptr) return nullptr;
  auto known = last_key_.begin();
  bool same = true;
  visit_key(executable, arrays, [&](std::int64_t k) {  // compares without making a key
    same = same && known != last_key_.end() && *known == k;
    if (same) ++known;
  });
  return same && known == last_key_.end() ? last_ : nullptr;
}

runtime::BoundPlan& BoundPlans::find_or_bind(const CompiledFunction& function,
                                             const std::shared_ptr<const runtime::Executable>& executable,
                                             const runtime::CallArrays& arrays, runtime::RunCounts& counts) {
  const base::Compilation compilation;
  key_.clear();
  visit_key(*executable, arrays, [&](std::int64_t k) { key_.push_back(k); });
  // A program whose sizes never repeat must not fill the memory with plans.
  if (plans_.size() >= max_plans) {
    plans_.clear();
    renumbered_.clear();
    last_ = nullptr;
  }
  if (!plans_.contains(key_)) renumber(*executable, arrays);
  auto& plan = plans_[key_];
  if (!plan) {
    try {
      const runtime::BindOptions options{.bind_loop = runtime::bind_loop,
                                         .gpus = function.gpus(),
                                         .schedule = function.schedule,
                                         .name = function.name};
      plan = std::make_unique<runtime::BoundPlan>(executable, arrays, options, counts);
    } catch (...) {
      plans_.erase(key_);
      throw;
    }
  }
  std::swap(last_key_, key_);
  last_ = plan.get();
  return *plan;
}

/// Changes a plan for the same sizes but other numbers to the numbers of the present call, if possible: the last plan,
/// or one that was renumbered before. A data set has batches of one size, and often a smaller last one.
void BoundPlans::renumber(const runtime::Executable& executable, const runtime::CallArrays& arrays) {
  const std::size_t numbers = executable.host_inputs.size();
  if (numbers == 0) return;
  const auto same_sizes = [&](const Key& other) {
    const std::size_t sizes = key_.size() - numbers;
    return other.size() == key_.size() &&
           std::ranges::equal(std::span(key_).first(sizes), std::span(other).first(sizes));
  };
  const auto take = [&](const Key& from) {
    auto entry = plans_.extract(from);
    if (entry.empty()) return false;
    const bool taken = entry.mapped()->renumber(arrays);  // a plan that an error leaves incomplete is dropped
    if (taken) entry.key() = key_;
    plans_.insert(std::move(entry));
    return taken;
  };
  const bool is_new = last_ != nullptr && std::ranges::find(renumbered_, last_key_) == renumbered_.end();
  last_ = nullptr;
  if (is_new) renumbered_.push_back(last_key_);
  for (std::size_t i = renumbered_.size(); i-- > 0;) {
    if (!same_sizes(renumbered_[i]) || !take(renumbered_[i])) continue;
    renumbered_[i] = key_;
    if (renumbered_.size() > max_renumbered) renumbered_.erase(renumbered_.begin());
    return;
  }
  if (is_new) renumbered_.pop_back();
}

}  // namespace croton::detail
