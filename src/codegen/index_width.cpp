#include "codegen/index_width.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/index.hpp"
#include "codegen/emit.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t limit_of_int = std::int64_t{1} << 31;
// Lines that a block may have beyond the last one.
constexpr std::int64_t more_lines = 1 << 16;

/// total + |stride| * count, or the largest number if that is larger.
std::int64_t reach(std::int64_t total, std::int64_t stride, std::int64_t count) {
  std::int64_t step = 0;
  if (__builtin_mul_overflow(std::abs(stride), count, &step) || __builtin_add_overflow(total, step, &total))
    return INT64_MAX;
  return total;
}

std::string reason(std::int64_t span, std::int64_t of_block) {
  if (span < limit_of_int) return fmt::format("index=narrow: positions and offsets are at most {}, below 2^31", span);
  if (of_block < limit_of_int)
    return fmt::format("index=based: offsets reach {}, 2^31 or more, but within a block at most {}", span, of_block);
  return fmt::format("index=wide: offsets reach {}, and within a block {}, 2^31 or more", span, of_block);
}

}  // namespace

IndexWidth choose_index_width(const Analysis& analysis, const Launch& launch, std::size_t fast, std::int64_t columns,
                              Reasons* why) {
  const std::size_t axes = launch.sizes.size();
  std::int64_t span = 1, of_block = 1;
  // Elements of a chunk may be beyond the end of a column.
  const auto beyond = [&](std::size_t m) {
    return m == fast ? columns : m < launch.variant.parallel.size() ? 0 : std::int64_t{ct::chunk_elements};
  };
  for (std::size_t m = 0; m < axes; ++m) {
    if (m != fast) span = reach(0, span, std::max<std::int64_t>(1, launch.sizes[m]));
  }
  span = std::max(reach(span, 1, more_lines), reach(axes == 0 ? 1 : launch.sizes[fast], 1, columns));
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (!analysis.accesses[a].affine || axes == 0) continue;
    std::int64_t own = 0;
    for (std::size_t m = 0; m < axes; ++m) own = reach(own, launch.strides[a][m], launch.sizes[m] + beyond(m));
    span = std::max(span, own);
    of_block = std::max(of_block, reach(0, launch.strides[a][fast], columns));
  }
  if (why != nullptr) why->push_back(reason(span, of_block));
  if (span < limit_of_int) return IndexWidth::narrow;
  return of_block < limit_of_int ? IndexWidth::based : IndexWidth::wide;
}

IndexWidth choose_index_width(const Analysis& analysis, const Launch& launch, Reasons* why) {
  std::int64_t points = 1, length = 1;
  for (std::size_t m = 0; m < launch.sizes.size(); ++m) {
    std::int64_t& count = m < launch.variant.parallel.size() ? points : length;
    count = reach(0, count, std::max<std::int64_t>(1, launch.sizes[m]));
  }
  std::int64_t span = reach(std::max(points, length), 1, more_lines);
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (!analysis.accesses[a].affine) continue;
    std::int64_t own = 0;
    for (std::size_t m = 0; m < launch.sizes.size(); ++m) own = reach(own, launch.strides[a][m], launch.sizes[m]);
    span = std::max(span, own);
  }
  if (why != nullptr) why->push_back(reason(span, span));
  return span < limit_of_int ? IndexWidth::narrow : IndexWidth::wide;
}

IndexWidth choose_index_width(std::span<const std::int64_t> matrix) {
  const auto number = [&](MatrixNumber which) { return matrix[base::ordinal(which)]; };
  using enum MatrixNumber;
  const auto span = [&](MatrixNumber row, MatrixNumber count, MatrixNumber column, MatrixNumber others) {
    return reach(reach(0, number(row), number(count)), number(column), number(others));
  };
  const std::int64_t c = reach(reach(0, number(c_row), number(rows)), 1, number(columns)),
                     positions = reach(number(inner), number(rows), number(columns)),
                     most = std::max(
                         {span(a_row, rows, a_inner, inner), span(b_inner, inner, b_column, columns), c, positions});
  return reach(most, 1, more_lines) < limit_of_int ? IndexWidth::narrow : IndexWidth::wide;
}

std::string_view name_of(IndexWidth width) {
  return width == IndexWidth::narrow ? "narrow" : width == IndexWidth::based ? "based" : "wide";
}

}  // namespace croton::codegen
