// Products by cuBLASLt, at aligned and unaligned addresses, and convolutions by cuDNN.
#include <croton/convolution.hpp>
#include <croton/croton.hpp>

#include <cmath>
#include <span>

#include <fmt/format.h>

#include "programs.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/libraries/blaslt.hpp"
#include "runtime/cuda/libraries/dnn.hpp"

namespace croton::smoke {
namespace {

namespace cuda = runtime::cuda;

struct Matrices {
  std::int64_t m, n, k;
  std::int64_t offset;  // elements before each operand
};

void product(const cuda::Stream& stream, cuda::BlasLt& library, const Matrices& sizes) {
  const auto [m, n, k, offset] = sizes;
  const Array a = reals({offset + m * k}, 1), b = reals({offset + k * n}, 2);
  const auto on_device = [&](const Array& array) {
    cuda::Buffer buffer(stream, array.data<float>().size_bytes());
    cuda::copy_in(stream, buffer.data(), std::as_bytes(array.data<float>()));
    return buffer;
  };
  const cuda::Buffer da = on_device(a), db = on_device(b);
  const std::size_t front = static_cast<std::size_t>(offset) * sizeof(float);
  const cuda::Buffer dc(stream, front + static_cast<std::size_t>(m * n) * sizeof(float));
  cuda::fill(stream, dc.data(), 0xff, dc.size());
  cuda::MatrixProduct p;
  p.m = m, p.n = n, p.k = k, p.lda = k, p.ldb = n, p.ldc = n;
  p.a = da.data() + front, p.b = db.data() + front, p.c = dc.data() + front;
  library.gemm(stream, p);
  std::vector<float> got(static_cast<std::size_t>(m * n));
  cuda::copy_out(stream, std::as_writable_bytes(std::span(got)), dc.data() + front);
  // A sum of k products below 1 is within k * k * 2^-24 of the exact one, in any order.
  const double tolerance = static_cast<double>(k * k) * 0x1p-24;
  for (std::int64_t i = 0; i < m; i += std::max<std::int64_t>(1, m / 7)) {
    for (std::int64_t j = 0; j < n; ++j) {
      double want = 0;
      for (std::int64_t l = 0; l < k; ++l) want += a.as_double(offset + i * k + l) * b.as_double(offset + l * n + j);
      const double value = static_cast<double>(got[static_cast<std::size_t>(i * n + j)]);
      require(std::abs(value - want) <= tolerance,
              fmt::format("{} x {} x {} at an offset of {} elements: element ({}, {}) is {:.9g} instead of {:.9g}", m,
                          n, k, offset, i, j, value, want));
    }
  }
}

std::string products(const Machine& machine, bool aligned) {
  require_driver(machine);
  std::string why;
  if (!cuda::BlasLt::available(&why)) throw NotAvailable(why.substr(0, why.find('\n')));
  const std::shared_ptr<cuda::Context> context = cuda::Context::get(machine.index);
  const cuda::Stream stream(context);
  cuda::BlasLt library(context);
  if (aligned) {
    for (const std::int64_t n : {16, 64, machine.small ? 32 : 512}) product(stream, library, {n, n, n, 0});
  } else {
    for (const std::int64_t offset : {1, 2, 3}) product(stream, library, {33, 17, 65, offset});
    product(stream, library, {machine.small ? 29 : 511, machine.small ? 31 : 257, 129, 1});
  }
  return library.name();
}

std::string convolution(const Machine& machine) {
  require_driver(machine);
  std::string why;
  if (!cuda::Dnn::available(&why)) throw NotAvailable(why.substr(0, why.find('\n')));
  const Variable x = tensor4("x"), w = tensor4("w");
  const Variable y = nnet::conv2d(x, w, {.border = "half", .flip = false});
  // Small ones would run in Croton's own kernels.
  const std::int64_t side = machine.small ? 15 : 56;
  std::uint64_t by_library = 0;
  const auto run = [&](const std::string& device) {
    const change_flags flags("device=" + device);
    const Function f = function({x, w}, {y, grad(sum(sqr(y)), {w})[0]});
    const Outputs results = f(reals({4, 32, 16, side}, 1), reals({24, 32, 3, 3}, 2));
    by_library = f.counts().convolutions;
    return std::vector<Array>{results[0], results[1]};
  };
  const std::vector<Array> wanted = run("cpu"), got = run(machine.device), again = run(machine.device);
  require(by_library > 0, "cuDNN computed none of the convolutions");
  for (std::size_t i = 0; i < got.size(); ++i) {
    require(got[i].all_close(wanted[i], 1e-3, 1e-2), fmt::format("result {} differs from the CPU's", i));
    require(got[i].same_bits(again[i]), fmt::format("result {} has other bits in a second function", i));
  }
  return "cuDNN " + cuda::Dnn::found().version;
}

}  // namespace

std::vector<Check> library_checks() {
  return {{"cuBLASLt: aligned", [](const Machine& m) { return products(m, true); }},
          {"cuBLASLt: not aligned", [](const Machine& m) { return products(m, false); }},
          {"cuDNN: a convolution and its gradient", convolution}};
}

}  // namespace croton::smoke
