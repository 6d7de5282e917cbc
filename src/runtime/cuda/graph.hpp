// Work that is captured once and then launched as one: the host pays for one launch, not for each kernel, and the
// device knows what comes next.
#pragma once

#include <croton/where.hpp>

#include <functional>
#include <memory>

#include "runtime/cuda/stream.hpp"

namespace croton::runtime::cuda {

class Graph {
 public:
  /// None: only to be assigned to.
  Graph() = default;
  /// What `work` puts into `stream`, which this thread alone may use meanwhile: launches, copies and fills of device
  /// memory. Their parameters are copied, their addresses are used as they are in every launch. Raises what `work`
  /// raises and what the driver refuses; the stream is as before then.
  Graph(std::shared_ptr<Context> context, const Stream& stream, const std::function<void()>& work, Where where = {});
  /// Waits for launches of it that still run.
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }
  /// Puts all of it into a stream of the same device and returns at once.
  void launch(const Stream& stream, Where where = {});

 private:
  std::shared_ptr<Context> context_;
  GraphExecHandle handle_ = nullptr;
  Stream last_;  // that it was launched into
};

}  // namespace croton::runtime::cuda
