// Theano's random streams: each number of every method against Theano 1.0.5 itself, and the states between calls, in
// loops and on devices.
#include <croton/theano_random.hpp>

#include "expected_theano_random.hpp"
#include "samples.hpp"

#include "base/mrg31k3p.hpp"
#include "base/numpy_random.hpp"

#include <functional>
#include <map>

using namespace croton_test;
using Catch::Matchers::Contains;
using ct::MrgRandomStreams;
using ct::NumpyRandomStreams;
using ct::Operand;

namespace {

constexpr auto f16 = DType::float16, f32 = DType::float32, f64 = DType::float64;

Array probabilities(DType dtype) { return Array{{0.2, 0.3, 0.5}, {0.1, 0.1, 0.8}, {0.0, 0.5, 0.5}}.astype(dtype); }

Array many_classes() {
  double sum = 0;
  for (int i = 0; i < 150; ++i) sum += i;
  Array p = Array::empty(f64, {150});
  for (int i = 0; i < 150; ++i) p.data<double>()[static_cast<std::size_t>(i)] = i / sum;
  return p.astype(f32);
}

/// The draws of make_theano_random.py, each with separate streams.
Variable drawn(std::string_view name) {
  NumpyRandomStreams s(234);
  MrgRandomStreams m(42);
  const auto none = std::nullopt;
  const Array p3{0.2, 0.3, 0.5};
  const Variable five = ct::constant(Array(std::int64_t{5})) + ct::shared(Array(std::int64_t{0}));
  const std::map<std::string_view, std::function<Variable()>> all = {
      {"numpy: uniform", [&] { return s.uniform({2, 3}); }},
      {"numpy: uniform of one number", [&] { return s.uniform({}); }},
      {"numpy: uniform of no numbers", [&] { return s.uniform({0, 2}); }},
      {"numpy: uniform with bounds", [&] { return s.uniform({2, 3}, 0.1, 0.7); }},
      {"numpy: uniform of parameters", [&] { return s.uniform(none, Array{0., 1., 2.}, Array{{5.}, {6.}}); }},
      {"numpy: uniform with -1", [&] { return s.uniform({2, -1}, Array{{0., 1., 2.}}, 5.0); }},
      {"numpy: uniform float16", [&] { return s.uniform({3}, 0.0, 1.0, f16); }},
      {"numpy: uniform integers", [&] { return s.uniform({4}, 0.0, 9.0, DType::int32); }},
      {"numpy: normal", [&] { return s.normal({3}); }},
      {"numpy: normal of parameters", [&] { return s.normal({2, 2}, Array{1., 2.}, Array{{1.}, {3.}}); }},
      {"numpy: binomial", [&] { return s.binomial({5}); }},
      {"numpy: binomial of 100", [&] { return s.binomial({5}, 100, 0.3); }},
      {"numpy: binomial of parameters", [&] { return s.binomial(none, Array{10, 100}, Array{{0.1}, {0.9}}); }},
      {"numpy: binomial floats", [&] { return s.binomial({5}, 1, 0.5, f32); }},
      {"numpy: random_integers", [&] { return s.random_integers({5}); }},
      {"numpy: random_integers of parameters", [&] { return s.random_integers(none, Array{3, 5}, Array{{9}, {20}}); }},
      {"numpy: random_integers huge", [&] { return s.random_integers({3}, 0, std::int64_t{1} << 60); }},
      {"numpy: choice", [&] { return s.choice({5}); }},
      {"numpy: choice of 8 without replacement", [&] { return s.choice({2, 2}, 8, {.replace = false}); }},
      {"numpy: choice by probabilities", [&] { return s.choice({5}, 3, {.p = p3}); }},
      {"numpy: choice by probabilities without replacement",
       [&] { return s.choice({2}, 3, {.replace = false, .p = p3}); }},
      {"numpy: choice of elements", [&] { return s.choice({5}, Array{1.5, 2.5, 7.0}); }},
      {"numpy: choice of elements as floats", [&] { return s.choice({5}, Array{1.5, 2.5, 7.0}, f64); }},
      {"numpy: choice of one", [&] { return s.choice({}, 9); }},
      {"numpy: poisson", [&] { return s.poisson({5}, 1.0); }},
      {"numpy: poisson of 30.1", [&] { return s.poisson({5}, 30.1); }},
      {"numpy: poisson of parameters", [&] { return s.poisson({2, 2}, Array{1., 50.}); }},
      {"numpy: permutation", [&] { return s.permutation({}, 6); }},
      {"numpy: permutations", [&] { return s.permutation({2}, 4, DType::int16); }},
      {"numpy: multinomial", [&] { return s.multinomial({3}, 5); }},
      {"numpy: multinomial of rows",
       [&] { return s.multinomial(none, Array{{2}, {7}}, Array{{0.2, 0.8, 0.0}, {0.5, 0.25, 0.25}}); }},
      {"numpy: multinomial with -1",
       [&] { return s.multinomial({2, -1}, 3, Array{{0.2, 0.8}, {0.5, 0.5}, {1.0, 0.0}}); }},
      {"numpy: multinomial above 1", [&] { return s.multinomial({4}, 50, Array{0.25f, 0.25f, 0.5000001f}); }},
      {"numpy: multinomial of many classes", [&] { return s.multinomial({}, 1000, many_classes()); }},
      {"mrg: uniform", [&] { return m.uniform({2, 3}); }},
      {"mrg: uniform of one number", [&] { return m.uniform({}); }},
      {"mrg: uniform of 30", [&] { return m.uniform({30}); }},
      {"mrg: uniform with bounds", [&] { return m.uniform({4}, -1.5, 2.25); }},
      {"mrg: uniform of parameters", [&] { return m.uniform({2, 3}, Array{0., 1., 2.}, 5.0); }},
      {"mrg: uniform with 2 streams", [&] { return m.uniform({5}, 0.0, 1.0, {}, 2); }},
      {"mrg: uniform of a symbolic size", [&] { return m.uniform({five}); }},
      {"mrg: uniform float32", [&] { return m.uniform({4}, 0.0, 1.0, f32); }},
      {"mrg: uniform float64", [&] { return m.uniform({4}, 0.0, 1.0, f64); }},
      {"mrg: normal", [&] { return m.normal({5}); }},
      {"mrg: normal of a matrix", [&] { return m.normal({2, 3}); }},
      {"mrg: normal float64", [&] { return m.normal({7}, 0.0, 1.0, f64); }},
      {"mrg: normal with 3 streams", [&] { return m.normal({7}, 0.0, 1.0, {}, 3); }},
      {"mrg: normal moved", [&] { return m.normal({9}, 2.0, 3.0); }},
      {"mrg: normal of parameters", [&] { return m.normal({2, 2}, Array{0.5, 1.5}, 0.1); }},
      {"mrg: truncated_normal moved", [&] { return m.truncated_normal({5}, -1.0, 0.25); }},
      {"mrg: truncated_normal", [&] { return m.truncated_normal({40}); }},
      {"mrg: binomial", [&] { return m.binomial({8}); }},
      {"mrg: binomial floats", [&] { return m.binomial({2, 3}, 1, Array{0.2, 0.5, 0.9}, f32); }},
      {"mrg: multinomial", [&] { return m.multinomial(probabilities(f64)); }},
      {"mrg: multinomial of 9", [&] { return m.multinomial(probabilities(f32), 9); }},
      {"mrg: choice", [&] { return m.choice(2, probabilities(f64)); }},
      {"mrg: choice float32", [&] { return m.choice(2, probabilities(f32), DType::int32); }},
  };
  return all.at(name)();
}

Array expected_array(const std::vector<double>& values, const TheanoDraw& draw) {
  return Array(values).reshape(draw.shape).astype(draw.dtype);
}

std::vector<Array> first_calls(const ct::Function& f, int calls) {
  std::vector<Array> results;
  for (int i = 0; i < calls; ++i) results.push_back(f().only());
  return results;
}

}  // namespace

