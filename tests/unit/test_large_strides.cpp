// Operands that span more than 2^31 elements: kernels of every family with large strides, in each width of indices
// (codegen/index_width.hpp), on a simulated GPU and on the CPU. Only a few elements have values, so that only a few
// pages of the operands are ever used. Elements are small integers, and expected values are computed here.
#include <sys/mman.h>

#include <croton/croton.hpp>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "codegen/routine.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "ops/registry.hpp"
#include "runtime/bound/kernel_launch.hpp"

using namespace croton;
using runtime::BoundKernel;
using test::Machine;

namespace {

// Three of these are more than 2^31; a multiple of 16, and one that is not.
constexpr std::int64_t third = (std::int64_t{1} << 30) + 16, odd_third = third + 1;
// Three of these, and a block beyond the end of the last one, are a little less than 2^31.
constexpr std::int64_t small_third = ((std::int64_t{1} << 31) - 5700) / 3 / 16 * 16;

std::int64_t number_of(const Sizes& at, std::size_t operand) {
  std::int64_t number = static_cast<std::int64_t>(operand) * 29;
  for (const std::int64_t i : at) number = number * 31 + i * 7;
  return number % 61 - 30;
}

/// An operand with the strides of a C-ordered array of `shape`, of which only the first elements along each axis have
/// values.
struct Operand {
  DType dtype = DType::int8;
  Sizes shape;
  Sizes used = shape;
  std::vector<std::int64_t> values = {};  // of a vector; empty: number_of

  std::int64_t bytes() const {
    return std::accumulate(shape.begin(), shape.end(), static_cast<std::int64_t>(size_of(dtype)), std::multiplies<>());
  }
  std::int64_t offset(const Sizes& at) const {  // in bytes
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + at[d];
    return offset * static_cast<std::int64_t>(size_of(dtype));
  }
};

/// The value of an element of the operand with that number.
std::int64_t value_of(const Operand& operand, std::size_t number, const Sizes& at) {
  return operand.values.empty() ? number_of(at, number) : operand.values[static_cast<std::size_t>(at[0])];
}

/// Calls `visit` with the position of each used element.
void visit_used(const Operand& operand, const std::function<void(const Sizes&)>& visit) {
  Sizes at(operand.used.size(), 0);
  const std::int64_t count =
      std::accumulate(operand.used.begin(), operand.used.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = at.size(); d-- > 0; rest /= operand.used[d]) at[d] = rest % operand.used[d];
    visit(at);
  }
}

/// The values of read operands.
using In = std::function<std::int64_t(std::size_t operand, const Sizes& at)>;

struct Work {
  std::string kernel;
  std::vector<std::int64_t> extents;
  std::vector<Operand> operands;
  /// The element of a result.
  std::function<std::int64_t(const In& in, std::size_t operand, const Sizes& at)> expected;
};

struct Case {
  std::string name;
  std::vector<Work> kernels;  // of one launch
  std::string schedule;       // a part of it as printed, for a GPU
  std::string overrides = {};
};

/// Memory of a device for an operand, of which only the used pages cost anything.
std::shared_ptr<void> allocate(runtime::Device& device, std::size_t bytes) {
  if (!device.on_host()) return device.allocate(bytes);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  return {pages, [bytes](void* p) { munmap(p, bytes); }};
}

/// One launch with its memory.
class Launched {
 public:
  Launched(const Case& of, runtime::Device& device) : case_(of), device_(device) {
    for (const Work& work : of.kernels) add(work);
    const codegen::Machine machine = runtime::machine_of(device);
    runtime::schedule_kernels(bound_, machine, of.overrides);
    const codegen::Text text = runtime::emit_launch(bound_, device.target());
    for (const BoundKernel& kernel : bound_)
      schedules_.push_back(codegen::print(kernel.schedule, kernel.analysis->kernel.family));
    tiled_ = bound_[0].launch.variant.tiled();
    runtime::RunCounts counts;
    runtime::CheckWords words(device);
    runtime::KernelLaunch launch(std::move(bound_), text, runtime::Engine::compiled, device, words, machine,
                                 of.overrides, counts);
    words.allocate();
    if (device.on_host()) {
      runtime::cpu::KernelCounts compiled;
      launch.set_entry(runtime::cpu::get_kernels(std::span(&text, 1), compiled)[0]);
    }
    std::uint32_t failure[3] = {};
    runtime::HostResults host;
    launch.run({memory_, counts, failure, host, {}, nullptr});
    CHECK(failure[0] == 0);
  }

  const std::vector<std::string>& schedules() const { return schedules_; }
  bool is_tiled() const { return tiled_; }

