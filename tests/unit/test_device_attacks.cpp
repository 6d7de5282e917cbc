// Unusual use of functions and shared variables on simulated devices: scopes that end out of order, logs that cannot be
// written, flags that change between compiling and calling, several threads, very deep and very wide graphs.
#include <croton/config.hpp>
#include <croton/croton.hpp>
#include <croton/device.hpp>

#include <atomic>
#include <ios>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/memory.hpp"
#include "catch.hpp"
#include "contains.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::TransferInfo;

namespace {

const ct::OutputList nothing{std::vector<ct::Out>{}};

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A stream whose buffer rejects everything.
struct Broken : std::streambuf {
  int overflow(int) override { throw std::runtime_error("the disk is full"); }
};

/// Writes the placement log to the stream during its lifetime.
struct Logging {
  explicit Logging(std::ostream& stream) { ct::log_device_placement(stream); }
  ~Logging() { ct::log_device_placement(nullptr); }
};

}  // namespace

TEST_CASE("transfers are listed by the names of the call that made them") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w"});
  const ct::Function f = ct::function({x}, x * w, {.updates = {{w, w + x}}});
  {
    const ct::change_flags on{"device=cuda1"};
    f(Array{3.f, 4.f});
  }
  // By now the function would run on the host, and w has moved.
  REQUIRE(f.transfers().size() == 3);
  CHECK(f.transfers()[0].what == "w");
  CHECK(f.transfers()[0].to == "cuda1");
  CHECK(f.transfers()[1].what == "x");
  CHECK(f.transfers()[2].to == "cpu");
  CHECK(ct::function({}, w + 1).transfers().empty());
}

TEST_CASE("device scopes may end in any order") {
  const ct::change_flags two{"cuda_simulator=2"};
  auto first = std::make_unique<ct::device_scope>("cuda0");
  auto second = std::make_unique<ct::device_scope>("cuda1");
  first.reset();
  const auto x = ct::vector("x");
  const ct::Function inside = ct::function({x}, ct::exp(x));
  second.reset();
  const ct::Function outside = ct::function({x}, ct::exp(x));
  CHECK(inside.devices() == std::vector<std::string>{"cuda1"});
  CHECK(outside.devices() == std::vector<std::string>{"cpu"});
}

TEST_CASE("a scope of the host alone needs no device") {
  const auto x = ct::vector("x");
  ct::Variable y;
  {
    const ct::device_scope host("/cpu:0");
    y = ct::exp(x) * 2;
  }
  const ct::Function f = ct::function({x}, ct::sum(y + x));
  CHECK(f(Array{0.f, 0.f}).item<float>() == 4);
  CHECK(f.kernels().size() == 1);
  CHECK(f.devices() == std::vector<std::string>{"cpu"});
}

TEST_CASE("a log that cannot be written is not the call's error") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda0"});
  const auto v = ct::shared(Array{1.f, 2.f}, {.name = "v"});
  const ct::Function f = ct::function({}, w * 3, {.updates = {{w, w + 1}, {v, w * 2}}});
  Broken buffer;
  std::ostream broken(&buffer);
  broken.exceptions(std::ios::badbit | std::ios::failbit);
  const Logging log(broken);
  CHECK(Array(f()).to_string() == "[3. 6.]");
  CHECK(Array(f()).to_string() == "[6. 9.]");
  CHECK(w.get_value().to_string() == "[3. 4.]");
  CHECK(v.get_value().to_string() == "[4. 6.]");
  CHECK(w.version() == 2);
  CHECK(v.version() == 2);
}

