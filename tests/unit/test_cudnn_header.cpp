// Croton's own declarations of cuDNN's functions, compared with cuDNN's headers. This file is compiled if they are
// installed; headers of another version than 9 do not describe the loaded library.
#include <cudnn.h>

#if CUDNN_MAJOR == 9

#include <cstddef>
#include <type_traits>

#include "runtime/cuda/libraries/dnn_types.hpp"

namespace {

namespace dnn = croton::runtime::cuda::dnn;
using croton::runtime::cuda::StreamHandle;
using dnn::Descriptor;
using dnn::Handle;
using dnn::Status;
using dnn::Suggestion;

/// Whether both types are passed in the same way: all pointers, numbers of one size, enumerations like the int that
/// they are.
template <class Own, class Theirs>
constexpr bool alike = std::is_pointer_v<Own> ? std::is_pointer_v<Theirs>
                                              : !std::is_pointer_v<Theirs> && sizeof(Own) == sizeof(Theirs) &&
                                                    (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
template <class Own, class Theirs>
struct Alike;
template <class OwnResult, class... Own, class TheirResult, class... Theirs>
struct Alike<OwnResult(Own...), TheirResult(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Own) != sizeof...(Theirs))
      return false;
    else
      return alike<OwnResult, TheirResult> && (alike<Own, Theirs> && ...);
  }();
};
#define CROTON_CUDNN_ENTRY(name, result, ...) static_assert(Alike<result(__VA_ARGS__), decltype(cudnn##name)>::value);
#include "runtime/cuda/libraries/dnn_entries.def"
#undef CROTON_CUDNN_ENTRY

template <class Theirs>
constexpr bool same_suggestion =
    sizeof(Suggestion) == sizeof(Theirs) && offsetof(Suggestion, algorithm) == offsetof(Theirs, algo) &&
    offsetof(Suggestion, state) == offsetof(Theirs, status) &&
    offsetof(Suggestion, milliseconds) == offsetof(Theirs, time) &&
    offsetof(Suggestion, workspace_bytes) == offsetof(Theirs, memory) &&
    offsetof(Suggestion, determinism) == offsetof(Theirs, determinism) &&
    offsetof(Suggestion, math) == offsetof(Theirs, mathType);
static_assert(same_suggestion<cudnnConvolutionFwdAlgoPerf_t>);
static_assert(same_suggestion<cudnnConvolutionBwdDataAlgoPerf_t>);
static_assert(same_suggestion<cudnnConvolutionBwdFilterAlgoPerf_t>);

static_assert(dnn::status::success == CUDNN_STATUS_SUCCESS && dnn::status::bad_parameter == CUDNN_STATUS_BAD_PARAM &&
              dnn::status::not_supported == CUDNN_STATUS_NOT_SUPPORTED &&
              dnn::status::internal_error == CUDNN_STATUS_INTERNAL_ERROR &&
              dnn::status::out_of_host_memory == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED &&
              dnn::status::out_of_device_memory == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED &&
              dnn::status::execution_failed == CUDNN_STATUS_EXECUTION_FAILED &&
              dnn::status::kind_of(CUDNN_STATUS_EXECUTION_FAILED_CUDART) ==
                  CUDNN_STATUS_CATEGORY(CUDNN_STATUS_EXECUTION_FAILED_CUDART));
static_assert(dnn::data_float32 == CUDNN_DATA_FLOAT && dnn::data_float64 == CUDNN_DATA_DOUBLE);
static_assert(dnn::channels_first == CUDNN_TENSOR_NCHW && dnn::channels_last == CUDNN_TENSOR_NHWC);
static_assert(dnn::mode_convolution == CUDNN_CONVOLUTION && dnn::mode_cross_correlation == CUDNN_CROSS_CORRELATION);
static_assert(dnn::non_deterministic == CUDNN_NON_DETERMINISTIC && dnn::deterministic == CUDNN_DETERMINISTIC);
static_assert(dnn::math_default == CUDNN_DEFAULT_MATH && dnn::math_tensor == CUDNN_TENSOR_OP_MATH &&
              dnn::math_tensor_convert == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION && dnn::math_fma == CUDNN_FMA_MATH);
static_assert(dnn::forward_implicit == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM &&
              dnn::forward_implicit_precomputed == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
              dnn::forward_gemm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM &&
              dnn::forward_fft == CUDNN_CONVOLUTION_FWD_ALGO_FFT &&
              dnn::backward_data_1 == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 &&
              dnn::backward_filter_1 == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);

}  // namespace

#endif
