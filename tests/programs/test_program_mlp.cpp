// Theano's MLP: its types, gradients and updates, the compiled graph, losses that would not be finite as written, and
// the same program on another device. Losses and gradients are compared with plain loops in double.
#include "mlp.hpp"
#include "programs.hpp"
#include "unit/legacy_random.hpp"

namespace ct = croton;
using namespace croton::test;
using ct::Array;
using ct::DType;
using Kind = ct::TransferInfo::Kind;

namespace {

/// A machine whose first device has everything.
struct OnDevice {
  explicit OnDevice(Machine::Kind kind) : machine(kind), flag("device=" + machine.first) {}
  Machine machine;
  ct::change_flags flag;
};

constexpr std::int64_t rows = 40, inputs = 30, hidden = 24, classes = 7;
Array data() { return Array::normal(DType::float32, {rows, inputs}, 7); }

/// NumPy's argmax(p, axis=1).
std::vector<std::int64_t> best_of(const Array& p) {
  std::vector<std::int64_t> all;
  for (std::int64_t row = 0; row < p.shape(0); ++row) {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < p.shape(1); ++j) best = p.at<float>(row, j) > p.at<float>(row, best) ? j : best;
    all.push_back(best);
  }
  return all;
}

}  // namespace

TEST_CASE("C4.1 inputs and weights have the types that the program says, and keep their names") {
  const auto x = ct::matrix("x"), y = ct::ivector("y");
  CHECK(x.dtype() == DType::float32);
  CHECK(x.rank() == 2);
  CHECK(y.dtype() == DType::int32);
  CHECK(y.rank() == 1);
  const auto w = ct::shared(scaled_weights(inputs, hidden, classes).w1, {.name = "w1"});
  CHECK(w.dtype() == DType::float32);
  CHECK(w.rank() == 2);
  CHECK(w.name() == "w1");
  {
    const ct::change_flags wide{"floatX=float64"};
    CHECK(ct::matrix("x").dtype() == DType::float64);
    CHECK(ct::ivector("y").dtype() == DType::int32);
    CHECK(ct::shared(w.get_value()).dtype() == DType::float32);
  }
  const Mlp mlp(scaled_weights(inputs, hidden, classes));
  const std::string tree = ct::debugprint(mlp.loss), graph = mlp.train.graph();
  CHECK_THAT(tree, contains(" x [") && contains(" y [") && contains(" w1 [") && contains(" w2 [") && contains(" w3 ["));
  for (const char* line : {"x: f32[n, m] = input\n", "y: i32[n] = input\n", "w1: f32[", "update w1 = ", "update w3 = "})
    CHECK_THAT(graph, contains(line));
  std::ostringstream printed;
  printed << mlp.w2;
  CHECK_THAT(printed.str(), contains("w2"));
}

TEST_CASE("C4.2 relu is 0.5 (x + |x|), whose gradient at 0 is 0.5; softmax gives rows of probabilities") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  const auto v = ct::vector("v");
  const auto y = ct::nnet::relu(v);
  CHECK_THAT(ct::debugprint(y), contains("abs") && contains("add") && contains("0.5"));
  const ct::Function f = ct::function({v}, {y, ct::grad(ct::sum(y), v)});
  const auto results = f(Array{-2.f, -0.f, 0.f, 3.f});
  CHECK(values(results[0]) == std::vector<double>{0, 0, 0, 3});
  CHECK(values(results[1]) == std::vector<double>{0, 0.5, 0.5, 1});
  const MlpWeights weights = unscaled_weights(inputs, hidden, classes);
  const Mlp mlp(weights);
  MlpByLoops loops(weights);
  loops.train(data(), class_numbers(rows, classes));
  const Array p = mlp.predict(data());
  CHECK(difference(p, loops.probabilities) < 1e-3);
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::int64_t j = 0; j < classes; ++j) sum += p.at<float>(row, j);
    CHECK(sum == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("C4.3 C4.4 the loss of class numbers is a scalar of floatX; gradients come in order, each of its type") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  const MlpWeights weights = scaled_weights(inputs, hidden, classes);
  const Mlp mlp(weights);
  CHECK(mlp.loss.rank() == 0);
  CHECK(mlp.loss.dtype() == DType::float32);
  const ct::Variable each = ct::nnet::categorical_crossentropy(mlp.y_pred, mlp.y);
  CHECK(each.rank() == 1);
  REQUIRE(mlp.gradients.size() == 3);
  const ct::SharedVariable parameters[] = {mlp.w1, mlp.w2, mlp.w3};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(mlp.gradients[i].dtype() == parameters[i].dtype());
    CHECK(mlp.gradients[i].rank() == parameters[i].rank());
  }
  std::vector<ct::Variable> outputs{mlp.loss, each};
  outputs.insert(outputs.end(), mlp.gradients.begin(), mlp.gradients.end());
  const ct::Function f = ct::function({mlp.x, mlp.y}, outputs);
  const Array x = data(), y = class_numbers(rows, classes);
  const ct::Outputs results = f(x, y);
  MlpByLoops loops(weights);
  const double loss = loops.train(x, y);
  CHECK(results[0].item<double>() == Approx(loss).epsilon(1e-5));
  CHECK(results[1].shape() == ct::Sizes{rows});
  // The label is the number of the column.
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto column = static_cast<std::size_t>(y.at<std::int32_t>(row));
    CHECK(results[1].at<float>(row) ==
          Approx(-std::log(loops.probabilities.at(static_cast<std::size_t>(row), column))).epsilon(1e-4));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(results[2 + i].shape() == parameters[i].get_value().shape());
    CHECK(difference(results[2 + i], loops.gradients[i]) < 1e-5);
  }
}

