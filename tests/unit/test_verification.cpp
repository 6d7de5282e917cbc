// mode=verify: its results for correct functions, and the rule or kernel that it names if one is wrong.
#include <croton/croton.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "contains.hpp"
#include "rewrite/pipeline.hpp"
#include "runtime/simulator/kernels.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;

namespace {

template <class... A>
std::string message(const ct::Function& f, const A&... arguments) {
  try {
    f(arguments...);
  } catch (const ct::VerificationError& error) {
    return error.what();
  }
  return "nothing was raised";
}

/// A wrong rule during its lifetime.
struct Planted {
  explicit Planted(std::span<const croton::rewrite::Rule> rules) { croton::rewrite::plant_rules(rules); }
  ~Planted() { croton::rewrite::plant_rules({}); }
};

/// The file that the message names.
std::string program_of(const std::string& text) {
  const std::string mark = "minimal program: ";
  const std::size_t at = text.find(mark);
  REQUIRE(at != std::string::npos);
  std::ifstream in(text.substr(at + mark.size()));
  REQUIRE(in);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

/// The text of the graph in a program.
std::string graph_in(const std::string& program) {
  const std::size_t first = program.find("R\"graph(\n") + 9;
  return program.substr(first, program.find(")graph\"") - first);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

Array numbers(ct::Sizes shape, DType dtype = DType::float32, double low = -2, double high = 2) {
  return Array::uniform(dtype, std::move(shape), 7, low, high);
}

}  // namespace

TEST_CASE("a verified call says how large the errors are") {
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::matrix("x");
  const auto y = ct::tanh(x) * 3.f + ct::exp(x);
  const auto f = ct::function({x}, std::vector<ct::Variable>{y, ct::sum(y)});
  CHECK(f.verification().outputs.empty());
  f(numbers({5, 7}));
  const ct::Verification found = f.verification();
  REQUIRE(found.outputs.size() == 2);
  for (const ct::OutputCheck& output : found.outputs) {
    CHECK(output.dtype == DType::float32);
    CHECK(output.fused_ulp >= 0);
    CHECK(output.fused_ulp <= output.allowed_ulp);
    CHECK(output.unfused_ulp < 100);
    CHECK(std::abs(output.fused - output.exact) <= 1e-4);
  }
  CHECK(found.outputs[0].shape == ct::Sizes{5, 7});
  CHECK(found.outputs[0].index.size() == 2);
  CHECK_THAT(found.to_string(), contains("output 0 (test_verification.cpp:"));
}

TEST_CASE("shared variables are updated once") {
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::matrix("x");
  auto w = ct::shared(numbers({4, 4}), {.name = "w"});
  auto n = ct::shared(Array(std::int64_t{0}), {.name = "n"});
  const auto value = w - 0.1f * ct::dot(x, w);
  const auto f = ct::function({x}, ct::sum(w), {.updates = {{w, value}, {n, n + 1}}});
  const Array before = w.get_value(), X = numbers({4, 4});
  f(X);
  CHECK(n.get_value().item<int>() == 1);
  const Array once = w.get_value();
  w.set_value(before);
  {
    const ct::change_flags plain{"mode=run"};
    ct::function({x}, ct::OutputList{}, {.updates = {{w, value}}})(X);
  }
  CHECK(w.get_value().same_bits(once));
  CHECK_THAT(f.verification().outputs[1].name, contains("update of w"));
}

TEST_CASE("a wrong rule is named, and cut down to a program that shows it") {
  static const std::array<croton::rewrite::Rule, 1> wrong{
      {{.name = "tanh-is-sigmoid", .text = "tanh(x) => sigmoid(x)", .reason = "wrong"}}};
  const Planted planted(wrong);
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  auto w = ct::shared(numbers({6, 5}), {.name = "w"});
  auto n = ct::shared(Array(0.f), {.name = "n"});
  const auto h = ct::tanh(ct::dot(x, w) * 2.f);
  const auto f =
      ct::function({x, y}, ct::sum(ct::exp(h) + y), {.updates = {{w, w * 0.5f}, {n, n + 1.f}}, .name = "step"});
  const Array before = w.get_value();
  const std::string text = message(f, numbers({9, 6}), numbers({9, 5}));
  CHECK_THAT(text,
             contains("step: output 0 (") && contains(" is exact") &&
                 contains("at fault: the rewrite rule \"tanh-is-sigmoid\" (tanh(x) => sigmoid(x); group planted)"));
  CHECK(w.get_value().same_bits(before));
  CHECK(n.get_value().item<double>() == 0);

  const std::string program = program_of(text);
  CHECK_THAT(program, contains("#include <croton/croton.hpp>") && contains("mode=verify"));
  // The result is one tanh of one element.
  const std::string graph = graph_in(program);
  CHECK_THAT(graph, contains("tanh("));
  CHECK_THAT(graph, !contains("dot(") && !contains("exp(") && !contains("sum("));
  CHECK_THAT(program, contains(".reshape({1, 1})"));
  const auto again = ct::function_of_graph(graph);
  CHECK_THAT(message(again, numbers({1, 1})), contains("tanh-is-sigmoid"));
}

TEST_CASE("rules that are wrong only together are named together") {
  static const std::array<croton::rewrite::Rule, 2> wrong{
      {{.name = "sin-wrong", .text = "sin(x) => cos(x)", .reason = "wrong"},
       {.name = "tanh-wrong", .text = "tanh(x) => sigmoid(x)", .reason = "wrong"}}};
  const Planted planted(wrong);
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::vector("x");
  const auto f = ct::function({x}, ct::sin(x) + ct::tanh(x));
  CHECK_THAT(message(f, numbers({3})), contains("at fault: together, the rewrite rules") && contains("\"sin-wrong\"") &&
                                           contains("\"tanh-wrong\""));
}

TEST_CASE("a kernel with a wrong text is named") {
  const ct::change_flags flags{"mode=verify,cuda_simulator=1,device=cuda0"};
  struct Restore {
    ~Restore() { croton::runtime::simulator::change_texts({}); }
  } restore;
  croton::runtime::simulator::change_texts(
      [](std::string unit) { return replaced(std::move(unit), "ct::tanh(", "ct::sin("); });
  const auto x = ct::matrix("x");
  auto w = ct::shared(numbers({6, 5}), {.name = "w"});
  const auto y = ct::tanh(x);
  const auto f = ct::function({x}, ct::sum(ct::dot(ct::exp(y), w)), {.updates = {{w, w * 0.5f}}});
  const Array before = w.get_value();
  const std::string text = message(f, numbers({9, 6}));
  CHECK_THAT(text, contains("at fault: the compiled code of the kernel") && contains("= tanh(") &&
                       contains("from test_verification.cpp:"));
  CHECK(w.get_value().same_bits(before));
  const std::string program = program_of(text);
  CHECK_THAT(program, contains("device=cuda0,cuda_simulator=1"));
  CHECK_THAT(message(ct::function_of_graph(graph_in(program)), numbers({1, 1})), contains("compiled code"));
}

TEST_CASE("right functions of all kinds are found right") {
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::matrix("x"), z = ct::matrix("z");
  const auto y = ct::ivector("y");
  const Array X = numbers({6, 5}), Z = numbers({5, 4});
  const auto right = [&](const ct::Variable& value, DType dtype = DType::float32) {
    const auto f = ct::function({x, z, y}, value, {.on_unused_input = ct::UnusedInput::ignore});
    CHECK(message(f, X, Z, Array{0, 3, 2, 1, 3, 0}) == "nothing was raised");
    CHECK(f.verification().outputs.at(0).dtype == dtype);
  };
  right(ct::nnet::softmax(x));
  right(ct::mean(ct::nnet::categorical_crossentropy(ct::nnet::softmax(ct::dot(x, z)), y)));
  right(ct::grad(ct::mean(ct::nnet::categorical_crossentropy(ct::nnet::softmax(ct::dot(x, z)), y)), z));
  right((x - ct::mean(x)) / ct::std(x));
  right(ct::cumsum(x, 1));
  right(ct::argmax(x, 1), DType::int64);
  right(x < 0.5f, DType::bool_);
  right(ct::where(x < 0.f, x * 2.f, ct::exp(x)));
  right(ct::floor(x * 3.f));
  right(ct::cast(x * 100.f, DType::int32) % 7, DType::int32);
  right(ct::prod(x, 0));
  right(ct::max(x, 1));
  right(ct::sort(x, 1));
  right(x[ct::slice(1, 4)].T());
  right(ct::log(ct::exp(x * 200.f)));  // beyond float32 in between; the rewritten form is not
  right(ct::log(x));                   // nan, as written
  right(ct::cast(x, DType::float16) * 3.f * ct::cast(x, DType::float16), DType::float32);
  right(ct::cast(x, DType::float64) / 3, DType::float64);
}

TEST_CASE("branches are judged by the errors inside of the body that runs") {
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::vector("x");
  const auto n = ct::scalar("n", DType::int32);
  const Array X{-8.f, 2.f, -5.f};
  for (const ct::Variable& value :
       {ct::ifelse(n > 1, ct::exp(-10.1f * x), x), ct::ifelse(n > 1, ct::exp(x * 3.f) - 1.f, x),
        ct::ifelse(n > 1, ct::take(x, ct::flatnonzero(x > 0.f)), x)}) {
    const auto f = ct::function({x, n}, value);
    for (const int branch : {2, 0}) {
      CHECK(message(f, X, Array(branch)) == "nothing was raised");
      CHECK(f.verification().outputs.at(0).allowed_ulp < 1e4);
    }
  }
}

TEST_CASE("after infinities in between the results are still judged") {
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::matrix("x");
  const double none = -std::numeric_limits<double>::infinity();
  const ct::Variable masked = ct::where(x > 0.f, x, none);
  const Array X = Array(std::vector<float>{0.5f, -1.f, 2.f, 3.f, -2.f, 0.25f}).reshape({2, 3});
  const auto allowed = [&](const ct::Variable& value) {
    const auto f = ct::function({x}, value);
    CHECK(message(f, X) == "nothing was raised");
    return f.verification().outputs.at(0).allowed_ulp;
  };
  for (const ct::Variable& value :
       {ct::nnet::softmax(masked), ct::logsumexp(masked), ct::logaddexp(x, ct::where(x > 9.f, x, none)),
        ct::max(masked, 1) * 3.f, ct::take(masked, ct::constant(Array{0, 2}), 1)[ct::slice(0, 1)] + 1.f}) {
    INFO(value);
    CHECK(allowed(value) > 0);
    CHECK(allowed(value) < 1e4);
  }
  const auto labels = ct::imatrix("labels"), lengths = ct::ivector("lengths");
  const ct::Variable activations = ct::dimshuffle(x, {0, ct::broadcast_axis, 1});
  const auto f = ct::function({x, labels, lengths}, ct::nnet::ctc(activations, labels, lengths));
  f(X, Array{1}.reshape({1, 1}), Array{2});
  CHECK(f.verification().outputs.at(0).allowed_ulp < 1e4);
}

TEST_CASE("sums that cancel are judged by their terms") {
  const ct::change_flags flags{"mode=verify"};
  const auto x = ct::vector("x");
  const auto f = ct::function({x}, ct::sum(x));
  Array X = Array::uniform(DType::float32, {3000}, 5, -1e6, 1e6);
  CHECK(message(f, X) == "nothing was raised");
}

TEST_CASE("the printed verification") {
  const ct::change_flags flags{"mode=verify,print=verification"};
  std::stringstream stream;
  std::streambuf* before = std::cerr.rdbuf(stream.rdbuf());
  const auto x = ct::vector("x");
  ct::function({x}, ct::exp(x), {.name = "f"})(Array{1.f});
  std::cerr.rdbuf(before);
  CHECK_THAT(stream.str(), contains("---- f: verification\nlargest error in ULP of"));
}

TEST_CASE("functions of a graph that is text") {
  const auto f = ct::function_of_graph("x: f32[n] = input\nreturn add(exp(x), f32 1.0)\n");
  CHECK(f(Array{0.f, 1.f}).only().all_close(Array{2.f, 3.7182818f}));
  CHECK_THROWS_AS(ct::function_of_graph("x: f32[n] = input\nreturn expp(x)\n"), ct::ValueError);
  CHECK_THROWS_AS(ct::function_of_graph("w: f32[n] = shared\nreturn exp(w)\n"), ct::TypeError);
}
