// Execution of loops: as one launch or step by step, with rows divided among threads and blocks, and code moved out of
// them. Their results are tested in test_scan.cpp.
#include "samples.hpp"

#include "expr/loop.hpp"
#include "runtime/loops/native_loop.hpp"

#include <fmt/format.h>

#include <functional>

using namespace croton_test;
using Catch::Matchers::Contains;
using ct::ScanResult;
using ct::SharedVariable;
using ct::Step;
using Vars = std::vector<Variable>;

namespace {

Array reals(const Sizes& shape, std::uint64_t seed, DType dtype = DType::float32) {
  return Array::uniform(dtype, shape, seed, -1, 1);
}

/// A layer of 64 units over x (time, batch, 5): the outputs of all steps.
struct Layer {
  std::string name;
  int gates;   // concatenated products
  int states;  // each with separate rows
  std::function<Vars(const Variable& z, const Variable& zh, const Vars& states)> cell;
};

constexpr int units = 64, features = 5;

Variable gate(const Variable& z, int k) { return z.at({ct::slice(), ct::slice(k * units, (k + 1) * units)}); }

const std::vector<Layer> layers = {
    {"rnn", 1, 1, [](const Variable& z, const Variable& zh, const Vars&) { return Vars{ct::tanh(z + zh)}; }},
    {"gru", 3, 1,
     [](const Variable& z, const Variable& zh, const Vars& s) {
       const Variable r = ct::sigmoid(gate(z, 0) + gate(zh, 0)), u = ct::sigmoid(gate(z, 1) + gate(zh, 1));
       const Variable n = ct::tanh(gate(z, 2) + r * gate(zh, 2));
       return Vars{(1 - u) * n + u * s[0]};
     }},
    {"lstm", 4, 2, [](const Variable& z, const Variable& zh, const Vars& s) {
       const Variable all = z + zh;
       const Variable c = ct::sigmoid(gate(all, 1)) * s[1] + ct::sigmoid(gate(all, 0)) * ct::tanh(gate(all, 2));
       return Vars{ct::sigmoid(gate(all, 3)) * ct::tanh(c), c};
     }}};

struct Built {
  Variable x, outputs, loss;
  Vars weights;
};
Built build(const Layer& layer, DType dtype = DType::float32) {
  Built built;
  built.x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size, features}}, "x");
  const auto weight = [&](std::int64_t rows, std::uint64_t seed) {
    return ct::shared(Array::uniform(dtype, {rows, layer.gates * units}, seed, -0.2, 0.2), {.name = "weight"});
  };
  built.weights = {weight(features, 1), weight(units, 2)};
  const Variable start = ct::zeros({built.x.shape(1), units}, dtype);
  const ScanResult scan = ct::scan(
      [&](const Vars& in) {
        return Step(layer.cell(ct::dot(in[0], built.weights[0]), ct::dot(in[1], built.weights[1]),
                               Vars(in.begin() + 1, in.end())));
      },
      {built.x}, std::vector<ct::OutputInfo>(static_cast<std::size_t>(layer.states), start));
  built.outputs = scan.outputs[0];
  built.loss = ct::mean(ct::sqr(scan.outputs[0][-1]));
  return built;
}

std::string plan_of(const std::string& settings, const std::vector<ct::In>& inputs, const Variable& output) {
  const ct::change_flags flags(settings);
  return ct::function(inputs, output).plan();
}

}  // namespace

TEST_CASE("a recurrent layer is one launch, forward and back", "[loops]") {
  const Array x0 = reals({7, 11, features}, 5);
  for (const Layer& layer : layers) {
    const Built built = build(layer);
    const Vars gradients = ct::grad(built.loss, built.weights);
    ct::Outputs wanted = [&] {
      const ct::change_flags flags("mode=reference");
      return ct::function({built.x}, Vars{built.outputs, gradients[0], gradients[1]})(x0);
    }();
    for (const std::string& backend : compiled_backends()) {
      INFO(layer.name << " " << backend);
      const ct::change_flags flags(backend);
      const ct::Function forward = ct::function({built.x}, built.outputs);
      CHECK_THAT(forward.plan(), Contains("all steps in one launch") && !Contains("a step at a time"));
      // Besides the loop: kernels that make zeros, and that copy the outputs from the history. On a GPU the product of
      // the sequence comes before.
      const bool on_cpu = is_cpu(backend);
      CHECK(forward(x0).only().all_close(wanted[0], 1e-5, 1e-6));
      CHECK(forward.counts().kernels <= 4);
      CHECK(forward.counts().products == (on_cpu ? 0 : 1));
      const ct::Function both = ct::function({built.x}, Vars{built.outputs, gradients[0], gradients[1]});
      CHECK_THAT(both.plan(), !Contains("a step at a time"));
      const ct::Outputs got = both(x0);
      for (std::size_t i = 0; i < 3; ++i) CHECK(got[i].all_close(wanted[i], 1e-4, 1e-6));
      CHECK(both.counts().kernels < 20);  // for 7 steps, two loops
    }
  }
}

TEST_CASE("rows are shared out among threads without a change of bits", "[loops]") {
  for (const Layer& layer : layers) {
    INFO(layer.name);
    const Built built = build(layer);
    const Variable gradient = ct::grad(built.loss, built.weights[1]);
    for (const std::int64_t rows : {1, 2, 3, 17, 64}) {
      const Array x0 = reals({50, rows, features}, 6);
      std::vector<ct::Outputs> all;
      for (const int threads : {1, 2, 3, 5}) {
        const ct::change_flags flags(fmt::format("mode=run,threads={}", threads));
        all.push_back(ct::function({built.x}, Vars{built.outputs, gradient})(x0));
      }
      for (const ct::Outputs& other : all) {
        CHECK(same_bits(other[0], all[0][0]));
        CHECK(same_bits(other[1], all[0][1]));
      }
    }
  }
}

