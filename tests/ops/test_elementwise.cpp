// Every elementwise op of the table, for every dtype that it accepts, as compiled CPU code and as CUDA text on the
// simulated GPU: values against the op's own reference, the references against an independent table (expected.hpp),
// awkward values, sizes and layouts, and equal bits on both devices.
#include "expected.hpp"
#include "samples.hpp"

#include "builder/node.hpp"

#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <span>

using namespace croton_test;
namespace expr = croton::expr;

namespace {

const std::string ieee = "special_values=ieee,";

std::vector<const expr::Op*> map_ops() {
  std::vector<const expr::Op*> result;
  for (const expr::Op* op : expr::all_ops()) {
    if (op->kind == expr::Kind::Map && op->name != "cast") result.push_back(op);
  }
  return result;
}

/// The allowed distance of a result from the reference, in ULP of its dtype. Exact arithmetic must be exact.
double tolerance(std::string_view op, DType computed) {
  // clang-format off
  static const std::map<std::string_view, double> transcendental = {
      {"pow", 4}, {"exp", 4}, {"exp2", 4}, {"expm1", 4}, {"log", 4}, {"log2", 4}, {"log10", 4}, {"log1p", 4}, {"rsqrt", 2},
      {"sin", 4}, {"cos", 4}, {"tan", 4}, {"sinh", 4}, {"cosh", 4}, {"tanh", 4}, {"erf", 4}, {"erfc", 4}, {"sigmoid", 4},
      {"softplus", 4},
      {"floor_divide", 1},  // for large quotients: math.cuh and the reference round them to different widths
      {"arcsin", 4}, {"arccos", 4}, {"arctan", 4}, {"arctan2", 4}, {"arcsinh", 4}, {"arccosh", 4}, {"arctanh", 4},
      {"deg2rad", 2}, {"rad2deg", 2}, {"sinc", 4}, {"cbrt", 2}, {"hypot", 2}, {"exp10", 4}, {"log1mexp", 4}, {"xlogx", 4},
      {"xlogy0", 4}, {"xlog1py", 4}, {"erfinv", 6}, {"erfcinv", 6}, {"erfcx", 4}, {"gamma", 8}, {"tri_gamma", 8},
      {"gammainc", 4000}, {"gammaincc", 4000}, {"chi2sf", 4000}, {"gamma_pdf", 4000},  // deep tails; test_special.cpp
      {"polygamma", 64}, {"i0", 6}, {"i1", 6},
      // Near their zeros only the absolute error is small; test_functions.cpp bounds it.
      {"logaddexp", 1e5}, {"logaddexp2", 1e5}, {"gammaln", 1e4}, {"psi", 1e4}, {"j0", 1e3}, {"j1", 1e3},
      {"jv", 1e5}, {"iv", 4000},
      {"normal32", 4}, {"normal64", 4}, {"sample_log_gamma", 8},
  };
  // clang-format on
  if (op == "angle" || op == "complex_from_polar") return 4;
  if (!is_float(computed)) return 0;
  const auto at = transcendental.find(op);
  if (at == transcendental.end()) return 0;
  return compute_dtype(computed) == computed ? at->second : 1;
}

std::optional<expr::MapInfo::Types> types_of(const expr::Op& op, const std::vector<DType>& dtypes) {
  try {
    return op.map->types(dtypes);
  } catch (const ct::TypeError&) {
    return std::nullopt;
  }
}

Scalar reference(const expr::Op& op, const std::vector<Scalar>& operands, const expr::MapInfo::Types& types) {
  std::vector<Scalar> cast = operands;
  // The condition of `where` is only tested.
  for (std::size_t i = op.name == "where" ? 1 : 0; i < cast.size(); ++i) {
    // float16 and bfloat16 operands are exact in the float32 in which bodies compute.
    cast[i] = cast[i].cast(types.operand);
  }
  return op.map->reference(cast, types.result);
}

/// The largest distance of `got` from the reference of `op`; `note` gets its position.
double worst_error(const expr::Op& op, const std::vector<Array>& operands, const expr::MapInfo::Types& types,
                   const Array& got, std::string& note) {
  double worst = 0;
  // C does not define which zero is larger, and Croton does not keep it.
  const double zero_sign = op.name == "maximum" || op.name == "minimum" ? 0 : 1e30;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    std::vector<Scalar> values;
    for (const Array& operand : operands) values.push_back(scalar_at(operand, i));
    const Scalar wanted = reference(op, values, types), result = scalar_at(got, i);
    const double error = distance(result, wanted, types.result, zero_sign);
    if (error > worst) {
      worst = error;
      note = std::string(op.name) + "(";
      for (const Scalar& v : values)
        note += (is_float(v.dtype) ? Catch::Detail::stringify(v.d) : std::to_string(v.i)) + ", ";
      note += ") is " + (is_float(result.dtype) ? Catch::Detail::stringify(result.d) : std::to_string(result.i)) +
              ", the reference says " +
              (is_float(wanted.dtype) ? Catch::Detail::stringify(wanted.d) : std::to_string(wanted.i));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("references of elementwise ops agree with an independent source", "[ops]") {
  std::set<std::string_view> seen = {"real",  "imag",    "conj",  // test_complex.cpp
                                     "angle", "complex", "complex_from_polar"};
  seen.insert({"philox_low", "philox_high", "unit32", "unit64", "normal32", "normal64", "random_below",
               "bits_of_double", "sample_log_gamma", "sample_poisson", "sample_binomial"});  // test_random.cpp
  for (const ExpectedUnary& row : expected_unary) {
    const std::vector<Scalar> x = {Scalar::of_double(row.x, DType::float64)};
    const double error = distance(expr::op(row.op).map->reference(x, DType::float64),
                                  Scalar::of_double(row.value, DType::float64), DType::float64);
    INFO(row.op << "(" << row.x << ") should be " << row.value);
    CHECK(error <= (std::abs(row.value) < 1e-300 ? 4 : 2));
    seen.insert(row.op);
  }
  for (const ExpectedBinary& row : expected_binary) {
    const std::vector<Scalar> xy = {Scalar::of_double(row.x, DType::float64), Scalar::of_double(row.y, DType::float64)};
    const double error = distance(expr::op(row.op).map->reference(xy, DType::float64),
                                  Scalar::of_double(row.value, DType::float64), DType::float64);
    INFO(row.op << "(" << row.x << ", " << row.y << ") should be " << row.value);
    CHECK(error <= 2);
    seen.insert(row.op);
  }
  for (const ExpectedInteger& row : expected_integer) {
    const std::vector<Scalar> xy = {Scalar::of_int(row.x, DType::int8), Scalar::of_int(row.y, DType::int8)};
    INFO(row.op << "(" << row.x << ", " << row.y << ")");
    CHECK(expr::op(row.op).map->reference(xy, DType::int8).i == row.value);
    seen.insert(row.op);
  }
  // 0.1 is 5.55e-18 above a tenth; with two roundings the difference would be 0. In float32 it is 1.49e-9.
  const auto fma_of = [](DType dtype) {
    const std::vector<Scalar> abc = {Scalar::of_double(0.1, dtype), Scalar::of_double(10, dtype),
                                     Scalar::of_double(-1, dtype)};
    return expr::op("fma").map->reference(abc, dtype).as_double();
  };
  CHECK(fma_of(DType::float64) == 5.551115123125783e-17);
  CHECK(fma_of(DType::float32) == 1.4901161193847656e-08);
  seen.insert("fma");
  // A new row of the table needs rows there too; these few define themselves.
  const std::set<std::string_view> plain = {"lt",
                                            "le",
                                            "gt",
                                            "ge",
                                            "eq",
                                            "neq",
                                            "isnan",
                                            "isinf",
                                            "invert",
                                            "where",
                                            "isfinite",
                                            "ordered_add",
                                            "signbit",
                                            "frexp_exponent",
                                            "bitwise_count",
                                            "logical_not"};
  for (const expr::Op* op : map_ops()) {
    INFO(op->name);
    CHECK((seen.contains(op->name) || plain.contains(op->name)));
  }
}

TEST_CASE("ordered_add adds in the order in which it is written", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  const auto add = [](const ct::Variable& a, const ct::Variable& b) {
    return ct::builder::apply("ordered_add", {a, b}, {}, std::source_location::current());
  };
  // In float32 1e8 + 3 is 1e8, as the next number is 8 away, and 1e8 + 6 is not.
  const ct::Variable three = ct::constant(ct::Array(3.F));
  const auto x = ct::fvector("x"), y = ct::fvector("y"), z = ct::fvector("z");
  const auto f =
      compile(mode, {x, y, z}, {add(add(x, y), z), add(x, add(y, z)), add(add(x, z), y), add(add(x, three), three)});
  const ct::Array large{1e8F, 1e8F}, small{3.F, 3.F}, back{-1e8F, -1e8F};
  const ct::Outputs sums = f(large, small, back);
  const auto first = [&](std::size_t i) { return sums[i].as_double(0); };
  CHECK(first(0) == 0);
  CHECK(first(1) == 0);
  CHECK(first(2) == 3);
  CHECK(first(3) == 1e8);
  const auto gradients = ct::grad(ct::sum(add(x, y) * z), {x, y});
  CHECK(same_bits(gradients[1].eval({{x, large}, {y, small}, {z, back}}), back));
}

TEST_CASE("comparisons, tests and logic by their definition", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  const auto x = ct::fvector("x"), y = ct::fvector("y");
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto f =
      compile(ieee + mode, {x, y},
              {x<y, x <= y, x> y, x >= y, ct::eq(x, y), ct::neq(x, y), ct::isnan(x), ct::isinf(x), ct::where(x, x, y)});
  const auto r = f(Array{1.f, nan, nan, 0.f, -inf, 2.f}, Array{1.f, nan, 1.f, -0.f, inf, 1.f});
  const bool wanted[8][6] = {{0, 0, 0, 0, 1, 0}, {1, 0, 0, 1, 1, 0}, {0, 0, 0, 0, 0, 1}, {1, 0, 0, 1, 0, 1},
                             {1, 0, 0, 1, 0, 0}, {0, 1, 1, 0, 1, 1}, {0, 1, 1, 0, 0, 0}, {0, 0, 0, 0, 1, 0}};
  for (std::size_t k = 0; k < 8; ++k) {
    for (int i = 0; i < 6; ++i) {
      INFO("output " << k << ", element " << i);
      CHECK(r[k].at<bool>(i) == wanted[k][i]);
    }
  }
  CHECK(same_bits(r[8], Array{1.f, nan, nan, -0.f, -inf, 2.f}));  // nan counts as true, as in Python
  const auto b = ct::vector("b", DType::bool_), c = ct::vector("c", DType::bool_);
  const auto g = compile(ieee + mode, {b, c}, {b & c, b | c, b ^ c, ~b});
  const auto s = g(Array{false, false, true, true}, Array{false, true, false, true});
  CHECK(s[0].equals(Array{false, false, false, true}));
  CHECK(s[1].equals(Array{false, true, true, true}));
  CHECK(s[2].equals(Array{false, true, true, false}));
  CHECK(s[3].equals(Array{true, true, false, false}));
}

TEST_CASE("every elementwise op, every dtype, awkward values", "[ops]") {
  const DType dtype = GENERATE(from_range(real_dtypes));
  CAPTURE(ct::name_of(dtype));
  constexpr std::int64_t n = 1000;
  const auto [a, b] = awkward_pairs(dtype, n);
  const Array c = Array(b).slice(0, -1, -n - 1, -1).copy(), d = Array(a).slice(0, -1, -n - 1, -1).copy();
  const std::vector<Array> values = {a, b, c, d, a};
  const std::vector<Variable> inputs = {ct::vector("a", dtype), ct::vector("b", dtype), ct::vector("c", dtype),
                                        ct::vector("d", dtype), ct::vector("e", dtype)};

  std::vector<const expr::Op*> ops;
  std::vector<Variable> outputs;
  for (const expr::Op* op : map_ops()) {
    const auto arity = static_cast<std::size_t>(op->arity);
    const std::vector<Variable> operands(inputs.begin(), inputs.begin() + op->arity);
    if (!types_of(*op, std::vector<DType>(arity, dtype))) {
      INFO(op->name);
      CHECK_THROWS_AS(croton::builder::apply(*op, operands, {}, std::source_location::current()), ct::TypeError);
      continue;
    }
    ops.push_back(op);
    outputs.push_back(croton::builder::apply(*op, operands, {}, std::source_location::current()));
    CHECK(outputs.back().dtype() == types_of(*op, std::vector<DType>(arity, dtype))->result);
  }
  REQUIRE(ops.size() >= 20);
  const std::vector<ct::In> ins(inputs.begin(), inputs.end());
  const auto run = compile(ieee + "mode=run", ins, outputs);
  const auto on_gpus = compile_for_gpus(ieee, ins, outputs);
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, n}) {
    std::vector<Array> parts;
    for (const Array& value : values) {
      const std::int64_t first = size == 3 ? 2 : 0;
      parts.push_back(value.slice(0, first, first + size).copy());
    }
    const std::vector<ct::Argument> arguments(parts.begin(), parts.end());
    const auto on_cpu = run.call(arguments);
    std::vector<ct::Outputs> gpu_results;
    for (const auto& f : on_gpus) gpu_results.push_back(f.call(arguments));
    for (std::size_t k = 0; k < ops.size(); ++k) {
      const expr::Op& op = *ops[k];
      const std::vector<Array> operands(parts.begin(), parts.begin() + op.arity);
      const auto types = *types_of(op, std::vector<DType>(operands.size(), dtype));
      REQUIRE(on_cpu[k].shape() == Sizes{size});
      std::string note;
      const double error = worst_error(op, operands, types, on_cpu[k], note);
      INFO("size " << size << ": " << note << ", " << error << " ULP");
      CHECK(error <= tolerance(op.name, types.result));
      INFO(op.name << ": the CPU and every GPU must give the same bits");
      for (const auto& on_gpu : gpu_results) CHECK(same_bits(on_cpu[k], on_gpu[k]));
    }
  }
  CHECK(run.counts().reference_kernels == 0);
  for (const auto& f : on_gpus) CHECK(f.counts().reference_kernels == 0);
}

namespace {
void check_domains(DType dtype) {
  CAPTURE(ct::name_of(dtype));
  constexpr std::int64_t n = 2000;
  const std::vector<const expr::Op*> all = map_ops();
  constexpr std::size_t group = 8;  // number of ops in one function: dozens of pointers in one loop compile slowly
  for (std::size_t first = 0; first < all.size(); first += group) {
    std::vector<ct::In> ins;
    std::vector<const expr::Op*> ops;
    std::vector<Array> operands;
    std::vector<Variable> outputs;
    for (std::size_t k = first; k < std::min(first + group, all.size()); ++k) {
      const auto arity = static_cast<std::size_t>(all[k]->arity);
      if (!types_of(*all[k], std::vector<DType>(arity, dtype))) continue;
      ops.push_back(all[k]);
      std::vector<Variable> variables;
      for (std::size_t i = 0; i < arity; ++i) {
        const expr::Domain domain = all[k]->map->domains[i];
        operands.push_back(Array::uniform(dtype, {n}, 3 + i, domain.low, domain.high));
        variables.push_back(ct::vector("", dtype));
        ins.emplace_back(variables.back());
      }
      outputs.push_back(croton::builder::apply(*all[k], variables, {}, std::source_location::current()));
    }
    const std::vector<ct::Argument> arguments(operands.begin(), operands.end());
    const auto run = compile(ieee + "mode=run", ins, outputs);
    const auto on_gpus = compile_for_gpus(ieee, ins, outputs);
    const auto on_cpu = run.call(arguments);
    std::vector<ct::Outputs> gpu_results;
    for (const auto& f : on_gpus) gpu_results.push_back(f.call(arguments));
    for (std::size_t k = 0, next = 0; k < ops.size(); ++k) {
      const std::vector<Array> own(operands.begin() + static_cast<std::ptrdiff_t>(next),
                                   operands.begin() + static_cast<std::ptrdiff_t>(next) + ops[k]->arity);
      next += own.size();
      const auto types = *types_of(*ops[k], std::vector<DType>(own.size(), dtype));
      std::string note;
      const double error = worst_error(*ops[k], own, types, on_cpu[k], note);
      INFO(note << ", " << error << " ULP");
      CHECK(error <= tolerance(ops[k]->name, types.result));
      for (const auto& on_gpu : gpu_results) CHECK(same_bits(on_cpu[k], on_gpu[k]));
    }
  }
}

}  // namespace

TEST_CASE("each function over its own domain", "[ops]") { check_domains(GENERATE(DType::float32, DType::float64)); }
TEST_CASE("each function over its own domain, in 16 bits", "[ops][slow]") {
  check_domains(GENERATE(DType::float16, DType::bfloat16));
}

TEST_CASE("operands of two dtypes", "[ops]") {
  const std::string name = GENERATE("add", "maximum", "lt", "where");
  const expr::Op& op = expr::op(name);
  constexpr std::int64_t n = 40;
  std::vector<ct::In> ins;
  std::vector<Variable> inputs, outputs;
  std::vector<Array> values;
  for (const DType dtype : real_dtypes) {
    inputs.push_back(ct::vector(std::string(ct::name_of(dtype)), dtype));
    ins.emplace_back(inputs.back());
    // Values that every dtype has, and for integers their extremes.
    values.push_back(awkward_pairs(dtype, n).first);
  }
  const std::vector<ct::Argument> arguments(values.begin(), values.end());
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      pairs.emplace_back(i, j);
      std::vector<Variable> operands = {inputs[i], inputs[j]};
      if (op.arity == 3) operands.insert(operands.begin(), inputs[(i + j) % inputs.size()]);
      outputs.push_back(croton::builder::apply(op, operands, {}, std::source_location::current()));
      if (name != "lt") CHECK(outputs.back().dtype() == ct::promote(real_dtypes[i], real_dtypes[j]));
    }
  }
  const auto run = compile(ieee + "mode=run", ins, outputs);
  const auto on_gpus = compile_for_gpus(ieee, ins, outputs);
  const auto on_cpu = run.call(arguments);
  std::vector<ct::Outputs> gpu_results;
  for (const auto& f : on_gpus) gpu_results.push_back(f.call(arguments));
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto [i, j] = pairs[k];
    std::vector<Array> operands = {values[i], values[j]};
    if (op.arity == 3) operands.insert(operands.begin(), values[(i + j) % inputs.size()]);
    std::vector<DType> dtypes;
    for (const Array& operand : operands) dtypes.push_back(operand.dtype());
    std::string note;
    const double error = worst_error(op, operands, op.map->types(dtypes), on_cpu[k], note);
    INFO(ct::name_of(real_dtypes[i]) << " with " << ct::name_of(real_dtypes[j]) << ": " << note);
    CHECK(error == 0);
    for (const auto& on_gpu : gpu_results) CHECK(same_bits(on_cpu[k], on_gpu[k]));
  }
}

