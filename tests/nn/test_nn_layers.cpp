// Layers against Keras's numbers (keras_layers.hpp), plain loops, and their specification: sizes, weights, gradients,
// masks, random numbers, empty batches, and rejected arguments.
#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include "backends.hpp"
#include "catch.hpp"
#include "nn/keras_layers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace ct = croton;
using namespace croton_test;
using ct::Variable;

namespace {

// ---- functions ----

/// The values of outputs, computed and compiled under the flags.
std::vector<Array> run(const std::string& flags, const std::vector<ct::Binding>& inputs,
                       const std::vector<Variable>& outputs, const nn::Updates& updates = {}) {
  const ct::change_flags scope(flags);
  std::vector<ct::In> variables;
  std::vector<ct::Argument> values;
  for (const ct::Binding& input : inputs) {
    variables.emplace_back(input.first);
    values.emplace_back(input.second);
  }
  const ct::Function f =
      ct::function(variables, outputs, {.updates = updates, .on_unused_input = ct::UnusedInput::ignore});
  std::vector<Array> results;
  for (const Array& result : f.call(values)) results.push_back(result.to_host());
  return results;
}

Variable input(const Sizes& shape, std::optional<DType> dtype = {}) {
  Sizes sizes = shape;
  sizes.front() = ct::unknown_size;
  return ct::variable({dtype.value_or(ct::scalar().dtype()), sizes}, "x");
}

/// Sizes after the batch.
nn::Shape axes_after_batch(const Sizes& shape) { return {shape.begin() + 1, shape.end()}; }

/// The states of random numbers.
std::vector<ct::SharedVariable> states_of(const nn::Layer& layer) {
  std::vector<ct::SharedVariable> all;
  for (const nn::LayerDefinition::Weight& state : layer.definition().all_states()) all.push_back(state.variable);
  for (const nn::Layer& inner : layer.definition().inner()) {
    for (const ct::SharedVariable& state : states_of(inner)) all.push_back(state);
  }
  return all;
}

/// Weights.
std::vector<nn::LayerDefinition::Weight> numbers_of(const nn::Layer& layer) {
  std::vector<nn::LayerDefinition::Weight> all;
  for (const nn::LayerDefinition::Weight& weight : layer.definition().all_weights()) {
    all.push_back(weight);
  }
  for (const nn::Layer& inner : layer.definition().inner()) {
    for (const nn::LayerDefinition::Weight& weight : numbers_of(inner)) all.push_back(weight);
  }
  return all;
}

/// "kernel (3, 2), bias (2,)".
std::string weights_text(const nn::Layer& layer) {
  std::string text;
  for (const nn::LayerDefinition::Weight& weight : numbers_of(layer))
    text += (text.empty() ? "" : ", ") + weight.name + " " + nn::to_string(weight.shape);
  return text;
}

void fill(const nn::Layer& layer) {
  std::int64_t k = 0;
  for (nn::LayerDefinition::Weight& weight : numbers_of(layer)) {
    const double more = weight.name == "moving_variance" ? 1 : 0;
    const Array values = weight_values(weight.shape, k++);
    weight.variable.set_value(
        made(weight.shape, [&](std::int64_t i) { return values.as_double(i) + more; }).astype(weight.variable.dtype()));
  }
}

void check_close(const Array& got, const Numbers& wanted, double tolerance = 1e-5) {
  REQUIRE(got.size() == static_cast<std::int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("number " << i << " of " << got.to_string());
    CHECK(got.as_double(static_cast<std::int64_t>(i)) == Approx(wanted[i]).epsilon(tolerance).margin(tolerance));
  }
}

// ---- Keras's numbers ----

/// Back-ends; the reference evaluator has weights of float64.
std::vector<std::string> settings() {
  std::vector<std::string> all = backends();
  std::ranges::replace(all, "mode=reference", "mode=reference,floatX=float64");
  return all;
}

/// All layers in one function, which is compiled once.
void check_all(const std::function<std::vector<Case>()>& make, bool training = false) {
  const std::string flags = GENERATE(from_range(settings()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const std::vector<Case> cases = make();
  std::vector<ct::Binding> bindings;
  std::vector<Variable> outputs;
  std::vector<std::size_t> counts;
  for (const Case& c : cases) {
    INFO(c.keras);
    const DType dtype = c.layer.definition().input_dtype();
    std::vector<nn::Tensor> tensors;
    std::vector<Variable> inputs, wrt;
    for (const Sizes& shape : c.inputs) {
      const std::int64_t j = static_cast<std::int64_t>(tensors.size());
      tensors.push_back(nn::Input(axes_after_batch(shape), {.dtype = dtype}));
      inputs.push_back(input(shape, dtype));
      bindings.emplace_back(inputs.back(), ct::is_float(dtype) ? sample(shape, j).astype(dtype) : positions(shape));
      if (ct::is_float(dtype)) wrt.push_back(inputs.back());
    }
    const nn::Tensor result = c.layer(tensors);
    Sizes shape{c.inputs[0][0]};
    shape.insert(shape.end(), result.shape().begin(), result.shape().end());
    CHECK(nn::to_string(shape) == c.output);
    CHECK(weights_text(c.layer) == c.weights);
    fill(c.layer);
    for (const ct::SharedVariable& weight : c.layer.trainable_weights()) wrt.push_back(weight);
    nn::CallContext context{.training = training};
    const Variable y = nn::Model(tensors, {result}).call(inputs, context).at(0);
    CHECK(y.dtype() == ct::scalar().dtype());
    CHECK(result.dtype() == y.dtype());
    const std::size_t before = outputs.size();
    outputs.push_back(y);
    for (const Variable& g : ct::grad(ct::sum(y * ct::constant(factors(shape).astype(y.dtype()))), wrt))
      outputs.push_back(g);
    for (const auto& [variable, value] : context.updates) outputs.push_back(value);
    counts.push_back(outputs.size() - before);
  }
  const std::vector<Array> results = run(flags, bindings, outputs);
  const double tolerance = ct::scalar().dtype() == DType::float64 ? 2e-7 : 1e-5;
  for (std::size_t i = 0, at = 0; i < cases.size(); at += counts[i++]) {
    INFO(cases[i].keras);
    CHECK(nn::to_string(results[at].shape()) == cases[i].output);
    Numbers got{results[at].as_double(0)};
    for (std::size_t k = 0; k < counts[i]; ++k) got.push_back(digest(results[at + k]));
    check_close(Array(got), cases[i].numbers, tolerance);
  }
}

}  // namespace

TEST_CASE("Dense, embeddings, merging, and layers that move elements are Keras's", "[nn]") { check_all(elements); }
TEST_CASE("convolutions are Keras's", "[nn]") { check_all(convolutions); }
TEST_CASE("pooling, padding and larger images are Keras's", "[nn]") { check_all(pools); }
TEST_CASE("normalisation outside training is Keras's", "[nn]") { check_all(norms); }
TEST_CASE("normalisation in training is Keras's", "[nn]") { check_all(norms_in_training, true); }
TEST_CASE("recurrent layers are Keras's", "[nn]") { check_all(recurrent); }
TEST_CASE("masks flow as in Keras", "[nn]") { check_all(masked); }

// ---- gradients at ties ----

TEST_CASE("of equal elements in a window the first has the gradient", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  struct Tie {
    nn::Layer layer;
    Sizes shape;
    Numbers gradient;  // of the first image, with outputs 1, 2, ...
  };
  const std::vector<Tie> ties = {
      {nn::MaxPooling1D(2), {1, 4, 1}, {1, 0, 2, 0}},
      {nn::MaxPooling1D(3, {.strides = {1}, .padding = "same"}), {1, 3, 1}, {3, 3, 0}},
      {nn::MaxPooling2D(), {2, 2, 4, 1}, {1, 0, 2, 0, 0, 0, 0, 0}},
      {nn::MaxPooling2D({2}, {.layout = first}), {2, 1, 2, 4}, {1, 0, 2, 0, 0, 0, 0, 0}},
      {nn::GlobalMaxPooling1D(), {2, 3, 2}, {1, 2, 0, 0, 0, 0}},
      {nn::GlobalMaxPooling1D(first), {2, 2, 3}, {1, 0, 0, 2, 0, 0}},
      {nn::GlobalMaxPooling2D(), {2, 2, 2, 2}, {1, 2, 0, 0, 0, 0, 0, 0}},
      {nn::GlobalMaxPooling2D(first), {2, 2, 2, 2}, {1, 0, 0, 0, 2, 0, 0, 0}},
      {nn::GlobalMaxPooling(), {1, 1, 2, 2, 1}, {1, 0, 0, 0}},
      {nn::MaxPooling3D(), {1, 2, 2, 2, 1}, {1, 0, 0, 0, 0, 0, 0, 0}},
      {nn::PReLU(), {1, 3}, {0, 0, 0}},
      {nn::LeakyReLU(0.5), {1, 3}, {0.5, 1, 1.5}},
      {nn::ReLU({.negative_slope = 0.5}), {1, 3}, {0.5, 1, 1.5}},
      {nn::ReLU(), {1, 3}, {0, 0, 0}},
  };
  std::vector<ct::Binding> bindings;
  std::vector<Variable> outputs;
  for (const Tie& tie : ties) {
    bindings.emplace_back(input(tie.shape), Array::zeros(DType::float32, tie.shape));
    const Variable y = tie.layer(bindings.back().first);
    const std::vector<Variable> sizes = y[0].shape();  // each image has the values 1, 2, ...
    const Variable counts = ct::reshape(ct::arange(y[0].size()) + 1, {sizes.begin(), sizes.end()});
    outputs.push_back(ct::grad(ct::sum(y * ct::cast(counts, y.dtype())), bindings.back().first)[0]);
  }
  const std::vector<Array> results = run(flags, bindings, outputs);
  for (std::size_t i = 0; i < ties.size(); ++i) {
    INFO(ties[i].layer.type() << " of " << nn::to_string(ties[i].shape));
    check_close(results[i].reshape({-1}), ties[i].gradient, 0);
  }
}

TEST_CASE("the first maximum of all is found wherever it is", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const Variable x = input({2, 3, 2, 2});
  // The largest of a channel occurs twice: at (row, column) and at (2, 1), the last position.
  Array values = Array::zeros(DType::float32, {2, 3, 2, 2});
  const std::vector<std::array<std::int64_t, 4>> places = {{0, 0, 1, 0}, {0, 2, 0, 1}, {1, 1, 0, 0}, {1, 2, 1, 1}};
  for (const auto& [b, row, column, c] : places) values.at<float>(b, row, column, c) = values.at<float>(b, 2, 1, c) = 4;
  const Array g = run(flags, {{x, values}}, {ct::grad(ct::sum(nn::GlobalMaxPooling2D()(x)), x)})[0];
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t column = 0; column < 2; ++column) {
        for (std::int64_t c = 0; c < 2; ++c) {
          CAPTURE(b, row, column, c);
          const std::array<std::int64_t, 4> here = {b, row, column, c};
          CHECK(g.at<float>(b, row, column, c) == (std::ranges::find(places, here) != places.end() ? 1 : 0));
        }
      }
    }
  }
}