TEST_CASE("products of all small sizes inside loops", "[loops]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Variable x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size, ct::unknown_size}}, "x");
    const Variable w = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "w");
    const Variable all = ct::map([&](const Vars& in) { return Step(ct::dot(in[0], w)); }, {x}).outputs[0];
    for (const std::string& backend : compiled_backends()) {
      const ct::change_flags flags(backend);
      const ct::Function f = ct::function({x, w}, all);
      const bool simulated = backend != "mode=run";
      const std::vector<std::int64_t> rows =
          simulated ? std::vector<std::int64_t>{1, 13} : std::vector<std::int64_t>{0, 1, 2, 3, 7, 8, 9, 16, 19};
      const std::vector<std::int64_t> columns = simulated
                                                    ? std::vector<std::int64_t>{1, 40}
                                                    : std::vector<std::int64_t>{0, 1, 7, 8, 15, 16, 17, 31, 33, 48, 70};
      for (const std::int64_t m : rows) {
        for (const std::int64_t k : {0, 1, 5, 64, 130}) {
          for (const std::int64_t n : columns) {
            // With 64 or more steps a CPU first copies the right matrix to panels: the bits are the same.
            const Array many = reals({simulated ? 3 : 64, m, k}, 7, dtype), w0 = reals({k, n}, 8, dtype);
            const Array x0 = many.slice(0, 0, 3);
            const Array got = f(x0, w0).only();
            Array wanted = Array::zeros(DType::float64, {3, m, n});
            for (std::int64_t t = 0; t < 3 && m * n > 0; ++t) {
              for (std::int64_t i = 0; i < m; ++i) {
                for (std::int64_t j = 0; j < n; ++j) {
                  double sum = 0;
                  for (std::int64_t l = 0; l < k; ++l)
                    sum += x0.as_double((t * m + i) * k + l) * w0.as_double(l * n + j);
                  wanted.at<double>(t, i, j) = sum;
                }
              }
            }
            // At most k roundings of sums that are at most k; in fact far fewer.
            const double bound = (dtype == DType::float32 ? 6e-8 : 2e-16) * static_cast<double>(k + 1) * 4;
            INFO(backend << " " << m << " x " << k << " x " << n);
            CHECK(got.astype(DType::float64).all_close(wanted, bound, bound));
            if (!simulated) CHECK(same_bits(f(many, w0).only().slice(0, 0, 3).contiguous(), got));
          }
        }
      }
    }
  }
}

TEST_CASE("a right matrix that changes from step to step is read again in each", "[loops]") {
  const Variable x = ct::dtensor3("x"), start = ct::dmatrix("start"), w = ct::dmatrix("w");
  const ScanResult scan = ct::scan(
      [&](const Vars& in) {
        const Variable by_state = ct::tanh(ct::dot(in[0], in[2])), by_element = ct::dot(in[0], in[1]),
                       by_temporary = ct::dot(in[0], ct::sqr(in[1]) + w), always_same = ct::dot(in[0], w);
        return Step{by_state, by_element, by_temporary, always_same};
      },
      {x, 2 * x}, {start, std::nullopt, std::nullopt, std::nullopt});
  const Array x0 = reals({70, 9, 9}, 1, DType::float64), start0 = reals({9, 9}, 2, DType::float64),
              w0 = reals({9, 9}, 3, DType::float64);
  const auto run = [&](const std::string& settings) {
    const ct::change_flags flags(settings);
    return ct::function({x, start, w}, scan.outputs)(x0, start0, w0);
  };
  const ct::Outputs wanted = run("mode=reference");
  for (const std::string& backend : compiled_backends()) {
    INFO(backend);
    const ct::Outputs got = run(backend);
    for (std::size_t i = 0; i < 4; ++i) CHECK(got[i].all_close(wanted[i], 1e-9, 1e-9));
  }
}

TEST_CASE("loops that the host runs say why", "[loops]") {
  const Variable x = ct::fmatrix("x"), w = ct::fmatrix("w");
  const auto repeated = [&](const std::function<Variable(const Variable&)>& step) {
    return ct::scan([&](const Vars& in) { return Step(step(in[0])); }, {}, {x}, {}, {.n_steps = 3}).outputs[0];
  };
  CHECK_THAT(plan_of("mode=run", {x}, repeated([](const Variable& h) { return ct::cumsum(h, 0); })),
             Contains("a step at a time: cumsum needs separate launches"));
  CHECK_THAT(plan_of("mode=run", {x}, repeated([&](const Variable& h) { return repeated(ct::tanh)[-1] + h; })),
             Contains("all steps in one launch"));
  CHECK_THAT(
      plan_of(
          "mode=run", {x}, repeated([](const Variable& h) {
            return ct::scan([](const Vars& in) { return Step(in[0] * 2); }, {}, {h}, {}, {.n_steps = 2}).outputs[0][-1];
          })),
      Contains("a step at a time: it has a loop inside"));
  // A large product is a library's, in each step.
  const Variable grown = repeated([&](const Variable& h) { return ct::dot(h, w); });
  const Array x0 = reals({32, 600}, 9), w0 = reals({600, 600}, 10);
  const ct::change_flags flags("mode=run");
  const ct::Function f = ct::function({x, w}, grown);
  const Array got = f(x0, w0).only();
  CHECK(f.counts().products == 3);
  f(reals({4, 20}, 9), reals({20, 20}, 9));
  CHECK(f.counts().products == 3);
  const ct::change_flags reference("mode=reference");
  CHECK(got.all_close(ct::function({x, w}, grown)(x0, w0).only(), 1e-3, 1e-2));
}

