// A cuBLASLt whose products are plain loops over columns, executed in streams of the fake driver.
#include <cstring>
#include <set>
#include <type_traits>

#include "fake_cuda/control.hpp"
#include "runtime/cuda/libraries/blaslt_types.hpp"

using namespace croton::runtime::cuda;
using namespace croton::runtime::cuda::blaslt;

namespace croton::runtime::cuda::blaslt {

struct HandleTag {};
struct DescriptionTag {
  int compute = 0, scale = 0;
  bool transpose_a = false, transpose_b = false;
};
struct MatrixLayoutTag {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct PreferenceTag {
  std::uint64_t workspace = 0;
  std::uint32_t schemes = 7, alignment[4] = {256, 256, 256, 256};
};

}  // namespace croton::runtime::cuda::blaslt

namespace {

constexpr std::size_t workspace_wanted = 4096;

// The contents of an Algorithm of this library.
enum AlgorithmPart : std::size_t { split_k, scheme, alignment, workspace };

// The objects that were not destroyed.
template <class T>
std::set<T*>& all_of() {
  static auto& all = *new std::set<T*>;
  return all;
}

template <class T>
Status make(T** handle) {
  *handle = new T;
  all_of<T>().insert(*handle);
  fake_cuda::count_live("blaslt", 1);
  return status::success;
}

template <class T>
Status destroy(T* handle) {
  if (all_of<T>().erase(handle) == 0) return status::invalid_value;
  delete handle;
  fake_cuda::count_live("blaslt", -1);
  return status::success;
}

template <class T>
struct Operand {
  const T* data;
  std::uint64_t rows, columns, leading, batch, stride;
  bool transposed;
  T at(std::uint64_t row, std::uint64_t column) const {
    return transposed ? data[row * leading + column] : data[column * leading + row];
  }
  std::size_t bytes() const { return ((batch - 1) * stride + (columns - 1) * leading + rows) * sizeof(T); }
  Operand next(std::uint64_t number) const {
    Operand one = *this;
    one.data += number * stride;
    return one;
  }
};

template <class T>
Operand<T> operand(const void* data, const MatrixLayoutTag& layout, bool transposed) {
  return {static_cast<const T*>(data),
          layout.rows,
          layout.columns,
          static_cast<std::uint64_t>(layout.leading),
          static_cast<std::uint64_t>(layout.batch),
          static_cast<std::uint64_t>(layout.stride),
          transposed};
}

template <class T>
bool put_product(const DescriptionTag& description, const void* alpha_at, const void* a_at,
                 const MatrixLayoutTag& a_layout, const void* b_at, const MatrixLayoutTag& b_layout,
                 const void* beta_at, void* d_at, const MatrixLayoutTag& d_layout, StreamHandle stream) {
  const auto first = operand<T>(a_at, a_layout, description.transpose_a);
  const auto second = operand<T>(b_at, b_layout, description.transpose_b);
  const auto result = operand<T>(d_at, d_layout, false);
  const T alpha = *static_cast<const T*>(alpha_at), beta = *static_cast<const T*>(beta_at);
  const std::uint64_t depth = first.transposed ? first.rows : first.columns;
  return fake_cuda::enqueue(stream, [=] {
    for (const Operand<T>& one : {first, second, result}) {
      if (!fake_cuda::require_device_memory(one.data, one.bytes(), "cublasLtMatmul")) return;
    }
    for (std::uint64_t number = 0; number < result.batch; ++number) {
      const Operand<T> a = first.next(number), b = second.next(number), d = result.next(number);
      for (std::uint64_t column = 0; column < d.columns; ++column) {
        for (std::uint64_t row = 0; row < d.rows; ++row) {
          T sum = 0;
          for (std::uint64_t i = 0; i < depth; ++i) sum += a.at(row, i) * b.at(i, column);
          T& out = const_cast<T*>(d.data)[column * d.leading + row];
          out = beta == 0 ? alpha * sum : alpha * sum + beta * out;
        }
      }
    }
  });
}

bool aligned(const void* at, std::uint64_t bytes) { return reinterpret_cast<std::uintptr_t>(at) % bytes == 0; }

}  // namespace

#define ENTRY(name, ...)                                                  \
  static const fake_cuda::Registration register_##name("cublasLt" #name); \
  extern "C" Status cublasLt##name(__VA_ARGS__) {                         \
    if (const int wanted = fake_cuda::enter("cublasLt" #name); wanted != 0) return wanted;

// clang-format off
static const fake_cuda::Registration register_GetVersion("cublasLtGetVersion");
static const fake_cuda::Registration register_GetStatusName("cublasLtGetStatusName");
static const fake_cuda::Registration register_GetStatusString("cublasLtGetStatusString");
extern "C" std::size_t cublasLtGetVersion() { return 130002; }
extern "C" const char* cublasLtGetStatusName(Status code) {
  return code == status::out_of_memory ? "CUBLAS_STATUS_ALLOC_FAILED"
         : code == status::not_supported ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_EXECUTION_FAILED";
}
extern "C" const char* cublasLtGetStatusString(Status code) {
  return code == status::out_of_memory ? "the resource allocation failed" : "the function failed";
}

ENTRY(Create, Handle* handle) return make(handle); }
ENTRY(Destroy, Handle handle) return destroy(handle); }

ENTRY(MatmulDescCreate, Description* handle, int compute, int scale)
  make(handle);
  (*handle)->compute = compute;
  (*handle)->scale = scale;
  return status::success;
}
ENTRY(MatmulDescDestroy, Description handle) return destroy(handle); }

