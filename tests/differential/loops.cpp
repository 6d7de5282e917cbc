#include "loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "generate.hpp"
#include "program.hpp"
#include "rows.hpp"

namespace differential {
namespace {

using ct::ReduceOptions;
using RecipePtr = std::shared_ptr<const Recipe>;

#define MAKE(...) \
  [](const Operands& in, [[maybe_unused]] const Parameters& p) -> Variable { return __VA_ARGS__; }, #__VA_ARGS__

// ---- building ----

/// By how much the number of steps is less than the number of elements, given the taps of a sequence.
std::int64_t reach(const std::vector<int>& taps) {
  return std::max(0, *std::ranges::max_element(taps)) - std::min(0, *std::ranges::min_element(taps));
}
std::int64_t rows_of(const std::vector<int>& taps) { return -*std::ranges::min_element(taps); }

std::vector<Variable> make_scan(const Operands& in, const Parameters& p) {
  const Recipe& r = *p.recipe;
  std::size_t next = 0;
  std::vector<ct::Sequence> sequences;
  std::vector<ct::OutputInfo> infos;
  for (const auto& taps : r.sequence_taps) sequences.emplace_back(in[next++], taps);
  for (const auto& taps : r.output_taps) {
    if (taps.empty())
      infos.emplace_back(std::nullopt);
    else if (taps == std::vector<int>{-1})
      infos.emplace_back(in[next++]);
    else
      infos.emplace_back(in[next++], taps);
  }
  const Operands captures(in.begin() + static_cast<std::ptrdiff_t>(next),
                          in.begin() + static_cast<std::ptrdiff_t>(next) + r.captures);
  ct::ScanOptions options{.go_backwards = r.backwards, .truncate_gradient = r.truncate};
  if (r.counts)
    options.n_steps = in.back();
  else if (r.steps >= 0)
    options.n_steps = static_cast<long>(r.steps);
  const auto step = [&](const Operands& given) {
    Operands values = given;
    if (!r.by_name) values.insert(values.end(), captures.begin(), captures.end());
    for (const Step& line : r.lines) {
      Operands operands;
      for (const int input : line.inputs) operands.push_back(values[static_cast<std::size_t>(input)]);
      values.push_back(make(line, operands));
      if (!values.back().defined()) throw ct::ValueError("a line without a result");
    }
    std::vector<Variable> outputs;
    for (const int output : r.outputs) outputs.push_back(values[static_cast<std::size_t>(output)]);
    return r.until < 0 ? ct::Step(outputs) : ct::until(outputs, values[static_cast<std::size_t>(r.until)]);
  };
  return ct::scan(step, sequences, infos, r.by_name ? captures : Operands{}, options).outputs;
}

std::vector<Variable> make_ifelse(const Operands& in, const Parameters&) {
  const auto half = static_cast<std::ptrdiff_t>((in.size() - 1) / 2);
  return ct::ifelse(in[0], Operands(in.begin() + 1, in.begin() + 1 + half), Operands(in.begin() + 1 + half, in.end()));
}

/// Gradients of p.n[0] operands with respect to the others: of their sum, of the sum of their squares or of their
/// sines.
std::vector<Variable> make_gradients(const Operands& in, const Parameters& p) {
  Variable cost;
  for (std::int64_t i = 0; i < p.n[0]; ++i) {
    const Variable& x = in[static_cast<std::size_t>(i)];
    const Variable term = ct::sum(p.n[1] == 0 ? x : p.n[1] == 1 ? ct::sqr(x) : ct::sin(x));
    cost = cost.defined() ? cost + term : term;
  }
  return ct::grad(cost, Operands(in.begin() + p.n[0], in.end()), {.disconnected_inputs = ct::Disconnected::ignore});
}

// ---- lines of bodies ----

// clang-format off
const Row line_rows[] = {
    {"tanh", nullptr, MAKE(ct::tanh(in[0]))},
    {"sigmoid", nullptr, MAKE(ct::sigmoid(in[0]))},
    {"sin", nullptr, MAKE(ct::sin(in[0]))},
    {"neg", nullptr, MAKE(-in[0])},
    {"exp", nullptr, MAKE(ct::exp(-ct::sqr(in[0])))},
    {"scale", nullptr, MAKE(in[0] * ct::cast(p.real[0], in[0].dtype()))},
    {"shift", nullptr, MAKE(in[0] + ct::cast(p.real[0], in[0].dtype()))},
    {"relu", nullptr, MAKE(ct::maximum(in[0], ct::cast(0, in[0].dtype())))},
    {"add", nullptr, MAKE(in[0] + in[1])},
    {"sub", nullptr, MAKE(in[0] - in[1])},
    {"mul", nullptr, MAKE(in[0] * in[1])},
    {"gate", nullptr, MAKE(ct::sigmoid(in[0]) * in[1])},
    {"mix", nullptr, MAKE([&] { const Variable z = ct::sigmoid(in[0]); return z * in[0] + (1 - z) * in[1]; }())},
    {"where", nullptr, MAKE(ct::where(in[0] > in[1], ct::sin(in[0]), in[1]))},
    {"maximum", nullptr, MAKE(ct::maximum(in[0], in[1]))},
    {"dot", nullptr, MAKE(ct::dot(in[0], in[1]))},
    {"dot_transposed", nullptr, MAKE(ct::dot(in[0], ct::transpose(in[1])))},
    {"transposed_dot", nullptr, MAKE(ct::dot(ct::transpose(in[0]), in[1]))},
    {"sum", nullptr, MAKE(ct::sum(in[0]))},
    {"sum_first", nullptr, MAKE(ct::sum(in[0], ReduceOptions(0)))},
    {"sum_last", nullptr, MAKE(ct::sum(in[0], ReduceOptions(-1)))},
    {"mean_kept", nullptr, MAKE(ct::mean(in[0], ReduceOptions(std::vector<int>{-1}, true)))},
    {"max_last", nullptr, MAKE(ct::max(in[0], ReduceOptions(-1)))},
    {"softmax", nullptr, MAKE(ct::nnet::softmax(in[0]))},
    {"cumsum", nullptr, MAKE(ct::cumsum(in[0], 0))},
    {"part", nullptr, MAKE(in[0][ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2]))])},
    {"part_last", nullptr, MAKE(in[0].at({ct::ellipsis, ct::slice(static_cast<long>(p.n[0]), static_cast<long>(p.n[1]), static_cast<long>(p.n[2]))}))},
    {"row", nullptr, MAKE(in[0][static_cast<int>(p.n[0])])},
    {"join", nullptr, MAKE(ct::concatenate({in[0], in[1]}, -1))},
    {"join_first", nullptr, MAKE(ct::concatenate({in[0], in[1]}, 0))},
    {"transpose", nullptr, MAKE(ct::transpose(in[0]))},
    {"take", nullptr, MAKE(ct::take(in[0], in[1], 0))},
    {"choice", nullptr, MAKE(ct::ifelse(ct::sum(in[0]) > ct::cast(p.real[0], in[0].dtype()), ct::tanh(in[1]), in[2] * ct::cast(0.5, in[2].dtype())))},
    {"next", nullptr, MAKE(ct::tanh(in[0] * ct::cast(0.5, in[0].dtype()) + in[1]))},
    {"next_squashed", nullptr, MAKE(ct::tanh(in[0] + in[1]))},
    {"count", nullptr, MAKE(in[0] + 1)},
    {"many", nullptr, MAKE(in[0] >= p.n[0])},
    {"large", nullptr, MAKE(ct::sum(in[0]) > ct::cast(p.real[0], in[0].dtype()))},
    {"as_float", nullptr, MAKE(ct::cast(in[0], p.dtype))},
};
// clang-format on

