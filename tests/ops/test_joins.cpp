// Joins and indexing by arrays on difficult inputs (layouts, dtypes, values, positions) and with many operands, on
// every back-end. The operations are compared with NumPy in tests/python/test_joins.py.
#include "samples.hpp"

#include "expr/evaluate.hpp"

#include <numeric>

using namespace croton_test;

namespace {

const std::vector<std::string> modes = backends();

Array counted(const Sizes& shape, DType dtype = DType::float32) {
  const std::int64_t n = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return Array::arange(n, dtype).reshape(shape).copy();
}

/// Rows of `x` in the given order, elementwise, as bits.
Array rows_of(const Array& x, const std::vector<std::int64_t>& order) {
  Array result = Array::empty(x.dtype(), {static_cast<std::int64_t>(order.size()), x.shape(1)});
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    result.slice(0, at, at + 1).copy_from(x.slice(0, order[i], order[i] + 1));
  }
  return result;
}

}  // namespace

TEST_CASE("joins and gathers move the bits of every dtype from every layout", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  for (const DType dtype : real_dtypes) {
    INFO(name_of(dtype));
    const auto x = ct::matrix("x", dtype);
    const auto i = ct::lvector("i");
    const auto f = compile(mode, {x, i},
                           {ct::concatenate({x, x[i]}), ct::set_subtensor(x[ct::slice({}, {}, 2)], x[0]),
                            ct::roll(x, 2, 0), ct::pad(x, {{1, 0}, {0, 0}}, ct::PadMode::edge)});
    const Array values = awkward_pairs(dtype, 35).first.reshape({5, 7});
    for (const Layout& layout : layouts_of(values)) {
      INFO(layout.name);
      const auto r = f(layout.array, Array{std::int64_t{4}, std::int64_t{-5}});
      CHECK(same_bits(r[0], rows_of(values, {0, 1, 2, 3, 4, 4, 0})));
      CHECK(same_bits(r[1], rows_of(values, {0, 1, 0, 3, 0})));
      CHECK(same_bits(r[2], rows_of(values, {3, 4, 0, 1, 2})));
      CHECK(same_bits(r[3], rows_of(values, {0, 0, 1, 2, 3, 4})));
    }
  }
}

TEST_CASE("parts of joins and of what was written are had directly, and raise as before") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto v = ct::vector("v");
  const auto k = ct::lscalar("k");
  const Variable rows = ct::set_subtensor(x[1], v), again = ct::set_subtensor(rows[1], 2 * rows[1]);
  const auto f = compile(
      mode, {x, y, v, k},
      {ct::concatenate({x, y})[ct::slice(x.shape(0), {})], ct::concatenate({x[ct::slice({}, k)], x[ct::slice(k, {})]}),
       rows[1], again, ct::set_subtensor(x[0], x[0] + v), ct::set_subtensor(x[ct::slice()], y)});
  const Array a{{1.f, 2.f}, {3.f, 4.f}}, b{{5.f, 6.f}, {7.f, 8.f}}, c{10.f, 20.f};
  for (const std::int64_t at : {-7, -1, 0, 1, 9}) {
    const auto r = f(a, b, c, Array(at));
    CHECK(r[0].equals(b));
    CHECK(r[1].equals(a));
    CHECK(r[2].equals(c));
    CHECK(r[3].equals(Array{{1.f, 2.f}, {20.f, 40.f}}));
    CHECK(r[4].equals(Array{{11.f, 22.f}, {3.f, 4.f}}));
    CHECK(r[5].equals(b));
  }
  const auto part = compile(mode, {x, y}, {ct::concatenate({x, y})[ct::slice(x.shape(0), {})]});
  CHECK_THROWS_AS(part(a, Array{{1.f, 2.f, 3.f}}), ct::ShapeError);
  const auto row = compile(mode, {x, v}, {rows[1]});
  CHECK_THROWS_AS(row(Array{{1.f, 2.f}}, c), ct::IndexError);
  CHECK_THROWS_AS(row(a, Array{1.f}), ct::ShapeError);
  const auto all = compile(mode, {x, y}, {ct::set_subtensor(x[ct::slice()], y)});
  CHECK_THROWS_AS(all(a, Array{{1.f, 2.f}}), ct::ShapeError);
}

TEST_CASE("adding to a part leaves the rest as it was, to the bit", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const auto f = compile(mode, {x}, {ct::inc_subtensor(x[ct::slice(1, 3)], 1)});
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  CHECK(same_bits(f(Array{-0.f, -0.f, -inf, nan, -0.f})[0], Array{-0.f, 1.f, -inf, nan, -0.f}));
}

