// Complex numbers: elementwise ops, reductions, products and views on every back-end, against values of NumPy
// (expected_complex.hpp) and std::complex; gradients; conversions; rejected operands.
#include "expected_complex.hpp"
#include "samples.hpp"
#include "unit/contains.hpp"

#include "builder/node.hpp"
#include "expr/evaluate.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "rewrite/complex_rules.hpp"
#include "rewrite/pipeline.hpp"

#include <complex>
#include <set>

using namespace croton_test;
namespace expr = croton::expr;

namespace {

using Complex = std::complex<double>;
using Single = std::complex<float>;
using Vars = std::vector<Variable>;

const std::string ieee = "special_values=ieee,";
const std::vector<DType> complex_dtypes = {DType::complex64, DType::complex128};

Array complexes(const std::vector<Complex>& values, DType dtype = DType::complex128) {
  return Array::copy_of(values.data(), DType::complex128, {static_cast<std::int64_t>(values.size())})
      .astype(dtype)
      .copy();
}

/// Numbers with both parts between -high and high.
Array noise(DType dtype, const Sizes& shape, std::uint64_t seed, double high = 4) {
  const Array re = Array::uniform(DType::float64, shape, seed, -high, high);
  const Array im = Array::uniform(DType::float64, shape, seed + 1000, -high, high);
  Array z = Array::empty(DType::complex128, shape);
  for (std::int64_t i = 0; i < z.size(); ++i)
    z.data<Complex>()[static_cast<std::size_t>(i)] = {re.as_double(i), im.as_double(i)};
  return z.astype(dtype).copy();
}

std::vector<Complex> special_points() {
  const std::vector<double> parts = {0.0, -0.0, 1.5, -2, inf_, -inf_, nan_};
  std::vector<Complex> points;
  for (const double x : parts) {
    for (const double y : parts) points.emplace_back(x, y);
  }
  return points;
}

bool is_finite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

/// The distance relative to |wanted| in units of 2^-23 (2^-52). Where a part is not finite, both are compared by kind:
/// annex G does not determine the signs of zeros and of infinities next to a nan.
double error(Complex got, Complex wanted, DType dtype) {
  const bool single = dtype == DType::complex64 || dtype == DType::float32;
  if (is_finite(wanted) && is_finite(got)) {
    const double unit = single ? 0x1p-23 : 0x1p-52, smallest = single ? 0x1p-126 : 0x1p-1022;
    return std::abs(got - wanted) / (unit * std::max(std::abs(wanted), smallest));
  }
  const auto same = [&](double a, double b, double beside) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return std::isinf(a) && std::isinf(b) && (a == b || std::isnan(beside));
    return std::abs(a - b) <= 1e-6 * std::abs(b);
  };
  return same(got.real(), wanted.real(), wanted.imag()) && same(got.imag(), wanted.imag(), wanted.real()) ? 0 : 1e30;
}

Complex at(const Array& array, std::int64_t i) { return array.as_complex(i); }

/// The largest error of `got` compared with `wanted(i)`.
template <class Wanted>
double worst(const Array& got, Wanted wanted) {
  double result = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) result = std::max(result, error(at(got, i), wanted(i), got.dtype()));
  return result;
}

bool takes_complex(const expr::Op& op) { return op.kind == expr::Kind::Map && op.map->complex != nullptr; }

double tolerance(std::string_view op, DType dtype) {
  static const std::set<std::string_view> exact = {"neg", "real",  "imag",  "conj",     "eq",
                                                   "neq", "isnan", "isinf", "isfinite", "where"};
  if (exact.contains(op)) return 0;
  if (op == "pow") return dtype == DType::complex64 ? 2 : 200;  // the logarithm's error times the exponent
  return dtype == DType::complex64 ? 4 : 8;
}

/// Functions of one vector, compiled for one back-end.
Array run(const std::string& mode, const Variable& x, const Variable& y, const Array& value) {
  return compile(mode, {x}, {y})(value)[0];
}

}  // namespace

TEST_CASE("references of complex functions are NumPy's", "[ops]") {
  std::set<std::string_view> seen;
  const auto check = [&](std::string_view op, const std::vector<Complex>& operands, Complex value) {
    std::vector<Scalar> scalars;
    std::vector<DType> dtypes(operands.size(), DType::complex128);
    for (const Complex z : operands) scalars.push_back(Scalar::of_complex(z, DType::complex128));
    const expr::MapInfo& map = *expr::op(op).map;
    const Scalar got = map.reference(scalars, map.types(dtypes).result);
    INFO(op << " of " << operands[0].real() << " + " << operands[0].imag() << "i: " << got.as_complex().real() << " + "
            << got.as_complex().imag() << "i, NumPy has " << value.real() << " + " << value.imag() << "i");
    CHECK(error(got.as_complex(), value, DType::complex128) <= 40);
    seen.insert(op);
  };
  for (const ExpectedComplexUnary& row : expected_complex_unary) check(row.op, {row.z}, row.value);
  for (const ExpectedComplexBinary& row : expected_complex_binary) check(row.op, {row.a, row.b}, row.value);
  // Functions whose properties are tested below.
  const std::set<std::string_view> elsewhere = {"where",   "arcsin",  "arccos",  "arctan",
                                                "arcsinh", "arccosh", "arctanh", "isfinite"};
  for (const expr::Op* op : expr::all_ops()) {
    INFO(op->name);
    if (takes_complex(*op) && !elsewhere.contains(op->name)) CHECK(seen.contains(op->name));
  }
}

