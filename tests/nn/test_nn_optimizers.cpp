// Optimizers against Keras's numbers, and their cost: one launch for all parameters.
#include "catch.hpp"

#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "backends.hpp"

using Catch::Matchers::Contains;
using croton_test::backends;
namespace ct = croton;
namespace nn = croton::nn;
using ct::Array;
using ct::DType;
using ct::SharedVariable;
using ct::Variable;
using Vars = std::vector<Variable>;

namespace {

Array numbers(const std::vector<double>& values, DType dtype) { return Array(values).astype(dtype); }

/// sum(a (w - c)^2) / 2 + sum(u^2), for a vector and a matrix.
struct Quadratic {
  SharedVariable w, u;
  Variable loss;
  explicit Quadratic(DType dtype)
      : w(ct::shared(numbers({1, -2, 0.5, 3}, dtype), {.name = "dense/kernel"})),
        u(ct::shared(numbers({2, -1}, dtype).reshape({2, 1}), {.name = "dense/bias"})) {
    const Variable a = ct::constant(numbers({1, 10, 0.1, 3}, dtype)), c = ct::constant(numbers({0, 1, -1, 2}, dtype));
    loss = ct::sum(a * ct::sqr(w - c)) / 2 + ct::sum(ct::sqr(u));
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const SharedVariable& p : {w, u}) {
      const Array value = p.get_value();
      for (std::int64_t i = 0; i < value.size(); ++i) all.push_back(value.as_double(i));
    }
    return all;
  }
};

ct::Function step_of(const nn::Updates& updates) {
  return ct::function({}, ct::OutputList(Vars{}), {.updates = updates});
}

