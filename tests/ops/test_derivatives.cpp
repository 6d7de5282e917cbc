// The tools for gradients: arguments and results of grad, gradient ops, products with the Jacobian from both sides,
// Jacobians, Hessians and vectorisation, all against differences or against one value at a time.
#include "samples.hpp"

#include "builder/node.hpp"
#include "ops/arrays/scatter.hpp"

#include <set>

using namespace croton_test;
namespace expr = croton::expr;
using ct::grad;
using ct::slice;

namespace {

const std::vector<std::string> modes = backends();
using Inputs = std::vector<Variable>;

Array real(const Sizes& shape, std::uint64_t seed, double low = -2, double high = 2) {
  return Array::uniform(DType::float64, shape, seed, low, high);
}

Variable input(std::size_t rank, const std::string& name, DType dtype = DType::float64) {
  return ct::variable({dtype, Sizes(rank, ct::unknown_size)}, name);
}

std::vector<ct::In> as_inputs(const Inputs& variables) { return {variables.begin(), variables.end()}; }
ct::Outputs call(const Compiled& f, const std::vector<Array>& values) {
  return f.call(std::vector<ct::Argument>(values.begin(), values.end()));
}

/// An expression of one or more float64 variables.
struct Case {
  std::string name;
  std::function<Variable(const Inputs&)> f;
  std::vector<Array> points;
  Inputs variables() const {
    Inputs list;
    for (const Array& point : points)
      list.push_back(input(point.shape().size(), "x" + std::to_string(list.size()), point.dtype()));
    return list;
  }
};

std::vector<Case> cases() {
  const std::vector<Array> vector = {real({4}, 1)}, matrix = {real({3, 4}, 2)};
  const Array targets{std::int64_t{1}, std::int64_t{0}, std::int64_t{3}};
  return {
      {"exp", [](const Inputs& x) { return ct::exp(x[0]) * x[0]; }, vector},
      {"two operands that broadcast",
       [](const Inputs& x) { return ct::tanh(x[0] + x[1]) / (2 + ct::sqr(x[1])); },
       {real({3, 4}, 1), real({4}, 2)}},
      {"a scalar", [](const Inputs& x) { return ct::sin(x[0]) * x[1]; }, {real({}, 1), real({3}, 2)}},
      {"sum", [](const Inputs& x) { return ct::sqr(ct::sum(x[0] * x[0], 0)); }, matrix},
      {"mean and var", [](const Inputs& x) { return ct::mean(x[0], 1) * ct::var(x[0], 1); }, matrix},
      {"prod and max", [](const Inputs& x) { return ct::prod(x[0], 1) + ct::max(x[0], 1); }, matrix},
      {"where", [](const Inputs& x) { return ct::where(x[0] > 0, ct::sqr(x[0]), ct::exp(x[0])); }, matrix},
      {"cast", [](const Inputs& x) { return ct::sqr(ct::cast(x[0] * 2, DType::float64)); }, vector},
      {"transpose and reshape", [](const Inputs& x) { return ct::sqr(ct::reshape(x[0].T(), {2, -1})); }, matrix},
      {"new axes", [](const Inputs& x) { return ct::exp(ct::dimshuffle(x[0], {1, ct::broadcast_axis, 0})); }, matrix},
      {"alloc", [](const Inputs& x) { return ct::sqr(ct::alloc(x[0], {2, x[0].shape(0), 4})); }, matrix},
      {"alloc of a vector", [](const Inputs& x) { return ct::sqr(ct::alloc(x[0], {3, 4})); }, vector},
      {"slices", [](const Inputs& x) { return ct::sqr(x[0].at({slice(1, {}), slice({}, {}, -2)})); }, matrix},
      {"an index", [](const Inputs& x) { return ct::exp(x[0][1]) * x[0].at({0, 2}); }, matrix},
      {"overlapping slices", [](const Inputs& x) { return x[0][slice(1, {})] * x[0][slice({}, -1)]; }, vector},
      {"arange", [](const Inputs& x) { return ct::sqr(ct::arange(x[0].shape(0)) * x[0]); }, vector},
      {"arange of floats",
       [](const Inputs& x) { return ct::sqr(ct::arange(x[0][0], x[0][0] + 3, 1.0)); },
       {Array{0.3, 1.0}}},
      {"dot", [](const Inputs& x) { return ct::tanh(ct::dot(x[0], x[1])); }, {real({3, 4}, 1), real({4, 2}, 2)}},
      {"dot of itself", [](const Inputs& x) { return ct::dot(x[0], x[0].T()); }, matrix},
      {"dot of vectors", [](const Inputs& x) { return ct::dot(x[0], x[0]) * x[0]; }, vector},
      {"batched_dot",
       [](const Inputs& x) { return ct::batched_dot(x[0], x[1]); },
       {real({2, 2, 3}, 1), real({2, 3, 2}, 2)}},
      {"matmul",
       [](const Inputs& x) { return ct::matmul(x[0], ct::sqr(x[1])); },
       {real({2, 3}, 1), real({2, 3, 2}, 2)}},
      {"softmax", [](const Inputs& x) { return ct::nnet::softmax(x[0]); }, matrix},
      {"softmax along rows", [](const Inputs& x) { return ct::nnet::softmax(x[0], 0); }, matrix},
      {"log_softmax", [](const Inputs& x) { return ct::nnet::log_softmax(x[0]); }, matrix},
      {"logsumexp", [](const Inputs& x) { return ct::nnet::logsumexp(x[0], 0); }, matrix},
      {"cross-entropy",
       [targets](const Inputs& x) {
         return ct::nnet::categorical_crossentropy(ct::nnet::softmax(x[0]), ct::constant(targets));
       },
       matrix},
      {"a network",
       [](const Inputs& x) { return ct::nnet::log_softmax(ct::dot(ct::tanh(ct::dot(x[0], x[1])), x[1].T())); },
       {real({3, 4}, 1), real({4, 2}, 2)}},
      {"marks",
       [](const Inputs& x) { return ct::grad_clip(ct::grad_scale(ct::sqr(x[0]), 1), -1e9, 1e9) * ct::exp(x[0]); },
       vector},
      {"no elements", [](const Inputs& x) { return ct::sqr(x[0]); }, {Array::zeros(DType::float64, {0})}},
      {"one element", [](const Inputs& x) { return ct::sqr(ct::dot(x[0], x[0])); }, {real({1, 1}, 3)}},
  };
}

/// (f(x + h v) - f(x - h v)) / 2h.
Array along(const Compiled& f, const std::vector<Array>& points, const std::vector<Array>& direction) {
  const double h = 1e-5;
  const auto at = [&](double step) {
    std::vector<Array> moved;
    for (std::size_t i = 0; i < points.size(); ++i) {
      moved.push_back(points[i].copy());
      for (std::int64_t k = 0; k < points[i].size(); ++k)
        moved[i].data<double>()[static_cast<std::size_t>(k)] += step * direction[i].as_double(k);
    }
    return call(f, moved)[0].copy();
  };
  Array up = at(h);
  const Array down = at(-h);
  for (std::int64_t k = 0; k < up.size(); ++k) {
    double& value = up.data<double>()[static_cast<std::size_t>(k)];
    value = (value - down.as_double(k)) / (2 * h);
  }
  return up;
}

double total(const Array& a, const Array& b) {
  double sum = 0;
  for (std::int64_t k = 0; k < a.size(); ++k) sum += a.as_double(k) * b.as_double(k);
  return sum;
}

/// The unit vector of one element.
Array unit(const Sizes& shape, std::int64_t at) {
  Array one = Array::zeros(DType::float64, shape);
  one.data<double>()[static_cast<std::size_t>(at)] = 1;
  return one;
}

}  // namespace

