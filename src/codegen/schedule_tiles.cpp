#include "codegen/schedule_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/schedule_pointwise.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

// Rows and columns of a tile are one line of memory at least, with elements of 4 bytes or more.
constexpr std::int64_t least_side = 32, line_bytes = 128;
// The staged operands of a tile: with 256 threads half of the threads of a multiprocessor need 128 KiB then. A user's
// tile may have as much as every launch has, but for some variables.
constexpr std::int64_t most_chosen_bytes = 32 * 1024, most_shared_bytes = 47 * 1024;
// Of staged operands, for each thread: then so many threads have 64 KiB of loads in flight.
constexpr std::int64_t bytes_of_thread = 64;
// Registers of a thread for packs that are loaded together, of staged operands and again of others.
constexpr std::int64_t most_registers = 16;
// Elements of a thread whose results are computed in one piece of text.
constexpr std::int64_t most_elements = 16;

/// A tiled kernel with numbers.
class TileFit {
 public:
  TileFit(Schedule& schedule, const Analysis& analysis, const Launch& launch)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        fast_(launch.variant.parallel.size() - 1),
        down_(*launch.variant.tile_axis),
        packed_(analysis, launch, fast_) {}

  void run(const Machine& machine, const Overrides& wanted) {
    fit_packs(machine.aligned, wanted.vector.value_or(static_cast<int>(widest_access_bytes)));
    const auto threads =
        static_cast<std::int64_t>(std::bit_floor(static_cast<unsigned>(wanted.threads.value_or(machine.threads))));
    fit_side(threads, wanted.side);
    fit_threads(threads, wanted.threads.has_value());
    schedule_.across = static_cast<int>(side_ / vector_);
    schedule_.down = true;
    fit_rounds(wanted.items);
    schedule_.side = static_cast<int>(side_);
    schedule_.vector = static_cast<int>(vector_);
    schedule_.turned = static_cast<int>(turned_);
    schedule_.lanes = static_cast<int>(std::clamp<std::int64_t>(line_bytes / (turned_ * widest_staged_), 1,
                                                                std::min<std::int64_t>(ct::lanes, side_ / turned_)));
    // Addresses may be beyond the end of both axes by a tile: half of what each axis is asked for.
    schedule_.index = std::max(choose_index_width(analysis_, launch_, fast_, 2 * side_),
                               choose_index_width(analysis_, launch_, down_, 2 * side_));
  }

  /// The reasons of what run() chose.
  void explain(const Machine& machine, const Overrides& wanted, Reasons& why) const {
    why.push_back("tiles: along the fast axis some operands are read from another line of memory for each element");
    why.push_back(fmt::format("side={}: {}", side_,
                              wanted.side == schedule_.side
                                  ? "set by an override"
                                  : fmt::format("the staged operands of a tile have {} bytes", tile_bytes())));
    why.push_back(fmt::format("vector={} turned={}: {}", vector_, turned_,
                              !machine.aligned                    ? "operands may begin anywhere"
                              : wanted.vector == schedule_.vector ? "set by an override"
                                                                  : "packs of 16 bytes where operands are aligned"));
    why.push_back(
        fmt::format("loads={}: packs of a thread under way, in {} registers", schedule_.loads, most_registers));
    const bool by_line = choose_index_width(analysis_, launch_, fast_, 2 * side_) == schedule_.index;
    choose_index_width(analysis_, launch_, by_line ? fast_ : down_, 2 * side_, &why);
  }

 private:
  bool is_staged(std::size_t a) const { return launch_.variant.staged[a]; }