// ---- batches ----

namespace {

/// One of each layer that has something that depends on the batch, with the sizes of a sample.
std::vector<std::pair<nn::Layer, nn::Shape>> all_kinds() {
  return {
      {nn::Dense(3, {.activation = "softmax"}), {4}},
      {nn::Conv1D(2, 3, {.padding = "causal"}), {5, 2}},
      {nn::Conv2D(2, 3, {.strides = {2}, .padding = "same", .activation = "relu"}), {5, 3, 2}},
      {nn::Conv3D(2, 2), {2, 3, 3, 1}},
      {nn::Conv2DTranspose(2, {3}, {.strides = {2}, .padding = "same"}), {2, 3, 2}},
      {nn::Conv1DTranspose(2, 3, {.strides = 2}), {4, 2}},
      {nn::Conv3DTranspose(2, 2), {2, 1, 2, 1}},
      {nn::DepthwiseConv1D(3), {5, 2}},
      {nn::DepthwiseConv2D({3}, 2), {3, 5, 2}},
      {nn::SeparableConv1D(3, 2, 2), {5, 2}},
      {nn::SeparableConv2D(3, 2, 1, {.padding = "same"}), {3, 4, 2}},
      {nn::MaxPooling2D({3}, {.padding = "same"}), {5, 4, 2}},
      {nn::AveragePooling3D(), {2, 3, 2, 1}},
      {nn::GlobalMaxPooling2D(), {3, 3, 2}},
      {nn::GlobalAveragePooling1D(), {3, 2}},
      {nn::BatchNormalization(), {3, 2}},
      {nn::LayerNormalization({.axes = {1, 2}}), {3, 2}},
      {nn::GroupNormalization(2), {3, 4}},
      {nn::InstanceNormalization(), {3, 2}},
      {nn::RMSNormalization(), {3, 2}},
      {nn::UnitNormalization(), {3, 2}},
      {nn::PReLU(), {3, 2}},
      {nn::ReLU({.max_value = 0.5, .negative_slope = 0.5}), {3}},
      {nn::Embedding(7, 2), {3}},
      {nn::Masking(), {3, 2}},
      {nn::Flatten(), {3, 2}},
      {nn::Flatten(), {}},
      {nn::Reshape({2, 3}), {3, 2}},
      {nn::Reshape({nn::any_size}), {3, 2}},
      {nn::Permute({2, 1}), {3, 2}},
      {nn::Lambda([](const Variable& x) { return ct::sum(x, ct::ReduceOptions(-1)); },
                  [](const nn::Shape& shape) { return nn::Shape{shape[0]}; }),
       {3, 2}},
      {nn::ZeroPadding2D(), {2, 3, 1}},
      {nn::Cropping1D({1, 0}), {3, 2}},
      {nn::UpSampling1D(), {3, 2}},
      {nn::RepeatVector(2), {3}},
      {nn::TimeDistributed(nn::Dense(2)), {3, 2}},
      {nn::TimeDistributed(nn::Conv1D(2, 2, {.activation = "relu"})), {2, 3, 2}},
      {nn::TimeDistributed(nn::Embedding(7, 2)), {2, 3}},
      {nn::GRU(3, {.use_bias = false}), {4, 2}},
      {nn::Bidirectional(lstm(2), {.return_sequences = true}), {4, 2}},
  };
}

}  // namespace

TEST_CASE("a batch of one sample, and one of none", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const auto kinds = all_kinds();
  std::vector<ct::In> inputs;
  std::vector<Variable> outputs;
  std::vector<std::size_t> begins;
  std::vector<Sizes> shapes;
  for (const auto& [layer, shape] : kinds) {
    Sizes sizes{3};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    shapes.push_back(sizes);
    const DType dtype = layer.definition().input_dtype();
    inputs.emplace_back(input(sizes, dtype));
    begins.push_back(outputs.size());
    outputs.push_back(layer(inputs.back().variable));
    fill(layer);
    std::vector<Variable> wrt;
    if (ct::is_float(dtype)) wrt.push_back(inputs.back().variable);
    for (const ct::SharedVariable& weight : layer.trainable_weights()) wrt.push_back(weight);
    for (const Variable& g : ct::grad(ct::sum(ct::sqr(outputs.back())), wrt)) outputs.push_back(g);
  }
  begins.push_back(outputs.size());
  const ct::Function f = ct::function(inputs, outputs);
  const auto call = [&](std::int64_t from, std::int64_t to) {
    std::vector<Array> values;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool whole = !ct::is_float(inputs[i].variable.dtype());
      const Array all = whole ? positions(shapes[i]) : sample(shapes[i]).astype(DType::float32);
      values.push_back(all.slice(0, from, to).copy());
    }
    std::vector<Array> results;
    for (const Array& result : f.call(std::vector<ct::Argument>(values.begin(), values.end())))
      results.push_back(result.to_host());
    return results;
  };
  const std::vector<Array> three = call(0, 3), one = call(1, 2), none = call(0, 0);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    INFO(kinds[i].first.type() << " of " << nn::to_string(kinds[i].second));
    Sizes shape = kinds[i].first.definition().output_shape({kinds[i].second});
    shape.insert(shape.begin(), 3);
    CHECK(three[begins[i]].shape() == shape);
    CHECK(one[begins[i]].all_close(three[begins[i]].slice(0, 1, 2), 1e-5, 1e-6));
    shape[0] = 0;
    CHECK(none[begins[i]].shape() == shape);
    for (std::size_t at = begins[i] + 1; at < begins[i + 1]; ++at) {
      CHECK(std::ranges::equal(none[at].shape(), three[at].shape()) ==
            (at > begins[i] + 1 || !ct::is_float(inputs[i].variable.dtype())));
      for (std::int64_t k = 0; k < none[at].size(); ++k) CHECK(none[at].as_double(k) == 0);
    }
  }
}

// ---- unknown sizes ----

TEST_CASE("sequences of any length", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const nn::Embedding rows(5, 3, {.mask_zero = true});
  const nn::LSTM last(2);
  const nn::GRU states(2, {.return_sequences = true});
  const nn::SimpleRNN backwards(2, {.go_backwards = true});
  const nn::Conv1D windows(2, 3, {.padding = "same"});
  const auto built = [&](std::int64_t steps) {
    const nn::Tensor x = nn::Input({steps}, {.dtype = DType::int32});
    const nn::Tensor row = rows(x), sequence = states(row);
    return nn::Model({x}, {last(row), nn::GlobalAveragePooling1D()(sequence), backwards(row),
                           nn::GlobalMaxPooling1D()(windows(row)), sequence, nn::Reshape({nn::any_size})(sequence)});
  };
  const nn::Model open = built(nn::any_size), fixed = built(4);
  for (const nn::Layer& layer : open.layers()) fill(layer);
  CHECK(open.output_shapes() == std::vector<nn::Shape>{{2}, {2}, {2}, {2}, {nn::any_size, 2}, {nn::any_size}});
  CHECK(fixed.output_shapes() == std::vector<nn::Shape>{{2}, {2}, {2}, {2}, {4, 2}, {8}});
  nn::CallContext context;
  const Variable x = ct::imatrix("x");
  const ct::Function f = ct::function({x}, open.call({x}, context)), g = ct::function({x}, fixed.call({x}, context));
  const Array texts{{1, 2, 3, 0}, {4, 0, 2, 3}};
  const Array longer{{1, 2, 3, 0, 0, 0}, {4, 0, 2, 3, 0, 0}};
  const ct::Outputs of_any = f(texts), of_four = g(texts), of_longer = f(longer);
  for (std::size_t i = 0; i < of_any.size(); ++i) {
    CAPTURE(i);
    CHECK(of_any[i].to_host().all_close(of_four[i].to_host(), 1e-5, 1e-6));
    // Padding changes nothing where masks are used.
    if (i < 3) CHECK(of_any[i].to_host().all_close(of_longer[i].to_host(), 1e-5, 1e-6));
  }
  CHECK(of_longer[5].shape() == Sizes{2, 12});
  CHECK(f(Array::zeros(DType::int32, {0, 3}))[5].shape() == Sizes{0, 6});
  CHECK_THROWS_AS(g(longer), ct::Error);
}