TEST_CASE("C4.5 0.1 leaves updates float32; updates and outputs see the values before the call") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  const MlpWeights weights = scaled_weights(inputs, hidden, classes);
  const Mlp mlp(weights);
  for (const auto& [w, g] : {std::pair(mlp.w1, mlp.gradients[0]), {mlp.w2, mlp.gradients[1]}})
    CHECK((w - 0.1 * g).dtype() == DType::float32);
  MlpByLoops loops(weights);
  const Array x = data(), y = class_numbers(rows, classes);
  for (int step = 0; step < 3; ++step) {
    const double loss = loops.train(x, y);
    CHECK(mlp.train(x, y).item<double>() == Approx(loss).epsilon(1e-5));
    CHECK(difference(mlp.w1.get_value(), loops.w1) < 1e-5);
    CHECK(difference(mlp.w2.get_value(), loops.w2) < 1e-5);
    CHECK(difference(mlp.w3.get_value(), loops.w3) < 1e-5);
  }
  // A simpler case: two variables are swapped, and the outputs show their old values.
  const auto a = ct::shared(Array(1.f), {.name = "a"}), b = ct::shared(Array(10.f), {.name = "b"});
  const ct::Function swap = ct::function({}, {a, b}, {.updates = {{a, b}, {b, a}}});
  const auto seen = swap();
  CHECK(seen[0].item<float>() == 1);
  CHECK(seen[1].item<float>() == 10);
  CHECK(a.get_value().item<float>() == 10);
  CHECK(b.get_value().item<float>() == 1);
}

TEST_CASE("C4.6 the compiled step: a fused stable loss, three updates inside of products, no kernel that only copies") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  const Mlp mlp(unscaled_weights(inputs, hidden, classes));
  mlp.train(data(), class_numbers(rows, classes));  // from the first call on, weights are on the device of the work
  CHECK(mlp.train.product_count() == 8);
  CHECK_THAT(mlp.train.rewrites(), contains("  crossentropy-softmax     1\n"));
  const std::string graph = mlp.train.graph(), plan = mlp.train.plan();
  CHECK(count_of(graph, " = gemm(w") == 3);
  CHECK(count_of(graph, "alpha=-0.10000000149011612, beta=1.0)") == 3);
  std::size_t in_place = 0;
  for (const std::string& line : lines_of(plan)) {
    if (line.find(" update ") != std::string::npos && line.find(" in the memory of ") != std::string::npos) ++in_place;
  }
  CHECK(in_place == 3);
  // Two relus, two gradients of them, the loss of each row with its gradient, and the mean.
  const std::vector<ct::KernelInfo> kernels = mlp.train.kernels();
  CHECK(kernels.size() == 6);
  std::size_t relus = 0, slopes = 0, losses = 0;
  for (const ct::KernelInfo& kernel : kernels) {
    INFO(kernel.expression);
    const std::string& text = kernel.expression;
    CHECK(text.find('(', text.find('\n')) != std::string::npos);  // an op, not only a copy
    if (text.find("abs(") != std::string::npos) {
      ++relus;
      CHECK_THAT(text, contains("add(") && contains("f32 0.5"));
    }
    if (text.find("sgn(") != std::string::npos) ++slopes;
    if (text.find("exp(") != std::string::npos) {
      ++losses;
      CHECK_THAT(text, contains("max_or_lowest") && contains("log(") && contains("check "));
      CHECK(text.substr(0, text.find('\n')).find("(p2: f32[2], p3: f32[2])") != std::string::npos);
    }
  }
  CHECK(relus == 2);
  CHECK(slopes == 2);
  CHECK(losses == 1);
  CHECK(mlp.train.counts().kernels == 6);
  CHECK(mlp.train.counts().products == 8);
}