void check_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], expected[i]);
    CHECK(std::abs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

struct Case {
  const char* name;
  std::function<nn::Optimizer()> make;
  std::vector<double> expected;
};

// Keras 3.15 with KERAS_BACKEND=jax JAX_ENABLE_X64=1, O being keras.optimizers:
//
//   keras.config.set_floatx("float64")
//   a, c = np.array([1, 10, .1, 3]), np.array([0, 1, -1, 2])
//   w = keras.Variable([1, -2, .5, 3], dtype="float64")
//   u = keras.Variable([[2.], [-1.]], dtype="float64")
//   for _ in range(5):
//       optimizer.apply([a * (np.array(w) - c), 2 * np.array(u)], [w, u])
//   print([float(x) for x in [*np.array(w), *np.array(u).ravel()]])
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      // O.SGD(.1)
      {"sgd",
       [] { return nn::SGD({.learning_rate = 0.1}); },
       {0.5904900000000001, 1.0, 0.42648507485000003, 2.16807, 0.65536, -0.32768}},
      // O.SGD(.01, momentum=.9)
      {"sgd momentum",
       [] { return nn::SGD({.learning_rate = 0.01, .momentum = 0.9}); },
       {0.8716340258999999, 1.0874800000000002, 0.4803303205228985, 2.6328965217, 1.4986329856000002,
        -0.7493164928000001}},
      // O.SGD(.01, momentum=.9, nesterov=True)
      {"sgd nesterov",
       [] { return nn::SGD({.learning_rate = 0.01, .momentum = 0.9, .nesterov = true}); },
       {0.8384407633205009, 1.3137450517000007, 0.47485807374997835, 2.553734953992543, 1.379812027660864,
        -0.689906013830432}},
      // O.RMSprop(.01)
      {"rmsprop",
       [] { return nn::RMSprop({.learning_rate = 0.01}); },
       {0.8955067394387991, -1.894184247253943, 0.3948386581653644, 2.895506713107311, 1.8945087787835704,
        -0.8955067172216076}},
      // O.RMSprop(.01, rho=.8, momentum=.5, epsilon=1e-3)
      {"rmsprop momentum",
       [] { return nn::RMSprop({.learning_rate = 0.01, .rho = 0.8, .momentum = 0.5, .epsilon = 1e-3}); },
       {0.8709903935451103, -1.8693476861032285, 0.3780774173365585, 2.8708113782335882, 1.869712684569454,
        -0.8708394088808964}},
      // O.RMSprop(.01, centered=True)
      {"rmsprop centered",
       [] { return nn::RMSprop({.learning_rate = 0.01, .centered = true}); },
       {0.8799803834192936, -1.8781585845557205, 0.3790571709332377, 2.8799803467537113, 1.8786034622532017,
        -0.8799803524827114}},
      // O.RMSprop(.01, momentum=.9, centered=True)
      {"rmsprop centered momentum",
       [] { return nn::RMSprop({.learning_rate = 0.01, .momentum = 0.9, .centered = true}); },
       {0.6655629170288292, -1.65798699316718, 0.16166724074506797, 2.665562802050312, 1.6597965018127832,
        -0.6655628200157144}},
      // O.Adam(.1)
      {"adam",
       [] { return nn::Adam({.learning_rate = 0.1}); },
       {0.5079647224544055, -1.5017794901161328, 0.004365219511617377, 2.5079640118863686, 1.5029560426918525,
        -0.5079641895285991}},
      // O.Adam(.1, beta_1=.5, beta_2=.8, epsilon=1e-2)
      {"adam betas",
       [] { return nn::Adam({.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.8, .epsilon = 1e-2}); },
       {0.529746715575234, -1.5061898832786702, 0.06046412923543157, 2.5246333482280385, 1.5113405352248135,
        -0.5259234817102229}},
      // O.Adam(.5, beta_2=.5, amsgrad=True)
      {"adam amsgrad",
       [] { return nn::Adam({.learning_rate = 0.5, .beta_2 = 0.5, .amsgrad = true}); },
       {-0.5133504923751613, 0.36605496789239444, -1.4690490692104994, 1.4866494821850265, -0.18995276854823662,
        0.5133505114550214}},
      // O.AdamW(.1)
      {"adamw",
       [] { return nn::AdamW({.learning_rate = 0.1}); },
       {0.5064090726863478, -1.4981982118008437, 0.0037740603556227076, 2.502513826493479, 1.4993873986732837,
        -0.5064085401760637}},
      // O.AdamW(.1, weight_decay=.3, amsgrad=True)
      {"adamw decay",
       [] { return nn::AdamW({.learning_rate = 0.1, .weight_decay = 0.3, .amsgrad = true}); },
       {0.39926480902067607, -1.2495926249922804, -0.03655478825977231, 2.128707658262423, 1.2518654398072988,
        -0.3992643069080548}},
      // O.Adagrad(.5)
      {"adagrad",
       [] { return nn::Adagrad({.learning_rate = 0.5}); },
       {0.0616543587019342, -0.5696826706400696, -0.25429558216215303, 2.052090370077022, 0.6848475937433275,
        -0.05358875007835508}},
      // O.Adagrad(.5, initial_accumulator_value=2, epsilon=.1)
      {"adagrad accumulator",
       [] { return nn::Adagrad({.learning_rate = 0.5, .initial_accumulator = 2, .epsilon = 0.1}); },
       {0.22320864450273498, -0.5705403701893936, 0.2617019974876896, 2.07576860363197, 0.7233375865640617,
        -0.10501782931689795}},
      // O.Adadelta(1.)
      {"adadelta",
       [] { return nn::Adadelta({.learning_rate = 1}); },
       {0.9928068627759031, -1.99279836442599, 0.4928029333165206, 2.9928068562847656, 1.9928004865535722,
        -0.9928068572990069}},
      // O.Adadelta(2., rho=.5, epsilon=.01)
      {"adadelta rho",
       [] { return nn::Adadelta({.learning_rate = 2, .rho = 0.5, .epsilon = 0.01}); },
       {0.010692575284918023, -0.42018226391786534, -0.4211887000842043, 2.006616195636582, 0.5470409939235026,
        -0.0072355818788370566}},
      // O.SGD(.1, momentum=.9, clipvalue=.7)
      {"clip value",
       [] { return nn::SGD({.learning_rate = 0.1, .momentum = 0.9, .clip = {.value = 0.7}}); },
       {0.12994200000000003, -1.079913, 0.30745103885, 2.079913, 1.079913, -0.07991300000000007}},
      // O.SGD(.1, clipnorm=2.5)
      {"clip norm",
       [] { return nn::SGD({.learning_rate = 0.1, .clip = {.norm = 2.5}}); },
       {0.9504444375997668, -0.7592963940725326, 0.49243080633520897, 2.8571978402658322, 0.8844582472000674,
        -0.4422291236000337}},
      // O.Adam(.1, global_clipnorm=2)
      {"clip global norm",
       [] { return nn::Adam({.learning_rate = 0.1, .clip = {.global_norm = 2}}); },
       {0.5050292328952437, -1.4999445353451957, 0.0020703925904846238, 2.505018573607601, 1.5008476465582254,
        -0.5050212384798606}},
      // O.SGD(.01, global_clipnorm=200)
      {"clip longer norm",
       [] { return nn::SGD({.learning_rate = 0.01, .clip = {.global_norm = 200}}); },
       {0.9509900499, -0.7714699999999999, 0.4925149850074985, 2.8587340256999996, 1.8078415936, -0.9039207968}},
      // O.SGD(S.ExponentialDecay(.1, 2, .5, staircase=True))
      {"schedule",
       [] { return nn::SGD({.learning_rate = nn::ExponentialDecay(0.1, 2, 0.5, true)}); },
       {0.712749375, 1.0, 0.45184654061562496, 2.327473125, 0.9849600000000002, -0.4924800000000001}},
      // O.AdamW(S.PolynomialDecay(.1, 3, .01, 2.))
      {"schedule adamw",
       [] { return nn::AdamW({.learning_rate = nn::PolynomialDecay(0.1, 3, 0.01, 2)}); },
       {0.8098871733838306, -1.8086792695931069, 0.3100186474156819, 2.808373903247404, 1.8087727083047678,
        -0.8098869216390364}},
  };
  return all;
}

