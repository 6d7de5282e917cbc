// A program inside another, such as the body of a loop, run on views of the outer one's buffers.
#pragma once

#include "runtime/bound/bound_plan.hpp"

#include <map>
#include <memory>
#include <vector>

namespace croton::runtime {

/// Elements at equal distances in the memory of a device.
struct Rows {
  char* base = nullptr;
  std::int64_t bytes = 0;  // from one to the next
  DType dtype = DType::float32;
  Sizes shape;         // of one
  Sizes strides = {};  // of one, in bytes, where it is not contiguous
  char* at(std::int64_t row) const { return base + row * bytes; }
};
/// The buffer as rows along its first `axes_out` axes.
Rows rows_of(const Executable& executable, const Memory& memory, plan::BufferId buffer, std::size_t axes_out);
/// One of them, without a copy.
Array view_of_row(Device& device, const Rows& rows, std::int64_t row);
/// A number that has no buffer, in the memory of the device.
Array number_on(Device& device, const Executable& executable, NodeId node, const SizeTable& sizes);

class BodyRun {
 public:
  BodyRun(std::shared_ptr<const Executable> body, Device& device, BindOptions options);
  const Executable& executable() const { return *body_; }

  /// What it reads; stays from run to run.
  std::vector<Array>& arguments() { return arguments_; }
  /// Runs it. Results go to the arrays given, where these are not empty, and are in `results`.
  void run(const std::vector<Array>& wanted, RunCounts& counts);
  const std::vector<Array>& results() const { return arrays_.outputs; }

 private:
  BoundPlan& bind(RunCounts& counts);

  std::shared_ptr<const Executable> body_;
  Device& device_;
  BindOptions options_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<BoundPlan>> bound_;  // by numbers that the host reads
  Workspace workspace_;
  std::vector<Array> arguments_;  // as many as there are inputs, always
  CallArrays arrays_;
};

}  // namespace croton::runtime
