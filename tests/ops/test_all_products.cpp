// Products of all ranks, on every back-end, against sums written out: axes have letters, and every combination of
// their values adds one term.
#include "samples.hpp"

#include <map>

using namespace croton_test;
using ct::slice;

namespace {

const std::vector<std::string> modes = backends();
using Inputs = std::vector<Variable>;

/// result = sum of a * b over the letters that the result lacks, in double.
Array by_letters(const std::string& left, const Array& a, const std::string& right, const Array& b,
                 const std::string& result) {
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < left.size(); ++i) sizes[left[i]] = a.shape(static_cast<int>(i));
  for (std::size_t i = 0; i < right.size(); ++i) sizes[right[i]] = b.shape(static_cast<int>(i));
  const Array x = a.astype(DType::float64).copy(), y = b.astype(DType::float64).copy();
  Sizes shape;
  for (const char c : result) shape.push_back(sizes[c]);
  Array out = Array::zeros(DType::float64, shape);
  std::int64_t count = 1;
  for (const auto& [letter, size] : sizes) count *= size;
  for (std::int64_t number = 0; number < count; ++number) {
    std::map<char, std::int64_t> at;
    std::int64_t rest = number;
    for (const auto& [letter, size] : sizes) {
      at[letter] = rest % size;
      rest /= size;
    }
    const auto position = [&](const std::string& letters) {
      std::int64_t flat = 0;
      for (const char c : letters) flat = flat * sizes[c] + at[c];
      return flat;
    };
    out.data<double>()[static_cast<std::size_t>(position(result))] +=
        x.as_double(position(left)) * y.as_double(position(right));
  }
  return out;
}

/// Small whole numbers, so that every dtype and every order of additions gives the same result.
Array whole(DType dtype, const Sizes& shape, std::uint64_t seed) {
  const double low = is_unsigned_int(dtype) || is_bool(dtype) ? 0 : -2;
  const Array numbers = Array::uniform(DType::float64, shape, seed, low, 2.99);
  return numbers.astype(DType::int64).astype(dtype).copy();
}

Variable input(DType dtype, std::size_t rank, const std::string& name) {
  return ct::variable({dtype, Sizes(rank, ct::unknown_size)}, name);
}

bool equal(const Array& got, const Array& wanted) {
  return got.shape() == wanted.shape() && got.equals(wanted.astype(got.dtype()));
}

Sizes of_letters(const std::string& letters, const std::map<char, std::int64_t>& sizes) {
  Sizes shape;
  for (const char c : letters) shape.push_back(sizes.at(c));
  return shape;
}

}  // namespace

TEST_CASE("dot of all ranks", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float32, DType::int32);
  CAPTURE(mode, ct::name_of(dtype));
  struct Row {
    std::string left, right, result;
  };
  const Row rows[] = {{"k", "k", ""},         {"ik", "k", "i"},       {"k", "kj", "j"},      {"ik", "kj", "ij"},
                      {"hik", "k", "hi"},     {"hik", "kj", "hij"},   {"k", "akj", "aj"},    {"ik", "akj", "iaj"},
                      {"hik", "akj", "hiaj"}, {"ghik", "kj", "ghij"}, {"ik", "abkj", "iabj"}};
  const std::map<char, std::int64_t> many[] = {{{'a', 2}, {'b', 3}, {'g', 2}, {'h', 3}, {'i', 4}, {'j', 5}, {'k', 6}},
                                               {{'a', 1}, {'b', 1}, {'g', 1}, {'h', 1}, {'i', 1}, {'j', 1}, {'k', 1}},
                                               {{'a', 2}, {'b', 1}, {'g', 2}, {'h', 3}, {'i', 2}, {'j', 2}, {'k', 0}},
                                               {{'a', 2}, {'b', 0}, {'g', 2}, {'h', 0}, {'i', 2}, {'j', 3}, {'k', 4}}};
  for (const Row& row : rows) {
    const Variable a = input(dtype, row.left.size(), "a"), b = input(dtype, row.right.size(), "b");
    const Variable y = ct::dot(a, b);
    CHECK(y.dtype() == dtype);
    CHECK(y.rank() == static_cast<int>(row.result.size()));
    const auto f = compile(mode, {a, b}, {y});
    for (const auto& sizes : many) {
      const Array x = whole(dtype, of_letters(row.left, sizes), 1), z = whole(dtype, of_letters(row.right, sizes), 2);
      INFO(row.left << "," << row.right << " inner size " << sizes.at('k'));
      CHECK(equal(f(x, z)[0], by_letters(row.left, x, row.right, z, row.result)));
    }
  }
}