TEST_CASE("every draw gives Theano's numbers", "[theano_random]") {
  for (const std::string& backend : backends()) {
    for (const TheanoDraw& draw : theano_draws) {
      INFO(backend << ", floatX " << name_of(draw.float_x) << ", " << draw.name);
      const ct::change_flags flags(backend + ",floatX=" + std::string(name_of(draw.float_x)));
      const Variable v = drawn(draw.name);
      CHECK(v.dtype() == draw.dtype);
      const std::vector<Array> got = first_calls(ct::function({}, v), 2);
      const Array first = expected_array(draw.first, draw), second = expected_array(draw.second, draw);
      INFO(got[0] << "\n" << first << "\n" << got[1] << "\n" << second);
      CHECK(got[0].same_bits(first));
      CHECK(got[1].same_bits(second));
    }
  }
}

TEST_CASE("known first numbers of Theano's tutorials and tests", "[theano_random]") {
  const auto draw = [](const Variable& v) { return ct::function({}, v)().only(); };
  CHECK(draw(MrgRandomStreams(42).uniform({3}, 0.0, 1.0, f32)).all_close(Array{0.080752f, 0.926764f, 0.859720f}, 1e-5));
  CHECK(draw(MrgRandomStreams(42).normal({3}, 0.0, 1.0, f32))
            .all_close(Array{1.426938f, -0.00182433f, -1.7310668f}, 1e-6));
  CHECK(draw(MrgRandomStreams(1).uniform({2})).all_close(Array{0.00192267f, 0.7363597f}, 1e-5));
  CHECK(draw(MrgRandomStreams().uniform({3})).all_close(Array{0.73532445f, 0.25856858f, 0.69408069f}, 1e-6));
  // Float16 is drawn as float16, and normal numbers of it are rounded once.
  const Array half = draw(MrgRandomStreams(42).normal({1001}, 0.0, 1.0, f16));
  CHECK((half.dtype() == f16 && half.shape() == Sizes{1001}));
  CHECK(draw(MrgRandomStreams(42).uniform({9}, 0.0, 1.0, f16)).dtype() == f16);
}

