// Integers at the ends of their ranges, on every back-end: arithmetic wraps, also where a compiler could use C++'s rule
// that it does not: if a result is widened, compared, divided, shifted or used as an index. The expected results are
// computed here in 64 unsigned bits.
#include "samples.hpp"

#include <cstdint>
#include <functional>
#include <limits>

using namespace croton_test;

namespace {

const std::vector<DType> integer_dtypes = {DType::int8,  DType::int16,  DType::int32,  DType::int64,
                                           DType::uint8, DType::uint16, DType::uint32, DType::uint64};

/// A value of a dtype, as 64 bits: sign-extended for signed ones.
using Word = std::uint64_t;

struct Ends {
  DType dtype;
  int bits;
  bool is_signed;

  explicit Ends(DType t) : dtype(t), bits(8 * static_cast<int>(ct::size_of(t))), is_signed(ct::is_signed_int(t)) {}

  Word wrapped(Word x) const {
    if (bits == 64) return x;
    const Word low = x & ((Word{1} << bits) - 1);
    return is_signed && (low >> (bits - 1)) != 0 ? low | ~((Word{1} << bits) - 1) : low;
  }
  Word lowest() const { return is_signed ? wrapped(Word{1} << (bits - 1)) : 0; }
  Word highest() const { return wrapped(is_signed ? (Word{1} << (bits - 1)) - 1 : ~Word{0}); }
  bool negative(Word x) const { return is_signed && static_cast<std::int64_t>(x) < 0; }
  bool less(Word a, Word b) const {
    return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
  }
  Word magnitude(Word x) const { return negative(x) ? 0 - x : x; }
  /// Rounded down; 0 by 0.
  Word quotient(Word a, Word b) const {
    if (b == 0) return 0;
    const Word q = magnitude(a) / magnitude(b);
    if (negative(a) == negative(b)) return wrapped(q);
    return wrapped(0 - q - (magnitude(a) % magnitude(b) != 0 ? 1 : 0));
  }
  Word remainder(Word a, Word b) const { return b == 0 ? 0 : wrapped(a - quotient(a, b) * b); }
  Word shifted(Word a, Word count) const {
    return negative(count) || count >= static_cast<Word>(bits) ? 0 : wrapped(a << count);
  }
  Word divisor(Word a, Word b) const {
    Word x = magnitude(a), y = magnitude(b);
    if (bits < 64) x &= (Word{1} << bits) - 1, y &= (Word{1} << bits) - 1;
    while (y != 0) std::swap(x, y), y %= x;
    return wrapped(x);
  }

