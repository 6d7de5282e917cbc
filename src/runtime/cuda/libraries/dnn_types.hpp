// The types and numbers of cuDNN 9's interface that Croton uses (docs.nvidia.com/deeplearning/cudnn). None of its
// headers is needed to build Croton; if there is one, tests/unit/test_cudnn_header.cpp compares.
#pragma once

#include <array>
#include <cstddef>

#include "runtime/cuda/driver/driver_types.hpp"

namespace croton::runtime::cuda::dnn {

using Status = int;
struct HandleTag;
struct DescriptorTag;
using Handle = HandleTag*;
/// Of a tensor, of filters or of a convolution: the library has a type for each, with the same representation. A common
/// type gives its three routines a common type.
using Descriptor = DescriptorTag*;

/// An algorithm that the library suggests (cudnnConvolution...AlgoPerf_t).
struct Suggestion {
  int algorithm;
  Status state;
  float milliseconds;
  std::size_t workspace_bytes;
  int determinism;
  int math;
  std::array<int, 3> reserved;
};

namespace status {
inline constexpr Status success = 0, bad_parameter = 2000, not_supported = 3000, internal_error = 4000,
                        out_of_host_memory = 4003, out_of_device_memory = 4004, execution_failed = 5000;
/// Codes of a kind are between a multiple of 1000 and the next one.
constexpr Status kind_of(Status code) { return code / 1000 * 1000; }
}  // namespace status

inline constexpr int data_float32 = 0, data_float64 = 1;                // cudnnDataType_t
inline constexpr int channels_first = 0, channels_last = 1;             // cudnnTensorFormat_t
inline constexpr int mode_convolution = 0, mode_cross_correlation = 1;  // cudnnConvolutionMode_t
inline constexpr int non_deterministic = 0, deterministic = 1;          // cudnnDeterminism_t
/// cudnnMathType_t. The second and the third may round float32 operands, and so may the first as the choice of a
/// descriptor.
inline constexpr int math_default = 0, math_tensor = 1, math_tensor_convert = 2, math_fma = 3;
// cudnnConvolutionFwdAlgo_t, cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdFilterAlgo_t
inline constexpr int forward_implicit = 0, forward_implicit_precomputed = 1, forward_gemm = 2, forward_fft = 4,
                     backward_data_1 = 1, backward_filter_1 = 1;

}  // namespace croton::runtime::cuda::dnn
