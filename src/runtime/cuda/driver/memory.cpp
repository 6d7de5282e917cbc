#include "runtime/cuda/driver/memory.hpp"

#include <bit>
#include <utility>

namespace croton::runtime::cuda {

Buffer::Buffer(Stream stream, std::size_t bytes, Where where) : stream_(std::move(stream)), size_(bytes) {
  if (bytes == 0) return;
  data_ = std::bit_cast<std::byte*>(stream_.context().allocate(bytes, stream_.handle(), where));
}

Buffer::~Buffer() {
  if (data_ != nullptr) stream_.context().free(pointer_of(data_), size_, stream_.handle());
}

Buffer::Buffer(Buffer&& other) noexcept
    : stream_(std::move(other.stream_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));  // ends with the old memory
  std::swap(stream_, taken.stream_);
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

PinnedMemory::PinnedMemory(std::shared_ptr<Context> context, std::size_t bytes, Where where)
    : context_(std::move(context)), size_(bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  context_->call(context_->driver().cuMemHostAlloc, where, &memory, bytes, flag::host_memory_portable);
  data_ = static_cast<std::byte*>(memory);
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  // After an exception, other copies may still run.
  context_->release(context_->driver().cuCtxSynchronize);
  context_->release(context_->driver().cuMemFreeHost, data_);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : context_(std::move(other.context_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  PinnedMemory taken(std::move(other));  // ends with the old memory
  std::swap(context_, taken.context_);
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

}  // namespace croton::runtime::cuda