const Row& line(std::string_view name) {
  for (const Row& row : line_rows) {
    if (row.name == name) return row;
  }
  throw std::logic_error(fmt::format("no line {}", name));
}

bool sample_loop(Generator& g, Step& step);
bool sample_ifelse(Generator& g, Step& step);

const Row scan_row{.name = "scan", .sample = sample_loop, .make_all = make_scan};
const Row ifelse_row{.name = "ifelse", .sample = sample_ifelse, .make_all = make_ifelse};
const Row gradients_row{.name = "gradients", .sample = nullptr, .make_all = make_gradients};

// ---- choosing ----

/// A value of a body: of the loop's float dtype, or an integer.
struct Value {
  ct::Sizes shape;
  bool whole = false;
};

class Body {
 public:
  Body(Random& random, DType dtype, bool smooth, int depth)
      : random_(random), dtype_(dtype), smooth_(smooth), depth_(depth) {}

  std::vector<Value> values;
  std::vector<Step> steps;
  const Value& at(int value) const { return values[static_cast<std::size_t>(value)]; }

  int add(const Row& row, std::vector<int> inputs, ct::Sizes shape, Parameters p = {}, bool whole = false) {
    steps.push_back({&row, std::move(inputs), std::move(p)});
    values.push_back({std::move(shape), whole});
    return static_cast<int>(values.size()) - 1;
  }
  int add(std::string_view name, std::vector<int> inputs, ct::Sizes shape, Parameters p = {}) {
    return add(line(name), std::move(inputs), std::move(shape), std::move(p));
  }

