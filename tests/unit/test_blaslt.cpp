// Products by cuBLASLt, on a fake library: its calls, and the exceptions for its errors. If the real library is
// installed, its entry points are checked.
#include "runtime/cuda/libraries/blaslt.hpp"

#include <croton/error.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "contains.hpp"
#include "fake_cuda.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "temporary_folder.hpp"

using namespace croton;
using namespace croton::runtime::cuda;
using croton::test::error_of;
using croton::test::FakeCuda;
using croton::test::user_line;

namespace {

template <class T>
constexpr DType dtype_of = sizeof(T) == 8 ? DType::float64 : DType::float32;

template <class T>
void write(const Stream& stream, void* to, const std::vector<T>& values) {
  copy_in(stream, to, std::as_bytes(std::span(values)));
}

template <class T>
std::vector<T> read(const Stream& stream, const void* from, std::size_t n) {
  std::vector<T> values(n);
  copy_out(stream, std::as_writable_bytes(std::span(values)), from);
  return values;
}

template <class T>
std::vector<T> numbers(std::size_t n, int seed) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(static_cast<int>(i * 7 + seed) % 11 - 5);
  return values;
}

/// The products by their definition, on the host.
template <class T>
std::vector<T> expected(const MatrixProduct& p, const std::vector<T>& a, const std::vector<T>& b, std::vector<T> c) {
  const auto at = [](const std::vector<T>& x, std::int64_t from, bool transposed, std::int64_t leading, std::int64_t i,
                     std::int64_t j) {
    return x[static_cast<std::size_t>(from + (transposed ? j * leading + i : i * leading + j))];
  };
  for (std::int64_t index = 0; index < p.batch; ++index) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T sum = 0;
        if (p.alpha != 0) {
          for (std::int64_t k = 0; k < p.k; ++k)
            sum += at(a, index * p.stride_a, p.transpose_a, p.lda, i, k) *
                   at(b, index * p.stride_b, p.transpose_b, p.ldb, k, j);
        }
        T& out = c[static_cast<std::size_t>(index * p.stride_c + i * p.ldc + j)];
        out = static_cast<T>(p.alpha) * sum + (p.beta == 0 ? T{0} : static_cast<T>(p.beta) * out);
      }
    }
  }
  return c;
}

template <class T>
void check_product(BlasLt& blas, const Stream& stream, MatrixProduct p, std::size_t shift = 0) {
  const auto count = [&](std::int64_t rows, std::int64_t leading, std::int64_t stride) {
    return static_cast<std::size_t>(rows * leading + std::max<std::int64_t>(0, p.batch - 1) * stride) + 1;
  };
  const auto a = numbers<T>(count(p.transpose_a ? p.k : p.m, p.lda, p.stride_a), 1);
  const auto b = numbers<T>(count(p.transpose_b ? p.n : p.k, p.ldb, p.stride_b), 2);
  const auto c = numbers<T>(count(p.m, p.ldc, p.stride_c), 3);
  const auto bytes = [&](const std::vector<T>& x) { return (x.size() + shift) * sizeof(T); };
  const Buffer da(stream, bytes(a)), db(stream, bytes(b)), dc(stream, bytes(c));
  p.dtype = dtype_of<T>;
  const auto put = [&](const Buffer& to, const std::vector<T>& values) {
    std::byte* place = to.data() + shift * sizeof(T);
    write(stream, place, values);
    return place;
  };
  p.a = put(da, a);
  p.b = put(db, b);
  p.c = put(dc, c);
  blas.gemm(stream, p);
  CHECK(read<T>(stream, p.c, c.size()) == expected(p, a, b, c));
}

}  // namespace

TEST_CASE("products in all forms", "[blaslt]") {
  FakeCuda fake;
  fake.set("delay", GENERATE(0, 1));
  {
    const auto context = Context::open(0);
    const Stream stream(context);
    BlasLt blas(context);
    CHECK(blas.name() == "cuBLASLt 13.0.2");
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const double beta : {0.0, 1.0, -0.5}) {
          const MatrixProduct p{.transpose_a = ta,
                                .transpose_b = tb,
                                .m = 3,
                                .n = 4,
                                .k = 5,
                                .alpha = 2,
                                .lda = (ta ? 3 : 5) + 1,
                                .ldb = (tb ? 5 : 4) + 2,
                                .beta = beta,
                                .ldc = 4 + 3};
          check_product<float>(blas, stream, p);
          check_product<double>(blas, stream, p);
          check_product<float>(blas, stream, p, 1);  // not aligned to 16 bytes
        }
      }
    }
    // For one row or column, leading dimensions have no meaning.
    check_product<float>(blas, stream, {.m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1});
    check_product<double>(blas, stream, {.m = 1, .n = 6, .k = 2, .lda = 2, .ldb = 6, .ldc = 6});
  }
  CHECK(fake.leaks() == "");
  CHECK(fake.faults() == "");
}

