// Models: graphs of layers, models inside models, names, weights as lists and in files, and user-defined layers. The
// rows C2.1, C5.6 and C5.9 are small programs with known results.
#include <croton/archive.hpp>
#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include "backends.hpp"
#include "catch.hpp"
#include "unit/contains.hpp"
#include "unit/temporary_folder.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace ct = croton;
namespace nn = croton::nn;
using croton::test::TemporaryFolder;
using croton_test::backends;
using ct::Array;
using ct::DType;
using ct::Sizes;
using ct::Variable;

namespace {

using Numbers = std::vector<double>;

Variable input(const nn::Shape& shape, DType dtype = DType::float32) {
  Sizes sizes{ct::unknown_size};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return ct::variable({dtype, sizes}, "x");
}

/// The results of a model for arrays, outside training.
std::vector<Array> values(const nn::Model& model, const std::vector<Array>& x) {
  std::vector<ct::In> inputs;
  std::vector<Variable> variables;
  std::vector<ct::Argument> arguments;
  for (const Array& array : x) {
    variables.push_back(input(Sizes(array.shape().begin() + 1, array.shape().end()), array.dtype()));
    inputs.emplace_back(variables.back());
    arguments.emplace_back(array);
  }
  nn::CallContext context;
  std::vector<Array> results;
  for (const Array& result : ct::function(inputs, model.call(variables, context)).call(arguments))
    results.push_back(result.to_host());
  return results;
}

Numbers numbers(const Array& x) {
  Numbers result;
  for (std::int64_t i = 0; i < x.size(); ++i) result.push_back(x.as_double(i));
  return result;
}

double largest(const Array& x) {
  double most = 0;
  for (const double number : numbers(x)) most = std::max(most, std::abs(number));
  return most;
}
bool all_are(const Array& x, double wanted) {
  return std::ranges::all_of(numbers(x), [wanted](double number) { return number == wanted; });
}

std::vector<Sizes> shapes_of(const std::vector<Array>& arrays) {
  std::vector<Sizes> shapes;
  for (const Array& array : arrays) shapes.push_back(array.shape());
  return shapes;
}

std::vector<std::string> names_of(const nn::Model& model, const std::vector<std::string>& candidates) {
  std::vector<std::string> known;
  for (const std::string& name : candidates) {
    try {
      model.layer(name);
      known.push_back(name);
    } catch (const ct::ValueError&) {
    }
  }
  return known;
}

/// Distinguishable weights: 1, 1 + 1/64, ..., and k more in the k-th one.
void count_weights(const nn::Model& model) {
  std::vector<Array> all = model.get_weights();
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].dtype() != DType::float32) continue;
    for (std::size_t i = 0; i < all[k].data<float>().size(); ++i)
      all[k].data<float>()[i] = static_cast<float>(k + 1) + static_cast<float>(i) / 64;
  }
  model.set_weights(all);
}

bool equal(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::ranges::equal(a, b, [](const Array& x, const Array& y) { return x.equals(y); });
}

template <class Kind = ct::ValueError>
std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Kind& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

// ---- rows of programs ----

TEST_CASE("C2.1: a classifier of two dense layers", "[nn]") {
  nn::set_seed(21);
  const nn::Sequential model{nn::Dense(128, {.activation = "relu", .input_shape = {784}}),
                             nn::Dense(10, {.activation = "softmax"})};
  const std::vector<Array> weights = model.get_weights();
  CHECK(shapes_of(weights) == std::vector<Sizes>{{784, 128}, {128}, {128, 10}, {10}});
  CHECK(model.count_params() == 101'770);
  CHECK(model.trainable_variables().size() == 4);
  CHECK(model.non_trainable_variables().empty());
  CHECK(model.input_shapes() == std::vector<nn::Shape>{{784}});
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{10}});
  for (const auto& [at, inputs, outputs] : {std::tuple(0, 784., 128.), {2, 128., 10.}}) {
    const double bound = std::sqrt(6 / (inputs + outputs));
    const Numbers kernel = numbers(weights[static_cast<std::size_t>(at)]);
    CHECK(largest(weights[static_cast<std::size_t>(at)]) <= bound);
    CHECK(largest(weights[static_cast<std::size_t>(at)]) > 0.98 * bound);
    // Uniform numbers between -b and b have the deviation b / sqrt(3).
    double square = 0, sum = 0;
    for (const double x : kernel) {
      square += x * x;
      sum += x;
    }
    const double n = static_cast<double>(kernel.size());
    CHECK(std::sqrt(square / n) == Approx(bound / std::sqrt(3)).epsilon(4 / std::sqrt(n)));
    CHECK(std::abs(sum / n) < 5 * bound / std::sqrt(3 * n));
    CHECK(all_are(weights[static_cast<std::size_t>(at) + 1], 0));
  }
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  const Array y = values(model, {Array::uniform(DType::float32, {5, 784}, 1, -2, 2)})[0];
  REQUIRE(y.shape() == Sizes{5, 10});
  for (std::int64_t row = 0; row < 5; ++row) {
    const Numbers shares = numbers(y.row(row));
    CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == Approx(1).epsilon(1e-6));
    CHECK(std::ranges::all_of(shares, [](double share) { return share > 0; }));
  }
}