TEST_CASE("C4.7 inputs and updates by name; a scalar is a 0-d array; a list comes for a list alone") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  const Mlp mlp(scaled_weights(inputs, hidden, classes));
  const Array x = data(), y = class_numbers(rows, classes);
  const ct::Outputs one = mlp.train.call_named({{"y", y}, {"x", x}});
  CHECK_FALSE(one.is_list());
  CHECK(one.only().rank() == 0);
  CHECK(one.only().shape().empty());
  CHECK(one.only().dtype() == DType::float32);
  CHECK(mlp.w1.version() == 1);
  const ct::Outputs predicted = mlp.predict(x);
  CHECK_FALSE(predicted.is_list());
  CHECK(predicted.only().shape() == ct::Sizes{rows, classes});
  const ct::Function list = ct::function({mlp.x}, std::vector<ct::Variable>{mlp.y_pred});
  CHECK(list(x).is_list());
  CHECK(list(x).size() == 1);
  CHECK(list(x)[0].same_bits(predicted));
}

TEST_CASE("C4.8 unscaled weights: losses stay finite by the stability rules, and are those of loops in double") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  // Logits of some thousands, because the sums over 100 and 100 numbers are not scaled.
  const MlpWeights weights = unscaled_weights(100, 100, 10);
  const Array x = Array::normal(DType::float32, {80, 100}, 7), y = class_numbers(80, 10);
  {
    const Mlp mlp(weights);
    MlpByLoops loops(weights);
    for (int epoch = 0; epoch < 3; ++epoch) {
      const double loss = loops.train(x, y);
      CAPTURE(epoch);
      CHECK(loss > 100);
      CHECK(mlp.train(x, y).item<double>() == Approx(loss).epsilon(1e-3));
    }
    for (int epoch = 3; epoch < 100; ++epoch) REQUIRE(std::isfinite(mlp.train(x, y).item<double>()));
  }
  // As written, -log(softmax) is infinite from the first step.
  const ct::change_flags as_written{"optimizer=none"};
  CHECK(std::isinf(Mlp(weights).train(x, y).item<double>()));
}

TEST_CASE("C4.8 100 epochs of the program itself, with NumPy's numbers of seed 0", "[slow]") {
  LegacyRandom random(0);
  const Array x = random.normal_array({1000, 1000}).astype(DType::float32);
  const Array y = random.integer_array(0, 10, 1000).astype(DType::int32);
  MlpWeights weights;
  weights.w1 = random.normal_array({1000, 1000}).astype(DType::float32);
  weights.w2 = random.normal_array({1000, 1000}).astype(DType::float32);
  weights.w3 = random.normal_array({1000, 10}).astype(DType::float32);
  const Array x_train = x.slice(0, 0, 800), y_train = y.slice(0, 0, 800);
  const Mlp mlp(weights);
  std::vector<double> losses{0};  // epochs count from 1
  for (int epoch = 1; epoch <= 100; ++epoch) {
    losses.push_back(mlp.train(x_train, y_train).item<double>());
    REQUIRE(std::isfinite(losses.back()));
  }
  const double first[] = {22547.56, 4453994.6, 2013731.8, 75223.68, 1616.41};
  for (std::size_t i = 0; i < 5; ++i) CHECK(losses[i + 1] == Approx(first[i]).epsilon(1e-3));
  // Later the path is chaotic: only the order of magnitude is compared.
  for (const auto& [epoch, loss] : {std::pair(6U, 379.07), {10U, 45.4}, {20U, 4.68}, {30U, 1.68}, {100U, 1.456}}) {
    CAPTURE(epoch, losses[epoch]);
    CHECK(std::abs(std::log10(losses[epoch] / loss)) < 1);
  }
  // The labels are noise.
  const Array p = mlp.predict(x.slice(0, 800, 1000));
  const std::vector<std::int64_t> best = best_of(p);
  int right = 0;
  for (std::size_t i = 0; i < best.size(); ++i)
    right += best[i] == y.at<std::int32_t>(800 + static_cast<std::int64_t>(i)) ? 1 : 0;
  CHECK(right / 200. == Approx(0.115).margin(0.06));
}