/// All optimizers, in one function.
void check_cases(const std::string& flags, DType dtype, double tolerance) {
  std::vector<Quadratic> problems;
  nn::Updates updates;
  for (const Case& c : cases()) {
    const Quadratic& q = problems.emplace_back(dtype);
    for (const auto& update : c.make().minimize(q.loss, {q.w, q.u})) updates.push_back(update);
  }
  const ct::Function step = step_of(updates);
  for (int i = 0; i < 5; ++i) step();
  for (std::size_t i = 0; i < problems.size(); ++i) {
    CAPTURE(flags, cases()[i].name);
    CHECK(problems[i].w.get_value().dtype() == dtype);
    check_close(problems[i].values(), cases()[i].expected, tolerance);
  }
}

/// Layers of products only, and the same with biases.
struct Network {
  std::vector<SharedVariable> parameters;
  Variable x = ct::matrix("x"), loss;
  Network(const std::vector<std::int64_t>& sizes, bool biases) {
    Variable h = x;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      parameters.push_back(ct::shared(Array::uniform(DType::float32, {sizes[i], sizes[i + 1]}, i, -0.5, 0.5)));
      h = ct::dot(h, parameters.back());
      if (biases) {
        parameters.push_back(ct::shared(Array::zeros(DType::float32, {sizes[i + 1]})));
        h = h + parameters.back();
      }
      if (i + 2 < sizes.size()) h = ct::tanh(h);
    }
    loss = ct::mean(ct::sqr(h));
  }
};

/// Launches of kernels in the second call.
std::uint64_t launches_of(const ct::Function& f, const Array& x) {
  f(x);
  const std::uint64_t before = f.counts().kernels;
  f(x);
  return f.counts().kernels - before;
}

}  // namespace

TEST_CASE("C2.6, C5.3: five steps of each optimizer are Keras's") {
  for (const std::string& backend : backends()) {
    const ct::change_flags flags(backend);
    // A few roundings per step, of numbers up to 30.
    check_cases(backend, DType::float64, 1e-13);
  }
}

TEST_CASE("C2.6: optimizers in float32, whatever floatX is") {
  for (const std::string floatX : {"floatX=float32", "floatX=float64"}) {
    const ct::change_flags flags(floatX);
    // Rounding is 6e-8; a step of rate 2 multiplies its effect on the gradient, which is a difference, by up to 10.
    check_cases(floatX, DType::float32, 2e-6);
  }
}

TEST_CASE("C2.6: Adam is its formula, at any step") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const ct::change_flags flags(backend);
    const std::vector<double> gradients{0.5, -1e-3, 7, 0};
    const SharedVariable w = ct::shared(numbers({1, 2, 3, 4}, DType::float64), {.name = "w"});
    const nn::Adam adam;
    const ct::Function step = step_of(adam.apply_gradients({{ct::constant(numbers(gradients, DType::float64)), w}}));
    std::vector<double> expected{1, 2, 3, 4}, m(4), v(4);
    for (int t = 1; t <= 20; ++t) {
      step();
      const double a = 1e-3 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
      for (std::size_t i = 0; i < 4; ++i) {
        m[i] = 0.9 * m[i] + (1 - 0.9) * gradients[i];
        v[i] = 0.999 * v[i] + (1 - 0.999) * gradients[i] * gradients[i];
        expected[i] -= a * m[i] / (std::sqrt(v[i]) + 1e-7);
      }
    }
    CHECK(adam.iterations() == 20);
    // Powers may differ in their last bit, which 1 - 0.999^t magnifies to a thousand last bits; the steps are 1e-3 of
    // the values.
    check_close({w.get_value().as_double(0), w.get_value().as_double(1), w.get_value().as_double(2),
                 w.get_value().as_double(3)},
                expected, 4e-15);
  }
}