TEST_CASE("a sequence without steps has states, but no last one", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const Variable x = ct::variable({DType::float32, {ct::unknown_size, ct::unknown_size, 2}}, "x");
  const Array none = Array::zeros(DType::float32, {2, 0, 2});
  CHECK(run(flags, {{x, none}}, {nn::LSTM(3, {.return_sequences = true})(x)})[0].shape() == Sizes{2, 0, 3});
  CHECK_THROWS_AS(run(flags, {{x, none}}, {nn::GRU(3)(x)}), ct::IndexError);
}

// ---- masks ----

TEST_CASE("masks of sequences that are joined, reversed and averaged", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const nn::Tensor x = nn::Input({3}, {.dtype = DType::int64}), other = nn::Input({2, 1});
  const nn::Embedding rows(4, 1, {.initializer = nn::values_of(Array{{0.f}, {1.f}, {2.f}, {3.f}}), .mask_zero = true});
  const nn::Layer mean = nn::GlobalAveragePooling1D();
  // A layer without weights whose state is the sum of its inputs.
  const auto sums = [](bool backwards) {
    return nn::SimpleRNN(1, {.activation = "linear",
                             .use_bias = false,
                             .return_sequences = true,
                             .go_backwards = backwards,
                             .kernel_initializer = "ones",
                             .recurrent_initializer = "ones"});
  };
  const nn::Tensor row = rows(x);
  const nn::Model model({x, other},
                        {mean(row), mean(nn::concatenate({row, other}, 1)), mean(nn::concatenate({other, row}, -2)),
                         mean(nn::concatenate({row, row})),
                         mean(nn::add({row, rows(nn::Lambda([](const Variable& v) { return v * (v < 3); })(x))})),
                         mean(sums(false)(row)), mean(sums(true)(row)), sums(false)(sums(true)(row)),
                         mean(nn::Permute({2, 1})(row)), nn::GlobalMaxPooling1D()(row)});
  nn::CallContext context;
  const Variable a = ct::lmatrix("a"), b = input({0, 2, 1});
  const std::vector<Array> results = run(
      flags,
      {{a, Array{{0, 1, 3}, {2, 1, 0}}.astype(DType::int64)}, {b, Array{{4.f, 6.f}, {8.f, 4.f}}.reshape({2, 2, 1})}},
      model.call({a, b}, context));
  const std::vector<Numbers> wanted = {
      {2, 1.5},            // steps 1 and 2 of the first, 0 and 1 of the second text
      {14. / 4, 15. / 4},  // without a mask all steps count
      {14. / 4, 15. / 4},  //
      {2, 2, 1.5, 1.5},    // concatenated
      {2, 3},              // steps that count in both
      {2.5, 2.5},          // 1, 4 and 2, 3
      {3.5, 2},            // 3, 4 and 1, 3: read from the end, where the second one's padding is read first
      {3, 7, 7, 0, 1, 4},  // padding at the beginning is read last, and padding at the end first
      {0, 1, 3, 2, 1, 0},  // with axes exchanged, features replace steps
      {3, 2},
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    check_close(results[i].reshape({-1}), wanted[i], 1e-6);
  }
}

// ---- batch normalisation ----

TEST_CASE("running averages follow the batches, and replace their averages outside training", "[nn]") {
  const std::string flags = GENERATE(from_range(settings()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const DType dtype = ct::scalar().dtype();
  const nn::BatchNormalization layer({.momentum = 0.75, .epsilon = 0.01});
  const Variable x = input({3, 2});
  nn::CallContext training{.training = true}, testing;
  const Variable y = layer(x, training), still = layer(x, testing);
  CHECK(training.updates.size() == 2);
  CHECK(testing.updates.empty());
  fill(layer);
  const std::vector<ct::SharedVariable> weights = layer.weights();
  weights[2].get_value();
  Numbers mean(2), variance(2);
  for (std::size_t c = 0; c < 2; ++c) {
    mean[c] = weights[2].get_value().as_double(static_cast<std::int64_t>(c));
    variance[c] = weights[3].get_value().as_double(static_cast<std::int64_t>(c));
  }
  const Array gamma = weights[0].get_value(), beta = weights[1].get_value();
  const ct::Function step = ct::function({x}, y, {.updates = training.updates}), test = ct::function({x}, still);
  const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    CAPTURE(batch);
    const std::int64_t n = 4 - batch;
    const Array values = sample({n, 2}, batch);
    Numbers normed(static_cast<std::size_t>(2 * n)), tested = normed;
    for (std::int64_t c = 0; c < 2; ++c) {
      double m = 0, v = 0;
      for (std::int64_t i = 0; i < n; ++i) m += values.as_double(2 * i + c) / static_cast<double>(n);
      for (std::int64_t i = 0; i < n; ++i) v += std::pow(values.as_double(2 * i + c) - m, 2) / static_cast<double>(n);
      double &moving_mean = mean[static_cast<std::size_t>(c)], &moving_variance = variance[static_cast<std::size_t>(c)];
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = values.as_double(2 * i + c), g = gamma.as_double(c), b = beta.as_double(c);
        normed[static_cast<std::size_t>(2 * i + c)] = g * (value - m) / std::sqrt(v + 0.01) + b;
        tested[static_cast<std::size_t>(2 * i + c)] = g * (value - moving_mean) / std::sqrt(moving_variance + 0.01) + b;
      }
      moving_mean = 0.75 * moving_mean + 0.25 * m;
      moving_variance = 0.75 * moving_variance + 0.25 * v;
    }
    check_close(test(values.astype(dtype)).only().to_host(), tested, tolerance);
    check_close(step(values.astype(dtype)).only().to_host(), normed, tolerance);
    check_close(weights[2].get_value(), mean, tolerance);
    check_close(weights[3].get_value(), variance, tolerance);
  }
}