TEST_CASE("casts between all dtypes truncate, saturate and round once", "[ops]") {
  constexpr std::int64_t n = 200;
  const DType from = GENERATE(from_range(real_dtypes));
  const auto x = ct::vector("x", from);
  std::vector<Variable> outputs;
  for (const DType to : real_dtypes) outputs.push_back(ct::cast(x, to));
  const Array values = awkward_pairs(from, n, -300, 300).first;
  const auto on_cpu = compile(ieee + "mode=run", {x}, outputs)(values);
  std::vector<ct::Outputs> gpu_results;
  for (const auto& f : compile_for_gpus(ieee, {x}, outputs)) gpu_results.push_back(f(values));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    INFO(ct::name_of(from) << " to " << ct::name_of(real_dtypes[k]));
    CHECK(same_bits(on_cpu[k], values.astype(real_dtypes[k])));
    for (const auto& on_gpu : gpu_results) CHECK(same_bits(on_cpu[k], on_gpu[k]));
  }
}

TEST_CASE("casts of a few numbers by hand", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto x = ct::dvector("x");
  const auto f = compile(
      mode, {x},
      {ct::cast(x, DType::int8), ct::cast(x, DType::uint8), ct::cast(x, DType::bool_), ct::cast(x, DType::float16)});
  const auto r = f(Array{1.9, -1.9, 300.0, -300.0, std::nan(""), 0.1});
  CHECK(r[0].equals(exactly({1, -1, 127, -128, 0, 0}, DType::int8)));
  CHECK(r[1].equals(exactly({1, 0, 255, 0, 0, 0}, DType::uint8)));
  CHECK(r[2].equals(Array{true, true, true, true, true, true}));
  CHECK(r[3].as_double(5) == 0.0999755859375);
  const auto i = ct::ivector("i");
  const auto g = compile(mode, {i}, {ct::cast(i, DType::int8)});
  CHECK(g(Array{300, -129})[0].equals(exactly({44, 127}, DType::int8)));  // integers wrap
}

