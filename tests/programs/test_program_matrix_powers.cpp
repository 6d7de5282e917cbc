// TensorFlow's program that compares one GPU with two: A^n + B^n, each power on its own device, added by the host; and
// the program's report of the placement of its work.
#include "programs.hpp"

#include <cmath>
#include <optional>

namespace ct = croton;
using namespace croton::test;
using ct::Array;
using ct::DType;
using Kind = ct::TransferInfo::Kind;

namespace {

/// The program's recursion, whose base case makes it n + 1 factors.
ct::Variable matpow(const ct::Variable& m, int n) { return n < 1 ? m : ct::dot(m, matpow(m, n - 1)); }

/// matpow(a, n) on one device, matpow(b, n) on another one, their sum on the host.
struct Powers {
  ct::Variable a = ct::matrix("a"), b = ct::matrix("b"), p, q, sum;
  ct::Function f;

  Powers(const std::string& first, const std::string& second, int n = 10) {
    {
      const ct::device_scope on(first);
      p = matpow(a, n).named("p");
    }
    {
      const ct::device_scope on(second);
      q = matpow(b, n).named("q");
    }
    const ct::device_scope on("/cpu:0");
    sum = ct::add_n({p, q}).named("sum");
    f = ct::function({a, b}, sum, {.name = "powers"});
  }
};

/// The result of the program, in double, product by product.
std::vector<double> by_loops(const Array& m, int n) {
  const auto size = static_cast<std::size_t>(m.shape(0));
  const std::vector<double> one = values(m);
  std::vector<double> power = one;
  for (; n >= 1; --n) {
    std::vector<double> next(size * size, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < size; ++k) {
        for (std::size_t j = 0; j < size; ++j) next[i * size + j] += one[i * size + k] * power[k * size + j];
      }
    }
    power = std::move(next);
  }
  return power;
}

}  // namespace

TEST_CASE("C3.1 names of TensorFlow; one that is not there is an error at compile, or placed softly with the reason") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const bool logical = machine.kind() == Machine::Kind::logical;
  const auto x = ct::vector("x");
  const auto on = [&](const std::string& device) {
    const ct::device_scope scope(device);
    return ct::exp(x).named("y");
  };
  const auto runs_on = [&](const std::string& device) { return ct::function({x}, on(device)).devices().at(0); };
  CHECK(runs_on("/cpu:0") == "cpu");
  CHECK(runs_on(logical ? "/cpu:1" : "/gpu:0") == machine.first);
  CHECK(runs_on(logical ? "/cpu:2" : "/gpu:1") == machine.second);
  if (!logical) CHECK(runs_on("/GPU:1") == "cuda1");

  // Building it is valid: whether the device exists is checked in the compilation.
  const std::string missing = logical ? "cpu3" : "cuda2";
  const ct::Variable y = on(logical ? "/cpu:3" : "/gpu:2");
  const std::string message = error_of<ct::DeviceError>([&] { ct::function({x}, y); });
  CHECK_THAT(message, contains("test_program_matrix_powers.cpp:") && contains(missing) &&
                          contains("cpu, " + machine.first) && contains(machine.second) &&
                          contains("allow_soft_placement"));
  const ct::change_flags soft{"allow_soft_placement=true"};
  CapturedLog log;
  const ct::Function f = ct::function({x}, y, {.name = "f"});
  CHECK(values(f(Array{0.f})) == std::vector<double>{1});
  CHECK_THAT(log.take(), contains("  y: (exp): " + std::string(machine.is_fake() ? "cuda0" : "cpu")) &&
                             contains("there is no " + missing));
}

TEST_CASE("C3.1 one GPU has no /gpu:1") {
  const ct::change_flags one{"cuda_simulator=1"};
  const auto x = ct::vector("x");
  ct::Variable y;
  {
    const ct::device_scope scope("/gpu:1");
    y = ct::exp(x).named("y");
  }
  CHECK_THAT(error_of<ct::DeviceError>([&] { ct::function({x}, y); }), contains("cuda1") && contains("cpu, cuda0"));
}