  template <class Accept>
  int find(Accept accept) {
    std::vector<int> found;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (accept(values[i])) found.push_back(static_cast<int>(i));
    }
    return found.empty() ? -1 : random_.of(found);
  }
  int floats(std::size_t least = 0, std::size_t most = 2) {
    return find([&](const Value& v) { return !v.whole && v.shape.size() >= least && v.shape.size() <= most; });
  }

  /// Any value, made to broadcast with this shape: -1 only if there is no value at all.
  int broadcastable(const ct::Sizes& shape) {
    const int fits = find([&](const Value& v) {
      if (v.whole || v.shape.size() > shape.size()) return false;
      return std::equal(v.shape.rbegin(), v.shape.rend(), shape.rbegin());
    });
    if (fits >= 0 && random_.chance(0.8)) return fits;
    const int any = floats();
    return any < 0 ? fits : at(any).shape.empty() ? any : add("sum", {any}, {});
  }

  /// A product of values whose sizes fit.
  int product() {
    struct Pair {
      int a, b, kind;
    };
    std::vector<Pair> pairs;
    for (int a = 0; a < static_cast<int>(values.size()); ++a) {
      for (int b = 0; b < static_cast<int>(values.size()); ++b) {
        const Value &x = at(a), &y = at(b);
        if (x.whole || y.whole || x.shape.empty() || y.shape.empty()) continue;
        if (x.shape.back() == y.shape[0]) pairs.push_back({a, b, 0});
        if (y.shape.size() == 2 && x.shape.back() == y.shape[1]) pairs.push_back({a, b, 1});
        if (x.shape.size() == 2 && x.shape[0] == y.shape[0]) pairs.push_back({a, b, 2});
      }
    }
    if (pairs.empty()) return -1;
    const Pair pair = random_.of(pairs);
    const ct::Sizes &x = at(pair.a).shape, &y = at(pair.b).shape;
    ct::Sizes shape;
    if (x.size() == 2) shape.push_back(pair.kind == 2 ? x[1] : x[0]);
    if (y.size() == 2) shape.push_back(pair.kind == 1 ? y[0] : y[1]);
    static constexpr std::string_view names[] = {"dot", "dot_transposed", "transposed_dot"};
    return add(names[pair.kind], {pair.a, pair.b}, shape);
  }

  /// A line of a body; nothing if the chosen operands do not fit.
  void grow() {
    const double u = random_.unit();
    if (u < 0.3) {
      product();
    } else if (u < 0.5) {
      static constexpr std::string_view smooth[] = {"tanh", "sigmoid", "sin", "neg", "exp", "scale", "shift"};
      static constexpr std::string_view all[] = {"tanh", "sigmoid", "sin", "neg", "exp", "scale", "shift", "relu"};
      const int x = floats();
      Parameters p;
      p.real = {random_.of(std::vector<double>{0.5, 0.25, -0.5, 1.5})};
      if (x >= 0) add(smooth_ ? random_.of(smooth) : random_.of(all), {x}, at(x).shape, p);
    } else if (u < 0.7) {
      static constexpr std::string_view smooth[] = {"add", "sub", "mul", "gate", "mix"};
      static constexpr std::string_view all[] = {"add", "sub", "mul", "gate", "mix", "where", "maximum"};
      const int x = floats();
      if (x < 0) return;
      const int y = broadcastable(at(x).shape);
      if (y >= 0) add(smooth_ ? random_.of(smooth) : random_.of(all), {x, y}, at(x).shape);
    } else if (u < 0.8) {
      reduce();
    } else if (u < 0.93) {
      move();
    } else if (u < 0.96) {
      choose();
    } else if (depth_ == 0) {
      nest();
    }
  }

 private:
  void reduce() {
    const int x = floats(1);
    if (x < 0) return;
    ct::Sizes shape = at(x).shape;
    switch (random_.below(smooth_ ? 6 : 7)) {
      case 0:
        add("sum", {x}, {});
        break;
      case 1:
        add("sum_first", {x}, ct::Sizes(shape.begin() + 1, shape.end()));
        break;
      case 2:
        add("sum_last", {x}, ct::Sizes(shape.begin(), shape.end() - 1));
        break;
      case 3:
        shape.back() = 1;
        add("mean_kept", {x}, shape);
        break;
      case 4:
        add("softmax", {x}, shape);
        break;
      case 5:
        add("cumsum", {x}, shape);
        break;
      default:
        add("max_last", {x}, ct::Sizes(shape.begin(), shape.end() - 1));
    }
  }

  void move() {
    const int x = floats(1);
    if (x < 0) return;
    ct::Sizes shape = at(x).shape;
    const std::size_t what = random_.below(6);
    if (what < 2) {
      std::int64_t& size = what == 0 ? shape[0] : shape.back();
      if (size < 2) return;
      Parameters p;
      if (random_.chance(0.3)) {
        p.n = {-1, -size - 1, -1};
      } else {
        const std::int64_t from = random_.whole(0, size / 2), to = random_.whole(size / 2 + 1, size);
        p.n = {from, to, 1};
        size = to - from;
      }
      add(what == 0 ? "part" : "part_last", {x}, shape, p);
    } else if (what == 2) {
      Parameters p;
      if (shape[0] == 0) return;
      p.n = {random_.whole(-shape[0], shape[0] - 1)};
      add("row", {x}, ct::Sizes(shape.begin() + 1, shape.end()), p);
    } else if (what == 3) {
      if (shape.size() == 2) add("transpose", {x}, {shape[1], shape[0]});
    } else {
      const int y = find([&](const Value& v) {
        return !v.whole && v.shape.size() == shape.size() && (shape.size() == 1 || v.shape[0] == shape[0]);
      });
      if (y < 0) return;
      shape.back() += at(y).shape.back();
      if (shape.back() <= 40) add("join", {x, y}, shape);
    }
  }

  void choose() {
    const int c = floats(), x = floats();
    if (x < 0) return;
    const int y = find([&](const Value& v) { return !v.whole && v.shape == at(x).shape; });
    Parameters p;
    p.real = {random_.between(-0.5, 0.5)};
    add("choice", {c, x, y}, at(x).shape, p);
  }

  /// A loop over the rows of a matrix.
  void nest() {
    const int x = floats(2);
    if (x < 0) return;
    const ct::Sizes rows = at(x).shape;
    const int initial = find([&](const Value& v) { return !v.whole && v.shape.size() == 1; });
    const bool feeds = initial >= 0 && random_.chance(0.8);
    const int capture = find([&](const Value& v) {
      return !v.whole && v.shape.size() == 2 && v.shape[0] == (feeds ? at(initial).shape[0] : rows[1]);
    });
    auto recipe = std::make_shared<Recipe>();
    Body body(random_, dtype_, smooth_, depth_ + 1);
    std::vector<int> inputs{x};
    recipe->sequence_taps = {{0}};
    body.values.push_back({{rows[1]}});
    if (feeds) {
      inputs.push_back(initial);
      body.values.push_back(at(initial));
      recipe->output_taps.push_back({-1});
    }
    if (capture >= 0) {
      inputs.push_back(capture);
      body.values.push_back(at(capture));
      recipe->captures = 1;
    }
    recipe->by_name = random_.chance(0.5);
    recipe->backwards = random_.chance(0.2);
    const std::size_t lines = random_.below(4);
    for (std::size_t i = 0; i < lines; ++i) body.grow();
    if (feeds) recipe->outputs.push_back(body.next(1));
    if (!feeds || random_.chance(0.3)) {
      recipe->outputs.push_back(static_cast<int>(body.values.size()) - 1);
      recipe->output_taps.push_back({});
    }
    recipe->lines = body.steps;
    Parameters p;
    p.recipe = recipe;
    p.pick = random_.below(recipe->outputs.size());
    ct::Sizes shape = body.at(recipe->outputs[p.pick]).shape;
    shape.insert(shape.begin(), rows[0]);
    const int all = add(scan_row, inputs, shape, p);
    if (rows[0] == 0) return;
    Parameters last;
    last.n = {-1};
    if (random_.chance(0.6)) add("row", {all}, ct::Sizes(shape.begin() + 1, shape.end()), last);
  }

 public:
  /// The next row of a state, one of whose rows is `tap`.
  int next(int tap) {
    if (at(tap).whole) return add(line("count"), {tap}, {}, {}, true);
    const int with = broadcastable(at(tap).shape);
    return add(random_.chance(0.7) ? "next" : "next_squashed", {tap, with < 0 ? tap : with}, at(tap).shape);
  }

 private:
  Random& random_;
  DType dtype_;
  bool smooth_;
  int depth_;
};