TEST_CASE("batch normalisation takes the statistics of the steps that count", "[nn]") {
  const std::string flags = GENERATE(from_range(settings()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const DType dtype = ct::scalar().dtype();
  const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
  const nn::Tensor in = nn::Input({3, 2});
  const nn::BatchNormalization layer({.momentum = 0.75, .epsilon = 0.01});
  const nn::Model model(in, layer(nn::Masking()(in)));
  fill(layer);
  const Array gamma = layer.weights()[0].get_value(), beta = layer.weights()[1].get_value();
  Array values = sample({2, 3, 2}).copy();
  // Masked: the last step of the first sequence, the last two of the second.
  const auto is_padding = [](std::int64_t i) { return i / 2 == 2 || i / 2 >= 4; };
  for (std::int64_t i = 0; i < 12; ++i) {
    if (is_padding(i)) values.data<double>()[static_cast<std::size_t>(i)] = 0;
  }
  Numbers wanted(12), means, variances;
  for (std::int64_t c = 0; c < 2; ++c) {
    double mean = 0, variance = 0;  // Keras adds 1e-7 to the number of steps
    for (std::int64_t i = c; i < 12; i += 2) mean += is_padding(i) ? 0 : values.as_double(i) / (3 + 1e-7);
    for (std::int64_t i = c; i < 12; i += 2)
      variance += is_padding(i) ? 0 : std::pow(values.as_double(i) - mean, 2) / (3 + 1e-7);
    for (std::int64_t i = c; i < 12; i += 2)
      wanted[static_cast<std::size_t>(i)] =
          gamma.as_double(c) * (values.as_double(i) - mean) / std::sqrt(variance + 0.01) + beta.as_double(c);
    means.push_back(0.75 * layer.weights()[2].get_value().as_double(c) + 0.25 * mean);
    variances.push_back(0.75 * layer.weights()[3].get_value().as_double(c) + 0.25 * variance);
  }
  nn::CallContext training{.training = true};
  const Variable x = input({1, 3, 2});
  const Variable y = model(x, training);
  const std::vector<Array> results = run(flags, {{x, values.astype(dtype)}}, {y}, training.updates);
  check_close(results[0].reshape({-1}), wanted, tolerance);
  check_close(layer.weights()[2].get_value(), means, tolerance);
  check_close(layer.weights()[3].get_value(), variances, tolerance);
}

TEST_CASE("batch normalisation that is frozen, and that is called twice", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const nn::BatchNormalization layer({.momentum = 0.5});
  const Variable a = input({3, 1}), b = input({3, 1});
  nn::CallContext twice{.training = true}, frozen{.training = true};
  const std::vector<Variable> normed = {layer(a, twice), layer(b, twice)};
  CHECK(layer.trainable_weights().size() == 2);
  layer.set_trainable(false);
  const Variable still = layer(a, frozen);
  CHECK(layer.trainable_weights().empty());
  CHECK(layer.non_trainable_weights().size() == 4);
  CHECK(frozen.updates.empty());
  REQUIRE(twice.updates.size() == 2);
  const Array first_batch = Array{1.f, 3.f}.reshape({2, 1}), second_batch = Array{4.f, 8.f}.reshape({2, 1});
  const std::vector<Array> results =
      run(flags, {{a, first_batch}, {b, second_batch}}, {normed[0], normed[1], still}, twice.updates);
  const double one = 1 / std::sqrt(1.001), two = 2 / std::sqrt(4.001);
  check_close(results[0], {-one, one});
  check_close(results[1], {-two, two});
  check_close(results[2], {one, 3 * one});  // mean 0, variance 1
  check_close(layer.weights()[2].get_value(), {(0 + 2) / 4. + 6 / 2.});
  check_close(layer.weights()[3].get_value(), {(1 + 1) / 4. + 4 / 2.});
}

// ---- random numbers ----

TEST_CASE("dropout drops a share and keeps the sum", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  nn::set_seed(12);
  const nn::Dropout layer(0.25), none(0), most(0.9375);
  const Variable x = input({1, 2});
  nn::CallContext training{.training = true}, testing;
  const ct::Function f = ct::function(
      {x}, {layer(x, training), layer(x, training), most(x, training), none(x, training), layer(x, testing), layer(x)});
  CHECK(training.updates.empty());
  CHECK(layer.weights().empty());
  CHECK(layer.count_params() == 0);
  REQUIRE(states_of(layer).size() == 1);
  const bool few = flags.find("reference") != std::string::npos;
  const std::int64_t rows = few ? 500 : 4000, n = 2 * rows;
  const Array ones = Array::full(DType::float32, {rows, 2}, 1.5);
  ct::SharedVariable state = states_of(layer)[0];
  const Array begin = state.get_value();
  const auto call = [&] {
    std::vector<Array> results;
    for (const Array& result : f(ones)) results.push_back(result.to_host());
    return results;
  };
  const std::vector<Array> results = call();
  for (const auto& [at, rate] : {std::pair(0, 0.25), {1, 0.25}, {2, 0.9375}}) {
    CAPTURE(at);
    const Array& y = results[static_cast<std::size_t>(at)];
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (y.as_double(i) == 0) continue;
      ++kept;
      if (y.as_double(i) != Approx(1.5 / (1 - rate))) FAIL_CHECK("kept as " << y.as_double(i));
    }
    // Five deviations.
    const double count = static_cast<double>(n);
    CHECK(std::abs(static_cast<double>(kept) - (1 - rate) * count) < 5 * std::sqrt(rate * (1 - rate) * count));
  }
  for (std::size_t i = 3; i < 6; ++i) CHECK(results[i].equals(ones));
  // Calls in one function, and calls of the function, differ; equal states give equal numbers.
  CHECK_FALSE(results[0].equals(results[1]));
  const std::vector<Array> next = call();
  for (const std::size_t i : {0, 1, 2}) {
    CHECK_FALSE(next[i].equals(results[i]));
    CHECK_FALSE(next[i].equals(results[i == 0 ? 1 : 0]));
  }
  const Array behind = state.get_value();
  run(flags, {{x, ones}}, {layer(x, testing)});
  CHECK(state.get_value().equals(behind));
  state.set_value(begin);
  const std::vector<Array> again = call();
  CHECK(again[0].equals(results[0]));
  CHECK(again[1].equals(results[1]));
  CHECK_FALSE(again[2].equals(results[2]));
}

TEST_CASE("the seed decides what is drawn and where weights begin", "[nn]") {
  const auto drawn = [](std::uint64_t seed) {
    nn::set_seed(seed);
    const nn::Layer layer = chain({nn::Dense(4, {.input_shape = {4}}), nn::Dropout(0.5)});
    const Variable x = input({8, 4});
    nn::CallContext training{.training = true};
    return run("mode=run", {{x, Array::full(DType::float32, {8, 4}, 1)}}, {layer(x, training)})[0];
  };
  const Array one = drawn(1);
  CHECK(drawn(1).equals(one));
  CHECK_FALSE(drawn(2).equals(one));
}

TEST_CASE("the gradient of dropout is of the elements that were kept", "[nn]") {
  const std::string flags = GENERATE(from_range(settings()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const nn::Dropout layer(0.5);
  const Variable x = input({2, 8});
  nn::CallContext training{.training = true};
  const Variable y = layer(x, training);
  const Array ones = Array::full(x.dtype(), {2, 8}, 1);
  const std::vector<Array> results = run(flags, {{x, ones}}, {y, ct::grad(ct::sum(y), x)});
  CHECK(results[0].equals(results[1]));  // both equal the mask
}

TEST_CASE("noise is normal, of the stated deviation, and in training alone", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  nn::set_seed(3);
  const nn::GaussianNoise layer(0.5), none(0);
  const Variable x = input({1, 2});
  nn::CallContext training{.training = true}, testing;
  const std::int64_t rows = flags.find("reference") != std::string::npos ? 500 : 4000;
  const Array twos = Array::full(DType::float32, {rows, 2}, 2);
  const std::vector<Array> results =
      run(flags, {{x, twos}}, {layer(x, training), none(x, training), layer(x, testing)});
  double mean = 0, square = 0;
  const double n = static_cast<double>(2 * rows);
  for (std::int64_t i = 0; i < 2 * rows; ++i) mean += results[0].as_double(i) / n;
  for (std::int64_t i = 0; i < 2 * rows; ++i) square += std::pow(results[0].as_double(i) - mean, 2) / n;
  CHECK(std::abs(mean - 2) < 5 * 0.5 / std::sqrt(n));
  CHECK(std::abs(std::sqrt(square) - 0.5) < 5 * 0.5 / std::sqrt(2 * n));
  CHECK(results[1].equals(twos));
  CHECK(results[2].equals(twos));
}

TEST_CASE("dropout of whole channels", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  nn::set_seed(14);
  struct Kind {
    nn::Layer layer;
    Sizes shape;
    std::int64_t places, apart;  // of a channel: number of elements, and their distance
  };
  const std::int64_t images = 100;
  const std::vector<Kind> kinds = {{nn::SpatialDropout1D(0.25), {images, 3, 2}, 3, 2},
                                   {nn::SpatialDropout2D(0.25), {images, 2, 2, 2}, 4, 2},
                                   {nn::SpatialDropout2D(0.25, first), {images, 2, 2, 2}, 4, 1},
                                   {nn::SpatialDropout3D(0.25, first), {images, 2, 1, 3, 2}, 6, 1}};
  std::vector<ct::Binding> bindings;
  std::vector<Variable> outputs;
  nn::CallContext training{.training = true};
  for (const Kind& kind : kinds) {
    bindings.emplace_back(input(kind.shape), Array::full(DType::float32, kind.shape, 3));
    outputs.push_back(kind.layer(bindings.back().first, training));
  }
  const std::vector<Array> results = run(flags, bindings, outputs);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const Kind& kind = kinds[k];
    INFO(kind.layer.type());
    std::int64_t kept = 0;
    for (std::int64_t channel = 0; channel < 2 * images; ++channel) {
      const std::int64_t begin = kind.apart == 1 ? channel * kind.places : channel / 2 * 2 * kind.places + channel % 2;
      const double one = results[k].as_double(begin);
      if (one != 0 && one != 4) FAIL_CHECK("channel " << channel << " has " << one);
      for (std::int64_t place = 1; place < kind.places; ++place) {
        if (results[k].as_double(begin + place * kind.apart) != one)
          FAIL_CHECK("channel " << channel << ", place " << place);
      }
      kept += one != 0 ? 1 : 0;
    }
    CHECK(std::abs(static_cast<double>(kept) - 150) < 5 * std::sqrt(0.25 * 0.75 * 200));
  }
}

TEST_CASE("Gaussian dropout multiplies by normal numbers around 1", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  nn::set_seed(15);
  const nn::GaussianDropout layer(0.2), none(0);
  const Variable x = input({1, 2});
  nn::CallContext training{.training = true};
  const std::int64_t rows = flags.find("reference") != std::string::npos ? 500 : 4000;
  const Array threes = Array::full(DType::float32, {rows, 2}, 3);
  const Variable y = layer(x, training);
  const std::vector<Array> results = run(flags, {{x, threes}}, {y, none(x, training), ct::grad(ct::sum(y), x)});
  const double n = static_cast<double>(2 * rows);
  double mean = 0, square = 0;
  for (std::int64_t i = 0; i < 2 * rows; ++i) mean += results[0].as_double(i) / n;
  for (std::int64_t i = 0; i < 2 * rows; ++i) square += std::pow(results[0].as_double(i) - mean, 2) / n;
  CHECK(std::abs(mean - 3) < 5 * 1.5 / std::sqrt(n));  // sqrt(0.2 / 0.8) of 3
  CHECK(std::abs(std::sqrt(square) - 1.5) < 5 * 1.5 / std::sqrt(2 * n));
  CHECK(results[1].equals(threes));
  for (std::int64_t i = 0; i < 10; ++i) CHECK(results[2].as_double(i) * 3 == Approx(results[0].as_double(i)));
}

TEST_CASE("a layer on each step: any number of steps, masks, and layers that draw", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  nn::set_seed(16);
  const nn::Dense dense(2);
  const nn::TimeDistributed each(dense), drops(nn::Dropout(0.5)), norm(nn::BatchNormalization({.momentum = 0.5}));
  const nn::Tensor steps = nn::Input({nn::any_size, 3});
  const nn::Model model(steps, each(steps));
  CHECK(model.output_shapes() == std::vector<nn::Shape>{{nn::any_size, 2}});
  CHECK(each.trainable_weights() == dense.trainable_weights());
  const Variable x = ct::variable({DType::float32, {ct::unknown_size, ct::unknown_size, 3}}, "x");
  nn::CallContext testing, training{.training = true};
  const Variable ones = ct::ones_like(x);
  const std::vector<Variable> outputs{model.call({x}, testing).at(0), dense(ct::reshape(x, {-1, 3})),
                                      drops(ones, training), norm(x, training)};
  const ct::Function f = ct::function({x}, outputs, {.updates = training.updates});
  for (const Sizes& shape : {Sizes{2, 5, 3}, Sizes{3, 1, 3}, Sizes{40, 5, 3}}) {
    const Array values = Array::uniform(DType::float32, shape, 3, -1, 1);
    const ct::Outputs results = f(values);
    CHECK(results[0].shape() == Sizes{shape[0], shape[1], 2});
    CHECK(results[0].to_host().reshape({-1, 2}).all_close(results[1].to_host(), 1e-6, 1e-6));
    // The batch of the inner layer is all steps of all samples.
    const Array normed = results[3].to_host();
    for (std::int64_t feature = 0; feature < 3; ++feature) {
      double sum = 0;
      for (std::int64_t i = feature; i < normed.size(); i += 3) sum += normed.as_double(i);
      CHECK(std::abs(sum / static_cast<double>(normed.size())) < 1e-5);
    }
    if (shape[0] < 40) continue;
    // Steps are dropped individually.
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < 600; ++i) kept += results[2].to_host().as_double(i) != 0 ? 1 : 0;
    CHECK(std::abs(static_cast<double>(kept) - 300) < 5 * std::sqrt(150));
    const Array drawn = results[2].to_host();
    CHECK_FALSE(drawn.slice(1, 0, 1).copy().equals(drawn.slice(1, 1, 2).copy()));
  }
  // A masked step is omitted from a later mean.
  const nn::Sequential masked{nn::Masking(0, {3, 1}), nn::TimeDistributed(nn::Dense(1, {.kernel_initializer = "ones"})),
                              nn::GlobalAveragePooling1D()};
  const Variable m = input({1, 3, 1});
  check_close(run(flags, {{m, Array{2.f, 0.f, 4.f}.reshape({1, 3, 1})}}, {masked(m)})[0], {3});
}

TEST_CASE("vectors of length 1, and of none", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const Variable x = input({3, 2});
  const Variable y = nn::UnitNormalization()(x);
  const std::vector<Array> results =
      run(flags, {{x, Array{{3.f, 4.f}, {0.f, 0.f}, {1e-12f, 0.f}}}}, {y, ct::grad(ct::sum(y), x)});
  check_close(results[0], {0.6, 0.8, 0, 0, 1, 0}, 1e-5);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(std::isfinite(results[1].as_double(i)));
}

TEST_CASE("normalisation of float16 adds up its squares in float32", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags + ",floatX=float16");
  // 512 numbers of 300 and -300: their squares, and the sums of these, exceed 65504.
  const Array values = made({1, 512}, [](std::int64_t i) { return i % 2 == 0 ? 300. : -300.; }).astype(DType::float16);
  const Variable x = input({1, 512}), two = input({2, 1});
  const nn::Tensor in = nn::Input({512});
  nn::CallContext testing;
  const std::vector<Array> results =
      run(flags + ",floatX=float16", {{x, values}},
          {nn::UnitNormalization()(x), nn::LayerNormalization()(x), nn::RMSNormalization()(x),
           nn::Model({in}, {nn::Dot(1, {.normalize = true})({in, in})}).call({x}, testing)[0]});
  for (std::size_t k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(results[k].dtype() == DType::float16);
    for (std::int64_t i = 0; i < 512; ++i)
      REQUIRE(results[k].as_double(i) ==
              Approx((i % 2 == 0 ? 1 : -1) * (k == 0 ? 1 / std::sqrt(512.) : 1)).epsilon(2e-3));
  }
  check_close(results[3], {1}, 2e-3);
  // Running averages: the variance of 1000 and -1000 is a million.
  for (const double momentum : {0.99, 0.5}) {
    const nn::BatchNormalization layer({.momentum = momentum});
    nn::CallContext training{.training = true};
    const Variable y = layer(two, training);
    const Array pair = Array{{1000.f}, {-1000.f}}.astype(DType::float16);
    const std::vector<Array> normed = run(flags + ",floatX=float16", {{two, pair}}, {y}, training.updates);
    check_close(normed[0], {1, -1}, 2e-3);
    check_close(layer.weights()[3].get_value(), {momentum == 0.99 ? 0.99 + 1e4 : 65504}, 2e-3);
  }
}

