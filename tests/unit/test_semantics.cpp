// Semantics of expressions and functions that are easy to get wrong: types of results and constants, broadcasting,
// updates, givens, casting of arguments, aliasing, calls that fail half-way, and threads.
#include <croton/croton.hpp>

#include "backends.hpp"
#include "base/memory.hpp"
#include "builder/node.hpp"
#include "catch.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

namespace ct = croton;
using Catch::Contains;
using ct::Array;
using ct::DType;
using ct::Variable;

namespace {

const std::vector<std::string> modes = croton_test::backends();
Variable of(DType dtype) { return ct::vector("x", dtype); }

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  FAIL("nothing was thrown");
  return "";
}

}  // namespace

// ---- types ----

TEST_CASE("types of sums of two dtypes", "[semantics]") {
  const auto sum = [](DType a, DType b) { return (of(a) + of(b)).dtype(); };
  CHECK(sum(DType::int8, DType::uint8) == DType::int16);
  CHECK(sum(DType::int32, DType::uint32) == DType::int64);
  CHECK(sum(DType::int64, DType::uint64) == DType::float64);
  CHECK(sum(DType::int32, DType::float32) == DType::float64);
  CHECK(sum(DType::int16, DType::float32) == DType::float32);
  CHECK(sum(DType::int16, DType::float16) == DType::float32);
  CHECK(sum(DType::uint8, DType::float16) == DType::float16);
  CHECK(sum(DType::bool_, DType::int8) == DType::int8);
}

TEST_CASE("whole constants take the smallest dtype, real ones floatX", "[semantics]") {
  const auto x8 = of(DType::int8), u8 = of(DType::uint8), u32 = of(DType::uint32), f16 = of(DType::float16),
             f32 = of(DType::float32);
  CHECK((x8 + 1).dtype() == DType::int8);
  CHECK((x8 + 1000).dtype() == DType::int16);
  CHECK((u8 + 1).dtype() == DType::int16);
  CHECK((u32 + 1).dtype() == DType::int64);
  CHECK((f16 + 1000).dtype() == DType::float32);
  CHECK((f32 + 0.1).dtype() == DType::float32);
  CHECK((f16 + 0.5).dtype() == DType::float32);
  CHECK((f32 * 3).dtype() == DType::float32);
  const ct::change_flags flags("floatX=float64");
  CHECK((f32 + 0.5).dtype() == DType::float32);  // exact in float32
  CHECK((f32 + 0.1).dtype() == DType::float64);
  CHECK(ct::vector().dtype() == DType::float64);
  CHECK(f32.dtype() == DType::float32);  // a flag does not change existing variables
}

TEST_CASE("types of functions, quotients and reductions", "[semantics]") {
  for (const DType t : {DType::bool_, DType::int8, DType::uint8, DType::int16})
    CHECK(ct::exp(of(t)).dtype() == DType::float32);
  for (const DType t : {DType::int32, DType::uint32, DType::int64}) CHECK(ct::exp(of(t)).dtype() == DType::float64);
  CHECK((of(DType::int8) / of(DType::int8)).dtype() == DType::float32);
  CHECK((of(DType::int64) / 2).dtype() == DType::float32);
  CHECK((of(DType::float16) / of(DType::float16)).dtype() == DType::float16);
  CHECK(ct::floor_divide(of(DType::int32), 2).dtype() == DType::int32);
  CHECK((of(DType::int32) % 2).dtype() == DType::int32);
  CHECK(ct::sum(of(DType::int8)).dtype() == DType::int64);
  CHECK(ct::sum(of(DType::uint8)).dtype() == DType::uint64);
  CHECK(ct::sum(of(DType::bool_)).dtype() == DType::int64);
  CHECK(ct::prod(of(DType::float16)).dtype() == DType::float16);
  CHECK(ct::mean(of(DType::int8)).dtype() == DType::float64);
  CHECK((of(DType::float32) < 1).dtype() == DType::bool_);
  CHECK(ct::argmax(of(DType::float32)).dtype() == DType::int64);
  CHECK(ct::where(of(DType::bool_), of(DType::int32), of(DType::float32)).dtype() == DType::float64);
  CHECK(of(DType::int8).shape(0).dtype() == DType::int64);
  CHECK_THROWS_AS(-of(DType::bool_), ct::TypeError);
  CHECK_THROWS_AS(ct::sgn(of(DType::bool_)), ct::TypeError);
  CHECK(ct::shared(Array(std::int64_t{3})).dtype() == DType::int64);
  CHECK(ct::shared(Array(3.)).dtype() == DType::float64);
  const auto u = of(DType::uint8);
  const auto f = ct::function({u}, u - ct::cast(ct::constant(Array(std::uint8_t{2})), DType::uint8));
  CHECK(f(Array{std::uint8_t{1}}).only().equals(Array{std::uint8_t{255}}));  // wraps
}

