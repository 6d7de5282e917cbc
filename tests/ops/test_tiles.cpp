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

namespace {

/// counting() in every dtype; complex numbers have an imaginary part.
Array matrix_of(DType dtype, std::int64_t rows, std::int64_t columns) {
  if (!ct::is_complex(dtype)) return counting(dtype, {rows, columns});
  Array numbers = Array::empty(DType::complex128, {rows, columns});
  for (std::int64_t i = 0; i < numbers.size(); ++i)
    numbers.data<std::complex<double>>()[i] = {static_cast<double>(i % 113), static_cast<double>(i % 7)};
  return numbers.astype(dtype);
}

Array turned(const Array& x) { return x.transpose({1, 0}).copy(); }

constexpr std::int64_t sides[] = {0, 1, 3, 8, 31, 32, 33, 63, 64, 65, 100, 129};

}  // namespace

TEST_CASE("transposes of every size of an element, whole tiles and edges of them", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  for (const DType dtype : {DType::int8, DType::float16, DType::float32, DType::float64, DType::complex128}) {
    const Variable x = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "x");
    const auto f = compile(mode, {x}, {ct::transpose(x)});
    for (const std::int64_t rows : sides) {
      for (const std::int64_t columns : sides) {
        const Array a = matrix_of(dtype, rows, columns);
        CAPTURE(ct::name_of(dtype), rows, columns);
        CHECK(f(a)[0].same_bits(turned(a)));
      }
    }
  }
}

TEST_CASE("tiles have the same results under every schedule", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::matrix("x"), y = ct::matrix("y");
  const std::vector<Variable> outputs = {ct::transpose(x) * 2 + y, ct::transpose(x) > y,
                                         ct::cast(ct::transpose(x), DType::float64)};
  const std::vector<std::pair<Array, Array>> inputs = {
      {matrix_of(DType::float32, 128, 64), matrix_of(DType::float32, 64, 128)},
      {matrix_of(DType::float32, 100, 36), matrix_of(DType::float32, 36, 100)},
      {matrix_of(DType::float32, 33, 130), matrix_of(DType::float32, 130, 33)}};
  std::vector<ct::Outputs> expected;
  const auto plain = compile("mode=reference", {x, y}, outputs);
  for (const auto& [a, b] : inputs) expected.push_back(plain(a, b));
  for (const std::string schedule : {"side=32+threads=32", "side=128+threads=1024", "vector=1+threads=128",
                                     "vector=2+side=64", "items=1", "threads=96"}) {
    const auto f = compile(mode + ",schedule=" + schedule, {x, y}, outputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ct::Outputs results = f(inputs[i].first, inputs[i].second);
      CAPTURE(schedule, i);
      for (std::size_t o = 0; o < outputs.size(); ++o) CHECK(results[o].same_bits(expected[i][o]));
    }
  }
}

TEST_CASE("tiles of batches, of parts that are not aligned, and with a broadcast row", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const Variable x = ct::tensor4("x"), row = ct::vector("row");
  const std::vector<Variable> outputs = {
      ct::transpose(x, {0, 1, 3, 2}) + row, ct::transpose(x, {3, 1, 0, 2}), ct::transpose(x, {1, 3, 2, 0}),
      ct::transpose(x.at({ct::slice(), ct::slice(), ct::slice(1, 60), ct::slice(3, 66)}), {1, 0, 3, 2})};
  const auto f = compile(mode, {x, row}, outputs);
  const auto plain = compile("mode=reference", {x, row}, outputs);
  const Array a = counting(DType::float32, {2, 3, 64, 68}), b = counting(DType::float32, {64});
  const ct::Outputs results = f(a, b), expected = plain(a, b);
  for (std::size_t o = 0; o < outputs.size(); ++o) CHECK(results[o].same_bits(expected[o]));
}

TEST_CASE("a user sets the side of tiles", "[ops]") {
  const Variable x = ct::matrix("x");
  const auto f = ct::function({x}, {ct::transpose(x)});
  CHECK(f.kernels("cuda:sm_90")[0].schedule.find("side=64 vector=") != std::string::npos);
  CHECK(f.kernels("cuda:sm_90", {.schedule = "side=32"})[0].schedule.find("side=32 ") != std::string::npos);
  // A tile of 128 x 128 numbers would need 64 KiB of shared memory.
  CHECK(f.kernels("cuda:sm_90", {.schedule = "side=128"})[0].schedule.find("side=64 ") != std::string::npos);
  CHECK_THROWS_AS(f.kernels("cuda:sm_90", {.schedule = "side=48"}), ct::ValueError);
}