TEST_CASE("batches of products", "[blaslt]") {
  FakeCuda fake;
  {
    const auto context = Context::open(0);
    const Stream stream(context);
    BlasLt blas(context);
    for (const std::int64_t batch : {0, 1, 3}) {
      for (const int repeated : {0, 1, 2}) {
        for (const bool transposed : {false, true}) {
          const MatrixProduct p{.transpose_a = transposed,
                                .transpose_b = transposed,
                                .m = 3,
                                .n = 4,
                                .k = 5,
                                .alpha = 2,
                                .lda = transposed ? 3 : 5,
                                .ldb = transposed ? 5 : 4,
                                .beta = batch == 3 ? -0.5 : 0,
                                .ldc = 4,
                                .batch = batch,
                                .stride_a = repeated == 1 ? 0 : 15,
                                .stride_b = repeated == 2 ? 0 : 20 + 1,
                                .stride_c = 12 + 3};
          check_product<float>(blas, stream, p);
          check_product<double>(blas, stream, p);
          MatrixProduct nothing = p;  // no terms: zeros, or beta C
          nothing.k = 0;
          check_product<float>(blas, stream, nothing);
        }
      }
    }
  }
  CHECK(fake.leaks() == "");
  CHECK(fake.faults() == "");
}

TEST_CASE("products without terms, and without elements", "[blaslt]") {
  FakeCuda fake;
  {
    const auto context = Context::open(0);
    const Stream stream(context);
    BlasLt blas(context);
    // A and B are not read: their addresses are invalid.
    for (const double beta : {0.0, 3.0}) {
      const Buffer c(stream, 6 * sizeof(double));
      write(stream, c.data(), numbers<double>(6, 3));
      MatrixProduct p{
          .dtype = DType::float64, .m = 2, .n = 3, .k = 0, .lda = 1, .ldb = 3, .beta = beta, .c = c.data(), .ldc = 3};
      blas.gemm(stream, p);
      p.k = 7;
      p.lda = 7;
      p.alpha = 0;
      p.beta = 1;
      blas.gemm(stream, p);
      std::vector<double> result = numbers<double>(6, 3);
      for (double& x : result) x = beta == 0 ? 0 : beta * x;
      CHECK(read<double>(stream, c.data(), 6) == result);
    }
    const long long calls = fake.calls("cublasLtMatmul");
    CHECK(blas.workspace_bytes({.m = 0, .n = 3, .k = 2, .lda = 2, .ldb = 3, .ldc = 3}) == 0);
    blas.gemm(stream, {.m = 0, .n = 3, .k = 2, .lda = 2, .ldb = 3, .ldc = 3});
    CHECK(fake.calls("cublasLtMatmul") == calls);
  }
  CHECK(fake.leaks() == "");
  CHECK(fake.faults() == "");
}

TEST_CASE("an algorithm is chosen once, and never one that splits k", "[blaslt]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context);
  BlasLt blas(context);
  const Buffer memory(stream, 1024);
  const MatrixProduct p{.m = 4,
                        .n = 4,
                        .k = 4,
                        .a = memory.data(),
                        .lda = 4,
                        .b = memory.data() + 64,
                        .ldb = 4,
                        .c = memory.data() + 128,
                        .ldc = 4};
  fill(stream, memory.data(), 0, 1024);
  const std::size_t bytes = blas.workspace_bytes(p);
  CHECK(bytes == 4096);
  CHECK(fake.calls("cublasLtMatmulAlgoGetHeuristic") == 2);  // aligned and not
  const Buffer workspace(stream, bytes);
  const long long allocations = fake.calls("cuMemAllocFromPoolAsync");
  for (int i = 0; i < 3; ++i) blas.gemm(stream, p, workspace.data());
  CHECK(fake.calls("cublasLtMatmulAlgoGetHeuristic") == 2);
  CHECK(fake.calls("cuMemAllocFromPoolAsync") == allocations);
  blas.gemm(stream, p, workspace.data(), Precision::tf32);
  CHECK(fake.calls("cublasLtMatmulAlgoGetHeuristic") == 3);
  fake.set("split_k_only", 1);
  MatrixProduct other = p;
  other.m = 2;
  CHECK_THAT(
      error_of<DeviceError>([&] { blas.gemm(stream, other, workspace.data(), Precision::full, user_line); }),
      contains("cublasLtMatmulAlgoGetHeuristic (train.py:7) has no algorithm without split-K for the float32 product "
               "of [2, 4] and [4, 4]"));
  CHECK(fake.faults() == "");
}

TEST_CASE("a product that is not valid is a bug of Croton", "[blaslt]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context), elsewhere(Context::open(1));
  BlasLt blas(context);
  const MatrixProduct good{.m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2};
  for (const auto& spoil : std::vector<void (*)(MatrixProduct&)>{
           [](MatrixProduct& p) { p.dtype = DType::int32; }, [](MatrixProduct& p) { p.m = -1; },
           [](MatrixProduct& p) { p.lda = 1; }, [](MatrixProduct& p) { p.ldb = 1; },
           [](MatrixProduct& p) { p.ldc = 1; }}) {
    MatrixProduct p = good;
    spoil(p);
    CHECK_THROWS_AS(blas.gemm(stream, p), InternalError);
  }
  CHECK_THROWS_AS(blas.gemm(elsewhere, good, nullptr), InternalError);
}