TEST_CASE("C5.6: a classifier of one convolution", "[nn]") {
  const nn::Conv2D conv(32, 3, {.activation = "relu", .input_shape = {28, 28, 1}});
  const nn::Sequential model{conv, nn::GlobalMaxPooling2D(), nn::Dense(10)};
  nn::Shape shape{28, 28, 1};
  std::vector<nn::Shape> shapes;
  for (const nn::Layer& layer : model.layers()) shapes.push_back(shape = layer.definition().output_shape({shape}));
  CHECK(shapes == std::vector<nn::Shape>{{26, 26, 32}, {32}, {10}});
  CHECK(model.count_params() == 650);
  CHECK(shapes_of(model.get_weights()) == std::vector<Sizes>{{3, 3, 1, 32}, {32}, {32, 10}, {10}});
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  std::vector<Array> weights = model.get_weights();
  // Filter 0 takes the first element of a window, which a flipped kernel would take last.
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) weights[0].at<float>(i, j, 0, 0) = i == 0 && j == 0 ? 1 : 0;
  }
  model.set_weights(weights);
  const Array x = Array::uniform(DType::float32, {2, 28, 28, 1}, 5);
  const Array images = values(nn::Sequential{conv}, {x})[0], scores = values(model, {x})[0];
  REQUIRE(images.shape() == Sizes{2, 26, 26, 32});
  double most = 0;
  for (std::int64_t i = 0; i < 26; ++i) {
    for (std::int64_t j = 0; j < 26; ++j)
      most = std::max<double>(most, std::abs(images.at<float>(1, i, j, 0) - x.at<float>(1, i, j, 0)));
  }
  CHECK(most < 1e-6);
  // The whole model in plain loops.
  for (std::int64_t b = 0; b < 2; ++b) {
    Numbers maxima(32, 0.0), wanted = numbers(weights[3]);
    for (std::int64_t f = 0; f < 32; ++f) {
      for (std::int64_t i = 0; i < 26; ++i) {
        for (std::int64_t j = 0; j < 26; ++j) {
          double sum = weights[1].at<float>(f);
          for (std::int64_t k = 0; k < 9; ++k)
            sum += x.at<float>(b, i + k / 3, j + k % 3, 0) * double{weights[0].at<float>(k / 3, k % 3, 0, f)};
          maxima[static_cast<std::size_t>(f)] = std::max(maxima[static_cast<std::size_t>(f)], sum);
        }
      }
      for (std::int64_t c = 0; c < 10; ++c)
        wanted[static_cast<std::size_t>(c)] += maxima[static_cast<std::size_t>(f)] * weights[2].at<float>(f, c);
    }
    for (std::int64_t c = 0; c < 10; ++c)
      CHECK(scores.at<float>(b, c) == Approx(wanted[static_cast<std::size_t>(c)]).epsilon(1e-5).margin(1e-5));
  }
}

namespace {

/// The last state of an LSTM in plain loops, with gates i, f, c, o in adjacent columns.
Numbers last_state(const std::vector<Array>& weights, const Array& x, std::int64_t batch) {
  const std::int64_t steps = x.shape(1), features = x.shape(2), units = weights[1].shape(0);
  const auto sigmoid = [](double a) { return 1 / (1 + std::exp(-a)); };
  Numbers h(static_cast<std::size_t>(units)), c = h;
  for (std::int64_t t = 0; t < steps; ++t) {
    Numbers z = numbers(weights[2]);
    for (std::int64_t k = 0; k < 4 * units; ++k) {
      double& sum = z[static_cast<std::size_t>(k)];
      for (std::int64_t j = 0; j < features; ++j) sum += x.at<float>(batch, t, j) * double{weights[0].at<float>(j, k)};
      for (std::int64_t j = 0; j < units; ++j) sum += h[static_cast<std::size_t>(j)] * weights[1].at<float>(j, k);
    }
    for (std::size_t u = 0; u < h.size(); ++u) {
      const std::size_t n = h.size();
      c[u] = sigmoid(z[n + u]) * c[u] + sigmoid(z[u]) * std::tanh(z[2 * n + u]);
      h[u] = sigmoid(z[3 * n + u]) * std::tanh(c[u]);
    }
  }
  return h;
}

}  // namespace

