#include "codegen/division.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
#include "codegen/schedule_tiles.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {

namespace {

__extension__ typedef unsigned __int128 Wide;

}  // namespace

std::size_t divisor_words(IndexWidth width) { return width == IndexWidth::narrow ? 1 : 2; }

std::array<std::uint64_t, 2> make_divisor(std::int64_t divisor, IndexWidth width) {
  const auto d = static_cast<std::uint64_t>(divisor);
  const auto l = static_cast<int>(std::bit_width(d - 1));  // 2^(l-1) < d <= 2^l
  if (width == IndexWidth::narrow) {
    const std::uint64_t multiplier = (std::uint64_t{1} << (31 + l)) / d + 1, shift = static_cast<std::uint64_t>(31 + l);
    return {multiplier | shift << 32, 0};
  }
  if (l == 0) return {0, 0};
  const Wide power = static_cast<Wide>(1) << (63 + l);
  return {static_cast<std::uint64_t>(power / d + 1), static_cast<std::uint64_t>(l)};
}

std::int64_t position_parameter(const Parameter& parameter, const Analysis& analysis, const Launch& launch,
                                const Schedule& schedule) {
  const auto word = [&](std::int64_t divisor) {
    return static_cast<std::int64_t>(
        make_divisor(std::max<std::int64_t>(1, divisor), schedule.index)[parameter.access]);
  };
  switch (parameter.kind) {
    case Parameter::Kind::divisor:
      return word(launch.sizes[parameter.index]);
    case Parameter::Kind::tiles_divisor:
      return word(tiles_of_line(launch, schedule));
    case Parameter::Kind::tiles_of_line:
      return tiles_of_line(launch, schedule);
    case Parameter::Kind::lines:
      return line_count(launch);
    case Parameter::Kind::parts:
      return reduction_parts(launch, schedule);
    case Parameter::Kind::parts_divisor:
      return word(reduction_parts(launch, schedule));
    case Parameter::Kind::bands:
      return tile_bands(launch, schedule);
    case Parameter::Kind::bands_divisor:
      return word(tile_bands(launch, schedule));
    case Parameter::Kind::side_divisor:
      return word(side_count(analysis, launch, kernel::Side(parameter.index)));
    case Parameter::Kind::side_tiles_divisor: {
      const auto side = kernel::Side(parameter.index);
      const std::int64_t of_tile =
          side == kernel::Side::rows ? ct::gpu_contract_rows(schedule.threads) : ct::gpu_contract_columns;
      return word(base::ceil_div(side_count(analysis, launch, side), of_tile));
    }
    default:
      throw InternalError("a parameter that is not about positions was asked for");
  }
}

}  // namespace croton::codegen
