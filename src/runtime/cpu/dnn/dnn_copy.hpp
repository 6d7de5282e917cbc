// Copies of arrays with steps that oneDNN cannot describe: negative ones.
#pragma once

#include <cstdint>
#include <vector>

namespace croton::runtime::cpu::dnn {

/// Copies between memory with any steps and memory without gaps, whose axes have the same order: from the largest step
/// to the smallest.
class StridedCopy {
 public:
  static StridedCopy of(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& steps);

  /// The steps of the memory without gaps.
  const std::vector<std::int64_t>& dense_steps() const { return dense_; }
  std::int64_t elements() const;
  /// Copies to the memory without gaps, and from it.
  void gather(const float* strided, float* dense) const;
  void scatter(const float* dense, float* strided) const;

 private:
  struct Axis {
    std::int64_t size, step;
  };
  template <class Row>
  void each_row(Row row) const;

  std::vector<Axis> axes_;  // in the order of the dense memory
  std::vector<std::int64_t> dense_;
};

}  // namespace croton::runtime::cpu::dnn