TEST_CASE("C5.9: one LSTM reads two inputs", "[nn]") {
  nn::set_seed(59);
  const nn::LSTM lstm(64);
  const nn::Tensor a = nn::Input({140, 256}), b = nn::Input({140, 256});
  const nn::Model model({a, b}, {lstm(a), lstm(b)});
  CHECK(model.count_params() == 82'176);
  CHECK(lstm.count_params() == 82'176);
  CHECK(model.layers().size() == 1);
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{64}, {64}});
  const std::vector<Array> weights = model.get_weights();
  CHECK(shapes_of(weights) == std::vector<Sizes>{{256, 256}, {64, 256}, {256}});
  const double bound = std::sqrt(6. / 512);
  CHECK(largest(weights[0]) <= bound);
  CHECK(largest(weights[0]) > 0.98 * bound);
  double worst = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double product = i == j ? -1 : 0;
      for (std::int64_t k = 0; k < 256; ++k) product += double{weights[1].at<float>(i, k)} * weights[1].at<float>(j, k);
      worst = std::max(worst, std::abs(product));
    }
  }
  CHECK(worst < 1e-5);  // rows are orthonormal
  for (std::int64_t k = 0; k < 256; ++k) CHECK(weights[2].at<float>(k) == (k >= 64 && k < 128 ? 1 : 0));
  const Array x = Array::uniform(DType::float32, {1, 140, 256}, 1, -1, 1),
              y = Array::uniform(DType::float32, {1, 140, 256}, 2, -1, 1);
  const std::vector<Array> states = values(model, {x, y});
  REQUIRE(states[0].shape() == Sizes{1, 64});
  for (const auto& [state, read] : {std::pair(states[0], x), {states[1], y}}) {
    const Numbers wanted = last_state(weights, read, 0);
    for (std::int64_t u = 0; u < 64; ++u)
      CHECK(state.at<float>(0, u) == Approx(wanted[static_cast<std::size_t>(u)]).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("C5.9: gradients of two branches are added up", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  const nn::LSTM lstm(3);
  const nn::Tensor ta = nn::Input({4, 2}), tb = nn::Input({4, 2});
  const nn::Model model({ta, tb}, {nn::concatenate({lstm(ta), lstm(tb)})});
  CHECK(model.weights().size() == 3);
  nn::CallContext context;
  const Variable a = input({4, 2}), b = input({4, 2});
  const std::vector<ct::SharedVariable> weights = lstm.weights();
  std::vector<Variable> outputs = {model.call({a, b}, context).at(0)};
  const auto gradients = [&](const Variable& y) {
    for (const Variable& g : ct::grad(ct::sum(ct::sqr(y)), {weights.begin(), weights.end()})) outputs.push_back(g);
  };
  gradients(outputs[0]);
  gradients(lstm(a));
  gradients(lstm(b));
  const Array x = Array::uniform(DType::float32, {2, 4, 2}, 3, -1, 1),
              y = Array::uniform(DType::float32, {2, 4, 2}, 4, -1, 1);
  const ct::Outputs results = ct::function({a, b}, outputs)(x, y);
  for (std::int64_t batch = 0; batch < 2; ++batch) {
    Numbers wanted = last_state(model.get_weights(), x, batch);
    for (const double number : last_state(model.get_weights(), y, batch)) wanted.push_back(number);
    const Array row = results[0].to_host().row(batch);
    for (std::int64_t i = 0; i < 6; ++i)
      CHECK(row.as_double(i) == Approx(wanted[static_cast<std::size_t>(i)]).epsilon(1e-5).margin(1e-6));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const Array both = results[1 + i].to_host(), one = results[4 + i].to_host(), other = results[7 + i].to_host();
    for (std::int64_t k = 0; k < both.size(); ++k)
      CHECK(both.as_double(k) == Approx(one.as_double(k) + other.as_double(k)).epsilon(1e-5).margin(1e-6));
  }
}

// ---- graphs ----

TEST_CASE("a graph with branches, a shared layer, two inputs and two outputs", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  const nn::Tensor a = nn::Input({2}, {.name = "a"}), b = nn::Input({2}, {.name = "b"});
  const nn::Dense shared(2, {.use_bias = false, .name = "shared"}), last(1, {.use_bias = false});
  const nn::Tensor left = shared(a), right = shared(b);
  const nn::Tensor joined = nn::add({nn::Multiply()({left, right}), a});
  const nn::Model model({a, b}, {last(joined), nn::Subtract()({left, right})}, "pair");
  CHECK(model.name() == "pair");
  CHECK(model.layers().size() == 5);
  CHECK(model.layers()[0] == shared);
  CHECK(model.layer("shared") == shared);
  CHECK(model.layer("dense") == last);
  CHECK(model.weights() == std::vector<ct::SharedVariable>{shared.weights()[0], last.weights()[0]});
  CHECK(model.count_params() == 6);
  CHECK(joined.layer().type() == "Add");
  model.set_weights({Array{{1.f, 2.f}, {3.f, 4.f}}, Array{{10.f}, {1.f}}});
  // (1, 1) becomes (4, 6), (2, 0) becomes (2, 4).
  const std::vector<Array> results = values(model, {Array{{1.f, 1.f}, {2.f, 0.f}}, Array{{2.f, 0.f}, {2.f, 0.f}}});
  CHECK(numbers(results[0]) == Numbers{10 * 9 + 25, 10 * 6 + 16});
  CHECK(numbers(results[1]) == Numbers{2, 2, 0, 0});
}

TEST_CASE("models inside of models share their weights", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  // An autoencoder: the encoder is a separate model, and a part of the whole.
  const nn::Tensor image = nn::Input({4});
  const nn::Tensor code = nn::Dense(3, {.use_bias = false})(image);
  const nn::Model encoder(image, nn::ActivationLayer("linear")(code));
  const nn::Sequential decoder{nn::Dense(4, {.use_bias = false, .input_shape = {3}})};
  const nn::Model whole(image, decoder(encoder(image)));
  CHECK(whole.layers().size() == 2);
  CHECK(whole.layers()[0].type() == "Model");
  CHECK(whole.layers()[1].type() == "Sequential");
  CHECK(whole.count_params() == 24);
  count_weights(whole);
  CHECK(encoder.get_weights()[0].equals(whole.get_weights()[0]));
  CHECK(decoder.get_weights()[0].equals(whole.get_weights()[1]));
  const Array x = Array{{1.f, 0.f, 2.f, 1.f}};
  const Array reduced = values(encoder, {x})[0];
  CHECK(values(whole, {x})[0].equals(values(decoder, {reduced})[0]));
  // The part of a graph after an inner tensor.
  const nn::Model rest(code, nn::ActivationLayer("relu")(code));
  CHECK(rest.weights().empty());
  CHECK(numbers(values(rest, {Array{{-1.f, 0.f, 2.f}}})[0]) == Numbers{0, 0, 2});
  // A layer that is used twice has one set of weights.
  const nn::Tensor other = nn::Input({4});
  const nn::Model siamese({image, other}, {nn::Subtract()({encoder(image), encoder(other)}), encoder(image)});
  CHECK(siamese.layers().size() == 2);
  CHECK(siamese.weights() == encoder.weights());
  CHECK(encoder.layer() == encoder.layer());
  const std::vector<Array> results = values(siamese, {x, x});
  CHECK(all_are(results[0], 0));
  CHECK(results[1].equals(reduced));
  // A layer that is used inside and outside a model is one layer of both, and its weights count once.
  const nn::Model beside(image, nn::add({encoder(image), encoder.layer("dense")(image)}));
  CHECK(beside.weights() == encoder.weights());
  CHECK(beside.count_params() == 12);
  CHECK(beside.get_weights().size() == 1);
  // Two models without names.
  const nn::Model two(image, nn::Model(other, nn::Dense(2)(other))(whole(nn::Model(other, nn::ReLU()(other))(image))));
  CHECK(names_of(two, {"model", "model_1", "model_2"}) == std::vector<std::string>{"model", "model_1", "model_2"});
}

TEST_CASE("models inside of models learn and are frozen", "[nn]") {
  const nn::Sequential body{nn::Dense(3, {.input_shape = {2}}), nn::BatchNormalization(), nn::Dropout(0.5)};
  const nn::Sequential model{body.layer(), nn::Dense(1)};
  CHECK(model.input_shapes() == std::vector<nn::Shape>{{2}});
  CHECK(model.weights().size() == 8);
  CHECK(model.trainable_variables().size() == 6);
  CHECK(model.non_trainable_variables().size() == 2);
  nn::CallContext training{.training = true};
  const Variable x = input({2}), y = model(x, training);
  CHECK(training.updates.size() == 2);
  // In training, dropout is active, and statistics are those of the batch.
  const ct::Function f = ct::function({x}, y, {.updates = training.updates});
  const Array ones = Array::full(DType::float32, {64, 2}, 1);
  CHECK(f(ones).only().row(0).size() == 1);
  CHECK_FALSE(all_are(body.get_weights()[4], 0));
  body.layer().set_trainable(false);
  CHECK(model.trainable_variables().size() == 2);
  CHECK(body.trainable_variables().empty());
  nn::CallContext frozen{.training = true};
  model(x, frozen);
  CHECK(frozen.updates.empty());
  body.layers()[0].set_trainable(true);
  CHECK(body.trainable_variables().size() == 2);
}

TEST_CASE("masks and open sizes go into models inside of models", "[nn]") {
  const nn::Embedding rows(5, 2, {.mask_zero = true});
  const nn::LSTM lstm(3);
  const nn::Tensor inner = nn::Input({nn::any_size, 2});
  const nn::Model reader(inner, lstm(inner)), states(inner, nn::Conv1D(2, 1)(inner));
  const nn::Tensor text = nn::Input({4}, {.dtype = DType::int64});
  const nn::Tensor row = rows(text);
  const nn::Model nested(text, reader(row)), flat(text, lstm(row));
  const Array x = Array{{1, 2, 0, 0}, {0, 3, 4, 0}}.astype(DType::int64);
  CHECK(values(nested, {x})[0].equals(values(flat, {x})[0]));
  CHECK(states(row).shape() == nn::Shape{4, 2});
  CHECK(nn::Flatten()(states(row)).shape() == nn::Shape{8});
  // A model with integer inputs declares them.
  const nn::Sequential sequential{nested.layer()};
  CHECK(sequential.input_shapes() == std::vector<nn::Shape>{{4}});
  CHECK(nested.layer().definition().input_dtype() == DType::int64);
  CHECK(nested(text).dtype() == DType::float32);
  CHECK(values(sequential, {x})[0].equals(values(flat, {x})[0]));
}

TEST_CASE("layers and models on variables", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  const nn::Dense dense(1, {.kernel_initializer = "ones"});
  const Variable x = input({3});
  const Variable y = ct::exp(-ct::sqr(dense(x) - 6));  // inside an expression
  CHECK(dense.built());
  CHECK(numbers(y.eval({{x, Array{{1.f, 2.f, 3.f}}}})) == Numbers{1});
  const nn::Sequential model{dense, nn::ReLU()};
  CHECK_THROWS_AS(model(x), ct::ValueError);  // its input is unknown
  const nn::Sequential told{nn::Flatten({3}), dense};
  CHECK(numbers(values(told, {Array{{1.f, 2.f, 4.f}}})[0]) == Numbers{7});
}

TEST_CASE("inputs and outputs of models", "[nn]") {
  const nn::Tensor a = nn::Input({2}, {.name = "a"}), b = nn::Input({2}, {.name = "b"});
  const nn::Tensor y = nn::add({a, b});
  CHECK_THAT(message([&] { nn::Model(a, y, "sum"); }),
             contains("sum: an output needs the input b (test_nn_models.cpp:"));
  CHECK_THAT(message([&] { nn::Model(a, y, "sum"); }), contains("which is not among the inputs of the model"));
  CHECK_THROWS_AS(nn::Model(std::vector<nn::Tensor>{}, {y}), ct::ValueError);
  CHECK_THROWS_AS(nn::Model({a, b}, std::vector<nn::Tensor>{}), ct::ValueError);
  const nn::Model model({a, b}, {y, nn::Subtract()({a, b})}, "sums");
  nn::CallContext context;
  CHECK(message<ct::TypeError>([&] { model.call({ct::matrix("x")}, context); }) ==
        "sums: 1 input(s), where the model has 2");
  CHECK_THAT(message<ct::TypeError>([&] { model.call({ct::matrix("x"), ct::vector("v")}, context); }),
             contains("sums: takes a batch of (2,), but v is f32[?]"));
  CHECK_THROWS_AS(model.call({ct::matrix("x"), input({3})}, context), ct::Error);
  CHECK(message<ct::TypeError>([&] { model.layer(); }) == "sums: a model of 2 outputs is not a layer");
  CHECK_THAT(message([&] { nn::Model(a, nn::ReLU()(a), "m")(nn::Input({3})); }),
             contains("m (Model): takes (2,), but (3,)"));
  CHECK(numbers(values(nn::Model(a, a), {Array{{1.f, 2.f}}})[0]) == Numbers{1, 2});
  CHECK(message([&] { nn::Model({a, b, a}, {y}, "m"); }) == "m: the same input twice");
}

TEST_CASE("an input that no output needs is taken and left alone", "[nn]") {
  const nn::Tensor a = nn::Input({2}), b = nn::Input({3});
  nn::Model model({a, b}, {nn::Dense(1, {.kernel_initializer = "ones"})(a)});
  const Array x{{1.f, 2.f}}, rest = Array::zeros(DType::float32, {1, 3});
  CHECK(numbers(model.predict({x, rest}).at(0)) == Numbers{3});
  model.compile({.loss = "mse"});
  model.fit({x, rest}, {Array{{3.f}}}, {.verbose = nn::Verbose::silent});
  CHECK(model.evaluate({x, rest}, {Array{{3.f}}})["loss"] < 1e-3);
}

TEST_CASE("errors of learning name layers and the lines that made them, and nothing else", "[nn]") {
  const auto line = [](int number) { return "test_nn_models.cpp:" + std::to_string(number) + ")"; };
  const int made = __LINE__ + 1;
  nn::Sequential model{nn::Dense(4, {.input_shape = {3}, .name = "first"}),
                       nn::Dense(2, {.activation = "softmax", .name = "last"})};
  model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = "adam"});
  const auto refusal = [&](const Sizes& x, const Array& y) {
    return message<ct::Error>([&] { model.fit(Array::zeros(DType::float32, x), y, {.verbose = nn::Verbose::silent}); });
  };
  CHECK(refusal({2, 5}, Array{0, 1}) ==
        "input is f32[?, 3] (first, " + line(made) + " was given f32[2, 5]: axis 1 must have size 3");
  const std::string given = "input is f32[2, 3] (first, " + line(made) + ", y is i32[2] (" + line(made + 1);
  const std::string label = refusal({2, 3}, Array{0, 2});
  INFO(label);
  CHECK_THAT(label, contains("a target of 2 is not a class"));
  CHECK_THAT(label, contains("(last, " + line(made + 1) + "; " + given));
  const std::string width = refusal({2, 3}, Array{{0, 1}, {0, 1}});
  INFO(width);
  CHECK_THAT(width, contains("an axis that another lacks has size 1: 1 is not 2 (last, " + line(made + 1)));
  for (const std::string& text : {label, width}) {
    for (const char* other : {"adam", "kernel", "bias", "layer.cpp", "model.cpp", "fit.cpp", "training.cpp"})
      CHECK_THAT(text, !contains(other));
  }
}