ENTRY(MatmulDescSetAttribute, Description handle, int which, const void* value, std::size_t bytes)
  std::int32_t operation = 0;
  if (bytes != sizeof operation) return status::invalid_value;
  std::memcpy(&operation, value, bytes);
  if (which == description_transpose_a) handle->transpose_a = operation == transpose;
  else if (which == description_transpose_b) handle->transpose_b = operation == transpose;
  else return status::invalid_value;
  return status::success;
}

ENTRY(MatrixLayoutCreate, MatrixLayout* handle, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading)
  if (rows == 0 || columns == 0 || leading < static_cast<std::int64_t>(rows)) return status::invalid_value;
  make(handle);
  **handle = {type, rows, columns, leading, 1, 0};
  return status::success;
}
ENTRY(MatrixLayoutSetAttribute, MatrixLayout handle, int which, const void* value, std::size_t bytes)
  if (which == layout_batch_count && bytes == sizeof handle->batch) std::memcpy(&handle->batch, value, bytes);
  else if (which == layout_batch_stride && bytes == sizeof handle->stride) std::memcpy(&handle->stride, value, bytes);
  else return status::invalid_value;
  return handle->batch >= 1 ? status::success : status::invalid_value;
}
ENTRY(MatrixLayoutDestroy, MatrixLayout handle) return destroy(handle); }

ENTRY(MatmulPreferenceCreate, Preference* handle) return make(handle); }
ENTRY(MatmulPreferenceDestroy, Preference handle) return destroy(handle); }

ENTRY(MatmulPreferenceSetAttribute, Preference handle, int which, const void* value, std::size_t bytes)
  if (which == preference_workspace_bytes && bytes == 8) std::memcpy(&handle->workspace, value, 8);
  else if (which == preference_reduction_schemes && bytes == 4) std::memcpy(&handle->schemes, value, 4);
  else if (which >= preference_alignment_a && which < preference_alignment_a + 4 && bytes == 4)
    std::memcpy(&handle->alignment[which - preference_alignment_a], value, 4);
  else return status::invalid_value;
  return status::success;
}

// The candidates are a fast one that splits k, which comes first regardless of preferences; one that failed; and a
// plain one.
ENTRY(MatmulAlgoGetHeuristic, Handle, Description description, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d, Preference preference, int asked, Candidate* candidates, int* found)
  const std::uint64_t a_rows = description->transpose_a ? a->columns : a->rows;
  const std::uint64_t a_columns = description->transpose_a ? a->rows : a->columns;
  const std::uint64_t b_rows = description->transpose_b ? b->columns : b->rows;
  const std::uint64_t b_columns = description->transpose_b ? b->rows : b->columns;
  const bool wide = description->compute == compute_float64;
  const int type = wide ? data_float64 : data_float32;
  if (asked < 3 || c != d || a_rows != d->rows || b_columns != d->columns || a_columns != b_rows || a->batch != d->batch || b->batch != d->batch || a->type != type ||
      b->type != type || d->type != type || description->scale != type) return status::invalid_value;
  candidates[0] = {{{4, 2, 16, workspace_wanted}}, workspace_wanted, status::success, 1, {}};
  candidates[1] = {{{1, 0, 16, 0}}, 0, status::not_supported, 1, {}};
  candidates[2] = {{{1, 0, preference->alignment[0], workspace_wanted}}, workspace_wanted, status::success, 2, {}};
  *found = fake_cuda::setting("split_k_only") != 0 ? 2 : 3;
  return preference->workspace >= workspace_wanted ? status::success : status::not_supported;
}

ENTRY(MatmulAlgoConfigGetAttribute, const Algorithm* algorithm, int which, void* value, std::size_t bytes, std::size_t* written)
  if (bytes != 4 || (which != config_split_k && which != config_reduction_scheme)) return status::invalid_value;
  const auto number = static_cast<std::uint32_t>(algorithm->data[which == config_split_k ? split_k : scheme]);
  std::memcpy(value, &number, *written = 4);
  return status::success;
}

ENTRY(Matmul, Handle, Description description, const void* alpha, const void* a, MatrixLayout a_layout, const void* b, MatrixLayout b_layout, const void* beta, const void* c, MatrixLayout c_layout, void* d, MatrixLayout d_layout, const Algorithm* algorithm, void* space, std::size_t space_bytes, StreamHandle stream)
  if (c != d || c_layout != d_layout || algorithm->data[split_k] != 1) return status::invalid_value;
  if (space_bytes < algorithm->data[workspace] || !aligned(space, 256)) return status::invalid_value;
  for (const void* pointer : {a, b, c})
    if (!aligned(pointer, algorithm->data[alignment])) return status::invalid_value;
  if (!fake_cuda::enqueue(stream, [=] { if (fake_cuda::require_device_memory(space, space_bytes, "workspace")) std::memset(space, 0xee, space_bytes); }))
    return status::invalid_value;
  const auto put = description->compute == compute_float64 ? put_product<double> : put_product<float>;
  put(*description, alpha, a, *a_layout, b, *b_layout, beta, d, *d_layout, stream);
  return status::success;
}
// clang-format on

// The table of src/ and these functions have the same types.
#define CROTON_CUBLASLT_ENTRY(name, result, ...) \
  static_assert(std::is_same_v<decltype(cublasLt##name), result(__VA_ARGS__)>);
#include "runtime/cuda/libraries/blaslt_entries.def"
#undef CROTON_CUBLASLT_ENTRY
