// Long work in pieces, between which a call may be interrupted.
#include "../catch.hpp"
#include "runtime/support/pieces.hpp"

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

using croton::runtime::next_piece;
using croton::runtime::run_in_pieces;
using namespace std::chrono_literals;

namespace {

using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct Stop {};
void stop() { throw Stop{}; }

}  // namespace

TEST_CASE("work that fits into the first piece is one piece, and nobody is asked", "[pieces]") {
  const croton::InterruptScope scope(stop);
  for (const std::int64_t total : {0, 1, 10}) {
    Pieces seen;
    run_in_pieces(total, 10, 1.0, [&](std::int64_t begin, std::int64_t count) {
      seen.emplace_back(begin, count);
      std::this_thread::sleep_for(60ms);  // questions are 50 ms apart
      return true;
    });
    CHECK(seen == Pieces{{0, total}});
  }
}

TEST_CASE("pieces are in order, without gaps, until the work is done", "[pieces]") {
  std::int64_t next = 0;
  run_in_pieces(1000, 0, 0.0, [&](std::int64_t begin, std::int64_t count) {  // 0 seconds: the shortest pieces
    CHECK(begin == next);
    CHECK(count >= 1);
    next += count;
    return true;
  });
  CHECK(next == 1000);
}

TEST_CASE("pieces are multiples of a step, but for the last one", "[pieces]") {
  std::int64_t next = 0;
  run_in_pieces(
      1000, 14, 0.0,
      [&](std::int64_t begin, std::int64_t count) {
        CHECK(begin == next);
        CHECK((count % 7 == 0 || begin + count == 1000));
        next += count;
        return true;
      },
      7);
  CHECK(next == 1000);
}

TEST_CASE("work in pieces ends where it says so, and where the caller interrupts it", "[pieces]") {
  int pieces = 0;
  run_in_pieces(1000, 1, 0.0, [&](std::int64_t, std::int64_t) { return ++pieces < 3; });
  CHECK(pieces == 3);

  pieces = 0;
  const croton::InterruptScope scope(stop);
  CHECK_THROWS_AS(run_in_pieces(1000, 1, 0.0,
                                [&](std::int64_t, std::int64_t) {
                                  ++pieces;
                                  std::this_thread::sleep_for(60ms);
                                  return true;
                                }),
                  Stop);
  CHECK(pieces == 1);
}

TEST_CASE("a piece follows the time of the one before it, by 8 times at most", "[pieces]") {
  CHECK(next_piece(100, 0.1, 0.05) == 50);
  CHECK(next_piece(100, 0.0, 0.05) == 800);
  CHECK(next_piece(100, 10.0, 0.05) == 12);
  CHECK(next_piece(1, 10.0, 0.05) == 1);
}
