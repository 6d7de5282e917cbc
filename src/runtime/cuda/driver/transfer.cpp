#include "runtime/cuda/driver/transfer.hpp"

#include <croton/error.hpp>

#include "runtime/cuda/driver/staging.hpp"

namespace croton::runtime::cuda {
namespace {

std::byte* checked_place(const PinnedMemory& pinned, std::size_t offset, std::size_t bytes) {
  if (offset > pinned.size() || bytes > pinned.size() - offset) throw InternalError("a copy beyond pinned memory");
  return pinned.data() + offset;
}

}  // namespace

void copy_in(const Stream& stream, void* to, std::span<const std::byte> from, Where where) {
  if (!from.empty()) stream.context().staging_in().copy_in(stream.handle(), pointer_of(to), from, where);
}

void copy_ahead(const Stream& stream, void* to, std::span<const std::byte> from, Where where) {
  if (!from.empty()) stream.context().staging_ahead().copy_in(stream.handle(), pointer_of(to), from, where);
}

void copy_out(const Stream& stream, std::span<std::byte> to, const void* from, Where where) {
  if (!to.empty()) stream.context().staging_out().copy_out(stream.handle(), to, pointer_of(from), where);
}

void start_copy_in(const Stream& stream, void* to, const PinnedMemory& pinned, std::size_t offset, std::size_t bytes,
                   Where where) {
  const std::byte* from = checked_place(pinned, offset, bytes);
  if (bytes == 0) return;
  Context& context = stream.context();
  context.call(context.driver().cuMemcpyHtoDAsync, where, pointer_of(to), from, bytes, stream.handle());
}

void start_copy_out(const Stream& stream, PinnedMemory& pinned, std::size_t offset, const void* from, std::size_t bytes,
                    Where where) {
  std::byte* to = checked_place(pinned, offset, bytes);
  if (bytes == 0) return;
  Context& context = stream.context();
  context.call(context.driver().cuMemcpyDtoHAsync, where, to, pointer_of(from), bytes, stream.handle());
}

void copy_within(const Stream& stream, void* to, const void* from, std::size_t bytes, Where where) {
  if (bytes == 0) return;
  Context& context = stream.context();
  context.call(context.driver().cuMemcpyDtoDAsync, where, pointer_of(to), pointer_of(from), bytes, stream.handle());
}

void copy_peer(const Stream& stream, void* to, const Context& from_context, const void* from, std::size_t bytes,
               Where where) {
  if (bytes == 0) return;
  Context& context = stream.context();
  context.call(context.driver().cuMemcpyPeerAsync, where, pointer_of(to), context.handle(), pointer_of(from),
               from_context.handle(), bytes, stream.handle());
}

void fill(const Stream& stream, void* to, unsigned char value, std::size_t bytes, Where where) {
  if (bytes == 0) return;
  Context& context = stream.context();
  context.call(context.driver().cuMemsetD8Async, where, pointer_of(to), value, bytes, stream.handle());
}

}  // namespace croton::runtime::cuda
