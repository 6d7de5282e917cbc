#include "codegen/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rounding.hpp"

namespace croton::codegen {
namespace {

// Differences of modelled times below this are no differences: of measured ones 1 % is noise.
constexpr double tie = 1.02;
constexpr std::size_t usual_candidates = 12;

}  // namespace

double modelled_seconds(const LaunchWork& work, const Machine& machine) {
  const auto processors = static_cast<double>(machine.multiprocessors);
  // Rates of other devices are not known: each multiprocessor has its share of those that were measured.
  const double share = processors / h200.multiprocessors;
  const auto blocks = static_cast<double>(std::max<std::int64_t>(1, work.blocks));
  const auto resident = static_cast<double>(std::max<std::int64_t>(1, occupancy_of(work.block, machine.limits).blocks));
  const double waves = std::ceil(blocks / (resident * processors));
  // The busiest multiprocessor's blocks, compared with the mean, if all run at once. Few blocks can have the whole rate
  // of the memory, if enough of their accesses are under way.
  const double uneven = waves > 1 ? 1 : std::ceil(blocks / processors) * processors / blocks;
  const double memory = work.bytes / (h200.copy_bytes_per_second * share) * (blocks < processors ? 1 : uneven);
  const double issue = work.instructions / (h200.instructions_per_second * share) * uneven;
  const double of_block = h200.block_seconds + work.waits * h200.access_seconds +
                          work.cache_waits * h200.cache_access_seconds + work.joins * h200.join_seconds +
                          (work.publishes ? h200.publish_seconds : 0);
  const double chain = waves * of_block;
  // A block that meets others publishes its results and then reads theirs.
  const double meetings = work.meetings * (h200.meeting_seconds() + work.last_waits * h200.cache_access_seconds);
  const double last = work.publishes ? h200.last_block_seconds + work.last_waits * h200.cache_access_seconds : 0;
  return h200.launch_seconds + std::sqrt(memory * memory + issue * issue + chain * chain) + meetings + last;
}

double bytes_of_operands(const Analysis& analysis, const Launch& launch) {
  double total = 0;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    auto bytes = static_cast<double>(size_of(analysis.operand_of(a).dtype));
    for (std::size_t m = 0; m < launch.sizes.size(); ++m) {
      if (!analysis.accesses[a].affine || launch.strides[a][m] != 0) bytes *= static_cast<double>(launch.sizes[m]);
    }
    total += bytes;
  }
  return total;
}

int cost_of_element(const Analysis& analysis) {
  int cost = 0;
  const expr::Arena& body = analysis.kernel.body;
  for (NodeId id = 0; id < body.size(); ++id) {
    if (!analysis.host[id] && body.op(id).map != nullptr) cost += body.op(id).map->cost;
  }
  return cost;
}

double instructions_of_element(const Analysis& analysis) {
  constexpr double of_addition = 1.5, of_access = 1;
  return of_addition * cost_of_element(analysis) + of_access * static_cast<double>(analysis.accesses.size());
}

std::int64_t registers_of_thread(std::int64_t bytes, int threads) {
  constexpr std::int64_t others = 16, all = 65536, half_of_threads = 1024;
  const std::int64_t most = all / std::max<std::int64_t>(half_of_threads, threads);
  return std::min(most, others + base::ceil_div<std::int64_t>(bytes, 4));
}

Candidates::Candidates(const Machine& machine) : machine_(machine) { all_.reserve(usual_candidates); }

void Candidates::add(const Schedule& schedule, const LaunchWork& work) {
  all_.push_back({schedule, modelled_seconds(work, machine_)});
}

std::size_t Candidates::chosen() const {
  const double least = std::ranges::min_element(all_, {}, &Candidate::seconds)->seconds;
  const auto at = std::ranges::find_if(all_, [&](const Candidate& c) { return c.seconds <= tie * least; });
  return at == all_.end() ? 0 : static_cast<std::size_t>(at - all_.begin());
}

std::string Candidates::comparison(const std::function<std::string(const Schedule&)>& print) const {
  if (all_.size() < 2) return {};
  const std::size_t best = chosen(), first = best == 0 ? 1 : 0;
  std::size_t other = first;
  for (std::size_t i = first; i < all_.size(); ++i) {
    if (i != best && all_[i].seconds < all_[other].seconds) other = i;
  }
  constexpr double micro = 1e6;
  return fmt::format("; modelled {:.2f} us, with {} {:.2f} us", micro * all_[best].seconds, print(all_[other].schedule),
                     micro * all_[other].seconds);
}

}  // namespace croton::codegen