TEST_CASE("C4.9 allow_input_downcast takes int64 labels and float64 data, and gives the same bits") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  const MlpWeights weights = scaled_weights(inputs, hidden, classes);
  const Mlp exact(weights), casting(weights, true);
  // Numbers that are not float32 numbers.
  Array wide = Array::normal(DType::float64, {rows, inputs}, 7);
  const Array y = class_numbers(rows, classes);
  const Array long_labels = y.astype(DType::int64);
  CHECK_THROWS_AS(exact.train(wide, y), ct::TypeError);
  CHECK_THROWS_AS(exact.train(wide.astype(DType::float32), long_labels), ct::TypeError);
  CHECK(exact.w1.version() == 0);
  for (int step = 0; step < 2; ++step)
    CHECK(casting.train(wide, long_labels).item<float>() == exact.train(wide.astype(DType::float32), y).item<float>());
  CHECK(casting.w1.get_value().same_bits(exact.w1.get_value()));
  CHECK(Array(casting.predict(wide)).same_bits(exact.predict(wide.astype(DType::float32))));
}

TEST_CASE("C4.10 predictions are an array of the host, whose largest of each row is compared with the labels") {
  const OnDevice on(GENERATE(from_range(program_machines())));
  const Mlp mlp(scaled_weights(inputs, hidden, classes));
  const Array x = Array::normal(DType::float32, {200, inputs}, 8), y = class_numbers(200, classes);
  Array p = mlp.predict(x);
  CHECK(p.device() == "cpu");
  CHECK(p.shape() == ct::Sizes{200, classes});
  CHECK(p.is_contiguous());
  CHECK(p.writable());
  const Array best = ct::argmax(ct::constant(p), 1).eval();
  CHECK(best.dtype() == DType::int64);
  REQUIRE(best.shape() == ct::Sizes{200});
  const std::vector<std::int64_t> expected = best_of(p);
  double right = 0;
  for (std::int64_t row = 0; row < 200; ++row) {
    REQUIRE(best.at<std::int64_t>(row) == expected[static_cast<std::size_t>(row)]);
    right += best.at<std::int64_t>(row) == y.at<std::int32_t>(row) ? 1 : 0;
  }
  CHECK(ct::mean(ct::eq(ct::constant(best), ct::constant(y))).eval().item<double>() == Approx(right / 200));
  // The caller owns it: writing to it changes no later result.
  const Array before = p.copy();
  p.copy_from(Array::zeros(DType::float32, p.shape()));
  CHECK(Array(mlp.predict(x)).same_bits(before));
}

TEST_CASE("C4.11 the flag alone moves the program to a device, and what it computes is the same") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const MlpWeights weights = scaled_weights(inputs, hidden, classes);
  const Array x = data(), y = class_numbers(rows, classes);
  struct Result {
    float loss;
    std::vector<Array> weights;
    Array predicted;
  };
  const auto run = [&](const std::string& device) {
    const ct::change_flags flags("device=" + device);
    const Mlp mlp(weights);
    Result result{mlp.train(x, y).item<float>(), {}, {}};
    CHECK(mlp.train.devices() == std::vector{device});
    // Transferred: the arguments, and the loss back. Not transferred: the weights, which are on the device from the
    // start.
    std::vector<std::string> moved;
    if (device != "cpu") {
      const std::string there = ": cpu -> " + device + ", ", back = ": " + device + " -> cpu, ";
      moved = {"input x" + there + "4800 bytes", "input y" + there + "160 bytes", "output loss" + back + "4 bytes"};
    }
    CHECK(sent_by(mlp.train) == moved);
    for (const ct::SharedVariable& w : {mlp.w1, mlp.w2, mlp.w3}) {
      CHECK(w.home() == device);
      result.weights.push_back(w.get_value());
    }
    result.predicted = mlp.predict(x);
    return result;
  };
  const Result host = run("cpu"), there = run(machine.first);
  CHECK(there.loss == Approx(host.loss).epsilon(1e-4));
  for (std::size_t i = 0; i < 3; ++i) CHECK(there.weights[i].all_close(host.weights[i], 1e-4, 1e-6));
  CHECK(there.predicted.all_close(host.predicted, 1e-4, 1e-6));
}