TEST_CASE("C2.6: the update of all parameters is one launch") {
  const Array x = Array::uniform(DType::float32, {8, 5}, 1);
  for (const std::string device : {"device=cpu", "cuda_simulator=1,device=cuda0"}) {
    CAPTURE(device);
    const ct::change_flags flags(device);
    const Network n({5, 7, 11, 3, 9, 4, 6}, false);
    REQUIRE(n.parameters.size() == 6);
    const ct::Function gradients = ct::function({n.x}, nn::gradients(n.loss, n.parameters));
    const std::uint64_t least = launches_of(gradients, x);
    for (const std::optional<double>& longest : {std::optional<double>(), std::optional<double>(0.1)}) {
      CAPTURE(longest.has_value());
      const ct::Function train =
          ct::function({n.x}, ct::OutputList(Vars{}),
                       {.updates = nn::Adam({.clip = {.global_norm = longest}}).minimize(n.loss, n.parameters)});
      // In addition to the gradients: the scalars, one launch for all parameters, and a sum of squares for each. On a
      // GPU these are one launch.
      const bool on_gpu = device != "device=cpu";
      CHECK(launches_of(train, x) == least + (!longest ? 2 : on_gpu ? 3 : 8));
      CHECK(train.counts().products == gradients.counts().products);
      CHECK_THAT(train.plan(), Contains("one launch of 6 kernels"));
      for (const std::string target : {"", "cuda:sm_90"}) {
        const std::vector<ct::KernelInfo> kernels = train.kernels(target);
        const bool of_gpu = on_gpu || !target.empty();
        CHECK(kernels.size() == gradients.kernels(target).size() + (!longest ? 2 : of_gpu ? (on_gpu ? 3 : 4) : 8));
        int groups = 0;
        for (const ct::KernelInfo& kernel : kernels) {
          if (!kernel.name.starts_with("group")) continue;
          ++groups;
          if (kernel.expression.starts_with("kernel split")) continue;
          // Values that are the same for all elements were computed once, before.
          CHECK(kernel.expression.find("pow") == std::string::npos);
          CHECK(kernel.expression.find("f64") == std::string::npos);
        }
        CHECK(groups == (longest && of_gpu ? 2 : 1));
      }
    }
    // Sums that are gradients of biases end in the update of their bias, except with the norm, which needs all first.
    const Network biased({5, 7, 11, 3}, true);
    const nn::Adam cut({.clip = {.global_norm = 0.1}});
    const ct::Function train =
        ct::function({biased.x}, ct::OutputList(Vars{}), {.updates = cut.minimize(biased.loss, biased.parameters)});
    CHECK_THAT(train.plan(), Contains("one launch of 6 kernels"));
    train(x);
  }
}

TEST_CASE("C2.6: a step of each optimizer reads and writes each array once") {
  for (const Case& c : cases()) {
    const std::string name = c.name;
    if (name.starts_with("clip") && name != "clip value") continue;  // norms read the gradients first
    CAPTURE(name);
    const auto array = [](const ct::Sizes& shape) { return ct::shared(Array::zeros(DType::float32, shape)); };
    const SharedVariable w = array({1000}), u = array({30, 20});
    const nn::Optimizer optimizer = c.make();
    const ct::Function step = step_of(optimizer.apply_gradients({{array({1000}), w}, {array({30, 20}), u}}));
    const std::vector<ct::KernelInfo> kernels = step.kernels("cuda:sm_90");
    CHECK(kernels.size() <= 2);  // the numbers of the step, if they cost much, and one launch for all parameters
    REQUIRE(kernels.back().name.starts_with("group"));
    std::int64_t bytes = 0, least = 3 * (1000 + 30 * 20) * 4;  // parameters and gradients
    for (const ct::KernelOperand& operand : kernels.back().operands) bytes += operand.bytes * operand.passes;
    for (const SharedVariable& state : optimizer.variables())
      least += state.rank() == 0 ? 0 : 2 * state.get_value().size() * 4;
    CHECK(bytes >= least);
    CHECK(bytes <= least + 100);  // and numbers
  }
}