TEST_CASE("positions of every integer dtype, up to the extremes", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const Array values = counted({5});
  for (const DType dtype : real_dtypes) {
    if (!is_integer(dtype)) continue;
    INFO(name_of(dtype));
    const auto i = ct::vector("i", dtype);
    const auto f =
        compile(mode, {x, i}, {x[i], ct::take(x, i, 0, ct::IndexMode::clip), ct::take(x, i, 0, ct::IndexMode::wrap)});
    const auto g = compile(mode, {x, i}, {x[i]});
    const std::vector<std::int64_t> good = {0, 4, 2};
    const auto r = f(values, fill(good, dtype));
    for (const Array& got : {r[0], r[1], r[2]}) CHECK(got.equals(Array{0.f, 4.f, 2.f}));
    if (is_signed_int(dtype))
      CHECK(f(values, fill(std::vector<std::int64_t>{-1, -5}, dtype))[0].equals(Array{4.f, 0.f}));
    for (const std::int64_t bad : awkward_integers(dtype)) {
      const bool negative = bad < 0 && !is_unsigned_int(dtype);
      if (negative ? bad >= -5 : bad >= 0 && bad < 5) continue;
      CHECK_THROWS_AS(g(values, exactly({bad}, dtype)), ct::IndexError);
    }
    CHECK(g(values, Array::zeros(dtype, {0}))[0].shape() == Sizes{0});
  }
}

TEST_CASE("joins of joins and of many parts stay small", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  Variable doubled = x;
  for (int k = 0; k < 14; ++k) doubled = ct::concatenate({doubled, doubled});
  std::vector<Variable> parts;
  for (int k = 0; k < 150; ++k) parts.push_back(x * k);
  Variable shifted = x;  // each reads two positions of the previous one
  for (int k = 0; k < 12; ++k) shifted = ct::concatenate({shifted[ct::slice(1, {})], shifted[ct::slice({}, 1)]}) + 1;
  const auto f = compile(mode, {x}, {ct::sum(doubled), doubled[-1], ct::concatenate(parts), shifted});
  const auto r = f(Array{1.f, 2.f, 4.f});
  CHECK(r[0].item<float>() == 7 * 16384);
  CHECK(r[1].item<float>() == 4);
  REQUIRE(r[2].shape() == Sizes{450});
  for (const std::int64_t k : {0, 1, 31, 32, 33, 64, 149}) {
    CHECK(r[2].at<float>(3 * k) == static_cast<float>(k));
    CHECK(r[2].at<float>(3 * k + 2) == static_cast<float>(4 * k));
  }
  CHECK(r[3].equals(Array{13.f, 14.f, 16.f}));
}

TEST_CASE("an operand of a join is computed once, and a join that a product reads is stored once", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  CAPTURE(mode);
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  // exp is stored by one kernel, which the kernel of the join reads.
  const auto f = compile(mode, {x}, {ct::concatenate({ct::exp(x), ct::exp(x)})});
  CHECK(f(counted({2, 3}))[0].shape() == Sizes{4, 3});
  CHECK(f.counts().kernels == 2);
  const Variable joined = ct::concatenate({x, y}, 1);
  const auto g = compile(mode, {x, y}, {ct::dot(joined, ct::transpose(joined)), ct::sum(joined)});
  const auto r = g(counted({2, 2}), counted({2, 3}));
  CHECK(r[0].equals(Array{{0.f + 1 + 0 + 1 + 4, 0.f + 3 + 0 + 4 + 10}, {0.f + 3 + 0 + 4 + 10, 4.f + 9 + 9 + 16 + 25}}));
  CHECK(r[1].item<float>() == 21);
  // Views and joins of existing values need no separate kernel.
  const auto h = compile(mode, {x}, {ct::sum(ct::roll(ct::flip(x, std::vector<int>{1}), 1, 1) * ct::tril(x))});
  CHECK(h(Array{{1.f, 2.f}, {3.f, 4.f}})[0].item<float>() == 1 * 1 + 3 * 3 + 4 * 4);
  CHECK(h.counts().kernels == 1);
}

