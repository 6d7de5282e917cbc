#include "runtime/bound/product_launch.hpp"

#include <algorithm>

#include "runtime/bound/launch_time.hpp"
#include "runtime/bound/user_line.hpp"

namespace croton::runtime {

ProductSizes product_sizes(const Executable& executable, const plan::Step& step, const SizeTable& sizes) {
  const fuse::ProductCall& call = executable.call_of(step).as<fuse::ProductCall>();
  const expr::Arena& arena = executable.program.graph.arena;
  const auto size = [&](NodeId node, std::size_t axis) {
    return sizes[arena.representative(arena.type(node).shape[axis])];
  };
  const std::size_t rank = arena.type(call.result).rank();
  std::int64_t batch = 1;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) batch *= size(call.result, axis);
  return {size(call.result, rank - 2), size(call.left, rank - 1), size(call.result, rank - 1), batch};
}

int choose_generated(const Executable& executable, const plan::Step& step, const SizeTable& sizes) {
  const auto [m, k, n, batch] = product_sizes(executable, step, sizes);
  const auto form = fuse::generated_product(executable.call_of(step).as<fuse::ProductCall>(), m, k, n);
  return form ? static_cast<int>(*form) : -1;
}

int choose_generated_without_library(const Executable& executable, const plan::Step& step, const SizeTable& sizes) {
  const int chosen = choose_generated(executable, step, sizes);
  return chosen >= 0 ? chosen : static_cast<int>(fuse::GeneratedProduct::along_rows);
}

ProductLaunch::ProductLaunch(const Executable& executable, const plan::Step& step, Device& device,
                             const ProductSizes& sizes)
    : step_(&step), device_(device), origin_(&executable.call_of(step).as<fuse::ProductCall>().origin) {
  const fuse::ProductCall& call = executable.call_of(step).as<fuse::ProductCall>();
  MatrixProduct& p = product_;
  p.dtype = executable.program.graph.arena.type(call.result).dtype;
  p.transpose_a = step.left.transposed;
  p.transpose_b = step.right.transposed;
  p.m = sizes.m;
  p.n = sizes.n;
  p.k = sizes.k;
  p.alpha = call.alpha;
  p.beta = call.beta;
  p.lda = std::max<std::int64_t>(1, p.transpose_a ? p.m : p.k);
  p.ldb = std::max<std::int64_t>(1, p.transpose_b ? p.k : p.n);
  p.ldc = std::max<std::int64_t>(1, p.n);
  p.batch = sizes.batch;
  p.stride_a = call.left_broadcast ? 0 : p.m * p.k;
  p.stride_b = call.right_broadcast ? 0 : p.k * p.n;
  p.stride_c = p.m * p.n;
  has_routine_ = device.prepare(p);
  result_bytes_ = p.batch * p.m * p.n * static_cast<std::int64_t>(size_of(p.dtype));
}

void ProductLaunch::run(const LaunchRun& in) {
  with_lines(*origin_, [&] { run_library(in.memory); });
  ++in.counts.products;
}

LaunchTime ProductLaunch::time(double) const {
  if (device_.facts().has_processor) return {launch_time::enqueue};
  return {0, static_cast<double>(product_.m) * static_cast<double>(product_.k) *
                 static_cast<double>(product_.n * product_.batch) / launch_time::multiplications};
}

void ProductLaunch::run_library(const Memory& memory) const {
  MatrixProduct product = product_;
  const auto at = [&](plan::BufferId b) { return memory.base[b]; };
  product.a = at(step_->left.buffer);
  product.b = at(step_->right.buffer);
  product.c = at(step_->writes[0]);
  if (step_->accumulate != plan::no_buffer && at(step_->accumulate) != product.c && result_bytes_ > 0) {
    copy_between(device_, product.c, device_, at(step_->accumulate), static_cast<std::size_t>(result_bytes_));
  }
  device_.gemm(product);
}

}  // namespace croton::runtime