TEST_CASE("truncated numbers are within two deviations, the accepted ones first", "[theano_random]") {
  for (const DType dtype : {f32, f64}) {
    const Array z = ct::function({}, MrgRandomStreams(7).truncated_normal({20001}, 1.0, 0.87962566103423978, dtype))();
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const double x = z.as_double(i) - 1;
      CHECK(std::abs(x) <= 2 + 1e-6);
      sum += x;
      squares += x * x;
    }
    CHECK(std::abs(sum / 20001) < 0.03);
    CHECK(std::abs(squares / 20001 - 0.7737) < 0.03);
  }
}

TEST_CASE("the streams' states are those of Theano", "[theano_random]") {
  ct::base::NumpyRandom seeds(5);
  NumpyRandomStreams numpy(5);
  numpy.uniform({2});
  numpy.permutation({}, 3);
  const Array of_numpy = numpy.state();
  REQUIRE(of_numpy.shape() == Sizes{2, 628});
  for (std::int64_t n = 0; n < 2; ++n)
    CHECK(of_numpy.row(n).same_bits(ct::base::NumpyRandom(seeds.randint(0, 1 << 30)).state()));

  // One stream per six elements, 15360 for sizes that are unknown to Theano; a truncated normal has two.
  MrgRandomStreams mrg(5);
  const Variable n = ct::iscalar("n");
  mrg.uniform({5});
  mrg.uniform({6, 7});
  mrg.uniform({100'000});
  mrg.uniform({n, 2}, 0.0, 1.0, {}, 11);
  mrg.uniform({n, 2});
  mrg.normal({2});
  mrg.truncated_normal({2});
  mrg.truncated_normal({2}, 0.0, 1.0, {}, 4);
  mrg.binomial({12});
  mrg.multinomial(probabilities(f64));
  mrg.choice(1, probabilities(f64));
  ct::base::Mrg31k3p generator(5);
  const auto updates = mrg.state_updates();
  const std::vector<std::int64_t> counts{5, 7, 15360, 11, 15360, 15360, 15360, 15360, 4, 4, 2, 15360, 15360};
  REQUIRE(updates.size() == counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    INFO(i);
    CHECK(updates[i].first.get_value().same_bits(generator.streams(counts[i])));
  }
}

TEST_CASE("a draw of Theano's streams is one set of numbers in a function, and another at each call",
          "[theano_random]") {
  const auto check = [](auto& streams, const Variable& u, const Variable& v) {
    const auto f = ct::function({}, std::vector<ct::Out>{u - u, u, u + 1, v});
    const ct::Outputs first = f();
    CHECK(first[0].equals(Array::zeros(u.dtype(), {5})));
    for (std::int64_t i = 0; i < 5; ++i) CHECK(first[2].at<float>(i) == first[1].at<float>(i) + 1);
    const ct::Outputs second = f();
    CHECK_FALSE(second[1].equals(first[1]));
    const auto again = ct::function({}, u, {.no_default_updates = true});
    const Array third = again();
    CHECK(again().only().equals(third));
    const Array saved = streams.state();
    CHECK(f()[1].equals(third));
    const Array fourth = f()[1];
    streams.set_state(saved);
    CHECK(f()[1].equals(third));
    CHECK(f()[1].equals(fourth));
    streams.seed();
    CHECK(f()[1].equals(first[1]));
    streams.seed(99);
    CHECK_FALSE(f()[1].equals(first[1]));
  };
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    NumpyRandomStreams numpy(234);
    const Variable nu = numpy.normal({5}), nv = numpy.uniform({5});
    check(numpy, nu, nv);
    MrgRandomStreams mrg(234);
    const Variable mu = mrg.normal({5}), mv = mrg.uniform({5});
    check(mrg, mu, mv);
  }
}

TEST_CASE("seeding again: Theano's two rules for later draws", "[theano_random]") {
  const auto draw = [](const Variable& v) { return ct::function({}, v)().only(); };
  NumpyRandomStreams numpy(1), other(1), fresh(2);
  const Variable first = numpy.uniform({3});
  other.uniform({3});
  draw(first);
  numpy.seed(2);
  CHECK(draw(first).equals(draw(fresh.uniform({3}))));
  CHECK(draw(numpy.uniform({3})).equals(draw(other.uniform({3}))));  // as without the seed

  MrgRandomStreams mrg(1), again(2);
  const Variable a = mrg.uniform({3}), b = mrg.normal({3});
  draw(a);
  mrg.seed(2);
  CHECK(draw(a).equals(draw(again.uniform({3}))));
  CHECK(draw(b).equals(draw(again.normal({3}))));
  CHECK(draw(mrg.uniform({3})).equals(draw(again.uniform({3}))));  // continues from there
  mrg.seed();
  CHECK(draw(a).equals(draw(MrgRandomStreams(1).uniform({3}))));
  mrg.seed({3, 3, 3, 3, 3, 3});
  CHECK(draw(a).equals(draw(MrgRandomStreams(3).uniform({3}))));
  CHECK(draw(MrgRandomStreams({1, 2, 3, 4, 5, 6}).uniform({3})).size() == 3);

  // Without a seed each object has different states; seed() gives all draws new ones.
  NumpyRandomStreams one, two;
  const Variable x = one.uniform({4}), y = two.uniform({4});
  CHECK_FALSE(draw(x).equals(draw(y)));
  one.seed();
  draw(x);
}

TEST_CASE("two draws of Theano's streams have different numbers, copies are the same streams", "[theano_random]") {
  NumpyRandomStreams numpy(3), copy = numpy;
  const auto f = ct::function({}, std::vector<ct::Out>{numpy.uniform({4}), copy.uniform({4})});
  const ct::Outputs got = f();
  CHECK_FALSE(got[0].equals(got[1]));
  CHECK(numpy.state().shape(0) == 2);
  MrgRandomStreams mrg(3), same = mrg;
  const auto g = ct::function({}, std::vector<ct::Out>{mrg.uniform({4}), same.uniform({4})});
  CHECK_FALSE(g()[0].equals(g()[1]));
  CHECK(same.state_updates().size() == 2);
}

TEST_CASE("sizes and parameters of Theano's draws may be symbolic", "[theano_random]") {
  const Variable n = ct::iscalar("n"), x = ct::dmatrix("x"), low = ct::dvector("low");
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    NumpyRandomStreams s(4);
    MrgRandomStreams m(4);
    const auto f = ct::function(
        {n, x, low},
        std::vector<ct::Out>{s.uniform({n, 3}, low, 5), s.normal(x.shape(), low, 1.0), s.uniform(std::nullopt, x, 9.0),
                             s.permutation({n}, n + 1), s.random_integers({n}, n, n + 2), s.choice({n}, n + 5),
                             s.multinomial({n}, n, ct::nnet::softmax(low)), s.shuffle_row_elements(x).result,
                             m.uniform({n, 3}, low, 9.0), m.normal(x.shape()), m.truncated_normal({n}),
                             m.binomial(x.shape(), 1, x), m.multinomial(ct::nnet::softmax(x, 1), n + 1),
                             m.choice(ct::minimum(n, 3), ct::nnet::softmax(x, 1))});
    // For size 0 nothing is drawn, and the states do not change.
    const Array s0 = s.state(), m0 = m.state();
    const ct::Outputs none = f(0, Array::zeros(f64, {0, 3}), Array{1., 2., 3.});
    CHECK(none[0].shape() == Sizes{0, 3});
    CHECK(none[3].shape() == Sizes{0, 1});
    CHECK(none[6].shape() == Sizes{0, 3});
    CHECK(none[12].shape() == Sizes{0, 3});
    CHECK(none[13].shape() == Sizes{0, 0});
    CHECK(s.state().same_bits(s0));
    CHECK(m.state().same_bits(m0));
    const ct::Outputs got = f(4, Array::uniform(f64, {2, 3}, 1), Array{1., 2., 3.});
    CHECK(got[0].shape() == Sizes{4, 3});
    for (std::int64_t i = 0; i < 12; ++i) {
      const double least = static_cast<double>(1 + i % 3);
      CHECK((got[0].as_double(i) >= least && got[0].as_double(i) < 5));
      CHECK((got[8].as_double(i) > least && got[8].as_double(i) < 9));
    }
    CHECK(got[3].shape() == Sizes{4, 5});
    for (std::int64_t i = 0; i < 4; ++i) CHECK((got[4].as_double(i) >= 4 && got[4].as_double(i) <= 6));
    CHECK(got[9].shape() == Sizes{2, 3});
    CHECK(got[11].dtype() == DType::int64);
    for (std::int64_t row = 0; row < 2; ++row) {
      std::int64_t trials = 0;
      for (std::int64_t j = 0; j < 3; ++j) trials += got[12].at<std::int64_t>(row, j);
      CHECK(trials == 5);
      std::vector<std::int64_t> columns;
      for (std::int64_t j = 0; j < 3; ++j) columns.push_back(got[13].at<std::int64_t>(row, j));
      std::ranges::sort(columns);
      CHECK(columns == std::vector<std::int64_t>{0, 1, 2});
    }
    // A parameter of size 1 broadcasts as in NumPy, although its size is known only in the call.
    const Array wide = f(4, Array::uniform(f64, {2, 3}, 1), Array{1., 2., 3.})[0];
    const auto g = ct::function({low}, s.uniform({2, 3}, low, 5.0));
    CHECK(g(Array{4.5}).only().shape() == Sizes{2, 3});
    CHECK_THROWS_WITH(g(Array{1., 2.}), Contains("NumpyRandomStreams.uniform") &&
                                            Contains("a parameter of shape (2,) for a draw of shape (2, 3)") &&
                                            Contains("test_theano_random.cpp:"));
  }
}

