#include "runtime/loops/step_part.hpp"

#include "base/rounding.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::runtime {

std::int64_t StepPart::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : kernel->launch.sizes) count *= size;
  return count;
}

std::int64_t StepPart::split_blocks() const { return base::ceil_div(elements(), ct::block_elements); }

std::int64_t StepPart::warps() const {
  if (is_split()) return split_blocks();
  const bool warp_a_point = kernel && analysis()->kernel.family == kernel::Family::row;
  return warp_a_point ? points() : base::ceil_div(points(), ct::lanes);
}

}  // namespace croton::runtime