TEST_CASE("the sign of a nan steers no result of complex numbers", "[ops]") {
  const DType dtype = GENERATE(from_range(complex_dtypes));
  std::vector<Complex> positive, negative, others;
  for (const Complex z : special_points()) {
    if (!std::isnan(z.real()) && !std::isnan(z.imag())) continue;
    const auto turned = [](double x) { return std::isnan(x) ? -x : x; };
    for (const Complex other : {Complex(1.5, -2), Complex(0, 0), Complex(-inf_, 1)}) {
      positive.push_back(z);
      negative.emplace_back(turned(z.real()), turned(z.imag()));
      others.push_back(other);
    }
  }
  const Variable a = ct::vector("a", dtype), b = ct::vector("b", dtype);
  Vars outputs;
  std::vector<std::string> names;
  for (const expr::Op* op : expr::all_ops()) {
    if (!takes_complex(*op) || op->arity > 2) continue;
    names.emplace_back(op->name);
    outputs.push_back(
        croton::builder::apply(*op, op->arity == 1 ? Vars{a} : Vars{a, b}, {}, std::source_location::current()));
  }
  REQUIRE(names.size() >= 25);
  const auto f = compile(ieee + "mode=run", {a, b}, outputs);
  const auto wanted = f(complexes(positive, dtype), complexes(others, dtype)),
             got = f(complexes(negative, dtype), complexes(others, dtype));
  for (std::size_t k = 0; k < names.size(); ++k) {
    INFO(names[k]);
    CHECK(same_bits(got[k], wanted[k]));
  }
}

TEST_CASE("elementwise ops of complex numbers, compiled", "[ops]") {
  const DType dtype = GENERATE(from_range(complex_dtypes));
  CAPTURE(ct::name_of(dtype));
  const std::vector<Complex> special = special_points();
  constexpr std::int64_t n = 600;
  std::vector<const expr::Op*> all;
  for (const expr::Op* op : expr::all_ops()) {
    if (takes_complex(*op)) all.push_back(op);
  }
  REQUIRE(all.size() >= 28);
  constexpr std::size_t group = 8;
  for (std::size_t first = 0; first < all.size(); first += group) {
    const std::vector<Variable> inputs = {ct::vector("a", dtype), ct::vector("b", dtype), ct::vector("c", dtype)};
    std::vector<const expr::Op*> ops(all.begin() + static_cast<std::ptrdiff_t>(first),
                                     all.begin() + static_cast<std::ptrdiff_t>(std::min(first + group, all.size())));
    std::vector<Variable> outputs;
    for (const expr::Op* op : ops)
      outputs.push_back(croton::builder::apply(*op, {inputs.begin(), inputs.begin() + op->arity}, {},
                                               std::source_location::current()));
    const std::vector<ct::In> ins(inputs.begin(), inputs.end());
    const auto on_cpu = compile(ieee + "mode=run", ins, outputs);
    const auto on_gpus = compile_for_gpus(ieee, ins, outputs);
    const auto check = [&](const std::vector<Array>& operands, bool finite) {
      const std::vector<ct::Argument> arguments(operands.begin(), operands.end());
      const auto results = on_cpu.call(arguments);
      std::vector<ct::Outputs> gpu_results;
      for (const auto& f : on_gpus) gpu_results.push_back(f.call(arguments));
      for (std::size_t k = 0; k < ops.size(); ++k) {
        for (const auto& on_gpu : gpu_results) {
          INFO(ops[k]->name << ": the CPU and every GPU must give the same bits");
          CHECK(same_bits(results[k], on_gpu[k]));
        }
        if (!finite && ops[k]->name == "pow") continue;  // NumPy's rules for infinite bases depend on the machine
        const auto types = ops[k]->map->types(std::vector<DType>(static_cast<std::size_t>(ops[k]->arity), dtype));
        for (std::int64_t i = 0; i < results[k].size(); ++i) {
          std::vector<Scalar> values;
          for (int p = 0; p < ops[k]->arity; ++p)
            values.push_back(Scalar::of_complex(at(operands[static_cast<std::size_t>(p)], i), dtype));
          const Scalar wanted = expr::apply_map(*ops[k], values, types.result);
          const double e = error(at(results[k], i), wanted.as_complex(), dtype);
          if (e <= tolerance(ops[k]->name, dtype)) continue;
          CAPTURE(ops[k]->name, values[0].d, values[0].im, at(results[k], i).real(), at(results[k], i).imag(), wanted.d,
                  wanted.im);
          CHECK(e <= tolerance(ops[k]->name, dtype));
        }
      }
    };
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, n})
      check({noise(dtype, {size}, 1), noise(dtype, {size}, 2), noise(dtype, {size}, 3)}, true);
    std::vector<Complex> turned(special.rbegin(), special.rend()), moved(special.begin() + 9, special.end());
    moved.insert(moved.end(), special.begin(), special.begin() + 9);
    check({complexes(special, dtype), complexes(turned, dtype), complexes(moved, dtype)}, false);
    CHECK(on_cpu.counts().reference_kernels == 0);
  }
}

TEST_CASE("complex operands together with real ones", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType other =
      GENERATE(DType::bool_, DType::int8, DType::int32, DType::uint64, DType::float16, DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(other));
  const auto z = ct::vector("z", DType::complex64), x = ct::vector("x", other);
  const auto f = compile(mode, {z, x}, {z + x, x * z, z / x, ct::where(x, z, 1), ct::eq(z, x), ct::complex(x, x)});
  const Array values = complexes({{1, 2}, {-0.5, 3}, {1, 0}}, DType::complex64),
              reals = Array{1., 0., 1.}.astype(other);
  const auto r = f(values, reals);
  const DType wide = ct::promote(DType::complex64, other);
  for (std::size_t k = 0; k < 3; ++k) CHECK(r[k].dtype() == wide);
  CHECK(r[0].equals(complexes({{2, 2}, {-0.5, 3}, {2, 0}}, wide)));
  CHECK(r[1].equals(complexes({{1, 2}, {0, 0}, {1, 0}}, wide)));
  CHECK(at(r[2], 0) == Complex(1, 2));
  CHECK(at(r[2], 1) == Complex(-inf_, inf_));
  CHECK(r[3].equals(complexes({{1, 2}, {1, 0}, {1, 0}}, DType::complex64)));
  CHECK(r[4].equals(Array{false, false, true}));
  CHECK(r[5].equals(complexes({{1, 1}, {0, 0}, {1, 1}}, r[5].dtype())));
}