TEST_CASE("Rop and Lop of all kinds of ops", "[ops]") {
  const std::string mode = GENERATE("mode=reference", "mode=run");
  const auto list = cases();
  for (std::size_t i = 0; i < list.size(); i += mode == "mode=run" ? 4 : 1) {
    const Case& c = list[i];
    INFO(c.name);
    const Inputs x = c.variables();
    const Variable y = c.f(x);
    const auto f = compile(mode, as_inputs(x), {y});
    const Array value = call(f, c.points)[0];
    std::vector<Array> direction;
    Inputs directions, all = x;
    for (const Array& point : c.points) {
      direction.push_back(real(point.shape(), 7 + direction.size(), -1, 1));
      directions.push_back(input(point.shape().size(), "v"));
    }
    const Variable weight = input(static_cast<std::size_t>(y.rank()), "w");
    all.insert(all.end(), directions.begin(), directions.end());
    all.push_back(weight);
    std::vector<Variable> outputs = ct::Lop({y}, x, {weight});
    outputs.push_back(ct::Rop({y}, x, directions)[0]);
    CHECK(outputs.back().rank() == y.rank());
    std::vector<Array> values = c.points;
    values.insert(values.end(), direction.begin(), direction.end());
    values.push_back(real(value.shape(), 5));
    const auto r = call(compile(mode, as_inputs(all), outputs), values);
    const Array numeric = along(f, c.points, direction);
    CHECK(r[x.size()].all_close(numeric, 1e-6, 1e-6));
    // <w, J v> = <J' w, v>
    double left = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      CHECK(r[k].shape() == c.points[k].shape());
      left += total(r[k], direction[k]);
    }
    CHECK(left == Approx(total(values.back(), numeric)).margin(1e-5));
  }
}