TEST_CASE("dropout in recurrent layers has one mask for all steps", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  nn::set_seed(5);
  const std::int64_t units = 8;
  nn::RecurrentOptions options{.activation = "linear",
                               .return_sequences = true,
                               .dropout = 0.5,
                               .kernel_initializer = "identity",
                               .recurrent_initializer = "zeros"};
  const nn::SimpleRNN of_inputs(units, options);
  options.dropout = 0;
  options.recurrent_dropout = 0.5;
  options.recurrent_initializer = "identity";
  const nn::SimpleRNN of_states(units, options);
  const std::vector<nn::Layer> others = {nn::LSTM(3, {.dropout = 0.25, .recurrent_dropout = 0.5}),
                                         nn::GRU(3, {.dropout = 0.25, .recurrent_dropout = 0.5}),
                                         nn::GRU(3, {.recurrent_dropout = 0.5, .reset_after = false})};
  const Variable x = input({4, 3, units});
  nn::CallContext training{.training = true}, testing;
  std::vector<Variable> outputs = {of_inputs(x, training), of_states(x, training), of_inputs(x, testing)};
  for (const nn::Layer& layer : others) {
    const Variable y = layer(x, training);
    outputs.push_back(y);
    outputs.push_back(layer(x, testing));
    outputs.push_back(ct::grad(ct::sum(y), layer.weights()[0]));
  }
  const Array ones = Array::full(DType::float32, {4, 3, units}, 1);
  const std::vector<Array> results = run(flags, {{x, ones}}, outputs);
  std::set<double> input_factors, state_factors;
  for (std::int64_t b = 0; b < 4; ++b) {
    for (std::int64_t u = 0; u < units; ++u) {
      const double factor = results[0].at<float>(b, 0, u), kept = results[1].at<float>(b, 1, u) - 1;
      input_factors.insert(factor);
      state_factors.insert(kept);
      for (std::int64_t t = 0; t < 3; ++t) CHECK(results[0].at<float>(b, t, u) == factor);
      CHECK(results[1].at<float>(b, 0, u) == 1);
      CHECK(results[1].at<float>(b, 2, u) == 1 + kept * (1 + kept));
    }
  }
  CHECK(input_factors == std::set<double>{0, 2});
  CHECK(state_factors == std::set<double>{0, 2});
  CHECK(results[2].equals(ones));
  for (std::size_t i = 3; i < results.size(); i += 3) {
    CHECK_FALSE(results[i].all_close(results[i + 1]));
    for (std::int64_t k = 0; k < results[i + 2].size(); ++k) CHECK(std::isfinite(results[i + 2].as_double(k)));
  }
}

// ---- gradients against differences ----

TEST_CASE("gradients through dropout in recurrent layers are those of differences", "[nn]") {
  const ct::change_flags scope("mode=run,floatX=float64");
  const std::vector<std::pair<nn::Layer, Sizes>> layers = {
      {nn::SimpleRNN(2, {.dropout = 0.25, .recurrent_dropout = 0.5}), {2, 3, 3}},
      {nn::GRU(2, {.dropout = 0.25, .recurrent_dropout = 0.5}), {2, 3, 3}},
      {nn::LSTM(2, {.return_sequences = true, .dropout = 0.25, .recurrent_dropout = 0.5}), {2, 3, 3}},
      {nn::Bidirectional(gru(2), {.dropout = 0.5, .reset_after = false}), {2, 3, 3}},
  };
  std::vector<ct::In> inputs;
  std::vector<ct::SharedVariable> moved, states;
  std::vector<Variable> outputs;  // a loss, and its gradients
  std::vector<std::size_t> losses;
  std::vector<Array> values;
  nn::CallContext training{.training = true};
  for (const auto& [layer, shape] : layers) {
    inputs.emplace_back(input(shape));
    values.push_back(sample(shape));
    const Variable y = layer(inputs.back().variable, training);
    fill(layer);
    // Each with a different weight, so that errors that would cancel in a sum are visible.
    const std::vector<Variable> sizes = y.shape();
    const Variable by = ct::sin(ct::cast(ct::reshape(ct::arange(y.size()), {sizes.begin(), sizes.end()}), y.dtype()));
    outputs.push_back(ct::sum(y * by));
    const std::size_t loss = outputs.size() - 1;
    for (const ct::SharedVariable& weight : layer.trainable_weights()) {
      losses.push_back(loss);
      moved.push_back(weight);
      outputs.push_back(ct::grad(outputs[loss], weight));
    }
    for (const ct::SharedVariable& state : states_of(layer)) states.push_back(state);
  }
  const ct::Function f = ct::function(inputs, outputs);
  std::vector<Array> begins;
  for (const ct::SharedVariable& state : states) begins.push_back(state.get_value());
  const auto call = [&] {  // with the same masks each time
    for (std::size_t i = 0; i < states.size(); ++i) states[i].set_value(begins[i]);
    return f.call(std::vector<ct::Argument>(values.begin(), values.end()));
  };
  const ct::Outputs exact = call();
  std::size_t k = 0;
  for (std::size_t at = 0; at < exact.size(); ++at) {
    if (k == moved.size() || at == losses[k]) continue;
    ct::SharedVariable& weight = moved[k];
    INFO(weight.name());
    const Array here = weight.get_value(), along = factors(here.shape());
    const double step = 1e-5;
    const auto loss_at = [&](double distance) {
      weight.set_value(
          made(here.shape(), [&](std::int64_t i) { return here.as_double(i) + distance * along.as_double(i); }));
      return call()[losses[k]].as_double(0);
    };
    const double difference = (loss_at(step) - loss_at(-step)) / (2 * step);
    weight.set_value(here);
    CHECK(digest(exact[at]) == Approx(difference).epsilon(1e-6).margin(1e-7));
    ++k;
  }
  CHECK(k == moved.size());
}

