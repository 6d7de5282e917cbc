// The model of a launch by which schedules are chosen: it orders measured variants of kernels as they were measured,
// and the schedules that it chooses are among the fastest measured ones.
// bench/results/2026-11-28-gpu-variants-nvidia-h200.md has the times; numbers in comments are those of its list.
#include <croton/croton.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "codegen/cost_model.hpp"
#include "contains.hpp"

namespace ct = croton;
using croton::codegen::BlockResources;
using croton::codegen::Candidates;
using croton::codegen::LaunchWork;
using croton::codegen::Machine;
using croton::codegen::modelled_seconds;
using croton::codegen::Schedule;

namespace {

constexpr int processors = 132;

/// A measured variant.
struct Variant {
  std::string what;
  double microseconds;
  LaunchWork work;
};

/// x + y in one pass.
Variant add(double elements, int threads, int bytes_of_thread, double microseconds) {
  const auto blocks = static_cast<std::int64_t>(std::ceil(elements * 4 / bytes_of_thread / threads));
  return {"add", microseconds, {.bytes = 12 * elements, .blocks = blocks, .block = {threads, 20}}};
}

/// x + y of 1e8 elements in a loop over the grid, with so many KiB of loads under way on a multiprocessor.
Variant add_in_loop(int kib, double microseconds) {
  const double bytes_at_once = 1024.0 * kib * processors;
  return {"add in a loop",
          microseconds,
          {.bytes = 12e8, .blocks = 8 * processors, .block = {256, 20}, .waits = 8e8 / bytes_at_once}};
}

/// A sum over axis 0: blocks of 32 x 8 threads, each with four columns, of which it loads 16 rows at once.
Variant columns(int rows, int width, int blocks, double microseconds) {
  const double parts = blocks / (width / 128.0);
  return {"sum over axis 0",
          microseconds,
          {.bytes = 4.0 * rows * width + 2 * 4 * parts * width,
           .blocks = blocks,
           .block = {256, 128},
           .waits = std::ceil(rows / parts / 8 / 16),
           .joins = 1,
           .publishes = parts > 1,
           .last_waits = parts / 8}};
}

/// A sum over axis 1 of short rows, 256 threads a block; `vectors`: of 16 bytes, of a thread.
Variant short_rows(std::int64_t rows, int lanes, int vectors, double microseconds) {
  return {"sum over axis 1",
          microseconds,
          {.bytes = static_cast<double>(rows * (lanes * vectors * 16 + 4)),
           .blocks = rows * lanes / 256,
           .block = {256, 16 + 4 * vectors}}};
}

/// The sum of 16384 x 8192 elements by warps that each have runs of 1024 elements, of which it loads one at once.
Variant sum_all(int runs, double microseconds) {
  const int blocks = 16384 / runs;
  return {"sum of all",
          microseconds,
          {.bytes = 4.0 * 16384 * 8192,
           .blocks = blocks,
           .block = {256, 60},
           .waits = static_cast<double>(runs),
           .joins = 1,
           .publishes = true,
           .last_waits = blocks / 256.0}};
}

/// A softmax in registers with rows of 1024, and `threads` of a row.
Variant softmax(std::int64_t rows, int threads, double microseconds) {
  const int block = std::max(128, threads);
  return {"softmax",
          microseconds,
          {.bytes = 8192.0 * static_cast<double>(rows),
           .instructions = 28 * 1024.0 * static_cast<double>(rows),
           .blocks = rows * threads / block,
           .block = {block, threads == 32 ? 64 : 48},
           .joins = threads == 32 ? 0.0 : 2.0}};
}

/// A softmax of rows of 32768; `more`: vectors of a thread that it reads again, from the cache.
Variant long_softmax(std::int64_t rows, BlockResources block, int instructions, int more, double microseconds) {
  const double elements = 32768.0 * static_cast<double>(rows);
  return {"softmax of long rows",
          microseconds,
          {.bytes = 8 * elements,
           .instructions = instructions * elements,
           .blocks = rows,
           .block = block,
           .cache_waits = static_cast<double>(more),
           .joins = 2}};
}

Variant layer_norm(int threads, int registers, double microseconds) {
  const double elements = 8192.0 * 4096;
  return {"layer normalisation",
          microseconds,
          {.bytes = 8 * elements,
           .instructions = 20 * elements,
           .blocks = 8192,
           .block = {threads, registers},
           .joins = 1}};
}

struct Pair {
  Variant faster, slower;
};

/// Pairs that differ by more than 10 %, with the ratio of their times.
const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all = {
      // Elementwise (2, 3, 5).
      {add(1e8, 256, 16, 276.5), add(1e8, 256, 4, 350)},   // 1.27
      {add(1e6, 128, 16, 4.26), add(1e6, 256, 16, 5.07)},  // 1.19
      {add(1e6, 128, 16, 4.26), add(1e6, 128, 32, 5.95)},  // 1.40
      {add(1e6, 128, 16, 4.26), add(1e6, 128, 4, 5.0)},    // 1.17
      {add_in_loop(4, 757), add_in_loop(2, 1395)},         // 1.84
      {add_in_loop(8, 465), add_in_loop(4, 757)},          // 1.63
      {add_in_loop(16, 335), add_in_loop(8, 465)},         // 1.39
      {add_in_loop(32, 291), add_in_loop(16, 335)},        // 1.15
      // Sums over axis 0 (10).
      {columns(16384, 8192, 128, 123), columns(16384, 8192, 16384, 141)},   // 1.15
      {columns(16384, 8192, 512, 123), columns(16384, 8192, 16384, 141)},   // 1.15
      {columns(16384, 8192, 2048, 126), columns(16384, 8192, 16384, 141)},  // 1.12
      {columns(4096, 1024, 256, 7.4), columns(4096, 1024, 32, 9.0)},        // 1.22
      {columns(4096, 1024, 128, 7.7), columns(4096, 1024, 32, 9.0)},        // 1.17
      {columns(4096, 1024, 64, 8.0), columns(4096, 1024, 32, 9.0)},         // 1.13
      {columns(4096, 1024, 512, 7.8), columns(4096, 1024, 32, 9.0)},        // 1.15
      {columns(4096, 1024, 32, 9.0), columns(4096, 1024, 8, 19.6)},         // 2.18
      // Sums of all and over axis 1 (12, 14).
      {sum_all(16, 124.8), sum_all(1, 142)},                                     // 1.14
      {sum_all(4, 128), sum_all(1, 142)},                                        // 1.11
      {short_rows(1'048'576, 16, 2, 126.3), short_rows(1'048'576, 32, 1, 145)},  // 1.05 to 1.28
      {short_rows(1'048'576, 8, 4, 126.3), short_rows(1'048'576, 32, 1, 145)},   // 1.05 to 1.28
      {short_rows(4'194'304, 4, 2, 130), short_rows(4'194'304, 8, 1, 150)},      // 1.06 to 1.24
      // Softmax and layer normalisation (15, 16, 17, 21).
      {softmax(65536, 32, 131.6), softmax(65536, 128, 146.5)},   // 1.11
      {softmax(65536, 32, 131.6), softmax(65536, 256, 179.2)},   // 1.36
      {softmax(65536, 64, 138.8), softmax(65536, 256, 179.2)},   // 1.29
      {softmax(65536, 128, 146.5), softmax(65536, 256, 179.2)},  // 1.22
      {softmax(4096, 32, 10.8), softmax(4096, 256, 13.8)},       // 1.28
      {softmax(4096, 64, 11.3), softmax(4096, 256, 13.8)},       // 1.22
      {softmax(4096, 128, 11.5), softmax(4096, 256, 13.8)},      // 1.20
      // Registers, shared memory, read twice, read three times; with Croton's exp.
      {long_softmax(4096, {512, 128}, 31, 0, 291.5), long_softmax(4096, {1024, 52}, 50, 8, 349.5)},             // 1.20
      {long_softmax(4096, {512, 128}, 31, 0, 291.5), long_softmax(4096, {1024, 52}, 53, 16, 366.7)},            // 1.26
      {long_softmax(4096, {512, 64, 128 << 10}, 33, 0, 307.8), long_softmax(4096, {1024, 52}, 50, 8, 349.5)},   // 1.14
      {long_softmax(4096, {512, 64, 128 << 10}, 33, 0, 307.8), long_softmax(4096, {1024, 52}, 53, 16, 366.7)},  // 1.19
      {layer_norm(64, 214, 68.0), layer_norm(1024, 40, 92.5)},                                                  // 1.36
      {layer_norm(128, 120, 68.2), layer_norm(1024, 40, 92.5)},                                                 // 1.36
      {layer_norm(256, 64, 68.2), layer_norm(1024, 40, 92.5)},                                                  // 1.36
      {layer_norm(512, 50, 70), layer_norm(1024, 40, 92.5)},                                                    // 1.32
  };
  return all;
}

