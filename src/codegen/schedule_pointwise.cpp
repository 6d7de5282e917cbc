#include "codegen/schedule_pointwise.hpp"

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"

namespace croton::codegen {
namespace {

// From this cost on (in additions) a second copy of the body costs more to compile than it saves.
constexpr int long_cost = 48;

/// A pointwise kernel with numbers.
class PointwiseFit {
 public:
  PointwiseFit(Schedule& schedule, const Analysis& analysis, const Launch& launch)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        axes_(launch.variant.parallel.size()),
        packed_(analysis, launch, axes_ == 0 ? 0 : axes_ - 1) {}

  void run(const Machine& machine, const Overrides& wanted) {
    // A thread moves the widest access of the widest operand: more are slower, and fewer too.
    const std::int64_t full = widest_access_bytes / packed_.widest();
    std::int64_t vector = wanted.vector.value_or(static_cast<int>(full));
    while (vector > 1 && !(machine.aligned && packed_.is_aligned(vector))) vector /= 2;
    schedule_.vector = static_cast<int>(vector);
    schedule_.items = wanted.items.value_or(static_cast<int>(std::max<std::int64_t>(1, full / vector)));
    fit_lines();
    schedule_.is_short = cost() < long_cost;
    const std::int64_t columns = std::int64_t{schedule_.across} * schedule_.vector * schedule_.items;
    schedule_.index = choose_index_width(analysis_, launch_, axes_ == 0 ? 0 : axes_ - 1, columns);
    // Tiles of whole lines have no first element to which others are near.
    if (schedule_.down && schedule_.index == IndexWidth::based) schedule_.index = IndexWidth::wide;
  }

 private:
  std::int64_t fast_size() const { return axes_ == 0 ? 1 : launch_.sizes[axes_ - 1]; }

  void fit_lines() {
    if (axes_ <= 1) {
      schedule_.across = schedule_.threads;
      schedule_.down = false;
      return;
    }
    // Blocks of threads need not be a power of two, but the threads on a line are one.
    const auto most = std::bit_floor(static_cast<unsigned>(schedule_.threads));
    const std::int64_t packs = std::clamp<std::int64_t>(base::ceil_div(fast_size(), schedule_.vector), 1, most);
    schedule_.across = static_cast<int>(std::bit_ceil(static_cast<unsigned>(packs)));
    while (schedule_.threads % schedule_.across != 0) schedule_.across /= 2;
    schedule_.down = std::int64_t{schedule_.across} * schedule_.vector >= fast_size();
  }

  /// The cost of an element, in additions.
  int cost() const {
    int cost = 0;
    const expr::Arena& body = analysis_.kernel.body;
    for (NodeId id = 0; id < body.size(); ++id) {
      if (!analysis_.host[id] && body.op(id).map != nullptr) cost += body.op(id).map->cost;
    }
    return cost;
  }

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  std::size_t axes_;
  PackedAccesses packed_;
};

}  // namespace

void fit_pointwise(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
                   const Overrides& wanted) {
  PointwiseFit(schedule, analysis, launch).run(machine, wanted);
}

}  // namespace croton::codegen
