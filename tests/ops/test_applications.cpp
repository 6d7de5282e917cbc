// Inspection of expressions: the application that made a variable, applying it again, and comparing two expressions.
#include <croton/croton.hpp>
#include <croton/inspect.hpp>

#include "catch.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;
using Variables = std::vector<Variable>;

TEST_CASE("the application that made a variable can be applied again") {
  const auto x = ct::matrix("x");
  CHECK_FALSE(ct::application(x));
  CHECK_FALSE(ct::application(ct::constant(1.f)));
  CHECK_FALSE(ct::application(ct::shared(Array(1.f), {.name = "w"})));
  const Variable y = ct::sum(x, 1);
  const auto made = ct::application(y, true);
  REQUIRE(made);
  CHECK(made->op == "sum");
  CHECK(made->inputs == Variables{x});
  CHECK(made->attributes.find("axes=[1]") != std::string::npos);
  CHECK_FALSE(made->body);
  CHECK(ct::application(y)->attributes.empty());
  const Variable again = ct::apply_again(*made);
  CHECK(ct::function({x}, again)(Array{{1.f, 2.f}, {3.f, 4.f}}).only().equals(Array{3.f, 7.f}));
  CHECK(ct::equal_computations({y}, {again}));
}

TEST_CASE("a loop made again computes the same and has gradients") {
  const auto x = ct::vector("x"), w = ct::scalar("w");
  const auto loop = ct::scan([&](const Variables& in) { return ct::Step(in[1] * in[2] + in[0]); }, {x},
                             {ct::OutputInfo(ct::constant(0.f))}, {w});
  const Variable last = loop.outputs[0][-1];
  Variable node = last;  // after the node that reads its last row
  while (ct::application(node)->op != "loop") node = ct::application(node)->inputs[0];
  const auto made = ct::application(node, true);
  REQUIRE(made->body);
  CHECK(made->body->inputs.size() == 3);
  CHECK(made->body->outputs.size() == 1);
  const Variable again = ct::apply_again(*made);
  CHECK(ct::equal_computations({node}, {again}));
  const auto total = [](const Variable& v) { return ct::sum(v); };
  const auto f = ct::function({x, w}, {total(node), total(again), ct::grad(total(node), w), ct::grad(total(again), w)});
  const auto r = f(Array{1.f, 2.f, 3.f}, Array(2.f));
  CHECK(r[0].equals(r[1]));
  CHECK(r[2].equals(r[3]));
  CHECK(r[2].as_double(0) != 0);
}

TEST_CASE("some applications have no text, and some texts are no applications") {
  const auto x = ct::vector("x");
  const ct::HostOp op(
      {.name = "own",
       .results = [](const Variables&) { return std::vector<ct::HostOp::Result>{{DType::float32, {}}}; },
       .compute = [](const std::vector<Array>&) { return std::vector<Array>{Array(0.f)}; }});
  CHECK(ct::application(op(x))->inputs == Variables{x});
  CHECK_THROWS_AS(ct::application(op(x), true), ct::TypeError);
  for (const char* attributes : {"axes=[9]", "axes=1", "", "axes=[1], more=2)", "x"}) {
    INFO(attributes);
    CHECK_THROWS_AS(ct::apply_again({.op = "sum", .inputs = {x}, .attributes = attributes}), ct::Error);
  }
  CHECK_THROWS_AS(ct::apply_again({.op = "no_such_op", .inputs = {x}}), ct::ValueError);
  CHECK_THROWS_AS(ct::apply_again({.op = "input", .inputs = {}}), ct::ValueError);
  CHECK_THROWS_AS(ct::apply_again({.op = "loop", .inputs = {x}}), ct::ValueError);  // without a body
  CHECK_THROWS_AS(ct::apply_again({.op = "exp", .inputs = {x}, .body = ct::LoopBody{}}), ct::ValueError);  // with one
  CHECK_THROWS_AS(ct::apply_again({.op = "loop", .inputs = {x}, .body = ct::LoopBody{}}), ct::Error);
}

TEST_CASE("equal computations, over inputs that correspond to each other") {
  const auto x = ct::vector("x"), y = ct::vector("y");
  CHECK(ct::equal_computations({ct::exp(x) + 1.f}, {ct::exp(x) + 1.f}));
  CHECK_FALSE(ct::equal_computations({ct::exp(x) + 1.f}, {ct::exp(x) + 2.f}));
  CHECK_FALSE(ct::equal_computations({ct::exp(x)}, {ct::exp(y)}));
  CHECK(ct::equal_computations({ct::exp(x)}, {ct::exp(y)}, {x}, {y}));
  CHECK_FALSE(ct::equal_computations({x}, {x, x}));
  CHECK_THROWS_AS(ct::equal_computations({x}, {y}, {x}, {}), ct::ValueError);
  CHECK(ct::constant_value(ct::constant(2.f)).equals(Array(2.f)));
  CHECK_THROWS_AS(ct::constant_value(x), ct::TypeError);
}