TEST_CASE("functions of several threads share variables, copies and the log") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto w = ct::shared(Array::zeros(DType::float32, {5}), {.name = "w", .target = "cuda0"});
  const auto v = ct::shared(Array::zeros(DType::float32, {5}), {.name = "v"});
  const ct::Function add = ct::function({}, nothing, {.updates = {{w, w + 1}, {v, v + 1}}, .name = "add"});
  const ct::Function read = ct::function({}, {w, v, w - v}, {.name = "read"});
  std::ostringstream text;
  const Logging log(text);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string device = t % 2 == 0 ? "cuda0" : "cuda1";
      const ct::change_flags here{"cuda_simulator=2,device=" + device};
      const ct::Function own = t < 2 ? add : add.copy();
      for (int i = 0; i < 10; ++i) {
        own();
        const ct::Outputs seen = read();
        for (std::int64_t k = 0; k < 5; ++k) {
          if (seen[0].as_double(k) != seen[1].as_double(k) || seen[2].as_double(k) != 0) ++wrong;
        }
        if (read.transfers().size() > 10 || own.placement().empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(w.get_value().equals(Array::full(DType::float32, {5}, 40)));
  CHECK(v.get_value().equals(Array::full(DType::float32, {5}, 40)));
  CHECK(w.version() == 40);
  CHECK(w.home() == "cuda0");
  CHECK(lines_with(text.str(), "devices: ") == 1);
}

TEST_CASE("set_value with another shape while copies exist") {
  const ct::change_flags two{"cuda_simulator=2"};
  auto w = ct::shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda0"});
  const ct::Function f = ct::function({}, ct::sum(w) * 2);
  const ct::change_flags on{"device=cuda1"};
  CHECK(f().item<float>() == 6);
  w.set_value(Array{1.f, 2.f, 3.f});
  CHECK(f().item<float>() == 12);
  w.set_value(Array::zeros(DType::float32, {0}));
  CHECK(f().item<float>() == 0);
  w.set_value(Array{5.f});
  CHECK(f().item<float>() == 10);
  CHECK(f().item<float>() == 10);
  CHECK(f.transfers().size() == 1);  // the result
}

TEST_CASE("a call keeps no copy of what has changed since") {
  const ct::change_flags two{"cuda_simulator=2"};
  auto w = ct::shared(Array::zeros(DType::float32, {1000}), {.name = "w", .target = "cuda0"});
  const auto x = ct::vector("x");
  ct::Variable y;
  {
    const ct::device_scope on("cpu");
    y = x + w[0];
  }
  const ct::Function f = ct::function({x}, y);
  f(Array{1.f});
  const std::size_t before = croton::base::memory_counters().bytes_in_use;
  // Each size has a separate plan.
  for (int n = 2; n < 12; ++n) {
    w.set_value(Array::zeros(DType::float32, {1000}));
    f(Array::zeros(DType::float32, {n}));
  }
  CHECK(croton::base::memory_counters().bytes_in_use < before + 4000);
}

TEST_CASE("outputs that are inputs, constants, variables, or one another") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda0"});
  const auto v = ct::shared(Array{7.f, 8.f}, {.name = "v", .target = "cuda1"});
  const auto c = ct::constant(Array{5.f, 6.f});
  ct::Variable there;
  {
    const ct::device_scope on("cuda1");
    there = ct::exp(w - w);
  }
  const ct::Function f =
      ct::function({x}, {x, w, v, c, there, there, w, x[ct::slice(0, 1)]}, {.updates = {{w, v}, {v, w}}});
  const ct::Outputs first = f(Array{3.f, 4.f});
  CHECK(first[0].to_string() == "[3. 4.]");
  CHECK(first[1].to_string() == "[1. 2.]");
  CHECK(first[2].to_string() == "[7. 8.]");
  CHECK(first[3].to_string() == "[5. 6.]");
  CHECK(first[4].to_string() == "[1. 1.]");
  CHECK(first[5].to_string() == "[1. 1.]");
  CHECK(first[6].to_string() == "[1. 2.]");
  CHECK(first[7].to_string() == "[3.]");
  CHECK(w.get_value().to_string() == "[7. 8.]");
  CHECK(v.get_value().to_string() == "[1. 2.]");
  CHECK(w.home() == "cuda0");
  CHECK(v.home() == "cuda1");
  const ct::Outputs second = f(Array{3.f, 4.f});
  CHECK(second[1].to_string() == "[7. 8.]");
  CHECK(second[2].to_string() == "[1. 2.]");
  // Every copy was counted: of w and v to the host, and to each other's home.
  std::size_t shared = 0;
  for (const TransferInfo& t : f.transfers()) shared += t.kind == TransferInfo::Kind::shared ? 1 : 0;
  CHECK(shared == 4);
}