// ---- weights ----

TEST_CASE("where weights begin", "[nn]") {
  nn::set_seed(7);
  const auto all_equal = [](const Array& values, double wanted) {
    for (std::int64_t i = 0; i < values.size(); ++i) {
      if (values.as_double(i) != wanted) return false;
    }
    return true;
  };
  const auto largest = [](const Array& values) {
    double most = 0;
    for (std::int64_t i = 0; i < values.size(); ++i) most = std::max(most, std::abs(values.as_double(i)));
    return most;
  };
  const auto built = [](const nn::Layer& layer, const nn::Shape& shape) {
    layer.build({shape});
    std::vector<Array> values;
    for (const ct::SharedVariable& weight : layer.weights()) values.push_back(weight.get_value());
    return values;
  };
  const auto norm = built(nn::BatchNormalization(), {3, 5});
  CHECK(all_equal(norm[0], 1));
  CHECK(all_equal(norm[1], 0));
  CHECK(all_equal(norm[2], 0));
  CHECK(all_equal(norm[3], 1));
  const auto table = built(nn::Embedding(50, 40), {3});
  CHECK(largest(table[0]) <= 0.05);
  CHECK(largest(table[0]) > 0.045);
  // Window sizes count: sqrt(6 / (9 * 4 + 9 * 8)).
  const auto conv = built(nn::Conv2D(8, 3), {5, 5, 4});
  CHECK(largest(conv[0]) <= std::sqrt(6. / 108));
  CHECK(largest(conv[0]) > 0.95 * std::sqrt(6. / 108));
  CHECK(all_equal(conv[1], 0));
  const auto dense =
      built(nn::Dense(2, {.kernel_initializer = "ones", .bias_initializer = nn::constant_values(0.5)}), {3});
  CHECK(all_equal(dense[0], 1));
  CHECK(all_equal(dense[1], 0.5));
  for (const bool forget : {true, false}) {
    const auto lstm =
        built(nn::LSTM(3, {.unit_forget_bias = forget, .bias_initializer = nn::constant_values(0.25)}), {4, 2});
    for (std::int64_t i = 0; i < 12; ++i) CHECK(lstm[2].as_double(i) == (forget && i >= 3 && i < 6 ? 1 : 0.25));
  }
  // Rows of the recurrent kernel are orthonormal.
  const auto gru = built(nn::GRU(3), {4, 2});
  CHECK(all_equal(gru[2], 0));
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      double product = 0;
      for (std::int64_t k = 0; k < 9; ++k) product += gru[1].as_double(9 * i + k) * gru[1].as_double(9 * j + k);
      CHECK(product == Approx(i == j).margin(1e-6));
    }
  }
}

TEST_CASE("weights are of floatX, named after their layer, and made once", "[nn]") {
  const nn::Dense layer(2, {.name = "scores"});
  CHECK_FALSE(layer.built());
  CHECK(layer.weights().empty());
  CHECK(layer.count_params() == 0);
  layer.build({{3}});
  CHECK(layer.built());
  CHECK(layer.name() == "scores");
  CHECK(layer.type() == "Dense");
  const std::vector<ct::SharedVariable> weights = layer.weights();
  REQUIRE(weights.size() == 2);
  CHECK(weights[0].name() == "scores/kernel");
  CHECK(weights[1].name() == "scores/bias");
  CHECK(weights[0].dtype() == DType::float32);
  CHECK(layer.count_params() == 8);
  layer.build({{3}});
  CHECK(layer.weights() == weights);
  const nn::Layer same = layer;
  CHECK(same == layer);
  CHECK(same.weights() == weights);
  {
    const ct::change_flags wide("floatX=float64");
    const nn::LSTM other(2, {.dropout = 0.5});
    other.build({{4, 3}});
    CHECK(other.weights()[0].dtype() == DType::float64);
    CHECK(states_of(other).back().dtype() == DType::uint64);
    CHECK(other.trainable_weights().size() == 3);
    CHECK(other.count_params() == 3 * 8 + 2 * 8 + 8);
  }
  const nn::Dense unnamed(1), next(1);
  CHECK(unnamed.name() != next.name());
  CHECK(nn::BatchNormalization().name().starts_with("batch_normalization"));
  CHECK(nn::LSTM(1).name().starts_with("lstm"));
  CHECK(nn::Conv2DTranspose(1, {2}).name().starts_with("conv2d_transpose"));
  const nn::Dense penalised(1, {.kernel_regularizer = "l2"});
  penalised.build({{2}});
  CHECK(penalised.definition().all_weights()[0].regularizer.defined());
  CHECK_FALSE(penalised.definition().all_weights()[1].regularizer.defined());
}

TEST_CASE("layers say which dtype they give", "[nn]") {
  const std::string width = GENERATE(std::string("float16"), "float32", "float64");
  const ct::change_flags scope("mode=reference,floatX=" + width);
  for (const auto& [layer, shape] : all_kinds()) {
    const bool whole = !ct::is_float(layer.definition().input_dtype());
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::int8}) {
      if (whole && dtype != DType::int8) continue;
      if (layer.type() == "Lambda" && dtype == DType::int8) continue;  // its function changes the dtype
      INFO(layer.type() << " of " << ct::name_of(dtype) << ", weights " << width);
      Sizes sizes{1};
      sizes.insert(sizes.end(), shape.begin(), shape.end());
      const Variable x = input(sizes, dtype), y = layer(x);
      CHECK(layer(nn::Input(shape, {.dtype = dtype})).dtype() == y.dtype());
      CHECK(y.eval({{x, Array::full(dtype, sizes, 1)}}).dtype() == y.dtype());
    }
  }
}

TEST_CASE("layers take integers, and images of bytes", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const nn::Dense dense(2, {.kernel_initializer = "ones"});
  const nn::MaxPooling1D pool;
  const nn::Embedding rows(4, 1, {.initializer = nn::values_of(Array{{0.f}, {1.f}, {2.f}, {3.f}})});
  const Variable bytes = ct::variable({DType::uint8, {ct::unknown_size, 2}}, "bytes");
  const Variable bits = ct::variable({DType::bool_, {ct::unknown_size, 2}}, "bits");
  const Variable floats = input({1, 2}), pixels = ct::variable({DType::int32, {ct::unknown_size, 4, 1}}, "pixels");
  const std::vector<Array> results = run(flags,
                                         {{bytes, Array{{3, 2}}.astype(DType::uint8)},
                                          {bits, Array{{1, 0}}.astype(DType::bool_)},
                                          {floats, Array{{3.f, 1.f}}},
                                          {pixels, Array{{1, 5, 3, 2}}.reshape({1, 4, 1})}},
                                         {dense(bytes), dense(bits), rows(floats), rows(bytes), pool(pixels)});
  check_close(results[0], {5, 5});
  check_close(results[1], {1, 1});
  check_close(results[2], {3, 1});
  check_close(results[3], {3, 2});
  check_close(results[4], {5, 3});
  for (const Array& result : results) CHECK(result.dtype() == DType::float32);
  CHECK_THROWS_AS(run(flags, {{bytes, Array{{3, 4}}.astype(DType::uint8)}}, {rows(bytes)}), ct::IndexError);
}

TEST_CASE("a layer's weights are read and set, all or none", "[nn]") {
  const nn::Dense layer(1);
  layer.build({{2}});
  layer.set_weights({Array{{1.f}, {2.f}}, Array{3.f}});
  check_close(layer.get_weights().at(0).reshape({-1}), {1, 2});
  check_close(layer.get_weights().at(1), {3});
  CHECK_THROWS_AS(layer.set_weights({Array{{4.f}, {5.f}}, Array{6.f, 7.f}}), ct::ShapeError);
  CHECK_THROWS_AS(layer.set_weights({Array{{4.f}, {5.f}}}), ct::ValueError);
  check_close(layer.get_weights().at(0).reshape({-1}), {1, 2});
}

TEST_CASE("Bidirectional of a layer is that of a function that makes it", "[nn]") {
  const std::string merge = GENERATE(std::string("concat"), "sum", "mul", "ave");
  CAPTURE(merge);
  const nn::RecurrentOptions options{.return_sequences = true};
  const nn::Bidirectional made(gru(2), options, merge), given(nn::GRU(2, options), merge);
  const Variable x = input({1, 4, 3});
  const Variable a = made(x), b = given(x);
  given.set_weights(made.get_weights());
  const std::vector<Array> results = run("", {{x, sample({2, 4, 3}).astype(DType::float32)}}, {a, b});
  CHECK(results[0].equals(results[1]));
  CHECK(given.count_params() == made.count_params());
  CHECK_THROWS_AS(nn::Bidirectional(nn::Dense(2)), ct::ValueError);
}

// ---- rejected arguments ----