TEST_CASE("matmul broadcasts what is in front of the matrices", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float32, DType::int64);
  CAPTURE(mode, ct::name_of(dtype));
  // A letter '.' is an axis with a declared size of 1.
  struct Row {
    std::string left, right, result;
  };
  const Row rows[] = {{"k", "k", ""},           {"ik", "kj", "ij"},       {"aik", "akj", "aij"},
                      {"aik", "kj", "aij"},     {"ik", "akj", "aij"},     {"k", "akj", "aj"},
                      {"aik", "k", "ai"},       {".ik", "akj", "aij"},    {"aik", ".kj", "aij"},
                      {"abik", "abkj", "abij"}, {"a.ik", "abkj", "abij"}, {"a.ik", ".bkj", "abij"},
                      {"bik", "abkj", "abij"},  {"ik", "abkj", "abij"},   {"..ik", "abkj", "abij"},
                      {"k", "abkj", "abj"},     {".ik", ".kj", ".ij"}};
  for (const Row& row : rows) {
    for (const std::int64_t size : {3, 1, 0}) {
      const std::map<char, std::int64_t> sizes{{'.', 1}, {'a', 2}, {'b', size}, {'i', 4}, {'j', 3}, {'k', 5}};
      const auto typed = [&](const std::string& letters, const std::string& name) {
        Sizes shape;
        for (const char c : letters) shape.push_back(c == '.' ? 1 : ct::unknown_size);
        return ct::variable({dtype, shape}, name);
      };
      const Variable a = typed(row.left, "a"), b = typed(row.right, "b");
      const Array x = whole(dtype, of_letters(row.left, sizes), 1), y = whole(dtype, of_letters(row.right, sizes), 2);
      // Without the axes of size 1, whose letters would be ambiguous.
      const auto plain = [&](std::string letters) {
        std::erase(letters, '.');
        return letters;
      };
      const auto squeezed = [&](const std::string& letters, const Array& value) {
        return value.reshape(of_letters(plain(letters), sizes));
      };
      INFO(row.left << " @ " << row.right << ", b = " << size);
      const Array got = compile(mode, {a, b}, {ct::matmul(a, b)})(x, y)[0];
      CHECK(got.shape() == of_letters(row.result, sizes));
      CHECK(equal(got.copy().reshape(of_letters(plain(row.result), sizes)),
                  by_letters(plain(row.left), squeezed(row.left, x), plain(row.right), squeezed(row.right, y),
                             plain(row.result))));
    }
  }
}

TEST_CASE("batched products of every dtype and rank", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(from_range(real_dtypes));
  CAPTURE(mode, ct::name_of(dtype));
  const Variable v = input(dtype, 1, "v"), m = input(dtype, 2, "m"), a = input(dtype, 3, "a"), b = input(dtype, 3, "b");
  const auto f = compile(mode, {v, m, a, b},
                         {ct::batched_dot(a, b), ct::batched_dot(a, m), ct::batched_dot(m, b), ct::batched_dot(m, m),
                          ct::batched_dot(v, m)});
  const Array x = whole(dtype, {3}, 1), y = whole(dtype, {3, 5}, 2), z = whole(dtype, {3, 4, 5}, 3),
              w = whole(dtype, {3, 5, 2}, 4);
  const auto r = f(x, y, z, w);
  CHECK(r[0].dtype() == dtype);
  CHECK(equal(r[0], by_letters("bmk", z, "bkn", w, "bmn")));
  CHECK(equal(r[1], by_letters("bmk", z, "bk", y, "bm")));
  CHECK(equal(r[2], by_letters("bk", y, "bkn", w, "bn")));
  CHECK(equal(r[3], by_letters("bk", y, "bk", y, "b")));
  CHECK(equal(r[4], by_letters("b", x, "bk", y, "bk")));
}

TEST_CASE("batches of many sizes, also beyond those of generated kernels", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable a = input(dtype, 3, "a"), b = input(dtype, 3, "b");
  const auto swapped = [](const Variable& x) { return ct::dimshuffle(x, {0, 2, 1}); };
  const auto f =
      compile(mode, {a, b},
              {ct::batched_dot(a, b), ct::batched_dot(swapped(b), swapped(a)),
               ct::batched_dot(swapped(swapped(a)), ct::exp(b * 0)), ct::matmul(a, b[0]), ct::matmul(a[0], b)});
  const std::int64_t sizes[][4] = {{1, 2, 3, 4},  {3, 1, 1, 1},   {4, 20, 70, 30}, {2, 1, 300, 40}, {3, 40, 300, 1},
                                   {2, 1, 90, 1}, {5, 64, 65, 3}, {1, 0, 3, 2},    {2, 3, 0, 4},    {2, 3, 4, 0}};
  for (const auto& [batch, m, k, n] : sizes) {
    const Array x = whole(dtype, {batch, m, k}, 1), y = whole(dtype, {batch, k, n}, 2);
    INFO(batch << " times " << m << " x " << k << " x " << n);
    const auto r = f(x, y);
    const Array wanted = by_letters("bmk", x, "bkn", y, "bmn");
    CHECK(equal(r[0], wanted));
    CHECK(equal(r[1], by_letters("bmk", x, "bkn", y, "bnm")));
    CHECK(equal(r[2], by_letters("bmk", x, "bkn", Array::full(dtype, {batch, k, n}, 1), "bmn")));
    CHECK(equal(r[3], by_letters("bmk", x, "kn", y.slice(0, 0, 1).copy().reshape({k, n}), "bmn")));
    CHECK(equal(r[4], by_letters("mk", x.slice(0, 0, 1).copy().reshape({m, k}), "bkn", y, "bmn")));
  }
  CHECK_THROWS_AS(f(whole(dtype, {2, 3, 4}, 1), whole(dtype, {3, 4, 5}, 2)), ct::ShapeError);
  CHECK_THROWS_AS(f(whole(dtype, {2, 3, 4}, 1), whole(dtype, {2, 5, 4}, 2)), ct::ShapeError);
}