  /// The number of wrong elements of results.
  std::size_t wrong() const {
    std::size_t wrong = 0, first = 0;
    for (const Work& work : case_.kernels) {
      const In in = [&](std::size_t operand, const Sizes& at) { return value(work, operand, at); };
      const std::size_t reads = written_from(work);
      for (std::size_t k = reads; k < work.operands.size(); ++k) {
        visit_used(work.operands[k], [&](const Sizes& at) {
          wrong += element(work.operands[k], first + k, at) == work.expected(in, k, at) ? 0 : 1;
        });
      }
      first += work.operands.size();
    }
    return wrong;
  }

 private:
  static std::int64_t value(const Work& work, std::size_t operand, const Sizes& at) {
    return value_of(work.operands[operand], operand, at);
  }
  std::size_t written_from(const Work& work) const {
    const kernel::Kernel kernel = kernel::parse_kernel(work.kernel);
    std::size_t reads = 0;
    while (!kernel.operands[reads].written) ++reads;
    return reads;
  }

  void add(const Work& work) {
    auto call = std::make_shared<fuse::KernelCall>();
    call->kernel = std::make_shared<const kernel::Kernel>(kernel::parse_kernel(work.kernel));
    call->writes.resize(work.operands.size() - written_from(work), expr::no_node);
    analyses_.push_back(codegen::analyse(*call->kernel));
    BoundKernel kernel;
    kernel.call = call.get();
    kernel.analysis = analyses_.back().get();
    kernel.extents = work.extents;
    for (std::size_t k = 0; k < work.operands.size(); ++k) {
      const Operand& operand = work.operands[k];
      kernel.operands.push_back(plan::BufferId(memory_.base.size()));
      owners_.push_back(allocate(device_, static_cast<std::size_t>(operand.bytes())));
      memory_.base.push_back(static_cast<char*>(owners_.back().get()));
      memory_.layouts.push_back(codegen::Layout::contiguous(operand.shape));
      if (!call->kernel->operands[k].written) fill(work, k);
    }
    kernel.launch = runtime::specialise_kernel(kernel, memory_);
    calls_.push_back(std::move(call));
    bound_.push_back(std::move(kernel));
  }

  void fill(const Work& work, std::size_t k) {
    const Operand& operand = work.operands[k];
    visit_used(operand, [&](const Sizes& at) {
      const Array element = Array(value(work, k, at)).astype(operand.dtype);
      device_.copy_in(memory_.base.back() + operand.offset(at), std::as_const(element).raw(), size_of(operand.dtype));
    });
  }
  std::int64_t element(const Operand& operand, std::size_t buffer, const Sizes& at) const {
    Array element = Array::empty(operand.dtype, {});
    device_.copy_out(element.raw(), memory_.base[plan::BufferId(buffer)] + operand.offset(at), size_of(operand.dtype));
    return element.astype(DType::int64).item<std::int64_t>();
  }

  const Case& case_;
  runtime::Device& device_;
  runtime::Memory memory_;
  std::vector<std::shared_ptr<void>> owners_;
  std::vector<std::shared_ptr<const fuse::KernelCall>> calls_;
  std::vector<std::shared_ptr<const codegen::Analysis>> analyses_;
  std::vector<BoundKernel> bound_;
  std::vector<std::string> schedules_;
  bool tiled_ = false;
};

void check(const std::vector<Case>& cases) {
  const Machine machine(Machine::Kind::simulated);
  for (const Case& one : cases) {
    for (const std::string device : {"cuda0", "cpu"}) {
      INFO(one.name << " on " << device);
      const Launched launched(one, test::device_called(device));
      if (device == "cuda0") {
        for (const std::string& schedule : launched.schedules()) CHECK_THAT(schedule, contains(one.schedule));
      }
      CHECK(launched.wrong() == 0);
    }
  }
}

// ---- pointwise ----

/// The difference of a matrix with few columns and of a vector.
Work lines(std::int64_t columns, std::int64_t stride) {
  return {
      "kernel pointwise [i0: e0, i1: e1] (e0, e1, p0: i8[2], p1: i8[1]) -> (p2: i8[2])\n"
      "  p2[i0, i1] = sub(p0[i0, i1], p1[i1])",
      {3, columns},
      {{.shape = {3, stride}, .used = {3, columns}},
       {.shape = {columns}},
       {.shape = {3, stride}, .used = {3, columns}}},
      [](const In& in, std::size_t, const Sizes& at) { return in(0, at) - in(1, {at[1]}); }};
}

/// A column of a matrix.
Work column_of_matrix() {
  return {"kernel pointwise [i0: e0] (e0, p0: i8[2]) -> (p1: i8[1])\n  p1[i0] = add(p0[i0, 3], i8 1)",
          {3},
          {{.shape = {3, third}, .used = {3, 4}}, {.shape = {3}}},
          [](const In& in, std::size_t, const Sizes& at) { return in(0, {at[0], 3}) + 1; }};
}