TEST_CASE("sums, differences and products of tensors", "[nn]") {
  const nn::Tensor a = nn::Input({2}), b = nn::Input({2});
  nn::Model model({a, b}, {a + b, a - b, a * b});
  const std::vector<Array> results = model.predict({Array{{1.f, 2.f}}, Array{{3.f, 5.f}}});
  CHECK(numbers(results[0]) == Numbers{4, 7});
  CHECK(numbers(results[1]) == Numbers{-2, -3});
  CHECK(numbers(results[2]) == Numbers{3, 10});
}

TEST_CASE("a Sequential may begin with an Input", "[nn]") {
  nn::Sequential model{nn::Input({3}, {.name = "pixels"}), nn::Dense(4), nn::Dense(2)};
  CHECK(model.input_shapes() == std::vector<nn::Shape>{{3}});
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{2}});
  CHECK(model.count_params() == 3 * 4 + 4 + 4 * 2 + 2);
  CHECK(model.layers().size() == 2);
  CHECK_THAT(message([&] { model.add(nn::Input({2})); }), contains("must come before all layers"));
  CHECK_THROWS_AS(nn::Sequential{nn::ReLU()(nn::Input({3}))}, ct::TypeError);
}

TEST_CASE("the state of random numbers is no parameter", "[nn]") {
  const TemporaryFolder folder;
  const auto net = [](bool drops) {
    nn::Sequential model{nn::Dense(4, {.input_shape = {3}})};
    if (drops) model.add(nn::Dropout(0.5));
    model.add(nn::Dense(2));
    return model;
  };
  const nn::Sequential dropping = net(true), plain = net(false);
  CHECK(dropping.count_params() == plain.count_params());
  CHECK(dropping.layers()[1].count_params() == 0);
  CHECK(dropping.get_weights().size() == 4);
  const std::string kind = GENERATE(std::string("safetensors"), "npz");
  const std::filesystem::path file = folder / ("weights." + kind), old = folder / ("old." + kind);
  dropping.save_weights(file);
  plain.load_weights(file);
  CHECK(equal(plain.get_weights(), dropping.get_weights()));
  // Files from the time when it was one layer are still readable.
  ct::io::NamedArrays arrays = kind == "npz" ? ct::io::load_npz(file) : ct::io::load_safetensors(file).arrays;
  arrays.emplace_back("dropout/state", Array(std::vector<std::uint64_t>{7, 9}));
  kind == "npz" ? ct::io::save_npz(old, arrays) : ct::io::save_safetensors(old, arrays);
  plain.load_weights(old);
  dropping.load_weights(old);
}

