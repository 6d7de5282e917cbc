#include "runtime/cpu/blas/blas.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <croton/error.hpp>

#include "base/checked.hpp"
#include "base/environment.hpp"
#include "base/rounding.hpp"
#include "runtime/cpu/blas/few_rows.hpp"
#include "runtime/cpu/blas/openblas.hpp"
#include "runtime/cpu/dnn/dnn.hpp"
#include "runtime/cpu/threads/threads.hpp"

namespace croton::runtime::cpu {
namespace {

constexpr const char* packages =
    "install libopenblas0-pthread (Debian, Ubuntu) or scipy-openblas32 (PyPI), "
    "or name a library with the CBLAS interface and 32-bit integers by the flag blas=PATH";

template <class Function>
Function symbol(void* library, const std::string& name) {
  return reinterpret_cast<Function>(dlsym(library, name.c_str()));
}

/// The libraries of the PyPI package scipy-openblas32: next to our own package, and in an active virtual environment.
std::vector<std::string> python_package_libraries() {
  std::vector<std::string> patterns, found;
  const std::string inside = "/scipy_openblas32/lib/libscipy_openblas*.so*";
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&python_package_libraries), &here) != 0 && here.dli_fname) {
    const std::string file = here.dli_fname;
    const auto slash = file.rfind('/');
    if (slash != std::string::npos)
      for (const char* up : {"/..", "/../.."}) patterns.push_back(file.substr(0, slash) + up + inside);
  }
  // Ignored in programs that run with more rights than their user.
  if (const char* environment = secure_getenv("VIRTUAL_ENV"); environment && environment[0] == '/')
    patterns.push_back(std::string(environment) + "/lib/python3*/site-packages" + inside);
  for (const auto& pattern : patterns) {
    glob_t matches{};
    if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
      found.insert(found.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    globfree(&matches);
  }
  return found;
}

std::vector<std::string> places(const std::string& choice) {
  if (choice != "auto") return {choice};
  // They are newer than those of most systems.
  std::vector<std::string> list = python_package_libraries();
  for (const char* name : {"libopenblas.so.0", "libscipy_openblas.so", "libmkl_rt.so.3", "libmkl_rt.so.2",
                           "libmkl_rt.so", "libblis.so.4", "libblis.so", "libcblas.so.3", "libblas.so.3"})
    list.emplace_back(name);
  return list;
}

}  // namespace

/// Fills a Blas from the first library that can be used.
struct BlasLoader {
  Blas blas;
  void* library = nullptr;
  std::string prefix;

  /// The chosen library; or none, and `missing` gets the reason.
  static Blas of(const std::string& wanted, std::string& missing);

  /// Returns the reason that the library cannot be used; empty if it can.
  std::string load(const std::string& place) {
    if (!open(place)) return dlerror();
    if (!ask_for_better_core(place)) return dlerror();
    std::string fault = prepare(place);
    if (!fault.empty()) {
      dlclose(library);
      blas = Blas();
    }
    return fault;
  }

