#include "runtime/bound/branch_launch.hpp"

#include "runtime/cpu/device.hpp"

namespace croton::runtime {

using expr::Branch;

BranchLaunch::BranchLaunch(const Executable& executable, const plan::Step& step, Device& device,
                           const std::vector<Device*>& reads, const SizeTable& sizes, const BindOptions& options)
    : executable_(&executable), step_(&step), call_(&executable.call_of(step).as<fuse::BranchCall>()), device_(device) {
  for (const std::shared_ptr<const Executable>& body : executable.bodies[step.call])
    bodies_.emplace_back(body, device, options);
  std::size_t next = 0;
  for (std::size_t i = 0; i < call_->inputs.size(); ++i) {
    if (!fuse::is_branch_number(executable.program, *call_, i)) {
      inputs_.push_back({*reads[next], step.reads[next]});
      ++next;
    } else if (i == Branch::condition_input) {
      inputs_.push_back({host_device()});
      known_ = number_on(host_device(), executable, call_->inputs[i], sizes).as_double(0) != 0;
    } else {
      inputs_.push_back({device, plan::no_buffer, number_on(device, executable, call_->inputs[i], sizes)});
    }
  }
}

bool BranchLaunch::condition(const Memory& memory) const {
  if (known_) return *known_;
  const Input& input = inputs_[Branch::condition_input];
  const Rows read = rows_of(*executable_, memory, input.buffer, 0);
  const Array here = Array::empty(read.dtype, {});
  input.device.copy_out(here.address(), read.base, here.bytes());
  return here.as_double(0) != 0;
}

void BranchLaunch::run(const LaunchRun& in) {
  const Memory& memory = in.memory;
  BodyRun& body = bodies_[condition(memory) ? 0 : 1];
  last_ = &body;
  for (std::size_t k = 0; k < call_->branch.captures; ++k) {
    const auto& [device, buffer, number] = inputs_[Branch::capture_input(k)];
    body.arguments()[k] =
        buffer == plan::no_buffer ? number : view_of_row(device, rows_of(*executable_, memory, buffer, 0), 0);
  }
  std::vector<Array> wanted(call_->branch.results);
  for (std::size_t r = 0; r < call_->results.size(); ++r)
    wanted[call_->results[r].index] = view_of_row(device_, rows_of(*executable_, memory, step_->writes[r], 0), 0);
  body.run(wanted, in.counts);
}

}  // namespace croton::runtime
