// The lines of nodes are those of the program that builds the graph: here, of this file.
#include <croton/croton.hpp>
#include <croton/nn.hpp>
#include <croton/theano_random.hpp>

#include "../catch.hpp"

#include <string>

#include "builder/node.hpp"
#include "builder/shared.hpp"

namespace ct = croton;
namespace nn = croton::nn;
using Catch::Matchers::Contains;
using ct::Array;
using ct::DType;
using ct::Operand;
using ct::Variable;
using ct::Where;
using Variables = std::vector<Variable>;

namespace {

/// The lines of all nodes of these graphs, and of default updates.
void check_lines(Variables roots) {
  for (std::size_t known = 0; known != roots.size();) {
    known = roots.size();
    for (const ct::builder::Node* node : ct::builder::topological_order(roots)) {
      const std::string file = node->where.file();
      INFO(node->op->name << " '" << node->name << "' comes from " << file << ":" << node->where.line());
      CHECK(node->where.known());
      CHECK(file.ends_with("test_lines.cpp"));
      if (!node->shared || !node->shared->default_update.defined()) continue;
      const Variable& next = node->shared->default_update;
      if (std::ranges::find(roots, next) == roots.end()) roots.push_back(next);
    }
  }
}
void check_lines(const nn::Updates& updates) {
  Variables all;
  for (const auto& [target, value] : updates) all.insert(all.end(), {target, value});
  check_lines(all);
}

/// Without the check a graph shows its lines; with it, nodes that are made and not used in the graph count too.
const std::vector<std::string> both{"verify=false", "verify=true"};

Array floats(const ct::Sizes& shape) { return Array::uniform(DType::float32, shape, 1); }

}  // namespace

TEST_CASE("random draws come from the caller's line, and so do their default parameters") {
  const ct::change_flags scope(GENERATE(from_range(both)));
  const Variable n = ct::lscalar("n"), p = ct::fmatrix("p"), x = ct::fmatrix("x");
  ct::RandomStreams a(1);
  check_lines({a.uniform({n, 2}), a.normal({n, 2}), a.truncated_normal({n}), a.exponential({n}), a.gamma({n}, 2.0),
               a.beta({n}, 2, 3), a.integers({n}, 0, 9), a.integers({n}, 0, n), a.random_integers({2}, 1, n),
               a.bernoulli({n}), a.binomial({n}), a.binomial({n}, 5), a.poisson({n}), a.multinomial(std::nullopt, 5, p),
               a.choice({n}, 7), a.choice({2}, 7, {.replace = false}), a.permutation(n), a.shuffle_row_elements(x)});
  ct::MrgRandomStreams b(1);
  check_lines({b.uniform({n, 2}), b.uniform({2}, 1, 3), b.normal({n, 2}), b.truncated_normal({n}), b.binomial({n}),
               b.multinomial(p), b.choice(2, p), b.multinomial_wo_replacement(p)});
  ct::NumpyRandomStreams c(1);
  ct::NumpyRandomStreams::ChoiceOptions options;
  options.p = ct::constant(Array{0.5, 0.5});
  check_lines({c.uniform(), c.uniform({n, 2}), c.normal({n}), c.binomial({n}), c.random_integers({n}), c.choice({n}),
               c.choice({n}, 2, options), c.choice({n}, 2, {.replace = false}), c.poisson({n}, 2.0), c.permutation({n}),
               c.multinomial({n}), c.shuffle_row_elements(x)});
}

TEST_CASE("loops and branches come from the lines of the caller and of the step") {
  const ct::change_flags scope(GENERATE(from_range(both)));
  const Variable x = ct::fvector("x"), k = ct::lscalar("k");
  const auto power = [&](const Variables& in) { return ct::Step(in[0] * x); };
  const Variable powers = ct::scan(power, {}, {ct::ones_like(x)}, {}, {.n_steps = k});
  const Variable sums = ct::scan([](const Variables& in) { return ct::Step(in[0] + in[1] + in[2]); },
                                 {ct::Sequence(x, {-1, 0})}, {ct::OutputInfo(ct::fscalar("s"))});
  check_lines({powers, sums, ct::grad(ct::sum(powers), x), ct::grad(ct::sum(sums), x)});
  check_lines({ct::ifelse(ct::gt(k, 0), x, -x), ct::grad(ct::sum(ct::ifelse(ct::gt(k, 0), x, ct::exp(x))), x)});
}