// ---- broadcasting ----

TEST_CASE("sizes that differ name the variables and the line", "[semantics]") {
  const ct::change_flags flags(GENERATE(from_range(modes)));
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto f = ct::function({x, y}, x + y);
  const std::string text = message_of<ct::ShapeError>(
      [&] { f(Array::zeros(DType::float32, {3, 1}), Array::zeros(DType::float32, {3, 4})); });
  CHECK_THAT(text, Contains("test_semantics.cpp") && Contains("1") && Contains("4"));
  const auto p = ct::variable({DType::float32, {3, 2}}, "p"), q = ct::variable({DType::float32, {3, 4}}, "q");
  const std::string at_build = message_of<ct::ShapeError>([&] { p + q; });
  CHECK_THAT(at_build, Contains("p is f32[3, 2]") && Contains("q is f32[3, 4]") && Contains("test_semantics.cpp"));
}

TEST_CASE("all that an expression is composed of comes from the caller's line", "[semantics]") {
  using namespace ct;
  const Variable x = matrix("x"), i = imatrix("i"), v = vector("v"), t = lvector("t"), n = lscalar("n");
  const SharedVariable w = shared(Array::zeros(DType::float32, {3, 3}));
  ReduceOptions wide;
  wide.acc_dtype = DType::float64;
  const std::vector<Variable> made = {-x,
                                      x / 2,
                                      i / i,
                                      i % 3,
                                      pow(x, 2),
                                      clip(x, 0, 1),
                                      add_n({x, x, x}),
                                      x > 0,
                                      where(x > 0, x, 0),
                                      cast(x, DType::int8),
                                      sum(i),
                                      prod(x, 0),
                                      mean(x, ReduceOptions(std::vector<int>{0}, true)),
                                      mean(i),
                                      var(x),
                                      max(x),
                                      argmin(x),
                                      all(i),
                                      any(x, 1),
                                      dot(x, w),
                                      dot(i, i),
                                      dot(i, imatrix("j") + 1),
                                      dot(v, 2),
                                      x.T(),
                                      x.size(),
                                      x.shape(0),
                                      reshape(x, {n, -1}),
                                      flatten(x),
                                      flatten(x, 2),
                                      expand_dims(x, 0),
                                      squeeze(row(), 0),
                                      zeros({n, 2}),
                                      ones({2}),
                                      alloc(3, {n}),
                                      zeros_like(x),
                                      ones_like(i),
                                      arange(n),
                                      arange(1, n),
                                      arange(0.5, v[0], 2),
                                      x[0],
                                      x[slice({}, n, 2)],
                                      x[slice(1, -1)],
                                      x.at({new_axis, ellipsis, 1}),
                                      x.astype(DType::float64),
                                      x[Array{0, 1}],
                                      x.at({slice({}, {}, n), Array{0, 1}}),
                                      take(x, Array{0, 1}, 1),
                                      take_along_axis(x, Array{{0, 1}}, 1),
                                      choose(Array{0, 1}, {x, x}),
                                      set_subtensor(x[0], 1),
                                      inc_subtensor(x.at({slice(1, {}), Array{0, 1}}), 1),
                                      ravel_multi_index({n}, {3}),
                                      unravel_index(n, {3, 4})[1],
                                      concatenate({x, x * 2}),
                                      stack({x, x}),
                                      split(x, {1, 1})[1],
                                      split_evenly(x, 2)[0],
                                      tile(x, {2, 2}),
                                      repeat(x, 2),
                                      roll(x, 1),
                                      roll(x, std::vector<Operand>{1, 2}, {0, 1}),
                                      flip(x),
                                      pad(x, {{1, 1}}),
                                      pad(x, {{1, 1}}, PadMode::reflect),
                                      moveaxis(x, {0}, {1}),
                                      specify_shape(x, {3, std::nullopt}),
                                      full_like(x, 2),
                                      linspace(0, 1, n),
                                      geomspace(1, 2, n),
                                      meshgrid({v, v})[0],
                                      mgrid({slice(0, n)})[0],
                                      eye(n),
                                      tri(n),
                                      tril(x),
                                      triu(x),
                                      diag(v),
                                      trace(x),
                                      fill_diagonal(x, 1),
                                      one_hot(n, 3),
                                      diff(x),
                                      nnet::softmax(x),
                                      nnet::log_softmax(i),
                                      nnet::logsumexp(x, 0, true),
                                      nnet::relu(x),
                                      nnet::relu(x, 0.1),
                                      nnet::categorical_crossentropy(nnet::softmax(x), t),
                                      nnet::categorical_crossentropy(x, x),
                                      nnet::binary_crossentropy(nnet::sigmoid(x), 1),
                                      nnet::categorical_crossentropy(x, t, {true, 0.1, 1}),
                                      nnet::categorical_crossentropy(x, x, {true, 0.1}),
                                      nnet::binary_crossentropy(x, 1, {true, 0.1}),
                                      nnet::categorical_generalized_cross_entropy(x, t),
                                      nnet::circle(x, t),
                                      nnet::relu(x, nnet::ReluOptions{0.1, 2, 1}),
                                      nnet::sparsemax(x),
                                      nnet::softmax(x, {0, 1}),
                                      nnet::dice(x, x, {{1}}),
                                      nnet::layer_norm(x),
                                      nnet::gelu(x),
                                      nnet::log_cosh(x, x),
                                      nnet::kl_divergence(x, x),
                                      logsumexp(x),
                                      norm(x, 3),
                                      norm(x, 3, wide),
                                      logsumexp(x, wide),
                                      ptp(x, wide),
                                      var(x, {}, 1),
                                      isclose(x, i, 0.1, 0.1, true),
                                      allclose(x, x),
                                      nan_to_num(x),
                                      round(x, 2),
                                      round(i, -1),
                                      iround(x),
                                      float_power(x, i),
                                      spacing(x),
                                      nextafter(x.astype(DType::float16), 1),
                                      fabs(i),
                                      vecdot(x, v),
                                      matvec(x, v),
                                      vecmat(v, w),
                                      cumsum(i, {}, DType::float32),
                                      fill(x, v),
                                      isposinf(x),
                                      isneginf(x),
                                      modf(x).first,
                                      divmod(x, 3).second,
                                      frexp(x).first,
                                      sinc(x),
                                      erfcx(x),
                                      gammal(i, x),
                                      gammau(2, x),
                                      chi2sf(x, i),
                                      jv(i, x),
                                      iv(2, x),
                                      i1(x),
                                      hypot(x, x)};
  std::vector<Variable> all_made = made;
  for (const Variable& y : made) {
    if (!is_float(y.dtype())) continue;
    const Variable cost = sum(y * y) + sum(i / 3);
    for (const Variable& g : grad(cost, {x, v, w, i}, {.disconnected_inputs = Disconnected::ignore}))
      all_made.push_back(g);
  }
  const auto [gx, gw] = grad(sum(dot(x, w)), x, w);
  all_made.insert(all_made.end(), {gx, gw});
  for (const builder::Node* node : builder::topological_order(all_made)) {
    INFO(node->op->name << " of " << node->where.file() << ":" << node->where.line());
    CHECK(std::string_view(node->where.file()).ends_with("test_semantics.cpp"));
  }
  CHECK_THAT(message_of<ct::TypeError>([&] { grad(x, x, w); }), Contains("grad (test_semantics.cpp:"));
  CHECK_THAT(message_of<ct::ValueError>([&] { x.eval(); }), Contains("function (test_semantics.cpp:"));
}