  /// Ends, neighbours of ends and of 0, squares that wrap to 0, and some others in between.
  std::vector<Word> values() const {
    std::vector<Word> all{lowest(),
                          lowest() + 1,
                          highest(),
                          highest() - 1,
                          0,
                          1,
                          2,
                          3,
                          100,
                          Word{1} << (bits / 2),
                          (Word{1} << (bits / 2)) - 1,
                          wrapped(0x5bd1e995a3c7f1e7)};
    if (is_signed) all.insert(all.end(), {~Word{0}, ~Word{1}, wrapped(~Word{99})});
    return all;
  }
};

Array array_of(const Ends& ends, const std::vector<Word>& values) {
  std::vector<std::int64_t> bits(values.begin(), values.end());
  return Array(bits).astype(ends.dtype).copy();
}

std::vector<Word> words_of(const Array& array) {
  std::vector<Word> words;
  const Array wide = array.astype(ct::is_unsigned_int(array.dtype()) ? DType::uint64 : DType::int64).copy();
  const auto* at = static_cast<const std::uint64_t*>(wide.raw());
  for (std::int64_t i = 0; i < wide.size(); ++i) words.push_back(at[i]);
  return words;
}

struct Case {
  std::string name;
  std::function<Variable(const Variable&, const Variable&)> graph;
  std::function<Word(const Ends&, Word, Word)> wanted;
};

/// A number in the dtype of x: a plain 1 would be signed.
Variable number(std::int64_t value, const Variable& x) { return ct::constant(Array(value).astype(x.dtype())); }

const std::vector<Case>& cases() {
  using V = const Variable&;
  using E = const Ends&;
  static const std::vector<Case> all{
      {"a + b", [](V a, V b) { return a + b; }, [](E e, Word a, Word b) { return e.wrapped(a + b); }},
      {"a - b", [](V a, V b) { return a - b; }, [](E e, Word a, Word b) { return e.wrapped(a - b); }},
      {"a * b", [](V a, V b) { return a * b; }, [](E e, Word a, Word b) { return e.wrapped(a * b); }},
      {"-a", [](V a, V) { return -a; }, [](E e, Word a, Word) { return e.wrapped(0 - a); }},
      {"abs a", [](V a, V) { return ct::abs(a); }, [](E e, Word a, Word) { return e.wrapped(e.magnitude(a)); }},
      {"a a", [](V a, V) { return ct::sqr(a); }, [](E e, Word a, Word) { return e.wrapped(a * a); }},
      {"a // b", [](V a, V b) { return ct::floor_divide(a, b); }, [](E e, Word a, Word b) { return e.quotient(a, b); }},
      {"a % b", [](V a, V b) { return a % b; }, [](E e, Word a, Word b) { return e.remainder(a, b); }},
      {"a << b", [](V a, V b) { return ct::left_shift(a, b); }, [](E e, Word a, Word b) { return e.shifted(a, b); }},
      {"a + b, widened", [](V a, V b) { return ct::cast(a + b, DType::int64); },
       [](E e, Word a, Word b) { return e.wrapped(a + b); }},
      {"a * b, widened", [](V a, V b) { return ct::cast(a * b, DType::int64); },
       [](E e, Word a, Word b) { return e.wrapped(a * b); }},
      {"-a, widened", [](V a, V) { return ct::cast(-a, DType::int64); },
       [](E e, Word a, Word) { return e.wrapped(0 - a); }},
      {"a + 1 < a", [](V a, V) { return ct::cast(a + number(1, a) < a, DType::int64); },
       [](E e, Word a, Word) { return Word{e.less(e.wrapped(a + 1), a)}; }},
      {"a - b < a", [](V a, V b) { return ct::cast(a - b < a, DType::int64); },
       [](E e, Word a, Word b) { return Word{e.less(e.wrapped(a - b), a)}; }},
      {"(a * 2) // 2", [](V a, V) { return ct::floor_divide(a * number(2, a), number(2, a)); },
       [](E e, Word a, Word) { return e.quotient(e.wrapped(a * 2), 2); }},
      {"a // (a + a)", [](V a, V) { return ct::floor_divide(a, a + a); },
       [](E e, Word a, Word) { return e.quotient(a, e.wrapped(a + a)); }},
      {"a % (b b)", [](V a, V b) { return a % (b * b); },
       [](E e, Word a, Word b) { return e.remainder(a, e.wrapped(b * b)); }},
      {"gcd of a and a a", [](V a, V) { return ct::gcd(a, a * a); },
       [](E e, Word a, Word) { return e.divisor(a, e.wrapped(a * a)); }},
      {"1 << (a b)", [](V a, V b) { return ct::left_shift(ct::ones_like(a), a * b); },
       [](E e, Word a, Word b) { return e.shifted(1, e.wrapped(a * b)); }},
      {"the larger of a + b and a", [](V a, V b) { return ct::maximum(a + b, a); },
       [](E e, Word a, Word b) { return e.less(a, e.wrapped(a + b)) ? e.wrapped(a + b) : a; }},
      {"abs a < b", [](V a, V b) { return ct::cast(ct::abs(a) < b, DType::int64); },
       [](E e, Word a, Word b) { return Word{e.less(e.wrapped(e.magnitude(a)), b)}; }},
  };
  return all;
}

/// All pairs of the values.
std::pair<std::vector<Word>, std::vector<Word>> pairs(const Ends& ends) {
  std::vector<Word> first, second;
  for (const Word a : ends.values()) {
    for (const Word b : ends.values()) first.push_back(a), second.push_back(b);
  }
  return {first, second};
}

}  // namespace