TEST_CASE("a complex number is made of its parts and split into them", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::fvector("x"), y = ct::fvector("y");
  const auto i = ct::ivector("i");
  const auto z = ct::complex(x, y), w = ct::complex_from_polar(x, y);
  CHECK(z.dtype() == DType::complex64);
  CHECK(ct::complex(x, i).dtype() == DType::complex128);
  CHECK(ct::complex(x, 1).dtype() == DType::complex64);
  const auto f = compile(mode, {x, y, i},
                         {z, ct::real(z), ct::imag(z), ct::conj(z), ct::angle(z), ct::abs(z), w, ct::real(x),
                          ct::imag(x), ct::angle(x), ct::complex(i, x), ct::conj(i), ct::angle(i)});
  const auto r = f(Array{3.f, -1.f, 0.f}, Array{4.f, -0.f, 2.f}, Array{1, -2, 0});
  CHECK(r[0].equals(complexes({{3, 4}, {-1, -0.0}, {0, 2}}, DType::complex64)));
  CHECK(r[1].equals(Array{3.f, -1.f, 0.f}));
  CHECK(r[2].equals(Array{4.f, -0.f, 2.f}));
  CHECK(r[3].equals(complexes({{3, -4}, {-1, 0}, {0, -2}}, DType::complex64)));
  CHECK(r[4].all_close(Array{0.92729522f, -3.14159265f, 1.57079633f}, 1e-6));
  CHECK(r[5].equals(Array{5.f, 1.f, 2.f}));
  CHECK(r[6].all_close(complexes({std::polar(3., 4.), {-1, 0}, {0, 0}}, DType::complex64), 1e-6));
  CHECK(r[7].equals(Array{3.f, -1.f, 0.f}));
  CHECK(r[8].equals(Array{0.f, 0.f, 0.f}));
  CHECK(r[9].all_close(Array{0.f, 3.14159265f, 0.f}, 1e-6));
  CHECK(r[10].equals(complexes({{1, 3}, {-2, -1}, {0, 0}})));
  CHECK(r[11].equals(Array{1, -2, 0}));
  CHECK(r[12].all_close(Array{0., 3.141592653589793, 0.}));
}

TEST_CASE("casts to complex numbers and between them", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  for (const DType from : real_dtypes) {
    const auto x = ct::vector("x", from);
    const Array values = Array{0., 1., 3., 100.}.astype(from);
    const auto r = compile(mode, {x}, {ct::cast(x, DType::complex64), ct::cast(x, DType::complex128)})(values);
    CAPTURE(ct::name_of(from));
    CHECK(r[0].equals(values.astype(DType::complex64)));
    CHECK(r[1].equals(values.astype(DType::complex128)));
  }
  const auto z = ct::zvector("z");
  const Array values = complexes({{0.1, 1e300}, {0, 0}, {0, 1e-300}, {nan_, 0}, {-0.0, 0.0}});
  const auto r = compile(ieee + mode, {z},
                         {ct::cast(z, DType::complex64), ct::cast(ct::cast(z, DType::complex64), DType::complex128),
                          ct::cast(z, DType::bool_)})(values);
  CHECK(r[0].same_bits(values.astype(DType::complex64)));
  CHECK(r[1].same_bits(values.astype(DType::complex64).astype(DType::complex128)));
  CHECK(r[2].equals(Array{false, false, true, true, false}) == false);  // 0.1 is true
  CHECK(r[2].equals(Array{true, false, true, true, false}));
  CHECK_THROWS_WITH(ct::cast(z, DType::float64), contains("real, imag or abs"));
  CHECK_THROWS_AS(ct::cast(z, DType::int32), ct::TypeError);
}

TEST_CASE("complex inputs in every memory layout", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(from_range(complex_dtypes));
  CAPTURE(mode, ct::name_of(dtype));
  const auto x = ct::matrix("x", dtype), y = ct::matrix("y", dtype);
  const auto f = compile(mode, {x, y}, {x + y * 2, ct::conj(ct::transpose(x)), ct::abs(x), x});
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{5, 37}, {1, 64}, {19, 1}, {0, 3}, {2, 0}}) {
    const Array a = noise(dtype, {rows, columns}, 1), b = noise(dtype, {rows, columns}, 2);
    const auto wanted = f(a, b);
    for (const Layout& layout : layouts_of(a)) {
      INFO(rows << " x " << columns << ": " << layout.name);
      REQUIRE(layout.array.equals(a));
      const auto got = f(layout.array, b);
      for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(got[k].same_bits(wanted[k]));
    }
    CHECK(worst(wanted[0], [&](std::int64_t i) { return at(a, i) + at(b, i) * 2.0; }) <= 2);
    CHECK(wanted[3].equals(a));
    CHECK(wanted[1].shape() == Sizes{columns, rows});
    bool turned = true;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        turned = turned && at(wanted[1], j * rows + i) == std::conj(at(a, i * columns + j));
    }
    CHECK(turned);
  }
}

TEST_CASE("complex rows, columns, scalars and views", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto m = ct::cmatrix("m"), r = ct::crow("r"), c = ct::ccol("c");
  const auto s = ct::zscalar("s");
  using ct::slice;
  const auto f = compile(mode, {m, r, c, s},
                         {m - r, r * c, m + s, ct::reshape(m, {-1}), m.at({slice({}, {}, -1), 1}), ct::alloc(s, {2, 3}),
                          ct::zeros_like(m) + Complex(0, 1), ct::sum(m.at({0}))});
  const Array a = noise(DType::complex64, {3, 4}, 1), b = noise(DType::complex64, {1, 4}, 2),
              d = noise(DType::complex64, {3, 1}, 3);
  const Complex t(0.5, -2);
  const auto got = f(a, b, d, Array(t));
  CHECK(worst(got[0], [&](std::int64_t i) { return at(a, i) - at(b, i % 4); }) <= 1);
  CHECK(worst(got[1], [&](std::int64_t i) { return at(b, i % 4) * at(d, i / 4); }) <= 2);
  CHECK(worst(got[2], [&](std::int64_t i) { return at(a, i) + t; }) <= 1);
  CHECK(got[3].equals(a.reshape({12})));
  CHECK(got[4].equals(complexes({at(a, 9), at(a, 5), at(a, 1)}, DType::complex64)));
  CHECK(got[5].equals(Array::full(DType::complex128, {2, 3}, t)));
  CHECK(got[6].equals(Array::full(DType::complex64, {3, 4}, Complex(0, 1))));
  CHECK(error(at(got[7], 0), at(a, 0) + at(a, 1) + at(a, 2) + at(a, 3), DType::complex64) <= 4);
}

