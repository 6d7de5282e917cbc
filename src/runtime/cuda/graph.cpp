#include "runtime/cuda/graph.hpp"

#include <croton/error.hpp>

#include <utility>

namespace croton::runtime::cuda {
namespace {

/// The result of a capture, which is not needed any more once a graph for launches is made from it.
class Captured {
 public:
  Captured(const Stream& stream, const std::function<void()>& work, Where where) : context_(stream.context()) {
    const Driver& driver = context_.driver();
    context_.call(driver.cuStreamBeginCapture, where, stream.handle(), flag::capture_thread_local);
    try {
      work();
      context_.call(driver.cuStreamEndCapture, where, stream.handle(), &handle_);
    } catch (...) {
      // A second end, if the first has failed, does no harm.
      context_.release(driver.cuStreamEndCapture, stream.handle(), &handle_);
      destroy();
      throw;
    }
  }
  ~Captured() { destroy(); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  GraphHandle handle() const { return handle_; }

 private:
  void destroy() {
    if (handle_ != nullptr) context_.release(context_.driver().cuGraphDestroy, handle_);
  }

  Context& context_;
  GraphHandle handle_ = nullptr;
};

}  // namespace

Graph::Graph(std::shared_ptr<Context> context, const Stream& stream, const std::function<void()>& work, Where where)
    : context_(std::move(context)) {
  const Captured captured(stream, work, where);
  context_->call(context_->driver().cuGraphInstantiate, where, &handle_, captured.handle(), 0);
}

Graph::~Graph() {
  if (handle_ == nullptr) return;
  // The driver does not promise that a graph may be destroyed while it runs.
  if (last_) context_->release(context_->driver().cuStreamSynchronize, last_.handle());
  context_->release(context_->driver().cuGraphExecDestroy, handle_);
}

Graph::Graph(Graph&& other) noexcept
    : context_(std::move(other.context_)),
      handle_(std::exchange(other.handle_, nullptr)),
      last_(std::move(other.last_)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  Graph taken(std::move(other));  // ends with the old graph
  std::swap(context_, taken.context_);
  std::swap(handle_, taken.handle_);
  std::swap(last_, taken.last_);
  return *this;
}

void Graph::launch(const Stream& stream, Where where) {
  if (&stream.context() != context_.get())
    throw InternalError("a graph of one device launched into a stream of another");
  context_->call(context_->driver().cuGraphLaunch, where, handle_, stream.handle());
  last_ = stream;
}

}  // namespace croton::runtime::cuda
