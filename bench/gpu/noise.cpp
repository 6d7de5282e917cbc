#include "gpu/noise.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace bench::gpu {

using croton::Array;
using croton::DType;

Noise::Noise(std::uint64_t seed, double low, double high, std::int64_t size)
    : piece_(Array::uniform(DType::float32, {std::min(size, largest_period)}, seed, low, high)),
      period_(piece_.size()),
      values_(piece_.data<float>().data()) {}

Array Noise::array(const croton::Sizes& shape, std::int64_t first) const {
  Array result = Array::empty(DType::float32, shape);
  const std::span<float> to = result.data<float>();
  const auto size = static_cast<std::int64_t>(to.size());
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t start = (first + done) % period_, count = std::min(size - done, period_ - start);
    std::copy_n(values_ + start, count, to.data() + done);
    done += count;
  }
  return result;
}

double Noise::sum(std::int64_t count) const {
  const auto of_first = [this](std::int64_t n) { return std::accumulate(values_, values_ + n, 0.0); };
  return static_cast<double>(count / period_) * of_first(period_) + of_first(count % period_);
}

}  // namespace bench::gpu
