#include "runtime/cuda/libraries/blaslt.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/rounding.hpp"
#include "base/shape.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/libraries/blaslt_types.hpp"
#include "runtime/cuda/toolkit/found_library.hpp"
#include "runtime/device/elements.hpp"

namespace croton::runtime::cuda {
namespace {

using namespace blaslt;

constexpr std::size_t max_workspace = std::size_t{32} << 20;  // as NVIDIA advises for Hopper
constexpr std::size_t max_choices = 4096;
constexpr std::uint32_t vector_bytes = 16;  // the alignment for fast kernels
constexpr std::size_t memory_alignment = 256;
constexpr int candidates_asked = 8;

template <class Result, class... Types>
struct LibraryEntry {
  const char* name = nullptr;
  Result (*function)(Types...) = nullptr;
};

}  // namespace

struct BlasLt::Library {
  std::shared_ptr<SharedLibrary> library;

#define CROTON_CUBLASLT_ENTRY(name, result, ...) LibraryEntry<result __VA_OPT__(, ) __VA_ARGS__> name;
#include "runtime/cuda/libraries/blaslt_entries.def"
#undef CROTON_CUBLASLT_ENTRY

  explicit Library(std::shared_ptr<SharedLibrary> loaded) : library(std::move(loaded)) {
#define CROTON_CUBLASLT_ENTRY(name, result, ...) \
  name = {"cublasLt" #name, library->function<result(__VA_ARGS__)>("cublasLt" #name)};
#include "runtime/cuda/libraries/blaslt_entries.def"
#undef CROTON_CUBLASLT_ENTRY
  }

  std::string version() const {
    const std::size_t number = GetVersion.function();  // 130002: 13.0.2
    return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
  }
};

LibraryBySettings<BlasLt::Library>& BlasLt::libraries() {
  static auto& libraries = *new LibraryBySettings<Library>(
      {.part = ToolkitPart::blaslt,
       .name = "cuBLASLt",
       .purpose = "matrix products on NVIDIA GPUs",
       .files = {"libcublasLt.so.13", "libcublasLt.so.12"},
       .package = "the CUDA toolkit (Debian and Ubuntu: libcublas-13-0), or from PyPI: pip install nvidia-cublas"});
  return libraries;
}

const BlasLt::Library& BlasLt::library() { return libraries().get(); }

bool BlasLt::available(std::string* why) try {
  library();
  return true;
} catch (const DeviceError& error) {
  if (why != nullptr) *why = error.what();
  return false;
}

/// Everything that the choice of an algorithm depends on.
struct BlasLt::Key {
  DType dtype;
  bool transpose_a, transpose_b, aligned;
  Precision precision;
  std::int64_t m, n, k, lda, ldb, ldc;
  std::int64_t batch, stride_a, stride_b, stride_c;  // strides are 0 for a single product

  bool operator==(const Key&) const = default;
};

/// The library's descriptions of a product, and its algorithm. They do not change after their construction, so that
/// several threads may use them.
struct BlasLt::Choice {
  explicit Choice(const Library& owner) : library(owner) {}
  ~Choice() {
    if (description != nullptr) library.MatmulDescDestroy.function(description);
    for (const MatrixLayout layout : {first, second, result}) {
      if (layout != nullptr) library.MatrixLayoutDestroy.function(layout);
    }
  }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  const Library& library;
  Description description = nullptr;
  MatrixLayout first = nullptr, second = nullptr, result = nullptr;
  Algorithm algorithm{};
  std::size_t workspace_bytes = 0;
};

struct BlasLt::Choices {
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = std::hash<DType>{}(key.dtype);
      for (const bool flag : {key.transpose_a, key.transpose_b, key.aligned, key.precision == Precision::tf32})
        hash = hash << 1 | std::uint64_t{flag};
      for (const std::int64_t number :
           {key.m, key.n, key.k, key.lda, key.ldb, key.ldc, key.batch, key.stride_a, key.stride_b, key.stride_c}) {
        hash = base::hash_combine(hash, std::hash<std::int64_t>{}(number));
      }
      return hash;
    }
  };

