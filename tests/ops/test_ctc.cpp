// Connectionist temporal classification compared with the sum over all paths, in long double.
#include "samples.hpp"

#include <functional>
#include <numeric>

using namespace croton_test;
namespace nnet = croton::nnet;

namespace {

using Longs = std::vector<std::int64_t>;

struct Sample {
  Array activations;  // (length, sequences, classes)
  std::vector<Longs> labels;
  Longs lengths;
  std::int64_t blank = 0;
};

/// The labels as a matrix whose rows are filled with -1.
Array matrix_of(const std::vector<Longs>& rows, std::int64_t width) {
  Array result = Array::full(DType::int64, {static_cast<std::int64_t>(rows.size()), width}, -1);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t k = 0; k < rows[row].size(); ++k)
      result.at<std::int64_t>(static_cast<std::int64_t>(row), static_cast<std::int64_t>(k)) = rows[row][k];
  }
  return result;
}

/// The cost of one sequence: every path is read, and counts if it spells the labels.
long double cost_by_all_paths(const Sample& sample, std::int64_t b) {
  const std::int64_t steps = sample.lengths[static_cast<std::size_t>(b)], classes = sample.activations.shape()[2];
  const std::int64_t sequences = sample.activations.shape()[1], blank = (sample.blank + classes) % classes;
  std::vector<std::vector<long double>> p;
  for (std::int64_t t = 0; t < steps; ++t) {
    std::vector<long double>& row = p.emplace_back();
    for (std::int64_t c = 0; c < classes; ++c)
      row.push_back(
          std::exp(static_cast<long double>(sample.activations.as_double((t * sequences + b) * classes + c))));
    const long double total = std::accumulate(row.begin(), row.end(), 0.0L);
    for (long double& e : row) e /= total;
  }
  const Longs& wanted = sample.labels[static_cast<std::size_t>(b)];
  long double probability = 0;
  const std::function<void(std::int64_t, std::int64_t, const Longs&, long double)> read =
      [&](std::int64_t t, std::int64_t before, const Longs& said, long double product) {
        if (t == steps) {
          if (said == wanted) probability += product;
          return;
        }
        for (std::int64_t c = 0; c < classes; ++c) {
          Longs more = said;
          if (c != blank && c != before) more.push_back(c);
          read(t + 1, c, more, product * p[static_cast<std::size_t>(t)][static_cast<std::size_t>(c)]);
        }
      };
  read(0, -1, {}, 1);
  return -std::log(probability);
}

Array numbers(Sizes shape, std::uint64_t seed, double size = 2) {
  return Array::uniform(DType::float64, std::move(shape), seed, -size, size);
}

struct Symbols {
  Variable activations, labels = ct::lmatrix("labels"), lengths = ct::lvector("lengths");
  explicit Symbols(DType dtype)
      : activations(ct::variable({dtype, {ct::unknown_size, ct::unknown_size, ct::unknown_size}}, "activations")) {}
  std::vector<ct::In> all() const { return {activations, labels, lengths}; }
};

}  // namespace

TEST_CASE("ctc is the sum over all paths", "[ctc]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const std::vector<Sample> samples = {
      {numbers({5, 4, 3}, 1), {{1, 2}, {1, 1}, {2}, {}}, {5, 4, 3, 2}},
      {numbers({6, 3, 3}, 2), {{0, 1, 0}, {1, 1}, {0, 0, 1}}, {6, 3, 5}, -1},
      {numbers({4, 2, 4}, 3), {{0, 3}, {3, 2, 3}}, {2, 4}, 1},
      {numbers({3, 1, 1}, 4), {{}}, {3}},
      {numbers({1, 2, 2}, 5), {{1}, {}}, {1, 0}},
      {numbers({0, 1, 2}, 6), {{}}, {0}},
  };
  for (const auto& [dtype, bound] :
       {std::pair{DType::float64, 1e-14}, {DType::float32, 1e-6}, {DType::float16, 1e-3}}) {
    CAPTURE(name_of(dtype));
    const Symbols in(dtype);
    for (const Sample& given : samples) {
      Sample sample = given;
      sample.activations = sample.activations.astype(dtype);
      const auto f = compile(mode, in.all(), {nnet::ctc(in.activations, in.labels, in.lengths, sample.blank)});
      for (const std::int64_t width : {3, 5}) {
        const Array got = f(sample.activations, matrix_of(sample.labels, width), Array(sample.lengths))[0];
        REQUIRE(got.dtype() == dtype);
        REQUIRE(got.size() == static_cast<std::int64_t>(sample.labels.size()));
        for (std::int64_t b = 0; b < got.size(); ++b) {
          CAPTURE(b);
          const auto wanted = static_cast<double>(cost_by_all_paths(sample, b));
          CHECK(std::abs(got.as_double(b) - wanted) <= bound * std::max(1.0, std::abs(wanted)));
        }
      }
    }
  }
}