TEST_CASE("a loop of one step is what its body does", "[loops]") {
  const Variable x = ct::dtensor3("x"), h = ct::dtensor3("h"), w = ct::dmatrix("w");
  // x (time, batch, 4) in reverse; h has the rows one and three steps ago; a result that is not fed back; a stop.
  const ScanResult chain = ct::scan(
      [&](const Vars& in) {
        const Variable next = ct::tanh(in[1] + ct::dot(in[2], w.T())) + in[0];
        return ct::until({next, ct::sum(next)}, ct::sum(next) > 0);
      },
      {x}, {{h, {-1, -3}}, std::nullopt}, {}, {.n_steps = 1, .go_backwards = true});
  const Variable loss = ct::sum(ct::sqr(chain.outputs[0])) + chain.outputs[1][0];
  const Vars all = {chain.outputs[0], chain.outputs[0][-1], chain.outputs[1], ct::grad(loss, w), ct::grad(loss, h)};
  const Array x0 = reals({3, 5, 4}, 12, DType::float64), h0 = reals({3, 5, 4}, 13, DType::float64),
              w0 = reals({4, 4}, 14, DType::float64);
  const auto run = [&] { return ct::function({x, h, w}, all)(x0, h0, w0); };
  ct::Outputs wanted = [&] {
    const ct::change_flags flags("mode=reference,optimizer=none");
    return run();
  }();
  for (const std::string& backend : compiled_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({x, h, w}, all);
    CHECK_THAT(f.rewrites(), Contains("loop-single-step"));
    CHECK_THAT(f.graph(), !Contains("loop("));
    const ct::Outputs got = run();
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(got[i].shape() == wanted[i].shape());
      CHECK(got[i].all_close(wanted[i], 1e-9, 1e-9));
    }
    // A sequence without elements has no step.
    CHECK_THROWS_AS(f(reals({0, 5, 4}, 1, DType::float64), h0, w0), ct::ShapeError);
    const ct::change_flags off("rules_off=loop-single-step");
    CHECK_THAT(ct::function({x, h, w}, all).graph(), Contains("loop("));
  }
}

TEST_CASE("work is moved out of loops", "[loops]") {
  const Built built = build(layers[2]);
  const Vars gradients = ct::grad(built.loss, built.weights);
  const Array x0 = reals({6, 4, features}, 11);
  const std::string all = "loop-unused+loop-residuals+loop-sums+loop-transposed+loop-last";
  std::vector<ct::Outputs> found;
  for (const std::string& off : {std::string(), std::string("loop-residuals"), std::string("loop-sums"),
                                 std::string("loop-unused"), std::string("loop-transposed"), all}) {
    INFO(off);
    const ct::change_flags flags("mode=run,rules_off=" + off);
    const ct::Function f = ct::function({built.x}, Vars{built.loss, gradients[0], gradients[1]});
    for (const std::string_view rule : {"loop-unused", "loop-residuals", "loop-sums", "loop-transposed"}) {
      if (off.find(rule) == off.npos)
        CHECK_THAT(f.rewrites(), Contains(std::string(rule)));
      else
        CHECK_THAT(f.rewrites(), !Contains(std::string(rule)));
    }
    found.push_back(f(x0));
  }
  for (const ct::Outputs& other : found) {
    for (std::size_t i = 0; i < 3; ++i) CHECK(other[i].all_close(found[0][i], 1e-4, 1e-7));
  }
  // Only the last row is kept if only that is read.
  const ct::change_flags flags("mode=run");
  const ct::Function last = ct::function({built.x}, built.loss);
  CHECK_THAT(last.rewrites(), Contains("loop-last"));
  CHECK_THAT(last.graph(), Contains("result=\"last\"") && !Contains("result=\"history\""));
  CHECK_THROWS_WITH(last(reals({0, 4, features}, 1)), Contains("index"));
  const ct::change_flags reference("mode=reference,optimizer=none");
  CHECK(ct::function({built.x}, built.loss)(x0).only().all_close(last(x0).only(), 1e-5, 0));
}