TEST_CASE("roll by several shifts along several axes", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const auto n = ct::lscalar("n");
  const std::vector<ct::Operand> two{1, n};
  const auto r = compile(mode, {x, n},
                         {ct::roll(x, two, {0, 1}), ct::roll(x, std::vector<ct::Operand>{1}, {0, 1}),
                          ct::roll(x, two, {1}), ct::roll(x, std::vector<ct::Operand>{-1, 5}, {-1, -2})})(
      Array{{0.f, 1.f, 2.f}, {3.f, 4.f, 5.f}}, Array(std::int64_t{-4}));
  CHECK(r[0].equals(Array{{4.f, 5.f, 3.f}, {1.f, 2.f, 0.f}}));
  CHECK(r[1].equals(Array{{5.f, 3.f, 4.f}, {2.f, 0.f, 1.f}}));
  CHECK(r[2].equals(Array{{0.f, 1.f, 2.f}, {3.f, 4.f, 5.f}}));
  CHECK(r[3].equals(Array{{4.f, 5.f, 3.f}, {1.f, 2.f, 0.f}}));
  CHECK_THROWS_WITH(ct::roll(x, std::vector<ct::Operand>{1, 2, 3}, {0, 1}),
                    Catch::Contains("3 shifts along 2 axes") && Catch::Contains("x is f32[?, ?]"));
  CHECK_THROWS_AS(ct::roll(x, std::vector<ct::Operand>{}, {0}), ct::TypeError);
  CHECK_THROWS_WITH(ct::roll(x, two, {0, 2}),
                    Catch::Contains("roll (test_joins.cpp") && Catch::Contains("x is f32[?, ?]"));
}

TEST_CASE("an update of a part overwrites the shared variable", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  auto w = ct::shared(counted({4, 3}), {.name = "w"});
  const auto y = ct::vector("y");
  const auto f = ct::function({y}, {}, {.updates = {{w, ct::set_subtensor(w[ct::slice(1, 3)], y)}}});
  if (mode == "mode=run") CHECK(f.plan().find("in the memory of") != std::string::npos);
  f(Array{7.f, 8.f, 9.f});
  CHECK(w.get_value().equals(Array{{0.f, 1.f, 2.f}, {7.f, 8.f, 9.f}, {7.f, 8.f, 9.f}, {9.f, 10.f, 11.f}}));
  // Here an element is read after it may have been overwritten: the new value has separate memory.
  const auto g = ct::function({}, {}, {.updates = {{w, ct::set_subtensor(w[ct::slice(1, {})], w[ct::slice({}, -1)])}}});
  CHECK(g.plan().find("in the memory of") == std::string::npos);
  g();
  CHECK(w.get_value().equals(Array{{0.f, 1.f, 2.f}, {0.f, 1.f, 2.f}, {7.f, 8.f, 9.f}, {7.f, 8.f, 9.f}}));
}

TEST_CASE("positions outside that are never read", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::vector("x"), y = ct::vector("y");
  const auto i = ct::lvector("i");
  // x has no elements: the join has no guarded positions for its part.
  const auto f = compile(mode, {x, y, i}, {ct::concatenate({x[i], y}), ct::concatenate({y, x[i]})});
  const auto r = f(Array::zeros(DType::float32, {0}), Array{1.f, 2.f}, Array::zeros(DType::int64, {0}));
  CHECK(r[0].equals(Array{1.f, 2.f}));
  CHECK(r[1].equals(Array{1.f, 2.f}));
  CHECK_THROWS_AS(f(Array{1.f}, Array{1.f, 2.f}, Array{std::int64_t{1}}), ct::IndexError);
  // A call that raised has changed nothing.
  CHECK(f(Array{5.f}, Array{1.f}, Array{std::int64_t{-1}})[1].equals(Array{1.f, 5.f}));
}

TEST_CASE("known sizes of joins and parts", "[ops]") {
  const auto a = ct::variable({DType::float32, {2, 3}}, "a"), b = ct::variable({DType::float32, {4, 3}}, "b");
  CHECK(ct::concatenate({a, b}).type().shape == Sizes{6, 3});
  CHECK(ct::stack({a, a}, 1).type().shape == Sizes{2, 2, 3});
  CHECK(ct::tile(a, {2, 2}).type().shape == Sizes{4, 6});
  CHECK(ct::pad(a, {{1, 2}}).type().shape == Sizes{2, 6});
  CHECK(ct::split(ct::matrix("x"), {1, 2}, 1)[1].type().shape == Sizes{ct::unknown_size, 2});
  CHECK(a[Array{1, 0, 1}].type().shape == Sizes{3, 3});
  CHECK(a.at({Array{1, 0}, Array{{1}, {0}, {2}}}).type().shape == Sizes{3, 2});
  CHECK_THROWS_AS(ct::concatenate({a, b}, 1), ct::ShapeError);
  CHECK_THROWS_AS(ct::split(a, {1, 3}), ct::ShapeError);
  CHECK_THROWS_AS(ct::split(a, {3, -1}), ct::ValueError);
  CHECK(ct::repeat(a, 3, 1).type().shape == Sizes{2, 9});
  CHECK_THROWS_AS(ct::moveaxis(a, {0}, {0, 1}), ct::ValueError);
  CHECK_THROWS_AS(a.at({Array{0, 1}, Array{0, 1, 2}}), ct::ShapeError);
  CHECK_THROWS_AS(ct::specify_shape(a, {5, {}}), ct::ShapeError);
}