TEST_CASE("one value for several variables, numbers for pinned ones") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto x = ct::vector("x");
  const auto a = ct::shared(Array{0.f}, {.name = "a", .target = "cuda0"});
  const auto b = ct::shared(Array{0.f}, {.name = "b", .target = "cuda1"});
  const auto c = ct::shared(Array{0.f}, {.name = "c"});
  const auto n = ct::shared(Array(std::int64_t{0}), {.name = "n", .target = "cuda1"});
  const auto half = ct::shared(Array(0.f), {.name = "half", .target = "cuda0"});
  const ct::Variable value = x * 2;
  const ct::Function f = ct::function(
      {x}, value,
      {.updates = {{a, value}, {b, value}, {c, value}, {n, x.shape(0)}, {half, ct::constant(Array(0.5f))}}});
  CHECK(Array(f(Array{1.f, 2.f, 3.f})).to_string() == "[2. 4. 6.]");
  for (const auto& variable : {a, b, c}) CHECK(variable.get_value().to_string() == "[2. 4. 6.]");
  CHECK(n.get_value().item<std::int64_t>() == 3);
  CHECK(half.get_value().item<float>() == 0.5f);
  CHECK(a.home() == "cuda0");
  CHECK(b.home() == "cuda1");
  CHECK(n.home() == "cuda1");
  CHECK(half.home() == "cuda0");
  // A size on a device, used there and elsewhere.
  ct::Variable start;
  {
    const ct::device_scope on("cuda0");
    start = ct::sum(ct::arange(n, n + 2));
  }
  CHECK(ct::function({}, start)().item<std::int64_t>() == 7);
}

TEST_CASE("numbers of other dtypes, empty and strided arguments on devices") {
  const ct::change_flags two{"cuda_simulator=2,device=cuda0"};
  for (const DType dtype : {DType::float16, DType::bool_, DType::int8, DType::uint8, DType::int64, DType::float64}) {
    const auto x = ct::matrix("x", dtype);
    const ct::Function f = ct::function({x}, {x, x.T(), ct::sum(x.astype(DType::float64)), ct::maximum(x, x)});
    for (const ct::Sizes& shape : std::vector<ct::Sizes>{{3, 5}, {1, 1}, {0, 4}, {3, 0}}) {
      const Array value = Array::uniform(DType::float64, shape, 1, 0, 5).astype(dtype);
      const Array strided = Array::uniform(DType::float64, {shape[1], shape[0]}, 1, 0, 5).astype(dtype).transpose();
      for (const Array& argument : {value, strided, value.slice(0, shape[0], -shape[0] - 1, -1)}) {
        const ct::Outputs got = f(argument);
        CHECK(got[0].equals(argument));
        CHECK(got[1].equals(argument.transpose()));
        CHECK(got[3].equals(argument));
      }
    }
  }
}

TEST_CASE("a failed allocation raises before anything has changed") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto n = ct::lscalar("n");
  const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda0"});
  ct::Variable large;
  {
    const ct::device_scope on("cuda0");
    large =
        ct::sum(ct::exp(ct::alloc(1.5f, {n})) * ct::sum(ct::exp(ct::alloc(1.5f, {n})))) + ct::alloc(w[0], {n})[n - 1];
  }
  const ct::Function f = ct::function({n}, large, {.updates = {{w, w * 2}}});
  f(10);
  const ct::Function g = ct::function({n}, ct::alloc(w[0], {n}) * 2);
  CHECK_THROWS_AS(g(std::int64_t{1} << 61), ct::ShapeError);
  CHECK_THROWS_AS(g((std::int64_t{1} << 39) - 256), ct::OutOfMemory);
  CHECK(w.get_value().to_string() == "[2. 4.]");
  CHECK(w.version() == 1);
  CHECK(Array(g(2)).to_string() == "[4. 4.]");
}