TEST_CASE("a batch of no products", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const Variable a = input(DType::float32, 3, "a"), b = input(DType::float32, 3, "b");
  const auto f = compile(mode, {a, b}, {ct::batched_dot(a, b), ct::sum(ct::batched_dot(a, b), 0)});
  const auto r = f(whole(DType::float32, {0, 40, 50}, 1), whole(DType::float32, {0, 50, 60}, 2));
  CHECK(r[0].shape() == Sizes{0, 40, 60});
  CHECK(r[1].equals(Array::zeros(DType::float32, {40, 60})));
}

TEST_CASE("operands of batches in every memory layout", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const Variable a = input(DType::float32, 3, "a"), b = input(DType::float32, 3, "b");
  const auto f = compile(mode, {a, b}, {ct::batched_dot(a, b)});
  const Array x = whole(DType::float32, {3, 20, 30}, 1), y = whole(DType::float32, {3, 30, 25}, 2);
  const Array wanted = by_letters("bmk", x, "bkn", y, "bmn");
  const auto layouts = [](const Array& v) {
    std::vector<Array> all{v.copy()};
    for (const std::vector<int>& order : std::vector<std::vector<int>>{{2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
      std::vector<int> back(3);
      for (int i = 0; i < 3; ++i) back[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
      all.push_back(v.transpose(order).copy().transpose(back));
    }
    const auto backwards = [](const Array& w, int axis) { return w.slice(axis, -1, -w.shape(axis) - 1, -1); };
    for (int axis = 0; axis < 3; ++axis) all.push_back(backwards(backwards(v, axis).copy(), axis));
    return all;
  };
  for (const Array& left : layouts(x)) {
    for (const Array& right : layouts(y)) CHECK(equal(f(left, right)[0], wanted));
  }
}

TEST_CASE("a product reads swapped matrices and a repeated one in place", "[ops]") {
  const Variable a = input(DType::float32, 3, "a"), b = input(DType::float32, 3, "b"), w = ct::fmatrix("w");
  const auto swapped = [](const Variable& x) { return ct::dimshuffle(x, {0, 2, 1}); };
  for (const Variable& y : {ct::batched_dot(a, b), ct::batched_dot(swapped(b), swapped(a)), ct::matmul(w, b)}) {
    const auto f = ct::function({a, b, w}, y, {.on_unused_input = ct::UnusedInput::ignore});
    f(whole(DType::float32, {3, 20, 30}, 1), whole(DType::float32, {3, 30, 25}, 2), whole(DType::float32, {20, 30}, 3));
    CHECK(f.counts().products == 1);
    CHECK(f.counts().kernels == 0);
  }
}

TEST_CASE("bits of batched products do not depend on threads", "[ops]") {
  const auto a = input(DType::float32, 3, "a"), b = input(DType::float32, 3, "b");
  const auto f = ct::function({a, b}, ct::batched_dot(a, b));
  const auto [batch, m, k, n] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t, std::int64_t>(
      {{3, 300, 257, 129}, {500, 30, 20, 40}, {40, 1, 3000, 70}}));
  const Array x = Array::uniform(DType::float32, {batch, m, k}, 1, -1, 1);
  const Array y = Array::uniform(DType::float32, {batch, k, n}, 2, -1, 1);
  const auto run = [&](const char* threads) {
    const ct::change_flags flags(threads);
    return f(x, y).only();
  };
  const Array one = run("threads=1");
  CHECK(run("threads=2").same_bits(one));
  for (const std::int64_t index : {std::int64_t{0}, batch - 1}) {
    const auto at = [&](const Array& v) {
      return v.slice(0, index, index + 1).copy().reshape({v.shape(1), v.shape(2)});
    };
    CHECK(at(one).all_close(by_letters("mk", at(x), "kn", at(y), "mn").astype(DType::float32), 1e-4, 1e-3));
  }
}

TEST_CASE("nan and inf stay in their batch", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const Variable a = input(DType::float32, 3, "a"), b = input(DType::float32, 3, "b");
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Array x = Array{nan, 1.f, 2.f, inf}.reshape({2, 1, 2}), y = Array{1.f, 2.f, 0.f, 4.f}.reshape({2, 2, 1});
  const Array r = compile(mode, {a, b}, {ct::batched_dot(a, b)})(x, y)[0];
  CHECK(same_bits(r, Array{nan, inf}.reshape({2, 1, 1})));
}

TEST_CASE("half precision adds up in float32", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  const Variable a = input(dtype, 3, "a"), b = input(dtype, 3, "b");
  // 4096 ones exceed the number up to which either dtype could count by ones.
  const Array ones = Array::full(dtype, {2, 1, 4096}, 1), column = Array::full(dtype, {2, 4096, 1}, 1);
  const Array r = compile(mode, {a, b}, {ct::batched_dot(a, b)})(ones, column)[0];
  CHECK(r.dtype() == dtype);
  CHECK(r.as_double(0) == 4096);
}

TEST_CASE("tensordot", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const DType dtype = DType::float64;
  const Variable a = input(dtype, 3, "a"), b = input(dtype, 3, "b"), c = input(dtype, 4, "c"), d = input(dtype, 2, "d");
  const Array x = whole(dtype, {2, 3, 4}, 1), y = whole(dtype, {3, 2, 4}, 2), z = whole(dtype, {2, 4, 5, 3}, 3),
              w = whole(dtype, {4, 2}, 4);
  const auto g = compile(mode, {a, b, c, d},
                         {ct::tensordot(a, b, {0, 1}, {1, 0}), ct::tensordot(a, b, {-1}, {-1}), ct::tensordot(a, d, 1),
                          ct::tensordot(a, d, 0), ct::tensordot(a, ct::dimshuffle(a, {2, 1, 0}), {0, 1, 2}, {2, 1, 0}),
                          ct::batched_tensordot(a, c, {1, 2}, {3, 1}), ct::batched_tensordot(a, c, {2}, {1}),
                          ct::batched_tensordot(a, ct::dimshuffle(a, {0, 2, 1}), 1)});
  const auto r = g(x, y, z, w);
  CHECK(equal(r[0], by_letters("ijk", x, "jil", y, "kl")));
  CHECK(equal(r[1], by_letters("ijk", x, "abk", y, "ijab")));
  CHECK(equal(r[2], by_letters("ijk", x, "kl", w, "ijl")));
  CHECK(equal(r[3], by_letters("ijk", x, "ab", w, "ijkab")));
  CHECK(equal(r[4], by_letters("ijk", x, "ijk", x, "")));
  CHECK(equal(r[5], by_letters("ijk", x, "iklj", z, "il")));
  CHECK(equal(r[6], by_letters("ijk", x, "iklm", z, "ijlm")));
  CHECK(equal(r[7], by_letters("ijk", x, "ikl", x.transpose({0, 2, 1}).copy(), "ijl")));
}

TEST_CASE("sizes of several summed axes are compared one by one", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const Variable a = ct::dmatrix("a"), b = ct::dmatrix("b");
  const auto f = compile(mode, {a, b}, {ct::tensordot(a, b, 2)});
  CHECK(f(whole(DType::float64, {2, 3}, 1), whole(DType::float64, {2, 3}, 2))[0].rank() == 0);
  CHECK_THROWS_AS(f(whole(DType::float64, {2, 3}, 1), whole(DType::float64, {3, 2}, 2)), ct::ShapeError);
  const Variable row = ct::row("r", DType::float64);
  const auto g = compile(mode, {row, b}, {ct::tensordot(row, b, 2)});
  CHECK(g(Array{{1., 2.}}, Array{{3., 4.}})[0].item<double>() == 11);
  CHECK_THROWS_AS(g(Array{{1., 2.}}, Array{{3., 4.}, {3., 4.}}), ct::ShapeError);
}

TEST_CASE("outer, inner, vdot and kron", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float32, DType::int16, DType::bool_);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable v = input(dtype, 1, "v"), a = input(dtype, 2, "a"), b = input(dtype, 3, "b"), s = input(dtype, 0, "s");
  const auto f = compile(mode, {v, a, b, s},
                         {ct::outer(v, a), ct::inner(a, b), ct::vdot(a, ct::transpose(a)), ct::kron(a, a),
                          ct::kron(v, a), ct::inner(s, a), ct::vdot(s, s), ct::outer(s, v), ct::kron(s, v)});
  const Array x = whole(dtype, {3}, 1), y = whole(dtype, {2, 4}, 2), z = whole(dtype, {3, 2, 4}, 3),
              t = whole(dtype, {}, 9);
  const Array square = whole(dtype, {2, 4}, 2);
  const auto r = f(x, y, z, t);
  CHECK(equal(r[0], by_letters("i", x, "j", y.copy().reshape({8}), "ij")));
  CHECK(equal(r[1], by_letters("ik", y, "abk", z, "iab")));
  const Array turned = y.transpose().copy();
  CHECK(equal(r[2], by_letters("k", y.copy().reshape({8}), "k", turned.reshape({8}), "")));
  CHECK(equal(r[3], by_letters("ij", y, "ab", y, "iajb").reshape({4, 16})));
  CHECK(equal(r[4], by_letters("j", x, "ab", y, "ajb").reshape({2, 12})));
  CHECK(equal(r[5], by_letters("", t, "ij", y, "ij")));
  CHECK(r[6].rank() == 0);
  CHECK(equal(r[7], by_letters("", t, "j", x, "j").reshape({1, 3})));
  CHECK(equal(r[8], by_letters("", t, "j", x, "j")));
}

TEST_CASE("vecdot, matvec and vecmat broadcast what is in front", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float64, DType::float16, DType::int8, DType::bool_);
  CAPTURE(mode, ct::name_of(dtype));
  const Variable v = input(dtype, 1, "v"), w = input(dtype, 1, "w"), a = input(dtype, 2, "a"), b = input(dtype, 2, "b"),
                 t = input(dtype, 3, "t");
  const Variable repeated = ct::variable({dtype, {1, ct::unknown_size}}, "r");
  const auto f =
      compile(mode, {v, w, a, b, t, repeated},
              {ct::vecdot(v, v), ct::vecdot(a, v), ct::vecdot(t, a), ct::vecdot(repeated, a), ct::matvec(a, v),
               ct::matvec(t, v), ct::matvec(a, b), ct::matvec(t, b), ct::matvec(t, repeated), ct::vecmat(w, a),
               ct::vecmat(w, t), ct::vecmat(b, ct::transpose(a))});
  // v: 4; w: 3; a: 3 x 4; b: 2 x 4; t: 2 x 3 x 4
  const Array x = whole(dtype, {4}, 1), y = whole(dtype, {3}, 2), m = whole(dtype, {3, 4}, 3),
              n = whole(dtype, {2, 4}, 4), q = whole(dtype, {2, 3, 4}, 5), one = whole(dtype, {1, 4}, 6);
  const auto got = f(x, y, m, n, q, one);
  CHECK(equal(got[0], by_letters("i", x, "i", x, "")));
  CHECK(equal(got[1], by_letters("ji", m, "i", x, "j")));
  CHECK(equal(got[2], by_letters("bji", q, "ji", m, "bj")));
  CHECK(equal(got[3], by_letters("i", one.copy().reshape({4}), "ji", m, "j")));
  CHECK(equal(got[4], by_letters("ji", m, "i", x, "j")));
  CHECK(equal(got[5], by_letters("bji", q, "i", x, "bj")));
  CHECK(equal(got[6], by_letters("bi", n, "ji", m, "bj")));
  CHECK(equal(got[7], by_letters("bji", q, "bi", n, "bj")));
  CHECK(equal(got[8], by_letters("bji", q, "i", one.copy().reshape({4}), "bj")));
  CHECK(equal(got[9], by_letters("j", y, "ji", m, "i")));
  CHECK(equal(got[10], by_letters("j", y, "bji", q, "bi")));
  CHECK(equal(got[11], by_letters("bi", n, "ji", m, "bj")));
  for (const Array& result : got) CHECK(result.dtype() == dtype);
}