TEST_CASE("every 16-bit float converts exactly, and numbers next to the midpoint of two round once", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  CAPTURE(mode, ct::name_of(dtype));
  std::vector<std::uint16_t> bits(0x10000);
  std::iota(bits.begin(), bits.end(), std::uint16_t{0});
  const Array narrow = Array::view_of(bits.data(), dtype, {0x10000}), exact = narrow.astype(DType::float64);
  const double above = dtype == DType::float16 ? 0x1p16 : 0x1p128;  // of the largest number
  std::vector<double> numbers = {0., -0., 5e-324, -5e-324, 1e300, -1e300, std::nan("")};
  for (std::int64_t i = 0; i < 0x8000; ++i) {
    const double next = std::isinf(exact.as_double(i + 1)) ? above : exact.as_double(i + 1);
    const double middle = (exact.as_double(i) + next) / 2;
    if (!std::isfinite(middle)) break;
    for (const double x : {middle, std::nextafter(middle, 0.), std::nextafter(middle, above),
                           static_cast<double>(std::nextafter(static_cast<float>(middle), 0.f)),
                           static_cast<double>(std::nextafter(static_cast<float>(middle), static_cast<float>(above)))})
      numbers.insert(numbers.end(), {x, -x});
  }
  for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += 65521)  // float32 of all kinds
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  const Array doubles(numbers), floats = doubles.astype(DType::float32);
  const auto x = ct::vector("x", dtype), f = ct::fvector("f"), d = ct::dvector("d");
  const auto r = compile(ieee + mode, {x, f, d},
                         {ct::cast(x, DType::float32), -x, ct::cast(f, dtype), ct::cast(d, dtype),
                          ct::cast(ct::cast(d, dtype), DType::float64)})(narrow, floats, doubles);
  std::vector<std::uint16_t> negative = bits;
  for (std::uint16_t& word : negative) word ^= 0x8000;
  const Array from_doubles = doubles.astype(dtype);
  CHECK(same_bits(r[0], narrow.astype(DType::float32)));
  CHECK(same_bits(r[1], Array::view_of(negative.data(), dtype, {0x10000})));
  CHECK(same_bits(r[2], floats.astype(dtype)));
  CHECK(same_bits(r[3], from_doubles));
  CHECK(same_bits(r[4], from_doubles.astype(DType::float64)));
  for (const std::size_t k : {1, 2, 3}) {  // NaN has one pattern in 16 bits, on every device
    const std::span words(static_cast<const std::uint16_t*>(r[k].raw()), static_cast<std::size_t>(r[k].size()));
    const int infinity = dtype == DType::float16 ? 0x7c00 : 0x7f80;
    CHECK(std::ranges::all_of(words, [&](std::uint16_t w) { return (w & 0x7fff) <= infinity || w == 0x7fff; }));
  }
}

