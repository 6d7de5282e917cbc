// Allocations of a call with a bound plan: its result, and nothing else. Every operator new of the process is counted.
#include <croton/croton.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/memory.hpp"
#include "catch.hpp"

namespace {
std::atomic<long> news{0};
}

void* operator new(std::size_t size) {
  ++news;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ct = croton;
using ct::Array;
using ct::DType;

TEST_CASE("a steady call that only updates allocates nothing") {
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "w"});
  const ct::Function step =
      ct::function({x}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{w, w * 0.5 + ct::sum(x)}}});
  const Array in{1.f, 2.f, 3.f};
  for (int i = 0; i < 3; ++i) step(in);
  const long before = news;
  for (int i = 0; i < 10; ++i) step(in);
  CHECK(news == before);
}

TEST_CASE("a steady call allocates its result only") {
  const auto x = ct::matrix("x");
  const bool with_product = GENERATE(false, true);
  const ct::Function f = ct::function({x}, ct::nnet::softmax(with_product ? ct::dot(x, ct::transpose(x)) : x));
  const Array in = Array::uniform(DType::float32, {50, 40}, 1);
  for (int i = 0; i < 3; ++i) f(in);
  const long before = news;
  for (int i = 0; i < 10; ++i) f(in);
  // The list of results, and the sizes, strides and owner of its array. The elements are in kept memory.
  CHECK(news - before <= 10 * 4);
}
