// axpy_chain, black_scholes, softmax_rows and transpose_add written by hand for speed: one fused loop, vectorised by
// the compiler with the C library's vector functions, or tiles that fit the caches. Also the limits of the machine's
// memory: for every workload the time to read as many bytes as its inputs have and to write as many as its results
// have.
//
//   c++ -std=c++20 -O3 -march=native -ffast-math -fopenmp hand.cpp -o hand && ./hand [THREADS [SECONDS [reduced]]]
//
// "median_s" writes each result to memory from the allocator (as the other programs do), "reused_s" always to the same
// memory. `reduced` omits the largest sizes.
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t rows = 4096, columns = 1024;  // of softmax_rows
constexpr std::int64_t side = 4096;                  // of the matrix of transpose_add

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Buffer = std::unique_ptr<T[], Free>;

/// Memory in large pages if the system has them, as in NumPy and Croton: small pages cost more than the transfer.
template <class T>
Buffer<T> buffer(std::int64_t count) {
  constexpr std::size_t page = 2 << 20;
  const std::size_t bytes = (count * sizeof(T) + page) / page * page;
  auto* memory = static_cast<T*>(std::aligned_alloc(page, bytes));
  if (memory == nullptr) std::abort();
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::fill_n(memory, count, T(0));
  return Buffer<T>(memory);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The times of samples of at least 2 ms, the fastest first.
std::vector<double> sorted_seconds(const std::function<void()>& call, double budget) {
  call();
  double start = now();
  call();
  const int times = std::clamp(static_cast<int>(2e-3 / (now() - start)), 1, 20000);
  std::vector<double> samples;
  const double end = now() + budget;
  while (samples.size() < 5 || now() < end) {
    start = now();
    for (int i = 0; i < times; ++i) call();
    samples.push_back((now() - start) / times);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}
double median_seconds(const std::function<void()>& call, double budget) {
  const std::vector<double> samples = sorted_seconds(call, budget);
  return samples[samples.size() / 2];
}

/// SplitMix64, as in README.md.
template <class T>
Buffer<T> uniform(std::uint64_t seed, std::int64_t count, double low, double high) {
  Buffer<T> values = buffer<T>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    values[i] = static_cast<T>(low + (high - low) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53);
  }
  return values;
}

void axpy_chain(float* y, const float* x, std::int64_t n) {
#pragma omp parallel for simd schedule(static) if (parallel : n > 20000)
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = std::tanh(1.5f * x[i] + 0.25f) / (1 + std::exp(-x[i])) + std::exp(-x[i] * x[i]);
  }
}

constexpr double rate = 0.02, volatility = 0.3;

/// The call prices, then the put prices.
void black_scholes(double* y, const double* spots, const double* strikes, const double* times, std::int64_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    const double spread = volatility * std::sqrt(times[i]);
    const double upper = (std::log(spots[i] / strikes[i]) + (rate + volatility * volatility / 2) * times[i]) / spread;
    const double strike = strikes[i] * std::exp(-rate * times[i]), root_half = std::sqrt(0.5);
    y[i] = (spots[i] * (1 + std::erf(upper * root_half)) - strike * (1 + std::erf((upper - spread) * root_half))) / 2;
    y[n + i] = y[i] - spots[i] + strike;
  }
}

/// In tiles, each transposed within the first-level cache.
void transpose_add(float* y, const float* x) {
  constexpr std::int64_t tile = 32;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t row = 0; row < side; row += tile) {
    for (std::int64_t column = 0; column < side; column += tile) {
      float turned[tile][tile + 1];
      for (std::int64_t j = 0; j < tile; ++j) {
        for (std::int64_t i = 0; i < tile; ++i) turned[i][j] = x[(column + j) * side + row + i];
      }
      for (std::int64_t i = 0; i < tile; ++i) {
        const std::int64_t at = (row + i) * side + column;
        for (std::int64_t j = 0; j < tile; ++j) y[at + j] = x[at + j] + turned[i][j];
      }
    }
  }
}

void softmax_rows(float* y, const float* x) {
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* in = x + row * columns;
    float* out = y + row * columns;
    float top = in[0], total = 0;
#pragma omp simd reduction(max : top)
    for (std::int64_t j = 0; j < columns; ++j) top = std::max(top, in[j]);
#pragma omp simd reduction(+ : total)
    for (std::int64_t j = 0; j < columns; ++j) total += out[j] = std::exp(in[j] - top);
    const float scale = 1 / total;
#pragma omp simd
    for (std::int64_t j = 0; j < columns; ++j) out[j] *= scale;
  }
}

double axpy_reference(double v) { return std::tanh(1.5 * v + 0.25) / (1 + std::exp(-v)) + std::exp(-v * v); }

/// Without a logarithm of a quotient, without erf, and with the put computed directly, as in the loop.
double black_scholes_reference(double spot, double strike, double time, bool call) {
  const double spread = volatility * std::sqrt(time);
  const double upper = (std::log(spot) - std::log(strike) + rate * time) / spread + spread / 2;
  const double side_of = call ? 1 : -1;
  const auto normal = [](double v) { return 0.5 * std::erfc(-v * std::sqrt(0.5)); };
  return side_of *
         (spot * normal(side_of * upper) - strike * std::exp(-rate * time) * normal(side_of * (upper - spread)));
}

double softmax_reference(const float* x, std::int64_t i) {
  thread_local std::int64_t known = -1;
  thread_local double total = 0;
  if (known != i / columns) {
    known = i / columns;
    total = 0;
    for (std::int64_t j = 0; j < columns; ++j) total += std::exp(static_cast<double>(x[known * columns + j]));
  }
  return std::exp(static_cast<double>(x[i])) / total;
}