/// Three axes, from the last index of the first one, plus positions.
Work boxes() {
  const Sizes shape = {3, 1 << 14, (1 << 16) + 16}, used = {3, 4, 40};
  return {
      "kernel pointwise [i0: e0, i1: e1, i2: e2] (e0, e1, e2, p0: i8[3]) -> (p1: i8[3])\n"
      "  p1[i0, i1, i2] = add(p0[sub(i64 2, i0), i1, i2], cast(add(i0, i2), dtype=i8))",
      {3, 4, 40},
      {{.shape = shape, .used = used}, {.shape = shape, .used = used}},
      [](const In& in, std::size_t, const Sizes& at) { return in(0, {2 - at[0], at[1], at[2]}) + at[0] + at[2]; }};
}

/// A matrix whose rows and columns are read at positions.
Work positions() {
  return {
      "kernel pointwise [i0: e0, i1: e1] (e0, e1, p0: i64[1], p1: i64[1], p2: i8[2]) -> (p3: i8[2])\n"
      "  p3[i0, i1] = p2[p0[i0], p1[i1]]",
      {4, 5},
      {{.dtype = DType::int64, .shape = {4}, .values = {2, 0, 1, 2}},
       {.dtype = DType::int64, .shape = {5}, .values = {30, 1, 7, 7, 0}},
       {.shape = {3, third}, .used = {3, 40}},
       {.shape = {4, 5}}},
      [](const In& in, std::size_t, const Sizes& at) { return in(2, {in(0, {at[0]}), in(1, {at[1]})}); }};
}

Work transpose() {
  constexpr std::int64_t stride = (1 << 26) + 16;
  return {"kernel pointwise [i0: e0, i1: e1] (e0, e1, p0: i8[2]) -> (p1: i8[2])\n  p1[i0, i1] = neg(p0[i1, i0])",
          {35, 40},
          {{.shape = {40, stride}, .used = {40, 35}}, {.shape = {35, stride}, .used = {35, 40}}},
          [](const In& in, std::size_t, const Sizes& at) { return -in(0, {at[1], at[0]}); }};
}

// ---- rows ----

/// Sums of rows, and elements less the maximum of their row.
Work rows(std::int64_t length, std::int64_t stride) {
  return {
      "kernel row [i0: e0, i1: e1 inner] (e0, e1, p0: i8[2]) -> (p1: i64[1], p2: i8[2])\n"
      "  r0 = sum cast(p0[i0, i1], dtype=i64)\n  r1 = max p0[i0, i1]\n"
      "  p1[i0] = r0\n  p2[i0, i1] = sub(p0[i0, i1], r1)",
      {3, length},
      {{.shape = {3, stride}, .used = {3, length}},
       {.dtype = DType::int64, .shape = {3}},
       {.shape = {3, stride}, .used = {3, length}}},
      [length](const In& in, std::size_t operand, const Sizes& at) {
        std::int64_t sum = 0, most = -128;
        for (std::int64_t j = 0; j < length; ++j) {
          sum += in(0, {at[0], j});
          most = std::max(most, in(0, {at[0], j}));
        }
        return operand == 1 ? sum : in(0, at) - most;
      }};
}

/// Sums of rows with so many bytes an element that registers do not hold them.
Work wide_rows(std::int64_t length) {
  return {
      "kernel row [i0: e0, i1: e1 inner] (e0, e1, p0: i8[2], p1: i64[1]) -> (p2: i64[1])\n"
      "  r0 = sum mul(cast(p0[i0, i1], dtype=i64), p1[i1])\n  p2[i0] = r0",
      {3, length},
      {{.shape = {3, third}, .used = {3, length}},
       {.dtype = DType::int64, .shape = {length}},
       {.dtype = DType::int64, .shape = {3}}},
      [length](const In& in, std::size_t, const Sizes& at) {
        std::int64_t sum = 0;
        for (std::int64_t j = 0; j < length; ++j) sum += in(0, {at[0], j}) * in(1, {j});
        return sum;
      }};
}

/// Sums along the axis with the large stride: of rows or of columns.
Work across_strides(const std::string& axes) {
  return {
      "kernel " + axes +
          " (e0, e1, p0: i8[2]) -> (p1: i64[1])\n  r0 = sum cast(p0[i1, i0], dtype=i64)\n"
          "  p1[" +
          (axes.starts_with("row") ? "i0" : "i1") + "] = r0",
      axes.starts_with("row") ? Sizes{40, 3} : Sizes{40, 3},
      {{.shape = {3, third}, .used = {3, 40}}, {.dtype = DType::int64, .shape = {axes.starts_with("row") ? 40 : 3}}},
      [row = axes.starts_with("row")](const In& in, std::size_t, const Sizes& at) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < (row ? 3 : 40); ++k) sum += row ? in(0, {k, at[0]}) : in(0, {at[0], k});
        return sum;
      }};
}