TEST_CASE("a model may be deep", "[nn]") {
  const nn::ReLU layer;
  const nn::Tensor x = nn::Input({2});
  nn::Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = layer(y);
  CHECK(nn::Model(x, y).layers() == std::vector<nn::Layer>{layer});
}

// ---- names ----

TEST_CASE("layers have names of their own in each model", "[nn]") {
  const auto make = [] {
    return nn::Sequential{nn::Dense(2, {.input_shape = {2}}), nn::Dense(2), nn::Dense(2, {.name = "last"}),
                          nn::Dense(2, {.name = "dense"}), nn::BatchNormalization()};
  };
  const nn::Sequential model = make(), again = make();
  const std::vector<std::string> names = {"dense_1", "dense_2", "last", "dense", "batch_normalization"};
  for (const nn::Sequential& one : {model, again}) {
    CHECK(names_of(one, names) == names);
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(one.layer(names[i]) == one.layers()[i]);
  }
  CHECK(model.layer("dense") != again.layer("dense"));
  CHECK(message([&] { model.layer("first"); }) ==
        "sequential: no layer is named first; there are dense_1, dense_2, last, dense, batch_normalization");
  const nn::Dense one(2, {.input_shape = {2}, .name = "same"}), two(2, {.name = "same"});
  CHECK(message([&] { nn::Sequential({one, two}, "twins"); }) == "twins: two layers are named same");
  CHECK_NOTHROW(nn::Sequential({one, one}));
  const nn::Tensor x = nn::Input({2});
  CHECK_THROWS_AS(nn::Model(x, two(one(x))), ct::ValueError);
}

// ---- summaries ----

TEST_CASE("the summary of a chain", "[nn]") {
  const nn::Sequential model({nn::Dense(128, {.activation = "relu", .input_shape = {784}}), nn::Dropout(0.25),
                              nn::BatchNormalization(), nn::Dense(10, {.name = "classes"})},
                             "digits");
  CHECK(model.summary() == R"(Model: digits
------------------------------------------------------------------
Layer (type)                              Output shape  Parameters
==================================================================
dense (Dense)                             (?, 128)         100,480
dropout (Dropout)                         (?, 128)               0
batch_normalization (BatchNormalization)  (?, 128)             512
classes (Dense)                           (?, 10)            1,290
------------------------------------------------------------------
Parameters: 102,282 (399.54 KiB), 102,026 trained, 256 not
)");
}

TEST_CASE("the summary of a graph", "[nn]") {
  const nn::Tensor text = nn::Input({nn::any_size}, {.name = "text", .dtype = DType::int64});
  const nn::Tensor other = nn::Input({nn::any_size}, {.name = "other", .dtype = DType::int64});
  const nn::Embedding rows(100, 8);
  const nn::Sequential reader({nn::LSTM(4, {.input_shape = {nn::any_size, 8}})}, "reader");
  reader.layer().set_trainable(false);
  const nn::Tensor joined = nn::concatenate({reader(rows(text)), reader(rows(other))});
  const nn::Model model({text, other}, {nn::Dense(1)(joined)});
  CHECK(model.summary() == R"(Model: model
-------------------------------------------------------------------
Layer (type)               Output shape  Parameters  Connected to
===================================================================
text (Input)               (?, ?)                 0
other (Input)              (?, ?)                 0
embedding (Embedding)      (?, ?, 8)            800  text
reader (Sequential)        (?, 4)               208  embedding
embedding (Embedding)      (?, ?, 8)         shared  other
reader (Sequential)        (?, 4)            shared  embedding
concatenate (Concatenate)  (?, 8)                 0  reader, reader
dense (Dense)              (?, 1)                 9  concatenate
-------------------------------------------------------------------
Parameters: 1,017 (3.97 KiB), 809 trained, 208 not
)");
}

