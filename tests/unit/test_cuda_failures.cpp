// Every call of the driver is made to fail in turn, with a specific error, with "out of memory" and with one that loses
// the device: the exception has the right type and names the call and the user's line, nothing leaks, and the remaining
// objects can be used. At the end every entry point has failed at least once.
#include <array>
#include <bit>
#include <croton/error.hpp>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "contains.hpp"
#include "fake_cuda.hpp"
#include "runtime/cuda/driver/context.hpp"
#include "runtime/cuda/driver/staging.hpp"
#include "runtime/cuda/driver/stream.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/module.hpp"

using namespace croton;
using namespace croton::runtime::cuda;
using croton::test::error_of;
using croton::test::fake_cubin;
using croton::test::FakeCuda;
using croton::test::user_line;

namespace {

struct EntryName {
  std::string name, symbol;
};

const std::vector<EntryName>& all_entries() {
  static const std::vector<EntryName> all{
#define CROTON_CUDA_ENTRY(name, symbol, ...) {#name, #symbol},
#include "runtime/cuda/driver/driver_entries.def"
#undef CROTON_CUDA_ENTRY
  };
  return all;
}

// Calls of destructors: their errors are not reported, and objects that they could not release remain.
bool is_release(const std::string& name) {
  static const std::set<std::string> releases{"cuMemFreeAsync", "cuMemFreeHost",     "cuStreamDestroy",
                                              "cuEventDestroy", "cuModuleUnload",    "cuDevicePrimaryCtxRelease",
                                              "cuGraphDestroy", "cuGraphExecDestroy"};
  return releases.contains(name);
}

// The other calls, which destructors make as well.
bool waits_in_destructors(const std::string& name) {
  return name == "cuCtxSetCurrent" || name == "cuEventSynchronize" || name == "cuCtxSynchronize" ||
         name == "cuStreamSynchronize";
}

// Two devices with a stream each.
struct Machine {
  std::shared_ptr<Context> context = Context::open(0, user_line), peer = Context::open(1, user_line);
  Stream stream{context, user_line}, peer_stream{peer, user_line};
};

/// Uses all kinds of objects: true if the results are right. Calls `before_end` when only destructors remain.
bool work(const Machine& machine, const std::function<void()>& before_end = [] {}) {
  const auto& [context, peer, stream, peer_stream] = machine;
  constexpr std::size_t n = Staging::slot_bytes / 4 * 3 / 2, bytes = n * sizeof(float);
  const std::vector<float> values(n, 3);
  const Kernel scale = Module(context, fake_cubin({"scale"}), user_line).kernel("scale", 64 << 10, user_line);
  const Buffer x(stream, bytes, user_line), y(stream, bytes, user_line), far(peer_stream, bytes, user_line);
  Event start(context, Event::Timing::on, user_line), written(context, Event::Timing::on, user_line);
  Event copied(peer, Event::Timing::off, user_line);
  PinnedMemory pinned(context, 16, user_line);
  const auto wait_for_copy = [&] {
    copied.record(peer_stream, user_line);
    stream.wait(copied, user_line);
  };
  start.record(stream, user_line);
  copy_in(stream, x.data(), std::as_bytes(std::span(values)), user_line);
  const std::array<std::uint64_t, 2> parameters{pointer_of(x.data()), std::bit_cast<std::uint64_t>(2.0)};
  const Stream captured(context, user_line);
  Graph half(context, captured, [&] { scale.launch(captured, {1, 64}, parameters, n / 2, user_line); }, user_line);
  half.launch(stream, user_line);
  const std::array<std::uint64_t, 2> rest{pointer_of(x.data() + n / 2 * sizeof(float)), parameters[1]};
  const auto blocks = static_cast<unsigned>(scale.resident_blocks(64, 0, user_line));
  scale.launch(stream, {.blocks = blocks, .threads = 64, .cooperative = true}, rest, n - n / 2, user_line);
  fill(stream, y.data(), 0, bytes, user_line);
  copy_within(stream, y.data(), x.data(), bytes, user_line);
  start_copy_out(stream, pinned, 0, y.data(), 16, user_line);
  start_copy_in(stream, y.data() + 16, pinned, 0, 16, user_line);
  written.record(stream, user_line);
  peer_stream.wait(written, user_line);
  peer->enable_peer_access(*context, user_line);
  copy_peer(peer_stream, far.data(), *context, y.data(), bytes, user_line);
  wait_for_copy();
  std::vector<float> result(n);
  copy_out(peer_stream, std::as_writable_bytes(std::span(result)), far.data(), user_line);
  stream.synchronize(user_line);
  const bool timed = written.done(user_line) && written.milliseconds_since(start, user_line) > 0;
  const bool counted = context->reserved_bytes(user_line) >= 2 * bytes;
  context->trim(user_line);
  context->synchronize(user_line);
  before_end();
  return timed && counted && result == std::vector<float>(n, 6);
}

bool whole_program() {
  const Machine machine;
  return work(machine);
}

struct Outcome {
  bool raised = false;
  std::string message;
};

/// Runs it and checks the type of its exception: OutOfMemory for that error, DeviceError for all others.
Outcome run(const std::function<void()>& body, Result code) {
  try {
    body();
    return {};
  } catch (const OutOfMemory& error) {
    CHECK(code == result::out_of_memory);
    return {true, error.what()};
  } catch (const DeviceError& error) {
    CHECK(code != result::out_of_memory);
    return {true, error.what()};
  }
}

}  // namespace

