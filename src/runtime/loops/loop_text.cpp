#include "runtime/loops/loop_text.hpp"

#include "runtime/bound/user_line.hpp"
#include "runtime/loops/loop_parts.hpp"

namespace croton::runtime {

using codegen::Motion;

namespace {

codegen::LoopPart text_part(const LoopLayout& layout, const StepPart& part) {
  codegen::LoopPart to;
  to.analysis = part.analysis();
  if (part.kernel) {
    to.variant = &part.kernel->launch.variant;
    to.comment = kernel_comment(*part.kernel->call);
  } else {
    to.dtype = layout.dtype_of_product(part);
    to.comment = {"a product", "from " + line_of(layout.body->call_of(*part.step).as<fuse::ProductCall>().origin)};
  }
  to.sync_after = part.sync_after;
  for (std::size_t a = 0; a < part.buffers.size(); ++a) {
    const Motion motion = layout.motions[part.buffers[a]].kind;
    to.motions.push_back(motion != Motion::rows || part.row_strides[a] != 0 ? motion : Motion::none);
  }
  return to;
}

}  // namespace

codegen::Text emit_text(const LoopLayout& layout, codegen::Target target) {
  codegen::LoopParts loop;
  loop.partitioned = layout.shares.rows > 1;
  loop.of_grid = layout.is_grid();
  loop.index = layout.shares.schedule.index;
  if (layout.loop->until) {
    loop.condition = layout.dtype_of(layout.condition_buffer());
    loop.sync_after_condition = writes_condition_at_once(layout);
  }
  for (const StepPart& part : layout.parts) loop.parts.push_back(text_part(layout, part));
  return codegen::emit_loop(loop, target);
}

}  // namespace croton::runtime