TEST_CASE("optimizers keep one state for each parameter, which functions share") {
  const Quadratic q(DType::float64);
  const nn::Optimizer adam = nn::Adam({.amsgrad = true, .name = "mine"});
  CHECK(adam.variables().size() == 2);
  const nn::Updates updates = adam.minimize(q.loss, {q.w, q.u});
  const std::vector<SharedVariable> state = adam.variables();
  std::vector<std::string> names;
  for (const SharedVariable& v : state) names.push_back(v.name());
  CHECK(names == std::vector<std::string>{"mine/iterations", "mine/learning_rate", "mine/m/dense/kernel",
                                          "mine/v/dense/kernel", "mine/v_max/dense/kernel", "mine/m/dense/bias",
                                          "mine/v/dense/bias", "mine/v_max/dense/bias"});
  CHECK(state[0].dtype() == DType::int64);
  CHECK(state[2].dtype() == DType::float64);
  CHECK(state[5].get_value().shape() == ct::Sizes{2, 1});
  const nn::Optimizer copy = adam;
  const ct::Function first = step_of(updates), second = step_of(copy.minimize(q.loss, {q.w, q.u}));
  CHECK(adam.variables().size() == state.size());
  // Alternating steps of both functions are steps of one optimizer.
  const Quadratic other(DType::float64);
  const ct::Function only = step_of(nn::Adam({.amsgrad = true}).minimize(other.loss, {other.w, other.u}));
  for (int i = 0; i < 3; ++i) first(), second(), only(), only();
  CHECK(adam.iterations() == 6);
  CHECK(q.values() == other.values());

  CHECK(nn::Optimizer("rmsprop").name() == "rmsprop");
  CHECK(nn::Optimizer("adamw").variables()[0].name() == "adamw/iterations");
}

TEST_CASE("the state of an optimizer has its parameter's dtype and device") {
  const ct::change_flags flags("cuda_simulator=2,floatX=float32");
  const SharedVariable pinned = ct::shared(Array::zeros(DType::float64, {3}), {.name = "a", .target = "cuda1"});
  const SharedVariable free = ct::shared(Array::zeros(DType::float16, {2}));
  const nn::RMSprop optimizer({.learning_rate = 0.1});
  const ct::Function step =
      step_of(optimizer.apply_gradients({{ct::constant(numbers({1, 1, 1}, DType::float32)), pinned},
                                         {ct::constant(numbers({1, 1}, DType::float64)), free}}));
  const std::vector<SharedVariable> state = optimizer.variables();
  REQUIRE(state.size() == 4);
  CHECK(state[2].dtype() == DType::float64);
  CHECK(state[2].pinned());
  CHECK(state[2].home() == "cuda1");
  CHECK(state[3].dtype() == DType::float16);
  CHECK(state[3].name() == "rmsprop/s");
  CHECK(!state[3].pinned());
  step();
  CHECK(state[2].get_value().as_double(0) == 1 - 0.9);
  CHECK(pinned.get_value().as_double(0) == Approx(-0.1 / std::sqrt(0.1 + 1e-7)).epsilon(1e-12));
}

TEST_CASE("the rate of an optimizer is changed between calls without compiling") {
  const SharedVariable w = ct::shared(numbers({0}, DType::float64));
  const nn::SGD sgd({.learning_rate = 0.1});
  CHECK(sgd.learning_rate() == 0.1);
  const ct::Function step = step_of(sgd.apply_gradients({{ct::constant(numbers({1}, DType::float64)), w}}));
  step();
  const ct::CallCounts before = step.counts();
  sgd.set_learning_rate(0.25);
  step();
  CHECK(step.counts().compiled + step.counts().cached == before.compiled + before.cached);
  CHECK(sgd.learning_rate() == 0.25);
  CHECK(w.get_value().as_double(0) == Approx(-0.35).epsilon(1e-15));

  const nn::SGD falling({.learning_rate = nn::InverseTimeDecay(1, 1, 1)});
  CHECK(falling.variables().size() == 1);
  CHECK(falling.learning_rate() == 1);
  step_of(falling.apply_gradients({{ct::constant(numbers({1}, DType::float64)), w}}))();
  CHECK(falling.learning_rate() == 0.5);
  CHECK_THROWS_AS(falling.set_learning_rate(1), ct::ValueError);
  CHECK_THROWS_WITH(falling.set_learning_rate(1), Contains("sgd") && Contains("schedule"));
}

