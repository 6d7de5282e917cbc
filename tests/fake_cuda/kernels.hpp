// The kernels of the fake device: host functions by name. Their parameters are those of generated kernels, one struct
// of 8-byte values and the number of points.
#pragma once

#include <functional>
#include <string>

namespace fake_cuda {

/// A launch with its parameters; false: the kernel used an illegal address.
using HostKernel = std::function<bool()>;

/// Copies the parameters, as a launch does. Empty for an unknown name.
///   scale  {float* x, double factor}: x[i] *= factor for all points
///   add    {float* to, float* from}: to[i] += from[i]
///   sum    {float* x, int64 n}: x[0] becomes the sum; takes no points
///   wild   {}: follows an illegal address
HostKernel host_kernel(const std::string& name, void** arguments);

}  // namespace fake_cuda
