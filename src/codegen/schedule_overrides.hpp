// The numbers of schedules that users set by the flag schedule.
#pragma once

#include "codegen/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace croton::codegen {

struct Overrides {
  std::optional<std::int64_t> grain, meeting, part;
  std::optional<int> threads, blocks, vector, items, side, kernels;
  std::optional<IndexWidth> index;
};

/// Those for a kernel of that family and name, in a text of the form that choose_schedule() (schedule.hpp) describes.
/// ValueError for any other text. The name is asked for once at most.
Overrides read_overrides(std::string_view text, kernel::Family family, const NameOf& kernel_name);
/// "row_1a2b3c.threads=128+row_1a2b3c.vector=2" for the overrides "threads=128+vector=2" of one kernel or family, given
/// as in such a text; unchanged if `kernel` is empty. ValueError for any other text.
std::string overrides_for(std::string_view kernel, std::string_view overrides);
/// Overrides, followed by more overrides, which have priority.
std::string joined_overrides(const std::string& overrides, const std::string& more);
/// Whether a text that overrides_for() accepts is a family or the beginning of one of these names or of their digests.
bool selects_one(std::string_view kernel, const std::vector<std::string>& names);

}  // namespace croton::codegen
