// Explanations: bytes, floors, limiters and reasons by value, on a GPU that is not there and on the host.
#include <croton/croton.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "codegen/machine_constants.hpp"
#include "contains.hpp"

namespace ct = croton;

namespace {

constexpr double mega = 4096.0 * 1024 * 4;  // bytes of a float32 matrix of 4096 x 1024

double copy_seconds(double bytes) {
  const auto& gpu = ct::codegen::h200;
  return bytes / (gpu.attainable_share * gpu.copy_bytes_per_second);
}

bool has_reason(const ct::ExplainedStep& step, const std::string& part) {
  return std::ranges::any_of(step.fusion, [&](const std::string& line) { return line.find(part) != line.npos; });
}

/// The step whose first reason says that it computes this op.
const ct::ExplainedStep& step_of(const ct::Explanation& explanation, const std::string& op) {
  for (const ct::ExplainedStep& step : explanation.steps) {
    if (!step.fusion.empty() && step.fusion[0].find(op) != std::string::npos) return step;
  }
  FAIL("no step computes " << op << ":\n" << to_string(explanation));
  return explanation.steps.front();
}

}  // namespace

TEST_CASE("an explanation has the bytes, the floor and the limiter of a kernel", "[explain]") {
  const auto x = ct::matrix("x");
  const auto f = ct::function({x}, ct::nnet::softmax(x, 1), {.name = "softmax"});
  const ct::Explanation e = f.explain({.machine = "h200", .shapes = {{4096, 1024}}});
  CHECK(e.function == "softmax");
  CHECK(e.machine == "NVIDIA H200");
  CHECK(e.architecture == "sm_90");
  CHECK(e.source == ct::codegen::h200.report);
  REQUIRE(e.steps.size() == 1);
  const ct::ExplainedStep& step = e.steps[0];
  CHECK(step.what == "kernel");
  CHECK(step.name.starts_with("row_"));
  CHECK(step.blocks == 512);
  CHECK(step.bytes == 2 * mega);
  CHECK(step.least_bytes == 2 * mega);
  CHECK(e.least_bytes == 2 * mega);
  CHECK(step.floor_seconds == Approx(copy_seconds(2 * mega) + ct::codegen::h200.launch_seconds));
  CHECK(e.floor_seconds == step.floor_seconds);
  REQUIRE(step.seconds.has_value());
  CHECK(*step.seconds >= step.floor_seconds);
  CHECK(e.seconds == *step.seconds);
  CHECK(step.limiter == "memory");
  CHECK_FALSE(step.measured_seconds.has_value());
  // Without NVRTC or nvdisasm the explanation says so, and has the figures of bytes alone.
  CHECK(step.instructions_per_element.has_value() == e.machine_code.empty());
  if (step.instructions_per_element) {
    CHECK(*step.instructions_per_element > 5);
    CHECK(*step.instructions_per_element < 60);
    CHECK(*step.instructions_per_byte == Approx(*step.instructions_per_element / 8));
    CHECK(step.registers > 8);
    CHECK(step.occupancy > 0);
  }
}

TEST_CASE("kernels too small for a machine are limited by their launch", "[explain]") {
  const auto x = ct::vector("x");
  const auto f = ct::function({x}, ct::exp(x));
  const ct::Explanation e = f.explain({.machine = "T4", .shapes = {{64}}});
  REQUIRE(e.steps.size() == 1);
  CHECK(e.architecture == "sm_75");
  CHECK(e.source == "its data sheet");
  CHECK(e.steps[0].limiter == "launch");
  CHECK_THAT(e.steps[0].change, contains("fewer launches"));
}

