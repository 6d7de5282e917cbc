// Matrix products against three plain loops: all transposes, alpha and beta, odd sizes, gaps between rows, splitting.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/blas/few_rows.hpp"
#include "runtime/cpu/dnn/dnn.hpp"
#include "runtime/cpu/threads/threads.hpp"

#include <croton/error.hpp>

namespace {

using croton::DType;
using croton::runtime::MatrixProduct;
using croton::runtime::cpu::Blas;
using croton::runtime::cpu::Dnn;
using croton::runtime::cpu::few_rows_pay;
using croton::runtime::cpu::gemm;
using croton::runtime::cpu::gemm_fallback;
using croton::runtime::cpu::has_few_rows;
using croton::runtime::cpu::multiply_few_rows;
using croton::runtime::cpu::product_libraries;
using croton::runtime::cpu::ThreadPool;

/// Small multiples of 1/8, so that sums of up to thousands of products are exact in float32 too.
template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::vector<T> values(count);
  for (auto& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<T>(static_cast<int>(seed >> 28) - 8) / 8;
  }
  return values;
}

template <class T>
struct Case {
  MatrixProduct product;
  std::vector<T> a, b, c;

  Case(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b, std::int64_t gap = 0) {
    product.dtype = croton::dtype_of<T>();
    product.transpose_a = transpose_a;
    product.transpose_b = transpose_b;
    product.m = m;
    product.n = n;
    product.k = k;
    product.lda = (transpose_a ? m : k) + gap;
    product.ldb = (transpose_b ? k : n) + gap;
    product.ldc = n + gap;
    a = numbers<T>(static_cast<std::size_t>((transpose_a ? k : m) * product.lda + 1), 1);
    b = numbers<T>(static_cast<std::size_t>((transpose_b ? n : k) * product.ldb + 1), 2);
    c = numbers<T>(static_cast<std::size_t>(m * product.ldc + 1), 3);
    point();
  }
  void point() {
    product.a = a.data();
    product.b = b.data();
    product.c = c.data();
  }

  std::vector<T> expected() const {
    std::vector<T> result = c;
    const auto& p = product;
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum += static_cast<double>(a[static_cast<std::size_t>(p.transpose_a ? l * p.lda + i : i * p.lda + l)]) *
                 static_cast<double>(b[static_cast<std::size_t>(p.transpose_b ? j * p.ldb + l : l * p.ldb + j)]);
        T& element = result[static_cast<std::size_t>(i * p.ldc + j)];
        element = static_cast<T>(p.alpha * sum + (p.beta == 0 ? 0 : p.beta * static_cast<double>(element)));
      }
    return result;
  }
};

template <class T>
void check_all(void (*run)(const MatrixProduct&)) {
  const std::int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 5},     {9, 1, 4},     {3, 5, 1},
                                   {17, 33, 65}, {40, 130, 37}, {131, 129, 67}};
  for (const auto& [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes)
      for (const double alpha : {1.0, -0.5, 0.0})
        for (const double beta : {0.0, 1.0, 2.0})
          for (const std::int64_t gap : {0, 3}) {
            Case<T> test(m, n, k, transposes & 1, transposes & 2, gap);
            test.product.alpha = alpha;
            test.product.beta = beta;
            const auto expected = test.expected();
            run(test.product);
            INFO(m << " x " << k << " x " << n << " transposes " << transposes << " alpha " << alpha << " beta "
                   << beta);
            REQUIRE(test.c == expected);
          }
}

/// The message of the error that `call` throws; "" if it throws none.
template <class F>
std::string message_of(F call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct WithThreads {
  explicit WithThreads(int count) { ThreadPool::instance().set_threads(count); }
  ~WithThreads() { ThreadPool::instance().set_threads(0); }
};
struct WithLibrary {
  explicit WithLibrary(const std::string& library) { Blas::configure(library); }
  ~WithLibrary() { Blas::configure("auto"); }
};

/// A product of one block whose sums round, so that its bits identify the implementation.
Case<float> rounding_product(bool transpose_b) {
  Case<float> test(96, 160, 211, true, transpose_b, 5);
  for (auto& value : test.a) value = std::sin(value * 3);
  for (auto& value : test.b) value = std::cos(value * 5);
  test.product.alpha = 0.75;
  return test;
}

/// The report of product_libraries if there is no oneDNN and no library was chosen.
std::string without_dnn() { return Blas::instance().name() + (has_few_rows() ? ", those of a few rows: Croton" : ""); }

}  // namespace