TEST_CASE("shared variables state no sizes", "[semantics]") {
  const auto s = ct::shared(Array{{1.f, 2.f, 3.f}}, {.name = "s"});
  CHECK(s.type().shape == ct::Sizes{ct::unknown_size, ct::unknown_size});
  const auto m = ct::matrix("m");
  const auto f = ct::function({m}, m + s);
  CHECK_THROWS_AS(f(Array::zeros(DType::float32, {2, 3})), ct::ShapeError);
  CHECK(f(Array::zeros(DType::float32, {1, 3})).only().equals(Array{{1.f, 2.f, 3.f}}));
  const auto r = ct::row("r");
  CHECK_THROWS_AS(ct::function({r}, std::vector<Variable>{}, {.updates = {{s, r}}}), ct::TypeError);
}

// ---- updates and givens ----

TEST_CASE("updates see old values", "[semantics]") {
  const ct::change_flags flags(GENERATE(from_range(modes)));
  const auto a = ct::shared(Array(1.f), {.name = "a"}), b = ct::shared(Array(10.f), {.name = "b"});
  const auto swap = ct::function({}, {a, b}, {.updates = {{a, b}, {b, a}}});
  const auto first = swap();
  CHECK(first[0].item<float>() == 1);
  CHECK(first[1].item<float>() == 10);
  const auto second = swap();
  CHECK(second[0].item<float>() == 10);
  CHECK(second[1].item<float>() == 1);
  const auto v = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "v"}), w = ct::shared(Array{0.f, 0.f, 0.f}, {.name = "w"});
  const auto both = ct::function({}, ct::sum(v), {.updates = {{v, v * 2}, {w, v + w}}});
  CHECK(both().item<float>() == 6);
  CHECK(v.get_value().equals(Array{2.f, 4.f, 6.f}));
  CHECK(w.get_value().equals(Array{1.f, 2.f, 3.f}));
  const auto shift = ct::function({}, v[0], {.updates = {{v, v[ct::slice({}, {}, -1)]}}});  // an overlap
  CHECK(shift().item<float>() == 2);
  CHECK(v.get_value().equals(Array{6.f, 4.f, 2.f}));
  const auto grows = ct::function({}, v.size(), {.updates = {{v, ct::reshape(ct::alloc(v, {2, v.size()}), {-1})}}});
  CHECK(grows().item<std::int64_t>() == 3);
  CHECK(grows().item<std::int64_t>() == 6);
  CHECK(v.get_value().shape() == ct::Sizes{12});
}