TEST_CASE("learning rates by schedule are Keras's") {
  // As above, S being keras.optimizers.schedules: [float(schedule(step)) for step in steps]. Cosines are float32 there.
  struct Schedule {
    const char* name;
    nn::LearningRate rate;
    std::map<int, double> expected;
    double tolerance = 1e-15;
  };
  const std::vector<Schedule> schedules = {
      // S.ExponentialDecay(.1, 10, .96)
      {"exponential",
       nn::ExponentialDecay(0.1, 10, 0.96),
       {{0, 0.1}, {1, 0.09959261213978507}, {10, 0.096}, {25, 0.09029798987795908}}},
      // S.ExponentialDecay(.1, 10, .96, True)
      {"exponential staircase",
       nn::ExponentialDecay(0.1, 10, 0.96, true),
       {{0, 0.1}, {9, 0.1}, {10, 0.096}, {25, 0.09216}}},
      // S.InverseTimeDecay(.1, 10, .5)
      {"inverse time",
       nn::InverseTimeDecay(0.1, 10, 0.5),
       {{0, 0.1}, {1, 0.09523809523809523}, {10, 0.06666666666666667}, {25, 0.044444444444444446}}},
      // S.InverseTimeDecay(.1, 10, .5, True)
      {"inverse time staircase",
       nn::InverseTimeDecay(0.1, 10, 0.5, true),
       {{0, 0.1}, {9, 0.1}, {10, 0.06666666666666667}, {25, 0.05}}},
      // S.PolynomialDecay(.1, 10, .01, 2.)
      {"polynomial", nn::PolynomialDecay(0.1, 10, 0.01, 2), {{0, 0.1}, {1, 0.0829}, {10, 0.01}, {25, 0.01}}},
      // S.PolynomialDecay(.1, 10)
      {"polynomial linear", nn::PolynomialDecay(0.1, 10), {{0, 0.1}, {1, 0.09001}, {10, 0.0001}, {25, 0.0001}}},
      // S.PiecewiseConstantDecay([3, 7], [1., .5, .1])
      {"piecewise",
       nn::PiecewiseConstantDecay({3, 7}, {1, 0.5, 0.1}),
       {{0, 1.0}, {3, 1.0}, {4, 0.5}, {7, 0.5}, {8, 0.1}, {100, 0.1}}},
      {"piecewise constant", nn::PiecewiseConstantDecay({}, {0.5}), {{0, 0.5}, {9, 0.5}}},
      // S.CosineDecay(.1, 10, .2)
      {"cosine",
       nn::CosineDecay(0.1, 10, 0.2),
       {{0, 0.1}, {1, 0.09804226458072662}, {5, 0.06}, {10, 0.02}, {25, 0.02}},
       1e-8},
      {"cosine", nn::CosineDecay(0.1, 10, 0.2), {{1, 0.1 * (0.2 + 0.4 * (1 + std::cos(std::numbers::pi / 10)))}}},
      // S.CosineDecay(0., 10, .2, warmup_target=.1, warmup_steps=4)
      {"cosine warm-up",
       nn::CosineDecay(0.1, 10, 0.2, 4),
       {{0, 0.0}, {1, 0.025}, {4, 0.1}, {9, 0.059999996423721315}, {14, 0.020000000298023225}, {25, 0.02}},
       1e-8},
  };
  for (const std::string& backend : backends()) {
    const ct::change_flags flags(backend);
    const Variable step = ct::dscalar("step");
    Vars rates;
    for (const Schedule& s : schedules) {
      rates.push_back(s.rate.schedule()(step));
      CHECK(rates.back().type() == ct::Type{DType::float64, {}});
    }
    const ct::Function f = ct::function({step}, rates);
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      for (const auto& [at, expected] : schedules[i].expected) {
        CAPTURE(backend, schedules[i].name, at);
        CHECK(std::abs(f(static_cast<double>(at))[i].item<double>() - expected) <= schedules[i].tolerance);
      }
    }
  }
}

TEST_CASE("gradients are clipped by value, then by norm, then by the norm of all") {
  // A gradient with the weight's dtype and one of float64, and the clipped values of both.
  struct Clipped {
    nn::Clip clip;
    DType dtype;
    std::vector<double> a, b, expected;
    double tolerance;
  };
  const double half = std::sqrt(2.0) / 2;
  const std::vector<Clipped> all = {
      // {30, 4} becomes {3, 3} and so has norm 3 after clipping, as {0, 4} has: sqrt(18) together.
      {{.value = 3, .norm = 3, .global_norm = 2}, DType::float64, {30, 4}, {0, 4}, {1, 1, 0, std::sqrt(2.0)}, 1e-15},
      {{.value = 3}, DType::float32, {-30, 2}, {4, -4}, {-3, 2, 3, -3}, 0},
      {{.norm = 1}, DType::float32, {3, 4}, {0, 0}, {0.6, 0.8, 0, 0}, 1e-7},
      {{.global_norm = 1}, DType::float32, {0, 0}, {0, 0}, {0, 0, 0, 0}, 0},
      // Squares above the largest float16.
      {{.norm = 1}, DType::float16, {300, 300}, {0, 0.5}, {half, half, 0, 0.5}, 1e-3},
      {{.global_norm = 1}, DType::float16, {300, 300}, {0, 0}, {half, half, 0, 0}, 1e-3},
  };
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const ct::change_flags flags(backend);
    std::vector<SharedVariable> parameters;
    nn::Updates updates;
    for (const Clipped& c : all) {
      parameters.push_back(ct::shared(Array::zeros(c.dtype, {2})));
      parameters.push_back(ct::shared(Array::zeros(DType::float64, {2})));
      const nn::SGD sgd({.learning_rate = 1, .clip = c.clip});
      for (const auto& update : sgd.apply_gradients({{ct::shared(numbers(c.a, c.dtype)), parameters.end()[-2]},
                                                     {ct::shared(numbers(c.b, DType::float64)), parameters.back()}}))
        updates.push_back(update);
    }
    step_of(updates)();
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(i);
      const Array v = parameters[2 * i].get_value(), w = parameters[2 * i + 1].get_value();
      check_close({-v.as_double(0), -v.as_double(1), -w.as_double(0), -w.as_double(1)}, all[i].expected,
                  all[i].tolerance);
    }
  }
}

