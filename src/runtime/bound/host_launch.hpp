// A callback of the user's (croton/op.hpp) in a bound plan: its arguments are views of the host's buffers.
#pragma once

#include "runtime/bound/launch.hpp"

#include <vector>

namespace croton::runtime {

class HostLaunch final : public Launch {
 public:
  HostLaunch(const Executable& executable, const plan::Step& step, const SizeTable& sizes);
  LaunchKind kind() const override { return LaunchKind::host; }
  /// Raises what the callback raises; TypeError or ShapeError where it did not give what was promised.
  void run(const LaunchRun& in) override;
  std::optional<Renumbering> renumbered(const SizeTable& before, const SizeTable& sizes, const Memory&) override;
  LaunchTime time(double bytes) const override;

 private:
  std::vector<Array> numbers_at(const SizeTable& sizes) const;
  void run_callback(const Memory& memory, HostResults& results) const;
  std::vector<Array> arguments(const Memory& memory) const;

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::HostCall* call_;
  std::vector<Array> numbers_;  // per argument: of one that has no buffer
};

}  // namespace croton::runtime