TEST_CASE("updates reject wrong pairs", "[semantics]") {
  const auto s = ct::shared(Array{1.f}, {.name = "s"}), d = ct::shared(Array{1.}, {.name = "d"});
  const auto x = ct::vector("x");
  const std::vector<Variable> none;
  CHECK_THROWS_AS(ct::function({}, none, {.updates = {{s, s + 1}, {s, s + 2}}}), ct::ValueError);
  CHECK_THROWS_AS(ct::function({x}, none, {.updates = {{x, x + 1}}}), ct::TypeError);
  CHECK_THROWS_AS(ct::function({}, none, {.updates = {{s, ct::cast(s, DType::float64)}}}), ct::TypeError);
  CHECK_THROWS_AS(ct::function({}, none, {.updates = {{d, ct::cast(d, DType::float32)}}}),
                  ct::TypeError);  // a wider dtype is not accepted either
  CHECK_THROWS_AS(ct::function({}, none, {.updates = {{s, ct::sum(s)}}}), ct::TypeError);
  CHECK_THAT(
      message_of<ct::TypeError>([&] { ct::function({}, none, {.updates = {{s, ct::cast(s, DType::float64)}}}); }),
      Contains("s is f32[?]") && Contains("float64") && Contains("test_semantics.cpp"));
}

TEST_CASE("default updates", "[semantics]") {
  const ct::change_flags flags(GENERATE(from_range(modes)));
  auto count = ct::shared(Array(std::int64_t{0}), {.name = "count"});
  count.set_default_update(count + 1);
  const auto f = ct::function({}, count * 10);
  CHECK(f().item<std::int64_t>() == 0);
  CHECK(f().item<std::int64_t>() == 10);
  CHECK(count.get_value().item<std::int64_t>() == 2);
  const auto other = ct::function({}, count, {.updates = {{count, count + 5}}});  // an explicit one wins
  other();
  CHECK(count.get_value().item<std::int64_t>() == 7);
  const auto quiet = ct::function({}, count, {.no_default_updates = true});
  quiet();
  CHECK(count.get_value().item<std::int64_t>() == 7);
  const auto x = ct::scalar("x");
  ct::function({x}, x)(1.f);  // does not use it
  CHECK(count.get_value().item<std::int64_t>() == 7);
}

TEST_CASE("default updates: only of what is used", "[semantics]") {
  auto count = ct::shared(Array(0.f), {.name = "count"});
  count.set_default_update(count + 1);
  const Variable twice = count * 2, x = ct::scalar("x");
  ct::function({twice}, twice + 1)(7.f);  // given for an inner variable
  CHECK(count.get_value().item<float>() == 0);
  ct::function({x}, twice + 1, {.givens = {{count, x}}})(7.f);  // replaced
  CHECK(count.get_value().item<float>() == 0);
  ct::function({}, x + 1, {.givens = {{x, twice}}})();  // used by the replacement
  CHECK(count.get_value().item<float>() == 1);
}

