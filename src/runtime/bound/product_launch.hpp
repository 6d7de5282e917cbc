// A matrix product in a bound plan: by a library, or by which generated kernel in its place.
#pragma once

#include "runtime/bound/launch.hpp"

namespace croton::runtime {

/// m, k and n of the product of a step, and how many there are of it.
struct ProductSizes {
  std::int64_t m, k, n, batch;
};
ProductSizes product_sizes(const Executable& executable, const plan::Step& step, const SizeTable& sizes);

/// The kernel that stands in for it at these sizes; -1: none, a library does it.
int generated_for(const Executable& executable, const plan::Step& step, const SizeTable& sizes);
/// The one for where there is no library.
int generated_always(const Executable& executable, const plan::Step& step, const SizeTable& sizes);

/// A product by a library.
class ProductLaunch final : public Launch {
 public:
  ProductLaunch(const Executable& executable, const plan::Step& step, Device& device, const ProductSizes& sizes);
  /// Whether the device has a routine for it: if not, a generated kernel runs in its place.
  bool has_routine() const { return has_routine_; }
  LaunchKind kind() const override { return LaunchKind::product; }
  void run(const LaunchRun& in) override;
  bool is_brief() const override { return true; }
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
