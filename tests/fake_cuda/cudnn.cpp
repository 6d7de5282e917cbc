// A cuDNN whose convolutions are plain loops, executed in streams of the fake driver. It accepts as little as the real
// one may: tensors with one order of axes and without gaps, and sizes that agree.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <type_traits>

#include "fake_cuda/control.hpp"
#include "runtime/cuda/libraries/dnn_types.hpp"

using namespace croton::runtime::cuda;
using namespace croton::runtime::cuda::dnn;

namespace croton::runtime::cuda::dnn {

struct HandleTag {
  StreamHandle stream = nullptr;
};
struct DescriptorTag {
  enum class Kind { tensor, filter, convolution } kind = Kind::tensor;
  bool set = false;
  int type = 0, dims = 0, format = 0;
  std::array<long long, 5> sizes{1, 1, 1, 1, 1}, steps{};
  // of a convolution with dims - 2 axes
  std::array<long long, 3> pads{}, strides{1, 1, 1}, dilations{1, 1, 1};
  int mode = 0, math = math_default, groups = 1;
};

}  // namespace croton::runtime::cuda::dnn

namespace {

using Kind = DescriptorTag::Kind;
using Index = std::array<long long, 5>;

constexpr std::size_t workspace_wanted = 4096;

// The objects that were not destroyed.
template <class T>
std::set<T*>& all_of() {
  static auto& all = *new std::set<T*>;
  return all;
}

template <class T>
Status make(T** handle, const T& value = {}) {
  *handle = new T(value);
  all_of<T>().insert(*handle);
  fake_cuda::count_live("dnn", 1);
  return status::success;
}

template <class T>
Status destroy(T* handle) {
  if (all_of<T>().erase(handle) == 0) return status::bad_parameter;
  delete handle;
  fake_cuda::count_live("dnn", -1);
  return status::success;
}

Status destroy(Descriptor handle, Kind kind) {
  if (!all_of<DescriptorTag>().contains(handle) || handle->kind != kind) return status::bad_parameter;
  return destroy(handle);
}

Index packed(const DescriptorTag& d, bool last) {
  Index steps{};
  long long next = 1;
  const auto take = [&](int axis) {
    steps[static_cast<std::size_t>(axis)] = next;
    next *= d.sizes[static_cast<std::size_t>(axis)];
  };
  if (last) take(1);
  for (int axis = d.dims - 1; axis >= 2; --axis) take(axis);
  if (!last) take(1);
  take(0);
  return steps;
}

/// Gaps are permitted only between images.
bool is_packed(const DescriptorTag& d, bool last) {
  const Index steps = packed(d, last);
  if (d.steps[0] < steps[0]) return false;
  return std::equal(d.steps.begin() + 1, d.steps.begin() + d.dims, steps.begin() + 1);
}

std::size_t item(const DescriptorTag& d) { return d.type == data_float64 ? 8 : 4; }

std::size_t bytes_of(const DescriptorTag& d) {
  long long last = 0;
  for (std::size_t axis = 0; axis < 5; ++axis) last += (d.sizes[axis] - 1) * d.steps[axis];
  return static_cast<std::size_t>(last + 1) * item(d);
}

/// Calls `body` with every index below the sizes.
void for_each(const DescriptorTag& d, const std::function<void(const Index&)>& body) {
  Index at{};
  for (;;) {
    body(at);
    std::size_t axis = 5;
    while (axis-- > 0) {
      if (++at[axis] < d.sizes[axis]) break;
      at[axis] = 0;
    }
    if (axis > 4) return;
  }
}

long long place(const DescriptorTag& d, const Index& at) {
  long long sum = 0;
  for (std::size_t axis = 0; axis < 5; ++axis) sum += at[axis] * d.steps[axis];
  return sum;
}

/// A convolution with all its parts, by their roles.
struct Parts {
  DescriptorTag image, filter, answer, convolution;
};

Status check(const Parts& p) {
  const auto& [x, w, y, c] = p;
  if (x.kind != Kind::tensor || y.kind != Kind::tensor || w.kind != Kind::filter || c.kind != Kind::convolution)
    return status::bad_parameter;
  for (const DescriptorTag* d : {&x, &w, &y, &c}) {
    if (!d->set || d->type != c.type) return status::bad_parameter;
    if (d->dims != x.dims) return status::bad_parameter;
  }
  if (x.sizes[0] != y.sizes[0] || x.sizes[1] != w.sizes[1] * c.groups || y.sizes[1] != w.sizes[0] ||
      w.sizes[0] % c.groups != 0)
    return status::bad_parameter;
  for (std::size_t j = 0; j < static_cast<std::size_t>(x.dims) - 2; ++j) {
    const long long room = x.sizes[2 + j] + 2 * c.pads[j] - c.dilations[j] * (w.sizes[2 + j] - 1) - 1;
    if (room < 0 || y.sizes[2 + j] != room / c.strides[j] + 1) return status::bad_parameter;
  }
  const bool last = w.format == channels_last;
  if (last && (c.type == data_float64 || fake_cuda::setting("no_channels_last") != 0)) return status::not_supported;
  if (!is_packed(x, last) || !is_packed(y, last)) return status::not_supported;
  if (c.type == data_float32 && c.math != math_fma) return status::not_supported;  // because it might round
  return status::success;
}

template <class T>
void compute(const Parts& p, T* x, T* w, T* y, int result) {
  const DescriptorTag& c = p.convolution;
  const std::array<const DescriptorTag*, 3> all{&p.image, &p.filter, &p.answer};
  const std::array<T*, 3> data{x, w, y};
  const auto written = static_cast<std::size_t>(result);
  for_each(*all[written], [&](const Index& at) { data[written][place(*all[written], at)] = 0; });
  const long long channels = p.filter.sizes[1], results = p.filter.sizes[0] / c.groups;
  for_each(p.answer, [&](const Index& at) {
    for_each(p.filter, [&](const Index& tap) {
      if (tap[0] != at[1]) return;
      Index from{at[0], at[1] / results * channels + tap[1], 0, 0, 0};
      for (std::size_t j = 0; j < static_cast<std::size_t>(c.dims) - 2; ++j) {
        const long long r = c.mode == mode_convolution ? p.filter.sizes[2 + j] - 1 - tap[2 + j] : tap[2 + j];
        const long long h = c.strides[j] * at[2 + j] + c.dilations[j] * r - c.pads[j];
        if (h < 0 || h >= p.image.sizes[2 + j]) return;
        from[2 + j] = h;
      }
      T& image = x[place(p.image, from)];
      T& filter = w[place(p.filter, tap)];
      T& answer = y[place(p.answer, at)];
      if (result == 0)
        image += filter * answer;
      else if (result == 1)
        filter += image * answer;
      else
        answer += image * filter;
    });
  });
}

/// `result`: 0 the image, 1 the filter, 2 the answer. The fastest algorithms come first, regardless of preferences: one
/// with an arbitrary order of additions, one that is not available, one with transforms, one that rounds operands, one
/// with too much memory.
Status suggest(const Parts& parts, int result, int asked, int* found, Suggestion* suggestions) {
  if (const Status code = check(parts); code != status::success) return code;
  if (asked < 7) return status::bad_parameter;
  const int plain = 1, transform = result == 2 ? forward_fft : 2;
  suggestions[0] = {0, status::success, 1, 0, non_deterministic, math_fma, {}};
  suggestions[1] = {plain, status::not_supported, 1, 0, deterministic, math_fma, {}};
  suggestions[2] = {transform, status::success, 1, 0, deterministic, math_fma, {}};
  suggestions[3] = {plain, status::success, 1, 0, deterministic, math_tensor, {}};
  suggestions[4] = {plain, status::success, 1, 0, deterministic, math_tensor_convert, {}};
  // Two of the forward algorithms have deterministic sums.
  suggestions[5] = {result == 2 ? forward_gemm : transform, status::success, 1, 0, deterministic, math_fma, {}};
  suggestions[6] = {plain, status::success, 2, workspace_wanted, deterministic, math_fma, {}};
  *found = fake_cuda::setting("random_order_only") != 0 ? 5 : 7;
  return status::success;
}

Status measure(const Parts& parts, int result, int algorithm, std::size_t* bytes) {
  if (const Status code = check(parts); code != status::success) return code;
  *bytes = algorithm == 1 ? workspace_wanted : std::size_t{1} << 40;
  return result == 2 || algorithm == 1 ? status::success : status::not_supported;
}

Status run(Handle handle, const Parts& parts, int result, const void* alpha, const void* x, const void* w,
           const void* y, int algorithm, void* space, std::size_t bytes, const void* beta) {
  if (const Status code = check(parts); code != status::success) return code;
  const bool wide = parts.convolution.type == data_float64;
  const double one = wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double zero = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  if (one != 1 || zero != 0 || algorithm != 1) return status::bad_parameter;
  if (bytes < workspace_wanted || reinterpret_cast<std::uintptr_t>(space) % 256 != 0) return status::bad_parameter;
  const bool put = fake_cuda::enqueue(handle->stream, [=] {
    const std::array<const void*, 3> data{x, w, y};
    const std::array<const DescriptorTag*, 3> all{&parts.image, &parts.filter, &parts.answer};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!fake_cuda::require_device_memory(data[i], bytes_of(*all[i]), "a convolution")) return;
    }
    if (!fake_cuda::require_device_memory(space, bytes, "the workspace of a convolution")) return;
    std::memset(space, 0xee, bytes);
    const auto as = [&]<class T>(T*) {
      compute<T>(parts, static_cast<T*>(const_cast<void*>(x)), static_cast<T*>(const_cast<void*>(w)),
                 static_cast<T*>(const_cast<void*>(y)), result);
    };
    if (wide)
      as(static_cast<double*>(nullptr));
    else
      as(static_cast<float*>(nullptr));
  });
  return put ? status::success : status::bad_parameter;
}

}  // namespace