TEST_CASE("every call of a program made to fail in turn", "[cuda]") {
  FakeCuda fake;
  const auto code = GENERATE(result::unknown, result::out_of_memory);
  const int delay = GENERATE(0, 1);
  fake.set("delay", delay);
  REQUIRE(whole_program());
  REQUIRE(fake.leaks().empty());
  REQUIRE(fake.faults().empty());
  for (const auto& [name, symbol] : all_entries()) {
    const long long before = fake.calls(symbol);
    whole_program();
    const long long calls = fake.calls(symbol) - before;
    // An allocation that fails once is repeated, after the pool has freed memory.
    const long long times = name == "cuMemAllocFromPoolAsync" && code == result::out_of_memory ? 2 : 1;
    for (long long nth = 1; nth <= calls; ++nth) {
      CAPTURE(name, nth, calls, code);
      fake.fail(symbol, nth, code, times);
      bool ended = false;  // whether the failing call is in a destructor, after the program
      const Outcome outcome = run(
          [&] {
            const Machine machine;
            work(machine, [&] { ended = true; });
          },
          code);
      if (outcome.raised) {
        CHECK_FALSE(is_release(name));
        CHECK_THAT(outcome.message, contains(name));
        if (name != "cuDeviceGetCount") CHECK_THAT(outcome.message, contains("(train.py:7)"));
      } else {
        CHECK(ended);
        CHECK((is_release(name) || waits_in_destructors(name)));
      }
      if (outcome.raised) CHECK(fake.leaks() == "");
      CHECK(fake.faults() == "");
      if (!outcome.raised) {  // the object that could not be released still exists
        fake.reset();
        fake.set("delay", delay);
      }
    }
    CHECK(whole_program());
  }
  CHECK(fake.leaks().empty());
}

TEST_CASE("after a call has failed its objects work again", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", GENERATE(0, 1));
  {
    const Machine machine;
    REQUIRE(work(machine));
    for (const auto& [name, symbol] : all_entries()) {
      const long long before = fake.calls(symbol);
      REQUIRE(work(machine));
      const long long calls = fake.calls(symbol) - before;
      if (is_release(name) || name == "cuCtxSetCurrent") continue;
      for (long long nth = 1; nth <= calls; ++nth) {
        CAPTURE(name, nth, calls);
        fake.fail(symbol, nth, result::unknown);
        bool ended = false;
        const bool raised = run([&] { work(machine, [&] { ended = true; }); }, result::unknown).raised;
        CHECK(raised != ended);
        CHECK(work(machine));
      }
    }
    CHECK_FALSE(machine.context->lost());
  }
  CHECK(fake.leaks() == "");
  CHECK(fake.faults() == "");
}

