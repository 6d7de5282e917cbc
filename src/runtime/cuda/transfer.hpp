// Copies between the host and devices, within a device and between devices: work of a stream, like launches. Device
// memory is named by its address; it must be usable in that stream (see Buffer). No bytes are no call.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <span>

#include "runtime/cuda/memory.hpp"

namespace croton::runtime::cuda {

/// From any host memory, which may change as soon as this returns.
void copy_in(const Stream& stream, void* to, std::span<const std::byte> from, Where where = {});
/// The same for a stream that holds copies alone, which run ahead of other work of the device.
void copy_ahead(const Stream& stream, void* to, std::span<const std::byte> from, Where where = {});
/// To any host memory. Waits until the data is there, and so for the stream up to here; errors of kernels come up.
void copy_out(const Stream& stream, std::span<std::byte> to, const void* from, Where where = {});

/// From and to pinned memory, without waiting: `pinned` stays as it is, or is looked at, after an event of the stream.
void start_copy_in(const Stream& stream, void* to, const PinnedMemory& pinned, std::size_t offset, std::size_t bytes,
                   Where where = {});
void start_copy_out(const Stream& stream, PinnedMemory& pinned, std::size_t offset, const void* from, std::size_t bytes,
                    Where where = {});

/// Within the device of the stream; the places do not overlap.
void copy_within(const Stream& stream, void* to, const void* from, std::size_t bytes, Where where = {});
/// From the memory of another device to that of the stream's. Directly after enable_peer_access, else through the host.
void copy_peer(const Stream& stream, void* to, const Context& from_context, const void* from, std::size_t bytes,
               Where where = {});

/// Every byte becomes `value`.
void fill(const Stream& stream, void* to, unsigned char value, std::size_t bytes, Where where = {});

}  // namespace croton::runtime::cuda
