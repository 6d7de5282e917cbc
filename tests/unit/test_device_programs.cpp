// Programs for several devices, from tutorials of Theano and TensorFlow, on simulated GPUs, on GPUs of the fake driver
// and on parts of the host: one body for all.
#include <croton/croton.hpp>
#include <croton/device.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "contains.hpp"
#include "machines.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::TransferInfo;
using ct::Variable;
using ct::test::error_of;
using ct::test::FakeGpus;
using ct::test::Machine;
using ct::test::values;
using Kind = ct::TransferInfo::Kind;

namespace {

/// A transfer as a line: "input a: cpu -> cuda0, 12 bytes".
std::vector<std::string> transfers(const ct::Function& f) {
  static constexpr const char* kinds[] = {"input", "shared", "value", "output", "constant"};
  std::vector<std::string> lines;
  for (const TransferInfo& t : f.transfers()) {
    const std::string what = t.kind != Kind::input && t.kind != Kind::shared ? "" : " " + t.what;
    lines.push_back(kinds[static_cast<int>(t.kind)] + what + ": " + t.from + " -> " + t.to + ", " +
                    std::to_string(t.bytes) + " bytes");
  }
  std::ranges::sort(lines);
  return lines;
}
using Lines = std::vector<std::string>;

/// The lines of the placement that are about products.
std::string products_of(const ct::Function& f) {
  std::istringstream lines(f.placement());
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(dot)") != std::string::npos) found += line + "\n";
  }
  return found;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// As in the tutorial: its M^n has n + 1 factors.
Variable matpow(const Variable& m, int n) {
  Variable result = m;
  for (; n >= 1; --n) result = ct::dot(m, result);
  return result;
}

/// A^n on one device, B^n on another, added on the CPU.
struct TwoPowers {
  Variable a = ct::matrix("a"), b = ct::matrix("b");
  ct::Function f;
  TwoPowers(const std::string& first, const std::string& second, int n) {
    Variable left, right, sum;
    {
      const ct::device_scope d(first);
      left = matpow(a, n);
    }
    {
      const ct::device_scope d(second);
      right = matpow(b, n);
    }
    {
      const ct::device_scope d("/cpu:0");
      sum = ct::add_n({left, right});
    }
    f = ct::function({a, b}, sum);
  }
};

/// Captures the standard error stream.
class ErrorStream {
 public:
  ErrorStream() : before_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~ErrorStream() { std::cerr.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace

TEST_CASE("use() chooses the default device and says which it is") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const std::string device = ct::flag("device");
  const auto before = ct::shared(Array{1.f}, {.name = "before"});
  {
    const ErrorStream errors;
    ct::use(machine.first);
    CHECK_THAT(errors.text(), contains("Mapped name None to device " + machine.first + ": "));
    if (machine.is_fake()) CHECK(errors.text() == "Mapped name None to device cuda0: Fake GPU (0000:01:00.0)\n");
  }
  {
    const ErrorStream errors;
    const ct::change_flags quiet{"print_active_device=false"};
    ct::use(machine.second);
    CHECK(errors.text().empty());
  }
  const auto after = ct::shared(Array{1.f}, {.name = "after"});
  const auto v = ct::vector("v");
  const ct::Function f = ct::function({v}, ct::exp(v) + 1);
  CHECK(values(f(Array{0.f})) == std::vector<double>{2});
  CHECK(transfers(f) ==
        Lines{"input v: cpu -> " + machine.second + ", 4 bytes", "output: " + machine.second + " -> cpu, 4 bytes"});
  ct::set_flag("device", device);
  CHECK(before.home() == "cpu");
  CHECK(after.home() == machine.second);
}

TEST_CASE("a shared vector on a GPU, doubled there and, under a flag, on another") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  Array host{1.f, 2.f, 3.f};
  const auto x = ct::shared(host, {.name = "x", .target = machine.first});
  CHECK(x.home() == machine.first);
  host.data<float>()[0] = 7;
  CHECK(x.get_value().to_string() == "[1. 2. 3.]");