 private:
  bool open(const std::string& place) {
    library = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL);
    return library != nullptr;
  }

  /// The core whose kernels OpenBLAS runs; empty for other libraries.
  std::string openblas_core() const {
    for (const char* candidate : {"", "scipy_"})
      if (auto core = symbol<const char* (*)()>(library, std::string(candidate) + "openblas_get_corename"))
        return core();
    return "";
  }

  /// If OpenBLAS runs kernels for an older processor and the user did not ask for them, loads it again and asks for
  /// better ones. It keeps its own if another part of the process had loaded it before, or if it has no others. Returns
  /// false if it cannot be loaded.
  bool ask_for_better_core(const std::string& place) {
    const std::string chosen = openblas_core();
    const std::string better = better_core(chosen, vector_width());
    if (better.empty() || base::environment("OPENBLAS_CORETYPE")) return true;
    const WithVariable asked("OPENBLAS_CORETYPE=" + better);
    dlclose(library);
    if (!open(place)) return false;
    if (openblas_core() != chosen) blas.detected_core_ = chosen;
    return true;
  }

  std::string prepare(const std::string& place) {
    for (const char* candidate : {"", "scipy_"}) {
      prefix = candidate;
      blas.sgemm_ = symbol<Blas::Sgemm>(library, prefix + "cblas_sgemm");
      blas.dgemm_ = symbol<Blas::Dgemm>(library, prefix + "cblas_dgemm");
      if (blas.sgemm_ && blas.dgemm_) break;
    }
    if (!blas.sgemm_ || !blas.dgemm_) return place + ": has no cblas_sgemm and cblas_dgemm with 32-bit integers";
    const std::string kind = identify();
    if (kind.empty()) return place + ": is built for 64-bit integers";
    use_one_thread();
    if (!multiplies_correctly()) return place + ": gives a wrong product";
    blas.name_ = kind + " (" + place.substr(place.rfind('/') + 1) + ")";
    return "";
  }

  /// Name and version; empty for a build with 64-bit integers.
  std::string identify() {
    if (auto config = symbol<const char* (*)()>(library, prefix + "openblas_get_config")) {
      const std::string text = config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
      blas.core_ = openblas_core();
      return text.find("USE64BITINT") != std::string::npos ? "" : text.substr(0, text.find(' ', text.find(' ') + 1));
    }
    if (auto set_interface = symbol<int (*)(int)>(library, "MKL_Set_Interface_Layer")) {
      constexpr int lp64 = 0, sequential = 1;
      set_interface(lp64);
      if (auto set_threading = symbol<int (*)(int)>(library, "MKL_Set_Threading_Layer")) set_threading(sequential);
      return "MKL";
    }
    if (auto version = symbol<const char* (*)()>(library, "bli_info_get_version_str")) {
      auto int_bits = symbol<std::int64_t (*)()>(library, "bli_info_get_blas_int_type_size");
      return int_bits && int_bits() != 32 ? "" : std::string("BLIS ") + version();
    }
    return "CBLAS";
  }

  // Two pools at once cost milliseconds (see threads.hpp), and in a library that splits by its own rules the bits of a
  // result depend on the number of cores.
  void use_one_thread() {
    if (auto set = symbol<void (*)(int)>(library, prefix + "openblas_set_num_threads")) set(1);
    if (auto set = symbol<void (*)(int)>(library, "MKL_Set_Num_Threads")) set(1);
    if (auto set = symbol<void (*)(std::int64_t)>(library, "bli_thread_set_num_threads")) set(1);
  }

  /// Tries [1 2 3; 4 5 6] [1 0; 0 1; 1 1], which finds libraries with other conventions for the arguments.
  bool multiplies_correctly() const {
    const std::array<double, 6> a{1, 2, 3, 4, 5, 6}, b{1, 0, 0, 1, 1, 1};
    std::array<double, 4> c{9, 9, 9, 9};
    blas.dgemm_(101, 111, 111, 2, 2, 3, 1.0, a.data(), 3, b.data(), 2, 0.0, c.data(), 2);
    return c == std::array<double, 4>{4, 5, 10, 11};
  }
};

namespace {

struct Choice {
  std::mutex mutex;
  std::string library = "auto";
  std::atomic<const Blas*> loaded{nullptr};
  std::vector<std::unique_ptr<const Blas>> all;  // earlier ones too: another thread may use them
};

Choice& choice() {
  static Choice* kept = new Choice;  // products may run while static objects are destroyed
  return *kept;
}

}  // namespace

Blas BlasLoader::of(const std::string& wanted, std::string& missing) {
  BlasLoader loader;
  if (wanted == "none") {
    missing = "blas=none was set";
    return loader.blas;
  }
  for (const auto& place : places(wanted)) {
    const std::string fault = loader.load(place);
    if (fault.empty()) {
      loader.blas.yields_to_dnn_ = wanted == "auto" && loader.blas.name_.rfind("MKL", 0) != 0;
      return loader.blas;
    }
    missing += (missing.empty() ? "" : "; ") + fault;
  }
  if (wanted != "auto") throw DeviceError("blas=" + wanted + ": " + missing + "; " + packages);
  missing = "no BLAS library: " + missing + "; " + packages;
  loader.blas.yields_to_dnn_ = true;
  return loader.blas;
}