TEST_CASE("every call of cuBLASLt made to fail in turn", "[blaslt]") {
  FakeCuda fake;
  const auto [code, type] = GENERATE(std::pair(15, 0), std::pair(3, 1), std::pair(13, 0));
  const auto product = [] {
    const auto context = Context::open(0, user_line);
    const Stream stream(context, user_line);
    BlasLt blas(context, user_line);
    const Buffer memory(stream, 1024, user_line);
    fill(stream, memory.data(), 0, 1024, user_line);
    blas.gemm(stream,
              {.transpose_a = true,
               .transpose_b = true,
               .m = 4,
               .n = 4,
               .k = 4,
               .a = memory.data(),
               .lda = 4,
               .b = memory.data() + 64,
               .ldb = 4,
               .c = memory.data() + 128,
               .ldc = 4,
               .batch = 2,
               .stride_c = 16},
              Precision::full, user_line);
  };
  product();
  std::set<std::string> table, exported;
#define CROTON_CUBLASLT_ENTRY(name, result, ...) table.insert("cublasLt" #name);
#include "runtime/cuda/libraries/blaslt_entries.def"
#undef CROTON_CUBLASLT_ENTRY
  for (const std::string& entry : table) {
    if (entry.find("Version") != entry.npos || entry.find("Status") != entry.npos) continue;  // these cannot fail
    const long long before = fake.calls(entry);
    product();
    const long long calls = fake.calls(entry) - before;
    CHECK(calls > 0);
    const bool releases = entry.find("Destroy") != entry.npos;
    for (long long nth = 1; nth <= calls; ++nth) {
      CAPTURE(entry, nth, calls, code);
      fake.fail(entry, nth, code);
      if (releases) {
        product();
        fake.reset();
        continue;
      }
      const std::string message = type == 1 ? error_of<OutOfMemory>(product) : error_of<DeviceError>(product);
      CHECK_THAT(message, contains(entry + " (train.py:7) failed on cuda0 (Fake GPU)") && contains("CUBLAS_STATUS_") &&
                              contains("the library is cuBLASLt 13.0.2 at "));
      CHECK(fake.leaks() == "");
      CHECK(fake.faults() == "");
    }
    CHECK(fake.failures(entry) > 0);
  }
  std::istringstream lines(fake.entries());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("cublasLt")) exported.insert(line);
  }
  CHECK(exported == table);
}

TEST_CASE("a product that meets a lost device says so", "[blaslt]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context);
  BlasLt blas(context);
  const Buffer memory(stream, 1024);
  const MatrixProduct p{.m = 4,
                        .n = 4,
                        .k = 4,
                        .a = memory.data(),
                        .lda = 4,
                        .b = memory.data(),
                        .ldb = 4,
                        .c = memory.data() + 128,
                        .ldc = 4};
  const Buffer workspace(stream, blas.workspace_bytes(p));
  fake.fail("cublasLtMatmul", 1, 13);
  fake.fail("cuCtxSynchronize", 1, result::illegal_address);
  CHECK_THAT(error_of<DeviceError>([&] { blas.gemm(stream, p, workspace.data(), Precision::full, user_line); }),
             contains("cublasLtMatmul (train.py:7) failed on cuda0 (Fake GPU): CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(context->lost());
  CHECK_THAT(error_of<DeviceError>([&] { blas.gemm(stream, p, workspace.data(), Precision::full, user_line); }),
             contains("cublasLtMatmul (train.py:7): cuda0 (Fake GPU) cannot be used any more"));
}

TEST_CASE("a cuBLASLt that is missing is explained", "[blaslt]") {
  FakeCuda fake;
  test::TemporaryFolder folder;
  set_cuda_root(folder.path().string());
  std::string why;
  CHECK_FALSE(BlasLt::available(&why));
  CHECK_THAT(why, contains("cuBLASLt (matrix products on NVIDIA GPUs) was not found. Tried:") &&
                      contains("pip install nvidia-cublas"));
  const auto context = Context::open(0);
  CHECK_THROWS_AS(BlasLt(context), DeviceError);
  set_cuda_root("none");
  CHECK_FALSE(BlasLt::available(&why));
  CHECK_THAT(why, contains("hidden by cuda_root=none"));
}

TEST_CASE("the installed cuBLASLt has every entry point", "[blaslt]") {
  std::string why;
  if (!BlasLt::available(&why)) {
    CHECK_THAT(why, contains("cuBLASLt"));
    WARN("cuBLASLt is not installed: its entry points are not looked at");
  }
}