TEST_CASE("reductions of complex numbers", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(from_range(complex_dtypes));
  CAPTURE(mode, ct::name_of(dtype));
  const bool reference = mode == "mode=reference";
  const auto m = ct::matrix("m", dtype);
  const auto f = compile(ieee + mode, {m},
                         {ct::sum(m, 1), ct::sum(m, 0), ct::sum(m), ct::mean(m, 1), ct::var(m, 1), ct::prod(m, 1),
                          ct::all(m, 1), ct::any(m, 0), ct::sum(ct::conj(m) * m, 0)});
  CHECK(ct::var(m).dtype() == (dtype == DType::complex64 ? DType::float32 : DType::float64));
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {3, 5}, {1, 1}, {0, 4}, {4, 0}, {2, reference ? 40 : 3000}, {reference ? 40 : 700, 3}, {17, 1}}) {
    CAPTURE(rows, columns);
    const Array a = noise(dtype, {rows, columns}, 7, 1.5);
    const auto r = f(a);
    const auto each_row = [&](auto start, auto step) {
      std::vector<Complex> totals(static_cast<std::size_t>(rows), start);
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        Complex& total = totals[static_cast<std::size_t>(i / columns)];
        total = step(total, at(a, i));
      }
      return totals;
    };
    const auto size = static_cast<double>(std::max<std::int64_t>(rows * columns, 1));
    const double close = (dtype == DType::complex64 ? 0x1p-23 : 0x1p-52) * 8 * size;
    const auto sums = each_row(Complex(0), [](Complex p, Complex q) { return p + q; });
    const auto products = each_row(Complex(1), [](Complex p, Complex q) { return p * q; });
    Complex total = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto k = static_cast<std::size_t>(i);
      total += sums[k];
      CHECK(std::abs(at(r[0], i) - sums[k]) <= close);
      if (columns == 0) {
        CHECK(std::isnan(at(r[3], i).real()));
        CHECK(at(r[5], i) == Complex(1));
        continue;
      }
      const Complex mean = sums[k] / static_cast<double>(columns);
      CHECK(std::abs(at(r[3], i) - mean) <= close);
      double spread = 0;
      for (std::int64_t j = 0; j < columns; ++j) spread += std::norm(at(a, i * columns + j) - mean);
      CHECK(std::abs(r[4].as_double(i) - spread / static_cast<double>(columns)) <= 4 * close);
      const double exact = std::abs(products[k]);
      if (columns <= 40) CHECK(std::abs(at(r[5], i) - products[k]) <= exact * close * static_cast<double>(columns));
    }
    CHECK(std::abs(at(r[2], 0) - total) <= 4 * close);
    for (std::int64_t j = 0; j < columns; ++j) {
      Complex column = 0;
      double squares = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        column += at(a, i * columns + j);
        squares += std::norm(at(a, i * columns + j));
      }
      CHECK(std::abs(at(r[1], j) - column) <= close);
      CHECK(std::abs(at(r[8], j) - squares) <= close * (1 + squares));
    }
    CHECK(r[6].dtype() == DType::bool_);
  }
  const auto z = f(complexes({{0, 0}, {0, 1}, {nan_, 0}, {1, 0}}, dtype).reshape({2, 2}));
  CHECK(z[6].equals(Array{false, true}));
  CHECK(z[7].equals(Array{true, true}));
  CHECK(std::isnan(at(z[0], 1).real()));
  CHECK(at(z[0], 1).imag() == 0);
  CHECK(at(z[0], 0) == Complex(0, 1));
}

TEST_CASE("long reductions of complex numbers have the same bits on all devices", "[ops]") {
  const auto v = ct::zvector("v");
  const Array values = noise(DType::complex128, {40000}, 5);
  const Array on_cpu = run("mode=run", v, ct::sum(v * v), values);
  for (const std::string& gpu : gpu_backends()) CHECK(same_bits(on_cpu, run(gpu, v, ct::sum(v * v), values)));
  Complex total = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) total += at(values, i) * at(values, i);
  CHECK(std::abs(at(on_cpu, 0) - total) < 1e-8);
}

TEST_CASE("products of complex matrices", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto check = [&](const Array& a, const Array& b, DType dtype) {
    const auto x = ct::variable({a.dtype(), Sizes(a.shape().size(), ct::unknown_size)}, "x"),
               y = ct::variable({b.dtype(), Sizes(b.shape().size(), ct::unknown_size)}, "y");
    const auto product = ct::dot(x, y);
    CHECK(product.dtype() == dtype);
    const Array got = compile(mode, {x, y}, {product})(a, b)[0];
    const Array left = a.rank() == 1 ? a.reshape({1, -1}) : a, right = b.rank() == 1 ? b.reshape({-1, 1}) : b;
    const std::int64_t m = left.shape(0), k = left.shape(1), n = right.shape(1);
    REQUIRE(got.size() == m * n);
    double wrong = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Complex total = 0;
        for (std::int64_t p = 0; p < k; ++p) total += at(left, i * k + p) * at(right, p * n + j);
        wrong = std::max(wrong, std::abs(at(got, i * n + j) - total));
      }
    }
    CHECK(wrong <= (dtype == DType::complex64 ? 1e-4 : 1e-12));
  };
  const auto c64 = DType::complex64, c128 = DType::complex128;
  check(noise(c64, {3, 4}, 1), noise(c64, {4, 5}, 2), c64);
  check(noise(c128, {33, 20}, 1), noise(c64, {20, 17}, 2), c128);
  check(noise(c64, {3, 4}, 1), Array::uniform(DType::float32, {4, 2}, 2), c64);
  check(Array::uniform(DType::float64, {3, 4}, 2), noise(c64, {4, 2}, 1), c128);
  check(Array::arange(12, DType::int64).reshape({3, 4}), noise(c64, {4, 2}, 1), c128);
  check(noise(c128, {4}, 1), noise(c128, {4}, 2), c128);
  check(noise(c128, {3, 4}, 1), noise(c128, {4}, 2), c128);
  check(noise(c64, {3}, 1), noise(c64, {3, 2}, 2), c64);
  check(noise(c64, {0, 4}, 1), noise(c64, {4, 5}, 2), c64);
  check(noise(c64, {3, 0}, 1), noise(c64, {0, 2}, 2), c64);
}

