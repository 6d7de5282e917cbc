// Long work of the host in pieces, between which the call may be interrupted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/interrupt.hpp"
#include "base/rounding.hpp"

namespace croton::runtime {

/// How long the pieces after the first one take. Ctrl-C should end a call at once, and a piece should be much longer
/// than the microseconds in which threads are woken.
constexpr double seconds_of_piece = 0.05;

/// The length of the next piece: one that takes `wanted` seconds, if `count` units took `taken`. Within 8 times of
/// `count`, since a short measurement is not precise.
inline std::int64_t next_piece(std::int64_t count, double taken, double wanted) {
  const double factor = std::clamp(wanted / std::max(taken, 1e-9), 0.125, 8.0);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(count) * factor));
}

/// Calls `run(begin, count)` for pieces of `total` units in order, until all are done or it returns false. The first
/// piece has `first` units, an estimate; the others are by the clock. Each but the last is a multiple of `step`, if
/// `first` is one. Whoever called is asked between two pieces whether the work should end (base::check_interrupt).
template <class Run>
void run_in_pieces(std::int64_t total, std::int64_t first, double seconds, Run&& run, std::int64_t step = 1) {
  using Clock = std::chrono::steady_clock;
  std::int64_t piece = std::max<std::int64_t>(1, first);
  if (total <= piece) {  // most work is short, and reading the clock takes longer than some of it
    run(std::int64_t{0}, total);
    return;
  }
  for (std::int64_t done = 0; done < total;) {
    if (done > 0) base::check_interrupt();
    const std::int64_t count = std::min(piece, total - done);
    const Clock::time_point begin = Clock::now();
    if (!run(done, count)) return;
    done += count;
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
    piece = base::round_up(next_piece(count, taken, seconds), step);
  }
}

}  // namespace croton::runtime
