// The types and numbers of cuBLASLt's interface that Croton uses (docs.nvidia.com/cuda/cublas). No CUDA header is
// needed to build Croton.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/cuda/driver/driver_types.hpp"

namespace croton::runtime::cuda::blaslt {

using Status = int;
struct HandleTag;
struct DescriptionTag;
struct MatrixLayoutTag;
struct PreferenceTag;
using Handle = HandleTag*;
using Description = DescriptionTag*;
using MatrixLayout = MatrixLayoutTag*;
using Preference = PreferenceTag*;

/// An algorithm of the library for a product; opaque, and may be copied.
struct Algorithm {
  std::array<std::uint64_t, 8> data;
};

struct Candidate {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  std::array<int, 4> reserved;
};

namespace status {
inline constexpr Status success = 0, not_initialized = 1, out_of_memory = 3, invalid_value = 7, arch_mismatch = 8,
                        execution_failed = 13, internal_error = 14, not_supported = 15;
}  // namespace status

inline constexpr int data_float32 = 0, data_float64 = 1;                             // cudaDataType
inline constexpr int compute_float32 = 68, compute_float64 = 70, compute_tf32 = 77;  // cublasComputeType_t
inline constexpr int description_transpose_a = 3, description_transpose_b = 4;
inline constexpr std::int32_t transpose = 1;  // cublasOperation_t
inline constexpr int layout_batch_count = 5, layout_batch_stride = 6;
inline constexpr int preference_workspace_bytes = 1, preference_reduction_schemes = 3, preference_alignment_a = 5;
inline constexpr int config_split_k = 2, config_reduction_scheme = 3;

}  // namespace croton::runtime::cuda::blaslt
