// A loop in a bound plan: its body is bound to the sizes of one step, and run once a step.
#pragma once

#include "runtime/body.hpp"

#include <memory>
#include <vector>

namespace croton::runtime {

class LoopLaunch {
 public:
  /// Memory for states that nobody keeps is taken here. OutOfMemory.
  LoopLaunch(const Executable& executable, const plan::Step& step, Device* device, const SizeTable& sizes,
             const Memory& memory, const BindOptions& options);
  /// Runs the steps. Raises what a step raises.
  void run(const Memory& memory, RunCounts& counts);

 private:
  Rows own_rows(const Rows& like, std::int64_t count);
  void copy(const Rows& to, std::int64_t row, const Rows& from, std::int64_t first, std::int64_t count) const;

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::LoopCall* call_;
  Device* device_;
  BodyRun body_;
  std::int64_t steps_ = 0;
  std::vector<int> inputs_;         // buffer of each input of the loop; -1: a number
  std::vector<Array> numbers_;      // of those that have none, on the device
  std::vector<Rows> states_;        // of states of which no history is wanted
  std::vector<std::int64_t> kept_;  // how many rows of a state these have; 0: all of them, in a buffer
  std::vector<std::shared_ptr<void>> own_memory_;
};

}  // namespace croton::runtime
