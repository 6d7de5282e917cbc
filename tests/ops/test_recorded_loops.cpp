// Loops whose steps a GPU runs separately: which ones are recorded and when, and that replaying gives the same results.
// These tests use the simulated device; unit/test_cuda_graphs.cpp tests the driver.
#include "samples.hpp"

#include "runtime/loops/repeated_work.hpp"

#include <functional>

using namespace croton_test;
using Catch::Matchers::Contains;
using ct::ScanResult;
using ct::SharedVariable;
using ct::Step;
using ct::runtime::recording_counts;
using ct::runtime::RecordingCounts;
using Vars = std::vector<Variable>;

namespace {

Array reals(const Sizes& shape, std::uint64_t seed, double most = 1) {
  return Array::uniform(DType::float32, shape, seed, -most, most);
}

/// The recordings and replays since it was made, or since the last call of this.
class Counted {
 public:
  bool are(std::uint64_t recorded, std::uint64_t replayed) {
    const RecordingCounts now = recording_counts();
    const bool same = now.recorded - before_.recorded == recorded && now.replayed - before_.replayed == replayed &&
                      now.failed == before_.failed;
    if (!same)
      UNSCOPED_INFO(now.recorded - before_.recorded << " recorded, " << now.replayed - before_.replayed << " replayed");
    before_ = now;
    return same;
  }

 private:
  RecordingCounts before_ = recording_counts();
};

/// A recurrent layer with a matrix that is too large for one launch of all steps (sums of more than 512). Sums of 520
/// numbers below 0.1 in another order than the reference's differ by some 1e-6.
struct Layer {
  Variable x = ct::ftensor3("x"), outputs, loss;
  SharedVariable w, u;

  explicit Layer(std::int64_t units = 520, std::int64_t features = 6)
      : w(ct::shared(reals({features, units}, 1, 0.3), {.name = "w"})),
        u(ct::shared(reals({units, units}, 2, 0.1), {.name = "u"})) {
    const Variable start = ct::zeros({x.shape(1), units}, DType::float32);
    outputs =
        ct::scan([&](const Vars& in) { return Step(ct::tanh(ct::dot(in[0], w) + ct::dot(in[1], u))); }, {x}, {start})
            .outputs[0];
    loss = ct::mean(ct::sqr(outputs[-1]));
  }
};

ct::Outputs wanted_of(const std::vector<ct::In>& inputs, const Vars& outputs, const std::vector<ct::Argument>& given) {
  const ct::change_flags flags("mode=reference");
  return ct::function(inputs, outputs).call(given);
}

Variable repeated(const Variable& x, std::int64_t steps, const std::function<Variable(const Variable&)>& step) {
  return ct::scan([&](const Vars& in) { return Step(step(in[0])); }, {}, {x}, {}, {.n_steps = steps}).outputs[0];
}

}  // namespace

TEST_CASE("steps are recorded in the second call at the same addresses and replayed from then on", "[loops]") {
  const Layer layer;
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({layer.x}, layer.outputs);
    CHECK_THAT(f.plan(), Contains("a step at a time, as a CUDA graph: the product of test_recorded_loops.cpp:") &&
                             Contains("has a right matrix of 1.0 MiB"));
    Counted counted;
    std::vector<ct::CallCounts> counts{{}};
    for (int call = 0; call < 5; ++call) {
      CAPTURE(call);
      const Array x0 = reals({7, 3, 6}, 10 + static_cast<std::uint64_t>(call));
      const Array got = f(x0).only();
      CHECK(counted.are(call == 1 ? 1 : 0, call == 0 ? 0 : 1));
      CHECK(got.all_close(wanted_of({layer.x}, {layer.outputs}, {x0})[0], 1e-4, 1e-5));
      // Everything that runs is counted, recorded or not.
      counts.push_back(f.counts());
      CHECK(counts.back().products - counts[counts.size() - 2].products == 8);
      CHECK(counts.back().kernels - counts[counts.size() - 2].kernels == counts[1].kernels);
    }
  }
}

TEST_CASE("a recording reads the present values at its addresses", "[loops]") {
  Layer layer;
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({layer.x}, layer.outputs);
    for (std::uint64_t call = 0; call < 6; ++call) {
      CAPTURE(call);
      // The matrix moves: to new memory, or to memory of another value.
      layer.u.set_value(reals({520, 520}, 100 + call, 0.1));
      const Array x0 = reals({4, 3, 6}, call);
      CHECK(f(x0).only().all_close(wanted_of({layer.x}, {layer.outputs}, {x0})[0], 1e-4, 1e-5));
    }
  }
}