TEST_CASE("the gradient of a complex variable is dC/dx + i dC/dy", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto z = ct::zvector("z");
  const Array values = complexes({{1, 2}, {-0.5, 0.25}, {3, -4}});
  const auto gradient = [&](const Variable& cost) { return run(mode, z, ct::grad(cost, z), values); };
  // |z|^2 = x^2 + y^2; Re z^2 = x^2 - y^2; Im z^2 = 2xy; |z|.
  CHECK(worst(gradient(ct::sum(ct::sqr(ct::abs(z)))), [&](auto i) { return 2.0 * at(values, i); }) <= 4);
  CHECK(worst(gradient(ct::sum(ct::real(ct::conj(z) * z))), [&](auto i) { return 2.0 * at(values, i); }) <= 4);
  CHECK(worst(gradient(ct::sum(ct::real(z * z))), [&](auto i) { return 2.0 * std::conj(at(values, i)); }) <= 4);
  CHECK(worst(gradient(ct::sum(ct::imag(ct::sqr(z)))),
              [&](auto i) { return Complex(0, 2) * std::conj(at(values, i)); }) <= 4);
  CHECK(worst(gradient(ct::sum(ct::abs(z))), [&](auto i) { return at(values, i) / std::abs(at(values, i)); }) <= 4);
  CHECK(gradient(ct::sum(ct::real(z))).equals(complexes({1, 1, 1})));
  CHECK(gradient(ct::sum(ct::imag(z))).equals(complexes({{0, 1}, {0, 1}, {0, 1}})));
  // A real variable next to a complex one has a real gradient.
  const auto x = ct::dvector("x");
  const auto g = ct::grad(ct::sum(ct::real(x * z)), x);
  CHECK(g.dtype() == DType::float64);
  CHECK(compile(mode, {x, z}, {g})(Array{1., 2., 3.}, values)[0].equals(Array{1., -0.5, 3.}));
  const auto v = ct::zvector("v");
  const auto lop = compile(mode, {z, v}, {ct::Lop(ct::sqr(z), z, v)})(values, complexes({1, {0, 1}, 2}))[0];
  CHECK(lop.all_close(complexes({{2, -4}, {0.5, -1}, {12, 16}}), 1e-12));  // v conj(2 z)
  // Elements that are read, or written, several times.
  const auto rows = ct::constant(Array{std::int64_t{0}, std::int64_t{1}, std::int64_t{1}});
  CHECK(worst(gradient(ct::sum(ct::real(ct::sqr(z[rows])))), [&](auto i) {
          return std::array{2.0, 4.0, 0.0}[static_cast<std::size_t>(i)] * std::conj(at(values, i));
        }) <= 4);
  CHECK(run(mode, z, ct::inc_subtensor(z[rows], std::complex<double>(0, 1)), values)
            .equals(complexes({{1, 3}, {-0.5, 2.25}, {3, -4}})));
  CHECK(run(mode, z, ct::set_subtensor(z[rows], std::complex<double>(2, 1)), values)
            .equals(complexes({{2, 1}, {2, 1}, {3, -4}})));
  // At 0 abs, sgn and angle have no slope.
  const Array nought = complexes({{0, 0}});
  for (const Variable& cost : {ct::sum(ct::abs(z)), ct::sum(ct::angle(z)), ct::sum(ct::real(ct::sgn(z)))})
    CHECK(run(mode, z, ct::grad(cost, z), nought).equals(nought));
}

TEST_CASE("complex gradients against differences", "[ops]") {
  const bool compiled = GENERATE(false, true);
  const ct::change_flags flags(compiled ? "mode=run" : "mode=reference");
  using Inputs = std::vector<Variable>;
  struct Case {
    std::string name;
    std::function<Variable(const Inputs&)> f;
    std::vector<Array> points;
    int order = 1;
  };
  std::vector<Case> cases;
  const auto points = [](std::uint64_t seed) { return noise(DType::complex128, {4}, seed, 1.2); };
  for (const expr::Op* op : expr::all_ops()) {
    if (!takes_complex(*op) || op->gradient == nullptr) continue;
    const auto arity = static_cast<std::size_t>(op->arity);
    if (is_bool(op->map->types(std::vector<DType>(arity, DType::complex128)).result)) continue;
    Case c{std::string(op->name),
           [op](const Inputs& x) { return croton::builder::apply(*op, x, {}, std::source_location::current()); },
           {},
           cases.size() % 2 == 0 ? 2 : 1};
    for (std::size_t i = 0; i < arity; ++i) c.points.push_back(points(3 + i));
    cases.push_back(std::move(c));
  }
  REQUIRE(cases.size() >= 24);
  const Array matrix = noise(DType::complex128, {3, 4}, 5),
              real_matrix = Array::uniform(DType::float64, {3, 4}, 6, 0.5, 2);
  const auto with_real = [&](std::string name, std::function<Variable(const Inputs&)> f, int order = 1) {
    cases.push_back({std::move(name), std::move(f), {matrix, real_matrix}, order});
  };
  with_real("mixed product", [](const Inputs& x) { return x[0] * x[1] + x[1]; }, 2);
  with_real("mixed quotient", [](const Inputs& x) { return ct::abs(x[0] / x[1]) + ct::abs(x[1] / x[0]); });
  with_real("complex", [](const Inputs& x) { return ct::exp(ct::complex(x[1], ct::sqr(x[1])) * x[0]); });
  with_real("polar", [](const Inputs& x) { return ct::sqr(ct::complex_from_polar(x[1], ct::cos(x[1]))) + x[0]; }, 2);
  with_real("where", [](const Inputs& x) { return ct::where(x[1] < 1, x[0], ct::conj(x[0]) * x[1]); });
  with_real("casts",
            [](const Inputs& x) { return ct::cast(x[1], DType::complex128) * ct::cast(x[0], DType::complex128); });
  with_real("sums",
            [](const Inputs& x) { return ct::sum(ct::sqr(x[0]), 0) * ct::mean(x[0] * x[1], 0) + ct::var(x[0], 0); });
  with_real("products", [](const Inputs& x) { return ct::prod(x[0], 1); }, 2);
  with_real(
      "product of matrices", [](const Inputs& x) { return ct::dot(x[0], ct::transpose(ct::sqr(x[0]) * x[1])); }, 2);
  with_real("product with a real matrix", [](const Inputs& x) { return ct::dot(x[1], ct::transpose(ct::conj(x[0]))); });
  with_real("views", [](const Inputs& x) {
    return ct::reshape(ct::transpose(ct::sqr(x[0])).at({ct::slice(1, {}), ct::slice({}, {}, -1)}), {-1});
  });
  with_real("broadcasting",
            [](const Inputs& x) { return x[1] * ct::dimshuffle(ct::sqr(ct::sum(x[0], 1)), {0, ct::broadcast_axis}); });
  const std::size_t every = compiled ? 8 : 1;  // compiled, all of them take long
  for (std::size_t i = 0; i < cases.size(); i += every) {
    INFO(cases[i].name);
    CHECK(grad_error(cases[i].f, cases[i].points, cases[i].order) < 1e-5);
  }
}