  /// A thread moves at most 16 bytes of the widest operand, also to and from shared memory.
  void fit_packs(bool aligned, std::int64_t most) {
    std::int64_t widest = 0;
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (!is_staged(a)) continue;
      widest = std::max(widest, packed_.item_size(a));
      staged_bytes_ += packed_.item_size(a);
    }
    widest_staged_ = widest;
    const auto turned_are_aligned = [&] {
      for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
        if (is_staged(a) && !PackedAccesses(analysis_, launch_, down_).is_aligned(a, turned_)) return false;
      }
      return true;
    };
    turned_ = std::min(most, widest_access_bytes / widest);
    while (turned_ > 1 && !(aligned && turned_are_aligned())) turned_ /= 2;
    vector_ = std::min(most, widest_access_bytes / std::max(widest, packed_.widest()));
    while (vector_ > 1 && !(aligned && packed_.is_aligned(vector_))) vector_ /= 2;
  }

  std::int64_t tile_bytes() const { return side_ * side_ * staged_bytes_; }

  void fit_side(std::int64_t threads, std::optional<int> wanted) {
    side_ = wanted.value_or(static_cast<int>(std::max(least_side, line_bytes / widest_staged_)));
    // Twice as long lines cost nothing where a tile is still small.
    if (!wanted && widest_staged_ > 1 && 4 * tile_bytes() <= most_chosen_bytes / 2) side_ *= 2;
    while (!wanted && side_ > least_side && 2 * std::max(launch_.sizes[fast_], launch_.sizes[down_]) <= side_)
      side_ /= 2;
    const std::int64_t most = wanted ? most_shared_bytes : most_chosen_bytes;
    // The threads reach over a row and over a column.
    while (side_ > least_side && (tile_bytes() > most || side_ > threads * std::min(vector_, turned_))) side_ /= 2;
  }

  void fit_threads(std::int64_t threads, bool wanted) {
    while (!wanted && threads > 2 * ct::lanes && tile_bytes() < threads * bytes_of_thread &&
           side_ <= threads / 2 * std::min(vector_, turned_))
      threads /= 2;
    schedule_.threads = static_cast<int>(std::min(threads, side_ * side_ / std::max(vector_, turned_)));
  }

  /// The registers that hold so many elements of an access.
  std::int64_t registers(std::size_t a, std::int64_t elements) const {
    return std::max<std::int64_t>(1, base::ceil_div<std::int64_t>(elements * packed_.item_size(a), 4));
  }

  void fit_rounds(std::optional<int> wanted) {
    std::int64_t of_staged = 0, of_inputs = 0;
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (is_staged(a))
        of_staged += registers(a, turned_);
      else if (!analysis_.accesses[a].written && analysis_.accesses[a].affine)
        of_inputs += registers(a, launch_.variant.strides[a][fast_] == StrideClass::none ? 1 : vector_);
    }
    const std::int64_t points = side_ * side_ / schedule_.threads;
    schedule_.loads = rounded(most_registers / of_staged, points / turned_);
    schedule_.is_short = is_short_body(analysis_);
    const std::int64_t items = std::min(most_registers / std::max<std::int64_t>(1, of_inputs), most_elements / vector_);
    schedule_.items = rounded(wanted.value_or(static_cast<int>(schedule_.is_short ? items : 1)), points / vector_);
  }

  /// A power of two from 1 to `most`, which is one.
  static int rounded(std::int64_t number, std::int64_t most) {
    return static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(number, 1, most))));
  }

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  std::size_t fast_, down_;
  PackedAccesses packed_;
  std::int64_t side_ = least_side, vector_ = 1, turned_ = 1, staged_bytes_ = 0, widest_staged_ = 1;
};

}  // namespace

void fit_tiles(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
               const Overrides& wanted, Reasons* why) {
  TileFit fit(schedule, analysis, launch);
  fit.run(machine, wanted);
  if (why != nullptr) fit.explain(machine, wanted, *why);
}

std::int64_t tile_bands(const Launch& launch, const Schedule& schedule) {
  if (!launch.variant.tiled()) return 1;
  return base::ceil_div(launch.sizes[*launch.variant.tile_axis], std::int64_t{schedule.side});
}

std::vector<std::size_t> axes_around_tiles(const Variant& variant) {
  std::vector<std::size_t> axes;
  for (std::size_t m = 0; m + 1 < variant.parallel.size(); ++m) {
    if (variant.tile_axis != m) axes.push_back(m);
  }
  return axes;
}

}  // namespace croton::codegen
