#include "runtime/bound/transfer_launch.hpp"

#include "base/shape.hpp"
#include "runtime/bound/launch_time.hpp"
#include "runtime/bound/user_line.hpp"

namespace croton::runtime {

TransferLaunch::TransferLaunch(const std::shared_ptr<const Executable>& executable, bool inside, const plan::Step& step,
                               Device& from, Device& to, const Memory& memory, bool ahead)
    : step_(&step), origin_(nullptr), from_(from), to_(to), ahead_(ahead) {
  using Role = plan::Buffer::Role;
  const auto at = [&](plan::BufferId b) -> const plan::Buffer& { return executable->plan.buffers[b]; };
  const plan::Buffer &source = at(step.reads[0]), &target = at(step.writes[0]);
  origin_ = &executable->program.graph.arena.origin(target.node);
  record_.executable = executable;
  record_.node = target.node;
  record_.from = source.place;
  record_.to = target.place;
  record_.kind = inside                          ? Transferred::Kind::value
                 : target.role == Role::output   ? Transferred::Kind::output
                 : source.role == Role::argument ? Transferred::Kind::input
                                                 : Transferred::Kind::value;
  record_.bytes =
      base::byte_count(memory.layouts[step.reads[0]].shape, executable->program.graph.arena.type(source.node).dtype);
}

void TransferLaunch::run(const LaunchRun& in) {
  void* target = in.memory.base[step_->writes[0]];
  const void* source = in.memory.base[step_->reads[0]];
  with_lines(*origin_, [&] {
    if (!ahead_)
      copy_between(to_, target, from_, source, record_.bytes);
    else if (record_.bytes > 0)
      in.uploads.at(record_.to)->copy_in(target, source, record_.bytes);
  });
  in.counts.add(record_);
}

LaunchTime TransferLaunch::time(double bytes) const {
  const double copy = bytes / 2 / launch_time::copied_bytes;
  const bool from_processor = from_.facts().has_processor, to_processor = to_.facts().has_processor;
  if (from_processor && to_.is_host()) return {launch_time::host_copy + copy};
  return {from_processor || to_processor ? launch_time::enqueue : copy};
}

}  // namespace croton::runtime
