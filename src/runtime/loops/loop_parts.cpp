#include "runtime/loops/loop_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/shape.hpp"
#include "plan/loop_form.hpp"

namespace croton::runtime {
namespace {

// Multiplications of a product that reads its right matrix against the rows, a line of memory for each.
constexpr std::int64_t most_against_rows = std::int64_t{1} << 18;
// A reduction that is split where it stands alone is no longer than this in a loop where one thread, or one warp, does
// it.
constexpr std::int64_t longest_row = std::int64_t{1} << 16;

/// Whether products of that dtype are computed as such; others are kernels.
bool multiplies(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

std::vector<plan::BufferId> buffers_of_product(const plan::Step& step) {
  return {step.left.buffer, step.right.buffer, step.writes[0]};
}

/// A kernel as a part, with one row for each reduction, and without tiles.
StepPart kernel_part(const plan::Step& step, BoundKernel kernel) {
  StepPart part;
  part.step = &step;
  part.kernel = std::move(kernel);
  codegen::Launch& launch = part.kernel->launch;
  launch.variant = launch.variant.without_tiles();
  if (part.kernel->analysis->kernel.family == kernel::Family::split) {
    auto row = std::make_shared<codegen::Analysis>(*part.kernel->analysis);
    row->kernel.family = kernel::Family::row;
    part.as_row = std::move(row);
  }
  for (std::size_t a = 0; a < part.analysis()->accesses.size(); ++a) {
    const std::size_t operand = part.analysis()->accesses[a].operand;
    part.buffers.push_back(part.kernel->operands[operand]);
    part.offsets.push_back(launch.offsets[a] * base::element_size(part.analysis()->kernel.operands[operand].dtype));
  }
  return part;
}

StepPart shown_part(const LoopLayout& layout, const plan::Step& step) {
  const bool is_product = layout.body->call_of(step).is<fuse::ProductCall>();
  if (is_product && multiplies(layout.dtype_of(step.writes[0]))) {
    StepPart part;
    part.step = &step;
    part.buffers = buffers_of_product(step);
    part.matrix.assign(8, 1);
    return part;
  }
  BoundKernel kernel = kernel_of(*layout.body, step, static_cast<int>(fuse::GeneratedProduct::along_rows));
  kernel.extents = codegen::default_extents(*kernel.analysis);
  kernel.launch = codegen::default_launch(*kernel.analysis, kernel.extents);
  return kernel_part(step, std::move(kernel));
}

class PartFinder {
 public:
  PartFinder(LoopLayout& layout, std::string& why) : layout_(layout), body_(*layout.body), why_(why) {}

  bool run() {
    for (const plan::Step& step : body_.plan.steps) {
      const fuse::Call& call = body_.call_of(step);
      if (call.is<fuse::KernelCall>()) {
        add_kernel(step, -1);
      } else if (const int generated = generated_for(body_, step, layout_.sizes); generated >= 0) {
        add_kernel(step, generated);
      } else if (!add_product(step)) {
        return false;
      }
      const StepPart& part = layout_.parts.back();
      if (part.as_row && part.elements() > longest_row) {
        why_ = "a reduction in it is long";
        if (layout_.on_host()) return false;
        layout_.shares.work.too_much_of_rows = why_;
      }
    }
    return true;
  }

 private:
  void add_kernel(const plan::Step& step, int generated) {
    layout_.parts.push_back(kernel_part(step, bind_kernel(body_, step, generated, layout_.sizes, layout_.memory)));
  }

  bool add_product(const plan::Step& step) {
    const ProductSizes sizes = product_sizes(body_, step, layout_.sizes);
    const DType dtype = body_.program.graph.arena.type(body_.call_of(step).as<fuse::ProductCall>().result).dtype;
    if (!multiplies(dtype)) {
      add_kernel(step, generated_always(body_, step, layout_.sizes));
      return true;
    }
    if (!fits(step, sizes, base::element_size(dtype))) return false;
    StepPart& part = layout_.parts.emplace_back();
    part.sizes = sizes;
    part.step = &step;
    part.buffers = buffers_of_product(step);
    part.offsets = {0, 0, 0};
    const auto left = strides(step.left, sizes.m, sizes.k), right = strides(step.right, sizes.k, sizes.n);
    part.matrix = {sizes.m, sizes.k, sizes.n, left.first, left.second, right.first, right.second, sizes.n};
    return true;
  }

  /// From row to row and from column to column. Elements of sequences may lie in any way, the others are contiguous.
  std::pair<std::int64_t, std::int64_t> strides(const plan::MatrixRef& matrix, std::int64_t rows,
                                                std::int64_t columns) const {
    const std::vector<std::int64_t>& all = strides_of(matrix);
    const std::int64_t row = matrix.other_sizes ? (matrix.transposed ? rows : columns) : all[all.size() - 2];
    const std::int64_t column = matrix.other_sizes ? 1 : all.back();
    return matrix.transposed ? std::pair(column, row) : std::pair(row, column);
  }

  const std::vector<std::int64_t>& strides_of(const plan::MatrixRef& matrix) const {
    return layout_.memory.layouts[matrix.buffer].strides;
  }

  /// Whether a product may be in a launch of all steps; on a GPU the layout's work has what it may not be in.
  bool fits(const plan::Step& step, const ProductSizes& sizes, std::int64_t item) {
    const auto [m, k, n, batch] = sizes;
    const auto says = [&, m = m, k = k, n = n](std::string& which, std::string_view reason) {
      if (!reason.empty()) which = fmt::format("its product {} x {} x {} {}", m, k, n, reason);
      return reason.empty();
    };
    const std::int64_t right_bytes = k * n * item;
    if (batch != 1) return says(why_, "is one of a batch");
    if ((step.right.transposed || strides_of(step.right).back() != 1) && m * k * n > most_against_rows)
      return says(why_, "reads its right matrix against the rows");
    if (layout_.on_host()) return says(why_, right_bytes > expr::most_right_bytes_cpu ? "is large" : "");
    const auto cache_bytes = static_cast<std::int64_t>(layout_.device.facts().cache_bytes);
    LoopWork& work = layout_.shares.work;
    says(work.too_much_of_rows, plan::product_too_much_of_rows(right_bytes));
    says(work.too_much_of_grid, plan::product_too_much_of_grid(m, k, n, right_bytes, cache_bytes));
    return true;
  }

  LoopLayout& layout_;
  const Executable& body_;
  std::string& why_;
};

/// A buffer that a part touches, and whether it writes there.
using Touched = std::pair<plan::BufferId, bool>;

std::vector<Touched> touched_by(const StepPart& part, const plan::Plan& plan) {
  const auto root = [&](plan::BufferId b) {
    const plan::BufferId home = plan.buffers[b].in_place_of;
    return home != plan::no_buffer ? home : b;
  };
  std::vector<Touched> touched;
  for (const plan::BufferId b : part.buffers) {
    const bool written = std::ranges::find(part.step->writes, b) != part.step->writes.end();
    touched.emplace_back(root(b), written);
  }
  return touched;
}

}  // namespace

bool find_parts(LoopLayout& layout, std::string& why) { return PartFinder(layout, why).run(); }

void show_parts(LoopLayout& layout) {
  for (const plan::Step& step : layout.body->plan.steps) layout.parts.push_back(shown_part(layout, step));
}

void find_meetings(LoopLayout& layout) {
  std::vector<Touched> touched;  // since the last meeting
  for (std::size_t i = 0; i < layout.parts.size(); ++i) {
    const std::vector<Touched> own = touched_by(layout.parts[i], layout.body->plan);
    const bool clash = std::ranges::any_of(own, [&](const Touched& mine) {
      return std::ranges::any_of(
          touched, [&](const Touched& theirs) { return mine.first == theirs.first && (mine.second || theirs.second); });
    });
    if (i > 0) layout.parts[i - 1].meets = clash;
    if (clash) touched.clear();
    touched.insert(touched.end(), own.begin(), own.end());
  }
}

}  // namespace croton::runtime