TEST_CASE("0-d arrays", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto x = ct::scalar("x"), y = ct::scalar("y", DType::int8);
  const auto f = compile(mode, {x, y}, {x * 2 + y, ct::exp(x), x < y});
  const auto r = f(Array(1.5f), Array(std::int8_t{3}));
  CHECK(r[0].equals(Array(6.f)));
  CHECK(r[1].all_close(Array(4.4816891f), 1e-6));
  CHECK(r[2].equals(Array(true)));
}

TEST_CASE("rows, columns and scalars broadcast", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto [rows, columns] =
      GENERATE(table<std::int64_t, std::int64_t>({{3, 5}, {1, 1}, {0, 4}, {4, 0}, {33, 1025}, {1, 7}, {7, 1}}));
  CAPTURE(mode, rows, columns);
  const auto m = ct::matrix("m"), r = ct::row("r"), c = ct::col("c"), s = ct::scalar("s"), v = ct::vector("v");
  const auto f = compile(mode, {m, r, c, s, v},
                         {m - r, m - c, m - s, r * c, ct::where(c > r, m, s), m + v, v - c,
                          ct::dimshuffle(v, {ct::broadcast_axis, 0}) + c});
  const Array a = Array::uniform(DType::float32, {rows, columns}, 1, -1),
              b = Array::uniform(DType::float32, {1, columns}, 2, -1),
              d = Array::uniform(DType::float32, {rows, 1}, 3, -1),
              w = Array::uniform(DType::float32, {columns}, 4, -1);
  const auto got = f(a, b, d, Array(0.25f), w);
  bool right = true;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float x = a.at<float>(i, j), y = b.at<float>(0, j), z = d.at<float>(i, 0), u = w.at<float>(j);
      const float wanted[] = {x - y, x - z, x - 0.25f, y * z, z > y ? x : 0.25f, x + u, u - z, u + z};
      for (std::size_t k = 0; k < 8; ++k) right = right && got[k].at<float>(i, j) == wanted[k];
    }
  }
  CHECK(right);
  for (std::size_t k = 0; k < 8; ++k) CHECK(got[k].shape() == Sizes{rows, columns});
}

