#include "runtime/cuda/stream.hpp"

#include <bit>
#include <utility>

namespace croton::runtime::cuda {

// ---- streams ----

struct Stream::State {
  explicit State(std::shared_ptr<Device> owner) : device(std::move(owner)) {}
  ~State() {
    if (handle != nullptr) device->release(device->driver().cuStreamDestroy, handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<Device> device;
  StreamHandle handle = nullptr;
};

Stream::Stream(std::shared_ptr<Device> device, Where where) : state_(std::make_shared<State>(std::move(device))) {
  state_->device->call(state_->device->driver().cuStreamCreate, where, &state_->handle, flag::stream_non_blocking);
}

Device& Stream::device() const { return *state_->device; }

StreamHandle Stream::handle() const { return state_->handle; }

void Stream::synchronize(Where where) const {
  device().call(device().driver().cuStreamSynchronize, where, state_->handle);
}

void Stream::wait(const Event& event, Where where) const {
  device().call(device().driver().cuStreamWaitEvent, where, state_->handle, event.handle(), 0);
}

// ---- events ----

Event::Event(std::shared_ptr<Device> device, Timing timing, Where where) : device_(std::move(device)) {
  const unsigned flags = timing == Timing::on ? 0 : flag::event_without_timing;
  device_->call(device_->driver().cuEventCreate, where, &handle_, flags);
}

Event::~Event() {
  if (handle_ != nullptr) device_->release(device_->driver().cuEventDestroy, handle_);
}

Event::Event(Event&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  Event taken(std::move(other));  // ends with what this one had
  std::swap(device_, taken.device_);
  std::swap(handle_, taken.handle_);
  return *this;
}

void Event::record(const Stream& stream, Where where) {
  device_->call(device_->driver().cuEventRecord, where, handle_, stream.handle());
}

bool Event::done(Where where) const {
  const auto& entry = device_->driver().cuEventQuery;
  const Result code = device_->attempt(entry, where, handle_);
  if (code == result::not_ready) return false;
  device_->check(code, entry.name, where);
  return true;
}

void Event::synchronize(Where where) const { device_->call(device_->driver().cuEventSynchronize, where, handle_); }

double Event::milliseconds_since(const Event& start, Where where) const {
  float milliseconds = 0;
  device_->call(device_->driver().cuEventElapsedTime, where, &milliseconds, start.handle_, handle_);
  return static_cast<double>(milliseconds);
}

// ---- memory ----

Buffer::Buffer(Stream stream, std::size_t bytes, Where where) : stream_(std::move(stream)), size_(bytes) {
  if (bytes == 0) return;
  data_ = std::bit_cast<std::byte*>(stream_.device().allocate(bytes, stream_.handle(), where));
}

Buffer::~Buffer() {
  if (data_ != nullptr) stream_.device().free(pointer_of(data_), size_, stream_.handle());
}

Buffer::Buffer(Buffer&& other) noexcept
    : stream_(std::move(other.stream_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));  // ends with what this one had
  std::swap(stream_, taken.stream_);
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

PinnedMemory::PinnedMemory(std::shared_ptr<Device> device, std::size_t bytes, Where where)
    : device_(std::move(device)), size_(bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  device_->call(device_->driver().cuMemHostAlloc, where, &memory, bytes, flag::host_memory_portable);
  data_ = static_cast<std::byte*>(memory);
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  // Copies that were started may still run, after an exception for one.
  device_->release(device_->driver().cuCtxSynchronize);
  device_->release(device_->driver().cuMemFreeHost, data_);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : device_(std::move(other.device_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  PinnedMemory taken(std::move(other));  // ends with what this one had
  std::swap(device_, taken.device_);
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

}  // namespace croton::runtime::cuda