namespace {

/// The times of a library, and of the one in use, for the same product: the least of some rounds in turns.
struct InTurns {
  double used = 1, other = 1;
};
InTurns measure_in_turns(const Blas& used, const Blas& other) {
  constexpr std::int64_t n = 512;
  constexpr int rounds = 8;
  const std::vector<float> a(n * n, 1), b(n * n, 0.5f);
  std::vector<float> c(n * n);
  const MatrixProduct product{
      .m = n, .n = n, .k = n, .a = a.data(), .lda = n, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n};
  const auto seconds = [&](const Blas& blas) {
    const auto start = std::chrono::steady_clock::now();
    blas.gemm(product);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  InTurns times;
  for (int i = 0; i < rounds; ++i) {
    times.used = std::min(times.used, seconds(used));
    times.other = std::min(times.other, seconds(other));
  }
  return times;
}

}  // namespace

std::vector<OtherBlas> Blas::others() {
  const Blas& used = instance();
  std::vector<OtherBlas> found;
  for (const std::string& place : places("auto")) {
    BlasLoader loader;
    if (!loader.load(place).empty()) continue;
    const auto is_named = [&](const OtherBlas& other) { return other.name == loader.blas.name_; };
    if (loader.blas.name_ == used.name_ || std::ranges::any_of(found, is_named)) continue;
    const InTurns times = measure_in_turns(used, loader.blas);
    found.push_back({place, loader.blas.name_, times.used / std::max(times.other, 1e-9)});
  }
  return found;
}

void Blas::configure(const std::string& library) {
  if (library.empty())
    throw ConfigError("blas: the value is empty; \"auto\", \"none\" or the path of a library is accepted");
  std::lock_guard lock(choice().mutex);
  if (library == choice().library) return;
  choice().library = library;
  choice().loaded.store(nullptr, std::memory_order_release);
}

const Blas& Blas::instance() {
  Choice& current = choice();
  if (const Blas* loaded = current.loaded.load(std::memory_order_acquire)) return *loaded;
  std::lock_guard lock(current.mutex);
  if (const Blas* loaded = current.loaded.load(std::memory_order_acquire)) return *loaded;
  std::string missing;
  auto blas = std::make_unique<Blas>(BlasLoader::of(current.library, missing));
  blas->missing_ = missing;
  current.all.push_back(std::move(blas));
  current.loaded.store(current.all.back().get(), std::memory_order_release);
  return *current.all.back();
}

bool Blas::available(std::string* why) {
  const Blas& blas = instance();
  if (why) *why = blas.sgemm_ ? "" : blas.missing_;
  return blas.sgemm_ != nullptr;
}

namespace {

constexpr std::int64_t max_int = std::numeric_limits<int>::max();

constexpr int by_rows = 101;                                          // CblasRowMajor
int transpose_code(bool transpose) { return transpose ? 112 : 111; }  // CblasTrans, CblasNoTrans

// BLAS wants a leading dimension of at least the row's length, even for a single row, which does not use it.
std::int64_t valid_ld(std::int64_t ld, std::int64_t rows, std::int64_t columns) {
  return rows <= 1 ? std::max<std::int64_t>(columns, 1) : std::max<std::int64_t>(ld, 1);
}

/// The same product for rows [i, i + rows) and columns [j, j + columns) of C.
MatrixProduct block_of(const MatrixProduct& p, std::int64_t i, std::int64_t rows, std::int64_t j,
                       std::int64_t columns) {
  MatrixProduct block = p;
  block.m = rows;
  block.n = columns;
  block.a = element_at(p.a, p.dtype, p.transpose_a ? i : i * p.lda);
  block.b = element_at(p.b, p.dtype, p.transpose_b ? j * p.ldb : j);
  block.c = element_at(p.c, p.dtype, i * p.ldc + j);
  return block;
}

/// The part [start, start + count) of the inner dimension; it adds to C unless it is the first.
MatrixProduct inner_part_of(const MatrixProduct& p, std::int64_t start, std::int64_t count) {
  MatrixProduct part = p;
  part.k = count;
  part.a = element_at(p.a, p.dtype, p.transpose_a ? start * p.lda : start);
  part.b = element_at(p.b, p.dtype, p.transpose_b ? start : start * p.ldb);
  if (start > 0) part.beta = 1;
  return part;
}

template <class T>
void scale(const MatrixProduct& p) {
  const TypedOperands<T> of(p);
  for (std::int64_t i = 0; i < p.m; ++i) {
    T* row = of.c + i * p.ldc;
    if (of.beta == 0)
      std::fill_n(row, p.n, T(0));
    else
      for (std::int64_t j = 0; j < p.n; ++j) row[j] *= of.beta;
  }
}

void scale(const MatrixProduct& p) {
  if (p.dtype == DType::float32)
    scale<float>(p);
  else
    scale<double>(p);
}

// The size of a block of op(B), which stays in the first-level cache while all rows of A are read.
constexpr std::int64_t block_depth = 32, block_width = 128;

template <class T>
void pack_b(const MatrixProduct& p, std::int64_t k0, std::int64_t depth, std::int64_t j0, std::int64_t width,
            T* packed) {
  const T* const b = TypedOperands<T>(p).b;
  for (std::int64_t l = 0; l < depth; ++l)
    for (std::int64_t j = 0; j < width; ++j)
      packed[l * block_width + j] = p.transpose_b ? b[(j0 + j) * p.ldb + k0 + l] : b[(k0 + l) * p.ldb + j0 + j];
}

template <class T>
void add_products(const MatrixProduct& p) {
  const TypedOperands<T> of(p);
  std::array<T, block_depth * block_width> packed;
  for (std::int64_t j0 = 0; j0 < p.n; j0 += block_width)
    for (std::int64_t k0 = 0; k0 < p.k; k0 += block_depth) {
      const std::int64_t width = std::min(block_width, p.n - j0), depth = std::min(block_depth, p.k - k0);
      pack_b(p, k0, depth, j0, width, packed.data());
      for (std::int64_t i = 0; i < p.m; ++i) {
        T* row = of.c + i * p.ldc + j0;
        for (std::int64_t l = 0; l < depth; ++l) {
          const T factor = of.alpha * (p.transpose_a ? of.a[(k0 + l) * p.lda + i] : of.a[i * p.lda + k0 + l]);
          const T* const b = packed.data() + l * block_width;
          for (std::int64_t j = 0; j < width; ++j) row[j] += factor * b[j];
        }
      }
    }
}

bool fits_int(const MatrixProduct& p) { return std::max({p.lda, p.ldb, p.ldc, p.m, p.n}) <= max_int; }

/// A size or leading dimension, which is known to fit, as BLAS takes it.
int blas_int(std::int64_t size) { return base::checked_cast<int>(size).value(); }

}  // namespace

void gemm_fallback(const MatrixProduct& p) noexcept {
  if (p.beta != 1) scale(p);
  if (p.alpha == 0 || p.k == 0) return;
  if (p.dtype == DType::float32)
    add_products<float>(p);
  else
    add_products<double>(p);
}

void Blas::gemm(const MatrixProduct& p) const noexcept {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0 || p.alpha == 0) {
    if (p.beta != 1) scale(p);
    return;
  }
  if (!sgemm_ || !fits_int(p)) return gemm_fallback(p);
  if (p.k > max_int) {
    constexpr std::int64_t part = 1 << 30;
    for (std::int64_t start = 0; start < p.k; start += part) gemm(inner_part_of(p, start, std::min(part, p.k - start)));
    return;
  }
  const auto call = [&]<class T>(auto function, T) {
    const TypedOperands<T> of(p);
    function(by_rows, transpose_code(p.transpose_a), transpose_code(p.transpose_b), blas_int(p.m), blas_int(p.n),
             blas_int(p.k), of.alpha, of.a, blas_int(p.lda), of.b, blas_int(p.ldb), of.beta, of.c, blas_int(p.ldc));
  };
  if (p.dtype == DType::float32)
    call(sgemm_, float{});
  else
    call(dgemm_, double{});
}

