// The project's first program: a multilayer perceptron, its gradients and its updates, in one function.
#include <croton/croton.hpp>

#include <cmath>
#include <set>

#include "backends.hpp"
#include "base/memory.hpp"
#include "catch.hpp"
#include "expr/evaluate.hpp"
#include "legacy_random.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;

namespace {

struct Mlp {
  ct::Variable x = ct::matrix("x"), y = ct::ivector("y"), p, loss;
  ct::SharedVariable w1, w2, w3;
  ct::Function train, predict;

  Mlp(const Array& a, const Array& b, const Array& c)
      : w1(ct::shared(a, {.name = "w1"})), w2(ct::shared(b, {.name = "w2"})), w3(ct::shared(c, {.name = "w3"})) {
    const auto h1 = ct::nnet::relu(ct::dot(x, w1));
    const auto h2 = ct::nnet::relu(ct::dot(h1, w2));
    p = ct::nnet::softmax(ct::dot(h2, w3));
    loss = ct::mean(ct::nnet::categorical_crossentropy(p, y));
    const auto [g1, g2, g3] = ct::grad(loss, w1, w2, w3);
    train = ct::function({x, y}, loss,
                         {.updates = {{w1, w1 - 0.1 * g1}, {w2, w2 - 0.1 * g2}, {w3, w3 - 0.1 * g3}}, .name = "train"});
    predict = ct::function({x}, p, {.name = "predict"});
  }
};

Mlp small(int inputs = 20, int hidden = 30, int classes = 7) {
  const auto weights = [](int m, int n, unsigned seed) {
    Array w = Array::normal(DType::float32, {m, n}, seed);
    for (float& value : w.data<float>()) value *= 0.2f;
    return w;
  };
  return Mlp(weights(inputs, hidden, 1), weights(hidden, hidden, 2), weights(hidden, classes, 3));
}

Array labels(int n, int classes, unsigned seed = 5) { return Array::uniform(DType::int32, {n}, seed, 0, classes); }

}  // namespace

TEST_CASE("a training step is 8 products and at most 7 kernels, none of which only copies") {
  const Mlp mlp = small();
  CHECK(mlp.train.product_count() == 8);
  const auto kernels = mlp.train.kernels();
  CHECK(kernels.size() <= 7);
  for (const ct::KernelInfo& kernel : kernels) {
    INFO(kernel.expression);
    // A kernel that computes has at least one line with an op.
    CHECK(kernel.expression.find('(', kernel.expression.find('\n')) != std::string::npos);
  }
  // The three updates are added to the weights by products: no gradient is stored.
  const std::string plan = mlp.train.plan();
  CHECK(plan.find("-- commit") != std::string::npos);
  std::size_t in_place = 0;
  for (std::size_t at = plan.find("update"); at != std::string::npos; at = plan.find("update", at + 1)) {
    in_place += plan.substr(at, 45).find("in the memory of") != std::string::npos;
  }
  CHECK(in_place == 3);
}

TEST_CASE("training lowers the loss, and compiled code, simulated CUDA and the reference agree") {
  const Array x = Array::normal(DType::float32, {50, 20}, 7), y = labels(50, 7);
  std::vector<std::vector<double>> losses;
  for (const std::string& mode : croton_test::backends()) {
    const ct::change_flags flags(mode);
    const Mlp mlp = small();
    losses.emplace_back();
    for (int step = 0; step < 10; ++step) losses.back().push_back(mlp.train(x, y).item<double>());
  }
  CHECK(losses[0].back() < losses[0].front());
  CHECK(losses[0][0] == losses[1][0]);  // the same text, the same bits
  for (std::size_t step = 0; step < 10; ++step) {
    // Later, on the simulated GPU: weights that remain on the host are updated by a product and a difference, not by
    // one product.
    CHECK(losses[0][step] == Approx(losses[1][step]).epsilon(1e-6));
    for (std::size_t other = 2; other < losses.size(); ++other)
      CHECK(losses[0][step] == Approx(losses[other][step]).epsilon(1e-4));
  }
}