TEST_CASE("rows are shuffled by permutations of their own", "[theano_random]") {
  const Variable x = ct::matrix("x"), v = ct::vector("v");
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    NumpyRandomStreams s(234);
    const NumpyRandomStreams::Shuffled rows = s.shuffle_row_elements(x), one = s.shuffle_row_elements(v);
    const auto f = ct::function(
        {x, v}, std::vector<ct::Out>{rows.result, rows.permutation, one.result, ct::grad(ct::sum(rows.result * 2), x)});
    const Array a = Array::arange(12, f32).reshape({3, 4}), b = Array{5.f, 6.f, 7.f};
    const ct::Outputs got = f(a, b);
    ct::base::NumpyRandom seeds(234);
    ct::base::NumpyRandom first(seeds.randint(0, 1 << 30)), second(seeds.randint(0, 1 << 30));
    for (std::int64_t r = 0; r < 3; ++r) {
      const Array order = first.permutation(4);
      CHECK(got[1].row(r).copy().equals(order));
      for (std::int64_t i = 0; i < 4; ++i) CHECK(got[0].at<float>(r, i) == a.at<float>(r, order.at<std::int64_t>(i)));
    }
    const Array order = second.permutation(3);
    for (std::int64_t i = 0; i < 3; ++i) CHECK(got[2].at<float>(i) == b.at<float>(order.at<std::int64_t>(i)));
    CHECK(got[3].equals(Array::full(f32, {3, 4}, 2)));
  }
}

