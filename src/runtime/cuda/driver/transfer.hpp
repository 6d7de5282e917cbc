// Copies between the host and devices, within a device and between devices: work of a stream, like launches. Device
// memory has an address; it must be usable in that stream (see Buffer). Copies of 0 bytes do nothing.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <span>

#include "runtime/cuda/driver/memory.hpp"

namespace croton::runtime::cuda {

/// Copies from any host memory, which may change as soon as this returns.
void copy_in(const Stream& stream, void* to, std::span<const std::byte> from, Where where = {});
/// The same for a stream that has only copies, which run ahead of other work of the device.
void copy_ahead(const Stream& stream, void* to, std::span<const std::byte> from, Where where = {});
/// Copies to any host memory. Waits for the data, and so for all work of the stream so far; raises errors of kernels.
void copy_out(const Stream& stream, std::span<std::byte> to, const void* from, Where where = {});

/// Copies from and to pinned memory, without waiting: `pinned` may change, or be read, after an event of the stream.
void start_copy_in(const Stream& stream, void* to, const PinnedMemory& pinned, std::size_t offset, std::size_t bytes,
                   Where where = {});
void start_copy_out(const Stream& stream, PinnedMemory& pinned, std::size_t offset, const void* from, std::size_t bytes,
                    Where where = {});

/// Copies within the device of the stream; the two ranges do not overlap.
void copy_within(const Stream& stream, void* to, const void* from, std::size_t bytes, Where where = {});
/// Copies from another device to the device of the stream: directly after enable_peer_access, else through the host.
void copy_peer(const Stream& stream, void* to, const Context& from_context, const void* from, std::size_t bytes,
               Where where = {});

/// Sets every byte to `value`.
void fill(const Stream& stream, void* to, unsigned char value, std::size_t bytes, Where where = {});

}  // namespace croton::runtime::cuda
