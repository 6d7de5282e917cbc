// Arrays in the memory of a device, or of the host, which is null.
#pragma once

#include <croton/array.hpp>

#include "runtime/device/device.hpp"

namespace croton::runtime {

inline char* address_of(const Array& array) { return static_cast<char*>(array.address()); }

inline Array empty_array(Device* device, DType dtype, const Sizes& shape) {
  return device != nullptr ? Array::empty_on(*device, dtype, shape) : Array::empty(dtype, shape);
}

/// A copy in the memory of `to`.
inline Array copied_to(Device* to, Device* from, const Array& value) {
  const Array whole = from == nullptr ? value.contiguous() : value;
  Array result = empty_array(to, value.dtype(), value.shape());
  copy_between(to, address_of(result), from, address_of(whole), value.bytes());
  return result;
}

}  // namespace croton::runtime