TEST_CASE("products equal three plain loops", "[blas]") {
  check_all<float>([](const MatrixProduct& p) { gemm(p); });
  check_all<double>([](const MatrixProduct& p) { gemm(p); });
}

TEST_CASE("products of our own loop equal three plain loops", "[blas]") {
  check_all<float>([](const MatrixProduct& p) { gemm_fallback(p); });
  check_all<double>([](const MatrixProduct& p) { gemm_fallback(p); });
}

TEST_CASE("large products are split along rows and columns and stay right", "[blas]") {
  const std::int64_t sizes[][3] = {{1300, 1100, 3}, {1100, 1300, 3}, {257, 2, 2001}, {3, 1025, 400}, {600, 500, 7}};
  for (const auto& [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes) {
      Case<float> test(m, n, k, transposes & 1, transposes & 2, 1);
      test.product.beta = 1;
      const auto expected = test.expected();
      gemm(test.product);
      INFO(m << " x " << k << " x " << n << " transposes " << transposes);
      REQUIRE(test.c == expected);
    }
}

/// Blocks with few rows in all ways, at the edges of tiles and of partial sums.
template <class T>
void check_few_rows() {
  const std::int64_t sizes[][2] = {{1, 32}, {7, 33}, {16, 1}, {24, 40}, {33, 1025}, {95, 64}, {200, 2049}};
  for (const std::int64_t m : {1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13, 16, 17, 25, 64, 65})
    for (const auto& [n, k] : sizes)
      for (int transposes = 0; transposes < 3; ++transposes)
        for (const double beta : {0.0, 1.0, 2.0})
          for (const std::int64_t gap : {0, 3}) {
            const bool transpose_b = transposes & 2;
            if (!transpose_b && n * static_cast<std::int64_t>(sizeof(T)) < 64) continue;  // less than a vector
            Case<T> test(m, n, k, transposes & 1, transpose_b, gap);
            test.product.alpha = -0.5;
            test.product.beta = beta;
            const auto expected = test.expected();
            multiply_few_rows(test.product);
            INFO(m << " x " << k << " x " << n << " transposes " << transposes << " beta " << beta << " gap " << gap);
            REQUIRE(test.c == expected);
          }
}

TEST_CASE("products of few rows equal three plain loops", "[blas]") {
  if (!has_few_rows()) {
    WARN("not run: this processor has no AVX-512");
    CHECK_FALSE(few_rows_pay(Case<double>(10, 1000, 1000, false, false).product));
    return;
  }
  check_few_rows<float>();
  check_few_rows<double>();
  CHECK(few_rows_pay(Case<double>(10, 1000, 1000, false, true).product));
  CHECK_FALSE(few_rows_pay(Case<double>(10, 1000, 1000, true, true).product));
  CHECK_FALSE(few_rows_pay(Case<double>(100, 1000, 1000, false, false).product));
}

TEST_CASE("products of few rows, where they pay, are shared out without a change of bits", "[blas]") {
  for (const bool transpose_b : {false, true}) {
    Case<double> whole(10, 1003, 700, false, transpose_b);
    for (auto& value : whole.a) value = std::sin(value * 3);  // sums with rounding
    for (auto& value : whole.b) value = std::cos(value * 5);
    // Memory that is overwritten is not read.
    std::fill(whole.c.begin(), whole.c.end() - 1, std::numeric_limits<double>::quiet_NaN());
    const bool pays = few_rows_pay(whole.product);
    CHECK(pays == has_few_rows());
    Case<double> first = whole;
    first.point();
    if (pays)
      multiply_few_rows(first.product);
    else
      gemm(first.product);
    for (int threads = 1; threads <= 4; ++threads) {
      WithThreads set(threads);
      Case<double> test = whole;
      test.point();
      gemm(test.product);
      REQUIRE(std::memcmp(first.c.data(), test.c.data(), first.c.size() * sizeof(double)) == 0);
    }
  }
}

TEST_CASE("a batch is each of its products", "[blas]") {
  const std::int64_t sizes[][4] = {{3, 4, 5, 7}, {64, 64, 64, 40}, {300, 200, 50, 3}, {1, 9, 1000, 200}, {2, 2, 2, 0}};
  for (const auto& [m, n, k, batch] : sizes) {
    for (const int repeated : {0, 1, 2}) {
      INFO(batch << " times " << m << " x " << k << " x " << n << ", repeated: " << repeated);
      const auto numbers = [](std::int64_t count, int seed) {
        std::vector<double> values(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 7 + seed) % 13) - 6;
        return values;
      };
      const std::vector<double> a = numbers(batch * m * k + m * k, 1), b = numbers(batch * k * n + k * n, 2);
      std::vector<double> c = numbers(batch * (m * n + 2), 3), wanted = c;
      MatrixProduct p{.dtype = DType::float64,
                      .m = m,
                      .n = n,
                      .k = k,
                      .a = a.data(),
                      .lda = k,
                      .b = b.data(),
                      .ldb = n,
                      .beta = 1,
                      .c = c.data(),
                      .ldc = n};
      MatrixProduct all = p;
      all.batch = batch;
      all.stride_a = repeated == 1 ? 0 : m * k;
      all.stride_b = repeated == 2 ? 0 : k * n;
      all.stride_c = m * n + 2;
      for (std::int64_t index = 0; index < batch; ++index) {
        p.a = a.data() + index * all.stride_a;
        p.b = b.data() + index * all.stride_b;
        p.c = wanted.data() + index * all.stride_c;
        gemm_fallback(p);
      }
      gemm(all);
      CHECK(c == wanted);
    }
  }
  MatrixProduct overlapping{.m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2, .batch = 2};
  CHECK_THROWS_AS(gemm(overlapping), croton::InternalError);
}

