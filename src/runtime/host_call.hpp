// A callback of the user's (croton/op.hpp) in a bound plan: its arguments are views of the host's buffers.
#pragma once

#include "runtime/launch.hpp"

#include <compare>
#include <map>
#include <vector>

namespace croton::runtime {

/// What applications have given in the present run: a callback with several results is called once.
struct Application {
  const expr::Op* op;
  std::int64_t number;  // 0 where equal arguments give equal results
  std::vector<NodeId> arguments;
  friend auto operator<=>(const Application&, const Application&) = default;
};
using HostResults = std::map<Application, std::vector<Array>>;

class HostLaunch {
 public:
  HostLaunch(const Executable& executable, const plan::Step& step, const SizeTable& sizes);
  /// The same for other numbers.
  void renumber(const SizeTable& sizes);
  /// Raises what the callback raises; TypeError or ShapeError where it did not give what was promised.
  void run(const Memory& memory, HostResults& results) const;

 private:
  std::vector<Array> arguments(const Memory& memory) const;

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::HostCall* call_;
  std::vector<Array> numbers_;  // per argument: of one that has no buffer
};

}  // namespace croton::runtime
