// Keras's program with model parallelism: one LSTM reads two inputs, each on its own device, and the host joins the
// states. The layer's own formulas are in tests/nn/test_nn_models.cpp.
#include <croton/nn.hpp>

#include "programs.hpp"

#include <cmath>

namespace ct = croton;
namespace nn = croton::nn;
using namespace croton::test;
using ct::Array;
using ct::DType;
using ct::Variable;
using Kind = ct::TransferInfo::Kind;

namespace {

/// The device of the layer's weights: the first one, with copies on the other that are renewed after changes; or both,
/// each updated on its device.
enum class Weights { copied, mirrored };

/// One LSTM that reads a on the first device and b on the second one; the host joins its results.
struct SharedLstm {
  Variable xa, xb, a, b, joined;
  std::vector<ct::SharedVariable> weights;

  SharedLstm(const std::string& first, const std::string& second, Weights kind, std::int64_t units = 64,
             const nn::Shape& shape = {140, 256})
      : lstm_(units), first_(first) {
    nn::set_seed(59);
    {
      const ct::change_flags home("device=" + first);
      if (kind == Weights::mirrored) {
        const nn::MirroredStrategy strategy({first, second});
        const auto scope = strategy.scope();
        lstm_.build({shape});
      } else {
        lstm_.build({shape});
      }
    }
    weights = lstm_.weights();
    ct::Sizes sizes{ct::unknown_size};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    xa = ct::variable({DType::float32, sizes}, "xa");
    xb = ct::variable({DType::float32, sizes}, "xb");
    {
      const ct::device_scope on(first);
      a = lstm_(xa).named("a");
    }
    {
      const ct::device_scope on(second);
      b = lstm_(xb).named("b");
    }
    const ct::device_scope on("/cpu:0");
    joined = ct::concatenate({a, b}, -1).named("joined");
  }

  ct::Function forward() const { return ct::function({xa, xb}, joined, {.name = "forward"}); }
  std::vector<Variable> gradients(const Variable& loss) const {
    return ct::grad(loss, std::vector<Variable>(weights.begin(), weights.end()));
  }
  /// Gradient descent on the sum of squares; new weights are computed on the first device.
  ct::Function train() const {
    const Variable loss = ct::sum(ct::sqr(joined)).named("loss");
    const ct::device_scope on(first_);
    const std::vector<Variable> by = gradients(loss);
    std::vector<std::pair<Variable, Variable>> updates;
    for (std::size_t i = 0; i < weights.size(); ++i) updates.emplace_back(weights[i], weights[i] - 0.1 * by[i]);
    return ct::function({xa, xb}, loss, {.updates = updates, .name = "train"});
  }
  std::vector<Array> values() const {
    std::vector<Array> all;
    for (const ct::SharedVariable& w : weights) all.push_back(w.get_value());
    return all;
  }

 private:
  nn::LSTM lstm_;
  std::string first_;
};

Array batch(std::int64_t rows, std::uint64_t seed, const nn::Shape& shape = {140, 256}) {
  ct::Sizes sizes{rows};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return uniform(sizes, seed, -1, 1);
}

const nn::Shape small{5, 6};

/// The last state of an LSTM for the first sample, in double: gates i, f, c, o; sigmoid for gates, tanh for states.
std::vector<double> last_state(const std::vector<Array>& weights, const Array& x) {
  const std::int64_t units = weights[1].shape(0);
  const auto n = static_cast<std::size_t>(units);
  std::vector<double> h(n, 0.0), c(n, 0.0);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (std::int64_t t = 0; t < x.shape(1); ++t) {
    std::vector<double> z(4 * n);
    for (std::int64_t g = 0; g < 4 * units; ++g) {
      double sum = weights[2].at<float>(g);
      for (std::int64_t k = 0; k < x.shape(2); ++k) sum += double{x.at<float>(0, t, k)} * weights[0].at<float>(k, g);
      for (std::int64_t k = 0; k < units; ++k) sum += h[static_cast<std::size_t>(k)] * weights[1].at<float>(k, g);
      z[static_cast<std::size_t>(g)] = sum;
    }
    for (std::size_t u = 0; u < n; ++u) {
      c[u] = sigmoid(z[n + u]) * c[u] + sigmoid(z[u]) * std::tanh(z[2 * n + u]);
      h[u] = sigmoid(z[3 * n + u]) * std::tanh(c[u]);
    }
  }
  return h;
}

}  // namespace

