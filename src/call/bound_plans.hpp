// The plans of a function on its devices, bound to what calls brought: by the sizes of what they read, the strides of
// what is not contiguous, and the numbers that the host reads.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "call/compiled_function.hpp"
#include "runtime/bound/bound_plan.hpp"

namespace croton::detail {

class BoundPlans {
 public:
  /// The plan of the call before, where it is this one's too: most calls are like the one before. Null where it is not.
  runtime::BoundPlan* find_last(const runtime::Executable& executable, const runtime::CallArrays& arrays) const;
  /// The plan for these arrays, bound now if no call has brought such.
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
  std::vector<Key> moved_;  // keys of plans that have been renumbered
  Key key_, last_key_;      // of the present call, and the one before
  runtime::BoundPlan* last_ = nullptr;
};

}  // namespace croton::detail
