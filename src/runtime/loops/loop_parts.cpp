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

// The maximal number of multiplications of a product that reads its right matrix along columns, with a line of memory
// for each element.
constexpr std::int64_t max_strided_multiplications = std::int64_t{1} << 18;
// The maximal length of a reduction in a loop that one thread or one warp computes, although it would be split outside
// of a loop.
constexpr std::int64_t max_row_length = std::int64_t{1} << 16;

/// Whether products of that dtype are parts of their own kind; other products are kernels.
bool multiplies(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

std::vector<plan::BufferId> buffers_of_product(const plan::Step& step) {
  return {step.left.buffer, step.right.buffer, step.writes[0]};
}

/// A kernel as a part, without tiles, and with its split reductions as rows.
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
      } else if (const int generated = choose_generated(body_, step, layout_.sizes); generated >= 0) {
        add_kernel(step, generated);
      } else if (!add_product(step)) {
        return false;
      }
      const StepPart& part = layout_.parts.back();
      if (part.as_row && part.elements() > max_row_length) {
        why_ = "a reduction in it is long";
        if (layout_.on_host()) return false;
        layout_.shares.work.why_not_rows = why_;
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
      add_kernel(step, choose_generated_without_library(body_, step, layout_.sizes));
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

  /// The strides from row to row and from column to column. Elements of sequences can have any strides; other matrices
  /// are contiguous.
  std::pair<std::int64_t, std::int64_t> strides(const plan::MatrixRef& matrix, std::int64_t rows,
                                                std::int64_t columns) const {
    const std::vector<std::int64_t>& all = strides_of(matrix);
    const std::int64_t row = matrix.reshaped ? (matrix.transposed ? rows : columns) : all[all.size() - 2];
    const std::int64_t column = matrix.reshaped ? 1 : all.back();
    return matrix.transposed ? std::pair(column, row) : std::pair(row, column);
  }

  const std::vector<std::int64_t>& strides_of(const plan::MatrixRef& matrix) const {
    return layout_.memory.layouts[matrix.buffer].strides;
  }

  /// Whether a product may be in a launch of all steps. On a GPU the layout's work gets the reasons against each form.
  bool fits(const plan::Step& step, const ProductSizes& sizes, std::int64_t item) {
    const auto [m, k, n, batch] = sizes;
    const auto set_reason = [&, m = m, k = k, n = n](std::string& which, std::string_view reason) {
      if (!reason.empty()) which = fmt::format("its product {} x {} x {} {}", m, k, n, reason);
      return reason.empty();
    };
    const std::int64_t right_bytes = k * n * item;
    if (batch != 1) return set_reason(why_, "is one of a batch");
    if ((step.right.transposed || strides_of(step.right).back() != 1) && m * k * n > max_strided_multiplications)
      return set_reason(why_, "reads its right matrix against the rows");
    if (layout_.on_host()) return set_reason(why_, right_bytes > expr::most_right_bytes_cpu ? "is large" : "");
    const auto cache_bytes = static_cast<std::int64_t>(layout_.device.facts().cache_bytes);
    LoopWork& work = layout_.shares.work;
    set_reason(work.why_not_rows, plan::why_not_product_in_rows(right_bytes));
    set_reason(work.why_not_grid, plan::why_not_product_in_grid(m, k, n, right_bytes, cache_bytes));
    return true;
  }

  LoopLayout& layout_;
  const Executable& body_;
  std::string& why_;
};

/// A buffer that a part uses, and whether it writes to it.
using Touched = std::pair<plan::BufferId, bool>;

/// The buffer whose memory it uses.
plan::BufferId root_of(plan::BufferId b, const plan::Plan& plan) {
  const plan::BufferId home = plan.buffers[b].in_place_of;
  return home != plan::no_buffer ? home : b;
}

std::vector<Touched> touched_by(const StepPart& part, const plan::Plan& plan) {
  std::vector<Touched> touched;
  for (const plan::BufferId b : part.buffers) {
    const bool written = std::ranges::find(part.step->writes, b) != part.step->writes.end();
    touched.emplace_back(root_of(b, plan), written);
  }
  return touched;
}

}  // namespace

bool find_parts(LoopLayout& layout, std::string& why) { return PartFinder(layout, why).run(); }

void show_parts(LoopLayout& layout) {
  for (const plan::Step& step : layout.body->plan.steps) layout.parts.push_back(shown_part(layout, step));
}

void find_barriers(LoopLayout& layout) {
  std::vector<Touched> touched;  // since the last barrier
  for (std::size_t i = 0; i < layout.parts.size(); ++i) {
    const std::vector<Touched> own = touched_by(layout.parts[i], layout.body->plan);
    const bool clash = std::ranges::any_of(own, [&](const Touched& mine) {
      return std::ranges::any_of(
          touched, [&](const Touched& theirs) { return mine.first == theirs.first && (mine.second || theirs.second); });
    });
    if (i > 0) layout.parts[i - 1].sync_after = clash;
    if (clash) touched.clear();
    touched.insert(touched.end(), own.begin(), own.end());
  }
}

bool writes_condition_at_once(const LoopLayout& layout) {
  const plan::Plan& plan = layout.body->plan;
  const plan::BufferId condition = root_of(layout.condition_buffer(), plan);
  for (const StepPart& part : layout.parts) {
    if (part.is_split()) return false;  // its results come after a barrier of its own
    if (std::ranges::count(touched_by(part, plan), Touched(condition, true)) > 0) return true;
    if (part.sync_after) return false;
  }
  return true;
}

}  // namespace croton::runtime
