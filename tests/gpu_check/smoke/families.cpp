// Two kernels of each family of schedules (codegen_templates/), with the bits of the CPU.
#include <croton/convolution.hpp>
#include <croton/scan.hpp>

#include "programs.hpp"

namespace croton::smoke {
namespace {

using Vars = std::vector<Variable>;

std::vector<Array> one_matrix(const Size& s) { return {reals({s.rows, s.columns}, 1)}; }

/// Functions of one matrix x.
Program of_matrix(const std::string& name, const std::string& kernel, const std::function<Vars(const Variable&)>& f) {
  return {name, kernel,
          [f] {
            const Variable x = matrix("x");
            return Graph{{x}, f(x)};
          },
          one_matrix};
}

Program pointwise_mixed() {
  return {"pointwise: three dtypes", "ct::pointwise(",
          [] {
            const Variable a = vector("a", DType::int8), b = dvector("b");
            return Graph{{a, b}, {cast(a, DType::float16) + 1, sqrt(abs(b)) * a}};
          },
          [](const Size& s) {
            const std::int64_t n = s.rows * s.columns;
            return std::vector<Array>{whole({n}, 1, 100, DType::int8), reals({n}, 2, DType::float64)};
          }};
}

Program pointwise_broadcast() {
  return {"pointwise: broadcasting and functions", "ct::pointwise(",
          [] {
            const Variable m = matrix("m"), r = row("r"), c = col("c");
            return Graph{{m, r, c}, {tanh(m * r) + c, exp(-m), where(m > 0, m, r)}};
          },
          [](const Size& s) {
            return std::vector<Array>{reals({s.rows, s.columns}, 1), reals({1, s.columns}, 2), reals({s.rows, 1}, 3)};
          }};
}

Program tiles(const std::string& name, DType dtype) {
  return {name, "ct::pointwise_tiles(",
          [dtype] {
            const Variable x = matrix("x", dtype), y = matrix("y", dtype);
            return Graph{{x, y}, {transpose(x) - 2 * y}};
          },
          [dtype](const Size& s) {
            return std::vector<Array>{reals({s.columns, s.rows}, 1, dtype), reals({s.rows, s.columns}, 2, dtype)};
          }};
}

/// Blocks that wait for each other. The kernels of the example sizes do not, so that no text is looked for.
Program meetings() {
  return {"row: softmax and normalisation of few long rows", "",
          [] {
            const Variable x = matrix("x"), largest = max(x, ReduceOptions(std::vector<int>{1}, true));
            return Graph{{x}, {nnet::softmax(x, 1), (x - largest) / sqrt(mean(sqr(x - largest)))}};
          },
          [](const Size& s) {
            return std::vector<Array>{reals({3, std::max<std::int64_t>(s.rows * s.columns, 40'001)}, 1)};
          }};
}

Program joins() {
  return {"pointwise: joins and borders", "ct::load_pack_where<",
          [] {
            const Variable x = matrix("x");
            return Graph{{x}, {concatenate({x, exp(x), x}, 1), concatenate({x, x}, 0) + 1, pad(x, {{1, 2}, {4, 4}})}};
          },
          one_matrix};
}

Program contraction_1d() {
  return {"contract: conv1d", "ct::contract(",
          [] {
            const Variable x = tensor3("x"), w = tensor3("w");
            return Graph{{x, w}, {nnet::conv1d(x, w, {.flip = false, .layout = nnet::Layout::channels_last})}};
          },
          [](const Size& s) {
            const std::int64_t length = std::max<std::int64_t>(3, s.columns / 4);
            return std::vector<Array>{reals({std::max<std::int64_t>(1, s.rows / 8), length, 12}, 1),
                                      reals({3, 12, 17}, 2)};
          }};
}

Program contraction_2d() {
  return {"contract: conv2d with bias and relu", "ct::contract(",
          [] {
            const Variable x = tensor4("x"), b = vector("b");
            const Variable w = variable({DType::float32, {3, 3, 8, 16}}, "w");
            const nnet::ConvOptions options{.border = "same", .flip = false, .layout = nnet::Layout::channels_last};
            return Graph{{x, w, b}, {nnet::relu(nnet::conv2d(x, w, options) + b)}};
          },
          [](const Size& s) {
            const std::int64_t side = std::max<std::int64_t>(3, s.columns / 16);
            return std::vector<Array>{reals({std::max<std::int64_t>(1, s.rows / 64), side, side + 1, 8}, 1),
                                      reals({3, 3, 8, 16}, 2), reals({16}, 3)};
          }};
}

/// x <- f(a, x), this many times.
Variable repeated(const Variable& x, std::int64_t steps, const std::function<Variable(const Variable&)>& f) {
  return scan([&](const Vars& in) { return Step(f(in[0])); }, {}, {x}, {}, {.n_steps = steps}).outputs[0];
}

// The products of loops run in the loop's kernel on a GPU and in the BLAS library on the CPU, which adds in another
// order: sums of 64 products below 1 differ by less than 64 * 64 * 2^-24.
constexpr double product_tolerance = 2e-4;

Program product_in_grid() {
  return {"product: powers of a matrix by the whole grid",
          "ct::matrix_product(",
          [] {
            const Variable a = matrix("a"), x = matrix("x");
            return Graph{{a, x}, {repeated(x, 3, [&](const Variable& h) { return dot(a, h) * 0.1; })}};
          },
          [](const Size& s) {
            const std::int64_t n = std::min<std::int64_t>(s.columns, 64);
            return std::vector<Array>{reals({n, n}, 1), reals({n, n}, 2)};
          },
          product_tolerance,
          ",schedule=threads=64+blocks=8+meeting=1"};
}

Program product_of_rows() {
  return {
      "product: a recurrent layer, its rows shared among blocks", "ct::matrix_product(",
      [] {
        const Variable x = tensor3("x"), w = matrix("w"), u = matrix("u");
        const Variable start = zeros({x.shape(1), u.shape(0)}, DType::float32);
        return Graph{
            {x, w, u},
            {scan([&](const Vars& in) { return Step(tanh(dot(in[0], w) + dot(in[1], u))); }, {x}, {start}).outputs[0]}};
      },
      [](const Size& s) {
        return std::vector<Array>{reals({4, std::min<std::int64_t>(s.rows, 128), 6}, 1), reals({6, 20}, 2),
                                  reals({20, 20}, 3)};
      },
      product_tolerance};
}

Program loop_of_columns() {
  return {"loop: a step of elements alone", "ct::loop",
          [] {
            const Variable x = matrix("x");
            return Graph{{x}, {repeated(x, 20, [](const Variable& h) { return sin(h) * 0.5 + h * h; })}};
          },
          one_matrix};
}

Program loop_with_reduction() {
  return {
      "loop: a step with a reduction by the whole grid",
      "ct::loop",
      [] {
        const Variable v = vector("v");
        return Graph{{v}, {repeated(v, 5, [](const Variable& h) { return 0.5 * h + 1e-3 * (sum(h) + max(h)); })}};
      },
      [](const Size& s) { return std::vector<Array>{reals({std::min<std::int64_t>(s.rows * s.columns, 70'000)}, 1)}; },
      0,
      ",schedule=threads=64+blocks=8+meeting=1"};
}

/// Many small variables whose updates are one launch. The values are those of the flags' device: they are not pinned.
Program group(const std::string& name, bool momentum) {
  return {name,
          "ct::group",
          [momentum] {
            Graph graph;
            const Variable rate = scalar("rate");
            graph.inputs = {rate};
            std::uint64_t seed = 1;
            for (const Sizes& shape : {Sizes{}, Sizes{7}, Sizes{65, 3}, Sizes{300, 40}, Sizes{9, 8, 7}}) {
              const SharedVariable w = shared(reals(shape, seed++)), g = shared(reals(shape, seed++));
              graph.updates.emplace_back(w, w - rate * (momentum ? tanh(g) + w : g * w));
              if (momentum) graph.updates.emplace_back(g, g * 0.9f + w);
            }
            return graph;
          },
          [](const Size& s) { return std::vector<Array>{Array(1.f / static_cast<float>(s.rows))}; },
          0,
          "",
          false};
}

}  // namespace

std::vector<Check> kernel_checks() {
  const std::vector<Program> programs{
      pointwise_broadcast(),
      pointwise_mixed(),
      tiles("tiles: float32", DType::float32),
      tiles("tiles: float64", DType::float64),
      of_matrix("row: softmax", "ct::row_packs(", [](const Variable& x) { return Vars{nnet::softmax(x)}; }),
      of_matrix("row: sum, max, argmax and layer norm", "ct::row_packs(",
                [](const Variable& x) { return Vars{sum(x, 1), max(x, 1), argmax(x, 1), nnet::layer_norm(x, 1e-5)}; }),
      meetings(),
      joins(),
      of_matrix("column: sum, min and argmin", "ct::column_packs(",
                [](const Variable& x) { return Vars{sum(x, 0), min(x, 0), argmin(x, 0)}; }),
      of_matrix("column: variance", "ct::column_packs(",
                [](const Variable& x) { return Vars{var(x, 0), mean(x * x, 0)}; }),
      of_matrix("split: sum, max and argmax of all", "ct::split_packs(",
                [](const Variable& x) { return Vars{sum(x), max(x), argmax(x)}; }),
      of_matrix("split: all, any and a sum of squares", "ct::split_packs(",
                [](const Variable& x) { return Vars{all(x > -9), any(x > 9), sum(sqr(x))}; }),
      contraction_1d(),
      contraction_2d(),
      product_of_rows(),
      product_in_grid(),
      loop_of_columns(),
      loop_with_reduction(),
      group("group: gradient descent of five variables", false),
      group("group: momentum of five variables", true)};
  std::vector<Check> checks;
  for (const Program& program : programs) checks.push_back(check_of(program));
  return checks;
}

}  // namespace croton::smoke