TEST_CASE("launches of some steps each have the bits of one launch of all", "[loops]") {
  using ct::runtime::loop_pieces;
  struct InPieces {  // the first one of so many elements and multiplications, each later one an eighth of the one
                     // before
    explicit InPieces(std::int64_t elements) { loop_pieces() = {elements, 0}; }
    ~InPieces() { loop_pieces() = before; }
    const ct::runtime::LoopPieces before = loop_pieces();
  };
  const auto same = [](const std::vector<ct::In>& inputs, const Vars& outputs, const std::vector<Array>& values) {
    const ct::change_flags flags("mode=run");
    const ct::Function f = ct::function(inputs, outputs);
    CHECK_THAT(f.plan(), Contains("all steps in one launch") && !Contains("a step at a time"));
    const std::vector<ct::Argument> arguments(values.begin(), values.end());
    const ct::Outputs whole = f.call(arguments);
    for (const std::int64_t elements : {1, 1000, 20'000, 100'000}) {
      INFO(elements);
      const InPieces pieces(elements);
      const ct::Outputs got = f.call(arguments);
      for (std::size_t i = 0; i < whole.size(); ++i) CHECK(same_bits(got[i], whole[i]));
    }
  };
  // Rows that are divided among threads, a history, and gradients, whose loops run backwards.
  const Built built = build(layers[2]);
  const Vars gradients = ct::grad(built.loss, built.weights);
  same({built.x}, {built.outputs, gradients[0], gradients[1]}, {reals({30, 11, features}, 5)});
  // Rows of a circular buffer, of a sequence read from its end.
  const Variable x = ct::dmatrix("x"), y = ct::dtensor3("y"), n = ct::dvector("n");
  const ScanResult round =
      ct::scan([&](const Vars& in) { return Step(ct::tanh(in[1] + ct::dot(in[2], x)) + 0.1 * in[0]); }, {n},
               {{y, {-1, -3}}}, {}, {.go_backwards = true});
  same({x, y, n}, {round.outputs[0][-1] + round.outputs[0][-2]},
       {reals({4, 4}, 12, DType::float64), reals({3, 5, 4}, 13, DType::float64), reals({23}, 14, DType::float64)});
  // A condition that holds inside a piece, at its end, or never.
  const Variable limit = ct::dscalar("limit");
  const ScanResult stops = ct::scan(
      [&](const Vars& in) {
        const Variable next = in[0] + 1;
        return ct::until({next}, ct::sum(next) >= limit);
      },
      {}, {n}, {}, {.n_steps = 60});
  for (double steps = 1; steps <= 61; ++steps) same({n, limit}, {stops.outputs[0]}, {Array{0.}, Array(steps)});
}

TEST_CASE("states with several rows go round in one launch", "[loops]") {
  const Variable x = ct::dmatrix("x"), y = ct::dtensor3("y");
  // y (3, batch, 4): rows one and three steps ago; only the last outputs are requested.
  const ScanResult scan =
      ct::scan([&](const Vars& in) { return Step(ct::tanh(in[1] + ct::dot(in[2], x)) + 0.1 * in[0]); },
               {ct::arange(ct::constant(Array(9)))}, {{y, {-1, -3}}});
  const Variable last = scan.outputs[0][-1] + scan.outputs[0][-2];
  const Array x0 = reals({4, 4}, 12, DType::float64), y0 = reals({3, 5, 4}, 13, DType::float64);
  ct::Outputs wanted = [&] {
    const ct::change_flags flags("mode=reference");
    return ct::function({x, y}, last)(x0, y0);
  }();
  for (const std::string& backend : compiled_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({x, y}, last);
    CHECK_THAT(f.plan(), Contains("all steps in one launch"));
    CHECK(f(x0, y0).only().all_close(wanted.only(), 1e-5, 1e-6));
  }
}

TEST_CASE("a loop with a condition to stop is one launch", "[loops]") {
  const Variable x = ct::variable({DType::float64, {ct::unknown_size}}, "x"), limit = ct::dscalar("limit");
  const ScanResult scan = ct::scan(
      [&](const Vars& in) {
        const Variable next = in[0] * 2;
        return ct::until({next}, ct::sum(next) > limit);
      },
      {}, {x}, {}, {.n_steps = 100});
  for (const std::string& backend : compiled_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({x, limit}, scan.outputs[0]);
    CHECK_THAT(f.plan(), Contains("all steps in one launch"));
    const Array got = f(Array{1.0, 2.0, 3.0}, 40.0).only();
    CHECK(got.equals(Array{{2.0, 4.0, 6.0}, {4.0, 8.0, 12.0}, {8.0, 16.0, 24.0}}));
    CHECK(f(Array{1.0}, 1e30).only().shape() == Sizes{100, 1});
  }
}

TEST_CASE("sequences are read without copies", "[loops]") {
  const Variable x = ct::dtensor3("x"), w = ct::dmatrix("w"), n = ct::lscalar("n");
  const auto reversed = [](const Variable& v) { return v[ct::slice({}, {}, -1)]; };
  const std::vector<std::pair<std::string, Variable>> views = {
      {"x", x},
      {"x[1:]", x[ct::slice(1)]},
      {"x[-3:]", x[ct::slice(-3)]},
      {"x[:n]", x[ct::slice({}, n)]},
      {"x[n:]", x[ct::slice(n)]},
      {"x[::2]", x[ct::slice({}, {}, 2)]},
      {"x[::-1]", reversed(x)},
      {"x[-2::-2]", x[ct::slice(-2, {}, -2)]},
      {"x[1:][::-1][:2]", reversed(x[ct::slice(1)])[ct::slice({}, 2)]},
      {"transposed", ct::dimshuffle(x, {1, 0, 2})},
      {"all axes the other way round", ct::dimshuffle(x, {2, 1, 0})},
      {"transposed, then x[1:]", ct::dimshuffle(x, {1, 0, 2})[ct::slice(1)]}};
  for (const auto& [name, view] : views) {
    const ScanResult scan = ct::scan(
        [&](const Vars& in) { return Step{in[1] + ct::sum(ct::dot(in[0], w)), ct::exp(in[0]), ct::dot(in[0], w)}; },
        {view}, {ct::constant(Array(0.0)), std::nullopt, std::nullopt});
    for (const std::int64_t steps : {0, 2, 9}) {
      const Array x0 = reals({5, 4, 4}, 3, DType::float64),
                  w0 = reals({name.starts_with("all") ? 5 : 4, 3}, 4, DType::float64);
      const auto results = [&](const std::string& flags_text) {
        const ct::change_flags flags(flags_text);
        return ct::function({x, w, n}, scan.outputs, {.on_unused_input = ct::UnusedInput::ignore})(x0, w0, steps);
      };
      const ct::Outputs wanted = results("mode=reference,optimizer=none");
      for (const std::string& backend : backends()) {
        INFO(name << " " << backend << " " << steps);
        const ct::Outputs got = results(backend);
        for (std::size_t i = 0; i < 3; ++i) CHECK(got[i].all_close(wanted[i], 1e-12, 1e-12));
      }
    }
  }
  // On the host they are not copied.
  const ct::change_flags flags("mode=run");
  const Variable all =
      ct::map([&](const Vars& in) { return Step(ct::dot(in[0], w)); }, {ct::dimshuffle(x, {1, 0, 2})}).outputs[0];
  const ct::Function f = ct::function({x, w}, all);
  f(reals({3, 4, 5}, 1, DType::float64), reals({5, 2}, 2, DType::float64));
  CHECK(f.counts().kernels == 1);
  // If the host runs the steps, a library reads them.
  const Array large = reals({4, 3, 600}, 5, DType::float64), weights = reals({600, 600}, 6, DType::float64);
  const Array got = f(large, weights).only();
  CHECK(f.counts().products == 3);
  const ct::change_flags reference("mode=reference");
  CHECK(got.all_close(ct::function({x, w}, all)(large, weights).only(), 1e-12, 1e-12));
}