TEST_CASE("unknown sizes do not broadcast", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto f = compile(mode, {x, y}, {x + y});
  CHECK_THROWS_AS(f(Array::zeros(DType::float32, {3, 1}), Array::zeros(DType::float32, {3, 4})), ct::ShapeError);
  CHECK_THROWS_AS(f(Array::zeros(DType::float32, {1, 4}), Array::zeros(DType::float32, {3, 4})), ct::ShapeError);
  CHECK(f(Array::zeros(DType::float32, {1, 4}), Array::zeros(DType::float32, {1, 4}))[0].shape() == Sizes{1, 4});
  const auto r = ct::row("r");
  const auto g = compile(mode, {r}, {r + 1});
  CHECK_THROWS_AS(g(Array::zeros(DType::float32, {2, 4})), ct::ShapeError);
}

TEST_CASE("inputs in every memory layout", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::int8, DType::float16, DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const auto x = ct::matrix("x", dtype), y = ct::matrix("y", dtype);
  const auto f = compile(mode, {x, y}, {x + y * 2, ct::maximum(x, y), ct::transpose(x) - ct::transpose(y), x});
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{5, 37}, {1, 64}, {19, 1}, {0, 3}, {2, 0}}) {
    const Array a = Array::uniform(dtype, {rows, columns}, 1, -50, 50),
                b = Array::uniform(dtype, {rows, columns}, 2, -50, 50);
    const auto wanted = f(a, b);
    for (const Layout& left : layouts_of(a)) {
      REQUIRE(left.array.equals(a));
      for (const Layout& right : layouts_of(b)) {
        if (left.name != "C order" && right.name != "C order" && left.name != right.name) continue;
        INFO(rows << " x " << columns << ": " << left.name << " with " << right.name);
        const auto got = f(left.array, right.array);
        for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(same_bits(got[k], wanted[k]));
      }
    }
    // The layouts agree, and C order is right.
    bool right = true;
    for (std::int64_t i = 0; i < a.size(); ++i) {
      const double p = a.as_double(i), q = b.as_double(i);
      right = right && wanted[1].as_double(i) == std::max(p, q) && wanted[3].as_double(i) == p;
      if (dtype == DType::float64) right = right && wanted[0].as_double(i) == p + 2 * q;
    }
    CHECK(right);
    CHECK(wanted[2].shape() == Sizes{columns, rows});
  }
}