TEST_CASE("each kernel tells what it computes, what it stores and what it is apart from", "[explain]") {
  const auto x = ct::matrix("x");
  const auto y = ct::tanh(x);
  SECTION("a sum of everything is needed for each element") {
    const auto f = ct::function({x}, y / ct::sum(y));
    const ct::Explanation e = f.explain({.machine = "H100", .shapes = {{4096, 1024}}});
    REQUIRE(e.steps.size() == 2);
    CHECK(has_reason(step_of(e, "sum"), "stores "));
    CHECK(has_reason(e.steps[1], "it needs a sum of everything, which blocks compute in parts, for each element"));
    CHECK(has_reason(e.steps[1], ": it is a result"));
    CHECK(e.least_bytes == 2 * mega);  // x and the result; what is between does not count
    CHECK(e.floor_seconds < e.seconds);
  }
  SECTION("other axes") {
    const auto f = ct::function({x}, {ct::sum(y, 0), ct::sum(y, 1)});
    const ct::Explanation e = f.explain({.machine = "H100", .shapes = {{4096, 1024}}});
    CHECK(std::ranges::any_of(e.steps, [](const ct::ExplainedStep& step) {
      return has_reason(step, "it has other elements than that kernel, or reduces other axes");
    }));
    CHECK(std::ranges::any_of(e.steps, [](const ct::ExplainedStep& step) {
      return has_reason(step, "another kernel reads it, and to compute it again would cost more");
    }));
  }
  SECTION("a product reads it") {
    const auto w = ct::matrix("w");
    const auto f = ct::function({x, w}, ct::dot(y, w));
    const ct::Explanation e = f.explain({.machine = "H100", .shapes = {{256, 512}, {512, 128}}});
    REQUIRE(e.steps.size() == 2);
    CHECK(has_reason(e.steps[0], "a product, contraction, routine, loop or other call reads it as an array"));
    const ct::ExplainedStep& product = e.steps[1];
    CHECK(product.what == "product");
    CHECK(product.name == "product 256 x 512 x 128");
    CHECK(product.operations == 2.0 * 256 * 512 * 128);
    CHECK(product.bytes == 4.0 * (256 * 512 + 512 * 128 + 256 * 128));
    CHECK(product.seconds.has_value());
  }
  SECTION("each operation alone") {
    const ct::change_flags alone("optimizer=none");
    const auto f = ct::function({x}, ct::exp(y));
    const ct::Explanation e = f.explain({.machine = "H100", .shapes = {{16, 16}}});
    REQUIRE(e.steps.size() == 2);
    CHECK(has_reason(e.steps[1], "optimizer=none gives each operation its own kernel"));
  }
}

TEST_CASE("loops are without a time, and are counted", "[explain]") {
  const auto x = ct::matrix("x");
  const auto sorted = ct::sort(x, 1);
  const auto f = ct::function({x}, sorted);
  const ct::Explanation e = f.explain({.machine = "H200", .shapes = {{100, 1000}}});
  const auto routine = std::ranges::find(e.steps, "routine", &ct::ExplainedStep::what);
  REQUIRE(routine != e.steps.end());
  CHECK(routine->launches > 1);
  CHECK(e.unknown == 0);

  const ct::Variable states =
      ct::scan([](const std::vector<ct::Variable>& in) { return ct::Step(ct::tanh(in[0] + in[1])); }, {x},
               {ct::zeros_like(x[0])});
  const auto g = ct::function({x}, states);
  const ct::Explanation of_loop = g.explain({.machine = "H200", .shapes = {{100, 1000}}});
  CHECK(of_loop.unknown == 1);
  CHECK_THAT(to_string(of_loop), contains("without the time of 1 step"));
}

TEST_CASE("products that no library computes are kernels, and contractions know their arithmetic", "[explain]") {
  const auto a = ct::imatrix("a");
  const auto f = ct::function({a}, ct::dot(a, a));
  const ct::Explanation e = f.explain({.machine = "H200", .shapes = {{512, 512}}});
  REQUIRE(e.steps.size() == 1);
  CHECK(e.steps[0].what == "kernel");

  const auto images = ct::tensor4("images"), filters = ct::tensor4("filters");
  const auto g = ct::function({images, filters}, ct::nnet::conv2d(images, filters));
  const ct::Explanation of_convolution =
      g.explain({.machine = "H200", .shapes = {{64, 128, 34, 34}, {128, 128, 3, 3}}});
  const ct::ExplainedStep& step = of_convolution.steps.back();
  CHECK(step.operations == 2.0 * 64 * 128 * 32 * 32 * 128 * 9);
  CHECK(step.limiter == "arithmetic");
  CHECK(*step.seconds >= step.operations / ct::codegen::h200.product_rate_32);
}

TEST_CASE("no floor is above its time, and empty arrays give finite figures", "[explain]") {
  const auto x = ct::matrix("x");
  const auto f = ct::function({x}, {ct::nnet::softmax(ct::tanh(x), 1), ct::sum(x, 0), ct::dot(x, ct::transpose(x))});
  for (const std::string machine : {"cpu", "H200"}) {
    for (const ct::Sizes& sizes : {ct::Sizes{0, 8}, ct::Sizes{300, 200}}) {
      const ct::Explanation e = f.explain({.machine = machine, .shapes = {sizes}});
      INFO(machine << " " << sizes[0]);
      CHECK(e.floor_seconds <= e.seconds);
      for (const ct::ExplainedStep& step : e.steps) CHECK(step.floor_seconds <= *step.seconds * (1 + 1e-9));
      CHECK(nlohmann::json::parse(e.to_json())["steps"].size() == e.steps.size());
    }
  }
}