TEST_CASE("vecdot and vecmat conjugate the vector, sizes that are summed must be equal", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const Variable z = ct::zvector("z"), m = ct::zmatrix("m"), x = ct::dvector("x");
  using Complex = std::complex<double>;
  const Array a(std::vector<Complex>{{1, 2}, {0, -1}}),
      b = Array(std::vector<Complex>{{3, 1}, {2, 2}, {-1, 0}, {0, 4}}).reshape({2, 2});
  const auto r = compile(mode, {z, m, x},
                         {ct::vecdot(z, z), ct::vecdot(m, z), ct::matvec(m, z), ct::vecmat(z, m), ct::vecdot(x, z),
                          ct::vecdot(z, x)})(a, b, Array{2., 3.});
  CHECK(r[0].as_complex(0) == Complex(6, 0));
  CHECK(r[1].as_complex(0) == Complex(3, -1) * Complex(1, 2) + Complex(2, -2) * Complex(0, -1));
  CHECK(r[2].as_complex(0) == Complex(3, 1) * Complex(1, 2) + Complex(2, 2) * Complex(0, -1));
  CHECK(r[3].as_complex(1) == Complex(1, -2) * Complex(2, 2) + Complex(0, 1) * Complex(0, 4));
  CHECK(r[4].as_complex(0) == Complex(2, 1));
  CHECK(r[5].as_complex(0) == Complex(2, -1));
  const Variable v = ct::dvector("v"), w = ct::dmatrix("w"), one = ct::variable({DType::float64, {1}}, "one");
  const auto unequal = compile(mode, {v, w}, {ct::vecdot(v, w)});
  CHECK_THROWS_AS(unequal(Array{1., 2.}, Array{{1., 2., 3.}}), ct::ShapeError);
  const auto stated = compile(mode, {one, w}, {ct::vecdot(one, w)});
  CHECK(stated(Array{2.}, Array{{3.}, {4.}})[0].equals(Array{6., 8.}));
  CHECK_THROWS_AS(stated(Array{2.}, Array{{3., 4.}}), ct::ShapeError);
  CHECK_THROWS_AS(ct::vecdot(one, ct::variable({DType::float64, {3}}, "three")), ct::ShapeError);
  CHECK_THROWS_AS(ct::vecdot(v, 2), ct::TypeError);
  CHECK_THROWS_AS(ct::matvec(v, v), ct::TypeError);
  CHECK_THROWS_AS(ct::vecmat(w, v), ct::TypeError);
  CHECK(compile(mode, {v, w}, {ct::vecdot(v, w)})(Array::zeros(DType::float64, {0}),
                                                  Array::zeros(DType::float64, {2, 0}))[0]
            .equals(Array{0., 0.}));
}

