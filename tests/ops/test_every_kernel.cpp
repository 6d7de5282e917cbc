// Every kind of kernel once or twice, with sizes that leave lanes, blocks and tiles partly empty: small enough for
// tools that make a GPU a hundred times slower (scripts/gpu_check.sh runs compute-sanitizer over this file). Values are
// compared with the reference evaluator.
#include "samples.hpp"

using namespace croton_test;

namespace {

/// The devices of CROTON_TEST_DEVICES, else the simulator, else the host.
Backends checked() {
  const Backends all = gpu_backends(), named = devices();
  if (!named.empty()) return named;
  return all.empty() ? Backends{"mode=run"} : all;
}

/// Compares the outputs on every back-end with the reference evaluator.
void check(const std::vector<ct::In>& inputs, const std::vector<Variable>& outputs, const std::vector<Array>& values) {
  const std::vector<ct::Argument> arguments(values.begin(), values.end());
  const auto wanted = compile("mode=reference", inputs, outputs).call(arguments);
  for (const std::string& backend : checked()) {
    const auto got = compile(backend, inputs, outputs).call(arguments);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      INFO(backend << ", output " << k);
      CHECK(got[k].all_close(wanted[k], 1e-4, 1e-5));
    }
  }
}

Array normal(const Sizes& shape, std::uint64_t seed = 1) { return Array::normal(DType::float32, shape, seed); }

}  // namespace

TEST_CASE("pointwise kernels", "[every_kernel]") {
  const auto m = ct::matrix("m"), r = ct::row("r"), c = ct::col("c");
  check({m, r, c}, {ct::tanh(m * r) + c, ct::exp(-m), ct::where(m > 0, m, r)},
        {normal({33, 65}), normal({1, 65}, 2), normal({33, 1}, 3)});
  const auto a = ct::vector("a", DType::int8);
  const auto b = ct::dvector("b");
  check({a, b}, {ct::cast(a, DType::float16) + 1, ct::sqrt(ct::abs(b)) * a},
        {Array::arange(77, DType::int8), Array::normal(DType::float64, {77}, 4)});
}

TEST_CASE("kernels that read through views and generate", "[every_kernel]") {
  const auto m = ct::matrix("m");
  check({m}, {m.T() * 2, m[ct::slice(1, 30, 3)] + 1, ct::reshape(m, {7, 165}) - 1, ct::sum(m.T() * ct::arange(35), 1)},
        {normal({35, 33})});
  for (const Layout& layout : layouts_of(normal({35, 33}, 5))) {
    INFO(layout.name);
    check({m}, {m * 3}, {layout.array});
  }
}

TEST_CASE("row, column and split reductions", "[every_kernel]") {
  const auto m = ct::matrix("m");
  for (const Sizes& shape : {Sizes{33, 65}, Sizes{3, 2049}, Sizes{2049, 3}, Sizes{150, 333}}) {
    check({m}, {ct::sum(m, 1), ct::max(m, 1), ct::argmax(m, 1), ct::mean(m, 1)}, {normal(shape)});
    check({m}, {ct::sum(m, 0), ct::min(m, 0), ct::argmin(m, 0), ct::var(m, 0)}, {normal(shape)});
    check({m}, {ct::sum(m), ct::max(m), ct::argmax(m), ct::all(m > -9), ct::any(m > 9)}, {normal(shape)});
  }
  check({m}, {ct::nnet::softmax(m), ct::nnet::layer_norm(m, 1e-5)}, {normal({37, 131})});
}

TEST_CASE("products, of the library and generated", "[every_kernel]") {
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  check({a, b}, {ct::dot(a, b)}, {normal({3, 5}), normal({5, 7}, 2)});
  check({a, b}, {ct::nnet::relu(ct::dot(a, b))}, {normal({65, 130}), normal({130, 67}, 2)});
}

TEST_CASE("sizes that a kernel computes", "[every_kernel]") {
  const auto x = ct::vector("x");
  const auto count = ct::sum(ct::cast(x > 0, DType::int64));
  check({x}, {ct::arange(count) * 2, x[ct::slice(0, count)]}, {normal({300})});
}

TEST_CASE("checks of indices", "[every_kernel]") {
  const auto p = ct::matrix("p");
  const auto t = ct::ivector("t");
  const auto loss = ct::nnet::categorical_crossentropy(ct::nnet::softmax(p), t);
  check({p, t}, {loss}, {normal({5, 10}), Array{1, 0, 9, 3, 3}});
  for (const std::string& backend : checked()) {
    const auto f = compile(backend, {p, t}, {loss});
    CHECK_THROWS_AS(f(normal({5, 10}), Array{1, 0, 10, 3, 3}), ct::IndexError);
  }
}

TEST_CASE("training, with updates in place and in one launch", "[every_kernel]") {
  const auto train = [](const std::string& backend) {
    const ct::change_flags flags(backend);
    const auto x = ct::matrix("x");
    const auto t = ct::ivector("t");
    const auto w = ct::shared(normal({20, 33}, 1)), v = ct::shared(normal({33, 10}, 2)),
               b = ct::shared(normal({10}, 3));
    const auto p = ct::nnet::softmax(ct::dot(ct::tanh(ct::dot(x, w)), v) + b);
    const auto loss = ct::mean(ct::nnet::categorical_crossentropy(p, t));
    const auto g = ct::grad(loss, {w, v, b});
    const auto step =
        ct::function({x, t}, loss, {.updates = {{w, w - 0.1 * g[0]}, {v, v - 0.1 * g[1]}, {b, b - g[2]}}});
    const Array labels = Array::uniform(DType::float64, {41}, 5, 0, 10).astype(DType::int32);
    for (int i = 0; i < 3; ++i) step(normal({41, 20}, 4), labels);
    return std::vector<Array>{w.get_value(), v.get_value(), b.get_value()};
  };
  const auto wanted = train("mode=reference");
  for (const std::string& backend : checked()) {
    const auto got = train(backend);
    for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k].all_close(wanted[k], 1e-3, 1e-4));
  }
}
