// The arguments of a call, converted to the arrays that a plan takes.
#pragma once

#include <croton/function.hpp>

#include <span>
#include <vector>

#include "call/shared_locks.hpp"
#include "compiled_function.hpp"
#include "runtime/bound/executable.hpp"

namespace croton::detail {

class Arguments {
 public:
  /// Adds each argument to `arrays`: the array itself or, if its dtype, its strides or an update that overwrites
  /// it require it, a copy, which lives until `release`. TypeError and ShapeError for arrays that an input does
  /// not accept.
  void take(const CompiledFunction& function, std::span<const Argument> arguments,
            const runtime::Executable& executable, const SharedLocks& shared, std::vector<const Array*>& arrays);
  void release() { copies_.clear(); }

 private:
  std::vector<Array> copies_;
};

}  // namespace croton::detail