TEST_CASE("a device that is lost in any call stays lost, and says why", "[cuda]") {
  FakeCuda fake;
  for (const auto& [name, symbol] : all_entries()) {
    if (name == "cuDevicePrimaryCtxRelease") continue;
    fake.reset();
    long long calls = 0;
    {
      const Machine machine;
      const long long before = fake.calls(symbol);
      work(machine);
      calls = fake.calls(symbol) - before;
    }
    for (long long nth = 1; nth <= calls; ++nth) {
      CAPTURE(name, nth, calls);
      fake.reset();
      {
        const Machine machine;
        fake.fail(symbol, nth, result::illegal_address);
        const Outcome outcome = run([&] { work(machine); }, result::illegal_address);
        CHECK((outcome.raised || is_release(name) || waits_in_destructors(name)));
        const Context& context = *machine.context;
        const Context& peer = *machine.peer;
        CHECK((context.lost() || peer.lost()));
        const Stream& lost = context.lost() ? machine.stream : machine.peer_stream;
        const auto later = [&](const auto& body) {
          const std::string message = error_of<DeviceError>(body);
          CHECK_THAT(message,
                     contains("(train.py:7): cuda") &&
                         contains("cannot be used any more in this process, because of an earlier error: cu") &&
                         contains("CUDA_ERROR_ILLEGAL_ADDRESS"));
        };
        later([&] { lost.synchronize(user_line); });
        later([&] { Buffer(lost, 4, user_line); });
        later([&] { lost.context().trim(user_line); });
      }
      CHECK(fake.live("contexts") == 0);
    }
  }
}

TEST_CASE("the start of the driver made to fail", "[cuda]") {
  FakeCuda fake;
  for (const char* name : {"cuDriverGetVersion", "cuInit"}) {
    fake.restart();
    fake.fail(name, 1, result::unknown);
    CHECK_THAT(error_of<DeviceError>([] { Driver::instance(); }), contains(name) && contains("failed"));
    CHECK(Driver::available());
  }
  fake.restart();
  fake.fail("cuInit", 1, result::out_of_memory);
  CHECK_THROWS_AS(Driver::instance(), OutOfMemory);
}

TEST_CASE("errors that the driver cannot name have their number", "[cuda]") {
  FakeCuda fake;
  fake.fail("cuGetErrorName", 1, result::invalid_value);
  fake.fail("cuGetErrorString", 1, result::invalid_value);
  fake.fail("cuStreamCreate", 1, 803);
  const auto context = Context::open(0);
  CHECK_THAT(error_of<DeviceError>([&] { Stream(context, user_line); }),
             contains("cuStreamCreate (train.py:7) failed on cuda0 (Fake GPU): error 803; libcuda and the kernel's"));
}

TEST_CASE("an error while an out-of-memory message is made does not hide it", "[cuda]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context);
  fake.fail("cuMemAllocFromPoolAsync", 1, result::out_of_memory, 2);
  fake.fail("cuMemGetInfo_v2", 1, result::unknown);
  CHECK_THROWS_AS(Buffer(stream, 4), OutOfMemory);
}

// The last test: it checks the results of the others.
TEST_CASE("the fake driver has the entry points of the table, and each has failed", "[cuda]") {
  FakeCuda fake;
  std::set<std::string> table, exported;
  for (const auto& [name, symbol] : all_entries()) table.insert(symbol);
  std::istringstream lines(fake.entries());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cublasLt") && !line.starts_with("cudnn")) exported.insert(line);
  }
  CHECK(exported == table);
  for (const std::string& symbol : table) {
    CAPTURE(symbol);
    CHECK(fake.failures(symbol) > 0);
  }
}
