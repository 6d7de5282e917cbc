// Lanes: pieces of work with only the necessary waits, the memory that causes the waits, and functions on several
// devices that use them. Work waits at barriers, so that overlap is visible without a clock.
#include <sys/wait.h>
#include <unistd.h>

#include <croton/croton.hpp>
#include <croton/device.hpp>
#include <croton/trace.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/config.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "runtime/bound/segment_lanes.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "temporary_folder.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;
using ct::runtime::LaneOrder;
using ct::runtime::LanePiece;
using ct::runtime::Lanes;
using ct::runtime::cpu::ThreadPool;
using ct::test::Machine;
using ct::test::values;

namespace {

using Variables = std::vector<Variable>;
using Arrays = std::vector<Array>;

/// Ends a test that waits in vain: with a failure, instead of a hanging program.
struct Alarm {
  Alarm() { alarm(120); }
  ~Alarm() { alarm(0); }
};

/// SplitMix64.
struct Random {
  std::uint64_t state;
  std::size_t below(std::size_t n) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<std::size_t>((z ^ (z >> 31)) >> 11) % n;
  }
};

/// A callback of the host that returns when `ready` is true, or after a long time: then the test fails.
ct::HostOp waits_until(std::function<bool()> ready, bool& came) {
  return ct::HostOp(
      {.name = "rendezvous",
       .results =
           [](const Variables& in) { return std::vector<ct::HostOp::Result>{{in[0].dtype(), {in[0].shape(0)}}}; },
       .compute =
           [ready = std::move(ready), &came](const Arrays& in) {
             const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
             while (!(came = ready()) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
             return Arrays{in[0].copy()};
           },
       .pure = false});
}

/// Collects the text in JSON: names and values.
void gather_strings(const nlohmann::json& json, std::set<std::string>& strings) {
  if (json.is_string()) strings.insert(json.get<std::string>());
  if (!json.is_structured()) return;
  for (const auto& [name, value] : json.items()) {
    if (json.is_object()) strings.insert(name);
    gather_strings(value, strings);
  }
}

bool has_lane(const ct::Trace& trace, const std::string& lane) {
  for (const ct::TraceEvent& event : trace.events()) {
    if (event.lane == lane) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("pieces of two lanes run at the same time", "[lanes]") {
  const Alarm alarm_clock;
  const Lanes lanes({{0}, {1}, {2}, {0}, {1}}, {false, false, false});
  std::barrier all(3), two(2);
  std::atomic<int> done{0};
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> elsewhere{false};
  lanes.run([&](std::size_t piece) {
    piece < 3 ? all.arrive_and_wait() : two.arrive_and_wait();
    if ((std::this_thread::get_id() == caller) != (piece == 0 || piece == 3)) elsewhere = true;
    ++done;
  });
  CHECK(done == 5);
  CHECK_FALSE(elsewhere);
}

TEST_CASE("a piece waits for what it needs of other lanes", "[lanes]") {
  const Alarm alarm_clock;
  constexpr std::size_t rounds = 200;
  std::vector<LanePiece> pieces;
  for (std::size_t i = 0; i < rounds; ++i) {
    pieces.push_back({0, i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{2 * i - 1}});
    pieces.push_back({1, {2 * i}});
  }
  const Lanes lanes(pieces, {false, false});
  std::vector<std::size_t> order;  // unguarded: the sanitizer finds missing order
  lanes.run([&](std::size_t piece) { order.push_back(piece); });
  REQUIRE(order.size() == pieces.size());
  CHECK(std::ranges::is_sorted(order));
}

TEST_CASE("the first of several errors is reported; pieces before it are done, lanes stop after it", "[lanes]") {
  const Alarm alarm_clock;
  const Lanes lanes({{0}, {1}, {0}, {1}, {2}, {0}, {2}, {1, {2}}}, {false, false, false});
  const int failing = GENERATE(1, 2, 4);
  CAPTURE(failing);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> ran(8);
    std::string message;
    try {
      lanes.run([&](std::size_t piece) {
        ++ran[piece];
        if (static_cast<int>(piece) >= failing && piece <= 4) throw std::runtime_error(std::to_string(piece));
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    REQUIRE(message == std::to_string(failing));
    for (int before = 0; before <= failing; ++before) REQUIRE(ran[static_cast<std::size_t>(before)] == 1);
    if (failing <= 2) REQUIRE(ran[7] == 0);  // waits for 2, and comes after 1 in its lane
  }
  std::atomic<int> after{0};
  lanes.run([&](std::size_t) { ++after; });
  CHECK(after == 8);
}

TEST_CASE("after a commit point nothing runs before all lanes have reached it", "[lanes]") {
  const Alarm alarm_clock;
  for (int round = 0; round < 100; ++round) {
    const bool fails = round % 2 == 1;
    LaneOrder order;
    for (std::size_t lane = 0; lane < 3; ++lane) order.add(lane, {});
    order.add(0, {}, {0, 1, 2});
    for (std::size_t lane = 0; lane < 3; ++lane) order.add(lane, {}, {3});
    CHECK(order.pieces()[3].waits == std::vector<std::size_t>{2, 1});
    CHECK(order.pieces()[4].waits.empty());
    const Lanes lanes(order.pieces(), {false, false, false});
    std::atomic<int> before{0}, early{0}, behind{0};
    const auto run = [&] {
      lanes.run([&](std::size_t piece) {
        if (piece == 2 && fails) throw std::runtime_error("late");
        if (piece < 3) ++before;
        if (piece > 3) {
          early += before != 3;
          ++behind;
        }
      });
    };
    if (fails)
      CHECK_THROWS_AS(run(), std::runtime_error);
    else
      run();
    CHECK(early == 0);
    CHECK(behind == (fails ? 0 : 3));
  }
}

TEST_CASE("a second caller, and a piece that runs lanes itself, do them in order", "[lanes]") {
  const Alarm alarm_clock;
  const Lanes lanes({{0}, {1}}, {false, false});
  std::barrier both(2);
  std::vector<std::size_t> inner, other;
  lanes.run([&](std::size_t piece) {
    both.arrive_and_wait();  // the team is busy
    if (piece == 0) lanes.run([&](std::size_t p) { inner.push_back(p); });
    if (piece == 1) std::thread([&] { lanes.run([&](std::size_t p) { other.push_back(p); }); }).join();
    both.arrive_and_wait();
  });
  CHECK(inner == std::vector<std::size_t>{0, 1});
  CHECK(other == std::vector<std::size_t>{0, 1});
}

TEST_CASE("lanes see the flags of the caller's scopes", "[lanes]") {
  const Alarm alarm_clock;
  const Lanes lanes({{0}, {1}}, {false, false});
  for (const char* level : {"1", "2"}) {
    const ct::change_flags scope(std::string("llvm_level=") + level);
    std::string seen[2];
    lanes.run([&](std::size_t piece) { seen[piece] = ct::flag("llvm_level"); });
    CHECK(seen[0] == level);
    CHECK(seen[1] == level);
  }
  std::string seen;
  lanes.run([&](std::size_t piece) {
    if (piece == 1) seen = ct::flag("llvm_level");
  });
  CHECK(seen == ct::flag("llvm_level"));
}

TEST_CASE("lanes that compute share the pool's threads", "[lanes]") {
  const Alarm alarm_clock;
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  for (const int threads : {1, 2, 4, 5}) {
    CAPTURE(threads);
    pool.set_threads(threads);
    const Lanes lanes({{0}, {1}}, {true, true});
    std::barrier both(2);
    std::atomic<int> chunks[2]{}, sum[2]{};
    lanes.run([&](std::size_t piece) {
      both.arrive_and_wait();
      pool.parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
        ++chunks[piece];
        pool.parallel_for(end - begin, 1,
                          [&](std::int64_t b, std::int64_t e) { sum[piece] += static_cast<int>(e - b); });
      });
      both.arrive_and_wait();
    });
    for (int lane = 0; lane < 2; ++lane) {
      CHECK(chunks[lane] == std::max(1, threads / 2));
      CHECK(sum[lane] == 100);
    }
    std::atomic<int> later{0};  // the whole pool is available again
    pool.parallel_for(100, 1, [&](std::int64_t, std::int64_t) { ++later; });
    CHECK(later == threads);
  }
  pool.set_threads(before);
}

TEST_CASE("waits are found from memory, and what is waited for already is left out", "[lanes]") {
  const auto reads = [](std::size_t begin, std::size_t end) { return LaneOrder::Touch{0, begin, end, false}; };
  const auto writes = [](std::size_t begin, std::size_t end) { return LaneOrder::Touch{0, begin, end, true}; };
  using Touches = std::vector<LaneOrder::Touch>;
  LaneOrder order;
  order.add(0, Touches{writes(0, 100)});               // 0
  order.add(1, Touches{reads(10, 20)});                // 1: read after write
  order.add(1, Touches{reads(50, 60)});                // its lane has waited for 0
  order.add(0, Touches{writes(90, 95)});               // its own memory
  order.add(0, Touches{writes(15, 55)});               // 4: write after reads of 1 and 2: the later one is enough
  order.add(2, Touches{writes(0, 10)});                // 5: write after write
  order.add(2, Touches{reads(0, 10), reads(15, 16)});  // 6
  order.add(1, Touches{{1, 0, 100, true}});            // 7: other memory
  order.add(2, Touches{writes(30, 30)});               // an empty range
  order.add(1, Touches{reads(12, 18), writes(0, 1)});  // 9: 6 has waited for 4
  std::vector<std::vector<std::size_t>> waits;
  for (const LanePiece& piece : order.pieces()) waits.push_back(piece.waits);
  CHECK(waits == std::vector<std::vector<std::size_t>>{{}, {0}, {}, {}, {2}, {0}, {4}, {}, {}, {6}});
}

TEST_CASE("random touches in lanes give what they give in order", "[lanes]") {
  const Alarm alarm_clock;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    LaneOrder order;
    struct Piece {
      std::size_t from, from_end, to, to_end;
    };
    constexpr std::size_t bytes = 24;
    std::vector<Piece> pieces;
    for (int i = 0; i < 80; ++i) {
      const auto range = [&](std::size_t& begin, std::size_t& end) {
        begin = random.below(bytes);
        end = begin + random.below(std::min<std::size_t>(5, bytes - begin) + 1);
      };
      Piece piece{};
      range(piece.from, piece.from_end);
      range(piece.to, piece.to_end);
      pieces.push_back(piece);
      const std::vector<LaneOrder::Touch> touches{{7, piece.from, piece.from_end, false},
                                                  {7, piece.to, piece.to_end, true}};
      order.add(random.below(4), touches);
    }
    const auto run = [&](const Lanes& lanes, bool together) {
      std::vector<unsigned> memory(bytes, 1);
      const auto work = [&](std::size_t p) {
        unsigned sum = static_cast<unsigned>(p);
        for (std::size_t i = pieces[p].from; i < pieces[p].from_end; ++i) sum = sum * 31 + memory[i];
        for (std::size_t i = pieces[p].to; i < pieces[p].to_end; ++i) memory[i] = memory[i] * 17 + sum;
      };
      together ? lanes.run(work) : lanes.run_in_order(work);
      return memory;
    };
    const Lanes lanes(order.pieces(), {true, true, false, false});
    const auto expected = run(lanes, false);
    for (int round = 0; round < 5; ++round) REQUIRE(run(lanes, true) == expected);
  }
}

TEST_CASE("lanes pay where work overlaps that is longer than waking threads", "[lanes]") {
  using ct::runtime::lanes_pay;
  using ct::runtime::LaunchTime;
  const std::vector<LanePiece> side_by_side{{0}, {1}}, chain{{0}, {1, {0}}};
  CHECK(lanes_pay(side_by_side, {true, true}, {{1000}, {1000}}, 2, 2));
  CHECK_FALSE(lanes_pay(side_by_side, {true, true}, {{1000}, {1000}}, 1, 1));
  CHECK_FALSE(lanes_pay(chain, {true, true}, {{1000}, {1000}}, 2, 2));
  CHECK_FALSE(lanes_pay(side_by_side, {true, true}, {{5}, {5}}, 2, 2));
  // All threads already work on each launch: lanes gain nothing.
  CHECK_FALSE(lanes_pay(side_by_side, {true, true}, {{0, 1000}, {0, 1000}}, 4, 4));
  CHECK(lanes_pay(side_by_side, {true, false}, {{0, 1000}, {1000}}, 4, 4));
}

TEST_CASE("lanes in a forked child, and in the parent afterwards", "[lanes]") {
  const Lanes lanes({{0}, {1}}, {true, true});
  const auto overlap = [&] {
    std::barrier both(2);
    lanes.run([&](std::size_t) { both.arrive_and_wait(); });
  };
  overlap();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
#ifndef __SANITIZE_THREAD__  // it allows no new threads after a fork of a threaded process
    overlap();
#endif
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  overlap();
}

TEST_CASE("a callback of the host and work of two devices overlap in one call, and the trace shows it", "[lanes]") {
  const Alarm alarm_clock;
  const Machine machine(GENERATE(Machine::Kind::simulated, Machine::Kind::logical));
  const ct::change_flags on{"device_threads=on"};
  const ct::Trace trace;
  bool came = false;
  const ct::HostOp meet =
      waits_until([&] { return has_lane(trace, machine.first) && has_lane(trace, machine.second); }, came);
  const Variable x = ct::vector("x");
  const Variable here = meet(x).named("here");
  Variable a, b;
  {
    const ct::device_scope scope(machine.first);
    a = ct::exp(x).named("a");
  }
  {
    const ct::device_scope scope(machine.second);
    b = ct::sqr(x).named("b");
  }
  const ct::Function f = ct::function({x}, {here, a, b}, {.name = "f"});
  const auto results = f(Array{1.f, 2.f});
  CHECK(came);
  CHECK(values(results[2]) == std::vector<double>{1, 4});
  const ct::TraceEvent* host = nullptr;
  const std::vector<ct::TraceEvent> events = trace.events();
  for (const ct::TraceEvent& event : events) {
    if (event.what == "host") host = &event;
  }
  REQUIRE(host != nullptr);
  CHECK(host->name == "here");
  CHECK(host->lane == "cpu");
  CHECK(host->function == "f");
  std::set<std::string> inside;
  for (const ct::TraceEvent& event : events) {
    if (event.what == "kernel" && event.end < host->end) inside.insert(event.lane + ": " + event.name);
  }
  CHECK(inside == std::set<std::string>{machine.first + ": a", machine.second + ": b"});
}

TEST_CASE("a trace is JSON with a row for each lane, whose events do not overlap", "[lanes]") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const ct::change_flags on("device_threads=" + std::string(GENERATE("on", "off")));
  const auto w = ct::shared(Array::full(DType::float32, {8}, 2), {.name = "w", .target = machine.first});
  const Variable x = ct::vector("x");
  const Variable y = ct::transfer((w * x).named("w \"\\\n\x01"), machine.second);
  const ct::Function f = ct::function({x}, y + 1, {.updates = {{w, w + x}}, .name = "f \"quoted\""});
  const Array input = Array::full(DType::float32, {8}, 3);
  f(input);
  ct::Trace trace;
  f(input);
  std::thread([&] {
    const ct::change_flags flags(machine.flags());
    f(input);
  }).join();
  trace.stop();
  const std::vector<ct::TraceEvent> events = trace.events();
  f(input);
  CHECK(trace.events().size() == events.size());
  std::set<int> callers;
  std::map<std::pair<int, std::string>, double> last;
  std::size_t sent = 0;
  for (const ct::TraceEvent& event : events) {
    CAPTURE(event.lane, event.name, event.start, event.end);
    double& end = last[{event.caller, event.lane}];
    CHECK(event.start >= end);
    CHECK(event.end >= event.start);
    end = event.end;
    callers.insert(event.caller);
    if (event.what == "transfer") {
      sent += event.bytes;
      CHECK_THAT(event.lane, contains("copies"));
      CHECK(event.lane == event.device + " copies");
    }
  }
  CHECK(callers.size() == 2);
  std::size_t expected = 0;
  for (const ct::TransferInfo& transfer : f.transfers()) expected += transfer.bytes;
  CHECK(expected > 0);
  CHECK(sent == 2 * expected);
  const ct::test::TemporaryFolder folder;
  const std::string path = (folder / "trace.json").string();
  trace.write(path);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  std::set<std::string> strings;
  gather_strings(json, strings);
  std::set<std::string> missing{"thread_name", machine.first,  machine.second + " copies",
                                "X",           "f \"quoted\"", "w \"\\\n\x01"};
  for (const std::string& found : strings) missing.erase(found);
  CHECK(missing == std::set<std::string>{});
}

TEST_CASE("a trace that cannot be written is an error that names the file", "[lanes]") {
  const ct::Trace trace;
  CHECK_THROWS_AS(trace.write("/no such folder/trace.json"), ct::FileError);
}

namespace {

/// Many temporaries on three devices that are sent back and forth. `places`: whether devices are chosen.
ct::Function random_program(std::uint64_t seed, const std::vector<std::string>& devices, bool places,
                            std::vector<ct::SharedVariable>& shared) {
  Random random{seed};
  const Variable x = ct::vector("x"), m = ct::matrix("m");
  shared.clear();
  std::vector<Variable> pool{x, ct::sum(m, 0), ct::sum(m, 1)};
  std::vector<std::pair<Variable, Variable>> updates;
  for (int i = 0; i < 3; ++i) {
    ct::SharedOptions options{.name = "s" + std::to_string(i)};
    const std::string target = devices[random.below(devices.size())];
    if (places) options.target = target;
    shared.push_back(ct::shared(Array::full(DType::float32, {16}, i + 1), options));
    pool.push_back(shared.back());
  }
  for (int i = 0; i < 40; ++i) {
    const std::string device = devices[random.below(devices.size())];
    std::optional<ct::device_scope> scope;
    if (places) scope.emplace(device);
    // Recent ones more often, so that early temporaries end and their memory is reused.
    const auto pick = [&] {
      const std::size_t back = std::min(random.below(8), pool.size() - 1);
      return pool[pool.size() - 1 - (random.below(4) == 0 ? random.below(pool.size()) : back)];
    };
    const Variable a = pick(), b = pick();
    switch (random.below(6)) {
      case 0:
        pool.push_back(ct::clip(a * b, -9, 9));
        break;
      case 1:
        pool.push_back(ct::clip(a - ct::sum(b), -9, 9));
        break;
      case 2:
        pool.push_back(ct::maximum(a, b) - ct::cumsum(ct::clip(b, -1, 1)));
        break;
      case 3:
        pool.push_back(ct::clip(ct::dot(m, a) - b, -9, 9));
        break;
      case 4:
        pool.push_back(ct::clip(a[ct::slice(std::nullopt, std::nullopt, -1)] + b, -9, 9));
        break;
      default:
        pool.push_back(ct::transfer(a + 1, places ? device : std::string("cpu")));
    }
  }
  std::vector<ct::Out> outputs;
  for (std::size_t i = pool.size() - 6; i < pool.size(); ++i) outputs.push_back(pool[i]);
  for (std::size_t i = 0; i < shared.size(); ++i)
    updates.push_back({shared[i], ct::clip(shared[i] + pool[8 + 5 * i], -9, 9)});
  return ct::function({x, m}, ct::OutputList{outputs},
                      {.updates = updates, .on_unused_input = ct::UnusedInput::ignore});
}

}  // namespace

TEST_CASE("random programs on three devices give in lanes what they give in order and on the host", "[lanes]") {
  const Alarm alarm_clock;
  const std::string kind = GENERATE("logical", "simulated", "delayed");
  const Machine machine(kind == "logical"     ? Machine::Kind::logical
                        : kind == "simulated" ? Machine::Kind::simulated
                                              : Machine::Kind::delayed);
  const std::vector<std::string> devices{"cpu", machine.first, machine.second};
  const int seeds = kind == "logical" ? 24 : 4;
  for (int seed = 0; seed < seeds; ++seed) {
    CAPTURE(kind, seed);
    Array x = Array::empty(DType::float32, {16}), m = Array::empty(DType::float32, {16, 16});
    Random random{static_cast<std::uint64_t>(seed) + 77};
    for (float& v : x.data<float>()) v = static_cast<float>(random.below(7)) - 3;
    for (float& v : m.data<float>()) v = static_cast<float>(random.below(3)) - 1;
    const auto run = [&](bool places, const std::string& threads) {
      const ct::change_flags flags("device_threads=" + threads);
      std::vector<ct::SharedVariable> shared;
      const ct::Function f = random_program(static_cast<std::uint64_t>(seed), devices, places, shared);
      std::vector<std::vector<double>> all;
      for (int call = 0; call < 3; ++call) {
        const auto results = f(x, m);
        for (std::size_t i = 0; i < results.size(); ++i) all.push_back(values(results[i]));
      }
      for (const auto& variable : shared) all.push_back(values(variable.get_value()));
      const auto counts = f.counts();
      std::vector<double> sent{static_cast<double>(counts.kernels), static_cast<double>(counts.transfers),
                               static_cast<double>(counts.transferred_bytes)};
      std::string what;
      for (const ct::TransferInfo& t : f.transfers()) what += t.what + t.from + t.to + " ";
      return std::tuple(all, sent, what);
    };
    const auto expected = run(true, "off");
    REQUIRE(run(true, "on") == expected);
    REQUIRE(std::get<0>(run(false, "off")) == std::get<0>(expected));
  }
}

TEST_CASE("a failing check raises the same in lanes as in order, and nothing has changed", "[lanes]") {
  const Alarm alarm_clock;
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto table = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "table", .target = machine.first});
  const auto other = ct::shared(Array{4.f, 5.f, 6.f}, {.name = "other", .target = machine.second});
  const Variable i = ct::lvector("i"), j = ct::lvector("j");
  Variable a, b;
  {
    const ct::device_scope scope(machine.first);
    a = ct::take(table, i) * 2;
  }
  {
    const ct::device_scope scope(machine.second);
    b = ct::take(other, j) * 2;
  }
  const ct::Function f =
      ct::function({i, j}, {a, b}, {.updates = {{table, table + 1}, {other, other + ct::sum(b)}}, .name = "f"});
  const Array good{std::int64_t{0}, std::int64_t{2}}, bad{std::int64_t{0}, std::int64_t{7}};
  const auto message = [&](const Array& first, const Array& second, const std::string& threads) {
    const ct::change_flags flags("device_threads=" + threads);
    return ct::test::error_of<ct::IndexError>([&] { f(first, second); });
  };
  for (const auto& [first, second] : {std::pair(bad, good), std::pair(good, bad), std::pair(bad, bad)}) {
    const std::string expected = message(first, second, "off");
    CHECK_THAT(expected, contains("7"));
    for (int round = 0; round < 3; ++round) CHECK(message(first, second, "on") == expected);
  }
  CHECK(values(table.get_value()) == std::vector<double>{1, 2, 3});
  CHECK(values(other.get_value()) == std::vector<double>{4, 5, 6});
  const ct::change_flags on{"device_threads=on"};
  f(good, good);
  CHECK(values(table.get_value()) == std::vector<double>{2, 3, 4});
  CHECK(values(other.get_value()) == std::vector<double>{24, 25, 26});
}

TEST_CASE("two threads call functions of several devices at once", "[lanes]") {
  const Alarm alarm_clock;
  const Machine machine(GENERATE(from_range(Machine::all())));
  const Variable x = ct::matrix("x");
  Variable a, b;
  {
    const ct::device_scope scope(machine.first);
    a = ct::sum(ct::sqr(x), 1);
  }
  {
    const ct::device_scope scope(machine.second);
    b = ct::sum(x * 3, 0);
  }
  const ct::Function f = ct::function({x}, {a, b, ct::sum(a) - ct::sum(b)});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const ct::change_flags flags(machine.flags() + ",device_threads=on");
      const ct::Function mine = f.copy();
      const Array input = Array::full(DType::float32, {8, 8}, t + 1);
      for (int round = 0; round < 5; ++round) {
        const auto results = mine(input);
        wrong += values(results[0]) != std::vector<double>(8, 8. * (t + 1) * (t + 1));
        wrong += values(results[1]) != std::vector<double>(8, 24. * (t + 1));
        wrong += values(results[2]) != std::vector<double>{64. * (t + 1) * (t + 1) - 192. * (t + 1)};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
