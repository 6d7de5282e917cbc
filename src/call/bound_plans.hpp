// The plans of a function on its devices, bound for calls. The key is the sizes of arrays, the strides of arrays that
// are not contiguous, and the numbers that the host reads.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "compiled_function.hpp"
#include "runtime/bound/bound_plan.hpp"

namespace croton::detail {

class BoundPlans {
 public:
  /// The plan of the previous call, if it is also valid for this one, as in most calls; otherwise null.
  runtime::BoundPlan* find_last(const runtime::Executable& executable, const runtime::CallArrays& arrays) const;
  /// The plan of the previous call that was bound; null before the first one.
  const runtime::BoundPlan* last() const { return last_; }
  /// The plan for these arrays; it is bound now if no call with this key has been made.
  runtime::BoundPlan& find_or_bind(const CompiledFunction& function,
                                   const std::shared_ptr<const runtime::Executable>& executable,
                                   const runtime::CallArrays& arrays, runtime::RunCounts& counts);

 private:
  using Key = std::vector<std::int64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  void renumber(const runtime::Executable& executable, const runtime::CallArrays& arrays);

  std::unordered_map<Key, std::unique_ptr<runtime::BoundPlan>, KeyHash> plans_;
  std::vector<Key> renumbered_;  // keys of plans that were renumbered
  Key key_, last_key_;           // of the present and the previous call
  runtime::BoundPlan* last_ = nullptr;
};

}  // namespace croton::detail
