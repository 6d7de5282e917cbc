// The body of a loop or a branch: a program that runs on views of the buffers of the outer program.
#pragma once

#include "runtime/bound/bound_plan.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace croton::runtime {

/// Rows of an array: elements at equal distances in the memory of a device.
struct Rows {
  char* base = nullptr;
  std::int64_t bytes = 0;  // from one row to the next
  DType dtype = DType::float32;
  Sizes shape;         // of one row
  Sizes strides = {};  // of one row, in bytes; empty if it is contiguous
  char* at(std::int64_t row) const { return base + row * bytes; }
};
/// The buffer as rows along its first `axes_out` axes (0: the whole buffer is one row).
Rows rows_of(const Executable& executable, const Memory& memory, plan::BufferId buffer, std::size_t axes_out);
/// One row as an array, without a copy.
Array view_of_row(Device& device, const Rows& rows, std::int64_t row);
/// A number without a buffer, as an array in the memory of the device.
Array number_on(Device& device, const Executable& executable, NodeId node, const SizeTable& sizes);

/// A body and its bound plans.
class BodyRun {
 public:
  BodyRun(std::shared_ptr<const Executable> body, Device& device, BindOptions options);
  const Executable& executable() const { return *body_; }

  /// The arguments of the next run; they are kept from run to run.
  std::vector<Array>& arguments() { return arguments_; }
  /// Runs the body. Results are written to the arrays in `wanted` that are not empty; all are in `results`.
  void run(const std::vector<Array>& wanted, RunCounts& counts);
  const std::vector<Array>& results() const { return arrays_.outputs; }
  /// Appends the schedules of the kernels of the last run; none if there was none.
  void add_schedules(std::vector<KernelSchedule>& schedules) const {
    if (last_ != nullptr) last_->add_schedules(schedules);
  }
  /// Whether launches of earlier runs have tables of parameters: then runs cannot be recorded.
  bool has_tables() const {
    return std::ranges::any_of(bound_, [](const auto& bound) { return bound.second->has_tables(); });
  }

 private:
  BoundPlan& bind(RunCounts& counts);

  std::shared_ptr<const Executable> body_;
  Device& device_;
  BindOptions options_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<BoundPlan>> bound_;  // by the numbers that the host reads
  BoundPlan* last_ = nullptr;                                              // of the last run
  Workspace workspace_;
  std::vector<Array> arguments_;  // one for each input
  CallArrays arrays_;
};

}  // namespace croton::runtime