TEST_CASE("positions outside are found where all steps are one launch", "[loops]") {
  const Variable x = ct::lmatrix("x"), table = ct::dmatrix("table");
  const SharedVariable total = ct::shared(Array(0.0), {.name = "total"});
  const ScanResult scan =
      ct::scan([&](const Vars& in) { return Step(ct::tanh(0.5 * in[1] + ct::take(table, in[0], 0))); }, {x},
               {ct::zeros({x.shape(1), table.shape(1)}, DType::float64)});
  const Array t0 = reals({3, 5}, 1, DType::float64);
  const Array good = Array(std::vector<std::int64_t>{0, 1, 2, -1, -3, 2, 1, 0}).reshape({4, 2}),
              bad = Array(std::vector<std::int64_t>{0, 1, 2, -1, -4, 2, 1, 0}).reshape({4, 2});
  const Array wanted = [&] {
    const ct::change_flags flags("mode=reference");
    return ct::function({x, table}, scan.outputs[0])(good, t0).only();
  }();
  for (const std::string& backend : compiled_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f =
        ct::function({x, table}, scan.outputs[0], {.updates = {{total, total + ct::sum(scan.outputs[0])}}});
    CHECK_THAT(f.plan(), Contains("all steps in one launch"));
    SharedVariable(total).set_value(Array(1.0));
    CHECK_THROWS_WITH(f(bad, t0), Contains("-4") && Contains("in a step of a loop") && Contains("test_loops.cpp"));
    CHECK_THROWS_AS(f(bad, t0), ct::IndexError);
    CHECK(total.get_value().item<double>() == 1);
    CHECK(f(good, t0).only().all_close(wanted, 1e-12, 1e-12));
  }
}

namespace {

/// Compares outputs with and without `rules_off`, and with the reference, at several numbers of steps.
void check_with_and_without(const std::vector<ct::In>& inputs, const Vars& outputs, const std::string& rule,
                            const std::function<std::vector<Array>(std::int64_t steps)>& arguments,
                            const std::function<bool(const std::string& backend)>& fires) {
  for (const std::int64_t steps : {0, 1, 6}) {
    const std::vector<Array> arrays = arguments(steps);
    const std::vector<ct::Argument> given(arrays.begin(), arrays.end());
    const auto results = [&](const std::string& flags_text, bool expected) {
      const ct::change_flags flags(flags_text);
      const ct::Function f = ct::function(inputs, outputs);
      const bool fired = f.rewrites().find(rule) != std::string::npos;
      CHECK(fired == expected);
      return f.call(given);
    };
    const ct::Outputs wanted = results("mode=reference,optimizer=none", false);
    for (const std::string& backend : compiled_backends()) {
      INFO(rule << " " << backend << " " << steps);
      const ct::Outputs with = results(backend, fires(backend)),
                        without = results(backend + ",rules_off=" + rule, false);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        // Sums of some dozen products of numbers below one in single precision.
        CHECK(with[i].all_close(wanted[i], 1e-4, 1e-5));
        CHECK(without[i].all_close(wanted[i], 1e-4, 1e-5));
      }
    }
  }
}

