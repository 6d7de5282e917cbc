// The arguments of a call as a plan takes them.
#pragma once

#include <croton/function.hpp>

#include <span>
#include <vector>

#include "call/compiled_function.hpp"
#include "call/shared_locks.hpp"
#include "runtime/bound/executable.hpp"

namespace croton::detail {

class Arguments {
 public:
  /// Adds each argument to `arrays`: as it is, or a copy, kept until `release`, where its dtype, its strides or an
  /// update that is written over it ask for one. TypeError and ShapeError for what an input does not take.
  void take(const CompiledFunction& function, std::span<const Argument> arguments,
            const runtime::Executable& executable, const SharedLocks& shared, std::vector<const Array*>& arrays);
  void release() { copies_.clear(); }

 private:
  std::vector<Array> copies_;
};

}  // namespace croton::detail