TEST_CASE("derivatives on branch cuts are those of the side that the sign of a zero tells", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const std::vector<Complex> across_x = {{2, 0.}, {2, -0.}, {-2, 0.}, {-2, -0.}, {0.5, 0.}, {0.5, -0.}};
  const std::vector<Complex> across_y = {{0., 2}, {-0., 2}, {0., -2}, {-0., -2}, {0., 0.5}, {-0., 0.5}};
  const std::vector<std::pair<Variable (*)(ct::Operand), bool>> inverses = {
      {ct::arcsin, true}, {ct::arccos, true}, {ct::arccosh, true},  {ct::arctanh, true},
      {ct::log, true},    {ct::sqrt, true},   {ct::arcsinh, false}, {ct::arctan, false}};
  const auto z = ct::variable({DType::complex128, {ct::unknown_size}}, "z");
  for (std::size_t i = 0; i < inverses.size(); ++i) {
    const auto& [inverse, along_x] = inverses[i];
    const Variable w = inverse(z), values = ct::real(w) - 2 * ct::imag(w);
    const auto f = compile(mode, {z}, {values, ct::grad(ct::sum(values), z)});
    const auto moved = [&, along = along_x](double h) {
      std::vector<Complex> points = along ? across_x : across_y;
      for (Complex& at : points) at = along ? Complex(at.real() + h, at.imag()) : Complex(at.real(), at.imag() + h);
      return f(complexes(points));
    };
    const auto low = moved(-1e-6), high = moved(1e-6), here = moved(0);
    for (std::int64_t k = 0; k < 6; ++k) {
      INFO("function " << i << ", point " << k);
      const Complex slope = here[1].data<Complex>()[static_cast<std::size_t>(k)];
      const double wanted = (high[0].as_double(k) - low[0].as_double(k)) / 2e-6;
      CHECK((along_x ? slope.real() : slope.imag()) == Approx(wanted).epsilon(1e-6).margin(1e-8));
    }
  }
}

TEST_CASE("complex quotients of the largest numbers, and arctanh near 1", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  for (const DType dtype : complex_dtypes) {
    CAPTURE(name_of(dtype));
    const double most =
        dtype == DType::complex64 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const auto a = ct::variable({dtype, {ct::unknown_size}}, "a"), b = ct::variable({dtype, {ct::unknown_size}}, "b");
    const Array quotients =
        compile(mode + "," + ieee, {a, b}, {a / b})(complexes({{most / 64, most}, {most, most}, {most, 0}}, dtype),
                                                    complexes({{most, most / 64}, {1, 1}, {most, most}}, dtype))[0]
            .astype(DType::complex128)
            .copy();
    const double unit = dtype == DType::complex64 ? 0x1p-23 : 0x1p-52;
    const auto got = quotients.data<Complex>();
    CHECK(got[0].real() == Approx(128. / 4097).epsilon(4 * unit));
    CHECK(got[0].imag() == Approx(4095. / 4097).epsilon(4 * unit));
    CHECK(got[1].real() == Approx(most).epsilon(4 * unit));
    CHECK(got[1].imag() == 0);
    CHECK(got[2].real() == 0.5);
    CHECK(got[2].imag() == -0.5);
  }
  const auto z = ct::variable({DType::complex128, {ct::unknown_size}}, "z");
  const Array w = compile(mode, {z}, {ct::arctanh(z)})(complexes({{1, 1e-200}, {-1, 1e-320}, {1, -1e-90}}))[0];
  const std::vector<double> distances = {1e-200, 1e-320, 1e-90};
  for (std::size_t i = 0; i < 3; ++i) {
    const double size = 0.5 * (std::log(2.0) - std::log(distances[i]));
    CHECK(w.data<Complex>()[i].real() == Approx(i == 1 ? -size : size).epsilon(1e-14));
  }
}