TEST_CASE("C2.5: gradients come in the variables' order, empty or zeros where a loss needs none") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const ct::change_flags flags(backend);
    // loss = 3 sum(a) + sum(b^2), c and the integer d do not occur in it; a is requested twice.
    const SharedVariable a = ct::shared(numbers({1, 2}, DType::float32), {.name = "a"});
    const SharedVariable b = ct::shared(numbers({3, -4, 5, 0.5}, DType::float64).reshape({2, 2}), {.name = "b"});
    const SharedVariable c = ct::shared(Array::full(DType::float16, {3, 1}, 7), {.name = "c"});
    const SharedVariable d = ct::shared(numbers({1}, DType::int64), {.name = "d"});
    const Variable loss = 3 * ct::sum(a) + ct::sum(ct::sqr(b));
    const std::vector<SharedVariable> variables{b, c, a, d, a};
    const Vars some = nn::gradients(loss, variables), all = nn::gradients(loss, variables, true);
    REQUIRE(some.size() == 5);
    REQUIRE(all.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
      CAPTURE(i);
      CHECK(some[i].defined() == (i != 1 && i != 3));
      CHECK(all[i].dtype() == (i == 3 ? ct::scalar().dtype() : variables[i].dtype()));
    }
    const Vars wanted{all[0], all[1], all[2], all[3], all[4], some[0], some[2], some[4]};
    const ct::Outputs values = ct::function({}, ct::OutputList(wanted))();
    const Array of_b = numbers({6, -8, 10, 1}, DType::float64).reshape({2, 2}), of_a = numbers({3, 3}, DType::float32);
    for (const std::size_t i : {0, 5}) CHECK(values[i].to_host().equals(of_b));
    for (const std::size_t i : {2, 4, 6, 7}) CHECK(values[i].to_host().equals(of_a));
    CHECK(values[1].to_host().equals(Array::zeros(DType::float16, {3, 1})));
    CHECK(values[3].to_host().as_double(0) == 0);
    CHECK(values[3].shape() == ct::Sizes{1});
  }
  // A loss that depends on none of them: nothing is raised, and the order remains.
  const SharedVariable w = ct::shared(numbers({1}, DType::float32), {.name = "w"});
  const Variable x = ct::vector("x");
  CHECK(!nn::gradients(ct::sum(x), {w}).at(0).defined());
  CHECK(nn::gradients(ct::sum(x), {w}, true).at(0).eval().equals(numbers({0}, DType::float32)));
  CHECK_THROWS_AS(nn::gradients(x, {w}), ct::TypeError);  // not a scalar
  CHECK_THROWS_AS(ct::grad(ct::sum(x), std::vector<SharedVariable>{w}), ct::DisconnectedInputError);
}

TEST_CASE("C2.5: parameters without a gradient stay, and need no state") {
  const Quadratic q(DType::float64);
  const SharedVariable other = ct::shared(numbers({1}, DType::float64), {.name = "other"});
  const Vars gradients = nn::gradients(q.loss, {other, q.w});
  CHECK(!gradients[0].defined());
  CHECK(gradients[1].defined());
  const Vars zeros = nn::gradients(q.loss, {other, q.w}, true);
  CHECK(zeros[0].eval().equals(numbers({0}, DType::float64)));

  const nn::SGD sgd({.momentum = 0.9});
  step_of(sgd.apply_gradients(nn::zip(gradients, {other, q.w})))();
  CHECK(other.get_value().as_double(0) == 1);
  CHECK(q.w.get_value().as_double(0) == 1 - 0.01);
  CHECK(sgd.variables().size() == 3);
  CHECK_THROWS_AS(sgd.minimize(ct::sum(q.u), {other}), ct::TypeError);
  CHECK_THROWS_WITH(sgd.minimize(ct::sum(q.u), {other}), Contains("no parameter has a gradient"));
}