TEST_CASE("Theano's draws in the steps of a scan", "[theano_random]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    NumpyRandomStreams s(9), plain(9);
    MrgRandomStreams m(9), mrg_plain(9);
    const ct::ScanResult drawn =
        ct::scan([&](const std::vector<Variable>&) { return ct::Step({s.normal({3}), m.uniform({4})}); }, {}, {}, {},
                 {.n_steps = 3});
    const auto f = ct::function({}, drawn.outputs);
    const auto g = ct::function({}, plain.normal({3})), h = ct::function({}, mrg_plain.uniform({4}));
    for (int call = 0; call < 2; ++call) {
      const ct::Outputs got = f();
      for (std::int64_t t = 0; t < 3; ++t) {
        CHECK(got[0].row(t).copy().same_bits(g().only()));
        CHECK(got[1].row(t).copy().same_bits(h().only()));
      }
    }
    // The draws depend on the previous step, and so does the advance of the state.
    const Variable start = ct::dscalar("start");
    const ct::ScanResult walk =
        ct::scan([&](const std::vector<Variable>& in) { return ct::Step(s.poisson({}, in[0] + 1.0, f64)); }, {},
                 {ct::OutputInfo(start)}, {}, {.n_steps = 5});
    const auto walked = ct::function({start}, walk.outputs[0]);
    ct::base::NumpyRandom seeds(9);
    seeds.randint(0, 1 << 30);
    ct::base::NumpyRandom by_hand(seeds.randint(0, 1 << 30));
    for (int call = 0; call < 2; ++call) {
      const Array got = walked(7.0);
      double at = 7;
      for (std::int64_t t = 0; t < 5; ++t) {
        at = static_cast<double>(by_hand.poisson(at + 1));
        CHECK(got.at<double>(t) == at);
      }
    }
  }
}