TEST_CASE("arithmetic of integers wraps at the ends of every dtype", "[integers]") {
  const std::string mode = GENERATE(from_range(backends()));
  for (const DType dtype : integer_dtypes) {
    const Ends ends(dtype);
    const Variable a = ct::vector("a", dtype), b = ct::vector("b", dtype);
    std::vector<Variable> outputs;
    for (const Case& c : cases()) outputs.push_back(c.graph(a, b));
    const auto [first, second] = pairs(ends);
    const auto results = compile(mode, {a, b}, outputs)(array_of(ends, first), array_of(ends, second));
    for (std::size_t k = 0; k < cases().size(); ++k) {
      const std::vector<Word> got = words_of(results[k]);
      const Ends result(results[k].dtype());
      int wrong = 0;
      for (std::size_t i = 0; i < first.size(); ++i) {
        const Word wanted = result.wrapped(cases()[k].wanted(ends, first[i], second[i]));
        if (got[i] == wanted) continue;
        if (wrong++ == 0)
          UNSCOPED_INFO("a = " << static_cast<std::int64_t>(first[i]) << ", b = "
                               << static_cast<std::int64_t>(second[i]) << ": " << static_cast<std::int64_t>(got[i])
                               << " instead of " << static_cast<std::int64_t>(wanted));
      }
      INFO(mode << ", " << ct::name_of(dtype) << ", " << cases()[k].name);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("sums, products and running ones of integers wrap", "[integers]") {
  const std::string mode = GENERATE(from_range(backends()));
  for (const DType dtype : integer_dtypes) {
    INFO(mode << ", " << ct::name_of(dtype));
    const Ends ends(dtype), wide(ends.is_signed ? DType::int64 : DType::uint64);
    const Variable a = ct::matrix("a", dtype);
    std::vector<Word> values;
    for (int row = 0; row < 40; ++row) {
      for (const Word value : ends.values()) values.push_back(row % 3 == 0 ? value : ends.highest());
    }
    const auto columns = static_cast<std::int64_t>(ends.values().size());
    const auto f = compile(mode, {a},
                           {ct::sum(a), ct::sum(a, 0), ct::sum(a, 1), ct::prod(a | number(1, a)), ct::cumsum(a, 0),
                            ct::cumprod(a | number(1, a), 1), ct::cast(ct::sum(a) + ct::sum(a), DType::float64)});
    const auto results = f(array_of(ends, values).reshape({40, columns}));
    Word total = 0, product = 1;
    for (const Word value : values) total += value, product *= ends.wrapped(value | 1);
    CHECK(words_of(results[0]) == std::vector<Word>{total});
    CHECK(words_of(results[3]) == std::vector<Word>{product});
    const std::vector<Word> by_column = words_of(results[1]), by_row = words_of(results[2]),
                            running = words_of(results[4]), powers = words_of(results[5]);
    const Ends run(results[4].dtype());
    for (std::int64_t j = 0; j < columns; ++j) {
      Word sum = 0;
      for (std::int64_t i = 0; i < 40; ++i) {
        const auto at = static_cast<std::size_t>(i * columns + j);
        sum += values[at];
        CHECK(running[at] == run.wrapped(sum));
      }
      CHECK(by_column[static_cast<std::size_t>(j)] == sum);
    }
    for (std::int64_t i = 0; i < 40; ++i) {
      Word sum = 0, power = 1;
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>(i * columns + j);
        sum += values[at], power *= ends.wrapped(values[at] | 1);
        CHECK(powers[at] == Ends(results[5].dtype()).wrapped(power));
      }
      CHECK(by_row[static_cast<std::size_t>(i)] == sum);
    }
    CHECK(results[6].as_double(0) == (ends.is_signed ? static_cast<double>(static_cast<std::int64_t>(2 * total))
                                                     : static_cast<double>(2 * total)));
  }
}

TEST_CASE("a wrapped integer is an index like any other", "[integers]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable table = ct::vector("table"), i = ct::vector("i", DType::int32);
  const auto f = compile(mode, {table, i}, {ct::take(table, i + i, 0)});
  const Array values{10.f, 11.f, 12.f, 13.f};
  // 2^31 + 1 twice is 2 in 32 bits.
  const Array at = array_of(Ends(DType::int32), {0x80000001u, 1, 0xffffffffu});
  CHECK(f(values, at)[0].same_bits(Array{12.f, 12.f, 12.f}));
  CHECK_THROWS_AS(f(values, array_of(Ends(DType::int32), {0x7fffffff - 0x20000000})), ct::IndexError);
}

TEST_CASE("casts by way of another dtype are one cast only where that changes nothing", "[integers]") {
  // Every triple, at the ends of every range, with the reference evaluator, because this tests rules.
  for (const DType from : real_dtypes) {
    std::vector<double> numbers{
        0,   1,    -1,    2,     100,    -5,    127,   128,          -128,         -129,          255,
        256, 300,  32767, 32768, -32769, 65535, 65536, 2147483647.0, 2147483648.0, -2147483649.0, 4294967296.0,
        0.5, -0.5, 1e30,  -1e30};
    Array x = Array(numbers).astype(from).copy();
    if (ct::is_integer(from)) {
      std::vector<Word> words = Ends(from).values();
      words.push_back(Ends(from).wrapped((Word{1} << 63) + 2048));
      words.push_back(Ends(from).wrapped((Word{1} << 53) + 1));
      x = array_of(Ends(from), words);
    }
    const Variable v = ct::vector("v", from);
    std::vector<Variable> outputs;
    std::vector<std::string> names;
    for (const DType by : real_dtypes) {
      for (const DType to : real_dtypes) {
        outputs.push_back(ct::cast(ct::cast(v, by), to));
        names.push_back(std::string(ct::name_of(by)) + ", " + std::string(ct::name_of(to)));
      }
    }
    const auto wanted = compile("mode=reference,optimizer=none", {v}, outputs)(x);
    for (const std::string& mode : {std::string("mode=reference"), std::string("mode=run")}) {
      const auto got = compile(mode, {v}, outputs)(x);
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        INFO(mode << ": " << ct::name_of(from) << ", " << names[k]);
        CHECK(got[k].equals(wanted[k]));
      }
    }
  }
}

namespace {

/// Expressions that rules rewrite, with operands a and b.
std::vector<Variable> rewritten_forms(const Variable& a, const Variable& b, DType by) {
  const Variable x = ct::cast(a, by), y = ct::cast(b, by);
  const auto number = [&](const Variable& like, int value) { return ct::constant(Array(value).astype(like.dtype())); };
  std::vector<Variable> all{x + y,
                            x + x,
                            x * number(x, 4),
                            (x * number(x, 2)) + (x * number(x, 3)),
                            x * x * x,
                            ct::pow(x, 2),
                            ct::sqr(x) * x,
                            x + number(a, 0),
                            x * number(a, 1),
                            x * number(a, 0),
                            ct::true_divide(x, 4),
                            ct::true_divide(x, number(x, 1)),
                            ct::maximum(x, y),
                            ct::minimum(x, number(b, 1)),
                            ct::where(ct::lt(a, b), x, y),
                            ct::where(ct::lt(x, y), a, b),
                            ct::where(a > 0, number(x, 1), number(x, 0)),
                            ct::eq(x, y),
                            ct::lt(x, number(b, 1)),
                            ct::le(x + number(x, 1), x),
                            x * y + x * number(x, 2),
                            ct::sum(x, 1),
                            ct::sum(x * number(x, 3), 1),
                            ct::max(x, 1),
                            ct::mean(x, 1),
                            ct::prod(x, 1)};
  if (!ct::is_bool(by)) {
    const std::vector<Variable> signed_forms{
        x - y, x - x, -(-x), -x + y, (x - y) + y, -(x - y), ct::abs(-x), ct::abs(ct::abs(x)), ct::sgn(x) * ct::abs(x),
        x / x};
    all.insert(all.end(), signed_forms.begin(), signed_forms.end());
  }
  if (ct::is_integer(by)) {
    const std::vector<Variable> whole{ct::floor_divide(x, number(x, 1)),
                                      ct::floor_divide(x * number(x, 2), number(x, 2)),
                                      x % number(x, 1),
                                      x % number(x, 4),
                                      ~~x,
                                      x & x,
                                      x | number(x, 0),
                                      ct::left_shift(x, number(x, 1)),
                                      ct::right_shift(ct::left_shift(x, number(x, 3)), number(x, 3))};
    all.insert(all.end(), whole.begin(), whole.end());
  }
  return all;
}

/// Whether two arrays agree: whole numbers exactly, floats up to a few roundings.
bool agree(const Array& got, const Array& wanted) {
  if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape()) return false;
  if (ct::is_discrete(wanted.dtype())) return got.equals(wanted);
  const double unit = wanted.dtype() == DType::float64    ? 1e-15
                      : wanted.dtype() == DType::float32  ? 1e-6
                      : wanted.dtype() == DType::bfloat16 ? 2e-2
                                                          : 2e-3;
  for (std::int64_t i = 0; i < wanted.size(); ++i) {
    const double x = got.as_double(i), y = wanted.as_double(i);
    if (std::isnan(x) != std::isnan(y)) return false;
    if (!std::isnan(x) && x != y && !(std::abs(x - y) <= 8 * unit * std::max(std::abs(x), std::abs(y)))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("rules change no result by the dtype in which they compute", "[integers]") {
  // Every triple, at the ends of every range, with the reference evaluator, with and without rules. Casts have whole
  // numbers as operands, so that no rounding precedes a cast to integers.
  for (const DType from : integer_dtypes) {
    const Ends ends(from);
    std::vector<Word> words = ends.values();
    words.resize(16, ends.wrapped(3));
    std::vector<Word> others(words.rbegin(), words.rend());
    const Array values = array_of(ends, words).reshape({4, 4}), more = array_of(ends, others).reshape({4, 4});
    const Variable a = ct::matrix("a", from), b = ct::matrix("b", from);
    for (const DType by : real_dtypes) {
      std::vector<Variable> outputs;
      for (const Variable& form : rewritten_forms(a, b, by)) {
        outputs.push_back(form);
        if (!ct::is_discrete(form.dtype())) continue;  // other roundings may lead to another whole number
        for (const DType to : real_dtypes) outputs.push_back(ct::cast(form, to));
      }
      const auto wanted = compile("mode=reference,optimizer=none", {a, b}, outputs)(values, more);
      const auto got = compile("mode=reference,special_values=ieee", {a, b}, outputs)(values, more);
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        INFO(ct::name_of(from) << " by way of " << ct::name_of(by) << ": " << ct::debugprint(outputs[k]));
        CHECK(agree(got[k], wanted[k]));
      }
    }
  }
}

TEST_CASE("integers that are data wrap, and as sizes are errors", "[integers]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable i = ct::lscalar("i"), v = ct::vector("v");
  const auto data =
      compile(mode, {i}, {i * 6364136223846793005, ct::where(i > 0, i * i * i, i), ct::cast(i * i, DType::int32)});
  const Array at(std::int64_t{1} << 40);
  CHECK(data(Array(std::int64_t{12345}))[0].item<std::int64_t>() == 578673459679314181);
  CHECK(data(at)[1].item<std::int64_t>() == 0);
  CHECK(data(at)[2].item<std::int32_t>() == 0);
  const auto raises = [&](const Variable& output, const std::vector<ct::In>& inputs, const std::vector<Array>& values) {
    const std::vector<ct::Argument> arguments(values.begin(), values.end());
    INFO(mode << ": " << ct::debugprint(output));
    CHECK_THROWS_AS(compile(mode, inputs, {output}).call(arguments), ct::ShapeError);
  };
  const Array large(std::int64_t{1} << 32), larger(std::int64_t{1} << 62), few = Array::zeros(DType::float32, {0});
  raises(ct::reshape(v, {i, i}), {v, i}, {few, large});
  raises(ct::reshape(v, {ct::pow(i, 2), 1}), {v, i}, {few, large});
  raises(ct::reshape(v, {ct::sqr(ct::sqr(i)), 1}), {v, i}, {few, large});
  raises(ct::reshape(v, {i * i * i * i, 1}), {v, i}, {few, Array(std::int64_t{1} << 16)});
  raises(ct::sum(ct::alloc(1.f, {i, i})), {i}, {large});
  raises(ct::sum(ct::alloc(1.f, {i * 4})), {i}, {larger});
  raises(ct::sum(ct::alloc(1.f, {i + i})), {i}, {larger});
  raises(ct::arange(i * i), {i}, {large});
  // Sizes of arrays that need not be computed.
  const auto bytes = [](std::vector<ct::Operand> shape) {
    return ct::alloc(ct::constant(Array(std::int8_t{1})), std::move(shape));
  };
  raises(ct::concatenate({bytes({i}), bytes({i}), bytes({i})}, 0).shape(0), {i}, {larger});
  raises(ct::stack({bytes({i}), bytes({i})}, 0).size(), {i}, {larger});
  raises(ct::outer(bytes({i}), bytes({i})).size(), {i}, {large});
  raises(ct::mean(ct::outer(bytes({i}), bytes({i}))), {i}, {large});
  raises(ct::dot(bytes({i, 2}), bytes({2, i})).size(), {i}, {large});
  raises(ct::kron(bytes({i, 1}), bytes({i, 1})).size(), {i}, {large});
  raises(ct::one_hot(ct::constant(Array{0, 1, 0, 1}), i).size(), {i}, {larger});
  raises(ct::unravel_index(ct::Operand(5), {i, i})[0], {i}, {large});
  raises(ct::ravel_multi_index({ct::constant(Array(5)), ct::constant(Array(6))}, {i, i}), {i}, {large});
  const Array below(std::int64_t{-1});
  for (const ct::PadMode way : {ct::PadMode::constant, ct::PadMode::edge, ct::PadMode::wrap, ct::PadMode::reflect})
    raises(ct::pad(v, {{i, ct::Operand(3)}}, way).shape(0), {v, i}, {Array{1.f, 2.f}, below});
  // Sizes of arrays, alone and with other numbers; counts that are data; counts of floats.
  const Variable bytes_in = ct::vector("bytes", DType::int8);
  const Array few_bytes = Array::zeros(DType::int8, {1 << 16}), more_bytes = Array::zeros(DType::int8, {1 << 22});
  const Variable n = bytes_in.shape(0);
  raises(ct::sum(ct::alloc(2.f, {n, n, n, n})), {bytes_in}, {few_bytes});
  raises(ct::mean(ct::alloc(2.f, {n, n, n, n}) * 3 + 1), {bytes_in}, {few_bytes});
  raises(ct::sum(ct::alloc(1.f, {n, n, std::int64_t{1} << 19})), {bytes_in}, {more_bytes});
  raises(ct::broadcast_to(bytes_in, {std::int64_t{1} << 42, n}).size(), {bytes_in}, {more_bytes});
  const Variable counts = ct::vector("counts", DType::int64);
  const std::int64_t quarter = std::int64_t{1} << 62;
  raises(ct::repeat(v, counts, 0), {v, counts},
         {Array{1.f, 2.f, 3.f, 4.f, 5.f}, Array{quarter, quarter, quarter, quarter, std::int64_t{5}}});
  raises(ct::repeat(v, counts, 0).shape(0), {v, counts},
         {Array{1.f, 2.f, 3.f, 4.f}, Array{quarter, quarter, quarter, quarter}});
  const Variable d = ct::scalar("d", DType::float64), u = ct::scalar("u", DType::uint64);
  raises(ct::arange(0., d).shape(0), {d}, {Array(1e300)});
  raises(ct::arange(0., 5., d).shape(0), {d}, {Array(0.)});
  raises(ct::arange(0., d), {d}, {Array(std::nan(""))});
  raises(ct::arange(u).shape(0), {u}, {Array((std::uint64_t{1} << 63) + 5)});
  raises(ct::eye(i).size(), {i}, {below});
  raises(ct::tri(i, 3).size(), {i}, {below});
  raises(ct::linspace(0, 1, i).shape(0), {i}, {below});
  CHECK(compile(mode, {i}, {ct::arange(0, i, 2)})(Array(std::numeric_limits<std::int64_t>::min()))[0].size() == 0);
  // The same number, as data and as a size.
  const auto both = compile(mode, {i}, {i * i, ct::sum(ct::zeros({ct::minimum(i * i, 3)}))});
  CHECK(both(Array(std::int64_t{5}))[0].item<std::int64_t>() == 25);
  CHECK_THROWS_AS(both(large), ct::ShapeError);
}

TEST_CASE("sizes that are known and do not fit are errors", "[integers]") {
  const auto big = [](int bits) { return ct::Operand(std::int64_t{1} << bits); };
  const auto run = [](const Variable& v) { return ct::function({}, v)().only(); };
  CHECK_THROWS_AS(run(ct::sum(ct::alloc(1.f, {big(32), big(32)}))), ct::ShapeError);
  CHECK_THROWS_AS(
      [&] {
        const Variable part = ct::alloc(1.f, {big(62)});
        return run(ct::concatenate({part, part, part, part}, 0).shape(0));
      }(),
      ct::ShapeError);
  const Variable v = ct::vector("v");
  CHECK_THROWS_AS(
      [&] {
        const auto f = ct::function({v}, ct::reshape(v, {ct::Operand((std::int64_t{1} << 62) + 1), ct::Operand(4)}));
        return f(Array::zeros(DType::float32, {4})).only();
      }(),
      ct::ShapeError);
  CHECK_THROWS_AS(ct::eye(-1), ct::ValueError);
  CHECK_THROWS_AS(ct::eye(2, ct::Operand(-1)), ct::ValueError);
  CHECK_THROWS_AS(ct::tri(-1), ct::ValueError);
  CHECK_THROWS_AS(ct::linspace(0, 1, -1), ct::ValueError);
  CHECK_THROWS_AS(ct::one_hot(ct::constant(Array{0, 1}), -1), ct::ValueError);
  const ct::Operand beyond = ct::constant(Array(std::uint64_t{1} << 63));
  CHECK_THROWS_AS(ct::linspace(0, 1, beyond), ct::ShapeError);
  CHECK_THROWS_AS(ct::eye(beyond), ct::ShapeError);
  CHECK_THROWS_AS(ct::tile(v, {beyond}), ct::ShapeError);
  CHECK_THROWS_AS(ct::pad(v, {{ct::Operand(-1), ct::Operand(0)}}, ct::PadMode::edge), ct::ValueError);
  CHECK_THROWS_AS(ct::unravel_index(ct::Operand(5), {-2, -3}), ct::ValueError);
  const std::int64_t quarter = std::int64_t{1} << 62;
  const Variable range = ct::arange(-quarter, quarter + (std::int64_t{1} << 59), std::int64_t{1} << 60);
  CHECK(run(range).size() == 9);
  CHECK(run(range).data<std::int64_t>()[8] == quarter);
  CHECK(run(ct::arange(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), -quarter))
            .size() == 4);
}

TEST_CASE("zeros have one order: 0 is larger than -0, in every place and on every back-end", "[integers]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16, DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const ct::change_flags flags(mode);
  const Variable x = ct::vector("x", dtype), y = ct::vector("y", dtype), rows = ct::matrix("rows", dtype);
  const ct::Function pairs = ct::function({x, y}, {ct::maximum(x, y), ct::minimum(x, y), ct::maximum(y, x)});
  const Array left = Array{0., -0., 0., -0.}.astype(dtype), right = Array{0., 0., -0., -0.}.astype(dtype);
  const auto of_pairs = pairs(left, right);
  CHECK(of_pairs[0].same_bits(Array{0., 0., 0., -0.}.astype(dtype)));
  CHECK(of_pairs[1].same_bits(Array{0., -0., -0., -0.}.astype(dtype)));
  CHECK(of_pairs[2].same_bits(of_pairs[0]));
  // The other zero at any one position of a row or column: a sum in parts meets it early or late.
  const ct::Function extremes =
      ct::function({rows}, {ct::max(rows, 1), ct::min(rows, 1), ct::max(rows, 0), ct::min(rows, 0)});
  const std::int64_t n = 37;
  Array zeros = Array::zeros(DType::float64, {n, n}), negative = Array::full(DType::float64, {n, n}, -0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    zeros.at<double>(i, i) = -0.0;
    negative.at<double>(i, i) = 0.0;
  }
  const Array all_zero = Array::zeros(dtype, {n}), all_negative = Array::full(DType::float64, {n}, -0.0).astype(dtype);
  const auto of_zeros = extremes(zeros.astype(dtype)), of_negative = extremes(negative.astype(dtype));
  for (const std::size_t axis : {0, 2}) {
    CAPTURE(axis);
    CHECK(of_zeros[axis].same_bits(all_zero));
    CHECK(of_zeros[axis + 1].same_bits(all_negative));
    CHECK(of_negative[axis].same_bits(all_zero));
    CHECK(of_negative[axis + 1].same_bits(all_negative));
  }
}
