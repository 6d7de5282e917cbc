// Interruption of long work, and locks held during two calls and a fork: nothing is changed, and nothing waits forever.
#include <croton/croton.hpp>

#include "../backends.hpp"
#include "../catch.hpp"
#include "base/compilation.hpp"
#include "base/config.hpp"
#include "base/memory.hpp"

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;
using namespace std::chrono_literals;

namespace {

struct Stop {};
int questions = 0, answers_before_stop = 0;
void ask() {
  if (++questions > answers_before_stop) throw Stop{};
}

/// x + 1 after a while; sets `seen`.
ct::HostOp slow(std::function<void()> seen) {
  return ct::HostOp(
      {.name = "slow",
       .results = [](const std::vector<Variable>& in) { return std::vector<ct::HostOp::Result>{{in[0].dtype(), {}}}; },
       .compute =
           [seen = std::move(seen)](const std::vector<Array>& in) {
             seen();
             std::this_thread::sleep_for(10ms);
             return std::vector<Array>{Array(in[0].item<double>() + 1)};
           }});
}

}  // namespace

TEST_CASE("who called is asked between the steps of a loop, and ends the call with nothing changed", "[interrupts]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  if (mode == "mode=reference") return;  // this mode evaluates nodes, and has no steps
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  int steps = 0;
  const ct::HostOp op = slow([&] { ++steps; });
  const ct::SharedVariable s = ct::shared(Array(1.0)), t = ct::shared(Array(2.0));
  const Variable loop = ct::scan([&](const std::vector<Variable>& in) { return ct::Step(op(in[0])); }, {},
                                 {ct::OutputInfo(s)}, {}, {.n_steps = 500});
  const Variable last = loop[-1];
  const ct::Function f = ct::function({}, last, {.updates = {{s, last}, {t, t + last}}});
  questions = 0;
  answers_before_stop = 2;
  {
    const ct::InterruptScope scope(&ask);
    CHECK_THROWS_AS(f(), Stop);
  }
  CHECK(questions == 3);
  CHECK(steps > 3);
  CHECK(steps < 100);  // of 500, which take 5 s
  CHECK(s.get_value().item<double>() == 1);
  CHECK(t.get_value().item<double>() == 2);
  CHECK(s.version() == 0);
}