/// Sums of rows that are read at positions.
Work rows_at_positions() {
  return {
      "kernel row [i0: e0, i1: e1 inner] (e0, e1, p0: i64[1], p1: i8[2]) -> (p2: i64[1])\n"
      "  r0 = sum cast(p1[p0[i0], i1], dtype=i64)\n  p2[i0] = r0",
      {4, 40},
      {{.dtype = DType::int64, .shape = {4}, .values = {2, 0, 1, 2}},
       {.shape = {3, third}, .used = {3, 40}},
       {.dtype = DType::int64, .shape = {4}}},
      [](const In& in, std::size_t, const Sizes& at) {
        std::int64_t sum = 0;
        for (std::int64_t j = 0; j < 40; ++j) sum += in(1, {in(0, {at[0]}), j});
        return sum;
      }};
}

/// Sums of rows whose elements are on two axes, and the positions of their maxima: without packs.
Work rows_of_boxes(std::int64_t stride) {
  constexpr std::int64_t columns = 700;
  return {
      "kernel row [i0: e0, i1: e1, i2: e2 inner, i3: e3 inner] (e0, e1, e2, e3, p0: i8[4]) -> "
      "(p1: i64[2], p2: i64[2])\n"
      "  r0 = sum cast(p0[i1, i0, i2, i3], dtype=i64)\n  r1 = argmax p0[i1, i0, i2, i3]\n"
      "  p1[i0, i1] = r0\n  p2[i0, i1] = r1",
      {3, 2, 3, columns},
      {{.shape = {2, 3, 3, stride}, .used = {2, 3, 3, columns}},
       {.dtype = DType::int64, .shape = {3, 2}},
       {.dtype = DType::int64, .shape = {3, 2}}},
      [](const In& in, std::size_t operand, const Sizes& at) {
        std::int64_t sum = 0, best = 0, most = -128;
        for (std::int64_t k = 0; k < 3 * columns; ++k) {
          const std::int64_t value = in(0, {at[1], at[0], k / columns, k % columns});
          sum += value;
          if (value > most) best = k;
          most = std::max(most, value);
        }
        return operand == 1 ? sum : best;
      }};
}

// ---- columns ----

/// Sums of columns, and the positions of their maxima.
Work columns(std::int64_t length, std::int64_t stride) {
  return {
      "kernel column [i0: e0 inner, i1: e1] (e0, e1, p0: i8[2]) -> (p1: i64[1], p2: i64[1])\n"
      "  r0 = sum cast(p0[i0, i1], dtype=i64)\n  r1 = argmax p0[i0, i1]\n  p1[i1] = r0\n  p2[i1] = r1",
      {length, 40},
      {{.shape = {length, stride}, .used = {length, 40}},
       {.dtype = DType::int64, .shape = {40}},
       {.dtype = DType::int64, .shape = {40}}},
      [length](const In& in, std::size_t operand, const Sizes& at) {
        std::int64_t sum = 0, best = 0;
        for (std::int64_t i = 0; i < length; ++i) {
          sum += in(0, {i, at[0]});
          if (in(0, {i, at[0]}) > in(0, {best, at[0]})) best = i;
        }
        return operand == 1 ? sum : best;
      }};
}

/// Elements less the sum of two of four axes.
Work columns_of_boxes() {
  const Sizes shape = {3, 16, 1 << 10, (1 << 16) + 16}, used = {3, 4, 2, 40};
  return {
      "kernel column [i0: 3 inner, i1: 4, i2: 2 inner, i3: 40] (p0: i8[4]) -> (p1: i16[4])\n"
      "  r0 = sum cast(p0[i0, i1, i2, i3], dtype=i16)\n"
      "  p1[i0, i1, i2, i3] = sub(cast(p0[i0, i1, i2, i3], dtype=i16), r0)",
      {},
      {{.shape = shape, .used = used}, {.dtype = DType::int16, .shape = shape, .used = used}},
      [](const In& in, std::size_t, const Sizes& at) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < 3; ++i) {
          for (std::int64_t k = 0; k < 2; ++k) sum += in(0, {i, at[1], k, at[3]});
        }
        return in(0, at) - sum;
      }};
}

