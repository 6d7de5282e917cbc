#include "codegen/schedule_pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
#include "codegen/cost_model.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"

namespace croton::codegen {
namespace {

// From this cost on (in additions) a second copy of the body costs more to compile than it saves.
constexpr int long_cost = 48;

/// A pointwise kernel with numbers.
class PointwiseFit {
 public:
  PointwiseFit(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        axes_(launch.variant.parallel.size()),
        packed_(analysis, launch, axes_ == 0 ? 0 : axes_ - 1),
        candidates_(machine) {}

  void run(const Machine& machine, const Overrides& wanted) {
    // A thread moves the widest access of the widest operand: more are slower, and fewer too.
    const std::int64_t full = widest_access_bytes / packed_.widest();
    std::int64_t vector = wanted.vector.value_or(static_cast<int>(full));
    while (vector > 1 && !(machine.aligned && packed_.is_aligned(vector))) vector /= 2;
    schedule_.vector = static_cast<int>(vector);
    schedule_.items = wanted.items.value_or(static_cast<int>(std::max<std::int64_t>(1, full / vector)));
    fit_lines();
    if (!wanted.items) choose_items();
    schedule_.is_short = is_short_body(analysis_);
    schedule_.index = choose_index_width(analysis_, launch_, axes_ == 0 ? 0 : axes_ - 1, columns());
    // Tiles of whole lines have no first element to which others are near.
    if (schedule_.down && schedule_.index == IndexWidth::based) schedule_.index = IndexWidth::wide;
  }

  /// The reasons of what run() chose.
  void explain(const Machine& machine, const Overrides& wanted, Reasons& why) const {
    why.push_back(fmt::format("vector={}: {}", schedule_.vector, why_vector(machine, wanted)));
    why.push_back(
        fmt::format("items={}: {}", schedule_.items,
                    wanted.items ? "set by an override"
                    : schedule_.items == 1 && schedule_.vector * packed_.widest() == widest_access_bytes
                        ? "a pack is a whole access" + items_compared()
                        : fmt::format("packs of {} bytes, of which a thread moves {} bytes of an operand{}",
                                      schedule_.vector * packed_.widest(),
                                      schedule_.vector * packed_.widest() * schedule_.items, items_compared())));
    why.push_back(axes_ <= 1 ? fmt::format("across={}: all threads, on one line", schedule_.across)
                             : fmt::format("across={}: a line of {} elements has {} packs", schedule_.across,
                                           fast_size(), base::ceil_div<std::int64_t>(fast_size(), schedule_.vector)));
    if (schedule_.down) why.push_back("down: the threads of a line reach over it, so their packs are on several lines");
    why.push_back(fmt::format("{} body without conditions: the cost of an element in additions is {}, {} {}",
                              schedule_.is_short ? "a second" : "no", cost_of_element(analysis_),
                              schedule_.is_short ? "less than" : "at least", long_cost));
    const IndexWidth widest = choose_index_width(analysis_, launch_, axes_ == 0 ? 0 : axes_ - 1, columns(), &why);
    if (widest != schedule_.index) why.back() = "index=wide: offsets reach 2^31, and a block has whole lines";
  }

 private:
  std::int64_t columns() const { return std::int64_t{schedule_.across} * schedule_.vector * schedule_.items; }

  std::string why_vector(const Machine& machine, const Overrides& wanted) const {
    const std::int64_t full = widest_access_bytes / packed_.widest();
    if (schedule_.vector < wanted.vector.value_or(static_cast<int>(full)))
      return machine.aligned ? packed_.why_not_aligned(schedule_.vector * 2) : "operands may begin anywhere";
    if (wanted.vector) return "set by an override";
    if (packed_.packed().empty()) return "without effect, as no operand has neighbouring elements along the fast axis";
    return fmt::format("packs of {} bytes, the widest access, as elements have at most {}; all are aligned",
                       widest_access_bytes, packed_.widest());
  }
  /// The packs of a thread, or fewer where that gives the multiprocessors more even work.
  void choose_items() {
    std::int64_t in_bytes = 0;
    for (const std::size_t a : packed_.packed()) in_bytes += analysis_.accesses[a].written ? 0 : packed_.item_size(a);
    LaunchWork work;
    work.bytes = bytes_of_operands(analysis_, launch_);
    work.instructions = instructions_of_element(analysis_) * static_cast<double>(point_count(launch_));
    for (; schedule_.items >= 1; schedule_.items /= 2) {
      work.blocks = gpu_blocks(analysis_, gpu_items(analysis_, launch_, schedule_), schedule_);
      work.block = {schedule_.threads,
                    registers_of_thread(in_bytes * schedule_.vector * schedule_.items, schedule_.threads), 0};
      candidates_.add(schedule_, work);
    }
    schedule_ = candidates_.best();
  }
  std::string items_compared() const {
    return candidates_.comparison([](const Schedule& s) { return fmt::format("items={}", s.items); });
  }
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

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  std::size_t axes_;
  PackedAccesses packed_;
  Candidates candidates_;  // numbers of packs
};

}  // namespace

bool is_short_body(const Analysis& analysis) { return cost_of_element(analysis) < long_cost; }

void fit_pointwise(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
                   const Overrides& wanted, Reasons* why) {
  PointwiseFit fit(schedule, analysis, launch, machine);
  fit.run(machine, wanted);
  if (why != nullptr) fit.explain(machine, wanted, *why);
}

}  // namespace croton::codegen