TEST_CASE("Theano's draws on a device", "[theano_random]") {
  const ct::change_flags flags("cuda_simulator=1,device=cuda0");
  NumpyRandomStreams s(11);
  MrgRandomStreams m(11);
  const Variable x = ct::fmatrix("x");
  const Variable u = s.uniform(x.shape()), v = m.normal(x.shape());
  const auto f = ct::function({x}, std::vector<ct::Out>{ct::exp(x) * u, u, v});
  const Array in = Array::uniform(f32, {4, 5}, 2);
  const ct::Outputs one = f(in), two = f(in);
  const ct::change_flags host("device=cpu");
  NumpyRandomStreams on_host(11);
  MrgRandomStreams mrg_on_host(11);
  const auto g = ct::function({x}, std::vector<ct::Out>{on_host.uniform(x.shape()), mrg_on_host.normal(x.shape())});
  for (const ct::Outputs* got : {&one, &two}) {
    const ct::Outputs wanted = g(in);
    CHECK((*got)[1].same_bits(wanted[0]));
    CHECK((*got)[2].same_bits(wanted[1]));
  }
  CHECK(s.state().same_bits(on_host.state()));
  CHECK(m.state().same_bits(mrg_on_host.state()));
}

TEST_CASE("functions with Theano's draws are verified", "[theano_random]") {
  const ct::change_flags flags("mode=verify");
  NumpyRandomStreams s(1);
  MrgRandomStreams m(1);
  const ct::SharedVariable w = ct::shared(Array::full(f32, {6}, 1), {.name = "w"});
  const auto f = ct::function({}, std::vector<ct::Out>{s.normal({6}) * w, m.uniform({6}) + w, m.truncated_normal({6})},
                              {.updates = {{w, w + 0.5 * s.uniform({6})}}});
  CHECK_NOTHROW(f());
  CHECK_NOTHROW(f());
}