/// Elements less the sum of their column, which is so long that each has one thread.
Work long_columns(std::int64_t stride) {
  constexpr std::int64_t length = 34000;
  std::vector<std::int64_t> sums(6, 0);
  for (std::int64_t point = 0; point < 6; ++point) {
    for (std::int64_t k = 0; k < length; ++k)
      sums[static_cast<std::size_t>(point)] += number_of({point % 3, point / 3, k}, 0);
  }
  return {
      "kernel column [i0: e0 inner, i1: e1, i2: e2] (e0, e1, e2, p0: i8[3]) -> (p1: i64[3])\n"
      "  r0 = sum cast(p0[i2, i1, i0], dtype=i64)\n"
      "  p1[i1, i2, i0] = sub(cast(p0[i2, i1, i0], dtype=i64), r0)",
      {length, 2, 3},
      {{.shape = {3, 2, stride}, .used = {3, 2, length}}, {.dtype = DType::int64, .shape = {2, 3, length}}},
      [sums](const In& in, std::size_t, const Sizes& at) {
        return in(0, {at[1], at[0], at[2]}) - sums[static_cast<std::size_t>(at[0] * 3 + at[1])];
      }};
}

// ---- split, contract ----

/// The sum of all elements, and the position of the largest one.
Work all_elements(std::int64_t columns, std::int64_t stride) {
  return {
      "kernel split [i0: e0 inner, i1: e1 inner] (e0, e1, p0: i8[2]) -> (p1: i64[0], p2: i64[0])\n"
      "  r0 = sum cast(p0[i0, i1], dtype=i64)\n  r1 = argmax p0[i0, i1]\n  p1[] = r0\n  p2[] = r1",
      {3, columns},
      {{.shape = {3, stride}, .used = {3, columns}},
       {.dtype = DType::int64, .shape = {}},
       {.dtype = DType::int64, .shape = {}}},
      [columns](const In& in, std::size_t operand, const Sizes&) {
        std::int64_t sum = 0, best = 0;
        for (std::int64_t k = 0; k < 3 * columns; ++k) {
          sum += in(0, {k / columns, k % columns});
          if (in(0, {k / columns, k % columns}) > in(0, {best / columns, best % columns})) best = k;
        }
        return operand == 1 ? sum : best;
      }};
}

Work product() {
  constexpr std::int64_t fifth = (1 << 29) + 16, stride = (1 << 26) + 16;
  return {
      "kernel contract [i0: e0, i1: e1, i2: e2 inner] (e0, e1, e2, p0: i8[2], p1: i8[2]) -> (p2: f32[2])\n"
      "  r0 = sum mul(cast(p0[i0, i2], dtype=f32), cast(p1[i2, i1], dtype=f32))\n  p2[i0, i1] = r0",
      {5, 33, 40},
      {{.shape = {5, fifth}, .used = {5, 40}},
       {.shape = {40, stride}, .used = {40, 33}},
       {.dtype = DType::float32, .shape = {5, 33}}},
      [](const In& in, std::size_t, const Sizes& at) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < 40; ++k) sum += in(0, {at[0], k}) * in(1, {k, at[1]});
        return sum;
      }};
}

/// Products of windows: several axes on a side, and inside.
Work windows(std::int64_t stride) {
  return {
      "kernel contract [i0: e0, i1: e1, i2: e2, i3: e3 inner, i4: e4 inner] "
      "(e0, e1, e2, e3, e4, p0: i8[3], p1: i8[3]) -> (p2: f32[3])\n"
      "  r0 = sum mul(cast(p0[i0, add(i1, i3), i4], dtype=f32), cast(p1[i2, i3, i4], dtype=f32))\n"
      "  p2[i0, i1, i2] = r0",
      {2, 37, 33, 3, 20},
      {{.shape = {2, 40, stride}, .used = {2, 39, 20}},
       {.shape = {33, 3, 32}, .used = {33, 3, 20}},
       {.dtype = DType::float32, .shape = {2, 37, 33}}},
      [](const In& in, std::size_t, const Sizes& at) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < 3; ++i) {
          for (std::int64_t k = 0; k < 20; ++k) sum += in(0, {at[0], at[1] + i, k}) * in(1, {at[2], i, k});
        }
        return sum;
      }};
}

}  // namespace