#define ENTRY(name, ...)                                               \
  static const fake_cuda::Registration register_##name("cudnn" #name); \
  extern "C" Status cudnn##name(__VA_ARGS__) {                         \
    if (const int wanted = fake_cuda::enter("cudnn" #name); wanted != 0) return wanted;

// clang-format off
static const fake_cuda::Registration register_GetVersion("cudnnGetVersion");
static const fake_cuda::Registration register_GetErrorString("cudnnGetErrorString");
extern "C" std::size_t cudnnGetVersion() { return 91900; }
extern "C" const char* cudnnGetErrorString(Status code) {
  switch (code) {
    case status::out_of_host_memory: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case status::out_of_device_memory: return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case status::not_supported: return "CUDNN_STATUS_NOT_SUPPORTED";
    default: return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}

ENTRY(Create, Handle* handle) return make(handle); }
ENTRY(Destroy, Handle handle) return destroy(handle); }
ENTRY(SetStream, Handle handle, StreamHandle stream)
  if (!fake_cuda::enqueue(stream, [] {})) return status::bad_parameter;  // the stream does not exist
  handle->stream = stream;
  return status::success;
}

ENTRY(CreateTensorDescriptor, Descriptor* handle) return make(handle, {.kind = Kind::tensor}); }
ENTRY(CreateFilterDescriptor, Descriptor* handle) return make(handle, {.kind = Kind::filter}); }
ENTRY(CreateConvolutionDescriptor, Descriptor* handle) return make(handle, {.kind = Kind::convolution}); }
ENTRY(DestroyTensorDescriptor, Descriptor handle) return destroy(handle, Kind::tensor); }
ENTRY(DestroyFilterDescriptor, Descriptor handle) return destroy(handle, Kind::filter); }
ENTRY(DestroyConvolutionDescriptor, Descriptor handle) return destroy(handle, Kind::convolution); }