/// A sequence with this shape: an input, a view of one, or a computed value.
int sequence(Generator& g, DType dtype, const ct::Sizes& shape) {
  const auto view = [&](std::string_view name, ct::Sizes of, std::vector<std::int64_t> n, std::vector<int> list = {}) {
    Step step{find_row(name), {g.input(dtype, of)}, {}};
    step.p.n = std::move(n);
    step.p.list = std::move(list);
    return g.add(step);
  };
  ct::Sizes of = shape;
  const std::int64_t rows = shape[0];
  int node = -1;
  switch (g.random.below(9)) {
    case 0:
      node = view("slice", of, {-1, -rows - 1, -1});
      break;
    case 1:
      of[0] += 2;
      node = view("slice", of, {1, rows + 1, 1});
      break;
    case 2:
      of[0] *= 2;
      node = view("slice", of, {0, 2 * rows, 2});
      break;
    case 3: {
      if (of.size() < 2) break;
      std::vector<int> order(of.size());
      for (std::size_t i = 0; i < of.size(); ++i) order[i] = static_cast<int>(i);
      const std::size_t other = 1 + g.random.below(of.size() - 1);
      std::swap(of[0], of[other]);
      std::swap(order[0], order[other]);
      node = view("transpose", of, {}, order);
      break;
    }
    case 4:
      if (of.size() == 3) {
        std::swap(of[1], of[2]);
        node = view("transpose", of, {}, {0, 2, 1});
      }
      break;
    case 5: {
      const int input = g.input(dtype, of);
      node = g.add({&row_of(ct::expr::op(g.random.chance(0.5) ? "sin" : "neg")), {input}, {}});
      break;
    }
    default:
      break;
  }
  return node >= 0 ? node : g.input(dtype, shape);
}