namespace {

// Below this many multiply-adds (10 us) a product stays whole: waking a thread costs more.
constexpr std::int64_t split_work = 1'000'000;
// The largest block of C. Each block packs its operands again: with OpenBLAS 0.3.21 this costs 1 to 4 % in float32 and
// up to 10 % in float64 on one thread (128 rows: up to 15 %), and there are enough blocks for many cores.
constexpr std::int64_t max_block_rows = 256, max_block_columns = 1024;
// A small C with a long inner dimension, such as the gradient of weights, would have too few blocks: half as many rows
// cost nothing there, since packing is a small part of the work.
constexpr std::int64_t deep_inner = 1024, few_elements = 512 * 512, max_deep_rows = 128;

double work_of(const MatrixProduct& p) { return real_product({p.m, p.n, p.k}); }

/// The number of even parts of a dimension: a power of two, so that two, four or eight threads get equally many.
std::int64_t parts_of(std::int64_t size, std::int64_t largest) {
  std::int64_t parts = 1;
  while (size > parts * largest) parts *= 2;
  return parts;
}

/// Product number `index` of a batch.
MatrixProduct product_of(const MatrixProduct& batch, std::int64_t index) {
  MatrixProduct p = batch;
  p.batch = 1;
  p.a = element_at(p.a, p.dtype, index * p.stride_a);
  p.b = element_at(p.b, p.dtype, index * p.stride_b);
  p.c = element_at(p.c, p.dtype, index * p.stride_c);
  return p;
}

struct Blocks {
  const Blas* blas;
  const Dnn* dnn;  // null: by BLAS
  bool few_rows;   // by few_rows.hpp
  const MatrixProduct* product;
  std::int64_t rows, columns;  // of a block; the last ones are smaller
  std::int64_t row_blocks, column_blocks;

