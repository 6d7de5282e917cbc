#include "gpu/ceilings.hpp"

#include <algorithm>
#include <croton/array.hpp>
#include <functional>
#include <span>

#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/libraries/blaslt.hpp"
#include "sampling.hpp"

namespace bench::gpu {

namespace cuda = croton::runtime::cuda;

namespace {

constexpr int samples = 20, per_sample = 5;

/// `work` is the number of bytes or operations of one run.
Rate rate_of(const std::shared_ptr<cuda::Context>& context, const cuda::Stream& stream, double work,
             const std::function<void()>& run) {
  cuda::Event start(context, cuda::Event::Timing::on), end(context, cuda::Event::Timing::on);
  for (int i = 0; i < 3; ++i) run();
  stream.synchronize();
  std::vector<double> rates;
  while (rates.size() < samples) {
    start.record(stream);
    for (int i = 0; i < per_sample; ++i) run();
    end.record(stream);
    end.synchronize();
    rates.push_back(per_sample * work / (std::max(end.milliseconds_since(start), 1e-6) * 1e-3));
  }
  std::sort(rates.begin(), rates.end());
  return {quantile(rates, 0.5), quantile(rates, 0.1), quantile(rates, 0.9), samples};
}

/// Random numbers from -1 to 1 in the whole buffer: constant ones may be moved and multiplied faster.
void randomize(const cuda::Stream& stream, const cuda::Buffer& buffer) {
  const auto piece = static_cast<std::int64_t>(std::min<std::size_t>(buffer.size(), 16 << 20) / 4);
  const croton::Array noise = croton::Array::uniform(croton::DType::float32, {piece}, 1, -1, 1);
  const std::span<const std::byte> bytes = std::as_bytes(noise.data<float>());
  for (std::size_t at = 0; at < buffer.size(); at += bytes.size()) {
    cuda::copy_in(stream, buffer.data() + at, bytes.first(std::min(bytes.size(), buffer.size() - at)));
  }
}

}  // namespace

Rate copy_rate(int index, std::size_t bytes) {
  const std::shared_ptr<cuda::Context> context = cuda::Context::get(index);
  const cuda::Stream stream(context);
  const cuda::Buffer from(stream, bytes), to(stream, bytes);
  randomize(stream, from);
  return rate_of(context, stream, 2 * static_cast<double>(bytes),
                 [&] { cuda::copy_within(stream, to.data(), from.data(), bytes); });
}

Rate product_rate(int index, std::int64_t n, bool tf32) {
  const std::shared_ptr<cuda::Context> context = cuda::Context::get(index);
  const cuda::Stream stream(context);
  const std::size_t bytes = static_cast<std::size_t>(n * n) * sizeof(float);
  const cuda::Buffer a(stream, bytes), b(stream, bytes), c(stream, bytes);
  randomize(stream, a);
  randomize(stream, b);
  cuda::MatrixProduct product;
  product.m = product.n = product.k = product.lda = product.ldb = product.ldc = n;
  product.a = a.data(), product.b = b.data(), product.c = c.data();
  cuda::BlasLt library(context);
  const cuda::Precision precision = tf32 ? cuda::Precision::tf32 : cuda::Precision::full;
  const cuda::Buffer workspace(stream, library.workspace_bytes(product, precision));
  const double size = static_cast<double>(n);
  return rate_of(context, stream, 2 * size * size * size,
                 [&] { library.gemm(stream, product, workspace.data(), precision); });
}

}  // namespace bench::gpu