TEST_CASE("the summary of a model that begins inside of another one", "[nn]") {
  const nn::Tensor x = nn::Input({3});
  const nn::Tensor inside = nn::Dense(2)(x);
  CHECK(nn::Model(inside, nn::add({inside, nn::ReLU()(inside)})).summary() == R"(Model: model
-----------------------------------------------------
Layer (type)   Output shape  Parameters  Connected to
=====================================================
input (Input)  (?, 2)                 0
re_lu (ReLU)   (?, 2)                 0  input
add (Add)      (?, 2)                 0  input, re_lu
-----------------------------------------------------
Parameters: 0 (0 B), 0 trained, 0 not
)");
}

// ---- weights ----

TEST_CASE("weights are set all at once or not at all", "[nn]") {
  const nn::Sequential model({nn::Dense(2, {.input_shape = {3}}), nn::Dense(1)}, "m");
  count_weights(model);
  const std::vector<Array> before = model.get_weights();
  CHECK(numbers(before[1]) == Numbers{2, 2 + 1. / 64});
  const auto refused = [&](std::vector<Array> values) {
    const std::string text = message<ct::Error>([&] { model.set_weights(values); });
    CHECK(equal(model.get_weights(), before));
    return text;
  };
  std::vector<Array> other;
  for (const Array& array : before) other.push_back(Array::full(DType::float32, array.shape(), 7));
  CHECK(refused({other[0]}) == "m: 1 arrays for 4 weights");
  std::vector<Array> wrong = other;
  wrong[2] = Array{{1.f, 2.f}};
  CHECK(refused(wrong) == "dense_1/kernel has the shape (2, 1), but (1, 2) is given");
  wrong[2] = Array{{1}, {2}};
  CHECK(refused(wrong) == "dense_1/kernel is float32, but int32 is given");
  // Floats of another size are converted; given arrays are copied.
  other[3] = other[3].astype(DType::float64);
  model.set_weights(other);
  other[0].data<float>()[0] = 1;
  for (const Array& array : model.get_weights()) {
    CHECK(all_are(array, 7));
    CHECK(array.dtype() == DType::float32);
  }
  // The weights that are returned are copies too.
  model.get_weights()[0].data<float>()[0] = 1;
  CHECK(all_are(model.get_weights()[0], 7));
}

namespace {

/// A model with all kinds of weights: nested ones, some that are not trained, states of random numbers.
nn::Model large_model(std::int64_t units = 3) {
  const nn::Tensor text = nn::Input({4}, {.dtype = DType::int64}), image = nn::Input({6, 6, 1});
  const nn::Tensor read = nn::Bidirectional(
      [units](const nn::RecurrentOptions& options) { return nn::GRU(units, options); }, {})(nn::Embedding(9, 2)(text));
  const nn::Tensor seen = nn::Flatten()(nn::BatchNormalization()(nn::Conv2D(2, 3)(image)));
  const nn::Sequential head{nn::Dense(3, {.input_shape = {2 * units + 32}}), nn::Dropout(0.5), nn::Dense(1)};
  return nn::Model({text, image}, {head(nn::concatenate({read, seen}))});
}

}  // namespace

TEST_CASE("weights in files, under names that another model has too", "[nn]") {
  const TemporaryFolder folder;
  const std::string kind = GENERATE(std::string("safetensors"), "npz");
  CAPTURE(kind);
  const std::filesystem::path file = folder / ("weights." + kind);
  const nn::Model model = large_model(), other = large_model(), large = large_model(4);
  count_weights(model);
  model.save_weights(file);
  std::vector<std::string> names;
  for (const auto& [name, array] : kind == "npz" ? ct::io::load_npz(file) : ct::io::load_safetensors(file).arrays)
    names.push_back(name);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{
                     "batch_normalization/beta", "batch_normalization/gamma", "batch_normalization/moving_mean",
                     "batch_normalization/moving_variance", "bidirectional/backward_bidirectional/bias",
                     "bidirectional/backward_bidirectional/kernel",
                     "bidirectional/backward_bidirectional/recurrent_kernel",
                     "bidirectional/forward_bidirectional/bias", "bidirectional/forward_bidirectional/kernel",
                     "bidirectional/forward_bidirectional/recurrent_kernel", "conv2d/bias", "conv2d/kernel",
                     "embedding/embeddings", "sequential/dense/bias", "sequential/dense/kernel",
                     "sequential/dense_1/bias", "sequential/dense_1/kernel"});
  CHECK_FALSE(equal(other.get_weights(), model.get_weights()));
  other.load_weights(file);
  CHECK(equal(other.get_weights(), model.get_weights()));
  const std::vector<Array> before = large.get_weights();
  CHECK(message<ct::ShapeError>([&] { large.load_weights(file); }) ==
        "bidirectional/forward_bidirectional/kernel has the shape (2, 12), but (2, 9) is given");
  CHECK(equal(large.get_weights(), before));
}

TEST_CASE("weights of layers inside of others have names that do not depend on what was made before", "[nn]") {
  const TemporaryFolder folder;
  const auto make = [] { return nn::Sequential{nn::TimeDistributed(nn::Dense(2), {3, 4}), nn::PReLU()}; };
  const nn::Sequential model = make(), other = make();
  CHECK(shapes_of(model.get_weights()) == std::vector<Sizes>{{4, 2}, {2}, {3, 2}});
  count_weights(model);
  model.save_weights(folder / "inside.safetensors");
  std::vector<std::string> names;
  for (const auto& [name, array] : ct::io::load_safetensors(folder / "inside.safetensors").arrays)
    names.push_back(name);
  std::ranges::sort(names);
  CHECK(names ==
        std::vector<std::string>{"p_re_lu/alpha", "time_distributed/dense/bias", "time_distributed/dense/kernel"});
  other.load_weights(folder / "inside.safetensors");
  CHECK(equal(other.get_weights(), model.get_weights()));
}

TEST_CASE("weights whose names begin like those of a checkpoint", "[nn]") {
  const TemporaryFolder folder;
  const std::string kind = GENERATE(std::string("safetensors"), "npz");
  const auto make = [] {
    const nn::Tensor x = nn::Input({2}), y = nn::Input({2});
    return nn::Model(x, nn::Dense(1)(nn::Model(y, nn::Dense(3)(y))(x)));
  };
  const nn::Model model = make(), other = make();
  model.save_weights(folder / ("weights." + kind));
  other.load_weights(folder / ("weights." + kind));
  CHECK(equal(other.get_weights(), model.get_weights()));
}