DType float_of(Generator& g) { return g.random.chance(0.93) ? g.some_dtype(wide_float) : g.some_dtype(float_dtype); }

std::int64_t some_features(Random& random) {
  return random.chance(0.3) ? random.whole(16, 40) : random.chance(0.1) ? 1 : random.whole(2, 20);
}

/// Typical uses of a result, and gradients with respect to what the loop reads.
bool read_results(Generator& g, Step& step, const std::vector<int>& results, const std::vector<int>& operands) {
  std::vector<int> read;
  for (const int result : results) {
    int node = result;
    const ct::Sizes shape = g.value(result).shape();
    const double u = g.random.unit();
    Step part;
    if (u < 0.4 && shape[0] > 0) {
      part = {find_row("index"), {result}, {}};
      part.p.n = {-1};
    } else if (u < 0.55 && shape[0] > 1) {
      part = {find_row("slice"), {result}, {}};
      part.p.n = {g.random.whole(-shape[0], shape[0] - 1), shape[0], g.random.chance(0.8) ? 1 : 2};
    } else if (u < 0.65) {
      part = {find_row("sum"), {result}, {}};
      part.p.list = {0};
      part.p.n = {0};
    }
    if (part.row != nullptr) node = g.add(part);
    if (node >= 0) read.push_back(node);
  }
  if (read.empty()) return false;
  std::vector<int> costs, by;
  for (const int node : read) {
    if (ct::is_float(g.dtype(node)) && costs.size() < 3) costs.push_back(node);
  }
  for (const int node : operands) {
    if (ct::is_float(g.dtype(node)) && !g.is_constant(node) && g.random.chance(0.8)) by.push_back(node);
  }
  if (costs.empty() || by.empty() || g.random.chance(0.3)) return false;
  const auto count = static_cast<std::int64_t>(costs.size());
  costs.insert(costs.end(), by.begin(), by.end());
  Step gradient{&gradients_row, costs, {}};
  gradient.p.n = {count, static_cast<std::int64_t>(g.random.below(3))};
  for (std::size_t i = 0; i + 1 < by.size(); ++i) {
    gradient.p.pick = i;
    g.add(gradient);
  }
  gradient.p.pick = by.size() - 1;
  step = gradient;
  return true;
}

/// Makes the lines and outputs of a body; false if it has no outputs.
bool give(Random& random, Body body, const std::vector<int>& states, bool may_stop, Recipe& recipe) {
  const std::size_t lines = 1 + random.below(7);
  if (random.chance(0.6)) body.product();
  for (std::size_t i = 0; i < lines; ++i) body.grow();
  for (const int state : states) recipe.outputs.push_back(body.next(state));
  const std::size_t unfed = states.empty() ? 1 + random.below(2) : random.below(3);
  for (std::size_t k = 0; k < unfed; ++k) {
    const int value = body.find([&](const Value& v) { return !v.whole; });
    if (value < 0) continue;
    recipe.outputs.push_back(value);
    recipe.output_taps.push_back({});
  }
  if (may_stop && random.chance(0.15)) {
    const int counter = body.find([](const Value& v) { return v.whole && v.shape.empty(); });
    Parameters p;
    p.n = {random.whole(1, 4)};
    p.real = {random.between(-1, 1)};
    if (counter >= 0)
      recipe.until = body.add(line("many"), {counter}, {}, p, true);
    else if (const int x = body.floats(); x >= 0)
      recipe.until = body.add(line("large"), {x}, {}, p, true);
  }
  recipe.lines = body.steps;
  return !recipe.outputs.empty();
}