double modelled(const LaunchWork& work) { return 1e6 * modelled_seconds(work, Machine()); }

/// The schedule of the only kernel of a function for one shape of all inputs, on an H200.
ct::KernelSchedule chosen(const ct::Function& f, const std::vector<ct::Sizes>& shapes) {
  const auto schedules = f.schedule("cuda:sm_90", {.shapes = shapes});
  REQUIRE(schedules.size() == 1);
  return schedules[0];
}

}  // namespace

TEST_CASE("the model of a launch orders measured variants as they were measured") {
  for (const auto& [faster, slower] : pairs()) {
    INFO(faster.what << ": " << faster.microseconds << " and " << slower.microseconds << " us measured, "
                     << modelled(faster.work) << " and " << modelled(slower.work) << " modelled");
    CHECK(slower.microseconds > 1.1 * faster.microseconds);
    // More than a tie.
    CHECK(modelled(slower.work) > 1.02 * modelled(faster.work));
  }
}

TEST_CASE("modelled times are near measured ones") {
  // Sums are a little faster: reading has a higher rate than copying.
  for (const auto& [one, other] : pairs()) {
    for (const Variant& variant : {one, other}) {
      INFO(variant.what << ": " << variant.microseconds << " us measured, " << modelled(variant.work) << " modelled");
      CHECK(modelled(variant.work) > 0.7 * variant.microseconds);
      CHECK(modelled(variant.work) < 1.35 * variant.microseconds);
    }
  }
}

