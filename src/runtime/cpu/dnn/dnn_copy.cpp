#include "runtime/cpu/dnn/dnn_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>

namespace croton::runtime::cpu::dnn {

StridedCopy StridedCopy::of(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& steps) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return std::abs(steps[a]) > std::abs(steps[b]); });
  StridedCopy copy;
  copy.dense_.resize(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    copy.dense_[order[i]] = step;
    step *= sizes[order[i]];
  }
  for (const std::size_t d : order) copy.axes_.push_back({sizes[d], steps[d]});
  return copy;
}

std::int64_t StridedCopy::elements() const {
  std::int64_t count = 1;
  for (const Axis& axis : axes_) count *= axis.size;
  return count;
}

/// Calls row(strided, dense) for each row along the last axis, with its first element in both memories.
template <class Row>
void StridedCopy::each_row(Row row) const {
  std::vector<std::int64_t> index(axes_.size(), 0);
  std::int64_t strided = 0;
  const std::int64_t total = elements();
  for (std::int64_t dense = 0; dense < total; dense += axes_.back().size) {
    row(strided, dense);
    for (std::size_t d = axes_.size() - 1; d-- > 0;) {
      strided += axes_[d].step;
      if (++index[d] < axes_[d].size) break;
      strided -= axes_[d].size * axes_[d].step;
      index[d] = 0;
    }
  }
}

void StridedCopy::gather(const float* strided, float* dense) const {
  const Axis last = axes_.back();
  each_row([&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = 0; i < last.size; ++i) dense[to + i] = strided[from + i * last.step];
  });
}

void StridedCopy::scatter(const float* dense, float* strided) const {
  const Axis last = axes_.back();
  each_row([&](std::int64_t to, std::int64_t from) {
    for (std::int64_t i = 0; i < last.size; ++i) strided[to + i * last.step] = dense[from + i];
  });
}

}  // namespace croton::runtime::cpu::dnn