/// A scan, some of its results, uses of them, and gradients.
bool sample_loop(Generator& g, Step& step) {
  Random& random = g.random;
  const DType dtype = float_of(g);
  const bool smooth = g.profile().smooth;
  static constexpr std::int64_t lengths[] = {0, 1, 2, 3, 4, 5, 5, 7, 9};
  const std::int64_t length = smooth ? random.whole(2, 6) : random.of(lengths);
  const std::int64_t batch = random.chance(0.15) ? random.whole(16, 24) : random.whole(1, 6);
  const std::int64_t features = some_features(random), others = some_features(random);
  const bool batched = random.chance(0.5);
  const auto element = [&](std::int64_t size) {
    if (random.chance(0.12)) return ct::Sizes{};
    return batched && random.chance(0.85) ? ct::Sizes{batch, size} : ct::Sizes{size};
  };

  auto recipe = std::make_shared<Recipe>();
  Body body(random, dtype, smooth, 0);
  std::vector<int> operands, states;
  std::int64_t steps = length;
  // Sequences.
  const std::size_t sequences = random.chance(0.12) ? 0 : 1 + random.below(2);
  bool has_places = false;
  for (std::size_t i = 0; i < sequences; ++i) {
    static const std::vector<std::vector<int>> taps{{0}, {0}, {0}, {0}, {0}, {-1, 0}, {0, 1}, {0, -2}, {1}, {-1}};
    recipe->sequence_taps.push_back(random.of(taps));
    const std::vector<int>& mine = recipe->sequence_taps.back();
    if (!smooth && i == 1 && random.chance(0.4)) {  // positions in a captured matrix
      has_places = true;
      const ct::Sizes shape = batched ? ct::Sizes{length, batch} : ct::Sizes{length};
      Array places = Array::empty(DType::int64, shape);
      for (std::int64_t& place : places.data<std::int64_t>()) place = random.whole(0, others - 1);
      operands.push_back(g.argument(places));
      for (std::size_t t = 0; t < mine.size(); ++t)
        body.values.push_back({ct::Sizes(shape.begin() + 1, shape.end()), true});
    } else {
      ct::Sizes shape = element(others);
      for (std::size_t t = 0; t < mine.size(); ++t) body.values.push_back({shape});
      shape.insert(shape.begin(), length);
      operands.push_back(sequence(g, dtype, shape));
    }
    steps = std::min(steps, std::max<std::int64_t>(0, length - reach(mine)));
  }
  // States.
  const std::size_t fed = sequences == 0 ? 1 + random.below(2) : random.below(3);
  for (std::size_t j = 0; j < fed; ++j) {
    static const std::vector<std::vector<int>> taps{{-1},     {-1}, {-1}, {-1},     {-2, -1},
                                                    {-1, -2}, {-2}, {-3}, {-1, -3}, {-3, -2, -1}};
    recipe->output_taps.push_back(random.of(taps));
    const std::vector<int>& mine = recipe->output_taps.back();
    states.push_back(static_cast<int>(body.values.size()));
    if (j == 1 && random.chance(0.15)) {
      recipe->output_taps.back() = {-1};
      operands.push_back(g.argument(Array(std::int64_t{0})));
      body.values.push_back({{}, true});
      continue;
    }
    ct::Sizes shape = element(features);
    for (std::size_t t = 0; t < mine.size(); ++t) body.values.push_back({shape});
    if (mine != std::vector<int>{-1}) shape.insert(shape.begin(), rows_of(mine));
    operands.push_back(random.chance(0.25) && mine != std::vector<int>{-1}
                           ? sequence(g, dtype, shape)
                           : g.input(dtype, shape, ct::expr::Domain{-1, 1}));
  }
  // Captures.
  const std::size_t captures = random.below(4);
  for (std::size_t k = 0; k < captures + (has_places ? 1 : 0); ++k) {
    ct::Sizes shape;
    switch (k == 0 ? random.below(2) : random.below(5)) {
      case 0:
        shape = {others, features};
        break;
      case 1:
        shape = {features, features};
        break;
      case 2:
        shape = {features};
        break;
      case 3:
        shape = {features, others};
        break;
      default:
        break;
    }
    if (k == captures) shape = {others, features};  // has rows for the positions
    operands.push_back(g.input(dtype, shape, ct::expr::Domain{-0.5, 0.5}));
    body.values.push_back({shape});
    ++recipe->captures;
  }
  recipe->by_name = random.chance(0.6);
  recipe->backwards = random.chance(0.2);
  if (!smooth && random.chance(0.15)) recipe->truncate = random.whole(1, 4);
  if (sequences == 0 || random.chance(0.3)) {
    const std::int64_t wanted = sequences == 0 ? length : random.whole(0, steps);
    if (random.chance(0.6)) {
      recipe->counts = true;
      operands.push_back(g.argument(Array(wanted)));
    } else {
      recipe->steps = wanted;
    }
  }
  // The body.
  if (has_places) {
    const int places = body.find([](const Value& v) { return v.whole && !v.shape.empty(); });
    const int matrix = body.find([&](const Value& v) { return v.shape == ct::Sizes{others, features}; });
    const int scalar = places >= 0 || sequences < 2 ? -1 : body.find([](const Value& v) { return v.whole; });
    if (places >= 0) body.add("take", {matrix, places}, {batch, features});
    // (A scalar may be a state that counts; then the program is invalid, and the step is removed.)
    if (scalar >= 0) body.add("take", {matrix, scalar}, {features});
  }
  // Sometimes two loops over the same sequences, which may become one loop.
  std::vector<int> results;
  Step loop{&scan_row, operands, {}};
  const bool two = random.chance(0.2);
  for (int which = 0; which < (two ? 2 : 1); ++which) {
    auto own = std::make_shared<Recipe>(*recipe);
    if (!give(random, body, states, !smooth && !two, *own)) return false;
    loop.p.recipe = own;
    // Its results, sometimes without one of them.
    for (std::size_t i = 0; i < own->outputs.size(); ++i) {
      if (own->outputs.size() > 1 && random.chance(0.3)) continue;
      loop.p.pick = i;
      const int node = g.add(loop);
      if (node >= 0) results.push_back(node);
    }
  }
  if (!results.empty()) return read_results(g, step, results, operands);
  loop.p.pick = 0;
  step = loop;
  return true;
}