TEST_CASE("recorded loops train: gradients and updates", "[loops]") {
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const Layer layer, other;
    const auto train = [](const Layer& l, const std::string& flags_text) {
      const ct::change_flags flags(flags_text);
      const Vars g = ct::grad(l.loss, {l.w, l.u});
      const ct::Function step =
          ct::function({l.x}, l.loss, {.updates = {{l.w, l.w - 0.5 * g[0]}, {l.u, l.u - 0.5 * g[1]}}});
      if (flags_text != "mode=run") {
        CHECK_THAT(step.plan(), Contains("as a CUDA graph") && !Contains("by the host"));
      }
      Counted counted;
      std::vector<double> losses;
      for (std::uint64_t call = 0; call < 6; ++call) losses.push_back(step(reals({5, 3, 6}, call)).item<double>());
      if (flags_text != "mode=run") CHECK_FALSE(counted.are(0, 0));
      return losses;
    };
    const std::vector<double> got = train(layer, backend), wanted = train(other, "mode=run");
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).epsilon(1e-4));
    CHECK(layer.u.get_value().all_close(other.u.get_value(), 1e-4, 1e-5));
    CHECK(layer.w.get_value().all_close(other.w.get_value(), 1e-4, 1e-5));
  }
}

TEST_CASE("an LSTM of 520 units", "[loops]") {
  constexpr std::int64_t units = 520;
  const Variable x = ct::ftensor3("x");
  const SharedVariable w = ct::shared(reals({5, 4 * units}, 1, 0.2), {.name = "w"}),
                       u = ct::shared(reals({units, 4 * units}, 2, 0.05), {.name = "u"});
  const auto gate = [](const Variable& z, int k) { return z.at({ct::slice(), ct::slice(k * units, (k + 1) * units)}); };
  const Variable start = ct::zeros({x.shape(1), units}, DType::float32);
  const ScanResult scan = ct::scan(
      [&](const Vars& in) {
        const Variable z = ct::dot(in[0], w) + ct::dot(in[1], u);
        const Variable c = ct::sigmoid(gate(z, 1)) * in[2] + ct::sigmoid(gate(z, 0)) * ct::tanh(gate(z, 2));
        return Step{ct::sigmoid(gate(z, 3)) * ct::tanh(c), c};
      },
      {x}, {start, start});
  const Vars results{scan.outputs[0], ct::grad(ct::sum(ct::sqr(scan.outputs[0][-1])), u)};
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({x}, results);
    Counted counted;
    for (std::uint64_t call = 0; call < 3; ++call) {
      CAPTURE(call);
      const Array x0 = reals({4, 3, 5}, call);
      const ct::Outputs got = f(x0), wanted = wanted_of({x}, results, {x0});
      CHECK(got[0].all_close(wanted[0], 1e-4, 1e-5));
      CHECK(got[1].all_close(wanted[1], 1e-3, 1e-5));
    }
    CHECK(counted.are(2, 4));
    CHECK_THAT(f.plan(), Contains("as a CUDA graph: its product 3 x 520 x 2080 is large") &&
                             Contains("as a CUDA graph: its product 3 x 2080 x 520 is large"));
  }
}

TEST_CASE("other sizes and copies of a function have recordings of their own", "[loops]") {
  const Layer layer;
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({layer.x}, layer.outputs), g = f.copy();
    Counted counted;
    std::uint64_t seed = 0;
    const auto check = [&](const ct::Function& function, std::int64_t steps, std::int64_t rows) {
      CAPTURE(steps, rows);
      const Array x0 = reals({steps, rows, 6}, ++seed);
      CHECK(function(x0).only().all_close(wanted_of({layer.x}, {layer.outputs}, {x0})[0], 1e-4, 1e-5));
    };
    for (int call = 0; call < 3; ++call) check(f, 6, 4);
    CHECK(counted.are(1, 2));
    for (int call = 0; call < 3; ++call) check(f, 3, 5);
    CHECK(counted.are(1, 2));
    for (int call = 0; call < 3; ++call) check(g, 6, 4);
    CHECK(counted.are(1, 2));
    check(f, 6, 4);
    check(f, 0, 4);
    check(f, 0, 4);
    check(f, 1, 4);
  }
}

