// Makes calls of the operating system fail for a while.
#pragma once

#include <utility>

#include "base/file.hpp"

namespace croton::test {

struct HookScope {
  explicit HookScope(base::FaultHook hook) { base::set_fault_hook(std::move(hook)); }
  ~HookScope() { base::set_fault_hook({}); }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
};

}  // namespace croton::test