  std::mutex mutex;
  std::unordered_map<Key, std::shared_ptr<const Choice>, KeyHash> by_key;
};

/// A product as the library gets it.
struct BlasLt::Form {
  MatrixProduct product;
  std::size_t zero_bytes = 0;  // of a vector of zeros that replaces A and B

  bool empty() const { return product.m == 0 || product.n == 0 || product.batch == 0; }
  Key key(bool aligned, Precision precision) const {
    const MatrixProduct& p = product;
    const auto stride = [&](std::int64_t elements) { return p.batch > 1 ? elements : 0; };
    return {p.dtype,
            p.transpose_a,
            p.transpose_b,
            aligned,
            precision,
            p.m,
            p.n,
            p.k,
            p.lda,
            p.ldb,
            p.ldc,
            p.batch,
            stride(p.stride_a),
            stride(p.stride_b),
            stride(p.stride_c)};
  }
};

namespace {

/// A leading dimension of at least the row's length, even for a single row, which does not use it.
std::int64_t valid_leading(std::int64_t leading, std::int64_t rows, std::int64_t columns) {
  return rows <= 1 ? std::max<std::int64_t>(columns, 1) : leading;
}

void require_valid(const MatrixProduct& p) {
  const bool dtype = p.dtype == DType::float32 || p.dtype == DType::float64;
  const bool sizes = p.m >= 0 && p.n >= 0 && p.k >= 0;
  const bool rows = p.lda >= (p.transpose_a ? p.m : p.k) && p.ldb >= (p.transpose_b ? p.k : p.n) && p.ldc >= p.n;
  if (!dtype || !sizes || !rows) {
    throw InternalError(fmt::format("a product of {} with m={} n={} k={} lda={} ldb={} ldc={}", name_of(p.dtype), p.m,
                                    p.n, p.k, p.lda, p.ldb, p.ldc));
  }
}

std::string text_of(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return fmt::format("for the {} product of [{}, {}] and [{}, {}]", name_of(dtype), m, k, k, n);
}

bool is_aligned(const MatrixProduct& p) {
  const std::int64_t strides = p.batch > 1 ? (p.stride_a | p.stride_b | p.stride_c) * base::element_size(p.dtype) : 0;
  return (pointer_of(p.a) | pointer_of(p.b) | pointer_of(p.c)) % vector_bytes == 0 && strides % vector_bytes == 0;
}

}  // namespace

BlasLt::Form BlasLt::form_of(const MatrixProduct& given) {
  MatrixProduct p = given;
  p.lda = valid_leading(p.lda, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k);
  p.ldb = valid_leading(p.ldb, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n);
  p.ldc = valid_leading(p.ldc, p.m, p.n);
  require_valid(p);
  Form form{p};
  if (form.empty() || (p.k != 0 && p.alpha != 0)) return form;
  // A and B must not be read, which the library does not promise: a product of zeros in their place gives beta C.
  form.product.alpha = 0;
  form.product.transpose_a = form.product.transpose_b = false;
  form.product.k = form.product.lda = 1;
  form.product.stride_a = form.product.stride_b = 0;
  form.product.ldb = p.n;
  form.zero_bytes = base::round_up(size_in_bytes(p.dtype, std::max(p.m, p.n)), memory_alignment);
  return form;
}

BlasLt::BlasLt(std::shared_ptr<Context> context, Where where)
    : context_(std::move(context)), library_(library()), choices_(std::make_unique<Choices>()) {
  context_->enter(library_.Create.name, where);
  check(library_.Create.function(&handle_), library_.Create.name, "", where);
}

BlasLt::~BlasLt() {
  choices_.reset();
  context_->driver().cuCtxSetCurrent.function(context_->handle());  // the library frees memory of the device
  library_.Destroy.function(handle_);
}