TEST_CASE("Jacobians of all kinds of ops", "[ops]") {
  const std::string mode = GENERATE(from_range(one_backend_per_kind()));
  const auto list = cases();
  for (std::size_t i = 0; i < list.size(); i += mode == "mode=reference" ? 1 : 5) {
    const Case& c = list[i];
    INFO(c.name);
    const Inputs x = c.variables();
    const Variable y = c.f(x);
    const auto f = compile(mode, as_inputs(x), {y});
    const Array value = call(f, c.points)[0];
    const std::vector<Variable> jacobians = ct::jacobian(y, x);
    const auto r = call(compile(mode, as_inputs(x), jacobians), c.points);
    for (std::size_t k = 0; k < x.size(); ++k) {
      Sizes shape = value.shape();
      shape.insert(shape.end(), c.points[k].shape().begin(), c.points[k].shape().end());
      REQUIRE(r[k].shape() == shape);
      const std::int64_t columns = c.points[k].size();
      for (std::int64_t column = 0; column < columns; ++column) {
        std::vector<Array> direction;
        for (std::size_t other = 0; other < x.size(); ++other) {
          const Sizes& own = c.points[other].shape();
          direction.push_back(other == k ? unit(own, column) : Array::zeros(DType::float64, own));
        }
        const Array numeric = along(f, c.points, direction);
        for (std::int64_t row = 0; row < value.size(); ++row)
          CHECK(r[k].as_double(row * columns + column) == Approx(numeric.as_double(row)).epsilon(1e-5).margin(1e-6));
      }
    }
  }
}

TEST_CASE("a Jacobian of a length that is known when it is called", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const Variable x = input(1, "x");
  const auto f = compile(mode, {x}, {ct::jacobian(ct::sqr(x), x), ct::hessian(ct::sum(x * x * x), x)});
  for (const std::int64_t n : {3, 1, 0}) {
    const Array at = real({n}, 3);
    const auto r = f(at);
    Array twice = Array::zeros(DType::float64, {n, n}), six = twice.copy();
    for (std::int64_t i = 0; i < n; ++i) {
      twice.at<double>(i, i) = 2 * at.as_double(i);
      six.at<double>(i, i) = 6 * at.as_double(i);
    }
    CHECK(r[0].all_close(twice, 1e-12, 1e-12));
    CHECK(r[1].all_close(six, 1e-12, 1e-12));
  }
}

TEST_CASE("Hessians are symmetric, and are what differences of gradients say", "[ops]") {
  const std::string mode = GENERATE("mode=reference", "mode=run");
  const auto list = cases();
  for (std::size_t i = 0; i < list.size(); i += mode == "mode=run" ? 6 : 1) {
    const Case& c = list[i];
    if (c.name.find("max") != std::string::npos || c.name.find("prod") != std::string::npos) continue;  // kinks, zeros
    INFO(c.name);
    const Inputs x = c.variables();
    const Variable cost = ct::sum(ct::sqr(c.f(x)));
    const Variable v = input(static_cast<std::size_t>(x[0].rank()), "v");
    const auto gradient = compile(mode, as_inputs(x), {grad(cost, x[0])});
    const Array direction = real(c.points[0].shape(), 11);
    Inputs all = x;
    all.push_back(v);
    std::vector<Array> values = c.points;
    values.push_back(direction);
    const auto r =
        call(compile(mode, as_inputs(all), {ct::hessian(cost, x[0]), ct::hessian_times_vector(cost, x[0], v)}), values);
    const std::int64_t n = c.points[0].size();
    std::vector<Array> directions{direction};
    for (std::size_t k = 1; k < x.size(); ++k) directions.push_back(Array::zeros(DType::float64, c.points[k].shape()));
    const Array numeric = along(gradient, c.points, directions);
    CHECK(r[1].all_close(numeric, 1e-5, 1e-4));
    for (std::int64_t row = 0; row < n; ++row) {
      double product = 0;
      for (std::int64_t column = 0; column < n; ++column) {
        CHECK(r[0].as_double(row * n + column) == Approx(r[0].as_double(column * n + row)).margin(1e-9));
        product += r[0].as_double(row * n + column) * direction.as_double(column);
      }
      CHECK(product == Approx(r[1].as_double(row)).margin(1e-8));
    }
  }
}

