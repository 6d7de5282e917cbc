// axpy_chain and softmax_rows written by hand, as a programmer would who cares for speed: one fused loop, vectorised by
// the compiler with the C library's vector functions. And the limits of the machine's memory: for every workload the
// time to read as many bytes as its inputs have and to write as many as its results have.
//
//   c++ -std=c++20 -O3 -march=native -ffast-math -fopenmp hand.cpp -o hand && ./hand [THREADS [SECONDS [reduced]]]
//
// "median_s" writes each result into memory that the allocator gives (as the other programs do), "reused_s" always into
// the same. `reduced` leaves out the largest sizes.
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

using Plain = std::unique_ptr<float[]>;
constexpr std::int64_t rows = 4096, columns = 1024;

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<float[], Free>;

/// Memory in large pages where the system has them, as NumPy and Croton ask for: small ones cost more than the
/// transfer.
Buffer buffer(std::int64_t count) {
  constexpr std::size_t page = 2 << 20;
  const std::size_t bytes = (count * sizeof(float) + page) / page * page;
  auto* memory = static_cast<float*>(std::aligned_alloc(page, bytes));
  if (memory == nullptr) std::abort();
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::fill_n(memory, count, 0.0f);
  return Buffer(memory);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median_seconds(const std::function<void()>& call, double budget) {
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
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

/// SplitMix64, as README.md says.
Buffer uniform(std::uint64_t seed, std::int64_t count, double low, double high) {
  Buffer values = buffer(count);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    values[i] = static_cast<float>(low + (high - low) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53);
  }
  return values;
}

void axpy_chain(float* y, const float* x, std::int64_t n) {
#pragma omp parallel for simd schedule(static) if (parallel : n > 20000)
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = std::tanh(1.5f * x[i] + 0.25f) / (1 + std::exp(-x[i])) + std::exp(-x[i] * x[i]);
  }
}

void softmax_rows(float* y, const float* x, std::int64_t) {
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

double axpy_reference(const float* x, std::int64_t i) {
  const double v = x[i];
  return std::tanh(1.5 * v + 0.25) / (1 + std::exp(-v)) + std::exp(-v * v);
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

template <class Kernel, class Reference>
void report(const char* name, const float* x, std::int64_t n, Kernel kernel, Reference want, double budget,
            bool& first) {
  const Buffer y = buffer(n);
  kernel(y.get(), x, n);
  double off = 0, top = 0, sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double wanted = want(x, i);
    off = std::max(off, std::abs(y[i] - wanted));
    top = std::max(top, std::abs(wanted));
    sum += std::abs(static_cast<double>(y[i]));
  }
  std::printf("%s\"%s\": {\"error_vs_reference\": %.3g, \"checksum\": %.10g", comma(first).c_str(), name, off / top,
              sum);
  if (!(off <= 2e-5 * top)) {
    std::printf(", \"error\": \"wrong result\"}");
    return;
  }
  const double reused = median_seconds([&] { kernel(y.get(), x, n); }, budget);
  const double fresh = median_seconds([&] { kernel(Plain(new float[n]).get(), x, n); }, budget);
  std::printf(", \"median_s\": %.6g, \"reused_s\": %.6g}", fresh, reused);
}

/// Seconds to read and to write so many MB (1e6 bytes), in turns of some KB.
double transfer_seconds(double read_mb, double write_mb, double budget) {
  constexpr std::int64_t turns = 4096;
  const std::int64_t reads = static_cast<std::int64_t>(read_mb * 1e6 / 4 / turns);
  const std::int64_t writes = static_cast<std::int64_t>(write_mb * 1e6 / 4 / turns);
  const Buffer input = buffer(turns * reads), output = buffer(turns * writes);
  const float* from = input.get();
  float* to = output.get();
  float everything = 0;
  const double seconds = median_seconds(
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
  return seconds;
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
  const std::int64_t largest = reduced ? 1'000'000 : 10'000'000;
  const Buffer x = uniform(101, largest, -2, 2), matrix = uniform(301, rows * columns, -4, 4);
  bool first = true;
  report("axpy_chain_1e3", x.get(), 1000, axpy_chain, axpy_reference, budget, first);
  report("axpy_chain_1e6", x.get(), 1'000'000, axpy_chain, axpy_reference, budget, first);
  if (!reduced) report("axpy_chain_1e7", x.get(), largest, axpy_chain, axpy_reference, budget, first);
  report("softmax_rows", matrix.get(), rows * columns, softmax_rows, softmax_reference, budget, first);
  std::printf("},\n\"transfer_s\": {");
  report_limits(reduced, budget / 2);
  std::printf("}}\n");
}
