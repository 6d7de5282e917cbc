// The elements of an array of the host as bytes, for code that walks by strides.
#pragma once

#include <croton/array.hpp>

#include <cstddef>

namespace croton::base {

/// The first byte of the first element. DeviceError if the elements are on a device.
inline const std::byte* bytes_of(const Array& array) { return static_cast<const std::byte*>(array.raw()); }
/// The same, to write to; also ValueError if the array is read-only.
inline std::byte* writable_bytes_of(Array& array) { return static_cast<std::byte*>(array.raw()); }

}  // namespace croton::base