TEST_CASE("wrong options of layers raise errors that name them and the accepted ones", "[nn]") {
  struct Refusal {
    std::function<void()> make;
    std::string message;
  };
  const std::vector<Refusal> refusals = {
      {[] { nn::Dense(0, {.name = "a"}); }, "a (Dense): 0 units; there is at least 1"},
      {[] { nn::Embedding(0, 3, {.name = "a"}); }, "a (Embedding): a table of 0 rows of 3; both are at least 1"},
      {[] { nn::LSTM(-2, {.name = "a"}); }, "a (LSTM): -2 units; there is at least 1"},
      {[] { nn::GRU(2, {.dropout = 1, .name = "a"}); }, "a (GRU): a rate of 1; it is at least 0 and below 1"},
      {[] { nn::SimpleRNN(2, {.recurrent_dropout = -0.5, .name = "a"}); },
       "a (SimpleRNN): a rate of -0.5; it is at least 0 and below 1"},
      {[] { nn::Dropout(1, "a"); }, "a (Dropout): a rate of 1; it is at least 0 and below 1"},
      {[] { nn::Dropout(std::nan(""), "a"); }, "a (Dropout): a rate of nan; it is at least 0 and below 1"},
      {[] { nn::GaussianNoise(-1, "a"); }, "a (GaussianNoise): a deviation of -1; it is at least 0"},
      {[] { nn::Bidirectional(gru(2), {}, "max", "a"); },
       "a (Bidirectional): a merge \"max\"; concat, sum, mul and ave are known"},
      {[] { nn::Conv2D(0, 3, {.name = "a"}); }, "a (Conv2D): 0 filters; there is at least 1"},
      {[] { nn::Conv2D(2, {3, 3, 3}, {.name = "a"}); }, "a (Conv2D): 3 window sizes for 2 axes; one is for all"},
      {[] { nn::Conv1D(2, 0, {.name = "a"}); }, "a (Conv1D): window sizes of 0; they are at least 1"},
      {[] { nn::Conv3D(2, 3, {.strides = {1, 2}, .name = "a"}); }, "a (Conv3D): 2 strides for 3 axes; one is for all"},
      {[] { nn::Conv2D(2, 3, {.dilations = {0}, .name = "a"}); }, "a (Conv2D): dilations of 0; they are at least 1"},
      {[] { nn::Conv2D(2, 3, {.padding = "full", .name = "a"}); },
       "a (Conv2D): a padding \"full\"; valid and same are known"},
      {[] { nn::Conv2D(2, 3, {.padding = "causal", .name = "a"}); },
       "a (Conv2D): a padding \"causal\"; valid and same are known"},
      {[] { nn::Conv1D(2, 3, {.padding = "SAME", .name = "a"}); },
       "a (Conv1D): a padding \"SAME\"; valid, same and causal are known"},
      {[] { nn::Conv2D(2, 3, {.groups = 0, .name = "a"}); }, "a (Conv2D): 0 groups; there is at least 1"},
      {[] { nn::Conv2D(3, 3, {.groups = 2, .name = "a"}); }, "a (Conv2D): 3 filters do not divide into 2 groups"},
      {[] { nn::Conv2DTranspose(4, {3}, {.groups = 2, .name = "a"}); }, "a (Conv2DTranspose): has no groups"},
      {[] { nn::DepthwiseConv2D({3}, 2, {.groups = 2, .name = "a"}); },
       "a (DepthwiseConv2D): has no groups: each channel is one"},
      {[] { nn::MaxPooling2D({2, 2, 2}, {.name = "a"}); },
       "a (MaxPooling2D): 3 window sizes for 2 axes; one is for all"},
      {[] { nn::AveragePooling1D(2, {.padding = "causal", .name = "a"}); },
       "a (AveragePooling1D): a padding \"causal\"; valid and same are known"},
      {[] { nn::ZeroPadding2D({-1}, nn::Layout::channels_last, "a"); },
       "a (ZeroPadding2D): widths of -1; they are at least 0"},
      {[] { nn::ZeroPadding3D({1, 2}, first, "a"); }, "a (ZeroPadding3D): 2 widths for 3 axes; one is for all"},
      {[] { nn::Cropping1D({0, -2}, first, "a"); }, "a (Cropping1D): widths of -2; they are at least 0"},
      {[] { nn::Conv1DTranspose(2, 3, {.padding = "causal", .name = "a"}); },
       "a (Conv1DTranspose): a padding \"causal\"; valid and same are known"},
      {[] { nn::SeparableConv2D(2, 3, 0, {.name = "a"}); }, "a (SeparableConv2D): a multiplier of 0; it is at least 1"},
      {[] { nn::SeparableConv1D(2, 3, 1, {.groups = 2, .name = "a"}); },
       "a (SeparableConv1D): has no groups: each channel is one"},
      {[] { nn::SpatialDropout2D(1, first, "a"); }, "a (SpatialDropout2D): a rate of 1; it is at least 0 and below 1"},
      {[] { nn::GaussianDropout(-0.5, "a"); }, "a (GaussianDropout): a rate of -0.5; it is at least 0 and below 1"},
      {[] { nn::RepeatVector(0, "a"); }, "a (RepeatVector): 0 times; it is at least 1"},
      {[] { nn::ReLU({.threshold = -1, .name = "a"}); }, "a (ReLU): threshold is -1; it is at least 0, and finite"},
      {[] { nn::ReLU({.max_value = -1, .name = "a"}); }, "a (ReLU): max_value is -1; it is at least 0, and finite"},
      {[] { nn::LeakyReLU(-0.5, "a"); }, "a (LeakyReLU): negative_slope is -0.5; it is at least 0, and finite"},
      {[] { nn::ELU(std::nan(""), "a"); }, "a (ELU): alpha is nan; it is at least 0, and finite"},
      {[] { nn::UnitNormalization({}, "a"); }, "a (UnitNormalization): no axes"},
      {[] { nn::Dot({1, 1, 1}, {.name = "a"}); }, "a (Dot): 3 axes; one is for both inputs, or one each"},
      {[] { nn::Dot({0}, {.name = "a"}); }, "a (Dot): axis 0 is the batch, along which nothing is added up"},
      {[] { nn::TimeDistributed(nn::Add("b"), {}, "a"); },
       "a (TimeDistributed): a layer of one input is expected, and b (Add) has more"},
      {[] { nn::UpSampling2D({0}, nn::Interpolation::nearest, first, "a"); },
       "a (UpSampling2D): factors of 0; they are at least 1"},
      {[] { nn::GroupNormalization(0, 1e-3, "a"); }, "a (GroupNormalization): 0 groups; there is at least 1"},
      {[] { nn::LayerNormalization({.axes = {}, .name = "a"}); }, "a (LayerNormalization): no axes"},
      {[] { nn::Reshape({-1, nn::any_size}, {}, "a"); }, "a (Reshape): one size may be left open, but (?, ?)"},
      {[] { nn::Reshape({-3}, {}, "a"); }, "a (Reshape): a size of -3; sizes are at least 0, or any_size"},
      {[] { nn::Permute({0, 1}, "a"); }, "a (Permute): the order has each axis once, counted from 1"},
      {[] { nn::Permute({1, 1}, "a"); }, "a (Permute): the order has each axis once, counted from 1"},
      {[] { nn::Concatenate(0, "a"); }, "a (Concatenate): axis 0 is the batch, along which nothing is joined"},
      {[] { nn::Dense(2, {.name = "a/b"}); },
       "a layer named \"a/b\": names have no slash, which separates the names of weights"},
      {[] { nn::Input({3, -2}); }, "sizes are at least 0, or any_size"},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.message);
    std::string message = "nothing";
    try {
      refusal.make();
    } catch (const ct::ShapeError& error) {
      message = std::string("a ShapeError: ") + error.what();
    } catch (const ct::ValueError& error) {
      message = error.what();
    }
    CHECK(message.ends_with(refusal.message));
  }
  CHECK_THROWS_AS(nn::Dense(2, {.activation = "rely"}), ct::ValueError);
  CHECK_THROWS_AS(nn::Dense(2, {.kernel_initializer = "glorot"}), ct::ValueError);
}

