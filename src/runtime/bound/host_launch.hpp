// HostLaunch: a user's callback (croton/op.hpp) in a bound plan. Its arguments are views of the host's buffers.
#pragma once

#include "runtime/bound/launch.hpp"

#include <vector>

namespace croton::runtime {

class HostLaunch final : public Launch {
 public:
  HostLaunch(const Executable& executable, const plan::Step& step, const SizeTable& sizes);
  /// Runs the callback. Raises its errors, and TypeError or ShapeError if its results do not have the declared types.
  void run(const LaunchRun& in) override;
  bool needs_checked_values() const override { return true; }
  std::optional<Renumbering> renumbered(const SizeTable& before, const SizeTable& sizes, const Memory&) override;
  LaunchTime time(double bytes) const override;

 private:
  std::vector<Array> numbers_at(const SizeTable& sizes) const;
  void run_callback(const Memory& memory, HostResults& results) const;
  std::vector<Array> arguments(const Memory& memory) const;

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::HostCall* call_;
  std::vector<Array> numbers_;  // per argument: its value, if it has no buffer
};

}  // namespace croton::runtime