TEST_CASE("matrix_power", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  const DType dtype = GENERATE(DType::float64, DType::int32);
  const Variable a = input(dtype, 2, "a"), b = input(dtype, 3, "b");
  std::vector<Variable> powers{ct::matrix_power(b, 3), ct::matrix_power(b, 0)};
  for (int n = 0; n < 8; ++n) powers.push_back(ct::matrix_power(a, n));
  const auto f = compile(mode, {a, b}, powers);
  const Array x = whole(dtype, {3, 3}, 1), y = whole(dtype, {2, 3, 3}, 2);
  const auto r = f(x, y);
  CHECK(equal(r[0], by_letters("bij", by_letters("bij", y, "bjk", y, "bik"), "bjk", y, "bik")));
  Array unit = Array::zeros(DType::float64, {3, 3});
  for (std::int64_t i = 0; i < 3; ++i) unit.at<double>(i, i) = 1;
  CHECK(r[1].shape() == Sizes{2, 3, 3});
  CHECK(equal(r[1].slice(0, 1, 2).copy().reshape({3, 3}), unit));
  for (std::size_t n = 0; n < 8; ++n) {
    CHECK(equal(r[n + 2], unit));
    unit = by_letters("ij", unit, "jk", x, "ik");
  }
  for (const int n : {0, 1, 2})
    CHECK_THROWS_AS(compile(mode, {a}, {ct::matrix_power(a, n)})(whole(dtype, {3, 1}, 1)), ct::ShapeError);
  CHECK_THROWS_AS(ct::matrix_power(a, -1), ct::ValueError);
  CHECK_THROWS_AS(ct::matrix_power(ct::dvector("v"), 2), ct::TypeError);
}