TEST_CASE("the model of a launch has the limits of its parts") {
  const Machine machine;
  const LaunchWork least{.block = {256, 32}};
  const double latency = modelled_seconds(least, machine);
  CHECK(latency > croton::codegen::h200.launch_seconds);
  // The rate of the memory, if enough is under way.
  LaunchWork work = least;
  work.bytes = 4.229e9;
  work.blocks = 2 * processors;
  CHECK(std::abs(modelled_seconds(work, machine) - 1e-3) < 0.01e-3);
  // A part of a device has a part of its rate.
  CHECK(std::abs(modelled_seconds(work, {.multiprocessors = processors / 2}) - 2e-3) < 0.01e-3);
  // One more block than all multiprocessors run at once is a second wave.
  work = least;
  work.blocks = 8 * processors;
  CHECK(modelled_seconds(work, machine) == latency);
  ++work.blocks;
  CHECK(modelled_seconds(work, machine) > 1.1 * latency);
  // Registers and shared memory limit the blocks that run at once, by the architecture.
  work.blocks = 8 * processors;
  work.block.registers = 64;
  CHECK(modelled_seconds(work, machine) > 1.1 * latency);
  work.block = {256, 32, 60 << 10};
  const double with_shared_memory = modelled_seconds(work, machine);
  CHECK(with_shared_memory > latency);
  CHECK(modelled_seconds(work, {.limits = croton::codegen::limits_of("sm_89")}) > with_shared_memory);
}

TEST_CASE("the first candidate is chosen unless another one is faster by two percent") {
  const Machine machine;
  const auto add = [](Candidates& candidates, int threads, double bytes) {
    Schedule schedule;
    schedule.threads = threads;
    candidates.add(schedule, {.bytes = bytes, .blocks = processors, .block = {threads, 32}});
  };
  const auto print = [](const Schedule& s) { return "threads=" + std::to_string(s.threads); };
  Candidates candidates(machine);
  CHECK(candidates.empty());
  add(candidates, 256, 1.00e9);
  CHECK(candidates.best().threads == 256);
  CHECK(candidates.comparison(print).empty());
  add(candidates, 128, 0.99e9);
  CHECK(candidates.best().threads == 256);
  CHECK(candidates.comparison(print) == "; modelled 237.76 us, with threads=128 235.40 us");
  add(candidates, 64, 0.97e9);
  CHECK(candidates.best().threads == 64);  // and 128 is no tie
  CHECK(candidates.comparison(print) == "; modelled 230.67 us, with threads=128 235.40 us");
}