bool always(const std::string&) { return true; }
bool on_gpus(const std::string& backend) { return !is_cpu(backend); }
/// How often a text occurs in another one.
int times(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("loops that do not need each other run as one", "[loops]") {
  const Variable x = ct::ftensor3("x"), v = ct::fmatrix("v"), w = ct::fmatrix("w");
  const Variable zeros = ct::zeros({x.shape(1), 4}, DType::float32);
  const auto layer = [&](const Variable& sequence, const Variable& matrix) {
    return ct::scan([&](const Vars& in) { return Step(ct::tanh(in[0] + ct::dot(in[1], matrix))); }, {sequence}, {zeros})
        .outputs[0];
  };
  const auto values = [](std::int64_t steps) {
    Array x0 = reals({steps, 3, 4}, 21);
    if (steps > 1) x0.at<float>(1, 2, 3) = NAN;
    return std::vector<Array>{x0, reals({4, 4}, 22), reals({4, 4}, 23)};
  };
  const Variable reversed = x[ct::slice({}, {}, -1)];
  SECTION("two over one sequence, with gradients") {
    const Variable a = layer(x, v), b = layer(x, w);
    const Variable loss = ct::sum(a * a) + ct::sum(b * a);
    Vars outputs{a, b};
    for (const Variable& gradient : ct::grad(loss, {v, w, x})) outputs.push_back(gradient);
    check_with_and_without({x, v, w}, outputs, "loop-merged", values, always);
    const ct::change_flags flags("mode=run");
    const ct::Function f = ct::function({x, v, w}, {a, b});
    CHECK(times(f.plan(), "loop(") == 1);
    CHECK_THAT(f.plan(), Contains("all steps in one launch"));
  }
  SECTION("both directions: one launch on a GPU; a CPU would gain nothing") {
    check_with_and_without({x, v, w}, {layer(x, v), layer(reversed, w)}, "loop-merged", values, on_gpus);
  }
  SECTION("one needs the other") {
    check_with_and_without({x, v, w}, {layer(layer(x, v) + x, w)}, "loop-merged", values,
                           [](const std::string&) { return false; });
  }
  SECTION("pairs that need each other crosswise: one pair merges") {
    // a depends on nothing, b on a; c on nothing, d on c. If a and d are merged, b and c must not be.
    const Variable a = layer(x, v), b = layer(x + a, w), c = layer(x, w), d = layer(x + c, v);
    check_with_and_without({x, v, w}, {a, b, c, d}, "loop-merged", values, always);
  }
  SECTION("states with their own numbers of rows, taps, sums and captured values") {
    const Variable start = ct::zeros({2, x.shape(1), 4}, DType::float32);
    const ScanResult both =
        ct::scan([&](const Vars& in) { return Step{in[1] + in[0] * in[2], ct::dot(in[0], v) + in[3]}; }, {x},
                 {{start, {-1, -2}}, zeros});
    check_with_and_without({x, v, w}, {both.outputs[0], both.outputs[1][ct::slice(-2)], layer(x, w)}, "loop-merged",
                           values, always);
  }
  SECTION("a condition to stop keeps loops apart") {
    const Variable stopped =
        ct::scan([&](const Vars& in) { return ct::until({in[0] + in[1]}, ct::sum(in[1]) > 3.F); }, {x}, {zeros})
            .outputs[0];
    check_with_and_without({x, v, w}, {stopped, layer(x, v), ct::dot(stopped, w)}, "loop-merged", values,
                           [](const std::string&) { return false; });
  }
}

TEST_CASE("products of sequences are done in front of a loop where that pays", "[loops]") {
  const auto build = [](const Variable& x, const Variable& w, const Variable& u) {
    return ct::scan(
               [&](const Vars& in) { return Step(ct::tanh(ct::dot(ct::tanh(in[0]) * 2.F, w) + ct::dot(in[1], u))); },
               {x}, {ct::zeros({x.shape(1), 4}, DType::float32)})
        .outputs[0];
  };
  const Variable x = ct::ftensor3("x"), w = ct::fmatrix("w"), u = ct::fmatrix("u");
  const auto with_gradients = [&](const Variable& of, const Variable& out) {
    Vars outputs{out};
    for (const Variable& gradient : ct::grad(ct::sum(ct::sqr(out)), {of, w, u})) outputs.push_back(gradient);
    return outputs;
  };
  const auto values = [](std::int64_t steps) {
    return std::vector<Array>{reals({steps, 2, 5}, 31), reals({5, 4}, 32), reals({4, 4}, 33)};
  };
  SECTION("rows of any number: on a GPU") {
    const std::string rule = "loop-products-in-front";
    check_with_and_without({x, w, u}, with_gradients(x, build(x, w, u)), rule, values, on_gpus);
  }
  SECTION("few rows: everywhere") {
    const Variable few = ct::variable({DType::float32, {ct::unknown_size, 2, ct::unknown_size}}, "few");
    const std::string rule = "loop-products-in-front";
    check_with_and_without({few, w, u}, with_gradients(few, build(few, w, u)), rule, values, always);
  }
  SECTION("a large matrix: everywhere, and the loop is one launch") {
    const SharedVariable large = ct::shared(reals({700, 500}, 34), {.name = "large"});
    const Variable out = ct::scan([&](const Vars& in) { return Step(0.5F * in[1] + ct::dot(in[0], large)); }, {x},
                                  {ct::zeros({x.shape(1), 500}, DType::float32)})
                             .outputs[0];
    check_with_and_without(
        {x}, {out}, "loop-products-in-front",
        [](std::int64_t steps) { return std::vector<Array>{reals({steps, 2, 700}, 31)}; }, always);
    const ct::change_flags flags("mode=run");
    const ct::Function f = ct::function({x}, out);
    CHECK(f(reals({9, 2, 700}, 31)).only().shape() == Sizes{9, 2, 500});
    CHECK(f.counts().products == 1);
  }
  SECTION("a layer that no state reads is computed after the loop") {
    const Variable b = ct::fvector("b");
    const ScanResult scan = ct::scan(
        [&](const Vars& in) {
          const Variable h = ct::tanh(in[0] + ct::dot(in[1], u));
          return Step{h, ct::nnet::softmax(ct::dot(h, w) + b)};
        },
        {x}, {ct::zeros({x.shape(1), 5}, DType::float32), std::nullopt});
    const Variable out = scan.outputs[1];
    Vars outputs{out};
    for (const Variable& gradient : ct::grad(ct::sum(out * out), {x, w, b})) outputs.push_back(gradient);
    check_with_and_without(
        {x, w, u, b}, outputs, "loop-products-behind",
        [](std::int64_t steps) {
          return std::vector<Array>{reals({steps, 2, 5}, 31), reals({5, 4}, 32), reals({5, 5}, 33), reals({4}, 34)};
        },
        on_gpus);
  }
}

namespace {

/// Eight blocks of two warps, for any amount of work: so that small loops are loops of a grid.
constexpr const char* small_grid = ",schedule=threads=64+blocks=8+meeting=1";
/// So many blocks, or fewer if there is less work.
bool is_of_grid(const std::string& plan) {
  return plan.find("one cooperative launch of ") != plan.npos && plan.find("launch of 1 block:") == plan.npos;
}

struct GridLoop {
  std::string name;
  std::vector<ct::In> inputs;
  Vars outputs;
  std::vector<Array> values;
  double tolerance = 1e-12;
};

ct::Outputs run_with(const std::string& settings, const GridLoop& loop, std::string* plan = nullptr) {
  const ct::change_flags flags(settings);
  const ct::Function f = ct::function(loop.inputs, loop.outputs);
  std::vector<ct::Argument> arguments(loop.values.begin(), loop.values.end());
  ct::Outputs results = f.call(arguments);
  results = f.call(arguments);  // the state after the first call must not matter
  if (plan != nullptr) *plan = f.plan();
  return results;
}

/// The same values by the whole grid, by one block, and by the reference evaluator.
void check_grid(const GridLoop& loop) {
  const ct::Outputs wanted = run_with("mode=reference", loop);
  for (const std::string& backend : cuda_backends()) {
    INFO(loop.name << " " << backend);
    std::string plan;
    const ct::Outputs got = run_with(backend + small_grid, loop, &plan);
    CHECK(is_of_grid(plan));
    const ct::Outputs alone = run_with(backend + ",schedule=threads=64+blocks=8+meeting=1000000", loop, &plan);
    CHECK_THAT(plan, Contains("one launch of one block"));
    for (std::size_t i = 0; i < loop.outputs.size(); ++i) {
      CHECK(got[i].shape() == wanted[i].shape());
      CHECK(got[i].all_close(wanted[i], loop.tolerance, loop.tolerance));
      CHECK(same_bits(got[i], alone[i]));
    }
  }
}

Variable norm(const Variable& x) { return ct::sqrt(ct::sum(ct::sqr(x))); }

}  // namespace

TEST_CASE("all blocks work on the steps of a loop whose rows depend on each other", "[loops]") {
  const Variable a = ct::dmatrix("a"), x = ct::dmatrix("x"),
                 v = ct::variable({DType::float64, {ct::unknown_size}}, "v");
  const auto repeated = [&](std::int64_t steps, const Variable& first,
                            const std::function<Variable(const Variable&)>& f) {
    return ct::scan([&](const Vars& in) { return Step(f(in[0])); }, {}, {first}, {}, {.n_steps = steps}).outputs[0];
  };
  const Array square = reals({70, 70}, 1, DType::float64), wide = reals({70, 50}, 2, DType::float64);
  const Variable powers = repeated(3, x, [&](const Variable& h) { return ct::dot(a, h); });
  check_grid({"powers of a matrix", {a, x}, {powers}, {square, wide}, 1e-9});
  check_grid({"and their gradients",
              {a, x},
              ct::grad(ct::sum(ct::tanh(powers)), Vars{a, x}),
              {reals({20, 20}, 1, DType::float64), reals({20, 17}, 2, DType::float64)},
              1e-9});
  // 3500 elements: a reduction that all blocks share.
  check_grid({"power iteration",
              {a, x},
              {repeated(4, x,
                        [&](const Variable& h) {
                          const Variable next = ct::dot(a, h);
                          return next / norm(next);
                        })},
              {square, wide}});
  check_grid({"power iteration of a vector",
              {a, v},
              {repeated(4, v,
                        [&](const Variable& h) {
                          const Variable next = ct::dot(a, h);
                          return next / norm(next);
                        })},
              {square, reals({70}, 3, DType::float64)}});
  check_grid({"rows in the other order",
              {x},
              {repeated(5, x, [&](const Variable& h) { return 0.5 * h[ct::slice({}, {}, -1)] + ct::sin(h); })},
              {wide}});
  // 34 blocks of the tree of a reduction, of which 32 and then 2 are combined, and the last is not full; and twice 32.
  for (const std::int64_t size : {2049, 33'800, 65'536}) {
    check_grid({fmt::format("reductions of {} elements", size),
                {v},
                {repeated(2, v,
                          [&](const Variable& h) {
                            const Variable total = ct::sum(h) + ct::max(h) + ct::min(ct::sqr(h));
                            return 0.5 * h + 1e-3 * (total + ct::argmax(h) * ct::any(ct::gt(h, 0.9)));
                          })},
                {reals({size}, 4, DType::float64)}});
  }
}

TEST_CASE("blocks agree on when a loop ends", "[loops]") {
  // Conjugate gradients: (solution, residual, direction) until the residual is small.
  const Variable a = ct::dmatrix("a"), b = ct::variable({DType::float64, {ct::unknown_size}}, "b");
  const ScanResult solver = ct::scan(
      [&](const Vars& in) {
        const Variable &s = in[0], &r = in[1], &p = in[2];
        const Variable ap = ct::dot(a, p), before = ct::sum(ct::sqr(r)), step = before / ct::sum(p * ap);
        const Variable left = r - step * ap, after = ct::sum(ct::sqr(left));
        return ct::until({s + step * p, left, left + after / before * p}, after < 1e-20);
      },
      {}, {ct::zeros_like(b), b, b}, {}, {.n_steps = 100});
  const std::int64_t n = 80;
  const Array random = reals({n, n}, 5, DType::float64), right = reals({n}, 6, DType::float64);
  const Variable m = ct::dmatrix("m");
  const Array matrix =
      ct::function({m}, ct::dot(m, ct::dimshuffle(m, {1, 0})) + 20.0 * ct::eye(n, n, 0, DType::float64))(random).only();
  const GridLoop loop{"conjugate gradients", {a, b}, {solver.outputs[0], solver.outputs[0][-1]}, {matrix, right}, 1e-9};
  const Array wanted = run_with("mode=reference", loop)[0];
  CHECK(wanted.shape()[0] < 100);
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    std::string plan;
    const ct::Outputs results = run_with(backend + small_grid, loop, &plan);
    const Array& got = results[0];
    CHECK(is_of_grid(plan));
    CHECK_THAT(plan, Contains("it ends by a condition"));
    CHECK(got.shape() == wanted.shape());
    CHECK(got.all_close(wanted, 1e-9, 1e-9));
    const Array solved = ct::function({a, b}, ct::dot(a, b))(matrix, results[1]).only();
    CHECK(solved.all_close(right, 1e-8, 1e-8));
  }
}