TEST_CASE("pointwise kernels reach elements beyond 2^31") {
  check({
      {"lines, near each other",
       {lines(300, 320)},
       "vector=4 items=2 across=32 index=narrow",
       "threads=32+vector=4+items=2"},
      {"lines, just below",
       {lines(300, small_third)},
       "vector=4 items=2 across=32 index=narrow",
       "threads=32+vector=4+items=2"},
      {"short lines, just below", {lines(40, small_third)}, "across=4 down index=narrow"},
      {"lines", {lines(300, third)}, "vector=4 items=2 across=32 index=based", "threads=32+vector=4+items=2"},
      {"short lines, below each other", {lines(40, third)}, "vector=16 items=1 across=4 down index=wide"},
      {"lines, not aligned", {lines(300, odd_third)}, "vector=1 items=16 across=64 index=based"},
      {"short lines, not aligned", {lines(40, odd_third)}, "vector=1 items=16 across=64 down index=wide"},
      {"a column", {column_of_matrix()}, "vector=16 items=1 across=64 index=wide"},
      {"three axes", {boxes()}, "down index=wide"},
      {"three axes, in blocks of a line", {boxes()}, "across=32 index=based", "threads=32+vector=1+items=1"},
      {"elements at positions", {positions()}, "index=narrow"},
      {"a group", {lines(300, third), lines(200, odd_third), boxes()}, "index=based", "threads=32+vector=1"},
  });
}

TEST_CASE("a transpose through tiles reaches elements beyond 2^31") {
  const Machine machine(Machine::Kind::simulated);
  const Case one{"a transpose", {transpose()}, ""};
  const Launched launched(one, test::device_called("cuda0")), on_host(one, test::device_called("cpu"));
  CHECK(launched.is_tiled());
  CHECK(launched.wrong() == 0);
  CHECK(on_host.wrong() == 0);
}

TEST_CASE("row kernels reach elements beyond 2^31") {
  check({
      {"near each other", {rows(40, 48)}, "lanes=16 warps=1 packs=1 held=1 aligned whole index=narrow"},
      {"just below", {rows(40, small_third)}, "lanes=16 warps=1 packs=1 held=1 aligned whole index=narrow"},
      {"a part of a warp for a row", {rows(40, third)}, "lanes=16 warps=1 packs=1 held=1 aligned whole index=based"},
      {"a warp", {rows(601, third)}, "lanes=32 warps=1 packs=8 held=1 aligned index=based"},
      {"several warps", {rows(1100, third)}, "warps=2 packs=8 held=1 aligned whole index=based"},
      {"not aligned", {rows(601, odd_third)}, "lanes=32 warps=1 packs=8 held=1 index=based"},
      {"not held", {wide_rows(601)}, "lanes=32 warps=1 packs=8 held=0 aligned index=based"},
      {"several warps, not held", {wide_rows(2100)}, "warps=4 packs=8 held=0 aligned whole index=based"},
      {"a large stride in rows", {across_strides("row [i0: e0, i1: e1 inner]")}, "held=0 aligned index=wide"},
      {"rows at positions", {rows_at_positions()}, "index=narrow"},
      {"on two axes, near each other", {rows_of_boxes(720)}, "held=0 aligned whole index=narrow"},
      {"on two axes, near each other, wide", {rows_of_boxes(720)}, "held=0 aligned whole index=wide", "index=64"},
      {"on two axes, just below", {rows_of_boxes(((std::int64_t{1} << 31) - 67000) / 30)}, "held=0 whole index=wide"},
      {"on two axes", {rows_of_boxes((1 << 28) + 16)}, "held=0 aligned whole index=wide"},
  });
}

TEST_CASE("column kernels reach elements beyond 2^31") {
  check({
      {"near each other", {columns(20, 48)}, "vector=2 run=1 index=narrow"},
      {"just below", {columns(3, small_third / 8)}, "vector=2 run=1 index=narrow"},
      {"just below, with the rest of a chunk beyond", {columns(3, small_third)}, "vector=2 run=1 index=based"},
      {"few rows", {columns(20, (1 << 27) + 16)}, "vector=2 run=1 index=based"},
      {"in parts", {columns(1000, (1 << 22) + 16)}, "part=128 index=based"},
      {"in parts, not aligned", {columns(1000, (1 << 22) + 17)}, "vector=1 run=2 part=128 index=based"},
      {"a large stride from point to point", {across_strides("column [i0: e0 inner, i1: e1]")}, "index=wide"},
      {"two of four axes", {columns_of_boxes()}, "index=based"},
      {"of a thread, near each other", {long_columns(34016)}, "blocks=8 index=narrow", "threads=32"},
      {"of a thread, near each other, wide", {long_columns(34016)}, "blocks=8 index=wide", "threads=32+index=64"},
      {"of a thread", {long_columns((1 << 29) + 16)}, "blocks=8 index=wide", "threads=32"},
  });
}