TEST_CASE("ctc has the gradient of its value, and none where labels do not fit", "[ctc]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  const auto loss = [](const std::vector<Variable>& in) {
    return nnet::ctc(in[0], ct::constant(matrix_of({{1, 2, 1}, {2, 2}, {}, {2}}, 4)),
                     ct::constant(Array(Longs{5, 4, 3, 0})));
  };
  const auto of_blank = [](const std::vector<Variable>& in) {
    return nnet::ctc(in[0], ct::constant(matrix_of({{1, 0, 1}, {0, 0}, {}, {1}}, 3)),
                     ct::constant(Array(Longs{5, 4, 3, 4})), -1);
  };
  CHECK(grad_error(of_blank, {numbers({5, 4, 3}, 7)}, 1) < 1e-6);

  // The last sequence has a label and no steps: its cost is infinite, and does not affect the others.
  const Variable x = ct::dtensor3("x");
  const Variable cost = loss({x});
  const auto r = compile(mode, {x}, {cost, ct::grad(ct::sum(cost), x)})(numbers({5, 4, 3}, 8));
  for (std::int64_t b = 0; b < 3; ++b) CHECK(std::isfinite(r[0].as_double(b)));
  CHECK(r[0].as_double(3) == std::numeric_limits<double>::infinity());
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t b = 0; b < 4; ++b) {
      double sum = 0, size = 0;
      for (std::int64_t c = 0; c < 3; ++c) {
        const double g = r[1].as_double((t * 4 + b) * 3 + c);
        sum += g;
        size += std::abs(g);
      }
      CHECK(std::abs(sum) < 1e-14);  // a softmax does not depend on a common term of all classes
      CHECK((size > 0) == (t < std::vector{5, 4, 3, 0}[static_cast<std::size_t>(b)]));
    }
  }
}

TEST_CASE("ctc of long sequences and far activations", "[ctc]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  // The reference evaluator and the simulator take a millisecond for a step.
  const bool is_gpu = mode.starts_with("device=cuda") && croton_test::without_simulator();
  const std::int64_t steps = croton_test::is_cpu(mode) || is_gpu ? 600 : 60;
  const auto make = [&](DType dtype) {
    const Symbols in(dtype);
    const Variable cost = nnet::ctc(in.activations, in.labels, in.lengths);
    return compile(mode, in.all(), {cost, ct::grad(ct::sum(cost), in.activations)});
  };
  const auto f = make(DType::float32), wide = make(DType::float64);
  const Array labels = matrix_of({Longs(20, 3), {4, 1, 4, 4, 2}}, 20), lengths(Longs{steps, steps - 7});
  for (const double size : {1.0, 1e4}) {
    CAPTURE(size);
    const Array x = numbers({steps, 2, 5}, 9, size).astype(DType::float32);
    const auto narrow = f(x, labels, lengths), exact = wide(x.astype(DType::float64), labels, lengths);
    // One rounding of float32 in each log-probability, which add up to the cost.
    for (std::int64_t b = 0; b < 2; ++b) CHECK(narrow[0].as_double(b) == Approx(exact[0].as_double(b)).epsilon(1e-6));
    double worst = 0;
    for (std::int64_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::abs(narrow[1].as_double(i) - exact[1].as_double(i)));
    CHECK(worst < 1e-4 * size);
    CHECK(std::isfinite(worst));
  }
  // nan in, nan out; the other sequence is unchanged.
  Array x = numbers({steps, 2, 5}, 10).astype(DType::float32);
  const double second = f(x, labels, lengths)[0].as_double(1);
  x.at<float>(3, 0, 1) = std::numeric_limits<float>::quiet_NaN();
  const auto r = f(x, labels, lengths);
  CHECK(std::isnan(r[0].as_double(0)));
  CHECK(r[0].as_double(1) == second);
  // Nothing is read after the end of a sequence.
  const auto before = f(numbers({steps, 2, 5}, 10).astype(DType::float32), labels, lengths);
  x.at<float>(steps - 3, 1, 1) = std::numeric_limits<float>::quiet_NaN();
  const auto after = f(x, labels, lengths);
  CHECK(after[0].as_double(1) == second);
  bool same = true;
  for (std::int64_t i = 0; i < (steps - 7) * 10; ++i)
    same = same && (i % 10 < 5 || after[1].as_double(i) == before[1].as_double(i));
  CHECK(same);
  // Steps without a path have no part in a later nan.
  Array blanks = numbers({5, 1, 2}, 11).astype(DType::float32);
  blanks.at<float>(1, 0, 0) = -std::numeric_limits<float>::infinity();
  blanks.at<float>(3, 0, 0) = std::numeric_limits<float>::quiet_NaN();
  const auto late = f(blanks, matrix_of({{}}, 1), Array(Longs{5}));
  CHECK(std::isnan(late[0].as_double(0)));
  for (std::int64_t i = 0; i < 8; ++i) CHECK((i < 6 ? late[1].as_double(i) == 0 : std::isnan(late[1].as_double(i))));
  // All paths contain the huge logarithm of one step, and no other digits are left. Before that step their shares still
  // add up to 1, so that the gradient with respect to a class that none of them emits is its probability.
  Array unlikely = Array::zeros(DType::float32, {5, 1, 4});
  unlikely.at<float>(3, 0, 3) = 1e38f;
  const auto shares = f(unlikely, matrix_of({{1}}, 1), Array(Longs{5}));
  for (std::int64_t step = 0; step < 3; ++step) CHECK(shares[1].as_double(4 * step + 3) == Approx(0.25).epsilon(1e-6));
}

