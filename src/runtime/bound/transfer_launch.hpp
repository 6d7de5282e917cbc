// TransferLaunch: a copy from one device to another in a bound plan.
#pragma once

#include "runtime/bound/launch.hpp"

namespace croton::runtime {

class TransferLaunch final : public Launch {
 public:
  /// `inside`: in the body of a loop or branch, whose arguments and results are not those of the function. `ahead`:
  /// copy in advance, into memory of the device's Uploads.
  TransferLaunch(const std::shared_ptr<const Executable>& executable, bool inside, const plan::Step& step, Device& from,
                 Device& to, const Memory& memory, bool ahead);
  std::size_t bytes() const override { return record_.bytes; }
  void run(const LaunchRun& in) override;
  LaunchTime time(double bytes) const override;

 private:
  const plan::Step* step_;
  const expr::Origin* origin_;
  Device &from_, &to_;
  bool ahead_;
  Transferred record_;
};

}  // namespace croton::runtime