TEST_CASE("vectorize is the expression for each of a batch", "[ops]") {
  const std::string mode = GENERATE("mode=reference", "mode=run");
  const auto list = cases();
  for (std::size_t i = 0; i < list.size(); i += mode == "mode=run" ? 5 : 1) {
    const Case& c = list[i];
    const Inputs x = c.variables();
    const Variable y = c.f(x);
    const auto one = compile(mode, as_inputs(x), {y});
    // Each input batched alone, then all inputs.
    for (std::size_t which = 0; which <= x.size(); ++which) {
      INFO(c.name << ", batched: " << which);
      std::vector<std::pair<Variable, Variable>> batched;
      Inputs all = x;
      std::vector<Array> values = c.points, batches = c.points;
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (which < x.size() && which != k) continue;
        Sizes shape{3};
        shape.insert(shape.end(), c.points[k].shape().begin(), c.points[k].shape().end());
        all[k] = input(shape.size(), "batch");
        batches[k] = real(shape, 20 + k, 0.1, 2);
        batched.emplace_back(x[k], all[k]);
      }
      if (c.name == "arange of floats") batches[0] = Array{{0.3, 1.0}, {0.1, 2.0}, {0.25, 0.0}};
      Variable many;
      try {
        many = ct::vectorize({y}, batched)[0];
      } catch (const ct::NotImplementedError& e) {
        // The count depends on the values.
        CHECK(c.name == "arange of floats");
        CHECK_THAT(e.what(), Catch::Contains("the count would differ along the batch"));
        continue;
      }
      const Array got = call(compile(mode, as_inputs(all), {many}), batches)[0];
      for (std::int64_t index = 0; index < 3; ++index) {
        for (std::size_t k = 0; k < x.size(); ++k) {
          if (batches[k].rank() > c.points[k].rank())
            values[k] = batches[k].slice(0, index, index + 1).copy().reshape(c.points[k].shape());
        }
        const Array wanted = call(one, values)[0];
        REQUIRE(got.rank() == wanted.rank() + 1);
        CHECK(got.slice(0, index, index + 1).copy().reshape(wanted.shape()).all_close(wanted, 1e-12, 1e-12));
      }
      const ct::change_flags flags(mode);
      Records::all().add(ops_of({y}), "batch");
    }
  }
}

