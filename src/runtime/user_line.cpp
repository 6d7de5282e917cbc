#include "runtime/user_line.hpp"

#include "runtime/executable.hpp"

namespace croton::runtime {

std::string lines_of(std::span<const expr::Origin> origins) {
  constexpr std::size_t enough = 200;
  std::string lines;
  for (const expr::Origin& origin : origins) {
    if (lines.size() < enough) lines += (lines.empty() ? "" : "; ") + line_of(origin);
  }
  return lines.empty() ? "line unknown" : lines;
}

}  // namespace croton::runtime