FoundPart BlasLt::found() {
  const Library& found = library();
  return {found.version(), found.library->path(), libraries().place()};
}

std::string BlasLt::installed() {
  const FoundPart part = found();
  return fmt::format("{} at {}", part.version, part.path.string());
}

std::string BlasLt::name() const { return "cuBLASLt " + library_.version(); }

void BlasLt::check(int code, const char* call, const std::string& what, Where where) {
  if (code == status::success) return;
  if (code == status::execution_failed || code == status::internal_error) {
    // If the device is lost, that is the error to report.
    const Result state = context_->attempt(context_->driver().cuCtxSynchronize, where);
    if (loses_device(state)) context_->check(state, call, where);
  }
  const std::string message =
      fmt::format("{} failed on {}{}{}: {} ({}); the library is {} at {}", call_and_line(call, where),
                  context_->title(), what.empty() ? "" : " ", what, library_.GetStatusName.function(code),
                  library_.GetStatusString.function(code), name(), library_.library->path().string());
  if (code == status::out_of_memory) throw OutOfMemory(message);
  throw DeviceError(message);
}

std::shared_ptr<const BlasLt::Choice> BlasLt::choose(const Key& key, Where where) {
  const std::lock_guard lock(choices_->mutex);
  auto& by_key = choices_->by_key;
  if (const auto found = by_key.find(key); found != by_key.end()) return found->second;
  if (by_key.size() >= max_choices) by_key.clear();  // the program has ever new sizes; new choices are cheap
  auto choice = make_choice(key, where);
  by_key.emplace(key, choice);
  return choice;
}

// The library stores matrices by columns. A matrix stored by rows is its transpose stored by columns, so the library
// computes C' = op(B)' op(A)': B comes first, and both keep their flags.
std::shared_ptr<const BlasLt::Choice> BlasLt::make_choice(const Key& key, Where where) {
  context_->enter(library_.MatmulAlgoGetHeuristic.name, where);
  const std::string what = text_of(key.dtype, key.m, key.n, key.k);
  const auto call = [&](const auto& entry, const auto&... arguments) {
    check(entry.function(arguments...), entry.name, what, where);
  };
  const bool wide = key.dtype == DType::float64;
  const int data = wide ? data_float64 : data_float32;
  const int compute = wide ? compute_float64 : key.precision == Precision::tf32 ? compute_tf32 : compute_float32;
  auto choice = std::make_shared<Choice>(library_);
  call(library_.MatmulDescCreate, &choice->description, compute, data);
  const auto set_transposed = [&](int which) {
    call(library_.MatmulDescSetAttribute, choice->description, which, &transpose, sizeof transpose);
  };
  if (key.transpose_b) set_transposed(description_transpose_a);
  if (key.transpose_a) set_transposed(description_transpose_b);
  const auto make_layout = [&](MatrixLayout* layout, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                               std::int64_t stride) {
    call(library_.MatrixLayoutCreate, layout, data, static_cast<std::uint64_t>(columns),
         static_cast<std::uint64_t>(rows), leading);
    if (key.batch == 1) return;
    const auto batch = static_cast<std::int32_t>(key.batch);
    call(library_.MatrixLayoutSetAttribute, *layout, layout_batch_count, &batch, sizeof batch);
    call(library_.MatrixLayoutSetAttribute, *layout, layout_batch_stride, &stride, sizeof stride);
  };
  make_layout(&choice->first, key.transpose_b ? key.n : key.k, key.transpose_b ? key.k : key.n, key.ldb, key.stride_b);
  make_layout(&choice->second, key.transpose_a ? key.k : key.m, key.transpose_a ? key.m : key.k, key.lda, key.stride_a);
  make_layout(&choice->result, key.m, key.n, key.ldc, key.stride_c);

  Preference preference = nullptr;
  call(library_.MatmulPreferenceCreate, &preference);
  const auto destroy = [&](Preference* p) { library_.MatmulPreferenceDestroy.function(*p); };
  const std::unique_ptr<Preference, decltype(destroy)> owner(&preference, destroy);
  const auto prefer = [&](int which, const auto& value) {
    call(library_.MatmulPreferenceSetAttribute, preference, which, &value, sizeof value);
  };
  prefer(preference_workspace_bytes, max_workspace);
  prefer(preference_reduction_schemes, std::uint32_t{0});  // none: in one sequence
  const std::uint32_t item_bytes = wide ? 8 : 4;
  for (int operand = 0; operand < 4; ++operand) {
    prefer(preference_alignment_a + operand, key.aligned ? vector_bytes : item_bytes);
  }

  std::array<Candidate, candidates_asked> candidates{};
  int found = 0;
  call(library_.MatmulAlgoGetHeuristic, handle_, choice->description, choice->first, choice->second, choice->result,
       choice->result, preference, candidates_asked, candidates.data(), &found);
  const auto number = [&](const Candidate& candidate, int which) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    call(library_.MatmulAlgoConfigGetAttribute, &candidate.algorithm, which, &value, sizeof value, &written);
    return value;
  };
  for (const Candidate& candidate : std::span(candidates.begin(), candidates.begin() + found)) {
    if (candidate.state != status::success || candidate.workspace_bytes > max_workspace) continue;
    // Requested above; if the library ignores that, the promise must still hold.
    if (number(candidate, config_split_k) > 1 || number(candidate, config_reduction_scheme) != 0) continue;
    choice->algorithm = candidate.algorithm;
    choice->workspace_bytes = candidate.workspace_bytes;
    return choice;
  }
  throw DeviceError(fmt::format("{} has no algorithm without split-K {}; it offers {} on {}",
                                call_and_line(library_.MatmulAlgoGetHeuristic.name, where), what, found,
                                context_->title()));
}