std::string comma(bool& first) { return std::exchange(first, false) ? "" : ",\n"; }

/// Checks the `n` elements that `kernel` writes against `want(i)`, and times it.
template <class T, class Kernel, class Reference>
void report(const char* name, std::int64_t n, Kernel kernel, Reference want, double tolerance, double budget,
            bool& first) {
  const Buffer<T> y = buffer<T>(n);
  kernel(y.get());
  double off = 0, top = 0, sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double wanted = want(i);
    off = std::max(off, std::abs(y[i] - wanted));
    top = std::max(top, std::abs(wanted));
    sum += std::abs(static_cast<double>(y[i]));
  }
  std::printf("%s\"%s\": {\"error_vs_reference\": %.3g, \"checksum\": %.10g", comma(first).c_str(), name, off / top,
              sum);
  if (!(off <= tolerance * top)) {
    std::printf(", \"error\": \"wrong result\"}");
    return;
  }
  const double reused = median_seconds([&] { kernel(y.get()); }, budget);
  const double fresh = median_seconds([&] { kernel(std::unique_ptr<T[]>(new T[n]).get()); }, budget);
  std::printf(", \"median_s\": %.6g, \"reused_s\": %.6g}", fresh, reused);
}

/// The best time in seconds to read and to write that many MB (1e6 bytes), alternately in pieces of some KB.
double transfer_seconds(double read_mb, double write_mb, double budget) {
  constexpr std::int64_t turns = 4096;
  const std::int64_t reads = static_cast<std::int64_t>(read_mb * 1e6 / 4 / turns);
  const std::int64_t writes = static_cast<std::int64_t>(write_mb * 1e6 / 4 / turns);
  const auto input = buffer<float>(turns * reads), output = buffer<float>(turns * writes);
  const float* from = input.get();
  float* to = output.get();
  float everything = 0;
  const std::vector<double> seconds = sorted_seconds(
      [&, from, to, reads, writes] {
        float sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (std::int64_t turn = 0; turn < turns; ++turn) {
          const float* in = from + turn * reads;
          float* out = to + turn * writes;
          float total = 0;
#pragma omp simd reduction(+ : total)
          for (std::int64_t i = 0; i < reads; ++i) total += in[i];
#pragma omp simd
          for (std::int64_t i = 0; i < writes; ++i) out[i] = total;
          sum += total;
        }
        everything += sum;
      },
      budget);
  if (everything == 42) std::fprintf(stderr, " ");  // so that the sums are needed
  return seconds.front();
}

struct Traffic {
  const char* workload;
  double read_mb, write_mb;
};

void report_limits(bool reduced, double budget) {
  const Traffic traffics[] = {{"axpy_chain_1e6", 4, 4},         {"softmax_rows", 16.78, 16.78},
                              {"layernorm_rows", 16.78, 16.78}, {"black_scholes", 24, 16},
                              {"reduce_sum_0", 67.1, 0},        {"logreg_step", 1.88, 0},
                              {"axpy_chain_1e7", 40, 40},       {"reduce_sum_1", 67.1, 0},
                              {"reduce_sum_all", 67.1, 0},      {"transpose_add", 67.1, 67.1}};
  bool first = true;
  for (const Traffic& t : traffics) {
    if (reduced && t.read_mb > 20) continue;
    std::printf("%s\"%s\": %.6g", comma(first).c_str(), t.workload, transfer_seconds(t.read_mb, t.write_mb, budget));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const double budget = argc > 2 ? std::atof(argv[2]) : 0.5;
  const bool reduced = argc > 3;
  omp_set_num_threads(threads);
  std::printf(
      "{\"peer\": \"hand\", \"threads\": %d, \"mode\": \"time\", \"import_s\": null, \"versions\": {\"compiler\": "
      "\"GCC %s\"},\n",
      threads, __VERSION__);
  std::printf("\"results\": {");
  bool first = true;
  for (const auto& [name, count] :
       {std::pair{"axpy_chain_1e3", 1000}, {"axpy_chain_1e6", 1'000'000}, {"axpy_chain_1e7", 10'000'000}}) {
    if (reduced && count > 1'000'000) continue;
    const auto x = uniform<float>(101, count, -2, 2);
    report<float>(
        name, count, [&](float* y) { axpy_chain(y, x.get(), count); },
        [&](std::int64_t i) { return axpy_reference(x[i]); }, 2e-5, budget, first);
  }
  {
    constexpr std::int64_t n = 1'000'000;
    const auto spots = uniform<double>(201, n, 10, 100), strikes = uniform<double>(202, n, 10, 100);
    const auto times = uniform<double>(203, n, 0.1, 2);
    report<double>(
        "black_scholes", 2 * n, [&](double* y) { black_scholes(y, spots.get(), strikes.get(), times.get(), n); },
        [&](std::int64_t i) { return black_scholes_reference(spots[i % n], strikes[i % n], times[i % n], i < n); },
        1e-12, budget, first);
  }
  {
    const auto x = uniform<float>(301, rows * columns, -4, 4);
    report<float>(
        "softmax_rows", rows * columns, [&](float* y) { softmax_rows(y, x.get()); },
        [&](std::int64_t i) { return softmax_reference(x.get(), i); }, 2e-5, budget, first);
  }
  if (!reduced) {
    const auto x = uniform<float>(401, side * side, 0, 1);
    report<float>(
        "transpose_add", side * side, [&](float* y) { transpose_add(y, x.get()); },
        [&](std::int64_t i) { return static_cast<double>(x[i]) + x[i % side * side + i / side]; }, 2e-5, budget, first);
  }
  std::printf("},\n\"transfer_s\": {");
  report_limits(reduced, budget / 2);
  std::printf("}}\n");
}