TEST_CASE("reductions of everything and products reach elements beyond 2^31") {
  check({
      {"everything, near each other", {all_elements(3000, 3008)}, "part=2048 aligned whole index=narrow"},
      {"everything, near each other, wide",
       {all_elements(3000, 3008)},
       "part=2048 aligned whole index=wide",
       "index=64"},
      {"everything", {all_elements(3000, third)}, "part=2048 aligned whole index=wide"},
      {"everything, not in packs", {all_elements(3001, third)}, "part=2048 index=wide"},
      {"a product", {product()}, "blocks=8 index=wide"},
      {"windows, near each other", {windows(32)}, "blocks=8 index=narrow"},
      {"windows, near each other, wide", {windows(32)}, "blocks=8 index=wide", "index=64"},
      {"windows", {windows((1 << 26) + 16)}, "blocks=8 index=wide"},
  });
}

namespace {

/// A matrix on a simulated GPU whose first elements of each row are number_of(position, 0).
Array matrix_on(runtime::Device& device, const Sizes& shape, const Sizes& used) {
  const Operand operand{.shape = shape, .used = used};
  const Array array = Array::empty_on(device, DType::int8, shape);
  visit_used(operand, [&](const Sizes& at) {
    const auto value = static_cast<std::int8_t>(number_of(at, 0));
    device.copy_in(static_cast<char*>(array.address()) + operand.offset(at), &value, 1);
  });
  return array;
}

}  // namespace

namespace {

/// A loop over the first axis of an array of that shape. `index`: the width of its indices.
void check_loop(const Sizes& shape, const std::string& index) {
  const Machine machine(Machine::Kind::simulated);
  const change_flags flags("device=cuda0");
  INFO(index);
  const std::int64_t steps = shape[0];
  const SharedVariable x = shared(matrix_on(test::device_called("cuda0"), shape, {steps, 3, 40}), {.borrow = true});
  const auto part = [](const Variable& of_step) { return cast(of_step.at({slice(), slice(0, 40)}), DType::int64); };
  // A kernel of elements, and one of rows.
  const ScanResult states = scan([&](const std::vector<Variable>& in) { return Step(in[1] * in[2] + part(in[0])); },
                                 {x}, {constant(Array::zeros(DType::int64, {3, 40}))}, {constant(std::int64_t{3})});
  const ScanResult sums = scan([&](const std::vector<Variable>& in) { return Step(in[1] + sum(part(in[0]), 1)); }, {x},
                               {constant(Array::zeros(DType::int64, {3}))});
  const Function f = function({}, {states.outputs[0], sums.outputs[0]});
  const auto results = f();
  for (const KernelSchedule& schedule : f.schedule()) {
    if (schedule.family == "loop") CHECK_THAT(schedule.schedule, contains("index=" + index));
  }
  std::size_t loops = 0;
  for (const KernelInfo& kernel : f.kernels()) loops += kernel.name.starts_with("loop") ? 1 : 0;
  CHECK(loops == 1);  // both in one
  Array expected_states = Array::zeros(DType::int64, {steps, 3, 40});
  Array expected_sums = Array::zeros(DType::int64, {steps, 3});
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t i = 0; i < 3; ++i) {
      if (t > 0) expected_sums.at<std::int64_t>(t, i) = expected_sums.at<std::int64_t>(t - 1, i);
      for (std::int64_t j = 0; j < 40; ++j) {
        const std::int64_t before = t > 0 ? expected_states.at<std::int64_t>(t - 1, i, j) : 0;
        expected_states.at<std::int64_t>(t, i, j) = 3 * before + number_of({t, i, j}, 0);
        expected_sums.at<std::int64_t>(t, i) += number_of({t, i, j}, 0);
      }
    }
  }
  CHECK(results[0].same_bits(expected_states));
  CHECK(results[1].same_bits(expected_sums));
}

/// The address of an operand's first element; the used elements of one that is read have values.
char* add_operand(runtime::Device& device, const Operand& operand, std::size_t number, bool written,
                  std::vector<std::shared_ptr<void>>& owners) {
  owners.push_back(allocate(device, static_cast<std::size_t>(operand.bytes())));
  char* const base = static_cast<char*>(owners.back().get());
  if (written) return base;
  visit_used(operand, [&](const Sizes& at) {
    const Array element = Array(value_of(operand, number, at)).astype(operand.dtype);
    device.copy_in(base + operand.offset(at), std::as_const(element).raw(), size_of(operand.dtype));
  });
  return base;
}

/// The operands of a scatter that adds rows: x, the rows that get more, of which one is outside, their order, what they
/// get, and the result.
std::vector<Operand> scatter_operands() {
  return {{.shape = {3, third}, .used = {3, 40}},
          {.dtype = DType::int64, .shape = {5}, .values = {7, 2, 0, 2, 0}},
          {.dtype = DType::int64, .shape = {5}, .values = {2, 4, 1, 3, 0}},
          {.shape = {5, third}, .used = {5, 40}},
          {.shape = {3, third}, .used = {3, 40}}};
}