TEST_CASE("axes that a reshape merges or splits are found in runs", "[ops]") {
  const auto m = ct::matrix("m");
  const std::string text = ct::function({m}, ct::tile(m, {2, 3})).kernels()[0].expression;
  CHECK_THAT(text, Catch::Contains("mod(i0, ") && Catch::Contains("mod(i1, ") && !Catch::Contains("mul("));
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const auto x = ct::tensor4("x");
  const auto size = [&](int axis) { return x.shape(axis); };
  const Variable turned = ct::transpose(x, {1, 0, 3, 2});
  const auto f = compile(mode, {x},
                         {ct::reshape(turned, {size(1) * size(0), size(3) * size(2)}),
                          ct::reshape(turned, {size(1), size(0) * size(3), size(2)}),
                          ct::reshape(ct::reshape(turned, {size(0) * size(1), size(2) * size(3)}) + 1,
                                      {size(1), size(0), size(3), size(2)}),
                          ct::reshape(turned, {size(3) * size(1), size(2), size(0)}), ct::tile(x[0][0], {2, 3})});
  const Array values = counted({2, 3, 4, 5});
  const Array moved = values.transpose({1, 0, 3, 2}).copy();
  const auto r = f(values);
  CHECK(same_bits(r[0], moved.reshape({6, 20})));
  CHECK(same_bits(r[1], moved.reshape({3, 10, 4})));
  CHECK(same_bits(r[2], ct::function({m}, m + 1)(moved.reshape({6, 20})).only().reshape({3, 2, 5, 4})));
  CHECK(same_bits(r[3], moved.reshape({15, 4, 2})));
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 15; ++j) CHECK(r[4].at<float>(i, j) == static_cast<float>(i % 4 * 5 + j % 5));
  }
}

TEST_CASE("conditions on the place along the last axis", "[joins]") {
  // On a CPU a condition is evaluated once for all elements up to its next change, so the changes are tested.
  const Variable x = ct::dmatrix("x"), k = ct::lscalar("k");
  const Variable i = ct::arange(x.shape(1));
  const std::vector<Variable> chosen{ct::where(i < k, x, 0.0),
                                     ct::where(i <= k, x, 0.0),
                                     ct::where(i > k, x, 0.0),
                                     ct::where(i >= k, x, 0.0),
                                     ct::where(i - 2 < k, x, -x),
                                     ct::where(i + 3 > k, x, -x),
                                     ct::where((i > 1) & (i <= k), x, ct::exp(x))};
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  for (const std::string& backend : backends()) {
    INFO(backend);
    const auto f = compile(backend, {x, k}, {chosen.begin(), chosen.end()});
    for (const std::int64_t columns : {0, 1, 2, 7, 40}) {
      const Array a = Array::uniform(DType::float64, {3, columns}, 5, 1, 2);
      for (const std::int64_t at : {least, least + 4, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1},
                                    std::int64_t{3}, columns - 1, columns, columns + 1, most - 4, most}) {
        INFO(columns << " columns, " << at);
        const ct::Outputs got = f(a, at);
        bool same = true;
        for (std::int64_t p = 0; p < a.size(); ++p) {
          const std::int64_t c = p % columns;
          const double v = a.as_double(p);
          const double wanted[] = {c < at ? v : 0,  c <= at ? v : 0,     c > at ? v : 0,
                                   c >= at ? v : 0, c - 2 < at ? v : -v, c + 3 > at ? v : -v};
          for (std::size_t r = 0; r < 6; ++r) same = same && got[r].as_double(p) == wanted[r];
          const bool kept = c > 1 && c <= at;
          same = same && got[6].as_double(p) == Approx(kept ? v : std::exp(v)).epsilon(1e-14);
        }
        CHECK(same);
      }
    }
  }
}
