// Work that is captured once and then launched as a whole: the host pays for one launch, not for each kernel, and the
// device knows the next kernels.
#pragma once

#include <croton/where.hpp>

#include <functional>
#include <memory>

#include "runtime/cuda/driver/stream.hpp"

namespace croton::runtime::cuda {

class Graph {
 public:
  /// No graph, until one is assigned.
  Graph() = default;
  /// Captures the launches, copies and fills of device memory that `work` puts into `stream`, which only this thread
  /// may use meanwhile. Their parameters are copied; every launch uses the same addresses. Raises the errors of `work`
  /// and of the driver; then the stream is as before.
  Graph(std::shared_ptr<Context> context, const Stream& stream, const std::function<void()>& work, Where where = {});
  /// Waits for its launches that still run.
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }
  /// Puts all of it into a stream of the same device and returns at once.
  void launch(const Stream& stream, Where where = {});

 private:
  std::shared_ptr<Context> context_;
  GraphExecHandle handle_ = nullptr;
  Stream last_;  // of its last launch
};

}  // namespace croton::runtime::cuda