TEST_CASE("who called is asked between launches of some steps", "[interrupts]") {
  const ct::change_flags flags("mode=run");
  const ct::SharedVariable s = ct::shared(Array(1.0));
  const Variable last = ct::scan([](const std::vector<Variable>& in) { return ct::Step(ct::tanh(in[0]) + 0.5); }, {},
                                 {ct::OutputInfo(s)}, {}, {.n_steps = 1'000'000'000})
                            .outputs[0][-1];
  const ct::Function f = ct::function({}, last, {.updates = {{s, last}}});
  REQUIRE(f.plan().find("all steps in one launch") != std::string::npos);
  questions = 0;
  answers_before_stop = 3;
  const ct::InterruptScope scope(&ask);
  const std::clock_t begin = std::clock();
  CHECK_THROWS_AS(f(), Stop);
  CHECK(std::clock() - begin < 3 * CLOCKS_PER_SEC);  // the first launch is longer than those after it; all take 20 s
  CHECK(s.get_value().item<double>() == 1);
}

TEST_CASE("who called is asked while a graph is compiled", "[interrupts]") {
  Variable y = ct::dvector("x");
  const Variable x = y;
  for (int i = 0; i < 200000; ++i) y = ct::sin(y) * (1.5 + i % 7);
  questions = answers_before_stop = 0;
  const ct::InterruptScope scope(&ask);
  CHECK_THROWS_AS(ct::function({x}, y), Stop);
}

TEST_CASE("nobody is asked once a call writes over shared variables", "[interrupts]") {
  // Of two updates in place the second waits for the first; an interruption between them could leave one done.
  const ct::SharedVariable s = ct::shared(Array::zeros(DType::float64, {1 << 20})),
                           t = ct::shared(Array::zeros(DType::float64, {1 << 20}));
  const ct::Function f = ct::function({}, {}, {.updates = {{s, s + 1}, {t, t + 1}}});
  questions = answers_before_stop = 0;
  int done = 0, stopped = 0;
  const auto until = std::chrono::steady_clock::now() + 400ms;
  while (std::chrono::steady_clock::now() < until) {
    const ct::InterruptScope scope(&ask);
    std::this_thread::sleep_for(stopped == 0 ? 60ms : 0ms);  // the first check comes at once
    try {
      f();
      ++done;
    } catch (const Stop&) {
      ++stopped;
    }
  }
  CHECK(stopped >= 1);
  CHECK(done >= 1);
  CHECK(s.get_value().at<double>(0) == done);
  CHECK(t.get_value().at<double>(7) == done);
}

TEST_CASE("two variables with memory in common are refused where one is updated", "[interrupts]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  const auto refused = [](const ct::Function& f, const std::string& first, const std::string& second) {
    try {
      f();
    } catch (const ct::ValueError& error) {
      const std::string message = error.what();
      CAPTURE(message);
      return message.find(first) != std::string::npos && message.find(second) != std::string::npos &&
             message.find("memory in common") != std::string::npos;
    }
    return false;
  };
  Array a = Array::full(DType::float64, {4}, 1.0);
  const ct::SharedVariable s = ct::shared(a, {.name = "s", .borrow = true}),
                           q = ct::shared(a.slice(0, 2, 4), {.name = "q", .borrow = true}),
                           free = ct::shared(a, {.name = "free"});
  CHECK(refused(ct::function({}, {}, {.updates = {{s, s + 1}, {q, q * 10}}}), "s is", "q is"));
  CHECK(refused(ct::function({}, q, {.updates = {{s, s + 1}}}), "s is", "q is"));
  CHECK(s.get_value().equals(Array{1., 1., 1., 1.}));
  // Nothing writes it; or its memory is separate.
  CHECK(ct::function({}, ct::sum(s) + ct::sum(q))().item<double>() == 6);
  ct::function({}, {}, {.updates = {{s, s + 1}, {free, free * 10}}})();
  CHECK(s.get_value().equals(Array{2., 2., 2., 2.}));
  CHECK(free.get_value().equals(Array{10., 10., 10., 10.}));
  // Memory that was lent with borrow and returned as another variable.
  ct::SharedVariable r = ct::shared(free.get_value(true), {.name = "r", .borrow = true});
  const ct::Function both = ct::function({}, {}, {.updates = {{free, free + 1}, {r, r * 2}}});
  if (free.home() == "cpu") CHECK(refused(both, "free is", "r is"));
  r.set_value(Array{5., 5., 5., 5.});
  both();
  CHECK(free.get_value().equals(Array{11., 11., 11., 11.}));
  CHECK(r.get_value().equals(Array{10., 10., 10., 10.}));
}

TEST_CASE("an argument that is the memory of what is updated is read as it was given", "[interrupts]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  const std::int64_t n = 3000;
  Array a = Array::arange(n + 2).astype(DType::float64);
  const ct::SharedVariable s = ct::shared(a.slice(0, 2, n + 2), {.name = "s", .borrow = true});
  const Variable x = ct::dvector("x");
  // If the write were in place, element i would be read later as the argument's i + 2.
  const ct::Function f = ct::function({x}, ct::sum(x), {.updates = {{s, s + x}}});
  CHECK(f(a.slice(0, 0, n))[0].item<double>() == n * (n - 1) / 2.0);
  Array wanted = Array::arange(n).astype(DType::float64);
  for (std::int64_t i = 0; i < n; ++i) wanted.at<double>(i) = 2.0 * static_cast<double>(i) + 2;
  CHECK(s.get_value().equals(wanted));
}

TEST_CASE("a default update is checked like one that is given", "[interrupts]") {
  ct::SharedVariable s = ct::shared(Array{1.f, 2.f}, {.name = "s"});
  s.set_default_update(ct::cast(s, DType::float64) + 1);
  CHECK_THROWS_AS(ct::function({}, ct::sum(s)), ct::TypeError);
}

TEST_CASE("a child of fork reads what another thread was reading, and says so of what it was writing", "[interrupts]") {
  const ct::SharedVariable read = ct::shared(Array(1.0), {.name = "read"}),
                           written = ct::shared(Array(1.0), {.name = "written"});
  std::atomic<bool> inside{false}, go_on{false};
  const ct::HostOp op = slow([&] {
    inside = true;
    while (!go_on) std::this_thread::sleep_for(1ms);
  });
  const ct::Function f = ct::function({}, op(ct::cast(read, DType::float64)), {.updates = {{written, written + 1}}});
  std::thread caller([&] { f(); });
  while (!inside) std::this_thread::sleep_for(1ms);
  const pid_t child = fork();
  if (child == 0) {
    int status = 0;
    const ct::Function reads = ct::function({}, read * 2),
                       writes = ct::function({}, {}, {.updates = {{read, read + 1}}});
    if (reads().item<double>() != 2) status |= 1;
    writes();
    if (read.get_value().item<double>() != 2) status |= 2;
    try {
      written.get_value();
      status |= 4;
    } catch (const ct::Error& error) {
      const std::string message = error.what();
      if (message.find("written") == std::string::npos || message.find("forked") == std::string::npos) status |= 8;
    }
    _exit(status);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) ? WEXITSTATUS(status) : -1) == 0);
  go_on = true;
  caller.join();
  CHECK(written.get_value().item<double>() == 2);
}