TEST_CASE("sorts and running sums in a step are recorded, in pieces where there are many", "[loops]") {
  const Variable x = ct::fmatrix("x");
  const auto step = [](const Variable& h) { return 0.5 * ct::cumsum(h, 0) + ct::sort(h, 0); };
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const auto calls = [&](std::int64_t steps, std::uint64_t pieces) {
      CAPTURE(steps);
      const Variable last = repeated(x, steps, step)[-1];
      const ct::Function f = ct::function({x}, last);
      CHECK_THAT(f.plan(), Contains("as a CUDA graph: ") && Contains("needs separate launches"));
      Counted counted;
      for (std::uint64_t call = 0; call < 3; ++call) {
        const Array x0 = reals({3, 2}, call);
        const Array got = f(x0).only();
        CHECK(counted.are(call == 1 ? pieces : 0, call == 0 ? 0 : pieces));
        CHECK(got.all_close(wanted_of({x}, {last}, {x0})[0], 1e-4, 1e-30));
      }
    };
    calls(12, 1);
    calls(200, 3);
    calls(2000, 0);  // above the bound
  }
}

TEST_CASE("loops that need the host in each step are not recorded, and say why", "[loops]") {
  const Variable x = ct::variable({DType::float32, {ct::unknown_size, 520}}, "x"), table = ct::fmatrix("table");
  const SharedVariable u = ct::shared(reals({520, 520}, 1, 0.1), {.name = "u"});
  const auto product = [&](const Variable& h) { return ct::tanh(ct::dot(h, u)); };
  const auto until = ct::scan(
      [&](const Vars& in) {
        const Variable next = product(in[0]);
        return ct::until({next}, ct::sum(next) > 1000);
      },
      {}, {x}, {}, {.n_steps = 4});
  const auto looked_up = [&](const Variable& h) {
    return product(h) + ct::take(table, ct::cast(ct::floor(ct::abs(h[0][0])), DType::int64), 0);
  };
  const Array x0 = reals({3, 520}, 3), table0 = reals({3, 520}, 4);
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const auto check = [&](const Variable& output, const std::string& why) {
      const std::vector<ct::In> inputs{x, table};
      const ct::Function f = ct::function(inputs, output, {.on_unused_input = ct::UnusedInput::ignore});
      CHECK_THAT(f.plan(), Contains("by the host, a step at a time: ") && Contains(why));
      Counted counted;
      const ct::change_flags ignore("on_unused_input=ignore");
      const Array wanted = wanted_of(inputs, {output}, {x0, table0})[0];
      for (int call = 0; call < 3; ++call) CHECK(f(x0, table0).only().all_close(wanted, 1e-3, 1e-4));
      CHECK(counted.are(0, 0));
    };
    check(until.outputs[0], "no CUDA graph: the host checks after each step whether it was the last");
    check(repeated(x, 3, looked_up), "no CUDA graph: the host reads the result of each kernel that checks values");
    const auto inner = [&](const Variable& h) {
      return ct::ifelse(ct::sum(h) > 0, product(h), ct::cumsum(h, 1) * 0.1);
    };
    check(repeated(x, 3, inner), "it finds sizes by computing");  // which of the two
  }
}

TEST_CASE("a loop inside a loop: the inner one may be recorded", "[loops]") {
  const Variable x = ct::variable({DType::float32, {ct::unknown_size, 520}}, "x");
  const SharedVariable u = ct::shared(reals({520, 520}, 1, 0.1), {.name = "u"});
  const auto inner = [&](const Variable& h) {
    return ct::scan([&](const Vars& in) { return Step(ct::tanh(ct::dot(in[0], u))); }, {}, {h}, {}, {.n_steps = 3})
        .outputs[0][-1];
  };
  for (const bool history : {true, false}) {
    const Variable all = repeated(x, 5, inner), wanted = history ? all : all[-1];
    for (const std::string& backend : cuda_backends()) {
      INFO(backend << " " << history);
      const ct::change_flags flags(backend);
      const ct::Function f = ct::function({x}, wanted);
      CHECK_THAT(f.plan(), Contains("by the host, a step at a time") && Contains("as a CUDA graph"));
      for (std::uint64_t call = 0; call < 4; ++call) {
        const Array x0 = reals({3, 520}, call);
        CHECK(f(x0).only().all_close(wanted_of({x}, {wanted}, {x0})[0], 1e-4, 1e-5));
      }
    }
  }
}