TEST_CASE("files that do not fit change nothing", "[nn]") {
  const TemporaryFolder folder;
  const nn::Sequential model({nn::Dense(2, {.input_shape = {3}}), nn::Dense(1, {.name = "last"})});
  count_weights(model);
  const std::vector<Array> before = model.get_weights();
  const Array kernel = Array::zeros(DType::float32, {3, 2}), bias = Array::zeros(DType::float32, {2}),
              last = Array::zeros(DType::float32, {2, 1}), end = Array::zeros(DType::float32, {1});
  const ct::io::NamedArrays fitting = {
      {"dense/kernel", kernel}, {"dense/bias", bias}, {"last/kernel", last}, {"last/bias", end}};
  const std::filesystem::path file = folder / "weights.safetensors";
  const auto refused = [&](const ct::io::NamedArrays& arrays) {
    ct::io::save_safetensors(file, arrays);
    const std::string text = message<ct::Error>([&] { model.load_weights(file); });
    CHECK(equal(model.get_weights(), before));
    return text;
  };
  ct::io::NamedArrays arrays = fitting;
  arrays.pop_back();
  const std::string unfit = file.string() + " does not fit the model";
  CHECK(refused(arrays) == unfit + ": it has no last/bias");
  arrays.emplace_back("more", end);
  CHECK(refused(arrays) == unfit + ": it has no last/bias; it has more, which the model does not have");
  arrays = fitting;
  arrays.emplace_back("more", end);
  arrays.emplace_back("most", end);
  CHECK(refused(arrays) == unfit + ": it has more, most, which the model does not have");
  arrays = fitting;
  arrays[2].second = Array::zeros(DType::float32, {1, 2});
  CHECK(refused(arrays) == "last/kernel has the shape (2, 1), but (1, 2) is given");
  arrays[2].second = Array::zeros(DType::int64, {2, 1});
  CHECK(refused(arrays) == "last/kernel is float32, but int64 is given");
  CHECK_THROWS_AS(model.load_weights(folder / "none.safetensors"), ct::FileError);
  CHECK_THROWS_AS(model.load_weights(folder / "none.npz"), ct::FileError);
  croton::test::put_file(file, "no weights");
  CHECK_THROWS_AS(model.load_weights(file), ct::FileError);
  CHECK_THROWS_AS(model.save_weights(folder / "none" / "weights.npz"), ct::FileError);
  CHECK(equal(model.get_weights(), before));
  ct::io::save_safetensors(file, fitting);
  model.load_weights(file);
  for (const Array& array : model.get_weights()) CHECK(all_are(array, 0));
}

TEST_CASE("weights are loaded from a checkpoint, which fits another model of the same layers", "[nn]") {
  const TemporaryFolder folder;
  const auto make = [] {
    nn::Sequential model{nn::Dense(2, {.input_shape = {3}}), nn::Dense(1)};
    model.compile({.loss = "mse", .optimizer = "adam"});
    return model;
  };
  nn::Sequential model = make(), other = make(), third = make();
  const Array x = Array::uniform(DType::float32, {4, 3}, 1), y = Array::uniform(DType::float32, {4, 1}, 2);
  model.train_on_batch({{x}, {y}});
  model.save_checkpoint(folder / "checkpoint.safetensors");
  other.load_weights(folder / "checkpoint.safetensors");
  CHECK(equal(other.get_weights(), model.get_weights()));
  third.load_checkpoint(folder / "checkpoint.safetensors");
  model.train_on_batch({{x}, {y}});
  third.train_on_batch({{x}, {y}});
  CHECK(equal(third.get_weights(), model.get_weights()));
  other.train_on_batch({{x}, {y}});
  CHECK_FALSE(equal(other.get_weights(), model.get_weights()));  // its optimizer starts again
}

// ---- sequences of layers ----

TEST_CASE("a Sequential that waits for its data", "[nn]") {
  nn::Sequential model({nn::Dense(4), nn::Dropout(0.5)}, "waiting");
  model.add(nn::Dense(2));
  CHECK(model.layers().size() == 3);
  CHECK(model.weights().empty());
  CHECK(model.count_params() == 0);
  const std::string waits =
      "waiting: a Sequential whose first layer has no input_shape is built when it first sees data; give the first "
      "layer an input_shape, or call fit or predict first";
  CHECK(model.summary() == "Model: waiting, which is built when it first sees data\n" + model.layers()[0].name() +
                               " (Dense)\n" + model.layers()[1].name() + " (Dropout)\n" + model.layers()[2].name() +
                               " (Dense)\n");
  CHECK(message([&] { model.layer(); }) == waits);
  CHECK(message([&] { model.save_weights("none.npz"); }) == waits);
  CHECK_THROWS_AS(model.set_weights({Array{1.f}}), ct::ValueError);
  CHECK(model.predict(Array::zeros(DType::float32, {5, 3})).shape() == Sizes{5, 2});
  CHECK(model.input_shapes() == std::vector<nn::Shape>{{3}});
  CHECK(model.count_params() == 3 * 4 + 4 + 4 * 2 + 2);
  CHECK(model.layer("dense_1") == model.layers()[2]);
  model.add(nn::Dense(1));
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{1}});
  CHECK(model.predict(Array::zeros(DType::float32, {5, 3})).shape() == Sizes{5, 1});
}

TEST_CASE("a layer that does not fit leaves a Sequential as it was", "[nn]") {
  nn::Sequential model{nn::Dense(4, {.input_shape = {3}, .name = "first"})};
  CHECK_THROWS_AS(model.add(nn::LSTM(2)), ct::ShapeError);
  CHECK_THROWS_AS(model.add(nn::Dense(4, {.name = "first"})), ct::ValueError);
  CHECK_THROWS_AS(model.add(nn::Add()), ct::TypeError);
  CHECK(model.layers().size() == 1);
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{4}});
  model.add(nn::Dense(2));
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{2}});
  CHECK(model.layers().size() == 2);
  nn::Sequential waiting{nn::Dense(4), nn::LSTM(2)};
  const Array x = Array::zeros(DType::float32, {5, 3});
  CHECK_THROWS_AS(waiting.predict(x), ct::ShapeError);
  CHECK(waiting.weights().empty());
  nn::Sequential empty;
  CHECK_THROWS_AS(empty.predict(x), ct::ValueError);
  empty.add(nn::Dense(2));
  CHECK(empty.predict(x).shape() == Sizes{5, 2});
}