TEST_CASE("sizes that only running a branch finds come from the line of the branch") {
  const ct::change_flags on("verify=true");  // when the function is made
  const Variable x = ct::fvector("x"), k = ct::lscalar("k");
  const ct::Function f = ct::function({k, x}, ct::ifelse(k, ct::nonzero(x)[0], ct::argsort(x)));
  CHECK(f(Array(std::int64_t{1}), floats({3})).only().shape(0) == 3);
}

TEST_CASE("gradients by rows come from the lines of what they are of") {
  const ct::change_flags scope(GENERATE(from_range(both)));
  const Variable x = ct::fmatrix("x"), rows = ct::lvector("rows");
  const Variable cost = ct::sum(ct::sqr(ct::set_subtensor(x[rows], 2 * x[rows])) + ct::sum(x[rows]));
  const Variable first = ct::grad(cost, x);
  check_lines({first, ct::grad(ct::sum(ct::sqr(first)), x)});
}

TEST_CASE("known gradients and operations that are made of another come from the caller's lines") {
  const ct::change_flags scope(GENERATE(from_range(both)));
  const Variable x = ct::fmatrix("x"), n = ct::lscalar("n");
  const Variable y = ct::sqr(x), known = ct::cast(y, DType::float64);
  const Variables gradients = ct::grad({}, Variables{x}, {.known_grads = {{y, known}}});
  check_lines({ct::identity(n), ct::patternbroadcast(x, {true, false}), gradients[0]});
}

TEST_CASE("verify_grad comes from the caller's line") {
  // These graphs are internal: they are checked under the flag `verify`.
  const ct::change_flags on("verify=true");
  CHECK(ct::verify_grad([](const Variables& in) { return ct::exp(in[0]) * in[0]; }, {floats({3})}, 2) < 1e-4);
}

TEST_CASE("activations, regularisers and schedules come from lines of the program") {
  const ct::change_flags scope(GENERATE(from_range(both)));
  const Variable x = ct::fmatrix("x");
  for (const char* name : {"relu", "softmax", "leaky_relu", "hard_sigmoid", "gelu", "swish", "selu", "sparsemax"})
    check_lines({nn::Activation(name)(x)});
  check_lines({nn::l1(0.1)(x), nn::l2(0.1)(x), nn::l1_l2(0.1, 0.1)(x)});
  for (const nn::LearningRate& rate :
       {nn::ExponentialDecay(0.1, 10, 0.5, true), nn::InverseTimeDecay(0.1, 10, 0.5), nn::PolynomialDecay(0.1, 10),
        nn::PiecewiseConstantDecay({1, 2}, {0.1, 0.2, 0.3}), nn::CosineDecay(0.1, 10, 0, 2)})
    check_lines({rate.schedule()(ct::dscalar("step"))});
}

TEST_CASE("updates of optimizers come from lines of the program") {
  const ct::change_flags scope(GENERATE(from_range(both)));
  const ct::SharedVariable w = ct::shared(floats({3}), {.name = "w"});
  const Variable loss = ct::sum(ct::sqr(w));
  const nn::Clip clip{.value = 1, .norm = 1, .global_norm = 1};
  for (const nn::Optimizer& optimizer : std::vector<nn::Optimizer>{
           "sgd", "rmsprop", "adam", "adamw", "adagrad", "adadelta", nn::SGD({.momentum = 0.9, .nesterov = true}),
           nn::RMSprop({.momentum = 0.9, .centered = true, .clip = clip}), nn::Adam({.amsgrad = true}),
           nn::Adam({.learning_rate = nn::ExponentialDecay(0.1, 10, 0.5), .clip = clip})}) {
    INFO(optimizer.name());
    check_lines(optimizer.minimize(loss, {w}));
    for (const ct::SharedVariable& v : optimizer.variables()) check_lines({v});
    CHECK(optimizer.learning_rate() > 0);
  }
  check_lines(nn::gradients(loss, {w, ct::shared(floats({2}))}, true));
}