TEST_CASE("an index that is outside in a later segment, on a device") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "w", .target = "cuda1"});
  ct::Variable element;
  {
    const ct::device_scope on("cuda0");
    element = w[ct::sum(x > 0).astype(DType::int64)];
  }
  const ct::Function f = ct::function({x}, element, {.updates = {{w, w + 1}}});
  CHECK(f(Array{1.f, -1.f}).item<float>() == 2);
  CHECK_THROWS_AS(f(Array{1.f, 1.f, 1.f}), ct::IndexError);
  CHECK(w.get_value().to_string() == "[2. 3. 4.]");
  CHECK(w.version() == 1);
  CHECK(f(Array{1.f, 1.f}).item<float>() == 4);
}

TEST_CASE("other modes leave pinned variables where they are") {
  const ct::change_flags two{"cuda_simulator=2"};
  for (const char* mode : {"mode=reference", "mode=simulate", "optimizer=none", "mode=simulate,optimizer=none"}) {
    const ct::change_flags how{mode};
    const auto x = ct::vector("x");
    const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda1"});
    const auto v = ct::shared(Array{1.f, 2.f}, {.name = "v", .target = "cpu"});
    ct::Variable y;
    {
      const ct::device_scope on("cuda0");
      y = w * x;
    }
    ct::Variable z;
    {
      const ct::device_scope on("cpu");
      z = ct::sum(y + v);
    }
    const ct::Function f = ct::function({x}, z, {.updates = {{w, w + x}, {v, w}}});
    INFO(mode);
    CHECK(f(Array{1.f, 1.f}).item<float>() == 6);
    CHECK(f(Array{1.f, 1.f}).item<float>() == 8);
    CHECK(w.get_value().to_string() == "[3. 4.]");
    CHECK(v.get_value().to_string() == "[2. 3.]");
    CHECK(w.home() == "cuda1");
    CHECK(v.home() == "cpu");
    CHECK(!f.kernels().empty());
    CHECK(!f.devices().empty());
    CHECK(!f.plan().empty());
  }
}

TEST_CASE("devices that come and go between compiling and calling") {
  const auto x = ct::vector("x");
  ct::Variable y;
  {
    const ct::device_scope on("cuda1");
    y = ct::exp(x);
  }
  std::optional<ct::Function> f;
  ct::SharedVariable w;
  {
    const ct::change_flags two{"cuda_simulator=2"};
    w = ct::shared(Array{1.f}, {.name = "w", .target = "cuda1"});
    f = ct::function({x}, {y, w});
    (*f)(Array{0.f});
  }
  // Without devices a call raises an error, for sizes of earlier calls and for others.
  CHECK_THROWS_AS((*f)(Array{0.f}), ct::DeviceError);
  CHECK_THROWS_AS((*f)(Array{0.f, 0.f}), ct::DeviceError);
  CHECK_THROWS_WITH((*f)(Array{0.f}), contains("cuda1"));
  CHECK(w.get_value().to_string() == "[1.]");
  {
    const ct::change_flags two{"cuda_simulator=2"};
    CHECK((*f)(Array{0.f})[0].to_string() == "[1.]");
  }
  // Work whose scope was soft, because there was no such device, runs there once there is one.
  const ct::change_flags soft{"allow_soft_placement=true"};
  const ct::Function g = ct::function({x}, y);
  CHECK(g.devices() == std::vector<std::string>{"cpu"});
  const ct::change_flags two{"cuda_simulator=2"};
  CHECK(g.devices() == std::vector<std::string>{"cuda1"});
}