TEST_CASE("a compiled Sequential takes no more layers", "[nn]") {
  nn::Sequential model({nn::Dense(4, {.input_shape = {3}})}, "m");
  model.compile({.loss = "mse"});
  CHECK(message([&] { model.add(nn::Dense(1)); }) == "m: a layer is added after compile");
}

// ---- user-defined layers ----

namespace {

/// x scale + shift, each of them a scalar or one per feature.
class Scale : public nn::LayerDefinition {
 public:
  Scale(bool each, const std::string& name) : LayerDefinition("Scale", name), each_(each) {}
  nn::Shape output_shape(const std::vector<nn::Shape>& inputs) const override {
    if (inputs[0].empty()) fail("takes features");
    return inputs[0];
  }
  void make_weights(const std::vector<nn::Shape>& inputs) override {
    const Sizes shape = each_ ? Sizes{inputs[0].back()} : Sizes{};
    scale_ = add_weight("scale", shape, {.initializer = "ones", .regularizer = "l2"});
    calls_ = add_weight("calls", {}, {.initializer = "zeros", .trainable = false, .dtype = DType::int64});
  }
  nn::Flow call(const std::vector<nn::Flow>& inputs, nn::CallContext& context) override {
    if (context.training) context.updates.emplace_back(calls_, calls_ + ct::constant(Array(std::int64_t{1})));
    return {inputs[0].value * value_of(scale_), inputs[0].mask};
  }

 private:
  bool each_;
  ct::SharedVariable scale_, calls_;
};

/// Two layers and a product of two inputs, in one layer.
class Gate : public nn::LayerDefinition {
 public:
  explicit Gate(std::int64_t units, const std::string& name = "")
      : LayerDefinition("Gate", name), value_(units), gate_(units, {.activation = "sigmoid", .name = "gate"}) {}
  std::pair<std::size_t, std::size_t> arity() const override { return {2, 2}; }
  nn::Shape output_shape(const std::vector<nn::Shape>& inputs) const override {
    return value_.definition().output_shape({inputs[0]});
  }
  void make_weights(const std::vector<nn::Shape>& inputs) override {
    value_.build({inputs[0]});
    gate_.build({inputs[1]});
  }
  std::vector<nn::Layer> inner() const override { return {value_, gate_}; }
  nn::Flow call(const std::vector<nn::Flow>& inputs, nn::CallContext& context) override {
    return {value_(inputs[0].value, context) * gate_(inputs[1].value, context)};
  }

 private:
  nn::Dense value_, gate_;
};

}  // namespace

TEST_CASE("layers of one's own", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  const nn::Layer scale = nn::make_layer<Scale>(true, ""), gate = nn::make_layer<Gate>(2);
  const nn::Tensor x = nn::Input({3}), y = nn::Input({1});
  const nn::Model model({x, y}, {gate({scale(x), y})});
  CHECK(names_of(model, {"scale", "gate"}) == std::vector<std::string>{"scale", "gate"});
  CHECK(model.count_params() == 3 + 1 + 8 + 4);
  CHECK(model.trainable_variables().size() == 5);
  CHECK(scale.non_trainable_weights().size() == 1);
  const TemporaryFolder folder;
  model.save_weights(folder / "own.safetensors");
  std::vector<std::string> names;
  for (const auto& [name, array] : ct::io::load_safetensors(folder / "own.safetensors").arrays) names.push_back(name);
  CHECK(names == std::vector<std::string>{"scale/scale", "scale/calls", "gate/dense/kernel", "gate/dense/bias",
                                          "gate/gate/kernel", "gate/gate/bias"});
  model.set_weights({Array{1.f, 2.f, 3.f}, Array(std::int64_t{4}), Array{{1.f, 0.f}, {1.f, 0.f}, {1.f, 1.f}},
                     Array{0.f, 1.f}, Array{{0.f, 0.f}}, Array{0.f, 0.f}});
  nn::CallContext training{.training = true};
  const Variable a = input({3}), b = input({1});
  const std::vector<Variable> outputs = model.call({a, b}, training);
  const ct::Function f = ct::function({a, b}, outputs, {.updates = training.updates});
  const Array ones = Array{{1.f, 1.f, 1.f}}, zero = Array{{0.f}};
  CHECK(numbers(f(ones, zero)[0].to_host()) == Numbers{3, 2});
  CHECK(numbers(model.get_weights()[1]) == Numbers{5});
  gate.set_trainable(false);
  CHECK(model.trainable_variables() == scale.trainable_weights());
  CHECK_THAT(message<ct::ShapeError>([] { nn::make_layer<Scale>(true, "s")(nn::Input({})); }),
             contains(": s (Scale): takes features"));
  CHECK(nn::make_layer<Scale>(false, "").definition().all_weights().empty());
}

TEST_CASE("functions as layers", "[nn]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags scope(mode);
  const nn::Lambda halves([](const Variable& x) { return x / 2; });
  const nn::Lambda pairs([](const Variable& x) { return ct::concatenate(std::vector<Variable>{x, -x}, 1); },
                         [](const nn::Shape& shape) { return nn::Shape{2 * shape[0]}; }, "pairs");
  const nn::Sequential model{nn::Dense(1, {.kernel_initializer = "ones", .input_shape = {2}}), halves, pairs};
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{2}});
  CHECK(model.layer("pairs") == pairs);
  CHECK(model.layer("lambda") == halves);
  CHECK(pairs.count_params() == 0);
  CHECK(numbers(values(model, {Array{{1.f, 3.f}}})[0]) == Numbers{2, -2});
  const nn::Lambda sums([](const Variable& x) { return ct::sum(x, ct::ReduceOptions(-1)); }, {}, "sums");
  CHECK_THAT(message<ct::ShapeError>([&] { sums(input({3})); }),
             contains("sums (Lambda): returns ") && contains("where its shape without the batch must be (3,)"));
}
