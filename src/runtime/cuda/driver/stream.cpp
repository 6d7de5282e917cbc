#include "runtime/cuda/driver/stream.hpp"

#include <utility>

namespace croton::runtime::cuda {

// ---- streams ----

struct Stream::State {
  explicit State(std::shared_ptr<Context> owner) : context(std::move(owner)) {}
  ~State() {
    if (handle != nullptr) context->release(context->driver().cuStreamDestroy, handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<Context> context;
  StreamHandle handle = nullptr;
};

Stream::Stream(std::shared_ptr<Context> context, Where where) : state_(std::make_shared<State>(std::move(context))) {
  state_->context->call(state_->context->driver().cuStreamCreate, where, &state_->handle, flag::stream_non_blocking);
}

Context& Stream::context() const { return *state_->context; }

StreamHandle Stream::handle() const { return state_->handle; }

void Stream::synchronize(Where where) const {
  context().call(context().driver().cuStreamSynchronize, where, state_->handle);
}

void Stream::wait(const Event& event, Where where) const {
  context().call(context().driver().cuStreamWaitEvent, where, state_->handle, event.handle(), 0);
}

// ---- events ----

Event::Event(std::shared_ptr<Context> context, Timing timing, Where where) : context_(std::move(context)) {
  const unsigned flags = timing == Timing::on ? 0 : flag::event_without_timing;
  context_->call(context_->driver().cuEventCreate, where, &handle_, flags);
}

Event::~Event() {
  if (handle_ != nullptr) context_->release(context_->driver().cuEventDestroy, handle_);
}

Event::Event(Event&& other) noexcept
    : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  Event taken(std::move(other));  // ends with the old event
  std::swap(context_, taken.context_);
  std::swap(handle_, taken.handle_);
  return *this;
}

void Event::record(const Stream& stream, Where where) {
  context_->call(context_->driver().cuEventRecord, where, handle_, stream.handle());
}

bool Event::done(Where where) const {
  const auto& entry = context_->driver().cuEventQuery;
  const Result code = context_->attempt(entry, where, handle_);
  if (code == result::not_ready) return false;
  context_->check(code, entry.name, where);
  return true;
}

void Event::synchronize(Where where) const { context_->call(context_->driver().cuEventSynchronize, where, handle_); }

double Event::milliseconds_since(const Event& start, Where where) const {
  float milliseconds = 0;
  context_->call(context_->driver().cuEventElapsedTime, where, &milliseconds, start.handle_, handle_);
  return milliseconds;
}

}  // namespace croton::runtime::cuda