TEST_CASE("einsum", "[ops]") {
  const std::string mode = GENERATE(from_range(modes));
  CAPTURE(mode);
  const Variable a = input(DType::float64, 2, "a"), b = input(DType::float64, 3, "b");
  const auto f =
      compile(mode, {a, b},
              {ct::einsum("ij,jkl->ikl", {a, b}), ct::einsum("ij, jkl", {a, b}), ct::einsum("ij->ji", {a}),
               ct::einsum("jkl->k", {b}), ct::einsum("ij,jkl->jk", {a, b}), ct::einsum("ij,jkl->", {a, b}),
               ct::einsum("ij,jkl,ij->lj", {a, b, a}), ct::einsum("jkl,jkm->jlm", {b, b}), ct::einsum("ba", {a})});
  const Array x = whole(DType::float64, {2, 3}, 1), y = whole(DType::float64, {3, 4, 5}, 2);
  const auto r = f(x, y);
  CHECK(equal(r[0], by_letters("ij", x, "jkl", y, "ikl")));
  CHECK(equal(r[1], by_letters("ij", x, "jkl", y, "ikl")));
  CHECK(equal(r[2], x.transpose().copy()));
  CHECK(equal(r[3], by_letters("", Array(1.0), "jkl", y, "k")));
  CHECK(equal(r[4], by_letters("ij", x, "jkl", y, "jk")));
  CHECK(equal(r[5], by_letters("ij", x, "jkl", y, "")));
  CHECK(equal(r[6], by_letters("ij", by_letters("ij", x, "ij", x, "ij"), "jkl", y, "lj")));
  CHECK(equal(r[7], by_letters("jkl", y, "jkm", y, "jlm")));
  CHECK(equal(r[8], x.transpose().copy()));
  CHECK_THROWS_AS(ct::einsum("ij,jk->ik", {a}), ct::ValueError);
  CHECK_THROWS_AS(ct::einsum("ijk->k", {a}), ct::ValueError);
  CHECK_THROWS_AS(ct::einsum("ij->k", {a}), ct::ValueError);
  CHECK_THROWS_AS(ct::einsum("ij->ii", {a}), ct::ValueError);
  CHECK_THROWS_AS(ct::einsum("i1->i", {a}), ct::ValueError);
  CHECK_THROWS_AS(ct::einsum("ii->i", {a}), ct::NotImplementedError);
  CHECK_THROWS_AS(ct::einsum("...i", {a}), ct::NotImplementedError);
}