TEST_CASE("ops of a model have the lines of its layers and of compile") {
  const ct::change_flags on("verify=true");  // graphs of steps are internal
  const auto make = [] {
    nn::Sequential model{nn::Dense(4, {.activation = "relu", .kernel_regularizer = "l1_l2", .input_shape = {3}}),
                         nn::BatchNormalization(), nn::Dropout(0.5), nn::Dense(2, {.activation = "softmax"})};
    nn::CompileOptions options;  // with the default optimizer
    options.loss = "sparse_categorical_crossentropy";
    options.metrics = {"accuracy"};
    model.compile(options);
    return model;
  };
  const Array x = floats({6, 3}), y = Array::zeros(DType::int64, {6});
  nn::Sequential model = make();
  model.fit(x, y, {.verbose = nn::Verbose::silent, .sample_weight = Array::full(DType::float32, {6}, 1)});
  model.evaluate(x, y);
  model.predict(x);
  for (const ct::SharedVariable& v : model.optimizer().variables()) check_lines({v});
  const Variable input = ct::fmatrix("x");
  check_lines({model(input)});
  const nn::Tensor image = nn::Input({3});
  nn::Model outer(image, make()(image));  // a model as a layer
  outer.compile({.loss = "sparse_categorical_crossentropy"});
  outer.fit(x, y, {.verbose = nn::Verbose::silent});

  const nn::MirroredStrategy strategy({"cpu"}, {.shards = 2});
  const auto scope = strategy.scope();
  nn::Sequential mirrored = make();
  mirrored.fit(x, y, {.verbose = nn::Verbose::silent});
  mirrored.predict(x);
  nn::Sequential masked{nn::Embedding(4, 3, {.mask_zero = true, .input_shape = {5}}),
                        nn::Dense(2, {.activation = "softmax"})};
  masked.compile({.loss = "sparse_categorical_crossentropy", .optimizer = "adam"});
  masked.fit(Array::zeros(DType::int64, {6, 5}), Array::zeros(DType::int64, {6, 5}), {.verbose = nn::Verbose::silent});
  const nn::SGD sgd({.momentum = 0.5});
  const ct::SharedVariable w = ct::shared(floats({3}).astype(DType::float16));
  const auto losses = strategy.run(
      [&](Variable part) {
        const Variable loss = ct::sum(ct::dot(part, w));
        sgd.minimize(loss, {w});
        return loss;
      },
      {input});
  check_lines({strategy.reduce(nn::ReduceOp::mean, losses)});
}

TEST_CASE("with verify a node of one of the library's own lines is an error that names it") {
  const std::string folder = CROTON_SOURCE_FOLDER;
  const std::string source = folder + "/src/ops/scan.cpp", header = folder + "/include/croton/random.hpp";
  const Where own(source.c_str(), 54);
  const auto names_line = Contains("scan.cpp:54");
  {
    const ct::change_flags on("verify=true");
    const Variable x = ct::fvector("x");
    CHECK_THROWS_AS(ct::fvector("x", own), ct::InternalError);
    CHECK_THROWS_WITH(ct::fvector("x", own), names_line);
    CHECK_THROWS_WITH(Operand(1, own), names_line);
    CHECK_THROWS_WITH(ct::exp(Operand(x, own)), names_line);
    CHECK_THROWS_WITH(ct::shared(floats({1}), {}, own), names_line);
    CHECK_THROWS_WITH(nn::Dense(2)(x, own), names_line);
    CHECK_THROWS_WITH(ct::exp(Operand(x, Where(header.c_str(), 7))), Contains("random.hpp:7"));
    // Folders with these names elsewhere are the user's, and so are unknown lines.
    CHECK_NOTHROW(ct::exp(Operand(x, Where("/home/user/src/ops/scan.cpp", 54))));
    CHECK_NOTHROW(ct::exp(Operand(x, Where())));
  }
  const ct::change_flags off("verify=false");
  CHECK_NOTHROW(ct::exp(Operand(ct::fvector("x"), own)));
}
