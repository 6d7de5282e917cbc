// BoundPlan: a plan with numbers for its sizes, which calls with these sizes run. A plan with fresh sizes is bound
// segment by segment: at the end of a segment the host reads its fresh sizes back and binds the next segment to them,
// unless it is already bound to the same numbers.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/bound/segment.hpp"

namespace croton::runtime {

class BoundPlan {
 public:
  /// Binds the first segment to the sizes and layouts of the arrays. Raises ShapeError or IndexError for requirements
  /// that are violated, and OutOfMemory.
  BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, BindOptions options,
            RunCounts& counts);

  /// BoundSegment::renumber, for plans of one segment; false for other plans.
  bool renumber(const CallArrays& arrays);
  /// Runs all steps. If it throws, no shared variable has changed. Without a compiler the reference evaluator
  /// runs the kernels.
  void run(CallArrays& arrays, Workspace& workspace, RunCounts& counts);
  /// Whether a run takes only microseconds: a few kernels and products with little memory, on the host.
  bool is_tiny() const { return tiny_; }
  /// Appends the schedules of its kernels, in the order of the plan.
  void add_schedules(std::vector<KernelSchedule>& schedules) const { first_.add_schedules(schedules); }
  /// BoundSegment::has_tables of the first segment.
  bool has_tables() const { return first_.has_tables(); }

 private:
  /// A result that repeats another one: it is copied after the other one is computed.
  struct DuplicateResult {
    Array* to;
    const Array* from;
    Device& device;
  };
  void start(BoundSegment& segment, CallArrays& arrays, Workspace& workspace, RunCounts& counts) const;
  void run(BoundSegment& segment, const CallArrays& arrays, RunCounts& counts) const;
  void find_results_without_step();
  std::vector<DuplicateResult> add_results(const BoundSegment& segment, CallArrays& arrays) const;
  Array number(const BoundSegment& segment, NodeId node, expr::Place home) const;
  std::optional<Array> copy_input(const BoundSegment& segment, const CallArrays& arrays, plan::BufferId buffer) const;
  DuplicateResult allocate_duplicate(const BoundSegment& segment, const CallArrays& arrays, Array& result,
                                     plan::BufferId buffer) const;

  std::shared_ptr<const Executable> executable_;
  BindOptions options_;
  BoundSegment first_;
  bool tiny_;
  // Results that are inputs, constants, numbers of the host, or the same as another result.
  std::vector<std::size_t> outputs_without_step_, updates_without_step_;
};

}  // namespace croton::runtime