  const ct::Function f = ct::function({}, x * 2);
  const Array doubled = f();
  CHECK(doubled.to_string() == "[2. 4. 6.]");
  CHECK(doubled.dtype() == DType::float32);
  CHECK(doubled.device() == "cpu");
  REQUIRE(f.kernels().size() == 1);
  CHECK(f.kernels()[0].target == machine.target());
  if (machine.kind() != Machine::Kind::logical) CHECK_THAT(f.kernels()[0].source, contains("CT_KERNEL"));
  CHECK(transfers(f) == Lines{"output: " + machine.first + " -> cpu, 12 bytes"});
  {
    const ct::change_flags on{"device=" + machine.second};
    CHECK(Array(f()).to_string() == "[2. 4. 6.]");
    CHECK(transfers(f) == Lines{"output: " + machine.second + " -> cpu, 12 bytes",
                                "shared x: " + machine.first + " -> " + machine.second + ", 12 bytes"});
    const auto before = f.counts();
    CHECK(Array(f()).to_string() == "[2. 4. 6.]");
    CHECK(transfers(f) == Lines{"output: " + machine.second + " -> cpu, 12 bytes"});
    CHECK(f.counts().compiled + f.counts().cached == before.compiled + before.cached);
  }
  CHECK(x.home() == machine.first);
  f();
  CHECK(transfers(f) == Lines{"output: " + machine.first + " -> cpu, 12 bytes"});
}

TEST_CASE("a flag for a GPU that is not there lists those that are") {
  FakeGpus one({{"devices", 1}});
  const auto x = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "x", .target = "gpu"});
  const ct::Function f = ct::function({}, x * 2);
  f();
  const auto on_second = [&] {
    const ct::change_flags on{"device=cuda1"};
    return Array(f());
  };
  CHECK_THAT(error_of<ct::DeviceError>(on_second), contains("there is no device cuda1; there are: cpu, cuda0"));
  const ct::change_flags soft{"allow_soft_placement=true"};
  CHECK(on_second().to_string() == "[2. 4. 6.]");
}

TEST_CASE("/gpu:1 on a machine with one GPU: an error with the line, or another device with a reason") {
  FakeGpus one({{"devices", 1}});
  CHECK_THAT(error_of<ct::DeviceError>([] { TwoPowers("/gpu:0", "/gpu:1", 2); }),
             contains("test_device_programs.cpp:") && contains("cuda1, which does not exist; there are: cpu, cuda0"));
  const ct::change_flags soft{"allow_soft_placement=true"};
  const TwoPowers both("/gpu:0", "/gpu:1", 2);
  const Array eye{{1.f, 0.f}, {0.f, 1.f}};
  CHECK(values(both.f(eye, eye))[0] == 2);
  CHECK_THAT(both.f.placement(), contains("there is no cuda1"));
}

TEST_CASE("without a scope work runs on the lowest GPU, and on the CPU where there is none") {
  const auto v = ct::vector("v");
  const ct::Function f = ct::function({v}, ct::exp(v));
  {
    FakeGpus gpus;
    f(Array{0.f});
    CHECK(transfers(f) == Lines{"input v: cpu -> cuda0, 4 bytes", "output: cuda0 -> cpu, 4 bytes"});
  }
  FakeGpus none({{"devices", 0}});
  f(Array{0.f});
  CHECK(transfers(f).empty());
}

