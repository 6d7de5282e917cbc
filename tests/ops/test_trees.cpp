// The trees of reductions as docs/use/numerics.md states them, as a plain model, compared bit for bit with every
// back-end that compiles kernels.
#include <bit>
#include <complex>

#include "samples.hpp"

using namespace croton_test;

namespace {

// ---- the model

template <class T>
T plus(T a, T b) {
  return a + b;
}
/// Not the operator of std::complex, which mends products of infinities.
template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, std::complex<float>>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return a * b;
}

/// A reduction: the identity, and the function that joins two states.
template <class T>
struct Reduction {
  T identity;
  T (*join)(T, T);
};
template <class T>
Reduction<T> sum_of() {
  return {T(0), plus<T>};
}
template <class T>
Reduction<T> product_of() {
  return {T(1), times<T>};
}

template <class T>
using Numbers = std::span<const T>;

/// Neighbours join pairwise: as many as the largest power of two, which is less than their number, and the others.
template <class T>
T pairwise(Reduction<T> r, Numbers<T> states) {
  if (states.empty()) return r.identity;
  if (states.size() == 1) return states[0];
  const std::size_t first = std::bit_floor(states.size() - 1);
  return r.join(pairwise(r, states.first(first)), pairwise(r, states.subspan(first)));
}

template <class T>
T in_order(Reduction<T> r, Numbers<T> elements) {
  T state = r.identity;
  for (const T& element : elements) state = r.join(state, element);
  return state;
}