TEST_CASE("vectorize rejects some inputs, and takes the others", "[ops]") {
  const Variable x = input(1, "x"), many = input(2, "many"), n = ct::lscalar("n"), ns = ct::lvector("ns");
  CHECK_THROWS_AS(ct::vectorize({x}, {{x, x}}), ct::TypeError);
  CHECK_THROWS_AS(ct::vectorize({x}, {{x, ct::fmatrix("f")}}), ct::TypeError);
  CHECK_THROWS_AS(ct::vectorize({x}, {}), ct::ValueError);
  CHECK_THROWS_AS(ct::vectorize({x[n]}, {{n, ns}}), ct::NotImplementedError);
  CHECK_THROWS_AS(ct::vectorize({ct::alloc(1.0, {n})}, {{n, ns}}), ct::NotImplementedError);
  const std::string mode = GENERATE(from_range(modes));
  // Each batch has one size, and no row may borrow from another.
  const Variable i = ct::lvector("i"), rows = ct::lmatrix("rows"), y = input(1, "y"), ys = input(2, "ys");
  const auto put = compile(mode, {many, ys, rows},
                           ct::vectorize({ct::inc_subtensor(x[i], y), y * 3}, {{x, many}, {y, ys}, {i, rows}}));
  const Array two = Array::zeros(DType::float64, {2, 2}), at = Array(std::vector<std::int64_t>{0, 0}).reshape({2, 1});
  CHECK(put(two, Array{{1.}, {10.}}, at)[0].equals(Array{{1., 0.}, {10., 0.}}));
  CHECK_THROWS_WITH(put(two, Array{{1., 10.}}, at), Catch::Contains("the batches must have one size"));
  CHECK_THROWS_AS(ct::vectorize({x + y}, {{x, ct::variable({DType::float64, {2, 3}})},
                                          {y, ct::variable({DType::float64, {3, 3}})}}),
                  ct::ShapeError);
  const auto found = compile(mode, {x, ys}, ct::vectorize({ct::searchsorted(x, y)}, {{y, ys}}));
  CHECK(found(Array{1., 2., 3.}, Array{{0., 2.}, {5., 3.}})[0].equals(
      Array(std::vector<std::int64_t>{0, 1, 3, 2}).reshape({2, 2})));
  CHECK_THROWS_AS(ct::vectorize({ct::searchsorted(x, y)}, {{x, many}}), ct::NotImplementedError);
  // Values that do not depend on the batch are repeated; sizes are equal for all.
  const Variable w = input(1, "w");
  const auto f =
      compile(mode, {many, w}, ct::vectorize({w * 2, x * ct::cast(x.shape(0), DType::float64)}, {{x, many}}));
  const auto r = f(Array{{1., 2., 3.}, {4., 5., 6.}}, Array{1., 2.});
  CHECK(r[0].equals(Array{{2., 4.}, {2., 4.}}));
  CHECK(r[1].equals(Array{{3., 6., 9.}, {12., 15., 18.}}));
}

TEST_CASE("in a batch, too, rows outside have no gradient and orders are each line's own", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const Variable x = input(1, "x"), y = input(1, "y"), w = input(1, "w"), ws = input(2, "ws");
  const Variable rows = ct::lvector("rows"), many_rows = ct::lmatrix("many_rows");
  const Variable slope = grad(ct::sum(w * ct::ops::scatter(x, rows, y, true)), y);
  const Variable one_order = ct::vectorize({slope}, {{w, ws}})[0];
  const Variable two_orders = ct::vectorize({slope}, {{w, ws}, {rows, many_rows}})[0];
  const Variable sum = ct::vectorize({ct::ops::scatter(x, rows, y, true)}, {{rows, many_rows}})[0];
  const auto f = compile(mode, {x, y, ws, rows, many_rows},
                         {one_order, two_orders, sum, ct::vectorize({ct::sort(w)}, {{w, ws}})[0]});
  using Longs = std::vector<std::int64_t>;
  const Array first(Longs{0, 5, -1, 2}), both = Array(Longs{0, 5, -1, 2, 3, 1, 1, -2}).reshape({2, 4});
  const auto r = f(Array{10., 20., 30.}, Array{1., 2., 3., 4.}, Array{{7., 9., 8.}, {6., 5., 4.}}, first, both);
  CHECK(r[0].equals(Array{{7., 0., 0., 8.}, {6., 0., 0., 4.}}));
  CHECK(r[1].equals(Array{{7., 0., 0., 8.}, {0., 5., 5., 0.}}));
  CHECK(r[2].equals(Array{{11., 20., 34.}, {10., 25., 30.}}));
  CHECK(r[3].equals(Array{{7., 8., 9.}, {4., 5., 6.}}));
}

TEST_CASE("every op with a gradient has a rule for batches", "[ops]") {
  const std::set<std::string_view> without = {};  // ops that vectorize rejects by name
  for (const expr::Op* op : expr::all_ops()) {
    if (op->gradient == nullptr || without.contains(op->name) || op->kind == expr::Kind::Map ||
        op->kind == expr::Kind::Reduce || op->kind == expr::Kind::Transfer)
      continue;
    INFO(op->name);
    CHECK(op->batch != nullptr);
  }
}

