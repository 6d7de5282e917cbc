#include "fake_cuda/kernels.hpp"

#include <bit>
#include <cstdint>

#include "fake_cuda/control.hpp"

namespace fake_cuda {

HostKernel host_kernel(const std::string& name, void** arguments) {
  const auto* parameters = static_cast<const std::uint64_t*>(arguments[0]);
  const auto floats = [&](int i) { return reinterpret_cast<float*>(parameters[i]); };
  const auto usable = [](const float* x, std::int64_t n) {
    return require_device_memory(x, static_cast<std::size_t>(n) * sizeof(float), "kernel");
  };
  if (name == "wild") return [] { return false; };
  if (name == "scale") {
    return [=, x = floats(0), factor = std::bit_cast<double>(parameters[1]),
            n = *static_cast<const std::int64_t*>(arguments[1])] {
      if (!usable(x, n)) return false;
      for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(x[i] * factor);
      return true;
    };
  }
  if (name == "add") {
    return [=, to = floats(0), from = floats(1), n = *static_cast<const std::int64_t*>(arguments[1])] {
      if (!usable(to, n) || !usable(from, n)) return false;
      for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
      return true;
    };
  }
  if (name == "sum") {
    return [=, x = floats(0), n = static_cast<std::int64_t>(parameters[1])] {
      if (!usable(x, n)) return false;
      for (std::int64_t i = 1; i < n; ++i) x[0] += x[i];
      return true;
    };
  }
  return {};
}

}  // namespace fake_cuda