TEST_CASE("A^n and B^n on two devices, added on the CPU") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  constexpr std::int64_t size = 256;
  const std::string bytes = std::to_string(size * size * 4) + " bytes";
  const Array a = Array::uniform(DType::float32, {size, size}, 1), b = Array::uniform(DType::float32, {size, size}, 2);
  const TwoPowers two(machine.first, machine.second, 10), one(machine.first, machine.first, 10);
  const Array sum = two.f(a, b);
  CHECK(std::isfinite(values(sum)[0]));
  CHECK(transfers(two.f) ==
        Lines{"input a: cpu -> " + machine.first + ", " + bytes, "input b: cpu -> " + machine.second + ", " + bytes,
              "value: " + machine.first + " -> cpu, " + bytes, "value: " + machine.second + " -> cpu, " + bytes});
  CHECK(two.f.counts().products == 10);  // an 11th power by squaring (dot-powers) is five products
  CHECK(two.f.counts().kernels == 1);
  CHECK(two.f.counts().transferred_bytes == 4 * size * size * 4);
  const std::string products = products_of(two.f);
  CHECK(count(products, "(dot): " + machine.first) == 5);
  CHECK(count(products, "(dot): " + machine.second) == 5);
  {
    const ct::change_flags as_written("rules_off=dot-powers");
    const TwoPowers all(machine.first, machine.second, 10);
    all.f(a, b);
    CHECK(all.f.counts().products == 20);
  }
  CHECK_THAT(two.f.placement(), contains("(add): cpu  [device_scope]"));
  // The same routine on both devices: the same bits.
  CHECK(values(one.f(a, b)) == values(sum));
  if (!machine.is_fake()) {
    const TwoPowers host("cpu", "cpu", 10);
    CHECK(values(host.f(a, b)) == values(sum));
    CHECK(transfers(host.f).empty());
  }
  // As M^(n + 1).
  const TwoPowers small(machine.first, machine.second, 2);
  const Array m{{1.f, 1.f}, {0.f, 1.f}};
  CHECK(values(small.f(m, m)) == std::vector<double>{2, 6, 0, 2});
}

TEST_CASE("a scope around earlier code moves all of it, and the log says where each op runs") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto x = ct::matrix("x");
  const auto build = [&] {
    const auto h = ct::tanh(ct::dot(x, x));
    return ct::function({x}, ct::sum(h, {0}) * 2, {.name = "model"});
  };
  ct::Function there;
  {
    const ct::device_scope d(machine.second);
    there = build();
  }
  const Array in = Array::uniform(DType::float32, {20, 20}, 3);
  std::ostringstream log;
  ct::log_device_placement(log);
  const auto got = values(there(in));
  ct::log_device_placement(nullptr);
  const std::string text = log.str();
  CHECK_THAT(text, contains("devices: cpu, " + machine.first) && contains("model runs here:"));
  CHECK_THAT(text, contains("(dot): " + machine.second + "  [device_scope]"));
  CHECK_THAT(text, contains("(tanh): " + machine.second + "  [device_scope]"));
  CHECK_THAT(text, contains("(sum): " + machine.second + "  [device_scope]"));
  CHECK_THAT(text, contains("(transfer): cpu -> " + machine.second));
  CHECK_THAT(text, contains("cpu -> " + machine.second + ", 1600 bytes"));
  CHECK_THAT(text, contains(machine.second + " -> cpu, 80 bytes"));
  const ct::change_flags host{"device=cpu"};
  const auto expected = values(build()(in));
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-5));
  if (!machine.is_fake()) CHECK(got == expected);
}

TEST_CASE("a constant made in a scope is sent there once") {
  Machine machine(GENERATE(from_range(Machine::all())));
  const auto x = ct::matrix("x");
  Variable y;
  {
    const ct::device_scope d(machine.first);
    const auto c = ct::constant(Array::uniform(DType::float32, {50, 40}, 5));
    y = ct::dot(x, c);
  }
  const ct::Function f = ct::function({x}, y);
  const auto run = [&](std::int64_t rows) {
    f(Array::uniform(DType::float32, {rows, 50}, 6));
    return transfers(f);
  };
  const auto sent = [&](std::int64_t rows) {
    return Lines{"input x: cpu -> " + machine.first + ", " + std::to_string(rows * 200) + " bytes",
                 "output: " + machine.first + " -> cpu, " + std::to_string(rows * 160) + " bytes"};
  };
  Lines first = sent(30);
  first.insert(first.begin(), "constant: cpu -> " + machine.first + ", 8000 bytes");
  CHECK(run(30) == first);
  const auto copies = [&] { return machine.is_fake() ? machine.cuda().calls("cuMemcpyHtoDAsync_v2") : 0; };
  const long long before = copies();
  CHECK(run(30) == sent(30));
  CHECK(run(31) == sent(31));  // nor for other sizes
  if (machine.is_fake()) CHECK(copies() == before + 2);
}
