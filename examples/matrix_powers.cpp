// A^n + B^n for two matrices, as a tutorial of TensorFlow compares one GPU with two: both powers on one device, then
// one on each, added on the CPU. It shows the placement, the transfers and the times of both, and that both give the
// same bits. As in the tutorial, whose recursion ends with M for n < 1, the powers have n + 1 factors. Croton computes
// powers by squaring, with 5 products instead of 10; CROTON_FLAGS=rules_off=dot-powers disables this.
//
// Usage: matrix_powers [SIZE [N [FIRST SECOND [HOST]]]]    (256 10 cpu0 cpu1 cpu)
//
// The tutorial's own sizes on two GPUs: matrix_powers 10000 10 cuda0 cuda1
#include <croton/croton.hpp>

#include <chrono>
#include <cmath>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "device_names.hpp"

namespace ct = croton;

namespace {

ct::Variable matpow(const ct::Variable& m, int n) { return n < 1 ? m : ct::dot(m, matpow(m, n - 1)); }

/// A^n on one device, B^n on another, their sum on a third. The matrices are stored where they are multiplied.
ct::Function powers(const ct::Array& a, const ct::Array& b, int n, const std::string& first, const std::string& second,
                    const std::string& host, const std::string& name) {
  ct::Variable left, right, sum;
  {
    const ct::device_scope on(first);
    left = matpow(ct::shared(a, {.name = "A", .target = first}), n).named("A^n");
  }
  {
    const ct::device_scope on(second);
    right = matpow(ct::shared(b, {.name = "B", .target = second}), n).named("B^n");
  }
  {
    const ct::device_scope on(host);
    sum = ct::add_n({left, right}).named("sum");
  }
  return ct::function({}, sum, {.name = name});
}

struct Timed {
  ct::Array sum;
  double seconds = 0;
};

/// The best of three calls; the first one, which compiles, is not counted.
Timed timed(const ct::Function& f) {
  Timed result{.sum = f()};
  for (int call = 0; call < 3; ++call) {
    const auto start = std::chrono::steady_clock::now();
    result.sum = f();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (call == 0 || time.count() < result.seconds) result.seconds = time.count();
  }
  return result;
}

int run(std::int64_t size, int n, const std::string& first, const std::string& second, const std::string& host) {
  device_names::provide({first, second, host});
  const ct::Array a = ct::Array::uniform(ct::DType::float32, {size, size}, 1);
  const ct::Array b = ct::Array::uniform(ct::DType::float32, {size, size}, 2);
  const ct::Function one = powers(a, b, n, first, first, host, "one device");
  const ct::Function two = powers(a, b, n, first, second, host, "two devices");
  one();  // the log is for the second function only
  ct::log_device_placement(std::cout);
  two();
  ct::log_device_placement(nullptr);

  const Timed of_one = timed(one), of_two = timed(two);
  const std::string remark = device_names::remark(first);
  std::cout << command_line::text("one device:  %.4f s%s\n", of_one.seconds, remark.c_str())
            << command_line::text("two devices: %.4f s%s, %.2f times as fast\n", of_two.seconds, remark.c_str(),
                                  of_one.seconds / of_two.seconds);
  const bool same = of_one.sum.same_bits(of_two.sum), finite = std::isfinite(of_one.sum.as_double(0));
  std::cout << "both results " << (same ? "have the same bits" : "DIFFER") << " and are "
            << (finite ? "finite" : "NOT finite") << "\n";
  return same && finite ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> given(argv + 1, argv + argc);
    if (given.size() > 5 || given.size() == 3) {
      std::cerr << "usage: matrix_powers [SIZE [N [FIRST SECOND [HOST]]]]\n";
      return 2;
    }
    const auto argument = [&](std::size_t i, const char* other) { return i < given.size() ? given[i] : other; };
    return run(command_line::number<std::int64_t>("SIZE", argument(0, "256"), 1, 40000),
               command_line::number("N", argument(1, "10"), 0, 100), argument(2, "cpu0"), argument(3, "cpu1"),
               argument(4, "cpu"));
  } catch (const std::exception& error) {
    std::cerr << "matrix_powers: " << error.what() << "\n";
    return 1;
  }
}