TEST_CASE("on the host an explanation has measured times", "[explain]") {
  const auto x = ct::matrix("x");
  SECTION("of calls that change nothing") {
    const auto f = ct::function({x}, ct::sum(ct::exp(x), 1));
    const ct::Explanation e = f.explain({.machine = "cpu", .shapes = {{64, 64}}});
    REQUIRE(e.steps.size() == 1);
    REQUIRE(e.steps[0].measured_seconds.has_value());
    CHECK(*e.steps[0].measured_seconds > 0);
    REQUIRE(e.measured_by_modelled().has_value());
    CHECK(*e.measured_by_modelled() == Approx(*e.steps[0].measured_seconds / *e.steps[0].seconds));
    CHECK_THAT(to_string(e), contains("times the modelled time"));
  }
  SECTION("of loops, whose steps are not modelled") {
    const ct::Variable states =
        ct::scan([](const std::vector<ct::Variable>& in) { return ct::Step(ct::tanh(in[0] + in[1])); }, {x},
                 {ct::zeros_like(x[0])});
    const ct::Explanation e = ct::function({x}, states).explain({.machine = "cpu", .shapes = {{10, 10}}});
    CHECK(std::ranges::any_of(e.steps, [](const ct::ExplainedStep& step) {
      return step.what == "loop" && step.measured_seconds.has_value() && !step.seconds.has_value();
    }));
  }
  SECTION("by a copy: the function's own counts stay") {
    const auto f = ct::function({x}, ct::exp(x));
    f.explain({.machine = "cpu", .shapes = {{64, 64}}});
    CHECK(f.counts().calls == 0);
    CHECK_THROWS_AS(f.explain({.machine = "cpu", .shapes = {{64, 64}, {2}}}), ct::Error);
  }
  SECTION("unless it does not run there") {
    const ct::change_flags simulated("mode=simulate");
    const auto f = ct::function({x}, ct::exp(x));
    const ct::Explanation e = f.explain({.machine = "cpu", .shapes = {{64, 64}}});
    CHECK(e.unmeasured == "it does not run on the host");
    CHECK_FALSE(e.measured_by_modelled().has_value());
  }
  SECTION("unless a check of values fails") {
    const auto f = ct::function({x}, ct::take(x, ct::cast(ct::sum(x, 1), ct::DType::int64), 0));  // 4 of 4 rows
    const ct::Explanation e = f.explain({.machine = "cpu", .shapes = {{4, 4}}});
    CHECK_THAT(e.unmeasured, contains("a call with made-up arguments failed"));
    CHECK_THAT(to_string(e), contains("not measured: a call"));
  }
  SECTION("of recorded calls, for functions that update") {
    const auto w = ct::shared(ct::Array::zeros(ct::DType::float32, {64, 64}), {.name = "w"});
    ct::FunctionOptions options;
    options.updates.emplace_back(w, w + x);
    const auto f = ct::function({x}, {}, options);
    const ct::Explanation unknown = f.explain({.machine = "cpu", .shapes = {{64, 64}}});
    CHECK_FALSE(unknown.measured_by_modelled().has_value());
    CHECK(unknown.unmeasured == "it changes shared variables: record calls with a trace");
    CHECK(w.get_value().as_double(0) == 0);  // it was not called
    ct::Trace trace;
    f(ct::Array::full(ct::DType::float32, {64, 64}, 1));
    trace.stop();
    const ct::Explanation e = f.explain({.machine = "cpu", .shapes = {{64, 64}}, .trace = &trace});
    CHECK(e.measured_by_modelled().has_value());
  }
}

TEST_CASE("explanations refuse what they cannot know", "[explain]") {
  const auto x = ct::matrix("x");
  const auto f = ct::function({x}, ct::exp(x), {.name = "f"});
  CHECK_THROWS_WITH(f.explain({.machine = "H100"}), contains("f: explain() needs the shapes") && contains("x"));
  CHECK_THROWS_WITH(f.explain({.machine = "R2000", .shapes = {{2, 2}}}),
                    contains("no machine is named 'R2000'") && contains("NVIDIA H100 SXM"));
  CHECK_THROWS_AS(f.explain({.machine = "H100", .shapes = {{2}}}), ct::Error);
}

TEST_CASE("the JSON of an explanation has its figures", "[explain]") {
  const auto x = ct::matrix("x");
  const auto f = ct::function({x}, ct::sum(ct::tanh(x)) * x, {.name = "a \"name\""});
  const ct::Explanation e = f.explain({.machine = "A100", .shapes = {{300, 200}}});
  const nlohmann::json json = nlohmann::json::parse(e.to_json());
  CHECK(json["function"] == "a \"name\"");
  CHECK(json["machine"] == e.machine);
  CHECK(json["seconds"] == e.seconds);
  CHECK(json["measured_by_modelled"].is_null());
  REQUIRE(json["steps"].size() == e.steps.size());
  for (std::size_t i = 0; i < e.steps.size(); ++i) {
    CHECK(json["steps"][i]["name"] == e.steps[i].name);
    CHECK(json["steps"][i]["bytes"] == e.steps[i].bytes);
    CHECK(json["steps"][i]["seconds"] == *e.steps[i].seconds);
    CHECK(json["steps"][i]["fusion"] == nlohmann::json(e.steps[i].fusion));
    CHECK(json["steps"][i]["limiter"] == e.steps[i].limiter);
  }
}