TEST_CASE("borrowed memory moves to a device as a copy") {
  const ct::change_flags two{"cuda_simulator=2"};
  Array mine{1.f, 2.f};
  auto w = ct::shared(mine, {.name = "w", .target = "cuda0", .borrow = true});
  const ct::Function f = ct::function({}, nothing, {.updates = {{w, w + 1}}});
  f();
  CHECK(mine.to_string() == "[1. 2.]");
  CHECK(w.get_value(true).to_string() == "[2. 3.]");
  w.set_value(mine, true);
  f();
  CHECK(mine.to_string() == "[1. 2.]");
  CHECK(w.get_value().to_string() == "[2. 3.]");
}

TEST_CASE("a copy of a function shares variables and constants, and nothing else") {
  const ct::change_flags two{"cuda_simulator=2,device=cuda0"};
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array(0.f), {.name = "w"});
  const ct::Function f = ct::function({x}, x * ct::constant(Array(2.f)) + w, {.updates = {{w, w + 1}}});
  f(Array{1.f});
  const ct::Function g = f.copy();
  CHECK(g.transfers().empty());
  CHECK(Array(g(Array{1.f, 2.f})).to_string() == "[3. 5.]");
  CHECK(Array(f(Array{1.f})).to_string() == "[4.]");
  CHECK(w.get_value().item<float>() == 3);
  CHECK(g.counts().calls == 1);
}

TEST_CASE("a failing allocation on a device changes nothing, wherever it happens") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda0"});
  const auto v = ct::shared(Array{1.f, 2.f}, {.name = "v", .target = "cuda1"});
  const ct::Variable y = w * v;
  const ct::Function f = ct::function({x}, {ct::sum(y), w, y}, {.updates = {{w, w + x}, {v, y}}});
  f(Array{0.f, 0.f});
  std::int64_t failed = 0;
  for (std::int64_t nth = 1;; ++nth) {
    const std::string w_before = w.get_value().to_string(), v_before = v.get_value().to_string();
    const auto version = w.version();
    std::int64_t failures = 0;
    bool raised = false;
    {
      const croton::base::FailAllocation fail(nth);
      try {
        f(Array{1.f, 1.f});
      } catch (const ct::OutOfMemory&) {
        raised = true;
      }
      failures = fail.failures();
    }
    INFO("allocation " << nth);
    if (raised) {
      CHECK(w.get_value().to_string() == w_before);
      CHECK(v.get_value().to_string() == v_before);
      CHECK(w.version() == version);
      ++failed;
    } else {
      CHECK(w.version() == version + 1);
    }
    if (failures == 0) break;
  }
  CHECK(failed > 3);
}

TEST_CASE("a thousand shared variables on two devices") {
  const ct::change_flags two{"cuda_simulator=2"};
  std::vector<std::pair<ct::Variable, ct::Variable>> updates;
  std::vector<ct::SharedVariable> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(ct::shared(Array{1.f * static_cast<float>(i)},
                             {.name = "s" + std::to_string(i), .target = i % 2 == 0 ? "cuda0" : "cuda1"}));
    updates.emplace_back(all.back(), all.back() + 1);
  }
  const ct::Function f = ct::function({}, nothing, {.updates = updates});
  f();
  f();
  CHECK(f.transfers().empty());
  CHECK(f.counts().kernels <= 40);  // a launch has as many as its parameters allow
  CHECK(all[0].get_value().item<float>() == 2);
  CHECK(all[999].get_value().item<float>() == 1001);
}

TEST_CASE("two thousand transfers") {
  const ct::change_flags two{"cuda_simulator=2"};
  const auto x = ct::vector("x");
  ct::Variable y = x;
  for (int i = 0; i < 2000; ++i) {
    const ct::device_scope on(i % 2 == 0 ? "cuda0" : "cuda1");
    y = y + 1;
  }
  const ct::change_flags plain{"optimizer=none"};
  const ct::Function f = ct::function({x}, y);
  CHECK(Array(f(Array{1.f})).to_string() == "[2001.]");
  CHECK(f.transfers().size() == 2001);
  CHECK(f.counts().compiled <= 1);
}