ENTRY(SetTensorNdDescriptor, Descriptor handle, int type, int dims, const int* sizes, const int* steps)
  if (handle->kind != Kind::tensor || dims < 4 || dims > 5 || type < 0 || type > 1) return status::bad_parameter;
  *handle = {.kind = Kind::tensor, .set = true, .type = type, .dims = dims};
  for (int axis = 0; axis < dims; ++axis) {
    if (sizes[axis] < 1 || steps[axis] < 1) return status::bad_parameter;
    handle->sizes[static_cast<std::size_t>(axis)] = sizes[axis];
    handle->steps[static_cast<std::size_t>(axis)] = steps[axis];
  }
  return status::success;
}
ENTRY(SetFilterNdDescriptor, Descriptor handle, int type, int format, int dims, const int* sizes)
  if (handle->kind != Kind::filter || dims < 4 || dims > 5 || type < 0 || type > 1) return status::bad_parameter;
  if (format != channels_first && format != channels_last) return status::bad_parameter;
  *handle = {.kind = Kind::filter, .set = true, .type = type, .dims = dims, .format = format};
  for (int axis = 0; axis < dims; ++axis) {
    if (sizes[axis] < 1) return status::bad_parameter;
    handle->sizes[static_cast<std::size_t>(axis)] = sizes[axis];
  }
  handle->steps = packed(*handle, format == channels_last);
  return status::success;
}
ENTRY(SetConvolutionNdDescriptor, Descriptor handle, int axes, const int* pads, const int* strides, const int* dilations, int mode, int type)
  if (handle->kind != Kind::convolution || axes < 2 || axes > 3 || (mode != mode_convolution && mode != mode_cross_correlation)) return status::bad_parameter;
  *handle = {.kind = Kind::convolution, .set = true, .type = type, .dims = axes + 2, .mode = mode};
  for (int j = 0; j < axes; ++j) {
    if (pads[j] < 0 || strides[j] < 1 || dilations[j] < 1) return status::bad_parameter;
    handle->pads[static_cast<std::size_t>(j)] = pads[j];
    handle->strides[static_cast<std::size_t>(j)] = strides[j];
    handle->dilations[static_cast<std::size_t>(j)] = dilations[j];
  }
  return status::success;
}
ENTRY(SetConvolutionMathType, Descriptor handle, int math)
  if (!handle->set || math < math_default || math > math_fma) return status::bad_parameter;
  handle->math = math;
  return status::success;
}
ENTRY(SetConvolutionGroupCount, Descriptor handle, int groups)
  if (!handle->set || groups < 1) return status::bad_parameter;
  handle->groups = groups;
  return status::success;
}

