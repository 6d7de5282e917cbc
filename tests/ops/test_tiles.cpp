// Pointwise kernels whose reads and writes are contiguous along different axes use tiles (codegen/variant.hpp): on
// every back-end, at sizes near those of a tile, with every dtype and with several transposed operands.
#include "samples.hpp"

using namespace croton_test;

namespace {

/// 0, 1, 2, ... in C order, modulo the largest number of every dtype.
Array counting(DType dtype, const Sizes& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i % 113));
  return Array(values).reshape(shape).astype(dtype);
}

bool is_tiled(const Compiled& f) {
  return f.kernels("cpu").at(0).source.find("ct::pointwise_tiles(") != std::string::npos;
}

}  // namespace

TEST_CASE("a matrix together with its transpose, at sizes around a tile", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::matrix("x"), y = ct::matrix("y");
  const auto f = compile(mode, {x, y}, {ct::transpose(x) - 2 * y});
  CHECK(is_tiled(f));
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {8, 8}, {31, 33}, {64, 64}, {65, 63}, {1, 70}, {70, 1}, {7, 200}, {130, 9}, {0, 20}, {20, 0}}) {
    const Array a = counting(DType::float32, {columns, rows}), b = counting(DType::float32, {rows, columns});
    const Array result = f(a, b)[0];
    int wrong = 0;
    REQUIRE(result.shape() == Sizes{rows, columns});
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        if (result.as_double(i * columns + j) != a.as_double(j * rows + i) - 2 * b.as_double(i * columns + j)) ++wrong;
      }
    }
    CAPTURE(rows, columns);
    CHECK(wrong == 0);
  }
}

TEST_CASE("axes in other orders, two operands turned", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::tensor3("x"), y = ct::tensor3("y");
  const std::vector<int> order =
      GENERATE(from_range(std::vector<std::vector<int>>{{0, 2, 1}, {2, 0, 1}, {2, 1, 0}, {1, 2, 0}}));
  const auto f = compile(mode, {x, y}, {ct::transpose(x, order) * 3 + ct::transpose(y, order)});
  const Sizes shape{9, 17, 35};
  const Array a = counting(DType::float32, shape), b = counting(DType::float32, shape);
  const Array result = f(a, b)[0];
  const auto axis = [&](int k) { return static_cast<std::size_t>(order[static_cast<std::size_t>(k)]); };
  REQUIRE(result.shape() == Sizes{shape[axis(0)], shape[axis(1)], shape[axis(2)]});
  Sizes at(3);
  int wrong = 0;
  for (std::int64_t e = 0; e < result.size(); ++e) {
    at[axis(2)] = e % shape[axis(2)];
    at[axis(1)] = e / shape[axis(2)] % shape[axis(1)];
    at[axis(0)] = e / shape[axis(2)] / shape[axis(1)];
    const std::int64_t from = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
    if (result.as_double(e) != a.as_double(from) * 3 + b.as_double(from)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("tiles of every dtype, and of inputs that are transposed in memory", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  for (const DType dtype : real_dtypes) {
    const Variable x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "x");
    const auto f = compile(mode, {x}, {ct::maximum(x, ct::transpose(x))});
    const Array a = counting(dtype, {40, 40});
    const Array result = f(a)[0], turned = f(a.transpose({1, 0}))[0];
    int wrong = 0;
    for (std::int64_t i = 0; i < 40; ++i) {
      for (std::int64_t j = 0; j < 40; ++j) {
        const double expected = std::max(a.as_double(i * 40 + j), a.as_double(j * 40 + i));
        if (result.as_double(i * 40 + j) != expected || turned.as_double(i * 40 + j) != expected) ++wrong;
      }
    }
    CAPTURE(ct::name_of(dtype));
    CHECK(wrong == 0);
  }
}

TEST_CASE("more turned operands than a tile may hold", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  std::vector<ct::In> inputs;
  Variable sum = ct::constant(Array(0.0));
  for (int k = 0; k < 6; ++k) {
    const Variable x = ct::dmatrix("x" + std::to_string(k));
    inputs.emplace_back(x);
    sum = sum + (k + 1) * ct::transpose(x);
  }
  const auto f = compile(mode, inputs, {sum});
  std::vector<ct::Argument> arguments;
  for (int k = 0; k < 6; ++k) arguments.emplace_back(counting(DType::float64, {33, 12}));
  const Array result = f.call(arguments)[0];
  const Array a = counting(DType::float64, {33, 12});
  int wrong = 0;
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j < 33; ++j) {
      if (result.as_double(i * 33 + j) != 21 * a.as_double(j * 12 + i)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a variable becomes a function of its transpose", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const ct::change_flags flags(mode);
  const ct::SharedVariable w = ct::shared(counting(DType::float32, {50, 50}));
  ct::FunctionOptions options;
  options.updates.emplace_back(w, w + 2 * ct::transpose(w));
  const auto f = ct::function({}, {ct::sum(w)}, options);
  const Array before = w.get_value();
  f();
  const Array after = w.get_value();
  int wrong = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    for (std::int64_t j = 0; j < 50; ++j) {
      if (after.as_double(i * 50 + j) != before.as_double(i * 50 + j) + 2 * before.as_double(j * 50 + i)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}