TEST_CASE("givens", "[semantics]") {
  const ct::change_flags flags(GENERATE(from_range(modes)));
  const auto x = ct::vector("x"), y = ct::vector("y"), z = ct::vector("z");
  const auto s = ct::shared(Array{1.f, 2.f}, {.name = "s"});
  CHECK(ct::function({y}, x * 2, {.givens = {{x, y + 1}}})(Array{1.f}).only().equals(Array{4.f}));
  const auto f = ct::function({x}, s * 2, {.givens = {{s, x}}});  // an input replaces a shared variable
  CHECK(f(Array{5.f}).only().equals(Array{10.f}));
  CHECK(s.get_value().equals(Array{1.f, 2.f}));
  const auto inner = x + y;  // simultaneously, and with an inner variable
  CHECK(ct::function({z}, inner * 3, {.givens = {{inner, z}}})(Array{2.f}).only().equals(Array{6.f}));
  CHECK(ct::function({x, y}, z * x, {.givens = {{z, x - y}}})(Array{5.f}, Array{2.f}).only().equals(Array{15.f}));
  CHECK_THROWS_AS(ct::function({x}, x, {.givens = {{x, y}}}), ct::ValueError);
  CHECK_THROWS_AS(ct::function({y}, x, {.givens = {{x, ct::cast(y, DType::float64)}}}), ct::TypeError);
  CHECK_THROWS_AS(ct::function({}, x, {.givens = {{x, ct::scalar("t")}}}), ct::TypeError);
}

// ---- arguments ----

TEST_CASE("the three states of casting", "[semantics]") {
  const auto x = ct::fvector("x");
  const auto s = ct::fscalar("s");
  const auto i = ct::ivector("i");
  const auto b = ct::bscalar("b");
  const auto with = [](const Variable& v, std::optional<bool> downcast, bool strict = false) {
    ct::In in(v);
    in.strict = strict;
    in.allow_downcast = downcast;
    return ct::function({in}, v * 1);
  };
  // Absent: lossless conversions, and numbers that fit.
  CHECK(with(x, {})(Array{std::int8_t{1}}).only().equals(Array{1.f}));
  CHECK_THROWS_AS(with(x, {})(Array{1.0}), ct::TypeError);
  CHECK_THROWS_AS(with(i, {})(Array{std::int64_t{1}}), ct::TypeError);  // although the value fits
  CHECK(with(s, {})(0.1).item<float>() == 0.1f);
  CHECK(with(b, {})(100).item<std::int8_t>() == 100);
  CHECK_THROWS_AS(with(b, {})(300), ct::TypeError);
  {
    const auto f = with(s, {});
    const ct::change_flags flags("floatX=float64");
    CHECK_THROWS_AS(f(0.1), ct::TypeError);  // a C++ double is accepted only while floatX is float32
  }
  // false: no number that loses precision.
  CHECK_THROWS_AS(with(s, false)(0.1), ct::TypeError);
  CHECK(with(b, false)(100).item<std::int8_t>() == 100);
  CHECK_THROWS_AS(with(b, false)(300), ct::TypeError);
  CHECK(with(x, false)(Array{std::int8_t{1}}).only().equals(Array{1.f}));
  // true: everything.
  CHECK(with(x, true)(Array{1.9}).only().equals(Array{1.9f}));
  CHECK(with(i, true)(Array{1.9, -1.9}).only().equals(Array{1, -1}));
  // strict: nothing.
  CHECK_THROWS_AS(with(x, {}, true)(Array{std::int8_t{1}}), ct::TypeError);
  CHECK(with(x, {}, true)(Array{1.f}).only().equals(Array{1.f}));
  // Ranks are never changed.
  CHECK_THROWS_AS(with(x, true)(Array(1.f)), ct::TypeError);
  CHECK_THAT(message_of<ct::TypeError>([&] { with(x, {})(Array{1.0}); }),
             Contains("x is f32[?]") && Contains("f64[1]"));
}

