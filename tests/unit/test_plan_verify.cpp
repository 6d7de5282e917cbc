// The verifier of plans: the planner's plans pass, and each violation of an invariant is found, by name.
#include <croton/croton.hpp>

#include <algorithm>
#include <functional>
#include <memory>

#include "base/device_name.hpp"
#include "builder/import.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "plan/verify.hpp"
#include "rewrite/pipeline.hpp"
#include "rewrite/place.hpp"

namespace ct = croton;
using ct::DType;
using ct::Variable;
using ct::plan::Buffer;
using ct::plan::BufferId;
using ct::plan::LaunchId;
using ct::plan::no_buffer;
using ct::plan::Plan;
using ct::plan::StepId;
using Role = Buffer::Role;

namespace {

struct Planned {
  ct::fuse::Program program;
  Plan plan;
};

Planned planned(const ct::builder::ImportRequest& request, ct::expr::Place scoped = 0) {
  ct::expr::Graph graph = ct::builder::import(request).graph;
  ct::rewrite::run(graph, {});
  if (scoped != 0) graph = ct::rewrite::place(graph, {.scoped = scoped, .devices = {scoped}}, nullptr);
  Planned result{ct::fuse::fuse(std::move(graph)), {}};
  result.plan = ct::plan::make_plan(result.program);
  return result;
}

std::string broken(const Planned& p) {
  try {
    ct::plan::verify(p.plan, p.program);
  } catch (const ct::InternalError& error) {
    return error.what();
  }
  return "";
}

/// Two variables that are updated in place, in one launch.
Planned updates() {
  const auto x = ct::matrix("x");
  const auto v = ct::shared(ct::Array::zeros(DType::float32, {3, 4}), {.name = "v"});
  const auto w = ct::shared(ct::Array::zeros(DType::float32, {3, 4}), {.name = "w"});
  return planned({.inputs = {x},
                  .outputs = {ct::sum(ct::dot(v, ct::transpose(x)))},
                  .updates = {{v, v * 0.9f + x}, {w, w * 2 - x}},
                  .givens = {},
                  .where = {}});
}

/// Products with an elementwise kernel between them, in the memory of the first one's result.
Planned products() {
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  return planned(
      {.inputs = {x, y}, .outputs = {ct::dot(ct::tanh(ct::dot(x, y)), y)}, .updates = {}, .givens = {}, .where = {}});
}

/// A product's result that a kernel reads, and later another product, transposed.
Planned read_again() {
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto product = ct::dot(x, y);
  return planned({.inputs = {x, y},
                  .outputs = {ct::dot(ct::dot(ct::tanh(product), y), ct::transpose(product))},
                  .updates = {},
                  .givens = {},
                  .where = {}});
}

/// A loop over a part of a matrix, with a state and another result.
Planned loop() {
  const auto x = ct::matrix("x");
  const auto y = ct::vector("y"), w = ct::vector("w");
  const auto step = [](const std::vector<Variable>& in) {
    return ct::Step{ct::tanh(in[1] * in[2] + in[0]), in[0] * 2};
  };
  const auto scan = ct::scan(step, {x[ct::slice(1, {})]}, {ct::OutputInfo(y), ct::OutputInfo(std::nullopt)}, {w});
  return planned({.inputs = {x, y, w}, .outputs = scan.outputs, .updates = {}, .givens = {}, .where = {}});
}

Planned branch() {
  const auto x = ct::vector("x"), y = ct::vector("y");
  return planned({.inputs = {x, y},
                  .outputs = {ct::ifelse(ct::sum(x) > 0, ct::tanh(x), ct::exp(y))},
                  .updates = {},
                  .givens = {},
                  .where = {}});
}

/// A row kernel, a product, and a column kernel, which is brought to the row kernel.
Planned pass() {
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto dz = ct::nnet::softmax(ct::dot(x, y), 1) - ct::dot(x, y);
  return planned({.inputs = {x, y},
                  .outputs = {ct::dot(dz, ct::transpose(y)), ct::sum(dz, 0)},
                  .updates = {},
                  .givens = {},
                  .where = {}},
                 ct::base::parse_device("cuda0").place());
}

/// A callback with two arguments.
Planned callback() {
  const ct::HostOp first({.name = "first",
                          .results =
                              [](const std::vector<Variable>& in) {
                                return std::vector<ct::HostOp::Result>{{in[0].dtype(), {in[0].shape(0)}}};
                              },
                          .compute = [](const std::vector<ct::Array>& in) { return std::vector{in[0].copy()}; }});
  const auto x = ct::vector("x"), y = ct::vector("y");
  return planned({.inputs = {x, y}, .outputs = {first(ct::tanh(x), y) * 2}, .updates = {}, .givens = {}, .where = {}});
}

/// A computed size.
Planned segments() {
  const auto x = ct::vector("x");
  const auto n = ct::sum(ct::cast(x > 0, DType::int64));
  return planned({.inputs = {x},
                  .outputs = {ct::arange(n) * 2, ct::sum(ct::tanh(ct::sort(x)))},
                  .updates = {},
                  .givens = {},
                  .where = {}});
}

/// A kernel that reads a product's result twice, once transposed.
Planned transposed() {
  const auto x = ct::variable(ct::Type{DType::float32, {4, 4}}, "x");
  const auto product = ct::dot(x, x);
  return planned({.inputs = {x},
                  .outputs = {ct::dot(ct::tanh(product) + ct::transpose(product), x)},
                  .updates = {},
                  .givens = {},
                  .where = {}});
}

Planned on_device() {
  const auto x = ct::vector("x");
  const auto w = ct::shared(ct::Array::zeros(DType::float32, {5}), {.name = "w"});
  return planned({.inputs = {x}, .outputs = {ct::exp(x) + w}, .updates = {}, .givens = {}, .where = {}},
                 ct::base::parse_device("cuda0").place());
}

/// Two reductions in one launch, with the kernel that uses both.
Planned reductions() {
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto product = ct::dot(x, y), other = ct::dot(y, x);
  const auto norm = ct::sqrt(ct::sum(product) + ct::sum(other));
  return planned(
      {.inputs = {x, y}, .outputs = {product / norm, other / norm}, .updates = {}, .givens = {}, .where = {}},
      ct::base::parse_device("cuda0").place());
}

/// A sort, which has scratch memory.
Planned routine() {
  const auto x = ct::vector("x");
  return planned({.inputs = {x}, .outputs = {ct::sort(x) * 2}, .updates = {}, .givens = {}, .where = {}});
}

Buffer& first(Plan& plan, const std::function<bool(const Buffer&)>& is) {
  const auto found = std::ranges::find_if(plan.buffers, is);
  REQUIRE(found != plan.buffers.end());
  return *found;
}
Buffer& with_role(Plan& plan, Role role) {
  return first(plan, [&](const Buffer& b) { return b.role == role; });
}
ct::plan::Step& with_bodies(Plan& plan) {
  const auto found = std::ranges::find_if(plan.steps, [](const ct::plan::Step& s) { return !s.bodies.empty(); });
  REQUIRE(found != plan.steps.end());
  return *found;
}
/// The launch of several kernels.
ct::plan::Launch& joint(Plan& plan) {
  const auto found = std::ranges::find_if(plan.launches, [](const ct::plan::Launch& l) { return l.size() > 1; });
  REQUIRE(found != plan.launches.end());
  return *found;
}
void swap_reads(ct::plan::Step& step) {
  REQUIRE(step.reads.size() >= 2);
  std::swap(step.reads[0], step.reads[1]);
}
bool shares_memory(const Buffer& b) { return b.in_place_of != no_buffer; }

struct Breakage {
  std::string what;  // the message has this
  std::function<Planned()> plan;
  std::function<void(Plan&)> damage;
};

constexpr const char* other_buffers = "has other buffers than its call has operands";

const std::vector<Breakage>& breakages() {
  static const std::vector<Breakage> all{
      // numbers
      {"runs call 99, which does not exist", products, [](Plan& p) { p.steps.front().call = ct::fuse::CallId(99); }},
      {"reads b99, which does not exist", products, [](Plan& p) { p.steps.front().reads[0] = BufferId(99); }},
      {"writes b-1, which does not exist", products, [](Plan& p) { p.steps.front().writes[0] = no_buffer; }},
      {"has the workspace b0, which is not a workspace", routine,
       [](Plan& p) {
         std::ranges::find_if(p.steps, [](const auto& s) { return s.workspace != no_buffer; })->workspace = BufferId(0);
       }},
      {"which has no memory of its own", updates,
       [](Plan& p) {
         Buffer& shares = first(p, shares_memory);
         shares.in_place_of = p.buffers.id_of(shares);
       }},
      // launches and segments
      {"belongs to no launch", products, [](Plan& p) { p.launches.pop_back(); }},
      {"comes next", products, [](Plan& p) { std::swap(p.launches[LaunchId(0)], p.launches[LaunchId(1)]); }},
      {"runs in one launch with others", products,
       [](Plan& p) {
         p.launches.front().end_step = StepId(2);
         p.launches.erase(p.launches.begin() + 1);
         p.segments.back().end_launch = p.launches.end_id();
       }},
      {"runs in one launch with others", reductions,
       [](Plan& p) {
         const StepId joined = joint(p).end_step;
         const auto next = std::ranges::find(p.launches, joined, &ct::plan::Launch::first_step);
         joint(p).end_step = next->end_step;
         p.launches.erase(next);
         p.segments.back().end_launch = p.launches.end_id();
       }},
      {"of the same launch overwrites", reductions,
       [](Plan& p) {
         // The first reduction reads what the second one writes.
         const StepId first = joint(p).first_step;
         p.buffers[p.steps[first.next()].writes[0]].in_place_of = p.steps[first].reads[0];
       }},
      {"the host reads numbers back", segments, [](Plan& p) { p.segments.pop_back(); }},
      {"but needs numbers that segment 0 finds", segments,
       [](Plan& p) {
         p.segments.front().end_launch = p.segments.back().end_launch;
         p.segments.back().first_launch = p.segments.back().end_launch;
       }},
      // calls
      {"runs 2 times", products, [](Plan& p) { p.steps[StepId(1)].call = p.steps.front().call; }},
      {other_buffers, products, [](Plan& p) { p.steps[StepId(1)].reads[0] = BufferId(0); }},
      {other_buffers, products, [](Plan& p) { p.steps.front().left.transposed = true; }},
      {other_buffers, read_again, [](Plan& p) { p.steps.back().right.transposed = false; }},
      {other_buffers, products,
       [](Plan& p) {
         ct::plan::Step& product = p.steps.back();
         product.reads[1] = product.right.buffer = product.left.buffer;
       }},
      {other_buffers, products, [](Plan& p) { p.steps.front().generated_reads.emplace_back(); }},
      {other_buffers, callback, [](Plan& p) { swap_reads(p.steps[StepId(1)]); }},
      {other_buffers, loop, [](Plan& p) { swap_reads(with_bodies(p)); }},
      {other_buffers, loop, [](Plan& p) { with_bodies(p).reads.pop_back(); }},
      {other_buffers, loop,
       [](Plan& p) {
         std::vector<BufferId>& writes = with_bodies(p).writes;
         REQUIRE(writes.size() == 2);
         std::swap(writes[0], writes[1]);
       }},
      {other_buffers, branch, [](Plan& p) { swap_reads(with_bodies(p)); }},
      {other_buffers, branch, [](Plan& p) { with_bodies(p).reads.pop_back(); }},
      // bodies
      {"has 0 plans of bodies, and its call has 1 bodies", loop, [](Plan& p) { with_bodies(p).bodies.clear(); }},
      {"reads b99, which does not exist", branch,
       [](Plan& p) {
         auto& otherwise = with_bodies(p).bodies[1];
         Plan body = *otherwise;
         body.steps.front().reads[0] = BufferId(99);
         otherwise = std::make_shared<const Plan>(std::move(body));
       }},
      // values
      {"which no step before it has written", products,
       [](Plan& p) {
         std::swap(p.steps[StepId(0)], p.steps[StepId(1)]);
         for (Buffer& b : p.buffers) b.in_place_of = no_buffer;
       }},
      {"which is not a result", products, [](Plan& p) { with_role(p, Role::output).role = Role::constant; }},
      {"gets memory in segment 1", segments,
       [](Plan& p) { p.buffers[p.steps.front().writes[0]].segment = ct::plan::SegmentId(1); }},
      // results
      {"is in memory that others share", products, [](Plan& p) { with_role(p, Role::output).role = Role::temporary; }},
      {"there are 0 outputs", products, [](Plan& p) { p.output_buffer.clear(); }},
      // lifetimes
      {"whose memory is kept from step", products,
       [](Plan& p) { with_role(p, Role::temporary).last_step = StepId(0); }},
      {"whose memory is kept from step", reductions,
       [](Plan& p) { p.buffers[p.steps[joint(p).first_step].writes[0]].last_step = joint(p).first_step; }},
      {"whose memory is kept from step", reductions,
       [](Plan& p) {
         const StepId last = joint(p).end_step.previous();
         p.buffers[p.steps[last].writes[0]].first_step = last;
       }},
      {"is read back after step", segments,
       [](Plan& p) {
         Buffer& fresh = p.buffers[p.segments.front().fresh[0]];
         fresh.last_step = fresh.first_step;
       }},
      {"does not read back all the numbers", segments, [](Plan& p) { p.segments.front().fresh.clear(); }},
      // in place
      {"which it must not overwrite", products,
       [](Plan& p) { first(p, shares_memory).in_place_of = p.buffers.id_of(with_role(p, Role::argument)); }},
      {"which is another array", products, [](Plan& p) { p.buffers[first(p, shares_memory).in_place_of].place = 257; }},
      {"which is another variable", updates,
       [](Plan& p) {
         std::vector<Buffer*> shares;
         for (Buffer& b : p.buffers) {
           if (shares_memory(b)) shares.push_back(&b);
         }
         REQUIRE(shares.size() == 2);
         std::swap(shares[0]->in_place_of, shares[1]->in_place_of);
       }},
      {"writes over", read_again,
       [](Plan& p) { p.buffers[p.steps[StepId(1)].writes[0]].in_place_of = p.steps.front().writes[0]; }},
      {"whose other elements it still reads", transposed,
       [](Plan& p) {
         const BufferId product = p.steps.front().writes[0], sum = p.steps[StepId(1)].writes[0];
         REQUIRE(!shares_memory(p.buffers[sum]));
         p.buffers[sum].in_place_of = product;
         p.buffers[product].last_step = StepId(2);
       }},
      // one pass over a matrix
      {"whose memory is not kept until the end of its launch", pass,
       [](Plan& p) {
         const auto both = std::ranges::find_if(p.launches, [](const auto& l) { return l.size() == 2; });
         REQUIRE(both != p.launches.end());
         for (const BufferId b : p.steps[both->first_step].reads) p.buffers[b].last_step = both->first_step;
       }},
      // the commit point
      {"a shared variable, before the commit point", updates,
       [](Plan& p) {
         for (auto& step : p.steps) step.after_commit = false;
         p.commit_step = p.steps.end_id();
         const ct::plan::Launch joined = p.launches.back();
         p.launches.pop_back();
         for (const StepId s : joined.steps()) p.launches.push_back({s, s.next()});
         p.segments.back().end_launch = p.launches.end_id();
       }},
      {"after the commit point, before step 0", updates, [](Plan& p) { p.commit_step = StepId(0); }},
      {"overwrites no shared variable", products,
       [](Plan& p) {
         p.steps.back().after_commit = true;
         p.commit_step = p.steps.end_id().previous();
       }},
      // devices
      {"which is on another device", on_device,
       [](Plan& p) {
         for (Buffer& b : p.buffers) {
           if (b.role == Role::resident) b.place = 0;
         }
       }},
      {"to the device that it is on", on_device,
       [](Plan& p) { with_role(p, Role::argument).place = ct::base::parse_device("cuda0").place(); }},
      {"does not outlive the call on another device", on_device,
       [](Plan& p) { with_role(p, Role::shared).role = Role::argument; }},
  };
  return all;
}

}  // namespace

TEST_CASE("plans keep their promises") {
  for (const auto& make : {updates, products, segments, transposed, read_again, on_device, reductions, routine, loop,
                           branch, callback, pass}) {
    const Planned p = make();
    CHECK(broken(p) == "");
  }
}

TEST_CASE("a plan that breaks a promise is found, by the promise's name") {
  for (const Breakage& breakage : breakages()) {
    INFO("wanted: " << breakage.what);
    Planned p = breakage.plan();
    breakage.damage(p.plan);
    CHECK_THAT(broken(p), contains(breakage.what));
  }
}

TEST_CASE("a broken plan names the step and the user's line") {
  Planned p = products();
  p.plan.steps.back().reads[0] = BufferId(99);
  CHECK_THAT(broken(p), contains("plan: step 2 reads b99"));
  p = products();
  Buffer& temporary = with_role(p.plan, Role::temporary);
  temporary.last_step = StepId(0);
  CHECK_THAT(broken(p), contains("test_plan_verify.cpp:"));
}
