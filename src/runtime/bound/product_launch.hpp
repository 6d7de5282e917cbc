// ProductLaunch: a matrix product in a bound plan by a library. Also chooses between the library and generated kernels.
#pragma once

#include "runtime/bound/launch.hpp"

namespace croton::runtime {

/// m, k and n of the product of a step, and the number of products in the batch.
struct ProductSizes {
  std::int64_t m, k, n, batch;
};
ProductSizes product_sizes(const Executable& executable, const plan::Step& step, const SizeTable& sizes);

/// The index of the generated kernel for the product at these sizes; -1 if a library computes it.
int choose_generated(const Executable& executable, const plan::Step& step, const SizeTable& sizes);
/// The index of the generated kernel that is used without a library.
int choose_generated_without_library(const Executable& executable, const plan::Step& step, const SizeTable& sizes);

/// A product by a library.
class ProductLaunch final : public Launch {
 public:
  ProductLaunch(const Executable& executable, const plan::Step& step, Device& device, const ProductSizes& sizes);
  /// Whether the device has a routine for the product. If not, a generated kernel is used.
  bool has_routine() const { return has_routine_; }
  void run(const LaunchRun& in) override;
  bool is_tiny() const override { return true; }
  LaunchTime time(double bytes) const override;

 private:
  void run_library(const Memory& memory) const;

  const plan::Step* step_;
  Device& device_;
  const expr::Origin* origin_;
  bool has_routine_ = true;
  MatrixProduct product_;
  std::int64_t result_bytes_ = 0;
};

}  // namespace croton::runtime