TEST_CASE("C3.2 the log names the devices, each op with its device in the order of the plan, and transfers by bytes") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const std::string &one = machine.first, &two = machine.second;
  // Compiled before the log begins: the placement is logged when a function first runs on some device.
  const Powers powers(one, two, 1);
  CapturedLog log;
  const Array a = uniform({2, 2}, 1), b = uniform({2, 2}, 2);
  const Array got = powers.f(a, b);
  const std::string calls = "powers: input a: cpu -> " + one + ", 16 bytes\n" +  //
                            "powers: input b: cpu -> " + two + ", 16 bytes\n" +  //
                            "powers: value p: " + one + " -> cpu, 16 bytes\n" +  //
                            "powers: value q: " + two + " -> cpu, 16 bytes\n";
  const std::string placement = "  a: (transfer): cpu -> " + one + "  [sent by every call]\n" +  //
                                "  b: (transfer): cpu -> " + two + "  [sent by every call]\n" +  //
                                "  p: (dot): " + one + "  [device_scope]\n" +                    //
                                "  q: (dot): " + two + "  [device_scope]\n" +                    //
                                "  p: (transfer): " + one + " -> cpu  [sent by every call]\n" +  //
                                "  q: (transfer): " + two + " -> cpu  [sent by every call]\n" +  //
                                "  sum: (add): cpu  [device_scope]\n";
  CHECK(log.take() == "devices: cpu, " + machine.listed() + "\npowers runs here:\n" + placement + calls);
  CHECK(powers.f.placement() == placement);
  // Later calls are logged too; the header and the placement are not written again.
  powers.f(a, b);
  CHECK(log.take() == calls);
  // Another stream begins with the devices, too.
  std::ostringstream other;
  ct::log_device_placement(other);
  powers.f(a, b);
  CHECK(log.take().empty());
  CHECK(other.str() == calls);
  Powers(one, two, 1).f(a, b);
  CHECK_THAT(other.str(), contains("devices: cpu, " + machine.listed() + "\npowers runs here:\n" + placement));
  ct::log_device_placement(nullptr);
  // The flag writes the same to the standard error stream.
  const ct::change_flags flag{"log_device_placement=true"};
  const CapturedErrors errors;
  CHECK(Array(powers.f(a, b)).same_bits(got));
  CHECK(errors.text() == calls);
}

TEST_CASE("C3.3 by default work and variables are on the first of several GPUs, on the host where there is none") {
  const auto x = ct::vector("x");
  const auto expect = [&](const std::string& device) {
    const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w"});
    const ct::Function f = ct::function({x}, ct::exp(x) + w);
    CHECK(ct::flag("device") == "auto");
    CHECK(f.devices() == std::vector{device});
    CHECK(values(f(Array{0.f, 0.f})) == std::vector<double>{2, 3});
    // A variable exists from its first update on.
    ct::function({}, std::vector<ct::Variable>{}, {.updates = {{w, w * 2}}})();
    CHECK(w.home() == device);
    CHECK(values(w.get_value()) == std::vector<double>{2, 4});
  };
  {
    const Machine gpus(Machine::Kind::fake);
    expect("cuda0");
  }
  {
    const FakeGpus none({{"devices", 0}});
    expect("cpu");
  }
  // Substitutes for GPUs must be requested by name.
  for (const Machine::Kind kind : {Machine::Kind::simulated, Machine::Kind::logical}) {
    const Machine machine(kind);
    expect("cpu");
  }
}

TEST_CASE("C3.4 a scope of the third device around earlier code: the same results, and every op there") {
  const auto [flags, third] =
      GENERATE(table<std::string, std::string>({{"logical_devices=cpu:4", "/cpu:3"}, {"cuda_simulator=3", "/gpu:2"}}));
  const ct::change_flags on(flags);
  const std::string name = third == "/gpu:2" ? "cuda2" : "cpu3";
  const auto x = ct::matrix("x");
  const auto earlier_code = [&] { return ct::sum(ct::tanh(ct::dot(x, x) + x.T())); };
  const Array in = uniform({7, 7}, 1);
  const Array expected = ct::function({x}, earlier_code())(in);
  ct::Variable y;
  {
    const ct::device_scope scope(third);
    y = earlier_code();
  }
  CapturedLog log;
  const ct::Function f = ct::function({x}, y, {.name = "f"});
  CHECK(Array(f(in)).same_bits(expected));
  CHECK(f.devices() == std::vector{name});
  std::size_t ops = 0;
  for (const std::string& line : lines_of(log.take())) {
    if (!line.starts_with("  ") || line.find("(transfer)") != std::string::npos) continue;
    INFO(line);
    CHECK_THAT(line, contains("): " + name + "  [device_scope]"));
    ++ops;
  }
  CHECK(ops >= 4);
}