/// One or two results of an ifelse with two sides.
bool sample_ifelse(Generator& g, Step& step) {
  const std::size_t count = 1 + g.random.below(2);
  std::vector<int> then, otherwise;
  for (std::size_t i = 0; i < count; ++i) {
    const int x = g.operand(float_dtype, 1, 3);
    const int y =
        g.find([&](int k) { return k != x && g.dtype(k) == g.dtype(x) && g.value(k).shape() == g.value(x).shape(); });
    then.push_back(x);
    otherwise.push_back(y >= 0 ? y : g.input(g.dtype(x), g.value(x).shape()));
    // A value that only one side needs.
    if (g.random.chance(0.7)) {
      int& side = g.random.chance(0.5) ? then.back() : otherwise.back();
      const int own = g.add({&line(g.random.chance(0.5) ? "tanh" : "sin"), {side}, {}});
      if (own >= 0) side = own;
    }
  }
  const int of = g.operand(float_dtype, 0, 2);
  Step condition{&line("large"), {of}, {}};
  condition.p.real = {g.random.between(-1, 1)};
  const int is_large = g.add(condition);
  if (is_large < 0) return false;
  step = {&ifelse_row, {is_large}, {}};
  step.inputs.insert(step.inputs.end(), then.begin(), then.end());
  step.inputs.insert(step.inputs.end(), otherwise.begin(), otherwise.end());
  std::vector<int> results;
  for (std::size_t i = 0; i < count; ++i) {
    step.p.pick = i;
    const int node = g.add(step);
    if (node >= 0) results.push_back(node);
  }
  if (results.empty()) return false;
  std::vector<int> operands = then;
  operands.push_back(of);
  if (g.random.chance(0.3)) {  // nested branches
    Step outer = step;
    outer.inputs[1] = results[0];
    outer.inputs[0] = is_large;
    outer.p.pick = 0;
    const int node = g.add(outer);
    if (node >= 0) results[0] = node;
  }
  return read_results(g, step, results, operands);
}

// ---- texts ----

std::string braces(const std::vector<std::string>& items) { return fmt::format("{{{}}}", fmt::join(items, ", ")); }

