// Handwritten kernels, after the prelude of generated ones.
#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/module.hpp"
#include "smoke.hpp"

namespace croton::smoke {

/// The kernel `name` of `text`, for the device.
runtime::cuda::Kernel own_kernel(const std::shared_ptr<runtime::cuda::Context>& context, const std::string& text,
                                 const std::string& name);

/// Launches a kernel with a fault that a sanitizer must find: "memory" (a write after the end of a buffer) or "race"
/// (shared memory that is read without a barrier). Its name is like those of generated kernels.
void plant(const Machine& machine, const std::string& fault);

}  // namespace croton::smoke