/// Only runs the items of the first elements of these rows, on a GPU of row 0.
void check_scatter(runtime::Device& device, const std::vector<std::int64_t>& rows) {
  INFO(device.name());
  const codegen::Text text = codegen::emit_routine({.op = ops::Registry::instance().find("scatter"),
                                                    .inputs = {DType::int8, DType::int64, DType::int64, DType::int8},
                                                    .result = DType::int8},
                                                   device.target());
  const std::vector<Operand> operands = scatter_operands();
  std::vector<std::shared_ptr<void>> owners;
  std::vector<std::uint64_t> parameters;
  std::vector<runtime::Operand> touched;
  const auto add = [&](char* base, std::size_t bytes, bool written) {
    parameters.push_back(reinterpret_cast<std::uint64_t>(base));
    touched.push_back({base, bytes, !written, written});
  };
  for (std::size_t k = 0; k < operands.size(); ++k)
    add(add_operand(device, operands[k], k, k == 4, owners), static_cast<std::size_t>(operands[k].bytes()), k == 4);
  owners.push_back(device.allocate(3 * sizeof(std::int64_t)));
  add(static_cast<char*>(owners.back().get()), 3 * sizeof(std::int64_t), true);
  // The width of rows, how many get more, that it is added, the phase and the step.
  parameters.insert(parameters.end(), {static_cast<std::uint64_t>(third), 5, 1, 0, 0});
  runtime::cpu::KernelCounts counts;
  const auto run = [&](std::uint64_t phase, std::int64_t begin, std::int64_t count) {
    parameters[parameters.size() - 2] = phase;
    if (device.on_host()) {
      const runtime::cpu::KernelEntry entry = runtime::cpu::get_kernels(std::span(&text, 1), counts)[0];
      return entry.run(parameters.data(), begin, begin + count);
    }
    device.launch({.text = &text, .parameters = parameters, .items = count, .threads = 64, .operands = touched});
    touched.back().read = true;
  };
  run(0, 0, 3);
  for (const std::int64_t row : rows) {
    run(1, row * third, 40);
    for (std::int64_t j = 0; j < 40; ++j) {
      std::int64_t expected = number_of({row, j}, 0);
      for (std::int64_t k = 0; k < 5; ++k) {
        if (value_of(operands[1], 1, {k}) == row) expected += number_of({k, j}, 3);
      }
      std::int8_t result = 0;
      device.copy_out(&result, reinterpret_cast<const char*>(parameters[4]) + operands[4].offset({row, j}), 1);
      CHECK(result == expected);
    }
  }
}

}  // namespace

TEST_CASE("loops reach elements beyond 2^31") {
  check_loop({5, 3, (1 << 28) + 16}, "narrow");  // only the steps are far from each other
  check_loop({3, 3, (1 << 30) + 16}, "wide");
}

TEST_CASE("scatter reaches elements beyond 2^31") {
  const Machine machine(Machine::Kind::simulated);
  check_scatter(test::device_called("cuda0"), {0});
  check_scatter(test::device_called("cpu"), {0, 2});
}

TEST_CASE("functions take parts of arrays with more than 2^31 elements") {
  const Machine machine(Machine::Kind::simulated);
  Array expected = Array::zeros(DType::int8, {3, 40});
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 40; ++j)
      expected.at<std::int8_t>(i, j) = static_cast<std::int8_t>(number_of({i, j}, 0) * 2);
  }
  // A part of a shared variable on the device, by its strides.
  {
    const change_flags flags("device=cuda0");
    const SharedVariable x = shared(matrix_on(test::device_called("cuda0"), {3, third}, {3, 40}), {.borrow = true});
    const Function f = function({}, x.at({slice(), slice(0, 40)}) * 2);
    CHECK(f().only().same_bits(expected));
    REQUIRE(f.kernels().size() == 1);
    CHECK_THAT(f.kernels()[0].schedule, contains("index=wide"));
  }
  // A view of memory of the host: only its elements are copied to a device.
  const std::shared_ptr<void> memory = allocate(test::device_called("cpu"), 3 * third);
  const Array view = Array::view_of(memory.get(), DType::int8, {3, 40}, {third, 1});
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 40; ++j)
      static_cast<std::int8_t*>(memory.get())[i * third + j] = static_cast<std::int8_t>(number_of({i, j}, 0));
  }
  for (const std::string device : {"cuda0", "cpu"}) {
    const change_flags flags("device=" + device);
    const Variable x = variable({DType::int8, {unknown_size, unknown_size}}, "x");
    CHECK(function({x}, x * 2)(view).only().same_bits(expected));
  }
}