TEST_CASE("products of several dtypes, and their errors", "[ops]") {
  const Variable i = input(DType::int32, 3, "i"), f = input(DType::float32, 3, "f");
  CHECK(ct::batched_dot(i, f).dtype() == DType::float64);
  CHECK(ct::matmul(input(DType::int8, 2, "b"), f).dtype() == DType::float32);
  const auto p = ct::variable({DType::float32, {2, 3, 4}}, "p"), q = ct::variable({DType::float32, {2, 5, 4}}, "q"),
             other = ct::variable({DType::float32, {3, 4, 4}}, "other");
  const auto refused = [&](const auto& call, std::initializer_list<const char*> parts) {
    try {
      call();
      FAIL("sizes that do not fit were taken");
    } catch (const ct::Error& e) {
      for (const char* part : parts) CHECK_THAT(e.what(), Catch::Contains(part));
      CHECK_THAT(e.what(), Catch::Contains("test_all_products.cpp"));
    }
  };
  refused([&] { ct::dot(p, q); }, {"dot", "p is f32[2, 3, 4]", "q is f32[2, 5, 4]", "last but one", "4 is not 5"});
  refused([&] { ct::matmul(p, q); }, {"matmul", "4 is not 5"});
  refused([&] { ct::matmul(p, other); }, {"sizes along axis 0 of the batch must be equal", "2 is not 3"});
  refused([&] { ct::batched_dot(p, other); }, {"batched_dot", "axis 0 of the left side", "2 is not 3"});
  refused([&] { ct::tensordot(p, q, {1}, {1}); }, {"tensordot", "axis 1 of the left side", "3 is not 5"});
  refused([&] { ct::tensordot(p, q, {3}, {1}); }, {"axis 3, where -3 to 2 are accepted"});
  refused([&] { ct::tensordot(p, q, {0, -3}, {1, 0}); }, {"axis 0 is named twice"});
  refused([&] { ct::tensordot(p, q, {0, 1}, {1}); }, {"2 and 1 axes are named"});
  refused([&] { ct::tensordot(p, q, 4); }, {"over 4 axes, where 0 to 3 are possible"});
  refused([&] { ct::batched_tensordot(p, q, {0}, {1}); }, {"axis 0 is the batch"});
  refused([&] { ct::batched_dot(ct::scalar("s"), q); }, {"needs a first axis"});
  refused([&] { ct::matmul(ct::scalar("s"), q); }, {"a scalar is not a matrix; multiply by it with *"});
}