TEST_CASE("an optimizer of one's own") {
  struct SignSGD : nn::OptimizerDefinition {
    SignSGD() : OptimizerDefinition("sign", 0.5, {}) {}
    void update(const SharedVariable& w, const Variable& g, const Step& step, nn::Updates& updates) override {
      const SharedVariable sum = slot(w, "sum", 2);
      updates.emplace_back(sum, sum + g);
      updates.emplace_back(w, w - ct::cast(step.rate * step.count, w.dtype()) * ct::sgn(g));
    }
  };
  const nn::Optimizer sign(std::make_shared<SignSGD>());
  const SharedVariable w = ct::shared(numbers({0, 0}, DType::float32), {.name = "w"});
  const ct::Function step = step_of(sign.apply_gradients({{ct::constant(numbers({3, -4}, DType::float32)), w}}));
  step();
  step();
  CHECK(w.get_value().equals(numbers({-1.5, 1.5}, DType::float32)));
  CHECK(sign.variables()[2].name() == "sign/sum/w");
  CHECK(sign.variables()[2].get_value().equals(numbers({8, -6}, DType::float32)));
}

TEST_CASE("mistakes with optimizers") {
  const SharedVariable w = ct::shared(numbers({1, 2}, DType::float32), {.name = "kernel"});
  const SharedVariable count = ct::shared(numbers({1, 2}, DType::int64), {.name = "count"});
  const Variable g = ct::matrix("g");
  const nn::SGD sgd;
  CHECK_THROWS_WITH(nn::Optimizer("adm"),
                    "unknown optimizer \"adm\"; known are sgd, rmsprop, adam, adamw, adagrad, adadelta");
  CHECK_THROWS_AS(sgd.apply_gradients({{ct::vector(), count}}), ct::TypeError);
  CHECK_THROWS_WITH(sgd.apply_gradients({{ct::vector(), count}}), Contains("count is i64[?]"));
  CHECK_THROWS_AS(sgd.apply_gradients({{g, w}}), ct::TypeError);
  CHECK_THROWS_WITH(sgd.apply_gradients({{g, w}}), Contains("g is f32[?, ?]") && Contains("kernel is f32[?]"));
  CHECK_THROWS_AS(nn::zip({g}, {}), ct::ValueError);
  CHECK_THROWS_WITH(nn::zip({g}, {}), Contains("1 and 0"));
  CHECK_THROWS_AS(nn::Adam({.beta_2 = 1}), ct::ValueError);
  CHECK_THROWS_WITH(nn::Adam({.beta_2 = 1}), Contains("beta_2") && Contains("[0, 1)"));
  CHECK_THROWS_AS(nn::SGD({.momentum = -0.5}), ct::ValueError);
  CHECK_THROWS_AS(nn::RMSprop({.rho = std::nan("")}), ct::ValueError);
  CHECK_THROWS_AS(nn::SGD({.learning_rate = -0.5}), ct::ValueError);
  CHECK_THROWS_WITH(nn::Adam({.learning_rate = -0.5}), "a learning rate must be 0 or more, and is -0.5");
  CHECK_THROWS_AS(nn::Adam({.learning_rate = std::nan("")}), ct::ValueError);
  CHECK_THROWS_AS(sgd.set_learning_rate(-1e-9), ct::ValueError);
  CHECK(sgd.learning_rate() == 0.01);
  CHECK_THROWS_WITH(nn::ExponentialDecay(-1, 10, 0.5), Contains("initial is a learning rate, which must be 0 or more"));
  CHECK_THROWS_AS(nn::InverseTimeDecay(-1, 10, 0.5), ct::ValueError);
  CHECK_THROWS_AS(nn::CosineDecay(-1, 10), ct::ValueError);
  CHECK_THROWS_AS(nn::PolynomialDecay(-1, 10), ct::ValueError);
  CHECK_THROWS_WITH(nn::PolynomialDecay(1, 10, -1), Contains("end is a learning rate"));
  CHECK_THROWS_AS(nn::PiecewiseConstantDecay({1}, {1, -1}), ct::ValueError);
  CHECK_THROWS_AS(nn::SGD({.clip = {.norm = 0}}), ct::ValueError);
  CHECK_THROWS_AS(nn::ExponentialDecay(0.1, 0, 0.5), ct::ValueError);
  CHECK_THROWS_WITH(nn::CosineDecay(0.1, -1), Contains("steps"));
  CHECK_THROWS_AS(nn::PiecewiseConstantDecay({1, 2}, {1, 2}), ct::ValueError);
  CHECK_THROWS_WITH(nn::PiecewiseConstantDecay({1, 2}, {1, 2}), Contains("2 and 2"));
  CHECK_THROWS_AS(nn::PiecewiseConstantDecay({2, 1}, {1, 2, 3}), ct::ValueError);
}