TEST_CASE("C3.5 two devices multiply, the host adds: the log shows three places, the bits are those of one device") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const Array a = uniform({33, 33}, 1), b = uniform({33, 33}, 2);
  const Powers two(machine.first, machine.second, 1), one(machine.first, machine.first, 1);
  CapturedLog log;
  const Array apart = two.f(a, b);
  const std::string text = log.take();
  CHECK_THAT(text, contains("  p: (dot): " + machine.first + "  [") &&
                       contains("  q: (dot): " + machine.second + "  [") && contains("  sum: (add): cpu  ["));
  CHECK(two.f.devices() == std::vector<std::string>{"cpu", machine.first, machine.second});
  CHECK(apart.same_bits(one.f(a, b)));
  // The same library serves the host and the memory of a simulated GPU.
  if (!machine.is_fake()) CHECK(apart.same_bits(Powers("cpu", "cpu", 1).f(a, b)));
  const std::vector<double> p = by_loops(a, 1), q = by_loops(b, 1);
  for (std::size_t i = 0; i < p.size(); ++i)
    REQUIRE(apart.as_double(static_cast<std::int64_t>(i)) == Approx(p[i] + q[i]).epsilon(1e-5));
}

TEST_CASE("C3.6 A^11 + B^11 on one and on two devices: as written, finite, the same bits, and two at the same time") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const std::int64_t n = 256;
  const Array a = uniform({n, n}, 1), b = uniform({n, n}, 2);
  const Powers two(machine.first, machine.second), one(machine.first, machine.first);
  const Array apart = two.f(a, b);
  REQUIRE(apart.shape() == ct::Sizes{n, n});
  CHECK(std::ranges::all_of(values(apart), [](double v) { return std::isfinite(v) && v > 0; }));
  CHECK(apart.same_bits(one.f(a, b)));
  // Eleven factors, multiplied in any order.
  const std::vector<double> p = by_loops(a, 10), q = by_loops(b, 10);
  double worst = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    worst = std::max(worst, std::abs(apart.as_double(static_cast<std::int64_t>(i)) / (p[i] + q[i]) - 1));
  CHECK(worst < 1e-4);
  {
    const ct::change_flags as_written{"optimizer=none"};
    CHECK(Powers(machine.first, machine.second).f.product_count() == 20);
  }
  // The transfers: both matrices to the devices, both powers back, 256 KiB each.
  const auto times = [](const std::vector<std::string>& names, const char* kind, const std::string& from,
                        const std::string& to) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < 2; ++i)
      all.push_back(std::string(kind) + " " + names[i] + ": " + (i == 0 ? from : to) + ", 262144 bytes");
    return all;
  };
  CHECK(sent_by(two.f, Kind::input) ==
        times({"a", "b"}, "input", "cpu -> " + machine.first, "cpu -> " + machine.second));
  CHECK(sent_by(two.f, Kind::value) ==
        times({"p", "q"}, "value", machine.first + " -> cpu", machine.second + " -> cpu"));
  CHECK(overlaps(machine.first, machine.second, [&] { two.f(a, b); }));
  CHECK(Array(two.f(a, b)).same_bits(apart));
}

TEST_CASE("C3.6 the largest element of A^11 at the program's size is within float32") {
  // For uniform numbers the elements of A^k are near (size / 2)^k / size: for 10,000 and 11, 4.9e36. A matrix of their
  // mean, 1/2, shows it without the 10,000 columns: each power is constant.
  float element = 0.5F;
  for (int product = 0; product < 10; ++product) element *= 10'000 * 0.5F;
  CHECK(std::isfinite(element + element));
  CHECK(element > 1e36F);
}

TEST_CASE("C3.7 a constant made inside a scope is placed on that device once") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto x = ct::matrix("x");
  ct::Variable y;
  {
    const ct::device_scope on(machine.first);
    y = ct::dot(x, ct::constant(uniform({8, 8}, 1)).named("A")).named("y");
  }
  const ct::Function f = ct::function({x}, y, {.name = "f"});
  const auto constants = [&] { return sent_by(f, Kind::constant); };
  CapturedLog log;
  const Array first = f(uniform({3, 8}, 2));
  REQUIRE(constants().size() == 1);
  CHECK_THAT(constants()[0], contains(": cpu -> " + machine.first + ", 256 bytes"));
  CHECK(count_of(log.take(), "f: constant ") == 1);
  for (const std::int64_t rows : {3, 5, 1}) {
    f(uniform({rows, 8}, 2));
    CHECK(constants().empty());
    CHECK(sent_by(f).size() == 2);  // the argument to the device, the result back
  }
  const ct::Function copy = f.copy();
  CHECK(Array(copy(uniform({3, 8}, 2))).same_bits(first));
  CHECK(sent_by(copy, Kind::constant).empty());
  CHECK(count_of(log.take(), ": constant ") == 0);
  const ct::change_flags reference{"mode=reference"};
  CHECK(Array(ct::function({x}, y)(uniform({3, 8}, 2))).all_close(first, 1e-5));
}
