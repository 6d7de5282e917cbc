#include "planted.hpp"

#include <croton/croton.hpp>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "builder/gradient_context.hpp"
#include "campaign.hpp"
#include "codegen/emit.hpp"
#include "hooks.hpp"
#include "rewrite/pipeline.hpp"

namespace differential {
namespace {

using ct::builder::GradientContext;
using ct::expr::Op;
using Gradients = std::vector<Variable>;

// ---- kinds of bugs ----

/// A copy of the op, changed.
template <class Change>
void change_op(std::string_view name, Change change) {
  auto* broken = new Op(ct::expr::op(name));  // ops live until the process ends
  change(*broken);
  hooks().op = [name, broken](const Op* op) { return op != nullptr && op->name == name ? broken : op; };
}

/// Changes the spelling in generated code.
void change_code(std::string_view name, std::string_view code) {
  change_op(name, [&](Op& op) {
    auto* map = new ct::expr::MapInfo(*op.map);
    map->code = code;
    op.map = map;
  });
}

/// Integers are computed by C++'s built-in operators, whose overflow is undefined.
void forget_wrapping(std::string_view name) {
  change_op(name, [&](Op& op) {
    auto* map = new ct::expr::MapInfo(*op.map);
    map->wrapping = "";
    op.map = map;
  });
}

void change_gradient(std::string_view name, Gradients (*gradient)(const GradientContext&)) {
  change_op(name, [&](Op& op) { op.gradient = gradient; });
}

/// Changes the first occurrence of `from` in the text of templates. A text that no template has would plant nothing.
void change_template(const std::string& from, const std::string& to) {
  using ct::codegen::Target;
  if (std::ranges::none_of(std::array{Target::cpu, Target::cuda},
                           [&](Target target) { return ct::codegen::prelude(target).find(from) != std::string::npos; }))
    throw ct::InternalError("no template has '" + from + "'");
  hooks().prelude = [from, to](std::string text) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  };
}

/// Changes every occurrence of `from` in the text of loops.
void change_loops(const std::string& from, const std::string& to) {
  hooks().loop_text = [from, to](std::string& text) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
}

/// Swaps the first two strides of every operand that has two, on the GPU.
void exchange_strides(std::string& text, ct::codegen::Target target) {
  if (target != ct::codegen::Target::cuda) return;
  for (int operand = 0; operand < 8; ++operand) {
    const std::string first = fmt::format("p.s{}_0", operand), second = fmt::format("p.s{}_1", operand);
    if (text.find(first) == std::string::npos || text.find(second) == std::string::npos) continue;
    for (const auto& [from, to] :
         {std::pair{first, std::string("p.?")}, {second, first}, {std::string("p.?"), second}}) {
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    }
  }
}

/// Changes the rule with this name.
template <class Change>
void change_rule(std::string_view name, Change change) {
  auto* groups = new std::vector<ct::rewrite::Group>;
  for (ct::rewrite::Group group : ct::rewrite::groups()) {
    auto* rules = new std::vector<ct::rewrite::Rule>(group.rules.begin(), group.rules.end());
    for (ct::rewrite::Rule& rule : *rules) {
      if (rule.name == name) change(rule);
    }
    group.rules = *rules;
    groups->push_back(group);
  }
  hooks().groups = groups;
}

/// Merges two casts to one if `may` returns true for the dtypes of x and of the inner cast.
template <auto may>
void merge_casts_where() {
  change_rule("cast-cast", [](ct::rewrite::Rule& r) {
    r.apply = [](ct::rewrite::Rewriter& rewriter, ct::expr::NodeId root) {
      const auto& arena = rewriter.arena();
      const ct::expr::NodeId inner = arena.input(root, 0);
      if (arena.op(inner).name != "cast") return ct::expr::no_node;
      const ct::expr::NodeId x = arena.input(inner, 0);
      if (!may(arena.type(x).dtype, arena.type(inner).dtype)) return ct::expr::no_node;
      return rewriter.make("cast", {x}, {{"dtype", arena.type(root).dtype}});
    };
  });
}

struct Bug {
  const char* what;
  void (*plant)();
  bool derivative = false;  // found without compilation
};

#define GRADIENT(...) [](const GradientContext& c) -> Gradients { return __VA_ARGS__; }

const Bug bugs[] = {
    // -- derivatives
    {"the derivative of exp is twice what it is", [] { change_gradient("exp", GRADIENT({2 * c.gradient * c.output})); },
     true},
    {"the derivative of tanh lacks a square", [] { change_gradient("tanh", GRADIENT({c.gradient * (1 - c.output)})); },
     true},
    {"the two derivatives of mul are exchanged",
     [] { change_gradient("mul", GRADIENT({c.gradient * c.input(0), c.gradient * c.input(1)})); }, true},
    {"the derivative of log1p is that of log", [] { change_gradient("log1p", GRADIENT({c.gradient / c.input(0)})); },
     true},
    {"the derivatives of where are exchanged",
     [] {
       change_gradient("where", GRADIENT({Variable(), ct::where(c.input(0), ct::zeros_like(c.gradient), c.gradient),
                                          ct::where(c.input(0), c.gradient, ct::zeros_like(c.gradient))}));
     },
     true},
    {"the derivative of sub has one sign for both", [] { change_gradient("sub", GRADIENT({c.gradient, c.gradient})); },
     true},
    {"the derivative of softmax forgets the sum", [] { change_gradient("softmax", GRADIENT({c.gradient * c.output})); },
     true},
    // -- code of ops
    {"< is <=", [] { change_code("lt", "{0} <= {1}"); }},
    {"floor truncates", [] { change_code("floor", "ct::trunc({0})"); }},
    {"maximum takes a number for a nan", [] { change_code("maximum", "({0} > {1} ? {0} : {1})"); }},
    {"the operands of - are exchanged", [] { change_code("sub", "{1} - {0}"); }},
    {"sigmoid is off by a hundred thousandth", [] { change_code("sigmoid", "ct::sigmoid({0}) * {T}(1.00001)"); }},
    {"sqr is x + x", [] { change_code("sqr", "{0} + {0}"); }},
    {"round is floor(x + 1/2)", [] { change_code("round", "ct::floor({0} + {T}(0.5))"); }},
    {"or is exclusive", [] { change_code("or", "{0} ^ {1}"); }},
    // -- integers at the ends of their ranges
    {"sums of integers overflow", [] { forget_wrapping("add"); }},
    {"products of integers overflow", [] { forget_wrapping("mul"); }},
    {"negated integers overflow", [] { forget_wrapping("neg"); }},
    {"floats become integers without bounds",
     [] { change_template("return internal::saturate<To>(x);", "return To(x);"); }},
    {"a cast by way of a float wraps", [] { merge_casts_where<ct::can_cast_safely>(); }},
    {"two casts are one", [] { merge_casts_where<[](ct::DType, ct::DType) { return true; }>(); }},
    // -- templates
    {"sums start at 1",
     [] {
       change_template("CT_DEVICE State identity() { return T(0); }", "CT_DEVICE State identity() { return T(1); }");
     }},
    {"maxima start at 0", [] { change_template("return -inf<T>();", "return T(0);"); }},
    {"the last of equal maxima is taken",
     [] {
       change_template("if (a.value == b.value) return a.position < b.position;",
                       "if (a.value == b.value) return a.position > b.position;");
     }},
    {"a grid leaves the last point out",
     [] { change_template("i < points; i += stride", "i + 1 < points; i += stride"); }},
    {"a warp leaves the last element of a row out",
     [] { change_template("if (k + i < end) own[i] =", "if (k + i + 1 < end) own[i] ="); }},
    {"a CPU row leaves the last element out",
     [] { change_template("typename C::State own[group];", "typename C::State own[group];\n--end;"); }},
    {"sums of doubles are rounded to floats",
     [] { change_template("return add(a, b);", "return T(float(add(a, b)));"); }},
    {"all begins with false",
     [] {
       change_template("CT_DEVICE State identity() { return true; }", "CT_DEVICE State identity() { return false; }");
     }},
    // -- text of kernels
    {"two strides are exchanged", [] { hooks().text = exchange_strides; }},
    // -- loops
    {"products in loops are subtracted",
     [] {
       change_template("= __builtin_elementwise_fma(left, right[v]", "= __builtin_elementwise_fma(-left, right[v]");
     }},
    {"the columns after the last vector lack a term",
     [] {
       change_template("for (index l = 0; l < k; ++l) sum = fma(a[l * a_k]",
                       "for (index l = 0; l + 1 < k; ++l) sum = fma(a[l * a_k]");
     }},
    {"products in loops leave out the last row",
     [] { change_template("for (; i < p.n0; ++i) product_rows", "for (; i + 1 < p.n0; ++i) product_rows"); }},
    {"a state's rows go round a place too early",
     [] { change_template("return slot + 1 < slots ? slot + 1 : 0;", "return slot + 2 < slots ? slot + 1 : 0;"); }},
    {"loops leave out the last step", [] { change_loops("t < p.count", "t + 1 < p.count"); }},
    {"a share of rows begins where the one before does", [] { change_loops("share * p.rows", "share / 2 * p.rows"); }},
    {"a loop goes on after its last step", [] { change_loops("if (last) {", "if (last && t > 1) {"); }},
    // -- rules
    {"x + (-y) becomes x + y",
     [] { change_rule("add-neg", [](ct::rewrite::Rule& r) { r.text = "add(x, neg(y)) => add(x, y)"; }); }},
    {"log(1 + x) becomes log(x)",
     [] { change_rule("log1p", [](ct::rewrite::Rule& r) { r.text = "log(add(x, 1)) => log(x)"; }); }},
    {"x * 0 is 0 for nan too, and the rule does not say so",
     [] { change_rule("mul-zero", [](ct::rewrite::Rule& r) { r.special_values = false; }); }},
    {"exp(-x) for sigmoid has the wrong sign",
     [] { change_rule("log-sigmoid", [](ct::rewrite::Rule& r) { r.text = "log(sigmoid(x)) => neg(softplus(x))"; }); }},
    // -- plans and calls
    {"temporaries are given up too early",
     [] {
       ct::set_flag("verify", "false");  // the verifier of plans would find it first
       hooks().plan = [](ct::plan::Plan& plan) {
         for (ct::plan::Buffer& buffer : plan.buffers) {
           if (buffer.role == ct::plan::Buffer::Role::temporary) buffer.last_step = buffer.first_step;
         }
       };
     }},
    {"an update overwrites what others still read",
     [] {
       ct::set_flag("verify", "false");
       hooks().plan = [](ct::plan::Plan& plan) {
         for (ct::plan::Buffer& buffer : plan.buffers) {
           if (buffer.role != ct::plan::Buffer::Role::update || buffer.in_place_of != ct::plan::no_buffer) continue;
           for (const ct::plan::Buffer& other : plan.buffers) {
             if (other.role == ct::plan::Buffer::Role::shared && other.number == buffer.number)
               buffer.in_place_of = plan.buffers.id_of(other);
           }
         }
       };
     }},
    // -- sizes
    {"sizes are not compared when a call is bound", [] { hooks().skip_requirements = true; }},
    {"sizes wrap", [] { hooks().exact = [](const Op&, bool) { return true; }; }},
    {"squares of sizes wrap",
     [] { hooks().exact = [](const Op& op, bool exact) { return exact || op.name == "sqr"; }; }},
    {"sums of sizes wrap", [] { hooks().exact = [](const Op& op, bool exact) { return exact || op.name == "add"; }; }},
};

struct Verdict {
  std::uint64_t graphs = 0;  // 0 if it is not found
  std::string what;
};

/// In a separate process: bugs do not affect each other.
Verdict find(const Bug* bug, bool only_gradients, std::uint64_t seed, std::uint64_t graphs) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (bug != nullptr) bug->plant();
    ct::set_flag("cache", "false");
    CampaignOptions options;
    options.seed = seed;
    options.only_gradients = only_gradients;
    options.graphs = options.only_gradients ? 20 * graphs : graphs;
    options.most_failures = 1;
    std::uint64_t done = 0;
    options.progress = [&](std::uint64_t n, std::size_t) { done = n; };
    std::string what;
    try {
      const Campaign campaign = run_campaign(options);
      if (!campaign.failures.empty())
        what =
            fmt::format("{} {}: {}", done, campaign.failures[0].setting.name, campaign.failures[0].what.substr(0, 200));
      else if (!campaign.size_faults.empty())
        what = fmt::format("{} sizes: {}", done, campaign.size_faults[0].substr(0, 200));
    } catch (const std::exception& e) {
      what = fmt::format("{} the compiler: {}", done + 25, std::string(e.what()).substr(0, 200));
    }
    if (write(ends[1], what.data(), what.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {graphs, "the process dies"};
  if (text.empty()) return {};
  const std::size_t space = text.find(' ');
  return {std::stoull(text.substr(0, space)), text.substr(space + 1)};
}

}  // namespace

bool find_planted(std::uint64_t seed, std::uint64_t graphs, const std::string& only) {
  for (const bool only_gradients : {true, false}) {
    if (!only.empty()) break;
    const Verdict sound = find(nullptr, only_gradients, seed, graphs);
    if (sound.graphs == 0) continue;
    std::cout << "without a planted bug: " << sound.what << "\n";
    return false;
  }
  std::size_t missed = 0, looked_for = 0;
  for (const Bug& bug : bugs) {
    if (std::string_view(bug.what).find(only) == std::string_view::npos) continue;
    ++looked_for;
    const Verdict verdict = find(&bug, bug.derivative, seed, graphs);
    missed += verdict.graphs == 0;
    std::cout << fmt::format(
                     "{:50} {}\n", bug.what,
                     verdict.graphs == 0 ? "NOT FOUND" : fmt::format("{:4} graphs; {}", verdict.graphs, verdict.what))
              << std::flush;
  }
  std::cout << fmt::format("{} of {} planted bugs found, each among {} graphs at most\n", looked_for - missed,
                           looked_for, graphs);
  return missed == 0 && looked_for > 0;
}

}  // namespace differential