TEST_CASE("a child of fork finds memory and flags free, whatever other threads are doing", "[interrupts]") {
  std::atomic<bool> stop{false};
  const auto work = [] {
    croton::base::release_memory(croton::base::allocate_memory(64), 64);
    const ct::change_flags flags{"warn=false"};
    return croton::base::config().warn ? 1 : 0;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) work();
    });
  int failures = 0;
  for (int i = 0; i < 40 && failures == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      _exit(work());
    }
    int status = -1;
    waitpid(child, &status, 0);
    failures += status != 0 ? 1 : 0;
  }
  CHECK(failures == 0);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("nothing is compiled in a child of fork that was forked while another thread compiled", "[interrupts]") {
  const Variable x = ct::fvector("x");
  const Array a{1.f, 2.f};
  const ct::Function bound = ct::function({x}, x * 2.f), unbound = ct::function({x}, x * 3.f);
  bound(a);
  const auto refused = [](const auto& work) {
    try {
      work();
    } catch (const ct::Error& error) {
      return std::string(error.what()).find("forked while another thread was compiling") != std::string::npos;
    }
    return false;
  };
  const auto status_of_child = [](const std::function<int()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(work());
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  std::atomic<bool> inside{false}, go_on{false};
  std::thread compiles([&] {
    const croton::base::Compilation compilation;
    inside = true;
    while (!go_on) std::this_thread::sleep_for(1ms);
  });
  while (!inside) std::this_thread::sleep_for(1ms);
  CHECK(status_of_child([&] {
          int status = 0;
          if (!refused([&] { ct::function({x}, x * 4.f); })) status |= 1;
          if (!refused([&] { unbound(a); })) status |= 2;
          if (bound(a)[0].as_double(1) != 4) status |= 4;
          return status |
                 status_of_child([&] { return refused([&] { unbound(a); }) ? 0 : 8; });  // a child of the child
        }) == 0);
  go_on = true;
  compiles.join();
  const auto works = [&] { return ct::function({x}, x * 5.f)(a)[0].as_double(1) == 10 ? 0 : 1; };
  CHECK(status_of_child(works) == 0);
  const croton::base::Compilation here;  // the thread that forks continues
  CHECK(status_of_child(works) == 0);
}

TEST_CASE("a callback that would wait for its own call is an error", "[interrupts]") {
  ct::SharedVariable read = ct::shared(Array(1.0), {.name = "read"}),
                     written = ct::shared(Array(1.0), {.name = "written"});
  const Variable x = ct::dscalar("x");
  std::function<void()> act;
  const ct::HostOp op = slow([&] { act(); });
  const ct::Function f = ct::function({x}, op(x) + read, {.updates = {{written, written + 1}}});
  const auto refused = [&](std::function<void()> what, const std::string& name) {
    act = std::move(what);
    try {
      f(1.0);
    } catch (const ct::Error& error) {
      const std::string message = error.what();
      return message.find(name + " is") != std::string::npos && message.find("wait for itself") != std::string::npos;
    }
    return false;
  };
  CHECK(refused([&] { read.set_value(Array(2.0)); }, "read"));
  CHECK(refused([&] { written.get_value(); }, "written"));
  CHECK(refused([&] { written.set_value(Array(2.0)); }, "written"));
  CHECK(written.version() == 0);
  act = [&] { CHECK(read.get_value().item<double>() == 1); };  // many may read
  CHECK(f(1.0)[0].item<double>() == 3);
}