TEST_CASE("a loop of the whole grid takes nan, no steps and positions outside", "[loops]") {
  const Variable a = ct::dmatrix("a"), x = ct::dmatrix("x"), order = ct::lvector("order"), k = ct::lscalar("k");
  const ScanResult scan = ct::scan(
      [&](const Vars& in) {
        const Variable next = ct::dot(a, ct::take(in[0], order, 0));
        return Step(next / ct::max(ct::abs(next)));
      },
      {}, {x}, {}, {.n_steps = k});
  const auto a0 = reals({20, 6}, 1, DType::float64);
  Array x0 = reals({20, 15}, 2, DType::float64);
  const Array good(std::vector<std::int64_t>{3, 1, 19, -20, 2, 0}), bad(std::vector<std::int64_t>{3, 1, 20, -6, 2, 0});
  const Variable outputs = scan.outputs[0];
  const auto reference = [&](std::int64_t steps) {
    const ct::change_flags flags("mode=reference");
    return ct::function({a, x, order, k}, outputs)(a0, x0, good, steps).only();
  };
  const Array wanted = reference(4);
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend + small_grid);
    const ct::Function f = ct::function({a, x, order, k}, outputs);
    CHECK(f(a0, x0, good, 4).only().all_close(wanted, 1e-12, 1e-12));
    CHECK(is_of_grid(f.plan()));
    CHECK_THROWS_WITH(f(a0, x0, bad, 4), Contains("20") && Contains("in a step of a loop"));
    CHECK(f(a0, x0, good, 4).only().all_close(wanted, 1e-12, 1e-12));
    CHECK(f(a0, x0, good, 0).only().shape() == Sizes{0, 20, 15});
    CHECK_THAT(f.plan(), Contains("no steps"));
    const Array x1 = x0;
    x0 = x0.copy();
    x0.at<double>(2, 3) = std::numeric_limits<double>::quiet_NaN();
    const Array nan = f(a0, x0, good, 3).only(), nan_wanted = reference(3);
    for (std::int64_t i = 0; i < nan.size(); ++i)
      CHECK(std::isnan(nan.as_double(i)) == std::isnan(nan_wanted.as_double(i)));
    CHECK(std::isnan(nan.as_double(nan.size() - 1)));
    x0 = x1;
  }
}