TEST_CASE("ctc of a batch, and its Jacobian", "[ctc]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  const Symbols in(DType::float64);
  const Variable cost = nnet::ctc(in.activations, in.labels, in.lengths);
  const Variable many = ct::variable({DType::float64, Sizes(4, ct::unknown_size)}, "many"),
                 labels = ct::variable({DType::int64, Sizes(3, ct::unknown_size)}, "labels");
  const Array x = numbers({3, 4, 2, 3}, 12), lengths(Longs{4, 3});
  const Array rows = matrix_of({{1, 2}, {2}, {2, 2}, {}, {}, {1, 2}}, 2).reshape({3, 2, 2});
  const auto one = compile(mode, in.all(), {cost, ct::jacobian(cost, in.activations)});
  const std::vector<Variable> batched =
      ct::vectorize({cost, ct::grad(ct::sum(cost), in.activations)}, {{in.activations, many}, {in.labels, labels}});
  const auto r = compile(mode, {many, labels, in.lengths}, batched)(x, rows, lengths);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto wanted =
        one(x.slice(0, i, i + 1).copy().reshape({4, 2, 3}), rows.slice(0, i, i + 1).copy().reshape({2, 2}), lengths);
    for (std::int64_t b = 0; b < 2; ++b) {
      CHECK(r[0].as_double(i * 2 + b) == Approx(wanted[0].as_double(b)).epsilon(1e-13));
      for (std::int64_t t = 0; t < 4; ++t) {
        for (std::int64_t c = 0; c < 3; ++c) {
          const std::int64_t own = (t * 2 + b) * 3 + c, other = (t * 2 + 1 - b) * 3 + c;
          CHECK(r[1].as_double(i * 24 + own) == Approx(wanted[1].as_double(b * 24 + own)).margin(1e-13));
          CHECK(wanted[1].as_double(b * 24 + other) == 0);
        }
      }
    }
  }
  CHECK_THROWS_AS(ct::hessian(ct::sum(cost), in.activations), ct::NotImplementedError);
  Records::all().add(ops_of(batched), "batch");
}

TEST_CASE("ctc refuses what it has no answer for", "[ctc]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const Symbols in(DType::float64);
  const auto f = compile(mode, in.all(), {nnet::ctc(in.activations, in.labels, in.lengths)});
  const Array x = numbers({4, 2, 3}, 11), labels{{std::int64_t{1}}, {std::int64_t{2}}}, lengths(Longs{4, 3});
  CHECK_NOTHROW(f(x, labels, lengths));
  CHECK_THROWS_WITH(f(x, Array{{std::int64_t{1}}, {std::int64_t{3}}}, lengths),
                    Catch::Matchers::Contains("ctc: a label of 3 is not one of 3 classes"));
  CHECK_THROWS_WITH(f(x, labels, Array(Longs{4, 5})), Catch::Matchers::Contains("ctc: an input length of 5"));
  CHECK_THROWS_AS(f(x, labels, Array(Longs{-1, 4})), ct::IndexError);
  CHECK_THROWS_AS(f(x, labels, Array(Longs{4})), ct::ShapeError);
  CHECK_THROWS_AS(f(x, Array{{std::int64_t{1}}}, lengths), ct::ShapeError);
  const auto third = compile(mode, in.all(), {nnet::ctc(in.activations, in.labels, in.lengths, 3)});
  CHECK_THROWS_AS(third(x, labels, lengths), ct::IndexError);
  CHECK_THROWS_AS(nnet::ctc(ct::dmatrix("m"), in.labels, in.lengths), ct::TypeError);
  CHECK_THROWS_AS(nnet::ctc(in.activations, ct::dmatrix("m"), in.lengths), ct::TypeError);
  CHECK_THROWS_AS(nnet::ctc(in.activations, in.labels, in.labels), ct::TypeError);
  CHECK_THROWS_AS(nnet::ctc(ct::cast(in.activations, DType::complex128), in.labels, in.lengths), ct::TypeError);
}