std::size_t BlasLt::workspace_bytes(const MatrixProduct& product, Precision precision, Where where) {
  const Form form = form_of(product);
  if (form.empty()) return 0;
  const std::size_t aligned = choose(form.key(true, precision), where)->workspace_bytes;
  return form.zero_bytes + std::max(aligned, choose(form.key(false, precision), where)->workspace_bytes);
}

void BlasLt::gemm(const Stream& stream, const MatrixProduct& given, std::byte* workspace, Precision precision,
                  Where where) {
  Form form = form_of(given);
  if (form.empty()) return;
  if (&stream.context() != context_.get()) throw InternalError("a product of one device in a stream of another");
  MatrixProduct& p = form.product;
  std::byte* free_workspace = workspace;
  if (form.zero_bytes > 0) {
    fill(stream, workspace, 0, form.zero_bytes, where);
    p.a = p.b = workspace;
    free_workspace += form.zero_bytes;
  }
  const auto choice = choose(form.key(is_aligned(p), precision), where);
  const TypedOperands<float> narrow(p);
  const void *alpha = &p.alpha, *beta = &p.beta;  // in the type of the product
  if (p.dtype == DType::float32) {
    alpha = &narrow.alpha;
    beta = &narrow.beta;
  }
  context_->enter(library_.Matmul.name, where);
  const Status code = library_.Matmul.function(
      handle_, choice->description, alpha, p.b, choice->first, p.a, choice->second, beta, p.c, choice->result, p.c,
      choice->result, &choice->algorithm, free_workspace, choice->workspace_bytes, stream.handle());
  if (code != status::success) check(code, library_.Matmul.name, text_of(p.dtype, p.m, p.n, p.k), where);
}

void BlasLt::gemm(const Stream& stream, const MatrixProduct& product, Precision precision, Where where) {
  // The order of the stream frees it after the product.
  const Buffer workspace(stream, workspace_bytes(product, precision, where), where);
  gemm(stream, product, workspace.data(), precision, where);
}

}  // namespace croton::runtime::cuda