TEST_CASE("gradients of Theano's draws", "[theano_random]") {
  MrgRandomStreams m(3);
  NumpyRandomStreams s(3);
  const Variable a = ct::dvector("a"), b = ct::dvector("b");
  const Variable u = m.uniform({3}, a, b), z = m.normal({3}, a, b);
  const auto f = ct::function(
      {a, b}, std::vector<ct::Out>{u, ct::grad(ct::sum(u), b), z, ct::grad(ct::sum(z), b), ct::grad(ct::sum(z), a)});
  const ct::Outputs got = f(Array{1., 2., 3.}, Array{4., 6., 9.});
  for (std::int64_t i = 0; i < 3; ++i) {
    const double low = static_cast<double>(1 + i), high = i == 0 ? 4 : i == 1 ? 6 : 9;
    CHECK(std::abs(got[1].as_double(i) - (got[0].as_double(i) - low) / (high - low)) < 1e-12);
    CHECK(std::abs(got[3].as_double(i) - (got[2].as_double(i) - low) / high) < 1e-12);
    CHECK(got[4].as_double(i) == 1);
  }
  const std::vector<Variable> undefined = {s.uniform({3}, a, 9.0),
                                           s.normal({3}, a, 1.0),
                                           s.poisson({3}, a, f64),
                                           s.binomial({3}, 2, a, f64),
                                           s.multinomial({2}, 3, a, f64),
                                           m.multinomial(ct::dimshuffle(a, {ct::broadcast_axis, 0}), 2, f64),
                                           m.choice(2, ct::dimshuffle(a, {ct::broadcast_axis, 0}), f64)};
  for (std::size_t i = 0; i < undefined.size(); ++i) {
    INFO(i);
    CHECK_THROWS_AS(ct::grad(ct::sum(undefined[i]), a), ct::NullTypeGradError);
  }
  const Variable below = ct::grad(ct::sum(m.binomial({3}, 1, a, f64)), a);  // a comparison
  CHECK(ct::function({a}, below)(Array{0.1, 0.5, 0.9}).only().equals(Array::zeros(f64, {3})));
  // A size has no gradient.
  const auto g = ct::function({a}, ct::grad(ct::sum(a * s.uniform(a.shape(), 2.0, 3.0) * m.normal(a.shape())), a));
  CHECK(g(Array{1., 2.}).only().shape() == Sizes{2});
  CHECK_NOTHROW(ct::grad(ct::sum(b * s.uniform({3}, a, 9.0)), b));
}