TEST_CASE("the flag alone moves training to a device") {
  const Array x = Array::normal(DType::float32, {50, 20}, 7), y = labels(50, 7);
  std::vector<double> host, there;
  {
    const Mlp mlp = small();
    for (int step = 0; step < 10; ++step) host.push_back(mlp.train(x, y).item<double>());
  }
  const ct::change_flags flags{"cuda_simulator=1,device=cuda0"};
  const Mlp mlp = small();
  for (int step = 0; step < 10; ++step) there.push_back(mlp.train(x, y).item<double>());
  CHECK(mlp.train.devices() == std::vector<std::string>{"cuda0"});
  // The kernels' sums have one order everywhere and the products are those of the host's library, so the bits are
  // equal; a GPU's own products would differ by rounding.
  for (std::size_t i = 0; i < host.size(); ++i) CHECK(there[i] == Approx(host[i]).epsilon(1e-6));
  CHECK(there.back() < there.front());
  // Parameters are never transferred: two arguments are sent, and the loss is returned.
  CHECK(mlp.train.transfers().size() == 3);
  for (const auto& w : {mlp.w1, mlp.w2, mlp.w3}) CHECK(w.home() == "cuda0");

  const std::uint64_t compiled = mlp.train.counts().compiled;
  for (int n = 1; n <= 50; n += 7) {
    const Array batch = Array::normal(DType::float32, {n, 20}, static_cast<unsigned>(n));
    mlp.train(batch, labels(n, 7));
  }
  // Small products have separate kernels, and so have classes of sizes.
  CHECK(mlp.train.counts().compiled <= compiled + 6);

  const Array before = mlp.w1.get_value();
  Array wrong = labels(50, 7);
  wrong.data<std::int32_t>()[49] = 7;
  CHECK_THROWS_AS(mlp.train(x, wrong), ct::IndexError);
  CHECK(mlp.w1.get_value().same_bits(before));
}

TEST_CASE("compiled calls leave the reference evaluator alone") {
  const Mlp mlp = small();
  const std::uint64_t before = ct::expr::evaluated_nodes();
  mlp.train(Array::normal(DType::float32, {50, 20}, 7), labels(50, 7));
  CHECK(ct::expr::evaluated_nodes() == before);
  CHECK(mlp.train.counts().reference_kernels == 0);
  CHECK(mlp.train.counts().kernels == mlp.train.kernels().size());
}

TEST_CASE("50 batch sizes need one compilation") {
  const ct::change_flags flags{"cache=false"};
  const Mlp mlp = small(21, 31, 5);
  mlp.train(Array::normal(DType::float32, {9, 21}, 7), labels(9, 5));
  const std::uint64_t compiled = mlp.train.counts().compiled;
  for (int n = 1; n <= 50; ++n) mlp.train(Array::normal(DType::float32, {n, 21}, 7), labels(n, 5));
  CHECK(mlp.train.counts().compiled == compiled);
}

TEST_CASE("a label that is no class fails the call and changes nothing") {
  const Mlp mlp = small();
  const Array before = mlp.w1.get_value();
  Array y = labels(50, 7);
  y.at<std::int32_t>(13) = 7;
  CHECK_THROWS_AS(mlp.train(Array::normal(DType::float32, {50, 20}, 7), y), ct::IndexError);
  CHECK(mlp.w1.get_value().same_bits(before));
  CHECK(mlp.w1.version() == 0);
  CHECK_NOTHROW(mlp.train(Array::normal(DType::float32, {50, 20}, 7), labels(50, 7)));
}

TEST_CASE("every CUDA text of the program is accepted by NVRTC") {
  std::string why;
  if (!ct::runtime::cuda::Nvrtc::available(&why)) {
    WARN("NVRTC is not here, so this checks nothing: " << why);
    return;
  }
  const Mlp mlp = small();
  std::set<std::string> names;
  for (const ct::Function& f : {mlp.train, mlp.predict}) {
    for (const ct::KernelInfo& kernel : f.kernels("cuda:sm_90")) {
      if (!names.insert(kernel.name).second) continue;
      INFO(kernel.source);
      CHECK(kernel.ptx().find(kernel.name) != std::string::npos);
      CHECK(!kernel.cubin().empty());
    }
  }
  CHECK(names.size() >= 4);
}

TEST_CASE("the loss path of the Theano program") {
  // NumPy's seed 0, then X, y, w1, w2, w3 in this order; the first losses are from an independent run in float32 with
  // NumPy.
  LegacyRandom numbers(0);
  const auto matrix = [&](int m, int n) {
    Array a = Array::empty(DType::float32, {m, n});
    for (float& value : a.data<float>()) value = static_cast<float>(numbers.normal());
    return a;
  };
  const Array x = matrix(1000, 1000);
  Array y = Array::empty(DType::int32, {1000});
  for (std::int32_t& value : y.data<std::int32_t>()) value = static_cast<std::int32_t>(numbers.integer(0, 10));
  const Array w1 = matrix(1000, 1000), w2 = matrix(1000, 1000), w3 = matrix(1000, 10);
  const Array x_train = x.slice(0, 0, 800), y_train = y.slice(0, 0, 800);

  SECTION("with the stability rules") {
    const Mlp mlp(w1, w2, w3);
    const double expected[] = {22547.56, 4453994.6, 2013731.8, 75223.68, 1616.41};
    for (const double loss : expected) CHECK(mlp.train(x_train, y_train).item<double>() == Approx(loss).epsilon(1e-3));
    const Array p = mlp.predict(x.slice(0, 800, 1000)).only();
    CHECK(p.shape() == ct::Sizes{200, 10});
  }
  SECTION("without them the loss is not finite") {
    const ct::change_flags flags{"optimizer=none"};
    const Mlp mlp(w1, w2, w3);
    CHECK_FALSE(std::isfinite(mlp.train(x_train, y_train).item<double>()));
  }
}