std::string scan_text(const Step& step, const std::vector<std::string>& operands) {
  const Recipe& r = *step.p.recipe;
  std::size_t next = 0;
  std::vector<std::string> sequences, infos, captures, outputs, names;
  for (const auto& taps : r.sequence_taps)
    sequences.push_back(fmt::format("{{{}, {{{}}}}}", operands[next++], fmt::join(taps, ", ")));
  for (const auto& taps : r.output_taps) {
    if (taps.empty())
      infos.emplace_back("std::nullopt");
    else if (taps == std::vector<int>{-1})
      infos.push_back(operands[next++]);
    else
      infos.push_back(fmt::format("{{{}, {{{}}}}}", operands[next++], fmt::join(taps, ", ")));
  }
  for (int k = 0; k < r.captures; ++k) captures.push_back(operands[next++]);
  // Each depth has its own names.
  static int depth = 0;
  ++depth;
  const std::string in(static_cast<std::size_t>(depth), 'e');
  const std::size_t read = r.given() - (r.by_name ? 0 : static_cast<std::size_t>(r.captures));
  for (std::size_t i = 0; i < read; ++i) names.push_back(fmt::format("{}[{}]", in, i));
  if (!r.by_name) names.insert(names.end(), captures.begin(), captures.end());
  std::string body;
  for (const Step& each : r.lines) {
    std::vector<std::string> own;
    for (const int input : each.inputs) own.push_back(names[static_cast<std::size_t>(input)]);
    names.push_back(fmt::format("{}{}", in, names.size()));
    body += fmt::format("    const ct::Variable {} = {};\n", names.back(), call_text(each, own));
  }
  --depth;
  for (const int output : r.outputs) outputs.push_back(names[static_cast<std::size_t>(output)]);
  const std::string given =
      r.until < 0 ? fmt::format("ct::Step(std::vector<ct::Variable>{})", braces(outputs))
                  : fmt::format("ct::until({}, {})", braces(outputs), names[static_cast<std::size_t>(r.until)]);
  std::string options;
  if (r.counts) options += fmt::format(".n_steps = {}, ", operands.back());
  if (!r.counts && r.steps >= 0) options += fmt::format(".n_steps = {}, ", r.steps);
  if (r.backwards) options += ".go_backwards = true, ";
  if (r.truncate >= 0) options += fmt::format(".truncate_gradient = {}, ", r.truncate);
  return fmt::format(
      "ct::scan([&]([[maybe_unused]] const std::vector<ct::Variable>& {}) {{\n{}    return {};\n  }}, "
      "std::vector<ct::Sequence>{}, std::vector<ct::OutputInfo>{}, std::vector<ct::Variable>{}, {{{}}}).outputs",
      in, body, given, braces(sequences), braces(infos), r.by_name ? braces(captures) : "{}", options);
}

std::string gradients_text(const Step& step, const std::vector<std::string>& operands) {
  static constexpr std::string_view terms[] = {"ct::sum({})", "ct::sum(ct::sqr({}))", "ct::sum(ct::sin({}))"};
  const auto costs = static_cast<std::size_t>(step.p.n[0]);
  std::vector<std::string> sum;
  for (std::size_t i = 0; i < costs; ++i)
    sum.push_back(fmt::format(fmt::runtime(terms[static_cast<std::size_t>(step.p.n[1])]), operands[i]));
  const std::vector<std::string> by(operands.begin() + static_cast<std::ptrdiff_t>(costs), operands.end());
  return fmt::format("ct::grad({}, std::vector<ct::Variable>{}, {{.disconnected_inputs = ct::Disconnected::ignore}})",
                     fmt::join(sum, " + "), braces(by));
}

}  // namespace

std::size_t Recipe::given() const {
  auto count = static_cast<std::size_t>(captures);
  for (const auto& taps : sequence_taps) count += taps.size();
  for (const auto& taps : output_taps) count += taps.size();
  return count;
}

const std::vector<const Row*>& loop_rows() {
  static const std::vector<const Row*> rows{&scan_row, &ifelse_row, &scan_row, &scan_row, &ifelse_row};
  return rows;
}

std::string results_text(const Step& step, const std::vector<std::string>& operands) {
  if (step.row == &scan_row) return scan_text(step, operands);
  if (step.row == &gradients_row) return gradients_text(step, operands);
  const std::size_t half = (operands.size() - 1) / 2;
  const auto middle = operands.begin() + 1 + static_cast<std::ptrdiff_t>(half);
  return fmt::format("ct::ifelse({}, std::vector<ct::Variable>{}, std::vector<ct::Variable>{})", operands[0],
                     braces({operands.begin() + 1, middle}), braces({middle, operands.end()}));
}

std::vector<RecipePtr> simpler(const Recipe& recipe) {
  std::vector<RecipePtr> all;
  const auto add = [&](auto change) {
    auto copy = std::make_shared<Recipe>(recipe);
    change(*copy);
    all.push_back(std::move(copy));
  };
  if (recipe.until >= 0) add([](Recipe& r) { r.until = -1; });
  if (recipe.backwards) add([](Recipe& r) { r.backwards = false; });
  if (recipe.truncate >= 0) add([](Recipe& r) { r.truncate = -1; });
  if (!recipe.by_name) add([](Recipe& r) { r.by_name = true; });
  // A line is replaced by one of its operands.
  const int given = static_cast<int>(recipe.given());
  for (std::size_t i = recipe.lines.size(); i-- > 0;) {
    const int gone = given + static_cast<int>(i);
    for (const int instead : recipe.lines[i].inputs) {
      add([&](Recipe& r) {
        r.lines.erase(r.lines.begin() + static_cast<std::ptrdiff_t>(i));
        const auto moved = [&](int& value) {
          if (value == gone)
            value = instead;
          else if (value > gone)
            --value;
        };
        for (Step& each : r.lines) std::ranges::for_each(each.inputs, moved);
        std::ranges::for_each(r.outputs, moved);
        if (r.until >= 0) moved(r.until);
      });
    }
  }
  return all;
}

}  // namespace differential