TEST_CASE("the chosen schedules are among the fastest measured ones") {
  const auto m = ct::matrix("m");
  const auto x = ct::vector("x"), y = ct::vector("y");
  const auto has = [](const ct::KernelSchedule& schedule, const std::string& numbers) {
    CHECK_THAT(" " + schedule.schedule, contains(numbers));
  };
  const ct::Function axis_0 = ct::function({m}, ct::sum(m, 0)), axis_1 = ct::function({m}, ct::sum(m, 1));
  const ct::Function all = ct::function({m}, ct::sum(m)), softmax = ct::function({m}, ct::nnet::softmax(m, 1));
  // 128 to 512 blocks are the best, 2048 take 1.03 of their time; 128 and 256.
  const auto large = chosen(axis_0, {{16384, 8192}}), small = chosen(axis_0, {{4096, 1024}});
  CHECK((large.blocks >= 128 && large.blocks <= 2048));
  CHECK((small.blocks >= 128 && small.blocks <= 256));
  // All teams for long rows are equal; short ones want two vectors of 16 bytes a thread or more.
  has(chosen(axis_1, {{16384, 8192}}), " warps=8 ");
  has(chosen(axis_1, {{65536, 1024}}), " lanes=32 warps=1 packs=8 ");
  has(chosen(axis_1, {{1'048'576, 128}}), " lanes=16 warps=1 packs=2 ");
  has(chosen(axis_1, {{4'194'304, 32}}), " lanes=4 warps=1 packs=2 ");
  CHECK(chosen(all, {{16384, 8192}}).blocks == 1024);
  const auto million = chosen(all, {{1024, 1024}});
  CHECK((million.blocks >= 64 && million.blocks <= 128));
  // A warp a row, in registers; long rows in registers.
  has(chosen(softmax, {{65536, 1024}}), " threads=256 lanes=32 warps=1 packs=8 held=1 ");
  has(chosen(softmax, {{4096, 1024}}), " threads=256 lanes=32 warps=1 packs=8 held=1 ");
  has(chosen(softmax, {{4096, 32768}}), " threads=1024 lanes=32 warps=32 packs=8 held=1 ");
  has(chosen(softmax, {{128, 32768}}), " threads=1024 lanes=32 warps=32 packs=8 held=1 ");
  // 16 bytes of each operand a thread.
  const ct::Function sum = ct::function({x, y}, x + y);
  for (const std::int64_t n : {100'000'000, 25'000'000, 1'000'000})
    has(chosen(sum, {{n}, {n}}), " threads=128 vector=4 items=1 ");
}

TEST_CASE("few rows get smaller blocks, so that more multiprocessors have one") {
  const auto m = ct::matrix("m");
  const ct::Function softmax = ct::function({m}, ct::nnet::softmax(m, 1));
  const auto few = chosen(softmax, {{128, 1024}});
  CHECK(few.blocks == 64);
  CHECK_THAT(to_string(few), contains(" threads=64 lanes=32 ") && contains("; modelled ") &&
                                 contains("threads=64: fewer than usual, so that more multiprocessors have blocks\n"));
}

TEST_CASE("schedules that only the model chooses give the same bits") {
  struct Case {
    ct::Variable (*result)(const ct::Variable&);
    ct::DType dtype;
    std::int64_t rows, length;
    const char* schedule;
  };
  const auto row_sum = [](const ct::Variable& x) { return ct::sum(x, 1); };
  const auto argmax = [](const ct::Variable& x) { return ct::argmax(x, 1); };
  const auto softmax = [](const ct::Variable& x) { return ct::nnet::softmax(x, 1); };
  const auto column_sum = [](const ct::Variable& x) { return ct::sum(x, 0); };
  // On a simulated GPU, whose 8 multiprocessors have several waves of blocks here.
  for (const Case& c : {// A thread has the accumulators of several lanes of the tree.
                        Case{row_sum, ct::DType::float32, 1100, 33, " lanes=8 warps=1 packs=2 held=0"},
                        Case{row_sum, ct::DType::float32, 1100, 128, " lanes=8 warps=1 packs=4 held=0"},
                        Case{row_sum, ct::DType::float16, 600, 500, " lanes=16 warps=1 packs=8 held=0"},
                        Case{row_sum, ct::DType::float64, 1100, 64, " lanes=8 warps=1 packs=2 held=0"},
                        Case{argmax, ct::DType::float32, 1100, 128, " lanes=16 warps=1 packs=2 held=0"},
                        Case{softmax, ct::DType::float32, 600, 128, " lanes=16 warps=1 packs=2 held=1"},
                        // Warps that have several blocks of the tree.
                        Case{row_sum, ct::DType::float32, 40, 9000, " warps=8 packs=8 held=0 aligned"},
                        Case{softmax, ct::DType::float32, 40, 9001, " warps=8 packs=8 held=0 staged=1"},
                        // Narrower blocks of columns.
                        Case{column_sum, ct::DType::float32, 1000, 128, " across=8 vector=4 run=1 part=128"}}) {
    INFO(c.rows << " x " << c.length << ", " << c.schedule);
    const auto x = ct::Array::uniform(ct::DType::float64, {c.rows, c.length}, 1, -1, 1).astype(c.dtype);
    const auto m = ct::matrix("m", c.dtype);
    const ct::Array right = ct::function({m}, c.result(m))(x).only();
    const ct::change_flags flags("cuda_simulator=1,device=cuda0");
    const ct::Function f = ct::function({m}, c.result(m));
    CHECK(f(x).only().same_bits(right));
    CHECK_THAT(f.schedule().at(0).schedule, contains(c.schedule));
  }
}