  std::int64_t count() const { return product->batch * row_blocks * column_blocks; }
  void run(std::int64_t index) const {
    const MatrixProduct p = product_of(*product, index / (row_blocks * column_blocks));
    index %= row_blocks * column_blocks;
    const std::int64_t i = index / column_blocks * rows, j = index % column_blocks * columns;
    if (i < p.m && j < p.n) multiply(block_of(p, i, std::min(rows, p.m - i), j, std::min(columns, p.n - j)));
  }

 private:
  void multiply(const MatrixProduct& block) const {
    if (few_rows) return multiply_few_rows(block);
    if (dnn == nullptr || !dnn->gemm(block)) blas->gemm(block);
  }
};

/// oneDNN for the products that it computes faster, unless the user chose a BLAS library; else null. On one thread it
/// does 110 GFLOP/s where OpenBLAS 0.3.21 does 100, and 115 where that does 86, if the product is large and the right
/// matrix is stored by rows; with a transposed right matrix it is usually slower.
const Dnn* dnn_for(const Blas& blas, const MatrixProduct& p) {
  if (!blas.yields_to_dnn() || p.dtype != DType::float32 || p.transpose_b || p.alpha == 0 || work_of(p) < split_work)
    return nullptr;
  return Dnn::available() ? &Dnn::instance() : nullptr;
}

Blocks blocks_of(const Blas& blas, const MatrixProduct& p) {
  const Dnn* dnn = dnn_for(blas, p);
  if (dnn == nullptr && blas.yields_to_dnn() && few_rows_pay(p)) {
    const std::int64_t columns = few_rows_columns(p.dtype);  // without packing, small blocks cost nothing
    return {&blas, nullptr, true, &p, p.m, columns, 1, base::ceil_div(p.n, columns)};
  }
  constexpr std::int64_t rounding = 16;  // whole registers and cache lines
  // The longer side has the smaller parts: they share the packed other operand.
  const bool tall = p.m >= p.n;
  const std::int64_t fine = p.k >= deep_inner && p.m * p.n <= few_elements ? max_deep_rows : max_block_rows;
  const std::int64_t row_blocks = parts_of(p.m, tall ? fine : max_block_columns);
  const std::int64_t column_blocks = parts_of(p.n, tall ? max_block_columns : fine);
  const auto even = [&](std::int64_t size, std::int64_t parts) {
    return base::ceil_div(size, parts * rounding) * rounding;
  };
  return {&blas, dnn, false, &p, even(p.m, row_blocks), even(p.n, column_blocks), row_blocks, column_blocks};
}

[[noreturn]] void refuse(const std::string& what) { throw InternalError("matrix product: " + what); }

void check_stored(const char* matrix, std::int64_t ld, std::int64_t rows, std::int64_t columns) {
  if (rows > 1 && ld < columns)
    refuse(std::string("the leading dimension of ") + matrix + " is " + std::to_string(ld) + ", less than its " +
           std::to_string(columns) + " columns");
}

/// Checks the sizes, as BLAS would only print a message and give a wrong result; returns the product with leading
/// dimensions that BLAS accepts.
MatrixProduct checked(const MatrixProduct& product) {
  MatrixProduct p = product;
  if (p.dtype != DType::float32 && p.dtype != DType::float64)
    refuse(std::string(name_of(p.dtype)) + " is not supported");
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0) refuse("a size is negative");
  const auto a_rows = p.transpose_a ? p.k : p.m, a_columns = p.transpose_a ? p.m : p.k;
  const auto b_rows = p.transpose_b ? p.n : p.k, b_columns = p.transpose_b ? p.k : p.n;
  check_stored("A", p.lda, a_rows, a_columns);
  check_stored("B", p.ldb, b_rows, b_columns);
  check_stored("C", p.ldc, p.m, p.n);
  if (p.batch > 1 && p.m > 0 && p.n > 0 && p.stride_c < (p.m - 1) * p.ldc + p.n)
    refuse("the results of a batch overlap");
  p.lda = valid_ld(p.lda, a_rows, a_columns);
  p.ldb = valid_ld(p.ldb, b_rows, b_columns);
  p.ldc = valid_ld(p.ldc, p.m, p.n);
  return p;
}

}  // namespace