TEST_CASE("mistakes with Theano's streams are named", "[theano_random]") {
  NumpyRandomStreams s(1);
  MrgRandomStreams m(1);
  const Variable x = ct::matrix("x"), n = ct::fscalar("n"), p = ct::dscalar("p"), k = ct::lscalar("k");
  const std::string here = "(test_theano_random.cpp:";
  CHECK_THROWS_AS(NumpyRandomStreams(-1), ct::ValueError);
  CHECK_THROWS_AS(NumpyRandomStreams(std::int64_t{1} << 32), ct::ValueError);
  CHECK_THROWS_AS(s.seed(-1), ct::ValueError);
  for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{2147462579}})
    CHECK_THROWS_AS(MrgRandomStreams(seed), ct::ValueError);
  CHECK_THROWS_AS(MrgRandomStreams({1, 2, 3}), ct::ValueError);
  CHECK_THROWS_AS(m.seed({0, 0, 0, 1, 1, 1}), ct::ValueError);

  CHECK_THROWS_WITH(s.uniform({n}), Contains("a size must be an integer scalar") && Contains("uniform " + here));
  CHECK_THROWS_WITH(s.uniform({2, -3}), Contains("a size of -3"));
  CHECK_THROWS_WITH(s.uniform({-1, 2}, 0.0, Array{1., 2.}),
                    Contains("a size of -1 for axis 0, which no parameter has"));
  CHECK_THROWS_WITH(s.uniform({3}, x), Contains("2 dimension(s) for a shape of 1"));
  CHECK_THROWS_AS(s.uniform({3}, x), ct::ValueError);
  CHECK_THROWS_AS(s.poisson(std::nullopt, 1.0), ct::TypeError);
  CHECK_THROWS_AS(s.choice(std::nullopt), ct::TypeError);
  CHECK_THROWS_WITH(s.choice({3}, x), Contains("a vector or an integer scalar"));
  CHECK_THROWS_WITH(s.choice({3}, 2.5), Contains("must be an integer"));
  CHECK_THROWS_WITH(s.choice({3}, 5, {.p = x}), Contains("probabilities are a vector"));
  CHECK_THROWS_WITH(s.binomial({3}, 2.5, 0.5), Contains("n must be an integer"));
  CHECK_THROWS_WITH(s.multinomial({3}, 1, 0.5), Contains("axis of classes"));
  CHECK_THROWS_WITH(s.random_integers({3}, 0.5, 2), Contains("low must be an integer"));
  CHECK_THROWS_WITH(s.uniform({3}, 0.0, 1.0, DType::complex64), Contains("it must be real"));
  CHECK_THROWS_WITH(s.set_state(Array::zeros(DType::uint32, {3, 628})), Contains("uint32[0, 628]"));

  CHECK_THROWS_WITH(m.uniform({3, 0}), Contains("a size of 0") && Contains("uniform " + here));
  CHECK_THROWS_AS(m.normal({-1}), ct::ValueError);
  CHECK_THROWS_AS(m.uniform(std::nullopt), ct::TypeError);
  CHECK_THROWS_AS(m.uniform({3}, 0.0, 1.0, DType::int32), ct::TypeError);
  CHECK_THROWS_AS(m.uniform({3}, 0.0, 1.0, DType::bfloat16), ct::TypeError);
  CHECK_THROWS_AS(m.uniform({3}, 0.0, 1.0, {}, 0), ct::ValueError);
  CHECK_THROWS_AS(m.uniform({1}, Array{0., 0.5}, 1.0), ct::NotImplementedError);
  CHECK_THROWS_AS(m.uniform({3}, x, 1.0), ct::NotImplementedError);
  CHECK_THROWS_AS(m.binomial({3}, 2), ct::NotImplementedError);
  CHECK_THROWS_AS(m.multinomial(Array{0.5, 0.5}), ct::NotImplementedError);
  CHECK_THROWS_AS(m.multinomial(Array{{1, 0}}), ct::TypeError);
  CHECK_THROWS_AS(m.choice(0, probabilities(f64)), ct::ValueError);
  CHECK_THROWS_AS(m.choice(1.5, probabilities(f64)), ct::TypeError);

  // Errors that are found in the call, which changes nothing.
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ct::change_flags flags(backend);
    NumpyRandomStreams late(1);
    MrgRandomStreams late_mrg(1);
    const auto fails = [&](const Variable& v, const std::vector<double>& given, const std::string& method,
                           const std::string& met) {
      INFO(method);
      const auto f = ct::function({p, k}, v, {.on_unused_input = ct::UnusedInput::ignore});
      const Array before = late.state(), mrg_before = late_mrg.state();
      CHECK_THROWS_WITH(f(given[0], static_cast<std::int64_t>(given[1])),
                        Contains(method) && Contains(met) && Contains("test_theano_random.cpp:"));
      CHECK(late.state().same_bits(before));
      CHECK(late_mrg.state().same_bits(mrg_before));
    };
    fails(late.binomial({4}, 3, p), {1.5, 0}, "NumpyRandomStreams.binomial", "p = 1.5");
    fails(late.binomial({4}, k, 0.5), {0, -2}, "NumpyRandomStreams.binomial", "n = -2");
    fails(late.poisson({4}, p), {-1, 0}, "NumpyRandomStreams.poisson", "not -1");
    fails(late.normal({4}, 0.0, p), {-1, 0}, "NumpyRandomStreams.normal", "it is -1");
    fails(late.random_integers({4}, k, 3), {0, 5}, "NumpyRandomStreams.random_integers", "5 and 3");
    fails(late.choice({4}, k, {.replace = false}), {0, 3}, "NumpyRandomStreams.choice", "needs replacement");
    fails(late.choice({4}, 2, {.p = Array{0.5, 0.6}}), {0, 0}, "NumpyRandomStreams.choice", "add up to 1.1");
    fails(late.multinomial({4}, k), {0, -1}, "NumpyRandomStreams.multinomial", "not -1");
    fails(late.multinomial({4}, 1, Array{0.9, 0.4}), {0, 0}, "NumpyRandomStreams.multinomial", "add up to 1.3");
    fails(late.multinomial({4}, 1, Array{-0.5, 0.4}), {0, 0}, "NumpyRandomStreams.multinomial",
          "a probability of -0.5");
    fails(late_mrg.choice(k, probabilities(f64)), {0, 4}, "MrgRandomStreams.choice", "4 different columns");
    fails(late_mrg.choice(3, probabilities(f64)), {0, 4}, "MrgRandomStreams.choice", "finds no column");
    fails(late_mrg.uniform({k}), {0, std::pow(2, 31)}, "MrgRandomStreams.uniform", "at most 2147483647 elements");
    fails(late.uniform({k}), {0, -3}, "size", "-3");
  }
  CHECK_THROWS_AS(ct::function({}, s.multinomial({4}, 1, Array{0.9, 0.4}))(), ct::AssertionError);
  CHECK_THROWS_AS(ct::function({}, s.binomial({4}, 1, 1.5))(), ct::ValueError);
}
