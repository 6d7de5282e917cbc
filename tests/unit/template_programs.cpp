#include "template_programs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "codegen/embedded.hpp"
#include "runtime/simulator/kernels.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;

namespace croton::test {
namespace {

Array numbers(ct::Sizes shape, double low = -1, double high = 1) {
  return Array::uniform(DType::float32, std::move(shape), 7, low, high);
}

Program program(const ct::Function& function, std::vector<Array> inputs) {
  return [function, inputs] {
    std::vector<Array> results;
    for (const Array& input : inputs) {
      const auto all = function(input);
      for (std::size_t i = 0; i < all.size(); ++i) results.push_back(all[i]);
    }
    return results;
  };
}

Array with_special_rows(Array m) {
  for (std::int64_t j = 0; j < m.shape(1); ++j) {
    m.at<float>(1, j) = -5.0f - static_cast<float>((j + 3) % 7);
    m.at<float>(2, j) = 5.0f + static_cast<float>((j + 2) % 5);
    m.at<float>(3, j) = 0.0f;
  }
  m.at<float>(4, 17) = m.at<float>(4, 5) = std::numeric_limits<float>::quiet_NaN();
  return m;
}

// All lanes of a warp need its reduced value.
Program everywhere(const ct::Variable& of_rows, const ct::Variable& m, const Array& input) {
  const auto column = ct::transpose(ct::transpose(m) + ct::cast(of_rows, DType::float32));
  return program(ct::function({m}, {of_rows, column}), {input});
}

Program everywhere(DType dtype, const std::function<ct::Variable(const ct::Variable&)>& reduce, double scale = 100) {
  const auto z = ct::variable({dtype, {ct::unknown_size, ct::unknown_size}}, "z");
  const auto of_rows = reduce(z);
  const Array values = Array::uniform(DType::float64, {9, 40}, 7, 0.05, scale).astype(dtype);
  return program(ct::function({z}, {of_rows, ct::transpose(ct::transpose(z) + of_rows)}), {values});
}

}  // namespace

std::vector<Program> pointwise_programs() {
  const auto v = ct::vector("v");
  const auto m = ct::matrix("m");
  std::vector<Program> programs;
  // One line or several, long ones and some that several threads of a block share, of packs and of elements; several
  // packs of a thread next to each other and below each other.
  for (const char* schedule : {"", "threads=64+vector=2+items=2", "threads=96+vector=1+items=4"}) {
    const ct::change_flags flags(std::string("schedule=") + schedule);
    programs.push_back(program(ct::function({v}, v * 2 + 1), {numbers({1500}), numbers({3})}));
    programs.push_back(program(ct::function({m}, m * m.at({0}) + 1),
                               {numbers({9, 700}), numbers({37, 5}), numbers({50, 64}), numbers({200, 16})}));
    programs.push_back(
        program(ct::function({m}, ct::concatenate({m, m + 1}, 1)), {numbers({5, 44}), numbers({5, 70})}));
  }
  return programs;
}

// Tiles within a matrix and at its edges, several of them along each axis; packs on both sides, on one, on none.
std::vector<Program> tile_programs() {
  const auto m = ct::matrix("m");
  const auto t = ct::tensor3("t");
  const auto turned = ct::function({m}, ct::transpose(m) + 1);
  return {program(turned, {numbers({70, 97})}),
          program(turned, {numbers({150, 130}), numbers({64, 96}), numbers({97, 65})}),
          program(ct::function({t}, ct::transpose(t, {0, 2, 1}) * 2), {numbers({2, 75, 66})})};
}

std::vector<Program> row_programs() {
  const auto m = ct::matrix("m");
  const Array wide = with_special_rows(numbers({20, 2500})), narrow = with_special_rows(numbers({70, 25}));
  const auto b = m > 0.999f;
  const auto largest = [](const ct::Variable& z) { return ct::max(z, 1); };
  const auto smallest = [](const ct::Variable& z) { return ct::min(z, 1); };
  return {program(ct::function({m}, ct::sum(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::argmax(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::nnet::softmax(m)), {narrow, numbers({9, 1100})}),
          program(ct::function({m}, ct::max(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::min(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::argmin(m, 1)), {wide, narrow}),
          program(ct::function({m}, ct::prod(m, 1)), {narrow}),
          program(ct::function({m}, ct::any(b, 1)), {wide, narrow}),
          program(ct::function({m}, ct::all(m > -0.995f, 1)), {wide, narrow}),
          everywhere(ct::argmax(m, 1), m, narrow),
          everywhere(ct::any(b, 1), m, wide),
          everywhere(
              DType::bool_, [](const ct::Variable& z) { return ct::all(z, 1); }, 1.06),
          everywhere(DType::int8, largest),
          everywhere(DType::int16, smallest),
          everywhere(DType::uint8, largest),
          everywhere(DType::uint16, smallest),
          everywhere(DType::complex64, [](const ct::Variable& z) { return ct::sum(z * ct::complex(0.5f, 1.0f), 1); }),
          everywhere(DType::float32, [](const ct::Variable& z) { return ct::cast(ct::argmin(z, 1), DType::float32); })};
}

std::vector<Program> column_programs() {
  const auto m = ct::matrix("m");
  const Array tall = numbers({300, 700});
  const auto t = ct::tensor3("t");
  return {program(ct::function({m}, ct::sum(m, 0)), {tall, numbers({3, 70}), numbers({0, 70})}),
          program(ct::function({t}, ct::sum(t, 1)), {numbers({11, 70, 13})}),
          program(ct::function({m}, ct::argmin(m, 0)), {tall}),
          program(ct::function({m}, m - ct::max(m, 0)), {numbers({130, 70})}),
          program(ct::function({m}, ct::transpose(ct::nnet::softmax(ct::transpose(m)))), {numbers({140, 70})})};
}

std::vector<Program> split_programs() {
  const auto v = ct::vector("v"), w = ct::vector("w");
  const auto m = ct::matrix("m");
  const auto every = ct::slice({}, {}, 2);
  const Array longer = numbers({40'000}), several = numbers({300'000});
  return {program(ct::function({v}, ct::sum(v)), {longer, numbers({5}), several}),
          program(ct::function({v}, ct::argmax(v)), {longer}), program(ct::function({v}, ct::max(v)), {longer}),
          program(ct::function({w}, {ct::sum(w), ct::argmin(w), w * 2.0f}), {longer}),
          program(ct::function({m}, ct::sum(m.at({every, every}))), {numbers({402, 300})})};
}

std::vector<Program> meeting_programs() {
  const ct::change_flags flags("schedule=part=2048");
  const auto m = ct::matrix("m");
  // Two reductions of each row, by several blocks.
  return {program(ct::function({m}, ct::nnet::softmax(m, 1)), {numbers({3, 20'000})}),
          program(ct::function({m}, {m - ct::max(m, ct::ReduceOptions(std::vector<int>{1}, true)), ct::argmax(m, 1)}),
                  {numbers({2, 30'001})})};
}

std::vector<Program> group_programs() {
  auto a = ct::shared(numbers({88, 512})), b = ct::shared(numbers({100})), c = ct::shared(numbers({9000})),
       d = ct::shared(numbers({30, 50}));
  const auto e = ct::shared(numbers({50, 30}));
  const auto x = ct::scalar("x");
  const ct::Function step = ct::function({x}, ct::OutputList{std::vector<ct::Out>{}},
                                         {.updates = {{a, a * x}, {b, b + x}, {c, c * x}, {d, d + ct::transpose(e)}}});
  return {[=]() mutable {
    a.set_value(numbers({88, 512}));
    b.set_value(numbers({100}));
    c.set_value(numbers({9000}));
    d.set_value(numbers({30, 50}));
    step(Array(2.5f));
    return std::vector<Array>{a.get_value().copy(), b.get_value().copy(), c.get_value().copy(), d.get_value().copy()};
  }};
}

std::vector<Program> contract_programs() {
  const auto x = ct::matrix("x");
  const auto windows = [&](std::int64_t length) {
    return ct::function({x}, ct::nnet::conv1d(ct::expand_dims(x, 1), numbers({5, 1, length})));
  };
  return {program(windows(40), {numbers({6, 90})}), program(windows(9), {numbers({20, 40})})};
}

std::vector<Program> in_place_programs() {
  const auto m = ct::matrix("m");
  auto v = ct::shared(numbers({70}));
  const ct::Function step = ct::function({m}, ct::OutputList{std::vector<ct::Out>{}},
                                         {.updates = {{v, ct::sum(ct::tanh(m * ct::expand_dims(v, 1)), 1)}}});
  const auto of_size = [=](std::int64_t rows, std::int64_t length) -> Program {
    return [=]() mutable {
      v.set_value(numbers({rows}));
      step(numbers({rows, length}));
      return std::vector<Array>{v.get_value().copy()};
    };
  };
  // Rows of a warp, and of a block of several warps.
  return {of_size(70, 50), of_size(3, 1500)};
}

std::vector<Program> in_place_warp_programs() {
  const auto t = ct::tensor3("t");
  auto v = ct::shared(numbers({70}));
  // Two inner axes that cannot be merged, with a value that depends on the position, so that there are no packs.
  const auto turned = ct::transpose(t, {0, 2, 1}) * ct::expand_dims(ct::expand_dims(v, 1), 2) +
                      ct::cast(ct::arange(t.shape(1)), DType::float32);
  const ct::Function step = ct::function({t}, ct::OutputList{std::vector<ct::Out>{}},
                                         {.updates = {{v, ct::sum(ct::tanh(turned), std::vector<int>{1, 2})}}});
  return {[=]() mutable {
    v.set_value(numbers({70}));
    step(numbers({70, 5, 9}));
    return std::vector<Array>{v.get_value().copy()};
  }};
}

std::vector<Program> warp_row_programs() {
  const auto t = ct::tensor3("t");
  // As in in_place_warp_programs(): no packs.
  const auto turned = ct::transpose(t, {0, 2, 1}) + ct::cast(ct::arange(t.shape(1)), DType::float32) / 1000;
  const std::vector<int> axes{1, 2};
  const std::vector<Array> inputs{numbers({70, 5, 9}), numbers({9, 40, 60}), numbers({2, 1, 1})};
  return {program(ct::function({t}, ct::sum(turned, axes)), inputs),
          program(ct::function({t}, ct::max(turned, axes)), inputs),
          program(ct::function({t}, ct::any(turned > 0.99f, axes)), inputs),
          program(ct::function({t}, turned - ct::min(turned, ct::ReduceOptions(axes, true))), inputs)};
}

std::vector<Program> split_column_programs() {
  const auto m = ct::matrix("m");
  return {program(ct::function({m}, {ct::sum(m, 0), ct::max(m * 2.0f, 0)}), {numbers({300, 70})})};
}

std::vector<Program> inner_outer_programs() {
  const ct::change_flags flags("schedule=kernels=2");
  const auto m = ct::matrix("m");
  // One reduction of each row, by several warps: the next row's states take the place of this row's.
  return {program(ct::function({m}, {m - ct::expand_dims(ct::max(m, 1), 1), ct::sum(m, 0)}), {numbers({20, 1500})})};
}

namespace {

ct::Variable repeated(const ct::Variable& first, std::int64_t steps,
                      const std::function<ct::Variable(const ct::Variable&)>& f) {
  return ct::scan([&](const std::vector<ct::Variable>& in) { return ct::Step(f(in[0])); }, {}, {first}, {},
                  {.n_steps = steps})
      .outputs[0];
}

// With flags during its calls.
Program under(const std::string& flags, const Program& program) {
  return [=] {
    const ct::change_flags scope(flags);
    return program();
  };
}

}  // namespace

std::vector<Program> loop_programs() {
  const auto a = ct::matrix("a"), x = ct::matrix("x");
  const auto powers = ct::function({a, x}, repeated(x, 3, [&](const ct::Variable& h) {
                                     const ct::Variable next = ct::dot(a, h);
                                     return next / ct::sqrt(ct::sum(ct::sqr(next)));
                                   }));
  const auto until = ct::function({a, x}, ct::scan(
                                              [&](const std::vector<ct::Variable>& in) {
                                                const ct::Variable next = ct::dot(a, in[0]) * 0.2f;
                                                return ct::until({next}, ct::max(next) < 0.1f);
                                              },
                                              {}, {x}, {}, {.n_steps = 6})
                                              .outputs[0]);
  // Warps read what others have written in the step before.
  const auto turned =
      ct::function({x}, repeated(x, 4, [](const ct::Variable& h) { return ct::transpose(ct::nnet::softmax(h, 1)); }));
  // A step is one kernel, which writes the condition as soon as the step begins.
  const auto v = ct::vector("v");
  const auto halved = ct::function({v}, ct::scan(
                                            [](const std::vector<ct::Variable>& in) {
                                              const ct::Variable next = in[0] * 0.5f;
                                              return ct::until({next}, ct::max(next) < 0.1f);
                                            },
                                            {}, {v}, {}, {.n_steps = 6})
                                            .outputs[0]);
  const auto call = [](const ct::Function& f, const std::vector<Array>& values) -> Program {
    return [=] {
      const std::vector<ct::Argument> arguments(values.begin(), values.end());
      std::vector<Array> results;
      for (const Array& result : f.call(arguments)) results.push_back(result);
      return results;
    };
  };
  const std::vector<Array> square = {numbers({70, 70}), numbers({70, 50})};
  const std::string grid = "schedule=threads=64+blocks=8+meeting=1",
                    block = "schedule=threads=64+blocks=8+meeting=1000000";
  return {under(grid, call(powers, square)),
          under(block, call(powers, square)),
          under(grid, call(until, square)),
          under(block, call(until, square)),
          under(block, call(turned, {numbers({70, 70})})),
          under(block, call(halved, {numbers({50})}))};
}

std::vector<Program> joined(std::vector<Program> first, const std::vector<Program>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

// ---- Running them

std::vector<std::vector<Array>> results_of(const std::vector<Program>& programs) {
  std::vector<std::vector<Array>> all;
  for (const Program& program : programs) all.push_back(program());
  return all;
}

static bool same(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return x.same_bits(y); });
}

Fate fate_of(const std::vector<Program>& programs, const std::vector<std::vector<Array>>& right, std::string* report) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    try {
      if (!same(programs[i](), right[i])) return Fate::different;
    } catch (const croton::Error& error) {
      if (report != nullptr) *report = error.what();
      return Fate::reported;
    } catch (const croton::InternalError& error) {
      if (std::string(error.what()).find("does not compile") == std::string::npos) throw;
      return Fate::does_not_compile;
    }
  }
  return Fate::survived;
}

std::string template_text(std::string_view file) {
  for (const auto& embedded : croton::codegen::embedded_files()) {
    if (embedded.path == file) return std::string(embedded.text);
  }
  throw InternalError("there is no template " + std::string(file));
}

std::string replaced(std::string unit, const std::string& from, const std::string& to) {
  const std::size_t at = unit.find(from);
  return at == std::string::npos ? unit : unit.replace(at, from.size(), to);
}

RestoredTexts::~RestoredTexts() { croton::runtime::simulator::change_texts({}); }

}  // namespace croton::test