TEST_CASE("how a GPU runs a loop is chosen by its sizes, and said", "[loops]") {
  const Variable x = ct::fmatrix("x"), w = ct::fmatrix("w");
  const auto powers = ct::scan([&](const Vars& in) { return Step(ct::dot(w, in[0])); }, {}, {x}, {}, {.n_steps = 2})
                          .outputs[0],
             layer = ct::scan([&](const Vars& in) { return Step(ct::tanh(ct::dot(in[0], w))); }, {}, {x}, {},
                              {.n_steps = 2})
                         .outputs[0];
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const auto how = [&](const Variable& loop, const Array& x0, const Array& w0) {
      const ct::Function f = ct::function({x, w}, loop);
      f(x0, w0);
      const std::string plan = f.plan();
      return plan.substr(plan.find("loops, as the last call ran them"));
    };
    CHECK_THAT(how(powers, reals({16, 16}, 1), reals({16, 16}, 2)),
               Contains("one launch of one block: its rows depend on each other, and a step is short ("));
    // The number of blocks depends on the device: the simulated one has 8 at most.
    const bool simulated = backend == "mode=simulate";
    const auto launch_of = [&](int blocks) {
      return simulated ? fmt::format("launch of {} block", blocks) : "launch of";
    };
    CHECK_THAT(how(powers, reals({96, 96}, 1), reals({96, 96}, 2)),
               Contains("one cooperative " + launch_of(8)) &&
                   Contains(": its rows depend on each other, and a step is long (110592 elements, 1 grid barrier)"));
    CHECK_THAT(how(powers, reals({600, 600}, 1), reals({600, 600}, 2)),
               Contains("a step at a time, as a CUDA graph: its product 600 x 600 x 600 is large"));
    CHECK_THAT(how(layer, reals({4, 60}, 1), reals({60, 60}, 2)),
               Contains("one " + launch_of(4)) && Contains(", each with its own rows"));
    CHECK_THAT(how(layer, reals({4, 300}, 1), reals({300, 300}, 2)),
               Contains("one cooperative " + launch_of(8)) &&
                   Contains(": its product 4 x 300 x 300 is large for one multiprocessor"));
    CHECK_THAT(how(layer, reals({3, 600}, 1), reals({600, 600}, 2)),
               Contains("a step at a time, as a CUDA graph: its product 3 x 600 x 600 is large"));
  }
}