/// At most 1024 elements of a row.
template <class T>
T block(Reduction<T> r, Numbers<T> elements) {
  std::vector<T> accumulators(128, r.identity), lanes;
  for (std::size_t e = 0; e < elements.size(); ++e) accumulators[e % 128] = r.join(accumulators[e % 128], elements[e]);
  for (std::size_t l = 0; l < 32; ++l) {
    const T* const own = &accumulators[4 * l];
    lanes.push_back(r.join(r.join(own[0], own[2]), r.join(own[1], own[3])));
  }
  for (const std::size_t half : {16, 8, 4, 2, 1}) {
    for (std::size_t l = 0; l < half; ++l) lanes[l] = r.join(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

/// The elements in pieces of `size`, each reduced by `reduce`, and the pieces pairwise.
template <class T>
T in_pieces(Reduction<T> r, Numbers<T> elements, std::size_t size, T (*reduce)(Reduction<T>, Numbers<T>)) {
  std::vector<T> pieces;
  for (std::size_t begin = 0; begin < elements.size(); begin += size)
    pieces.push_back(reduce(r, elements.subspan(begin, std::min(size, elements.size() - begin))));
  if (pieces.empty()) pieces.push_back(reduce(r, elements));
  return pairwise<T>(r, pieces);
}
template <class T>
T row_tree(Reduction<T> r, Numbers<T> elements) {
  return in_pieces<T>(r, elements, 1024, block<T>);
}
template <class T>
T column_tree(Reduction<T> r, Numbers<T> elements) {
  return in_pieces<T>(r, elements, 16, in_order<T>);
}

// ---- the comparison

template <class T>
T element_of(const Array& x, std::int64_t at) {
  if constexpr (std::is_same_v<T, std::complex<float>>)
    return T(x.as_complex(at));
  else
    return static_cast<T>(x.as_double(at));
}

/// The results of a tree for each row of x.
template <class T>
Array by_rows(Reduction<T> r, const Array& x, T (*tree)(Reduction<T>, Numbers<T>)) {
  std::vector<T> results;
  for (std::int64_t i = 0; i < x.shape(0); ++i) {
    std::vector<T> elements;
    for (std::int64_t j = 0; j < x.shape(1); ++j) elements.push_back(element_of<T>(x, i * x.shape(1) + j));
    results.push_back(tree(r, elements));
  }
  return Array(results);
}

const std::vector<std::int64_t> lengths = {0,   1,   2,   3,    4,    5,    16,   17,   31,   32,   33,
                                           127, 128, 129, 1000, 1023, 1024, 1025, 4096, 5000, 16385};

/// Compares sums and products along rows, along columns and of all elements with the model. `T`: in which they are
/// computed.
template <class T>
void check_trees(DType dtype, bool with_products) {
  const Variable x = ct::matrix("x", dtype);
  const Variable wide = ct::cast(x, ct::Array(std::vector<T>{T(0)}).dtype());
  std::vector<Variable> outputs = {ct::sum(wide, 1), ct::sum(wide, 0), ct::sum(wide)};
  if (with_products) outputs.insert(outputs.end(), {ct::prod(wide, 1), ct::prod(wide, 0), ct::prod(wide)});
  for (const std::string& backend : compiled_backends()) {
    const auto f = compile(backend, {x}, outputs);
    for (const std::int64_t n : lengths) {
      INFO(backend << ", " << ct::name_of(dtype) << ", " << n << " elements");
      // 43 points have blocks of nearly every size on the CPU.
      const std::int64_t rows = n <= 33 ? 43 : n <= 1025 ? 3 : 1;
      const bool whole = ct::is_discrete(dtype);
      const double low = whole ? -100 : 0.7, high = whole ? 100 : 1.4;
      const Array along = Array::uniform(DType::float64, {rows, n}, 7, low, high).astype(dtype);
      const Array across = along.transpose({1, 0}).copy();
      const auto of_rows = f(along), of_columns = f(across);
      const auto reductions = with_products ? std::vector{sum_of<T>(), product_of<T>()} : std::vector{sum_of<T>()};
      for (std::size_t k = 0; k < reductions.size(); ++k) {
        INFO("reduction " << k);
        CHECK(same_bits(of_rows[3 * k], by_rows(reductions[k], along, row_tree<T>)));
        CHECK(same_bits(of_columns[3 * k + 1], by_rows(reductions[k], along, column_tree<T>)));
        const Array all = ct::Array::view_of(along.raw(), dtype, {1, along.size()});
        CHECK(same_bits(ct::Array::view_of(of_rows[3 * k + 2].raw(), of_rows[3 * k + 2].dtype(), {1}),
                        by_rows(reductions[k], all, row_tree<T>)));
      }
    }
  }
}

}  // namespace

TEST_CASE("reductions of floats follow the stated trees", "[ops]") {
  const DType dtype = GENERATE(DType::float32, DType::bfloat16);
  check_trees<float>(dtype, dtype == DType::float32);
}
TEST_CASE("reductions of doubles follow the stated trees", "[ops]") { check_trees<double>(DType::float64, true); }
TEST_CASE("reductions of integers do not depend on trees", "[ops]") { check_trees<std::int64_t>(DType::int32, false); }
TEST_CASE("reductions of complex numbers follow the stated trees", "[ops]") {
  check_trees<std::complex<float>>(DType::complex64, true);
}

TEST_CASE("the model of trees tells orders apart", "[ops]") {
  const Array x = Array::uniform(DType::float32, {43, 1000}, 7, 0.7, 1.4);
  const Array rows = by_rows(sum_of<float>(), x, row_tree<float>);
  CHECK_FALSE(same_bits(rows, by_rows(sum_of<float>(), x, column_tree<float>)));
  CHECK_FALSE(same_bits(rows, by_rows(sum_of<float>(), x, in_order<float>)));
  CHECK_FALSE(same_bits(rows, by_rows(sum_of<float>(), x, pairwise<float>)));
}

TEST_CASE("sums of zeros of either sign are 0", "[ops]") {
  const Variable x = ct::matrix("x");
  for (const std::string& backend : compiled_backends()) {
    const auto f = compile(backend, {x}, {ct::sum(x, 1), ct::sum(x, 0), ct::sum(x)});
    for (const std::int64_t n : {1, 3, 20, 40, 1100}) {
      INFO(backend << ", " << n << " elements");
      for (const Array& total : f(Array::full(DType::float32, {n, n == 1100 ? 1 : n}, -0.0)))
        for (std::int64_t i = 0; i < total.size(); ++i) CHECK_FALSE(std::signbit(total.as_double(i)));
    }
  }
}

TEST_CASE("products with complex infinities are the same on all devices", "[ops]") {
  const Variable x = ct::matrix("x", DType::complex64);
  for (const std::string& backend : compiled_backends()) {
    const auto f = compile(backend, {x}, {ct::prod(x, 1), ct::prod(ct::transpose(x), 0)});
    for (const std::int64_t n : {1, 2, 5, 16, 31, 32, 33, 130}) {
      INFO(backend << ", " << n << " elements");
      std::vector<std::complex<float>> elements(static_cast<std::size_t>(2 * n), {1.0f, 0.5f});
      elements[0] = std::complex<float>(std::numeric_limits<float>::infinity(), 0.0f);
      const Array values = Array::view_of(elements.data(), DType::complex64, {2, n});
      const auto r = f(values);
      CHECK(same_bits(r[0], by_rows(product_of<std::complex<float>>(), values, row_tree<std::complex<float>>)));
    }
  }
}

TEST_CASE("the first extreme of every dtype, wherever it is", "[ops]") {
  const DType dtype = GENERATE(DType::bool_, DType::int8, DType::int16, DType::float32, DType::int64, DType::float64);
  const Variable x = ct::matrix("x", dtype);
  const double lowest = ct::is_bool(dtype) || ct::is_unsigned_int(dtype) ? 0 : -1;
  for (const std::string& backend : compiled_backends()) {
    const auto f =
        compile(backend, {x}, {ct::argmax(x, 1), ct::argmin(x, 1), ct::argmax(ct::transpose(x), 0), ct::argmax(x)});
    const std::int64_t longest = is_cpu(backend) ? 20000 : 2500;  // of two parts where that takes no time
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, std::int64_t{31}, std::int64_t{33},
                                 std::int64_t{129}, std::int64_t{1024}, std::int64_t{1100}, longest}) {
      for (const std::int64_t at : {std::int64_t{0}, n / 3, n - 1}) {
        INFO(backend << ", " << ct::name_of(dtype) << ", element " << at << " of " << n);
        std::vector<double> values(static_cast<std::size_t>(n), lowest);
        for (std::int64_t i = at; i < n; i += 7) values[static_cast<std::size_t>(i)] = 1;
        const auto r = f(Array::view_of(values.data(), DType::float64, {1, n}).astype(dtype));
        CHECK(r[0].as_double(0) == static_cast<double>(at));
        CHECK(r[1].as_double(0) == (at > 0 ? 0 : n > 1 ? 1 : 0));
        CHECK(r[2].as_double(0) == static_cast<double>(at));
        CHECK(r[3].as_double(0) == static_cast<double>(at));
      }
    }
  }
}