TEST_CASE("C5.9 two inputs of 140 x 256 and one LSTM(64): one set of 82,176 parameters, whose last states are given") {
  const Machine machine(GENERATE(Machine::Kind::logical, Machine::Kind::simulated));
  const SharedLstm model(machine.first, machine.second, Weights::copied);
  std::int64_t parameters = 0;
  for (const Array& w : model.values()) parameters += w.size();
  CHECK(model.weights.size() == 3);
  CHECK(parameters == 82'176);
  const ct::Function f = ct::function({model.xa, model.xb}, {model.a, model.b});
  CHECK(f.devices() == std::vector{machine.first, machine.second});
  const Array x = batch(1, 1), y = batch(1, 2);
  const ct::Outputs states = f(x, y);
  for (std::size_t branch = 0; branch < 2; ++branch) {
    REQUIRE(states[branch].shape() == ct::Sizes{1, 64});
    const std::vector<double> expected = last_state(model.values(), branch == 0 ? x : y);
    for (std::int64_t u = 0; u < 64; ++u)
      REQUIRE(states[branch].at<float>(0, u) ==
              Approx(expected[static_cast<std::size_t>(u)]).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("C5.10 weights live where they were created and are copied to the other device once for each update") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const SharedLstm model(machine.first, machine.second, Weights::copied, 4, small);
  for (const ct::SharedVariable& w : model.weights) CHECK(w.home() == machine.first);
  const ct::Function forward = model.forward();
  // The plan shows it.
  const std::string placement = forward.placement();
  for (const ct::SharedVariable& w : model.weights)
    CHECK_THAT(placement, contains("  " + w.name() + ": (transfer): " + machine.first + " -> " + machine.second +
                                   "  [sent when it has changed]\n"));
  CHECK(count_of(placement, "[sent when it has changed]") == 3);
  const std::string there = ": " + machine.first + " -> " + machine.second + ", ";
  const std::string prefix = "shared " + model.weights[0].name().substr(0, model.weights[0].name().find('/')) + "/";
  // 6 x 16, 4 x 16 and 16 floats.
  const std::vector<std::string> all{prefix + "bias" + there + "64 bytes", prefix + "kernel" + there + "384 bytes",
                                     prefix + "recurrent_kernel" + there + "256 bytes"};
  const Array x = batch(3, 1, small), y = batch(3, 2, small);
  forward(x, y);
  CHECK(sent_by(forward, Kind::shared) == all);
  forward(x, y);
  CHECK(sent_by(forward, Kind::shared).empty());
  const ct::Function train = model.train();
  train(x, y);
  CHECK(sent_by(train, Kind::shared).empty());  // the copies of `forward` have the current values
  for (int step = 0; step < 2; ++step) {
    train(x, y);
    CHECK(sent_by(train, Kind::shared) == all);
    for (const ct::SharedVariable& w : model.weights) CHECK(w.home() == machine.first);
  }
  forward(x, y);  // after the last update
  CHECK(sent_by(forward, Kind::shared) == all);
  // If one weight is set, only this one is sent.
  ct::SharedVariable bias = model.weights[2];
  bias.set_value(Array::full(DType::float32, {16}, 1));
  forward(x, y);
  CHECK(sent_by(forward, Kind::shared) == std::vector<std::string>{all[0]});
}

TEST_CASE("C5.10 mirrored weights have a copy on each device, which each update reaches once") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const SharedLstm model(machine.first, machine.second, Weights::mirrored, 4, small);
  const auto copies_agree = [&] {
    return std::ranges::all_of(model.weights, [](const ct::SharedVariable& w) {
      return w.copies().size() == 1 && w.copies()[0].get_value().same_bits(w.get_value());
    });
  };
  for (const ct::SharedVariable& w : model.weights) {
    CHECK(w.home() == machine.first);
    REQUIRE(w.copies().size() == 1);
    CHECK(w.copies()[0].home() == machine.second);
  }
  const Array x = batch(3, 1, small), y = batch(3, 2, small);
  const ct::Function forward = model.forward(), train = model.train();
  forward(x, y);
  CHECK(sent_by(forward, Kind::shared).empty());
  CHECK(count_of(forward.placement(), "[sent when it has changed]") == 0);
  for (int step = 0; step < 2; ++step) {
    train(x, y);
    CHECK(sent_by(train, Kind::shared).empty());
    // One new value of each weight is sent to the other device.
    std::vector<std::size_t> bytes;
    for (const ct::TransferInfo& t : train.transfers()) {
      if (t.kind == Kind::value && t.from == machine.first && t.to == machine.second) bytes.push_back(t.bytes);
    }
    std::ranges::sort(bytes);
    CHECK(bytes == std::vector<std::size_t>{64, 256, 384});
    CHECK(copies_agree());
  }
  CHECK(count_of(train.plan(), " on " + machine.second + " = transfer(") >= 3);
}

TEST_CASE("C5.10 with copied or mirrored weights training is that of one device, and both branches overlap") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const Array x = batch(3, 1, small), y = batch(3, 2, small);
  struct Result {
    std::vector<Array> weights;
    std::vector<double> losses;
    Array joined;
  };
  const auto run = [&](const std::string& second, Weights kind) {
    const SharedLstm model(machine.first, second, kind, 4, small);
    Result result;
    const ct::Function train = model.train();
    for (int step = 0; step < 3; ++step) result.losses.push_back(train(x, y).item<double>());
    result.weights = model.values();
    result.joined = model.forward()(x, y);
    return result;
  };
  const Result one = run(machine.first, Weights::copied);
  CHECK(one.losses[2] < one.losses[0]);
  for (const Weights kind : {Weights::copied, Weights::mirrored}) {
    CAPTURE(kind == Weights::copied);
    const Result two = run(machine.second, kind);
    for (std::size_t step = 0; step < 3; ++step) CHECK(two.losses[step] == Approx(one.losses[step]).epsilon(1e-5));
    for (std::size_t i = 0; i < 3; ++i) CHECK(two.weights[i].all_close(one.weights[i], 1e-5, 1e-6));
    CHECK(two.joined.all_close(one.joined, 1e-5, 1e-6));
    // Long enough for the work of both to overlap.
    const nn::Shape longer{20, 32};
    const SharedLstm model(machine.first, machine.second, kind, 64, longer);
    const ct::Function forward = model.forward();
    const Array a = batch(4, 1, longer), b = batch(4, 2, longer);
    forward(a, b);
    CHECK(overlaps(machine.first, machine.second, [&] { forward(a, b); }));
  }
}

TEST_CASE("C5.11 the host joins both states: two copies and one op there; gradients of the one layer are added up") {
  const Machine machine(GENERATE(from_range(program_machines())));
  {
    const SharedLstm model(machine.first, machine.second, Weights::copied, 64, small);
    const ct::Function forward = model.forward();
    const Array x = batch(2, 1, small), y = batch(2, 2, small);
    CapturedLog log;
    const Array joined = forward(x, y);
    CHECK(joined.shape() == ct::Sizes{2, 128});
    CHECK(joined.device() == "cpu");
    const std::string text = log.take();
    CHECK_THAT(text, contains("  joined: (concatenate): cpu  [device_scope]\n"));
    CHECK(count_of(text, "): cpu  [") == 1);
    CHECK(count_of(text, " -> cpu, 512 bytes\n") == 2);
    CHECK_THAT(text, contains("forward: value a: " + machine.first + " -> cpu, 512 bytes\n") &&
                         contains("forward: value b: " + machine.second + " -> cpu, 512 bytes\n"));
    CHECK(sent_by(forward, Kind::output).empty());  // it is on the host already
    const ct::Outputs apart = ct::function({model.xa, model.xb}, {model.a, model.b})(x, y);
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t u = 0; u < 128; ++u)
        REQUIRE(joined.at<float>(row, u) == (u < 64 ? apart[0].at<float>(row, u) : apart[1].at<float>(row, u - 64)));
    }
  }
  const SharedLstm model(machine.first, machine.second, Weights::copied, 4, small);
  std::vector<Variable> outputs;
  for (const Variable& y : {model.joined, model.a, model.b}) {
    for (const Variable& g : model.gradients(ct::sum(ct::sqr(y)))) outputs.push_back(g);
  }
  const ct::Function f = ct::function({model.xa, model.xb}, outputs);
  const ct::Outputs g = f(batch(3, 1, small), batch(3, 2, small));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(g[i].shape() == model.weights[i].get_value().shape());
    bool other_adds = false;
    for (std::int64_t k = 0; k < g[i].size(); ++k) {
      REQUIRE(g[i].as_double(k) == Approx(g[3 + i].as_double(k) + g[6 + i].as_double(k)).epsilon(1e-5).margin(1e-6));
      other_adds = other_adds || std::abs(g[6 + i].as_double(k)) > 1e-3;
    }
    CHECK(other_adds);
  }
}

TEST_CASE("C5.12 device_scope, which TensorFlow has not, is Croton's name for a device scope") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto x = ct::vector("x");
  Variable y;
  {
    const ct::device_scope on(machine.kind() == Machine::Kind::logical ? "/cpu:2" : "/gpu:1");
    y = ct::exp(x).named("y");
  }
  const ct::Function f = ct::function({x}, y);
  CHECK_THAT(f.placement(), contains("  y: (exp): " + machine.second + "  [device_scope]\n"));
  CHECK(values(f(Array{0.f})) == std::vector<double>{1});
}