TEST_CASE("a broadcast array of stride 0 and a long vector", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  const auto x = ct::matrix("x");
  const auto f = compile(mode, {x}, {x * 3});
  float one = 7;
  const Array everywhere = Array::view_of(&one, DType::float32, {100, 50}, {0, 0});
  CHECK(same_bits(f(everywhere)[0], Array::full(DType::float32, {100, 50}, 21)));
  const auto v = ct::vector("v");
  const auto g = compile(mode, {v}, {ct::sqrt(v * v + 1)});
  const Array values = Array::uniform(DType::float32, {100003}, 5, -9, 9);
  const Array got = g(values)[0];
  bool right = true;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const float value = values.at<float>(i);
    right = right && (got.at<float>(i) == std::sqrt(value * value + 1) ||
                      got.at<float>(i) == std::sqrt(std::fma(value, value, 1.f)));
  }
  CHECK(right);
}

TEST_CASE("a fused chain gives the bits of its parts", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  const auto x = ct::vector("x", dtype);
  // Casts are never removed: rounding to 16 bits between the steps occurs exactly where the graph has it.
  const auto rounded = ct::cast(ct::cast(ct::cast(x, DType::float32) * 1.1, dtype), DType::float32) - 1;
  const auto f = compile(mode, {x}, {rounded});
  const Array values = Array::uniform(dtype, {500}, 3, -4, 4);
  const Array wide = values.astype(DType::float32);
  const Array got = f(values)[0];
  bool right = true;
  for (std::int64_t i = 0; i < 500; ++i) {
    const double product = static_cast<float>(wide.at<float>(i) * 1.1f);
    right = right && got.at<float>(i) == static_cast<float>(Scalar::of_double(product, dtype).d - 1);
  }
  CHECK(right);
}
