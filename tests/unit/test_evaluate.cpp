// The reference evaluators and the invariants of graphs and kernels.
#include "catch.hpp"

#include <croton/error.hpp>

#include <cmath>

#include "expr/evaluate.hpp"
#include "expr/parse.hpp"
#include "expr/verify.hpp"
#include "kernel/evaluate.hpp"
#include "unit/contains.hpp"

using namespace croton;

TEST_CASE("a graph is evaluated: outputs, then updates", "[evaluate]") {
  const expr::Graph graph = expr::parse_graph(
      "x: f32[n] = input\n"
      "w: f32[n] = shared\n"
      "return sum(mul(x, w), axes=[0])\n"
      "update w = sub(w, x)\n");
  const std::vector<Array> results = expr::evaluate(graph, std::vector{Array{1.f, 2.f}, Array{3.f, 5.f}});
  REQUIRE(results.size() == 2);
  CHECK(results[0].item<float>() == 13);
  CHECK(results[1].equals(Array{2.f, 3.f}));
}

TEST_CASE("evaluation rounds at each node", "[evaluate]") {
  // 2048 + 1 is not a float16: the 1 is lost before 2048 is subtracted.
  const expr::Graph graph = expr::parse_graph("x: f16[n] = input\nreturn sub(add(x, f16 1), f16 2048)");
  const Array x = Array{2048.f}.astype(DType::float16);
  CHECK(expr::evaluate(graph, std::vector{x})[0].as_double(0) == 0);
}

TEST_CASE("requirements are checked", "[evaluate]") {
  const expr::Graph sizes = expr::parse_graph("x: f32[a] = input\ny: f32[b] = input\nreturn add(x, y)");
  CHECK_THROWS_AS(expr::evaluate(sizes, std::vector{Array{1.f}, Array{1.f, 2.f}}), ShapeError);
  CHECK(expr::evaluate(sizes, std::vector{Array{1.f}, Array{2.f}})[0].item<float>() == 3);
  const expr::Graph index =
      expr::parse_graph("x: f32[n] = input\ni: i64[] = input\nreturn subtensor(x, i, spec=[0, 1, 0, 1])");
  CHECK(expr::evaluate(index, std::vector{Array{1.f, 2.f}, Array(std::int64_t{-1})})[0].item<float>() == 2);
  CHECK_THROWS_AS(expr::evaluate(index, std::vector{Array{1.f, 2.f}, Array(std::int64_t{2})}), IndexError);
  CHECK_THROWS_AS(expr::evaluate(index, std::vector{Array{1.f, 2.f}, Array(std::int64_t{-3})}), IndexError);
}

TEST_CASE("inputs must fit", "[evaluate]") {
  const expr::Graph graph = expr::parse_graph("x: f32[3] = input\nreturn exp(x)");
  CHECK_THROWS_AS(expr::evaluate(graph, {}), TypeError);
  CHECK_THROWS_AS(expr::evaluate(graph, std::vector{Array{1.0, 2.0, 3.0}}), TypeError);
  CHECK_THROWS_AS(expr::evaluate(graph, std::vector{Array{1.f}}), ShapeError);
}

TEST_CASE("an op without a reference is expanded, requirements and all", "[evaluate]") {
  const expr::Graph graph =
      expr::parse_graph("z: f32[n, m] = input\nt: i32[n] = input\nreturn crossentropy_logits(z, t)");
  const Array z{{0.f, 0.f, 0.f}, {1000.f, 0.f, 0.f}};
  const Array loss = expr::evaluate(graph, std::vector{z, Array{2, 0}})[0];
  CHECK(loss.as_double(0) == Approx(std::log(3.0)));
  CHECK(loss.as_double(1) == 0);
  CHECK_THROWS_AS(expr::evaluate(graph, std::vector{z, Array{3, 0}}), IndexError);
}

TEST_CASE("a deep graph is evaluated without recursion, its nodes counted", "[evaluate]") {
  std::string text = "x: f32[n] = input\ny0 = exp(x)\n";
  constexpr int depth = 20000;
  for (int i = 1; i < depth; ++i) text += "y" + std::to_string(i) + " = neg(y" + std::to_string(i - 1) + ")\n";
  const expr::Graph graph = expr::parse_graph(text + "return y" + std::to_string(depth - 1));
  const std::uint64_t before = expr::evaluated_nodes();
  CHECK(expr::evaluate(graph, std::vector{Array{0.f}})[0].item<float>() == -1);
  CHECK(expr::evaluated_nodes() - before >= depth);
}

