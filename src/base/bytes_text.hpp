// A number of bytes for people: "17 bytes", "4.5 KiB", "1.2 GiB".
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace croton::base {

inline std::string bytes_text(double bytes) {
  constexpr double step = 1024;
  constexpr std::array<std::string_view, 7> units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes >= step && unit + 1 < units.size(); ++unit) bytes /= step;
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}
inline std::string bytes_text(std::size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace croton::base
