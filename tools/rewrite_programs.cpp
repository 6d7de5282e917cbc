#include "rewrite_programs.hpp"

#include <croton/croton.hpp>
#include <croton/nn/layers.hpp>

#include <fmt/format.h>

#include <functional>
#include <set>

#include "builder/import.hpp"

namespace croton::tool {
namespace {

struct Program {
  std::vector<Variable> inputs;
  std::vector<Variable> outputs;
  bool gradients = true;
};

const ReduceOptions columns(std::vector<int>{1}, true);  // over the last axis of a matrix, which remains

// ---- pieces of models ----

Program logistic_regression() {
  const auto x = matrix("x"), y = vector("y"), w = vector("w"), b = scalar("b");
  const Variable p = 1 / (1 + exp(-(dot(x, w) + b)));
  const Variable loss = mean(-y * log(p) - (1 - y) * log(1 - p)) + 0.01 * sum(w * w);
  return {{x, y, w, b}, {loss, p > 0.5}};
}

Program network() {
  const auto x = matrix("x"), w1 = matrix("w1"), w2 = matrix("w2"), b = vector("b");
  const auto t = ivector("t");
  const Variable hidden = nnet::relu(dot(x, w1) + b);
  const Variable p = nnet::softmax(dot(hidden, w2));
  return {{x, w1, w2, b, t}, {mean(nnet::categorical_crossentropy(p, t)), argmax(p, 1)}};
}

Program network_of_distributions() {
  const auto x = matrix("x"), w = matrix("w"), y = matrix("y");
  const Variable p = nnet::softmax(dot(x, w)), rows = nnet::softmax(x, 0);
  return {{x, w, y}, {mean(nnet::categorical_crossentropy(p, y)), sum(y * log(rows)), -sum(log(p))}};
}

Program autoencoder() {
  const auto x = matrix("x"), w = matrix("w"), b = vector("b");
  const Variable hidden = sigmoid(dot(x, w) + b), z = sigmoid(dot(hidden, w.T()));
  return {{x, w, b}, {mean(-sum(x * log(z) + (1 - x) * log(1 - z), 1)), mean(nnet::binary_crossentropy(z, x))}};
}

Program softmax_by_hand() {
  const auto x = matrix("x"), y = matrix("y"), g = matrix("g");
  const Variable p = exp(x) / sum(exp(x), columns);
  const Variable per_row = log(sum(exp(y), 1)), of_all = log(sum(exp(y)));
  const Variable mean_kept = log(mean(exp(y), columns));
  return {{x, y, g},
          {p, -mean(log(p)), per_row, of_all, log(mean(exp(y), 1)), mean_kept, sum(g * log(sum(exp(x), columns)))}};
}

Program sigmoids_by_hand() {
  const auto x = vector("x"), y = vector("y");
  const Variable e = exp(x);
  return {{x, y},
          {e / (1 + e), 1 / (1 + exp(-y)), reciprocal(1 + exp(-y)), 1 / (1 + exp(y)), reciprocal(1 + exp(y)),
           y / (1 + exp(-x)), y / (1 + exp(x)), exp(x) * y * sigmoid(-x), log(1 + exp(x)), log(1 - sigmoid(x)),
           log1p(-sigmoid(x)), exp(x) / (exp(x) + exp(y)), log(exp(x) + exp(y))}};
}

/// The flux of ions through a membrane (Goldman 1943), and a coupling layer with its inverse.
Program products_of_exponentials() {
  const auto v = vector("v"), x = vector("x"), scale = vector("scale"), shift = vector("shift");
  const Variable flux = v * exp(v) / expm1(v), there = x * exp(scale) + shift;
  return {{v, x, scale, shift}, {flux, (there - shift) * exp(-scale)}};
}

/// Logarithms of probabilities, as users write them who have no log1mexp.
Program logarithms() {
  const auto x = vector("x"), y = vector("y"), z = vector("z");
  const Variable p = exp(-x), tail = erfc(x);
  return {{x, y, z},
          {log(1 - p), log1p(-p), log(-expm1(y)), log(expm1(x)), log(exp(x) + 1e-6), log2(exp2(x) + exp2(y)), log(tail),
           log(0.5 * erfc(-x / 1.4142135)), log(erfc(y) / 2), exp(sqr(z)) * erfc(z), erfcx(y) * exp(-sqr(y)),
           exp(log1mexp(y)), exp(logaddexp(x, y)), logaddexp(x, x), logaddexp(y, 0)}};
}

Program distributions() {
  const auto x = vector("x"), mu = scalar("mu"), sigma = scalar("sigma");
  const Variable z = (x - mu) / sigma;
  const Variable log_density = -0.5 * pow(z, 2) - log(sigma) - 0.9189385;
  return {{x, mu, sigma}, {sum(log_density),  0.5 * (1 + erf(z / 1.4142135)),
                           1 - erf(x),        erf(x) - 1,
                           1 - erfc(x),       erfc(x) - 1,
                           -1 + erf(mu),      -1 - erf(z),
                           -1 + erfc(mu),     2 - erfc(z),
                           sigmoid(mu) - 1,   -1 + sigmoid(z),
                           exp(x) - 1,        exp(x) + -1,
                           1 - exp(x),        log(1 + x),
                           log(1 - x),        pow(sigma, -2) * z,
                           exp(-abs(-x)),     log(sqrt(sigma)),
                           sqrt(exp(x)),      mu / exp(x),
                           reciprocal(exp(x))}};
}

Program kernels_of_statistics() {
  const auto x = matrix("x"), y = matrix("y");
  const Variable normal = nnet::layer_norm(x), centred = x - mean(x, columns);
  const Variable squares = sum(sqr(x), columns) + sum(sqr(y), 1) - 2 * dot(x, y.T());
  return {{x, y}, {normal, var(y, 0), mean(mean(sqr(centred), 1)), exp(-squares / 8), sum(sum(x, 1)), max(max(y, 1))}};
}

// ---- expressions like those of code generators ----

Program neutral_elements() {
  const auto x = vector("x"), y = vector("y");
  return {{x, y},
          {0 + x,
           x - 0,
           0 - x,
           x * 1,
           x * 0 + y,
           x / 1,
           0 / y,
           x - x,
           y / y,
           -(-x),
           x + (-y),
           x - (-y),
           -(x - y),
           x * (-y),
           (-x) / y,
           x / (-y),
           (x * 2) * 3,
           (x + 1) + 2,
           -(x * 3),
           x * -1,
           x + y - x,
           x + y + x,
           3 * x + y - 1.5 * x,
           (3 * x) * (y / 2),
           sqr(x) / x,
           x * exp(constant(Array(0.5f))),
           1 - (y - 2)}};
}

Program powers() {
  const auto x = vector("x"), y = vector("y");
  std::vector<Variable> all{x * x, pow(1, x), pow(2, x), pow(exp(x), 3), pow(x, 2.25) * y * x};
  for (const double exponent : {0., 1., 2., 3., 4., -1., -2., 0.5, -0.5, 1.5}) all.push_back(pow(x, exponent));
  return {{x, y}, all};
}

Program inverses() {
  const auto x = vector("x"), y = vector("y");
  return {{x, y},
          {reciprocal(reciprocal(x)),
           reciprocal(x / y),
           x / reciprocal(y),
           sqrt(sqr(x)),
           sqr(sqrt(x)),
           sqr(abs(x)),
           abs(abs(x)),
           abs(sqr(x)),
           abs(exp(x)),
           abs(sigmoid(x)),
           abs(x) * abs(y),
           abs(x) / abs(y),
           sgn(sgn(x)),
           log(exp(x)),
           log2(exp2(x)),
           log1p(expm1(x)),
           exp(log(x)),
           exp2(log2(x)),
           expm1(log1p(x)),
           exp(log1p(x)),
           cast(cast(x, DType::float64), DType::float32)}};
}

Program quotients() {
  const auto x = vector("x"), y = vector("y"), z = vector("z");
  return {{x, y, z},
          {x / 4, x / y / z, x / (y / z), x / rsqrt(y), x * reciprocal(y), reciprocal(sqrt(x)), sqr(-x), x * y / x}};
}

Program integers() {
  const auto i = ivector("i"), j = ivector("j");
  return {{i, j},
          {floor_divide(i, 1), floor_divide(0, i), i % 1, 0 % i, floor(i), ceil(i), trunc(i), round(i), i & i, i | i,
           i ^ i, i & 0, i | 0, i ^ 0, ~(i < j), ~(i <= j), ~(i > j), ~(i >= j), i + j + i - j}};
}

Program logic() {
  const auto b = vector("b", DType::bool_);
  const auto x = vector("x"), y = vector("y"), z = vector("z");
  return {{b, x, y, z},
          {~~b, ~eq(x, y), ~neq(x, y), x<x, x> x, x <= x, x >= x, eq(x, x), neq(x, x), neq(b, false), eq(b, false),
           b & true, b | true, all(~b), any(~b)}};
}

Program choices() {
  const auto b = vector("b", DType::bool_);
  const auto x = vector("x"), y = vector("y"), z = vector("z");
  return {{b, x, y, z},
          {where(x > 0, log(x), 0),
           where(x > 0, 0, sqrt(-x)),
           where(x > 0, sqr(x), 0) / y,
           where(b, 0, x) / y,
           where(b, x, 0) * y,
           where(b, 0, x) * z,
           where(b, x, 0) + where(b, 0, y),
           where(~b, x, y),
           where(b, x, x),
           where(true, x, y),
           where(false, x, y),
           where(b, where(b, x, y), z),
           where(b, x, where(b, y, z)),
           where(b, 1., 0.),
           where(b, exp(y), exp(z)),
           clip(clip(x, -2, 2), -1, 1),
           maximum(maximum(x, 1), 2),
           minimum(minimum(x, 1), 2),
           maximum(-x, -y),
           minimum(-x, -y),
           maximum(x, x),
           minimum(x, x)}};
}

Program views() {
  const auto m = matrix("m"), three = tensor3("three");
  const auto x = vector("x");
  const auto s = scalar("s");
  return {
      {m, three, x, s},
      {m.T().T(), reshape(reshape(m, {m.size()}), {m.shape(1), m.shape(0)}),
       reshape(dimshuffle(x, {broadcast_axis, 0}), {1, 1, x.size()}), alloc(alloc(x, {3, x.size()}), {2, 3, x.size()}),
       exp(alloc(s, {4, 5})).T(), m[slice({}, {})] + 1, three[1][0], x[slice(2, {})][0], flatten(m.T()),
       zeros_like(m) + exp(ones_like(m)), m + alloc(x, {m.shape(0), m.shape(1)})}};
}

/// Patterns of unrolled loops and padding: parts joined and split again, and written in sequence.
Program joins() {
  const auto x = vector("x"), y = vector("y"), state = matrix("state");
  const Variable both = concatenate({x, y}), half = state[slice(0, 3)];
  const Variable written = set_subtensor(state[1], x), added = inc_subtensor(state[2], x);
  return {{x, y, state},
          {both[slice(x.shape(0), {})], concatenate({half, state[slice(3, 6)]}), roll(roll(x, 1), -1), written[1],
           set_subtensor(written[1], 2 * x), set_subtensor(state[0], state[0] + x), added[2],
           inc_subtensor(zeros({6, 4})[2], x), set_subtensor(state[slice()], 2 * state)}};
}

Program parts() {
  const auto m = matrix("m"), w = matrix("w");
  return {{m, w}, {exp(m)[1], sum(sqr(m), 1)[2], dot(m, w)[0], (m * 2).at({0, 1})}};
}

Program reductions() {
  const auto m = matrix("m"), c = col("c");
  const auto s = scalar("s"), x = vector("x");
  const auto b = matrix("b", DType::bool_);
  return {{m, c, s, x, b},
          {sum(m.T(), 1), argmax(m.T(), 0), sum(-m, 0), sum(3 * m), sum(m * s, 1), sum(m / c, 1), mean(2 * m, 0),
           max(-m, 0), min(-m, 0), argmax(-m, 0), argmin(-m, 0), all(~b, 1), any(~b, 1), sum(c, 1),
           sum(ones_like(m), 0), sum(alloc(x, {3, x.size()}), 0), max(alloc(x, {3, x.size()}), 0), prod(prod(m, 0))}};
}

Program products() {
  const auto a = matrix("a"), b = matrix("b");
  const auto x = vector("x"), y = vector("y");
  const Variable outer = dot(dimshuffle(x, {0, broadcast_axis}), dimshuffle(y, {broadcast_axis, 0}));
  return {{a, b, x, y},
          {dot(a, -b), dot(2 * a, b), dot(dot(a, b), y), dot(x, dot(a, b)), outer, dot(a, b).T(),
           dot(a, zeros({a.shape(1), 5}))}};
}

/// A convolution and its largest number in each image, whose gradient goes to one position.
Program largest_of_convolution() {
  const auto x = variable({DType::float32, {unknown_size, 9, 8, 1}}, "x"),
             w = variable({DType::float32, {3, 3, 1, 4}}, "w");
  const auto b = vector("b");
  const Variable image = nnet::relu(nnet::conv2d(x, w, {.layout = nnet::Layout::channels_last}) + b);
  return {{x, w, b}, {nn::GlobalMaxPooling2D()(image)}};
}

/// A program without gradients, so that no gradient also reads the parts.
Program inference() {
  const auto b = vector("b", DType::bool_);
  const auto x = vector("x"), y = vector("y");
  const auto a = matrix("a"), w = matrix("w"), p = matrix("p");
  return {{b, x, y, a, w, p},
          {where(b, exp(x), exp(y)), dot(2 * a, w), dot(dot(a, a), y), dot(x, dot(w, w)), dot(p, dot(p, dot(p, p))),
           a[slice(0, {})]},
          false};
}

/// A loop of one step, the default of contrastive divergence.
Program one_step() {
  const auto x = matrix("x"), w = matrix("w");
  const ScanResult chain =
      scan([&](const std::vector<Variable>& in) { return Step(sigmoid(dot(sigmoid(dot(in[0], w)), w.T()))); }, {}, {x},
           {}, {.n_steps = 1});
  return {{x, w}, {chain.outputs[0][-1]}};
}

/// Batch normalisation outside of training, with the statistics as parameters.
Program normalised_convolution() {
  const auto x = variable({DType::float32, {unknown_size, 9, 8, 3}}, "x"),
             w = variable({DType::float32, {3, 3, 3, 4}}, "w");
  const auto b = vector("b"), gamma = vector("gamma"), beta = vector("beta"), mean = vector("mean"),
             variance = vector("variance");
  const Variable image = nnet::conv2d(x, w, {.layout = nnet::Layout::channels_last}) + b;
  const nnet::BatchNormOptions over{.axes = std::vector<int>{0, 1, 2}};
  return {{x, w, b, gamma, beta, mean, variance},
          {nnet::relu(nnet::batch_norm_test(image, gamma, beta, mean, variance, over))},
          false};
}

constexpr Program (*programs[])() = {logistic_regression,
                                     network,
                                     network_of_distributions,
                                     autoencoder,
                                     softmax_by_hand,
                                     sigmoids_by_hand,
                                     products_of_exponentials,
                                     logarithms,
                                     distributions,
                                     kernels_of_statistics,
                                     neutral_elements,
                                     powers,
                                     inverses,
                                     quotients,
                                     integers,
                                     logic,
                                     choices,
                                     views,
                                     joins,
                                     parts,
                                     reductions,
                                     products,
                                     largest_of_convolution,
                                     inference,
                                     one_step,
                                     normalised_convolution};

}  // namespace

rewrite::Fired fired_in_programs() {
  rewrite::Fired fired;
  for (const auto& make : programs) {
    const Program program = make();
    builder::ImportRequest request{.inputs = program.inputs,
                                   .outputs = program.outputs,
                                   .updates = {},
                                   .givens = {},
                                   .where = std::source_location::current()};
    Variable cost = constant(Array(0.f));
    for (const Variable& output : program.outputs) {
      if (is_float(output.dtype())) cost = cost + sum(output);
    }
    const GradOptions options{.disconnected_inputs = Disconnected::ignore};
    for (const Variable& input : program.inputs) {
      if (program.gradients && is_float(input.dtype()) && cost.rank() == 0 && !cost.is_constant())
        request.outputs.push_back(grad(cost, input, options));
    }
    for (const auto optimizer : {base::OptimizerMode::fast_run, base::OptimizerMode::fast_compile}) {
      expr::Graph graph = builder::import(request).graph;
      for (const rewrite::GroupReport& report : rewrite::run(graph, {.optimizer = optimizer})) {
        for (const auto& [rule, count] : report.fired) fired[rule] += count;
      }
    }
  }
  return fired;
}

std::string rules_markdown() {
  const rewrite::Fired fired = fired_in_programs();
  std::string text;
  std::set<std::string_view> seen;
  for (const rewrite::Group& group : rewrite::groups()) {
    if (!seen.insert(group.name).second) continue;
    text += fmt::format(
        "### {}\n\nEach rule lowers: {}.\n\n| Rule | What it does | Where | Why | Fired |\n|---|---|---|---|---|\n",
        group.name, group.measure);
    for (const rewrite::Rule& rule : group.rules) {
      const auto cell = [](std::string_view words) {
        std::string escaped;
        for (const char c : words) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
        return escaped;
      };
      const bool is_text = rule.text.find("=>") != std::string_view::npos;
      // The names of all maps would not help readers.
      const std::string what = is_text                  ? fmt::format("`{}`", cell(rule.text))
                               : rule.text.size() > 120 ? std::string("any map")
                                                        : cell(rule.text);
      const auto count = fired.find(rule.name);
      text += fmt::format("| `{}`{} | {} | {} | {} | {} |\n", rule.name, rule.special_values ? " *" : "", what,
                          cell(rule.condition), cell(rule.reason), count == fired.end() ? 0 : count->second);
    }
    text += "\n";
  }
  return text;
}

}  // namespace croton::tool