TEST_CASE("complex constants are folded, printed and read back", "[ops]") {
  const auto z = ct::zvector("z");
  const Complex i(0, 1);
  // Rules for ones and zeros do not apply to the imaginary unit.
  const std::vector<Variable> outputs = {z + i,
                                         z * i,
                                         z * 1,
                                         z + 0,
                                         (z + i) + i,
                                         ct::pow(z, 2),
                                         z * Complex(1, 0),
                                         z - i,
                                         ct::where(true, z, i) / 2,
                                         ct::exp(ct::constant(Array(i))) + z,
                                         ct::log(ct::exp(z))};
  const Array values = complexes({{1, 2}, {-3, 0.5}, {0.25, 9}});
  const auto fast = compile("mode=run", {z}, outputs)(values),
             plain = compile("mode=run,optimizer=none", {z}, outputs)(values);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    CAPTURE(k);
    CHECK(worst(fast[k], [&](auto at_index) { return at(plain[k], at_index); }) <= 8);
  }
  CHECK(fast[0].equals(complexes({{1, 3}, {-3, 1.5}, {0.25, 10}})));
  CHECK(fast[1].equals(complexes({{-2, 1}, {-0.5, -3}, {-9, 0.25}})));
  CHECK(fast[2].equals(values));
  CHECK(fast[4].equals(complexes({{1, 4}, {-3, 2.5}, {0.25, 11}})));
  CHECK(at(fast[10], 2).imag() < 3.15);  // log(exp(z)) is not z: the branch matters

  const std::string text =
      "z: c128[n] = input\n"
      "c0: c64[2] = constant((1.0, -2.5), (nan, inf))\n"
      "%0: c128[n] = mul(z, c128 (0.0, 1.0))\n"
      "%1: c64[2] = conj(c0)\n"
      "return %0, %1, c64 (1.5, 0.0)\n";
  const expr::Graph graph = expr::parse_graph(text);
  CHECK(expr::print(graph) == text);
  const std::vector<Array> inputs = {values};
  const std::vector<Array> results = expr::evaluate(graph, inputs);
  CHECK(results[0].equals(fast[1]));
  CHECK(at(results[1], 0) == Complex(1, 2.5));
  CHECK(results[2].equals(Array(Single(1.5f, 0))));

  // Outputs that are constants, and the dtypes of plain complex numbers.
  const auto constant = compile("mode=run", {}, {ct::sqr(ct::Operand(Complex(1, 2)).variable)})();
  CHECK(constant[0].equals(Array(Single(-3, 4))));
  CHECK((ct::fvector("x") * Complex(0, 0.1)).dtype() == DType::complex64);
  const ct::change_flags flags("floatX=float64");
  CHECK((ct::fvector("x") * Complex(0, 0.1)).dtype() == DType::complex128);
  CHECK((ct::fvector("x") * Complex(0, 0.5)).dtype() == DType::complex64);
}

TEST_CASE("the rules that hold for complex numbers exist", "[ops]") {
  std::set<std::string_view> names;
  for (const croton::rewrite::Group& group : croton::rewrite::groups()) {
    for (const croton::rewrite::Rule& rule : group.rules) names.insert(rule.name);
  }
  for (const std::string_view name : croton::rewrite::complex_rules()) {
    INFO(name);
    CHECK(names.contains(name));
  }
}

TEST_CASE("complex shared variables, updates and arguments", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const ct::change_flags flags(mode);
  ct::SharedVariable w = ct::shared(complexes({{1, 1}, {2, 0}}, DType::complex64), {.name = "w"});
  const auto z = ct::cvector("z");
  const auto s = ct::zscalar("s");
  const ct::Function f = ct::function({z, s}, ct::sum(w * z) * s, {.updates = {{w, w - ct::conj(z)}}});
  const auto r = f(complexes({{0, 1}, {1, 0}}, DType::complex64), Complex(0, 2));
  CHECK(at(r.only(), 0) == Complex(-2, 2));
  CHECK(w.get_value().equals(complexes({{1, 2}, {1, 0}}, DType::complex64)));
  w.set_value(Array{3.f, 4.f});
  CHECK(w.get_value().equals(complexes({3, 4}, DType::complex64)));
  CHECK_THROWS_AS(w.set_value(complexes({3, 4})), ct::TypeError);
  // Real arguments are accepted; complex128 for complex64 only as a plain number; complex ones for real ones never.
  CHECK(at(f(Array{1.f, 2.f}, 2.0).only(), 0) == Complex(22, 0));
  CHECK_THROWS_AS(f(complexes({1, 2}), Complex(1)), ct::TypeError);
  const auto c = ct::cscalar("c");
  CHECK(at(ct::function({c}, c * 2)(Complex(0.1, 1)).only(), 0) == Complex(Single(0.2f, 2)));
  const auto x = ct::dscalar("x");
  CHECK_THROWS_AS(ct::function({x}, x * 2)(Complex(1)), ct::TypeError);
}

TEST_CASE("norms of complex numbers are those of their magnitudes", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto z = ct::zmatrix("z");
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto r = compile(mode, {z}, {ct::norm(z, 2, 0), ct::norm(z, 1, 0), ct::norm(z, inf), ct::norm(z, 3, 0)})(
      complexes({{0, 1}, {3, 4}, {2, 0}, {0, 0}}, DType::complex128).reshape({2, 2}));
  CHECK(r[0].all_close(Array{std::sqrt(5.), 5.}, 1e-15));
  CHECK(r[1].equals(Array{3., 5.}));
  CHECK(r[2].equals(Array(5.)));
  CHECK(r[3].all_close(Array{std::cbrt(9.), 5.}, 1e-14));
}

TEST_CASE("spreads and norms of complex numbers are computed in acc_dtype", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto c = ct::cvector("c");
  ct::ReduceOptions wide, both;
  wide.acc_dtype = both.dtype = DType::float64;
  const auto r = compile(mode, {c}, {ct::std(c, wide), ct::norm(c, 2, wide), ct::var(c, both)})(
      complexes({{3e30, 0}, {0, 4e30}}, DType::complex64));
  CHECK(r[0].dtype() == DType::float32);
  CHECK(r[0].as_double(0) == Approx(2.5e30));
  CHECK(r[1].dtype() == DType::float32);
  CHECK(r[1].as_double(0) == Approx(5e30));
  CHECK(r[2].dtype() == DType::float64);
  CHECK(r[2].as_double(0) == Approx(6.25e60));
}