TEST_CASE("gradients of products of all ranks", "[ops]") {
  const std::string mode = GENERATE("mode=reference", "mode=run");
  const ct::change_flags flags(mode);
  const auto real = [](const Sizes& shape, std::uint64_t seed) {
    return Array::uniform(DType::float64, shape, seed, -2, 2);
  };
  struct Case {
    std::string name;
    std::function<Variable(const Inputs&)> f;
    std::vector<Sizes> shapes;
    bool second = false;
  };
  const std::vector<Case> cases = {
      {"dot 3 2", [](const Inputs& x) { return ct::dot(x[0], x[1]); }, {{2, 3, 4}, {4, 2}}, true},
      {"dot 3 3", [](const Inputs& x) { return ct::tanh(ct::dot(x[0], x[1])); }, {{2, 2, 3}, {2, 3, 2}}},
      {"batched_dot", [](const Inputs& x) { return ct::batched_dot(x[0], x[1]); }, {{2, 3, 4}, {2, 4, 2}}, true},
      {"batched vectors", [](const Inputs& x) { return ct::batched_dot(x[0], x[1]); }, {{2, 3}, {2, 3, 2}}, true},
      {"a number each", [](const Inputs& x) { return ct::batched_dot(x[0], x[1]); }, {{2}, {2, 3, 2}}},
      {"matmul left repeated", [](const Inputs& x) { return ct::matmul(x[0], x[1]); }, {{3, 4}, {2, 4, 2}}, true},
      {"matmul right repeated", [](const Inputs& x) { return ct::matmul(x[0], x[1]); }, {{2, 3, 4}, {4, 2}}},
      {"matmul both ways",
       [](const Inputs& x) {
         return ct::matmul(ct::dimshuffle(x[0], {0, ct::broadcast_axis, 1, 2}), ct::expand_dims(x[1], 0));
       },
       {{2, 3, 2}, {2, 2, 3}},
       true},
      {"matmul of a vector", [](const Inputs& x) { return ct::matmul(x[0], x[1]); }, {{4}, {2, 4, 2}}},
      {"tensordot",
       [](const Inputs& x) { return ct::tensordot(x[0], x[1], {0, 2}, {1, 0}); },
       {{2, 3, 4}, {4, 2, 2}},
       true},
      {"batched_tensordot",
       [](const Inputs& x) { return ct::batched_tensordot(x[0], x[1], {1, 2}, {2, 1}); },
       {{2, 3, 4}, {2, 4, 3}}},
      {"outer", [](const Inputs& x) { return ct::outer(x[0], x[1]); }, {{3}, {2}}, true},
      {"inner", [](const Inputs& x) { return ct::inner(x[0], x[1]); }, {{2, 3}, {4, 3}}},
      {"vdot", [](const Inputs& x) { return ct::vdot(x[0], x[1]); }, {{2, 3}, {3, 2}}},
      {"vecdot", [](const Inputs& x) { return ct::vecdot(x[0], x[1]); }, {{2, 3, 4}, {3, 4}}, true},
      {"matvec", [](const Inputs& x) { return ct::matvec(x[0], x[1]); }, {{2, 3, 4}, {2, 4}}, true},
      {"matvec of one matrix", [](const Inputs& x) { return ct::matvec(x[0], x[1]); }, {{3, 4}, {2, 4}}},
      {"vecmat", [](const Inputs& x) { return ct::vecmat(x[0], x[1]); }, {{2, 3}, {2, 3, 4}}, true},
      {"kron", [](const Inputs& x) { return ct::kron(x[0], x[1]); }, {{2, 3}, {2, 2}}, true},
      {"matrix_power", [](const Inputs& x) { return ct::matrix_power(x[0], 5); }, {{2, 2}}, true},
      {"power by hand",
       [](const Inputs& x) { return ct::dot(ct::dot(ct::dot(ct::dot(x[0], x[0]), x[0]), x[0]), x[0]); },
       {{2, 2}},
       true},
      {"powers of a batch", [](const Inputs& x) { return ct::matrix_power(x[0], 2); }, {{2, 2, 2}}},
      {"power 0", [](const Inputs& x) { return ct::matrix_power(x[0], 0) + x[0]; }, {{2, 2}}},
      {"einsum",
       [](const Inputs& x) { return ct::einsum("ij,jkl,ki->l", {x[0], x[1], x[2]}); },
       {{2, 3}, {3, 2, 2}, {2, 2}},
       true},
      {"inner size 0",
       [](const Inputs& x) { return ct::batched_dot(x[0], x[1]) + ct::sum(x[2]); },
       {{2, 3, 0}, {2, 0, 2}, {3}}},
      {"sizes 1", [](const Inputs& x) { return ct::exp(ct::batched_dot(x[0], x[1])); }, {{1, 1, 1}, {1, 1, 1}}, true},
  };
  std::uint64_t seed = 0;
  for (const Case& c : cases) {
    std::vector<Array> points;
    for (const Sizes& shape : c.shapes) points.push_back(real(shape, ++seed));
    INFO(c.name);
    CHECK(grad_error(c.f, points, c.second ? 2 : 1) < 1e-5);
  }
}

TEST_CASE("a power written as a chain of products", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable a = ct::dmatrix("a");
  Variable power = a, from_right = a;
  for (int k = 1; k < 11; ++k) {
    power = ct::dot(power, a);
    from_right = ct::dot(a, from_right);
  }
  const auto f = compile(mode, {a}, {power, from_right + 1});
  const Array steps = Array(std::vector<double>{1, 1, 1, 0}).reshape({2, 2});  // its powers are Fibonacci's numbers
  const auto results = f(steps);
  const double fibonacci[] = {144, 89, 89, 55};
  for (int i = 0; i < 4; ++i) {
    CHECK(results[0].as_double(i) == fibonacci[i]);
    CHECK(results[1].as_double(i) == fibonacci[i] + 1);
  }
  CHECK(f(Array::zeros(DType::float64, {0, 0}))[0].shape() == Sizes{0, 0});
  CHECK_THROWS_AS(f(Array::zeros(DType::float64, {2, 3})), ct::ShapeError);
  const std::string rewrites = ct::function({a}, power).rewrites();
  CAPTURE(rewrites);
  CHECK(rewrites.find("dot-powers") != std::string::npos);
}
