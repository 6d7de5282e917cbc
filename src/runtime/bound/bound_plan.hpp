// BoundPlan: a plan with numbers for its sizes: what a call with these sizes runs. A plan whose sizes are not all known
// at the start is bound segment by segment: at the end of each the numbers that it found are read back, and the next
// segment is bound to them, or found bound already.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/bound/segment.hpp"

namespace croton::runtime {

class BoundPlan {
 public:
  /// Sizes and layouts from the arrays. ShapeError or IndexError for requirements that do not hold; OutOfMemory.
  BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, BindOptions options,
            RunCounts& counts);

  /// BoundSegment::renumber; of plans of one segment.
  bool renumber(const CallArrays& arrays);
  /// Runs all steps. If it throws, no shared variable has changed. Without a compiler kernels run in the reference
  /// evaluator.
  void run(CallArrays& arrays, Workspace& workspace, RunCounts& counts);
  /// Whether a run is a matter of microseconds: a few kernels and products over little memory on the host.
  bool brief() const { return brief_; }

 private:
  /// A result that is another one too, which is copied when that has been computed.
  struct Repeated {
    Array* to;
    const Array* from;
    Device& device;
  };
  void start(BoundSegment& segment, CallArrays& arrays, Workspace& workspace, RunCounts& counts) const;
  void run(BoundSegment& segment, const CallArrays& arrays, RunCounts& counts) const;
  std::vector<Repeated> add_results(const BoundSegment& segment, CallArrays& arrays) const;
  Array number(const BoundSegment& segment, NodeId node, expr::Place home) const;
  std::optional<Array> copy_input(const BoundSegment& segment, const CallArrays& arrays, plan::BufferId buffer) const;
  Repeated repeat(const BoundSegment& segment, const CallArrays& arrays, Array& result, plan::BufferId buffer) const;

  std::shared_ptr<const Executable> executable_;
  BindOptions options_;
  BoundSegment first_;
  bool brief_;
};

}  // namespace croton::runtime
