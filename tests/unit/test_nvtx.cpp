// Ranges for profilers: the calls of a profiler's library (tests/fake_cuda/nvtx.cpp), and none while the flag is off.
#include <croton/croton.hpp>

#include <dlfcn.h>

#include <iostream>

#include "catch.hpp"
#include "runtime/cuda/nvtx.hpp"

namespace ct = croton;

namespace {

std::string recorded() {
  void* library = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOLOAD | RTLD_NOW);
  if (library == nullptr) return "not loaded";
  auto* log = reinterpret_cast<const char* (*)()>(dlsym(library, "fake_nvtx_log"));
  return log != nullptr ? log() : "no log";
}

}  // namespace

TEST_CASE("calls are ranges for a profiler", "[nvtx]") {
  const auto x = ct::vector("x");
  const ct::Function f = ct::function({x}, ct::exp(x), {.name = "forward"});
  const auto call = [&] { f(ct::Array::zeros(ct::DType::float32, {3})); };
  call();
  if (!croton::runtime::cuda::has_nvtx()) {
    const ct::change_flags on("nvtx=true");
    call();
    std::cout << "NOT RUN: Croton was configured without the headers of NVTX\n";
    return;
  }
  REQUIRE(std::getenv("NVTX_INJECTION64_PATH") != nullptr);
  CHECK(recorded() == "not loaded");
  const std::string once = "domain Croton\npush forward\npush " + f.kernels("cpu")[0].name + "\npop\npop\n";
  {
    const ct::change_flags on("nvtx=true");
    call();
    CHECK(recorded() == once);
    const ct::Variable y = ct::iscalar("y");
    const ct::Function g = ct::function({x, y}, x[y], {.name = "take"});
    CHECK_THROWS_AS(g(ct::Array::zeros(ct::DType::float32, {3}), 7), ct::Error);
  }
  call();
  CHECK(recorded() == once + "push take\npop\n");  // the index is rejected before a kernel runs
}