TEST_CASE("marks are their input, and change its gradient", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const DType dtype = GENERATE(DType::float16, DType::float32, DType::float64);
  const Variable x = input(1, "x", dtype);
  const auto slope = [&](const Variable& y) { return grad(ct::sum(y), x); };
  const auto f = compile(mode, {x},
                         {ct::disconnected_grad(x), ct::zero_grad(x), ct::grad_clip(x, -1, 1), ct::grad_scale(x, 2),
                          ct::undefined_grad(x), slope(ct::disconnected_grad(x) * x), slope(ct::zero_grad(x) * x),
                          slope(ct::zero_grad(x)), slope(ct::sqr(ct::grad_clip(x, -1, 2))),
                          slope(ct::grad_scale(ct::sqr(x), -1)), slope(ct::consider_constant(x))});
  const Array at = Array{-3.0, 0.25, 4.0, std::nan("")}.astype(dtype).copy();
  const auto r = f(at);
  for (std::size_t i = 0; i < 7; ++i) CHECK(same_bits(r[i], at));  // x, and the slope of (x) * x
  CHECK(r[5].dtype() == dtype);
  CHECK(r[7].equals(Array::zeros(dtype, {4})));
  CHECK(same_bits(r[8], Array{-1.0, 0.5, 2.0, std::nan("")}.astype(dtype).copy()));
  CHECK(same_bits(r[9], Array{6.0, -0.5, -8.0, std::nan("")}.astype(dtype).copy()));
  CHECK(r[10].equals(Array::zeros(dtype, {4})));

  CHECK_THROWS_AS(slope(ct::disconnected_grad(x)), ct::DisconnectedInputError);
  CHECK_THROWS_AS(ct::grad_clip(x, 1, -1), ct::ValueError);
  CHECK(ct::disconnected_grad(ct::ivector("i")).dtype() == DType::int32);
}

TEST_CASE("gradients that are not defined", "[ops]") {
  const Variable x = input(1, "x"), w = input(1, "w");
  const Variable bad = ct::undefined_grad(x, "the table was made by hand");
  try {
    grad(ct::sum(bad * w), x);
    FAIL("the gradient is not defined");
  } catch (const ct::NullTypeGradError& e) {
    for (const char* part : {"x is f64[?]", "not defined", "test_derivatives.cpp", "the table was made by hand"})
      CHECK_THAT(e.what(), Catch::Contains(part));
  }
  CHECK(grad(ct::sum(bad * w), w).rank() == 1);  // not on the path
  // If no gradient comes through it, it is harmless.
  CHECK(grad(ct::sum(ct::zero_grad(bad) * x), x).rank() == 1);
  const auto both = grad(ct::sum(bad * w), std::vector{x, w}, {.null_gradients = ct::NullGradients::none});
  CHECK_FALSE(both[0].defined());
  CHECK(both[1].defined());
}

TEST_CASE("a rule says of one input that it has no gradient", "[ops]") {
  const Variable x = input(1, "x"), w = input(1, "w"), a = input(1, "a"), b = input(1, "b");
  const ct::OpFromGraph op(
      {a, b}, {a * b},
      {.name = "half",
       .gradient = [](const std::vector<Variable>& in, const std::vector<Variable>&, const std::vector<Variable>& g) {
         return std::vector<Variable>{g[0] * in[1], ct::undefined_grad(in[1], "so it is")};
       }});
  const Variable cost = ct::sum(op(x, w));
  CHECK(grad(cost, x).rank() == 1);
  CHECK_THROWS_WITH(grad(cost, w), Catch::Contains("test_derivatives.cpp") && Catch::Contains("w is f64[?]") &&
                                       Catch::Contains("so it is"));
  const auto both = grad(cost, std::vector{x, w}, {.null_gradients = ct::NullGradients::none});
  CHECK(both[0].defined());
  CHECK_FALSE(both[1].defined());
}

TEST_CASE("known gradients, and values for missing ones", "[ops]") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  const Variable x = ct::dscalar("x"), y = ct::sqr(x), z = y * 3, w = ct::dvector("w");
  const auto value = [&](const Variable& g) { return compile(mode, {x}, {g})(2.0)[0].item<double>(); };
  const Variable five = ct::constant(Array(5.0));
  CHECK(value(grad({}, x, {.known_grads = {{y, five}}})) == 20);
  CHECK(value(grad(z, x)) == 12);
  CHECK(value(grad(z, x, {.known_grads = {{y, five}}})) == 20);      // instead of 3
  CHECK(value(grad(z + x, x, {.known_grads = {{y, five}}})) == 21);  // x has other paths
  CHECK(value(grad(z, y, {.known_grads = {{y, five}}})) == 5);
  CHECK(value(grad({}, x, {.known_grads = {{y, five}, {z, five}}})) == 20);  // y's gradient is used unchanged
  CHECK_THROWS_AS(grad({}, x, {.known_grads = {{w, five}}}), ct::TypeError);
  CHECK_THROWS_AS(grad({}, w, {.known_grads = {{y, five}}}), ct::DisconnectedInputError);
  const ct::GradOptions none{.disconnected_inputs = ct::Disconnected::ignore,
                             .return_disconnected = ct::ReturnDisconnected::none};
  const auto some = grad(z, std::vector{x, w, x}, none);
  CHECK(value(some[0]) == 12);
  CHECK_FALSE(some[1].defined());
  CHECK(value(some[2]) == 12);
  CHECK_THROWS_AS(grad(z, w, {.return_disconnected = ct::ReturnDisconnected::none}), ct::DisconnectedInputError);
}