TEST_CASE("the bits of a product do not depend on the number of threads", "[blas]") {
  for (const auto& [library, transpose_b] : {std::pair{"auto", false}, {"auto", true}, {"none", false}}) {
    WithLibrary with(library);
    std::vector<float> first;
    for (int threads = 1; threads <= 4; ++threads) {
      WithThreads set(threads);
      Case<float> test(601, 307, 203, false, transpose_b);
      for (auto& value : test.a) value = std::sin(value * 3);  // sums with rounding
      for (auto& value : test.b) value = std::cos(value * 5);
      gemm(test.product);
      if (threads == 1) first = test.c;
      REQUIRE(std::memcmp(first.data(), test.c.data(), first.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("C is not read where beta is 0, A and B are not read where nothing is multiplied", "[blas]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* library : {"auto", "none"}) {
    WithLibrary with(library);
    for (const std::int64_t n : {1, 5, 300}) {
      Case<float> test(6, n, 4, false, false);
      auto expected = test.expected();
      std::fill_n(test.c.begin(), 6 * n, nan);
      gemm(test.product);
      CHECK(test.c == expected);

      std::fill_n(test.c.begin(), 6 * n, nan);
      test.product.k = 0;
      test.product.a = test.product.b = nullptr;
      gemm(test.product);
      std::fill_n(expected.begin(), 6 * n, 0.f);
      CHECK(test.c == expected);
    }
    Case<double> scaled(2, 3, 0, false, false);
    scaled.product.beta = 2;
    const auto expected = scaled.expected();
    gemm(scaled.product);
    CHECK(scaled.c == expected);
  }
}

TEST_CASE("NaN and infinity of A and B arrive in C", "[blas]") {
  for (const char* library : {"auto", "none"}) {
    WithLibrary with(library);
    Case<float> test(3, 3, 3, false, false);
    test.a[0] = std::numeric_limits<float>::infinity();
    test.b = std::vector<float>(test.b.size(), 1.f);
    test.a[4] = std::numeric_limits<float>::quiet_NaN();
    test.point();
    gemm(test.product);
    CHECK(test.c[0] == std::numeric_limits<float>::infinity());
    CHECK(std::isnan(test.c[3]));
    CHECK(std::isfinite(test.c[6]));
  }
}

TEST_CASE("products without elements touch nothing", "[blas]") {
  MatrixProduct empty;
  empty.n = 5;
  empty.k = 5;
  empty.lda = empty.ldb = empty.ldc = 5;
  CHECK_NOTHROW(gemm(empty));
}

TEST_CASE("leading dimensions of a single row mean nothing, others are checked", "[blas]") {
  Case<float> row(1, 4, 3, false, false);
  const auto expected = row.expected();
  row.product.lda = row.product.ldc = 0;
  gemm(row.product);
  CHECK(row.c == expected);

  // A leading dimension above 32 bits, for one stored row and so never used.
  Case<float> far(1, 4, 3, false, false);
  far.product.lda = std::int64_t{1} << 40;
  gemm(far.product);
  CHECK(far.c == expected);

  Case<float> overlapping(4, 4, 4, false, false);
  overlapping.product.lda = 3;
  CHECK_THROWS_AS(gemm(overlapping.product), croton::InternalError);
  Case<float> integers(4, 4, 4, false, false);
  integers.product.dtype = DType::int32;
  CHECK_THROWS_AS(gemm(integers.product), croton::InternalError);
  Case<float> negative(4, 4, 4, false, false);
  negative.product.k = -1;
  CHECK_THROWS_AS(gemm(negative.product), croton::InternalError);
}

// One row times one column of 2^31 + 5 elements: more than the library's integers can count. The memory is one megabyte
// of ones, mapped repeatedly.
TEST_CASE("an inner dimension beyond 32 bits is added up in parts", "[.][slow]") {
  constexpr std::size_t piece = 1 << 20;
  constexpr std::int64_t k = (std::int64_t{1} << 31) + 5;
  constexpr std::size_t bytes = (static_cast<std::size_t>(k) * sizeof(double) / piece + 1) * piece;
  const int file = memfd_create("ones", 0);
  REQUIRE(file >= 0);
  const std::vector<double> ones(piece / sizeof(double), 1.0);
  REQUIRE(write(file, ones.data(), piece) == static_cast<ssize_t>(piece));
  auto* memory =
      static_cast<char*>(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  for (std::size_t start = 0; start < bytes; start += piece)
    REQUIRE(mmap(memory + start, piece, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == memory + start);

  double c = 7;
  MatrixProduct p;
  p.dtype = DType::float64;
  p.m = p.n = 1;
  p.k = k;
  p.a = p.b = memory;
  p.lda = k;
  p.ldb = p.ldc = 1;
  p.beta = 2;
  p.c = &c;
  gemm(p);
  CHECK(c == static_cast<double>(k) + 14);
  munmap(memory, bytes);
  close(file);
}

TEST_CASE("oneDNN multiplies large float32 matrices, the right one by rows, where no library was chosen", "[blas]") {
  if (std::string why; !Dnn::available(&why)) {
    WARN("not run: " << why);
    CHECK(product_libraries() == without_dnn());
    return;
  }
  CHECK(contains(product_libraries(), "oneDNN"));
  CHECK(contains(product_libraries(), Blas::instance().name()));
  for (const bool transpose_b : {false, true}) {
    Case<float> given = rounding_product(transpose_b), by_dnn = given, by_blas = given;
    for (Case<float>* one : {&given, &by_dnn, &by_blas}) {
      one->point();
      for (float& element : one->c) element = std::numeric_limits<float>::quiet_NaN();  // beta is 0: not read
    }
    gemm(given.product);
    REQUIRE(Dnn::instance().gemm(by_dnn.product));
    Blas::instance().gemm(by_blas.product);
    const auto same = [&](const Case<float>& other) {
      return std::memcmp(given.c.data(), other.c.data(), given.c.size() * sizeof(float)) == 0;
    };
    CHECK(same(transpose_b ? by_blas : by_dnn));
    const std::vector<float> expected = rounding_product(transpose_b).expected();
    float worst = 0;
    for (std::int64_t i = 0; i < given.product.m; ++i) {
      for (std::int64_t j = 0; j < given.product.n; ++j) {
        const auto at = static_cast<std::size_t>(i * given.product.ldc + j);
        worst = std::max(worst, std::abs(given.c[at] - expected[at]));
      }
    }
    CHECK(worst < 211 * 0x1p-24f);  // a rounding of each addition, of sums mostly below 1
  }
  {
    WithLibrary none("none");
    CHECK_FALSE(Blas::instance().yields_to_dnn());
    CHECK(product_libraries() == "none");
  }
  Dnn::configure("none");
  const std::string without = product_libraries();
  Dnn::configure("auto");
  CHECK(without == without_dnn());
}

TEST_CASE("the library can be chosen, and what is missing is named", "[blas]") {
  {
    WithLibrary none("none");
    std::string why;
    CHECK_FALSE(Blas::available(&why));
    CHECK(why == "blas=none was set");
    CHECK(Blas::instance().name() == "none");
  }
  {
    WithLibrary wrong("/nowhere/libblas.so");
    const std::string message = message_of([] { Blas::available(); });
    CHECK(contains(message, "blas=/nowhere/libblas.so"));
    CHECK(contains(message, "libopenblas0"));
    CHECK_THROWS_AS(Blas::instance(), croton::DeviceError);
  }
  {
    WithLibrary other("libm.so.6");
    CHECK(contains(message_of([] { Blas::available(); }), "has no cblas_sgemm"));
  }
  CHECK_THROWS_AS(Blas::configure(""), croton::ConfigError);
  std::string why;
  const bool found = Blas::available(&why);
  CHECK(found == why.empty());
  WARN("BLAS in use: " << Blas::instance().name() << (found ? "" : ": " + why));
}