ENTRY(TransformTensor, Handle handle, const void* alpha, Descriptor from_form, const void* from, const void* beta, Descriptor to_form, void* to)
  const DescriptorTag f = *from_form, t = *to_form;
  if (f.kind != Kind::tensor || t.kind != Kind::tensor || !f.set || !t.set || f.type != t.type || f.sizes != t.sizes) return status::bad_parameter;
  const bool wide = f.type == data_float64;
  if ((wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha)) != 1 ||
      (wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta)) != 0) return status::bad_parameter;
  const bool put = fake_cuda::enqueue(handle->stream, [=] {
    if (!fake_cuda::require_device_memory(from, bytes_of(f), "cudnnTransformTensor") ||
        !fake_cuda::require_device_memory(to, bytes_of(t), "cudnnTransformTensor")) return;
    const auto size = static_cast<long long>(item(f));
    for_each(f, [&](const Index& at) {
      std::memcpy(static_cast<char*>(to) + place(t, at) * size, static_cast<const char*>(from) + place(f, at) * size, item(f));
    });
  });
  return put ? status::success : status::bad_parameter;
}

ENTRY(GetConvolutionForwardAlgorithm_v7, Handle, Descriptor x, Descriptor w, Descriptor c, Descriptor y, int asked, int* found, Suggestion* suggestions)
  return suggest({*x, *w, *y, *c}, 2, asked, found, suggestions);
}
ENTRY(GetConvolutionBackwardDataAlgorithm_v7, Handle, Descriptor w, Descriptor y, Descriptor c, Descriptor x, int asked, int* found, Suggestion* suggestions)
  return suggest({*x, *w, *y, *c}, 0, asked, found, suggestions);
}
ENTRY(GetConvolutionBackwardFilterAlgorithm_v7, Handle, Descriptor x, Descriptor y, Descriptor c, Descriptor w, int asked, int* found, Suggestion* suggestions)
  return suggest({*x, *w, *y, *c}, 1, asked, found, suggestions);
}
ENTRY(GetConvolutionForwardWorkspaceSize, Handle, Descriptor x, Descriptor w, Descriptor c, Descriptor y, int algorithm, std::size_t* bytes)
  return measure({*x, *w, *y, *c}, 2, algorithm, bytes);
}
ENTRY(GetConvolutionBackwardDataWorkspaceSize, Handle, Descriptor w, Descriptor y, Descriptor c, Descriptor x, int algorithm, std::size_t* bytes)
  return measure({*x, *w, *y, *c}, 0, algorithm, bytes);
}
ENTRY(GetConvolutionBackwardFilterWorkspaceSize, Handle, Descriptor x, Descriptor y, Descriptor c, Descriptor w, int algorithm, std::size_t* bytes)
  return measure({*x, *w, *y, *c}, 1, algorithm, bytes);
}
ENTRY(ConvolutionForward, Handle handle, const void* alpha, Descriptor x, const void* x_at, Descriptor w, const void* w_at, Descriptor c, int algorithm, void* space, std::size_t bytes, const void* beta, Descriptor y, void* y_at)
  return run(handle, {*x, *w, *y, *c}, 2, alpha, x_at, w_at, y_at, algorithm, space, bytes, beta);
}
ENTRY(ConvolutionBackwardData, Handle handle, const void* alpha, Descriptor w, const void* w_at, Descriptor y, const void* y_at, Descriptor c, int algorithm, void* space, std::size_t bytes, const void* beta, Descriptor x, void* x_at)
  return run(handle, {*x, *w, *y, *c}, 0, alpha, x_at, w_at, y_at, algorithm, space, bytes, beta);
}
ENTRY(ConvolutionBackwardFilter, Handle handle, const void* alpha, Descriptor x, const void* x_at, Descriptor y, const void* y_at, Descriptor c, int algorithm, void* space, std::size_t bytes, const void* beta, Descriptor w, void* w_at)
  return run(handle, {*x, *w, *y, *c}, 1, alpha, x_at, w_at, y_at, algorithm, space, bytes, beta);
}
// clang-format on

// The table of src/ and these functions have the same types.
#define CROTON_CUDNN_ENTRY(name, result, ...) static_assert(std::is_same_v<decltype(cudnn##name), result(__VA_ARGS__)>);
#include "runtime/cuda/libraries/dnn_entries.def"
#undef CROTON_CUDNN_ENTRY
