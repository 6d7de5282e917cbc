// The numbers of schedules that users set by the flag schedule.
#pragma once

#include "kernel/kernel.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace croton::codegen {

struct Overrides {
  std::optional<std::int64_t> grain, meeting;
  std::optional<int> threads, blocks, vector, items;
};

/// Those for a kernel of that family and name, in a text of the form that choose_schedule() (schedule.hpp) describes.
/// ValueError for any other text.
Overrides read_overrides(std::string_view text, kernel::Family family, std::string_view kernel_name);

}  // namespace croton::codegen