TEST_CASE("unused results of a step, and states in a ring of slots", "[loops]") {
  const Variable x = ct::ftensor3("x"), y = ct::fmatrix("y");
  const SharedVariable u = ct::shared(reals({520, 520}, 1, 0.1), {.name = "u"});
  // y: rows one and three steps ago; only the last outputs are requested, and none of the exponentials.
  const ScanResult scan =
      ct::scan([&](const Vars& in) { return Step{ct::tanh(in[0] + ct::dot(in[1], u)) + 0.1 * in[2], ct::exp(in[0])}; },
               {x}, {{ct::stack({y, 2 * y, 3 * y}), {-1, -3}}, std::nullopt}, {}, {.go_backwards = true});
  const Variable last = scan.outputs[0][-1];
  for (const std::string& backend : cuda_backends()) {
    for (const std::string off : {"", ",rules_off=loop-unused"}) {
      INFO(backend << off);
      const ct::change_flags flags(backend + off);
      const ct::Function f = ct::function({x, y}, last);
      const auto call_it = [&](std::uint64_t seed) {
        CAPTURE(seed);
        const Array x0 = reals({8, 3, 520}, seed), y0 = reals({3, 520}, seed + 50);
        CHECK(f(x0, y0).only().all_close(wanted_of({x, y}, {last}, {x0, y0})[0], 1e-5, 1e-5));
      };
      // A driver's pool may need some calls until it returns the same addresses again.
      if (backend != "mode=simulate")
        for (std::uint64_t call = 10; call < 20; ++call) call_it(call);
      Counted counted;
      for (std::uint64_t call = 0; call < 4; ++call) call_it(call);
      CHECK((backend == "mode=simulate" ? counted.are(1, 3) : counted.are(0, 4)));
    }
  }
}

TEST_CASE("the flag cuda_graphs turns recording off", "[loops]") {
  const Layer layer;
  for (const std::string& backend : cuda_backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    const ct::Function f = ct::function({layer.x}, layer.outputs);
    const Array x0 = reals({4, 3, 6}, 5);
    const Array wanted = f(x0).only();
    Counted counted;
    {
      const ct::change_flags off("cuda_graphs=false");
      CHECK_THAT(f.plan(), Contains("by the host, a step at a time") && Contains("the flag cuda_graphs is off"));
      for (int call = 0; call < 3; ++call) CHECK(same_bits(f(x0).only(), wanted));
      CHECK(counted.are(0, 0));
    }
    for (int call = 0; call < 3; ++call) CHECK(same_bits(f(x0).only(), wanted));
    CHECK(counted.are(1, 3));
  }
}

TEST_CASE("plans say what sizes decide, as far as these are stated", "[loops]") {
  const auto plan = [](const std::string& flags_text, std::int64_t rows, std::int64_t units) {
    const ct::change_flags flags(flags_text);
    const Variable x = ct::variable({DType::float32, {rows, units}}, "x"), u = ct::fmatrix("u");
    return ct::function({x, u}, repeated(x, 3, [&](const Variable& h) { return ct::dot(h, u); })).plan();
  };
  const std::int64_t any = ct::unknown_size;
  CHECK_THAT(plan("mode=run", any, 600),
             Contains("by the host, a step at a time: the product of test_recorded_loops") &&
                 Contains("has a right matrix of 1.4 MiB:"));
  CHECK_THAT(plan("mode=run", any, 400), Contains("all steps in one launch:"));
  CHECK_THAT(plan("mode=run", any, any), Contains("all steps in one launch:"));
  // On a GPU all blocks work on a product, up to sums of 512 and 2^24 multiplications.
  CHECK_THAT(plan("mode=simulate", any, 600), Contains("a step at a time, as a CUDA graph: the product of ") &&
                                                  Contains("has a right matrix of 1.4 MiB:"));
  CHECK_THAT(plan("mode=simulate", 200, 400), Contains("a step at a time, as a CUDA graph: the product of "));
  CHECK_THAT(plan("mode=simulate", any, 400), Contains("all steps in one launch:"));
  CHECK_THAT(plan("mode=simulate", 2, 600), Contains("all steps in one launch:"));  // no library for two rows
  CHECK_THAT(plan("mode=simulate", any, any), Contains("all steps in one launch:"));
  CHECK_THAT(plan("mode=simulate,cuda_graphs=false", any, 600),
             Contains("by the host, a step at a time: the product of ") && Contains("the flag cuda_graphs is off"));
}