TEST_CASE("running products, sinc and float_power of complex numbers", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::complex64, DType::complex128);
  CAPTURE(mode, ct::name_of(dtype));
  const double close = dtype == DType::complex64 ? 1e-5 : 1e-13;
  const auto z = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "z");
  const auto f = compile(
      mode, {z},
      {ct::cumprod(z, 0), ct::cumprod(z), ct::sinc(z), ct::float_power(z, 2.5), ct::cumprod(z, 1, DType::complex128)});
  const Array a = noise(dtype, {3, 4}, 5);
  const auto r = f(a);
  CHECK(r[0].dtype() == dtype);
  CHECK(r[3].dtype() == DType::complex128);
  CHECK(r[4].dtype() == DType::complex128);
  Complex whole = 1;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const Complex v = a.as_complex(i), angle = std::numbers::pi * v;
    whole *= v;
    CHECK(std::abs(r[1].as_complex(i) - whole) <= 2 * close * std::abs(whole));
    CHECK(std::abs(r[2].as_complex(i) - std::sin(angle) / angle) <= close * std::abs(std::sin(angle) / angle));
    CHECK(std::abs(r[3].as_complex(i) - std::pow(v, 2.5)) <= 1e-12 * std::abs(std::pow(v, 2.5)));
    Complex column = 1;
    for (std::int64_t k = i % 4; k <= i; k += 4) column *= a.as_complex(k);
    CHECK(std::abs(r[0].as_complex(i) - column) <= close * std::abs(column));
  }
  // Several points of a line, zeros, and points near 0, where sin(pi z) / (pi z) is 1 - (pi z)^2 / 6.
  Array turning = Array::full(DType::float64, {1, 2500}, 0).astype(dtype).copy();
  for (std::int64_t i = 0; i < 2500; ++i) {
    if (dtype == DType::complex64) turning.at<std::complex<float>>(0, i) = {0, 1};
    if (dtype == DType::complex128) turning.at<Complex>(0, i) = {0, 1};
  }
  const auto turned = f(turning)[1];
  CHECK(turned.as_complex(2499) == Complex(1, 0));
  CHECK(turned.as_complex(1500) == Complex(0, 1));
  const auto near = f(complexes({{0, 0}, {1e-3, 1e-3}, {0.2499, 0}, {0.2501, 0}}, dtype).reshape({1, 4}));
  CHECK(near[2].as_complex(0) == Complex(1, 0));
  CHECK(std::abs(near[2].as_complex(1) - Complex(1, -2e-6 * std::numbers::pi * std::numbers::pi / 6)) < 1e-7);
  for (const int k : {2, 3}) {
    const double angle = std::numbers::pi * (k == 2 ? 0.2499 : 0.2501);
    CHECK(std::abs(near[2].as_complex(k) - std::sin(angle) / angle) < 10 * close);
  }
  CHECK(near[1].as_complex(3) == Complex(0, 0));
}

TEST_CASE("gradients of running products, sinc and float_power of complex numbers", "[ops]") {
  using Inputs = std::vector<Variable>;
  const Array points = noise(DType::complex128, {3, 2}, 7);
  const Array zeros = complexes({{1, 2}, {0, 0}, {3, -1}, {0, 0}, {0.5, 1}}, DType::complex128);
  CHECK(grad_error([](const Inputs& x) { return ct::cumprod(x[0], 0); }, {points}, 2) < 1e-5);
  CHECK(grad_error([](const Inputs& x) { return ct::cumprod(x[0]); }, {zeros}, 2) < 1e-5);
  CHECK(grad_error([](const Inputs& x) { return ct::sinc(x[0]); }, {points}) < 1e-5);
  CHECK(grad_error([](const Inputs& x) { return ct::sinc(x[0]); },
                   {complexes({{0, 0}, {1e-3, 0.1}, {0.1, -0.2}}, DType::complex128)}, 2) < 1e-5);
  CHECK(grad_error([](const Inputs& x) { return ct::float_power(x[0], 1.5); }, {points}) < 1e-5);
}

TEST_CASE("operations without a meaning for complex numbers are rejected", "[ops]") {
  const auto z = ct::cvector("z");
  const auto refused = [](auto f) {
    CHECK_THROWS_AS(f(), ct::TypeError);
    CHECK_THROWS_WITH(f(), contains("z is c64[?]"));
  };
  refused([&] { return z < 1; });
  refused([&] { return 1 >= z; });
  refused([&] { return ct::maximum(z, 0); });
  refused([&] { return ct::clip(z, 0, 1); });
  refused([&] { return ct::floor(z); });
  refused([&] { return ct::floor_divide(z, 2); });
  refused([&] { return z % 2; });
  refused([&] { return z & 1; });
  refused([&] { return ~z; });
  refused([&] { return ct::erf(z); });
  refused([&] { return ct::sigmoid(z); });
  refused([&] { return ct::max(z); });
  refused([&] { return ct::argmin(z); });
  refused([&] { return ct::complex(z, 1); });
  refused([&] { return ct::nnet::softmax(z); });
  refused([&] { return ct::nnet::relu(z); });
  refused([&] { return ct::nnet::relu(z, {.max_value = 1}); });
  refused([&] { return ct::nnet::sparsemax(z); });
  refused([&] { return ct::nnet::poisson(z, 1); });
  refused([&] { return ct::nnet::poisson(1, z); });
  refused([&] { return ct::nnet::mean_squared_error(z, 1); });
  refused([&] { return ct::nnet::binary_crossentropy(z, 1); });
  refused([&] { return ct::nnet::categorical_crossentropy(z, z); });
  refused([&] { return ct::nnet::dice(z, z); });
  refused([&] { return ct::nnet::tversky(z, z); });
  refused([&] { return ct::nnet::layer_norm(z); });
  refused([&] { return ct::fabs(z); });
  refused([&] { return ct::cast(z, DType::float32); });
  CHECK_THROWS_WITH(ct::grad(ct::sum(z), z), contains("real part"));
  CHECK_THROWS_WITH(ct::verify_grad([](const std::vector<Variable>& v) { return v[0] > 0; }, {Array{1.}}),
                    contains("a float is needed"));
}