TEST_CASE("inputs: unused, twice, missing, named", "[semantics]") {
  const auto x = ct::scalar("x"), y = ct::scalar("y");
  CHECK_THAT(message_of<ct::ValueError>([&] { ct::function({x, y}, x); }),
             Contains("y is f32[]") && Contains("test_semantics.cpp"));
  CHECK(ct::function({x, y}, x, {.on_unused_input = ct::UnusedInput::ignore})(1.f, 2.f).item<float>() == 1);
  CHECK_THROWS_AS(ct::function({x, x}, x), ct::Error);
  CHECK_THROWS_AS(ct::function({x}, x + y), ct::Error);
  CHECK_THAT(message_of<ct::Error>([&] { ct::function({x}, x + y); }), Contains("y is f32[]"));
  const auto f = ct::function({x, y}, x - y);
  CHECK_THAT(message_of<ct::TypeError>([&] { f(1.f); }), Contains("y is f32[]"));
  CHECK_THROWS_AS(f(1.f, 2.f, 3.f), ct::TypeError);
  CHECK(f.call_named({{"y", 1.f}, {"x", 5.f}}).item<float>() == 4);
  CHECK_THROWS_AS(f.call_named({{"y", 1.f}, {"z", 5.f}}), ct::TypeError);
  const auto twin = ct::scalar("x");
  const auto g = ct::function({x, twin}, x - twin);
  CHECK(g(5.f, 3.f).item<float>() == 2);
  CHECK_THROWS_AS(g.call_named({{"x", 1.f}}), ct::TypeError);
  ct::In with_value(y);
  with_value.value = Array(7.f);
  const auto h = ct::function({x, with_value}, x + y);
  CHECK(h(1.f).item<float>() == 8);
  CHECK(h(1.f, 2.f).item<float>() == 3);
  CHECK_THROWS_AS(ct::function({ct::shared(Array(1.f))}, x), ct::TypeError);
}

TEST_CASE("one output, lists of outputs, none", "[semantics]") {
  const ct::change_flags flags(GENERATE(from_range(modes)));
  const auto x = ct::scalar("x");
  CHECK_FALSE(ct::function({x}, x)(1.f).is_list());
  const auto one = ct::function({x}, {x * 2})(1.f);
  CHECK(one.size() == 1);
  const auto list = ct::function({x}, std::vector<Variable>{x * 2})(1.f);
  CHECK(list.is_list());
  CHECK(list[0].item<float>() == 2);
  CHECK(ct::function({}, std::vector<Variable>{})().size() == 0);
  const auto same = ct::function({x}, {x, x, x * 1})(3.f);
  REQUIRE(same.size() == 3);
  for (const Array& a : same) CHECK(a.item<float>() == 3);
  CHECK_THROWS_AS(same.only(), ct::TypeError);
  CHECK(ct::function({}, ct::constant(Array{1, 2}))().only().equals(Array{1, 2}));
}

// ---- aliasing ----

TEST_CASE("outputs share memory with nothing", "[semantics]") {
  const ct::change_flags flags(GENERATE(from_range(modes)));
  const auto x = ct::vector("x");
  const auto s = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "s"});
  const auto c = ct::constant(Array{7.f, 8.f, 9.f});
  const auto f = ct::function(
      {x}, {x, x, s, s, x + s, c, c, x[ct::slice(0, 2)], ct::transpose(ct::dimshuffle(s, {ct::broadcast_axis, 0}))},
      {.updates = {{s, s + 0}}});
  Array input{4.f, 5.f, 6.f};
  const auto first = f(input);
  for (std::size_t k = 0; k < first.size(); ++k) {
    Array clobbered = first[k];
    const Array before[] = {input.copy(), s.get_value()};
    std::vector<Array> others;
    for (const Array& a : first) others.push_back(a.copy());
    for (float& v : clobbered.data<float>()) v = -1;
    INFO("output " << k);
    CHECK(input.equals(before[0]));
    CHECK(s.get_value().equals(before[1]));
    for (std::size_t j = 0; j < first.size(); ++j) {
      if (j != k) CHECK(first[j].equals(others[j]));
    }
  }
  const auto second = f(input);
  CHECK(second[0].equals(input));
  CHECK(second[2].equals(Array{1.f, 2.f, 3.f}));
  CHECK(second[5].equals(Array{7.f, 8.f, 9.f}));
  // A later call does not change the arrays of an earlier one.
  const Array kept = second[4].copy();
  f(Array{0.f, 0.f, 0.f});
  CHECK(second[4].equals(kept));
}