std::string product_libraries() {
  const Blas& blas = Blas::instance();
  std::string names = blas.name();
  if (!blas.yields_to_dnn()) return names;
  if (Dnn::available()) names += ", large float32 ones: " + Dnn::instance().name();
  if (has_few_rows()) names += ", those of a few rows: Croton";
  return names;
}

void gemm(const MatrixProduct& product) {
  const MatrixProduct p = checked(product);
  const Blas& blas = Blas::instance();
  const double work = work_of(p);
  if (work * real_product({p.batch}) < split_work) {
    for (std::int64_t index = 0; index < p.batch; ++index) blas.gemm(product_of(p, index));
    return;
  }
  const Blocks blocks = work < split_work ? Blocks{&blas, nullptr, false, &p, p.m, p.n, 1, 1} : blocks_of(blas, p);
  const std::int64_t count = blocks.count();
  // Several small products at a time: about a tenth of the work that is worth another thread.
  const auto some = static_cast<std::int64_t>(std::max(1.0, split_work / 10.0 / std::max(work, 1.0)));
  // Each thread takes the next blocks that are left: the bits do not depend on the thread that computes a block, and a
  // thread that starts late, or loses its core, delays the others by one block at most.
  std::atomic<std::int64_t> next{0};
  ThreadPool::instance().parallel_for(count, 1, [&](std::int64_t, std::int64_t) {
    for (std::int64_t first; (first = next.fetch_add(some, std::memory_order_relaxed)) < count;) {
      for (std::int64_t index = first; index < std::min(first + some, count); ++index) blocks.run(index);
    }
  });
}

}  // namespace croton::runtime::cpu