TEST_CASE("sizes that layers do not take are named, with what they do", "[nn]") {
  struct Refusal {
    nn::Layer layer;
    std::vector<nn::Shape> inputs;
    std::string message;
  };
  const auto built = [](const nn::Layer& layer, const nn::Shape& shape) {
    layer.build({shape});
    return layer;
  };
  const std::int64_t any = nn::any_size;
  const std::vector<Refusal> refusals = {
      {nn::Dense(2, {.name = "a"}),
       {{}},
       "a (Dense): takes at least one axis after the batch: put Flatten or Reshape before it"},
      {nn::Dense(2, {.name = "a"}), {{3, any}}, "a (Dense): the weight kernel needs a size that is not stated: (?, 2)"},
      {built(nn::Dense(2, {.name = "a"}), {3}), {{4}}, "a (Dense): takes 3 features along the last axis, but (4,)"},
      {nn::Conv2D(2, 3, {.name = "a"}), {{28, 28}}, "a (Conv2D): takes images of 2 axes and channels, but (28, 28)"},
      {nn::Conv2D(2, 3, {.name = "a"}),
       {{28, 28, any}},
       "a (Conv2D): the weight kernel needs a size that is not stated: (3, 3, ?, 2)"},
      {nn::Conv2D(2, 3, {.name = "a"}), {{2, 28, 1}}, "a (Conv2D): a window of 3 elements in (2, 28, 1)"},
      {nn::Conv1D(2, 3, {.dilations = {2}, .name = "a"}), {{4, 1}}, "a (Conv1D): a window of 5 elements in (4, 1)"},
      {nn::Conv2D(2, 3, {.groups = 2, .name = "a"}), {{9, 9, 3}}, "a (Conv2D): 3 channels do not divide into 2 groups"},
      {built(nn::Conv2D(2, 3, {.layout = first, .name = "a"}), {1, 9, 9}),
       {{2, 9, 9}},
       "a (Conv2D): takes 1 channels, but (2, 9, 9)"},
      {built(nn::Conv2DTranspose(2, {3}, {.name = "a"}), {9, 9, 1}),
       {{9, 9, 2}},
       "a (Conv2DTranspose): takes 1 channels, but (9, 9, 2)"},
      {built(nn::DepthwiseConv2D({3}, 1, {.name = "a"}), {9, 9, 1}),
       {{9, 9, 2}},
       "a (DepthwiseConv2D): takes 1 channels, but (9, 9, 2)"},
      {nn::MaxPooling2D({2}, {.name = "a"}),
       {{4, 4}},
       "a (MaxPooling2D): takes images of 2 axes and channels, but (4, 4)"},
      {nn::AveragePooling1D(5, {.name = "a"}), {{4, 2}}, "a (AveragePooling1D): a window of 5 elements in (4, 2)"},
      {nn::GlobalMaxPooling2D(nn::Layout::channels_last, "a"),
       {{4, 2}},
       "a (GlobalMaxPooling2D): takes images of 2 axes and channels, but (4, 2)"},
      {nn::GlobalAveragePooling(nn::Layout::channels_last, "a"),
       {{4}},
       "a (GlobalAveragePooling): takes images of one axis or more and channels, but (4,)"},
      {nn::BatchNormalization({.axis = 3, .name = "a"}),
       {{4, 2}},
       "a (BatchNormalization): no axis 3 in the batch and 2 axes; the batch is not normalised"},
      {built(nn::BatchNormalization({.name = "a"}), {3}), {{4}}, "a (BatchNormalization): takes 3 channels, but (4,)"},
      {nn::LayerNormalization({.axes = {1, -1}, .name = "a"}), {{4}}, "a (LayerNormalization): the same axis twice"},
      {built(nn::LayerNormalization({.name = "a"}), {3}),
       {{4}},
       "a (LayerNormalization): takes (3,) along its axes, but (4,)"},
      {nn::GroupNormalization(2, 1e-3, "a"),
       {{4, 3}},
       "a (GroupNormalization): 3 channels do not divide into 2 groups"},
      {nn::Masking(0, {}, "a"), {{4}}, "a (Masking): takes (steps, features), but (4,)"},
      {nn::Reshape({4, 2}, {}, "a"), {{9}}, "a (Reshape): (9,) cannot become (4, 2)"},
      {nn::Reshape({any, 2}, {}, "a"), {{9}}, "a (Reshape): (9,) cannot become (?, 2)"},
      {nn::Permute({2, 1}, "a"), {{9}}, "a (Permute): an order of 2 axes for (9,)"},
      {nn::ZeroPadding2D(1, nn::Layout::channels_last, "a"),
       {{9, 9}},
       "a (ZeroPadding2D): takes images of 2 axes and channels, but (9, 9)"},
      {nn::Cropping1D({2, 1}, nn::Layout::channels_last, "a"),
       {{3, 9}},
       "a (Cropping1D): 2 and 1 elements off (3, 9): nothing is left"},
      {nn::SpatialDropout1D(0.5, "a"), {{9}}, "a (SpatialDropout1D): takes images of 1 axes and channels, but (9,)"},
      {nn::RepeatVector(2, "a"), {{3, 2}}, "a (RepeatVector): takes (features), but (3, 2)"},
      {nn::TimeDistributed(nn::Dense(2), {}, "a"), {{}}, "a (TimeDistributed): takes steps after the batch"},
      {built(nn::PReLU({.name = "a"}), {3, 2}), {{4, 2}}, "a (PReLU): has slopes of (3, 2), but (4, 2)"},
      {built(nn::PReLU({.name = "a"}), {3, 2}), {{3}}, "a (PReLU): has slopes of (3, 2), but (3,)"},
      {nn::PReLU({.shared_axes = {0}, .name = "a"}),
       {{3}},
       "a (PReLU): no axis 0 in the batch and 1 axes; the batch is always shared"},
      {built(nn::RMSNormalization(1e-6, "a"), {3}), {{4}}, "a (RMSNormalization): takes 3 features, but (4,)"},
      {nn::UnitNormalization({2}, "a"),
       {{3}},
       "a (UnitNormalization): no axis 2 in the batch and 1 axes; the batch is not normalised"},
      {built(nn::InstanceNormalization(1e-3, "a"), {5, 3}),
       {{5, 2}},
       "a (InstanceNormalization): takes 3 channels, but (5, 2)"},
      {built(nn::SeparableConv1D(2, 2, 1, {.name = "a"}), {5, 3}),
       {{5, 2}},
       "a (SeparableConv1D): takes 3 channels, but (5, 2)"},
      {nn::SeparableConv1D(2, 2, 1, {.name = "a"}),
       {{5, any}},
       "a (SeparableConv1D): the weight depthwise_kernel needs a size that is not stated: (2, ?, 1)"},
      {nn::Dot({1, 2}, {.name = "a"}), {{3}, {3, 4}}, "a (Dot): axes 1 of (3,) and 2 of (3, 4) have different sizes"},
      {nn::Dot(2, {.name = "a"}), {{3}, {3}}, "a (Dot): no axis 2 in 1 axes and the batch"},
      {nn::LSTM(3, {.name = "a"}), {{9}}, "a (LSTM): takes (steps, features), but (9,)"},
      {nn::LSTM(3, {.name = "a"}), {{9, any}}, "a (LSTM): the weight kernel needs a size that is not stated: (?, 12)"},
      {built(nn::GRU(3, {.name = "a"}), {5, 2}), {{5, 3}}, "a (GRU): takes 2 features, but (5, 3)"},
      {nn::Bidirectional(lstm(3), {}, "concat", "a"), {{9}}, "forward_a (LSTM): takes (steps, features), but (9,)"},
      {nn::Concatenate(1, "a"),
       {{3, 2}, {3, 3}},
       "a (Concatenate): sizes must be equal except along axis 1: (3, 2), (3, 3)"},
      {nn::Concatenate(-1, "a"),
       {{3}, {3, 3}},
       "a (Concatenate): sizes must be equal except along axis -1: (3,), (3, 3)"},
      {nn::Concatenate(3, "a"), {{3, 2}, {3, 2}}, "a (Concatenate): no axis 3 in 2 axes and the batch"},
      {nn::Add("a"), {{3}, {4}}, "a (Add): sizes must be equal, or 1: (3,) and (4,)"},
      {nn::Maximum("a"), {{3}, {3, 3}}, "a (Maximum): takes inputs with equally many axes, but (3,) and (3, 3)"},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.message);
    std::string message = "nothing";
    try {
      std::vector<nn::Tensor> inputs;
      for (const nn::Shape& shape : refusal.inputs) inputs.push_back(nn::Input(shape));
      refusal.layer(inputs);
    } catch (const ct::ShapeError& error) {
      message = error.what();
    } catch (const ct::ValueError& error) {
      // The axes are those given to the layer; they are found to be wrong when it gets its input.
      message = error.what();
    }
    CHECK((message.starts_with("test_nn_layers.cpp:") || message.starts_with("keras_layers.hpp:")));
    CHECK(message.ends_with(": " + refusal.message));
  }
}

TEST_CASE("messages of layers name the line that made them", "[nn]") {
  const auto message = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const ct::Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto here = [](int line) { return "test_nn_layers.cpp:" + std::to_string(line) + ": "; };
  CHECK(message([] { nn::Dense(0, {.name = "a"}); }) == here(__LINE__) + "a (Dense): 0 units; there is at least 1");
  const nn::Layer made_here = nn::Conv2D(3, 3, {.name = "a"});
  const int line = __LINE__ - 1;
  CHECK(message([&] { made_here(nn::Input({28, 28})); }) ==
        here(line) + "a (Conv2D): takes images of 2 axes and channels, but (28, 28)");
  CHECK(message([&] { nn::Sequential{nn::Dense(2, {.input_shape = {3}}), made_here}; }) ==
        here(line) + "a (Conv2D): takes images of 2 axes and channels, but (2,)");
}

TEST_CASE("the ops of a layer have its name and line", "[nn]") {
  const std::string flags = GENERATE(from_range(backends()));
  CAPTURE(flags);
  const ct::change_flags scope(flags);
  const nn::Layer rows = nn::Embedding(4, 2, {.input_shape = {3}, .name = "words"});
  const std::string line = "words, test_nn_layers.cpp:" + std::to_string(__LINE__ - 1);
  nn::Sequential model{rows, nn::Flatten()};
  std::string message;
  try {
    model.predict(Array{{1, 2, 4}}.astype(DType::int64));
  } catch (const ct::IndexError& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(message.find(line) != std::string::npos);
  CHECK(message.find("input is i64[1, 3] (" + line + ")") != std::string::npos);
  CHECK(message.find("model.cpp") == std::string::npos);
}

TEST_CASE("layers take the inputs that they are for", "[nn]") {
  const auto message = [](const nn::Layer& layer, std::size_t count) {
    try {
      layer(std::vector<nn::Tensor>(count, nn::Input({3})));
    } catch (const ct::TypeError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK(message(nn::Dense(2, {.name = "a"}), 2).starts_with("a (Dense), test_nn_layers.cpp:"));
  CHECK(message(nn::Dense(2, {.name = "a"}), 2).ends_with(": 2 input(s), where 1 are expected"));
  CHECK(message(nn::Add("a"), 1).ends_with(": 1 input(s), where 2 or more are expected"));
  CHECK(message(nn::Subtract("a"), 3).ends_with(": 3 input(s), where 2 are expected"));
  CHECK(message(nn::Concatenate(-1, "a"), 0).ends_with(": 0 input(s), where 2 or more are expected"));
  CHECK_THROWS_AS(nn::Dense(2)(ct::scalar("x")), ct::TypeError);
  CHECK_THROWS_AS(nn::Add()(ct::vector("x")), ct::TypeError);
  CHECK_THROWS_AS(nn::Dense(2)(ct::matrix("x")), ct::ShapeError);  // its sizes are not declared
  CHECK_THROWS_AS(nn::Input({3}).layer(), ct::TypeError);
}