TEST_CASE("shared variables copy in and out", "[semantics]") {
  Array given{1.f, 2.f};
  auto s = ct::shared(given, {.name = "s"}), t = ct::shared(given, {.name = "t"});
  given.at<float>(0) = 9;
  CHECK(s.get_value().equals(Array{1.f, 2.f}));
  Array out = s.get_value();
  out.at<float>(0) = 9;
  CHECK(s.get_value().equals(Array{1.f, 2.f}));
  s.set_value(given);
  given.at<float>(1) = 11;
  CHECK(s.get_value().equals(Array{9.f, 2.f}));
  CHECK(t.get_value().equals(Array{1.f, 2.f}));
  const auto copy =
      ct::function({}, std::vector<Variable>{}, {.updates = {{t, s}}});  // equal afterwards, but in separate memory
  copy();
  const auto grow = ct::function({}, std::vector<Variable>{}, {.updates = {{s, s * 2}}});
  grow();
  CHECK(t.get_value().equals(Array{9.f, 2.f}));
  CHECK(s.get_value().equals(Array{18.f, 4.f}));
}

TEST_CASE("set_value", "[semantics]") {
  auto s = ct::shared(Array{1.f, 2.f}, {.name = "s"});
  auto d = ct::shared(Array{1., 2.}, {.name = "d"});
  const auto version = s.version();
  s.set_value(Array{1.f, 2.f, 3.f});
  CHECK(s.get_value().shape() == ct::Sizes{3});
  CHECK(s.version() > version);
  CHECK_THROWS_AS(s.set_value(Array{1.}), ct::TypeError);
  CHECK_THROWS_AS(s.set_value(Array{{1.f}}), ct::TypeError);
  CHECK(s.get_value().equals(Array{1.f, 2.f, 3.f}));
  d.set_value(Array{1.5f});
  CHECK(d.get_value().equals(Array{1.5}));
  const auto f = ct::function({}, ct::sum(s));
  CHECK(f().item<float>() == 6);
  s.set_value(Array{{1.f, 2.f}, {3.f, 4.f}}.transpose().row(0));  // of any layout
  CHECK(f().item<float>() == 4);
  CHECK(s.get_value().equals(Array{1.f, 3.f}));
}

// ---- calls that fail ----

TEST_CASE("a call that raises has changed nothing", "[semantics]") {
  const ct::change_flags flags(GENERATE(from_range(modes)));
  const auto x = ct::matrix("x");
  const auto t = ct::ivector("t");
  const auto w = ct::shared(Array::full(DType::float32, {3, 4}, 0.5), {.name = "w"}),
             steps = ct::shared(Array(std::int64_t{0}), {.name = "steps"});
  const auto loss = ct::mean(ct::nnet::categorical_crossentropy(ct::nnet::softmax(ct::dot(x, w)), t));
  const auto train = ct::function({x, t}, loss, {.updates = {{steps, steps + 1}, {w, w - 0.1 * ct::grad(loss, w)}}});
  const Array data = Array::uniform(DType::float32, {2, 3}, 1);
  const Array before = w.get_value();
  CHECK_THROWS_AS(train(data, Array{1, 4}), ct::IndexError);
  CHECK_THROWS_AS(train(data, Array{-1, 0}), ct::IndexError);
  CHECK_THROWS_AS(train(data, Array{1, 2, 3}), ct::ShapeError);
  CHECK(w.get_value().same_bits(before));
  CHECK(steps.get_value().item<std::int64_t>() == 0);
  CHECK_THAT(message_of<ct::IndexError>([&] { train(data, Array{1, 4}); }), Contains("4"));
  train(data, Array{1, 3});
  CHECK_FALSE(w.get_value().same_bits(before));
  CHECK(steps.get_value().item<std::int64_t>() == 1);
}