TEST_CASE("a message is no format string", "[evaluate]") {
  CHECK(expr::fill_message("a target of {} is not a class", 7) == "a target of 7 is not a class");
  CHECK(expr::fill_message("{:>99999999} {", 7) == "{:>99999999} {");
}

TEST_CASE("a kernel is evaluated as its loops say", "[evaluate]") {
  const kernel::Kernel softmax = kernel::parse_kernel(
      "kernel row [i0: e0, i1: e1 inner] (e0, e1, p0: f32[2]) -> (p1: f32[2], p2: i64[1])\n"
      "  x = p0[i0, i1]\n"
      "  r0 = max x\n"
      "  r1 = sum exp(sub(x, r0))\n"
      "  r2 = argmax x\n"
      "  p1[i0, i1] = true_divide(exp(sub(x, r0)), r1)\n"
      "  p2[i0] = r2\n");
  const std::vector<std::int64_t> extents{2, 3};
  const std::vector<Sizes> shapes{{2, 3}, {2}};
  const std::vector<Array> results =
      kernel::evaluate(softmax, std::vector{Array{{0.f, 0.f, 0.f}, {0.f, 1000.f, 0.f}}}, extents, shapes);
  CHECK(results[0].all_close(Array{{1 / 3.f, 1 / 3.f, 1 / 3.f}, {0.f, 1.f, 0.f}}));
  CHECK(results[1].equals(Array{std::int64_t{0}, std::int64_t{1}}));
  // An empty array has no maximum.
  CHECK_THROWS_AS(kernel::evaluate(softmax, std::vector{Array::zeros(DType::float32, {2, 0})},
                                   std::vector<std::int64_t>{2, 0}, shapes),
                  ValueError);
}

TEST_CASE("checks, guards and bounds of a kernel", "[evaluate]") {
  const kernel::Kernel gather = kernel::parse_kernel(
      "kernel pointwise [i0: e0] (e0, p0: i64[1], p1: f32[1]) -> (p2: f32[1])\n"
      "  at = p0[i0]\n"
      "  p2[i0] = p1[at]\n"
      "  check ge(at, i64 0), at, \"an index of {}\"\n");
  const auto run = [&](const kernel::Kernel& kernel, std::int64_t index) {
    return kernel::evaluate(kernel, std::vector{Array{index}, Array{5.f, 7.f}}, std::vector<std::int64_t>{1},
                            std::vector<Sizes>{{1}});
  };
  CHECK(run(gather, 1)[0].item<float>() == 7);
  CHECK_THROWS_WITH(run(gather, -1), "an index of -1");
  CHECK_THROWS_AS(run(gather, 2), IndexError);  // no check raises it, but the operand ends there
  const kernel::Kernel guarded = kernel::parse_kernel(
      "kernel pointwise [i0: e0] (e0, p0: i64[1], p1: f32[1]) -> (p2: f32[1])\n"
      "  p2[i0] = if lt(p0[i0], i64 2): p1[p0[i0]]\n");
  CHECK(run(guarded, 1)[0].item<float>() == 7);
  CHECK(run(guarded, 2)[0].item<float>() == 0);
}

TEST_CASE("a graph's promises are verified", "[verify]") {
  expr::Graph graph = expr::parse_graph("x: f32[n] = input\nw: f32[n] = shared\nreturn exp(x)\nupdate w = x");
  CHECK(expr::broken_promise(graph) == "");
  expr::Graph bad = graph;
  bad.updates[0].value = bad.arena.make("cast", {graph.inputs[0].node}, {{"dtype", DType::float64}});
  CHECK_THAT(expr::broken_promise(bad), contains("an update has its variable's type"));
  CHECK_THROWS_AS(expr::verify(bad), InternalError);
  bad = graph;
  bad.updates[0].input = 0;
  CHECK_THAT(expr::broken_promise(bad), contains("an update is of a shared input"));
  bad = graph;
  bad.outputs.push_back(static_cast<expr::NodeId>(bad.arena.size()));
  CHECK_THAT(expr::broken_promise(bad), contains("outputs and updates are nodes"));
  bad = graph;
  const expr::TypeId wrong = bad.arena.intern_type({DType::int32, {}});
  bad.outputs[0] = bad.arena.make_typed(expr::op("log"), std::vector{graph.inputs[0].node}, {}, wrong);
  CHECK_THAT(expr::broken_promise(bad), contains("a node has the type that its op's rule gives it"));
  bad = graph;
  bad.outputs[0] =
      bad.arena.make_typed(expr::op("axis"), {}, {{"k", std::int64_t{0}}}, bad.arena.intern_type({DType::int32, {}}));
  CHECK_THAT(expr::broken_promise(bad), contains("a graph does not hold axis"));
}
