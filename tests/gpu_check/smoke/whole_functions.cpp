// User-visible behaviour other than values: failures after which the device still works, copies that overlap with work,
// threads, a device in two parts.
#include <croton/croton.hpp>
#include <croton/device.hpp>

#include <cstring>
#include <exception>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "programs.hpp"
#include "runtime/cuda/driver/context.hpp"
#include "runtime/cuda/driver/stream.hpp"
#include "runtime/cuda/driver/transfer.hpp"

namespace croton::smoke {
namespace {

namespace cuda = runtime::cuda;

change_flags on(const Machine& machine) { return change_flags("device=" + machine.device); }

/// A function with a shared variable on the device, which must work again after a failure.
struct Probe {
  SharedVariable w;
  Function f;
  explicit Probe(const Machine& machine) : w(shared(reals({1000}, 1), {.name = "w", .target = machine.device})) {
    const Variable x = vector("x");
    f = function({x}, x * 2 + w, {.updates = {{w, w + 1}}});
  }
  void check() const {
    const Array before = w.get_value(), x = reals({1000}, 2);
    const Array got = f(x).only(), after = w.get_value();
    for (std::int64_t i = 0; i < 1000; ++i) {
      const float b = before.data<float>()[static_cast<std::size_t>(i)];
      require(got.as_double(i) == static_cast<double>(x.data<float>()[static_cast<std::size_t>(i)] * 2 + b) &&
                  after.as_double(i) == static_cast<double>(b + 1),
              "a function gives wrong values afterwards");
    }
  }
};

template <class Error, class Body>
std::string error_of(const std::string& what, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
  throw std::runtime_error(what + " raised nothing");
}

std::string out_of_memory(const Machine& machine) {
  const change_flags flags = on(machine);
  const Probe probe(machine);
  probe.check();
  // Twice the memory of the device: a result of that size.
  std::size_t memory = 0;
  for (const DeviceInfo& info : devices()) {
    if (info.name == machine.device) memory = info.memory;
  }
  require(memory > 0, "the device says nothing of its memory");
  const Variable n = lscalar("n");
  const Function f = function({n}, cumsum(arange(n)));
  const auto elements = static_cast<std::int64_t>(memory / sizeof(std::int64_t) * 2);
  const std::string message = error_of<OutOfMemory>("a result of twice the memory", [&] { f(elements); });
  probe.check();
  require(f(std::int64_t{4}).only().as_double(3) == 6, "the function that had no memory is wrong afterwards");
  return message;
}

/// Allocates buffers until there is no more memory, then frees all: memory kept by the pool must not be missing for
/// separate allocations, such as the code of a new function.
std::string full_memory(const Machine& machine) {
  require_driver(machine);
  if (machine.small) throw NotAvailable("small sizes only");
  const change_flags flags = on(machine);
  const Probe probe(machine);
  probe.check();
  std::size_t held = 0;
  const std::shared_ptr<cuda::Context> context = cuda::Context::get(machine.index);
  {
    const cuda::Stream stream(context);
    std::vector<cuda::Buffer> buffers;
    error_of<OutOfMemory>("taking all memory", [&] {
      while (buffers.size() < 10'000) buffers.emplace_back(stream, std::size_t{256} << 20);
    });
    held = buffers.size();
  }
  probe.check();
  const Variable x = vector("x");
  const Function fresh = function({x}, sum(tan(x) * 0 + x));
  require(fresh(Array::full(DType::float32, {500'000}, 2)).only().as_double(0) == 1e6, "a new function is wrong");
  context->trim();
  return fmt::format("{:.1f} GiB were held", static_cast<double>(held) / 4);
}

std::string bad_index(const Machine& machine) {
  const change_flags flags = on(machine);
  const Probe probe(machine);
  const SharedVariable table = shared(reals({100, 8}, 1), {.name = "table", .target = machine.device});
  const Variable at = lvector("at");
  const Function f = function({at}, sum(table[at]), {.updates = {{table, table * 2}}});
  f(whole({50}, 1, 100));
  const Array before = table.get_value();
  Array bad = whole({50}, 1, 100);
  bad.data<std::int64_t>()[31] = 100;
  const std::string message = error_of<IndexError>("an index out of range", [&] { f(bad); });
  require(table.get_value().same_bits(before), "the call that failed has changed the table");
  f(whole({50}, 1, 100));
  require(!table.get_value().same_bits(before), "the call after it has changed nothing");
  probe.check();
  return message;
}

/// Pinned memory is copied in and out while kernels run; only events order the copies.
std::string asynchronous_copies(const Machine& machine) {
  require_driver(machine);
  const std::shared_ptr<cuda::Context> context = cuda::Context::get(machine.index);
  const std::size_t bytes = machine.small ? 1 << 12 : 32 << 20;
  const int rounds = machine.small ? 4 : 40;
  const cuda::Stream in(context), work(context), out(context);
  cuda::PinnedMemory from(context, bytes), to(context, bytes);
  const cuda::Buffer a(work, bytes), b(work, bytes);
  cuda::Event copied_in(context), worked(context), copied_out(context), made(context);
  made.record(work);
  in.wait(made), out.wait(made);
  for (int round = 0; round < rounds; ++round) {
    std::memset(from.data(), round + 1, bytes);
    cuda::start_copy_in(in, a.data(), from, 0, bytes);
    copied_in.record(in);
    work.wait(copied_in);
    cuda::fill(work, b.data(), 0, bytes);
    cuda::copy_within(work, b.data(), a.data(), bytes);
    worked.record(work);
    out.wait(worked);
    cuda::start_copy_out(out, to, 0, b.data(), bytes);
    copied_out.record(out);
    copied_out.synchronize();
    for (const std::size_t i : {std::size_t{0}, bytes / 2 + 1, bytes - 1})
      require(to.data()[i] == static_cast<std::byte>(round + 1),
              fmt::format("round {}: byte {} is another's", round, i));
    in.wait(copied_out), work.wait(copied_out);
  }
  return fmt::format("{} rounds of {} KiB", rounds, bytes >> 10);
}

/// A call's arguments are copied while the previous call is still running.
std::string uploads(const Machine& machine) {
  const change_flags flags = on(machine);
  const std::int64_t n = machine.small ? 500 : 1'000'000;
  const SharedVariable total = shared(Array::zeros(DType::float64, {n}), {.name = "total", .target = machine.device});
  const Variable x = dvector("x");
  const Function f = function({x}, OutputList{std::vector<Out>{}}, {.updates = {{total, total + x}}});
  const int calls = machine.small ? 5 : 50;
  for (int call = 1; call <= calls; ++call) f(Array::full(DType::float64, {n}, call));
  const Array got = total.get_value();
  for (std::int64_t i = 0; i < n; i += 97)
    require(got.as_double(i) == calls * (calls + 1) / 2, fmt::format("element {} is {}", i, got.as_double(i)));
  return fmt::format("{} calls", calls);
}

std::string two_threads(const Machine& machine) {
  const int calls = machine.small ? 3 : 200;
  std::exception_ptr failures[2];
  const auto work = [&](int number) {
    try {
      const change_flags flags = on(machine);
      const SharedVariable w = shared(Array::zeros(DType::float32, {300}), {.target = machine.device});
      const Variable x = vector("x");
      const Variable y = number == 0 ? sum(exp(x) * 0 + x) : max(x) * 2;
      const Function f = function({x}, y, {.updates = {{w, w + 1}}});
      for (int call = 0; call < calls; ++call) {
        const double got = f(Array::full(DType::float32, {300}, call)).only().as_double(0);
        require(got == (number == 0 ? 300.0 : 2.0) * call, fmt::format("thread {}, call {}: {}", number, call, got));
      }
      require(w.get_value().as_double(299) == calls, fmt::format("thread {} has lost updates", number));
    } catch (...) {
      failures[number] = std::current_exception();
    }
  };
  std::thread first(work, 0), second(work, 1);
  first.join(), second.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return fmt::format("{} calls each", calls);
}

/// One GPU as two devices: variables pinned to each, and a product that needs both.
std::string logical_devices(const Machine& machine) {
  if (!machine.device.starts_with("cuda")) throw NotAvailable("the device is no GPU");
  const change_flags flags("logical_devices=cuda0:2");
  const SharedVariable a = shared(reals({64, 64}, 1), {.name = "a", .target = "cuda0"}),
                       b = shared(reals({64, 64}, 2), {.name = "b", .target = "cuda1"});
  const Variable next = tanh(a * 0.5 + b);
  const Function f = function({}, sum(a * b), {.updates = {{a, next}, {b, b * 0.5 + transfer(next, "cuda1")}}});
  const auto on_host = [&] {
    const change_flags host("device=cpu");
    const SharedVariable c = shared(reals({64, 64}, 1)), d = shared(reals({64, 64}, 2));
    const Variable after = tanh(c * 0.5 + d);
    const Function g = function({}, sum(c * d), {.updates = {{c, after}, {d, d * 0.5 + after}}});
    for (int i = 0; i < 4; ++i) g();
    return std::vector<Array>{c.get_value(), d.get_value()};
  };
  for (int i = 0; i < 4; ++i) f();
  const std::vector<Array> wanted = on_host();
  require(a.home() == "cuda0" && b.home() == "cuda1",
          "the variables have left their devices: " + a.home() + ", " + b.home());
  require(a.get_value().same_bits(wanted[0]), "a has other bits than on the CPU");
  require(b.get_value().same_bits(wanted[1]), "b has other bits than on the CPU");
  return "";
}

}  // namespace

std::vector<Check> function_checks() {
  return {{"out of memory, then used again", out_of_memory},   {"all memory taken, then given back", full_memory},
          {"a bad index, then used again", bad_index},         {"asynchronous copies", asynchronous_copies},
          {"uploads that overlap with calls", uploads},        {"two threads, two functions", two_threads},
          {"logical devices: one GPU as two", logical_devices}};
}

}  // namespace croton::smoke