namespace {
void check_failing_allocations(const std::string& mode) {
  const ct::change_flags flags(mode);
  const auto x = ct::matrix("x");
  auto w = ct::shared(Array::full(DType::float32, {3, 4}, 0.5), {.name = "w"}),
       count = ct::shared(Array{0.f, 0.f}, {.name = "count"});
  const auto y = ct::tanh(ct::dot(x, w));
  const auto f = ct::function({x}, {y, ct::sum(y, 0)}, {.updates = {{w, w - ct::dot(x.T(), y)}, {count, count + 1}}});
  const Array data = Array::uniform(DType::float32, {5, 3}, 1);
  const auto wanted = [&] {  // the results of one call
    const Array old = w.get_value();
    const auto r = f(data);
    const std::vector<Array> result = {r[0].copy(), r[1].copy(), w.get_value()};
    w.set_value(old);
    count.set_value(Array{0.f, 0.f});
    return result;
  }();
  const Array old_w = w.get_value();
  int failed = 0;
  for (std::int64_t nth = 1; nth < 200; ++nth) {
    const auto g =
        ct::function({x}, {y, ct::sum(y, 0)},
                     {.updates = {{w, w - ct::dot(x.T(), y)}, {count, count + 1}}});  // unbound: binding allocates too
    std::optional<ct::Outputs> result;
    std::int64_t failures = 0;
    {
      const croton::base::FailAllocation fail(nth);
      try {
        result = g(data);
      } catch (const ct::OutOfMemory&) {
      }
      failures = fail.failures();
    }
    INFO("allocation " << nth);
    if (failures == 0) {
      REQUIRE(result);
      CHECK((*result)[0].same_bits(wanted[0]));
      CHECK(w.get_value().same_bits(wanted[2]));
      CHECK(count.get_value().equals(Array{1.f, 1.f}));
      break;
    }
    ++failed;
    REQUIRE_FALSE(result);
    REQUIRE(w.get_value().same_bits(old_w));
    REQUIRE(count.get_value().equals(Array{0.f, 0.f}));
    // The same function works when there is memory again.
    const auto again = g(data);
    REQUIRE(again[1].same_bits(wanted[1]));
    REQUIRE(w.get_value().same_bits(wanted[2]));
    w.set_value(old_w);
    count.set_value(Array{0.f, 0.f});
  }
  CHECK(failed > 0);
  CHECK(failed < 199);
}
}  // namespace

TEST_CASE("an allocation that fails changes nothing", "[semantics]") { check_failing_allocations("mode=run"); }
TEST_CASE("an allocation that fails in a simulated launch changes nothing", "[semantics]") {
  check_failing_allocations("mode=simulate");
}
TEST_CASE("an allocation that fails on a device changes nothing", "[semantics]") {
  check_failing_allocations("cuda_simulator=1,device=cuda0");
}

// ---- threads ----

TEST_CASE("one function called from many threads", "[semantics]") {
  const auto x = ct::vector("x");
  const auto total = ct::shared(Array(0.f), {.name = "total"});
  const auto f = ct::function({x}, ct::sum(x * 2), {.updates = {{total, total + ct::sum(x)}}});
  constexpr int threads = 8, calls = 100;
  std::atomic<int> wrong{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (int i = 0; i < calls; ++i) {
        const std::int64_t n = 1 + (t + i) % 5;  // sizes differ between calls
        if (f(Array::full(DType::float32, {n}, 1)).item<float>() != static_cast<float>(2 * n)) ++wrong;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  CHECK(wrong == 0);
  float wanted = 0;
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < calls; ++i) wanted += static_cast<float>(1 + (t + i) % 5);
  }
  CHECK(total.get_value().item<float>() == wanted);
  CHECK(f.counts().calls == threads * calls);
}

TEST_CASE("copies and functions that share variables run in parallel", "[semantics]") {
  auto a = ct::shared(Array::zeros(DType::int64, {100}), {.name = "a"}),
       b = ct::shared(Array::full(DType::int64, {100}, 1000), {.name = "b"});
  const auto x = ct::lscalar("x");
  // Each call subtracts from one and adds to the other: every reader sees the same total.
  const auto there = ct::function({x}, ct::sum(a + b), {.updates = {{a, a + x}, {b, b - x}}});
  const auto back = ct::function({x}, ct::sum(b + a), {.updates = {{b, b + x}, {a, a - x}}});
  const auto look = ct::function({}, ct::sum(a) + ct::sum(b));
  std::atomic<int> wrong{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < 6; ++t) {
    pool.emplace_back([&, t] {
      const ct::Function mine = (t % 3 == 0 ? there : t % 3 == 1 ? back : look).copy();
      for (int i = 0; i < 100; ++i) {
        const std::int64_t total = (t % 3 == 2 ? mine() : mine(std::int64_t{t + i})).item<std::int64_t>();
        if (total != 100000) ++wrong;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  CHECK(wrong == 0);
  CHECK(look().item<std::int64_t>() == 100000);
}

TEST_CASE("a copy has working memory of its own, and the same shared variables", "[semantics]") {
  const auto s = ct::shared(Array(1.f), {.name = "s"});
  const auto f = ct::function({}, s, {.updates = {{s, s * 2}}});
  const auto g = f.copy();
  CHECK(f().item<float>() == 1);
  CHECK(g().item<float>() == 2);
  CHECK(f().item<float>() == 4);
}