TEST_CASE("consider_constant cuts below the variable, which has a gradient itself", "[ops]") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  const Variable v = ct::dscalar("v"), square = v * v;
  const auto value = [&](const Variable& g) { return compile(mode, {v}, {g})(3.0)[0].item<double>(); };
  const auto both = grad(v * square, std::vector{v, square}, {.consider_constant = {square}});
  CHECK(value(both[0]) == 9);
  CHECK(value(both[1]) == 3);
  CHECK(value(grad(v * square, v, {.consider_constant = {v}})) == 27);
}

TEST_CASE("gradients of a part of an expression", "[ops]") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  const Variable x = ct::dscalar("x"), a = ct::dscalar("a"), b = ct::dscalar("b");
  const Variable middle = ct::sqr(x) * a, cost = ct::exp(middle * b);
  const auto last = ct::subgraph_grad({b}, {middle}, {}, cost);
  const auto first = ct::subgraph_grad({a}, {x}, {{middle, last.end[0]}});
  const auto r =
      compile(mode, {x, a, b}, {last.wrt[0], first.wrt[0], first.end[0], grad(cost, b), grad(cost, a), grad(cost, x)})(
          0.5, 1.5, 2.0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(r[i].item<double>() == Approx(r[i + 3].item<double>()));
  CHECK_THROWS_AS(ct::subgraph_grad({a}, {x}, {}), ct::TypeError);
}

TEST_CASE("Lop and Rop of several expressions, one inside another", "[ops]") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  const Variable x = ct::dscalar("x"), w = ct::dscalar("w"), y = ct::sqr(x), z = ct::exp(y * w);
  const Variable one = ct::constant(Array(1.0)), two = ct::constant(Array(2.0));
  const auto r = compile(mode, {x, w},
                         {ct::Lop({y, z}, {x}, {two, one})[0], ct::Rop({y, z}, {x, w}, {one, two})[0],
                          ct::Rop({y, z}, {x, w}, {one, two})[1], ct::Rop({z}, {x, w}, {one, Variable()})[0],
                          ct::Rop(ct::floor(x), x, one)})(0.5, 2.0);
  const double e = std::exp(0.5);
  CHECK(r[0].item<double>() == Approx(2 * 1 + 2 * e));
  CHECK(r[1].item<double>() == Approx(1));
  CHECK(r[2].item<double>() == Approx(2 * e + 2 * 0.25 * e));
  CHECK(r[3].item<double>() == Approx(2 * e));
  CHECK(r[4].item<double>() == 0);
}

TEST_CASE("errors of the tools around gradients", "[ops]") {
  const Variable x = input(1, "x"), m = input(2, "m"), i = ct::ivector("i");
  const auto refused = [](const auto& call, std::initializer_list<const char*> parts) {
    try {
      call();
      FAIL("a mistake was taken");
    } catch (const ct::Error& e) {
      for (const char* part : parts) CHECK_THAT(e.what(), Catch::Contains(part));
      CHECK_THAT(e.what(), Catch::Contains("test_derivatives.cpp"));
    }
  };
  refused([&] { ct::jacobian(i, x); }, {"jacobian", "i is i32[?]", "compute it in floats"});
  refused([&] { ct::jacobian(x, m); }, {"jacobian", "do not depend on m is f64[?, ?]", "disconnected_inputs=ignore"});
  refused([&] { ct::Lop(x, x, m); }, {"Lop", "an eval point has the shape of its variable", "m is f64[?, ?]"});
  refused([&] { ct::Rop(std::vector{x}, std::vector{x}, std::vector<Variable>{}); },
          {"Rop", "0 eval points for 1 variables"});
  refused([&] { ct::Lop(x, x, Variable()); }, {"Lop", "an eval point is an empty Variable"});
  refused([&] { ct::hessian(x, x); }, {"grad", "must be a 0-d float", "x is f64[?]"});
}
