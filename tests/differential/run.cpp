#include "run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "builder/import.hpp"
#include "builder/node.hpp"
#include "expr/evaluate.hpp"
#include "ops/control/loop.hpp"
#include "random.hpp"

namespace differential {
namespace {

/// Processor time: other programs may run at the same time.
double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The function of several cases, with its arguments.
struct Together {
  ct::Function function;
  std::vector<ct::Argument> arguments;
  std::vector<std::pair<std::size_t, std::size_t>> argument_of;  // case and node of each argument
};

Together compile(std::span<Prepared* const> cases) {
  Together result;
  std::vector<ct::In> inputs;
  std::vector<Variable> outputs;
  ct::FunctionOptions options;
  options.on_unused_input = ct::UnusedInput::ignore;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const Prepared& p = *cases[c];
    for (std::size_t i = 0; i < p.test.nodes.size(); ++i) {
      const Node& node = p.test.nodes[i];
      if (!node.is_leaf() || node.leaf.role != Leaf::Role::argument) continue;
      inputs.emplace_back(p.built.nodes[i]);
      result.arguments.emplace_back(laid_out(node.leaf));
      result.argument_of.emplace_back(c, i);
    }
    for (const int output : p.test.outputs) outputs.push_back(p.built.nodes[static_cast<std::size_t>(output)]);
    for (const Update& update : p.test.updates) {
      options.updates.emplace_back(p.built.nodes[static_cast<std::size_t>(update.leaf)],
                                   p.built.nodes[static_cast<std::size_t>(update.value)]);
    }
  }
  result.function = ct::function(std::move(inputs), outputs, options);
  return result;
}

/// Calls the function, after shared variables got the values of each case.
std::vector<Results> call(const Together& together, std::span<Prepared* const> cases) {
  for (const Prepared* p : cases) {
    for (std::size_t i = 0; i < p->test.nodes.size(); ++i) {
      if (!p->built.shared[i].defined()) continue;
      ct::SharedVariable variable = p->built.shared[i];
      variable.set_value(p->test.nodes[i].leaf.value);
    }
  }
  const ct::Outputs outputs = together.function.call(together.arguments);
  std::vector<Results> results;
  std::size_t next = 0;
  for (const Prepared* p : cases) {
    Results& mine = results.emplace_back();
    for (std::size_t i = 0; i < p->test.outputs.size(); ++i) mine.push_back(outputs[next++]);
    for (const Update& update : p->test.updates)
      mine.push_back(p->built.shared[static_cast<std::size_t>(update.leaf)].get_value());
  }
  return results;
}

std::optional<Failure> compare_all(Prepared& p, const Setting& setting, const Results& results, Compared& count) {
  const std::vector<Expected>& expected = p.expect(setting.freedom);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto difference = compare(results[i], expected[i], count);
    if (difference) {
      return Failure{p.test, setting, Fault::value, difference->text(), static_cast<int>(i), difference->position};
    }
  }
  return std::nullopt;
}

/// Products may be computed by a library, whose bits depend on the addresses of its operands; so do values computed
/// from products.
bool has_product(const std::vector<Variable>& roots) {
  return std::ranges::any_of(ct::builder::topological_order(roots), [](const ct::builder::Node* node) {
    return node->op->kind == ct::expr::Kind::Contract ||
           (node->op->kind == ct::expr::Kind::Loop && has_product(ct::ops::loop_source(*node).outputs));
  });
}

std::optional<Failure> compare_bits(const Prepared& p, const Setting& setting, const Results& a, const Results& b) {
  if (has_product(p.roots)) return std::nullopt;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i]))
      return Failure{p.test, setting, Fault::bits, "the simulator's bits are not the CPU's", static_cast<int>(i), 0};
  }
  return std::nullopt;
}

/// The reference evaluator on the whole imported graph.
void evaluate_unrewritten(const Prepared& p, const std::map<std::size_t, Array>& instead) {
  ct::builder::ImportRequest request;
  std::vector<Array> arguments, shared;
  for (std::size_t i = 0; i < p.test.nodes.size(); ++i) {
    const Node& node = p.test.nodes[i];
    if (!node.is_leaf() || node.leaf.role != Leaf::Role::argument) continue;
    request.inputs.push_back(p.built.nodes[i]);
    const auto other = instead.find(i);
    arguments.push_back(other != instead.end() ? other->second : node.leaf.value);
  }
  request.outputs = p.roots;
  const ct::builder::Imported imported = ct::builder::import(request);
  for (const Variable& variable : imported.shared) arguments.push_back(p.leaves.at(variable.node()));
  ct::expr::evaluate(imported.graph, arguments);
}

/// Makes the first argument longer by one along one axis: if the reference raises, so must the function.
std::optional<Failure> probe_sizes(const Together& together, std::span<Prepared* const> cases, const Setting& setting,
                                   Tally& tally) {
  for (std::size_t k = 0; k < together.arguments.size(); ++k) {
    const auto [c, i] = together.argument_of[k];
    const Prepared& p = *cases[c];
    const Leaf& leaf = p.test.nodes[i].leaf;
    const auto axis = std::ranges::find(leaf.type.shape, ct::unknown_size) - leaf.type.shape.begin();
    if (axis == static_cast<std::ptrdiff_t>(leaf.type.shape.size())) continue;
    ct::Sizes shape = leaf.value.shape();
    ++shape[static_cast<std::size_t>(axis)];
    const Array longer = Array::zeros(leaf.type.dtype, shape);
    try {
      evaluate_unrewritten(p, {{i, longer}});
      continue;
    } catch (const ct::ShapeError&) {
    } catch (const ct::Error&) {
      continue;
    }
    ++tally.probes;
    std::vector<ct::Argument> arguments = together.arguments;
    arguments[k] = ct::Argument(longer);
    try {
      together.function.call(arguments);
    } catch (const ct::ShapeError&) {
      return std::nullopt;
    } catch (const ct::Error& e) {
      return Failure{p.test, setting, Fault::requirement, fmt::format("another error than ShapeError: {}", e.what())};
    }
    return Failure{
        p.test, setting, Fault::requirement,
        fmt::format("x{} with axis {} of {} elements is taken", i, axis, shape[static_cast<std::size_t>(axis)])};
  }
  return std::nullopt;
}

/// The results of each case, or its failure if it raises.
struct Outcome {
  Results results;
  std::optional<Failure> failure;
};

std::vector<Outcome> run_setting(std::span<Prepared* const> cases, const Setting& setting, bool probe, Tally& tally) {
  std::vector<Outcome> outcomes(cases.size());
  const double start = now();
  std::string error;
  try {
    const ct::change_flags flags(setting.flags);
    const Together together = compile(cases);
    std::vector<Results> results = call(together, cases);
    for (std::size_t c = 0; c < cases.size(); ++c) outcomes[c].results = std::move(results[c]);
    tally.kernels += together.function.counts().kernels;
    tally.products += together.function.counts().products;
    if (probe) {
      if (auto failure = probe_sizes(together, cases, setting, tally)) outcomes[0].failure = std::move(failure);
    }
  } catch (const std::exception& e) {
    error = e.what();
  }
  tally.seconds[setting.name] += now() - start;
  if (error.empty()) {
    tally.graphs[setting.name] += cases.size();
    return outcomes;
  }
  if (cases.size() == 1) {
    outcomes[0].failure = Failure{cases[0]->test, setting, Fault::error, "raises " + error};
    return outcomes;
  }
  // Which case fails?
  for (std::size_t c = 0; c < cases.size(); ++c)
    outcomes[c] = std::move(run_setting(cases.subspan(c, 1), setting, false, tally)[0]);
  return outcomes;
}

/// Whether there is a root of 0, or an extreme that a reduction finds more than once: by convention every such element
/// gets the whole gradient, which is no slope.
bool has_kinks(const Values& values) {
  for (const auto& [node, value] : values.known) {
    static const std::set<std::string_view> roots{"sqrt", "cbrt", "pow"};
    if (roots.contains(node->op->name)) {
      const Array& of = values.known.at(node->inputs[0].node());
      for (std::int64_t i = 0; i < of.size(); ++i) {
        if (of.as_double(i) == 0) return true;
      }
    }
    if (node->op->name != "max" && node->op->name != "min") continue;
    const Array& x = values.known.at(node->inputs[0].node());
    for (std::int64_t i = 0; i < value.size(); ++i) {
      std::int64_t there = 0, wanted = 0;
      for (std::int64_t k = 0; k < x.size(); ++k) there += x.as_double(k) == value.as_double(i);
      for (std::int64_t k = 0; k < value.size(); ++k) wanted += value.as_double(k) == value.as_double(i);
      if (there > wanted) return true;
    }
  }
  return false;
}

}  // namespace

const std::vector<Expected>& Prepared::expect(Freedom freedom) {
  const auto at = expected.find(freedom);
  if (at != expected.end()) return at->second;
  return expected[freedom] = differential::expect(roots, leaves, freedom, test.seed);
}

Prepared prepare(const Case& test, const std::string& prefix) {
  Prepared p{test, build(test, prefix), {}, {}, {}};
  for (const int output : test.outputs) p.roots.push_back(p.built.nodes[static_cast<std::size_t>(output)]);
  for (const Update& update : test.updates) p.roots.push_back(p.built.nodes[static_cast<std::size_t>(update.value)]);
  for (std::size_t i = 0; i < test.nodes.size(); ++i) {
    if (test.nodes[i].is_leaf()) p.leaves[p.built.nodes[i].node()] = test.nodes[i].leaf.value;
  }
  return p;
}

std::vector<Failure> run_batch(std::vector<Prepared>& batch, std::span<const Setting> settings,
                               const BatchOptions& options, Tally& tally) {
  std::vector<Prepared*> cases;
  for (Prepared& p : batch) cases.push_back(&p);
  std::vector<std::optional<Failure>> failures(batch.size());
  std::vector<Results> on_cpu(batch.size());
  for (const Setting& setting : settings) {
    const bool first = &setting == settings.data(), simulated = setting.name == "simulate";
    std::vector<Outcome> outcomes = run_setting(cases, setting, first && options.probe, tally);
    for (std::size_t c = 0; c < batch.size(); ++c) {
      if (failures[c]) continue;
      if (outcomes[c].failure) {
        failures[c] = std::move(outcomes[c].failure);
        continue;
      }
      const double start = now();
      failures[c] = compare_all(batch[c], setting, outcomes[c].results, tally.compared);
      tally.seconds["tolerance"] += now() - start;
      if (!failures[c] && simulated && !on_cpu[c].empty())
        failures[c] = compare_bits(batch[c], setting, on_cpu[c], outcomes[c].results);
      if (setting.name == "run") on_cpu[c] = std::move(outcomes[c].results);
    }
  }
  std::vector<Failure> result;
  for (auto& failure : failures) {
    if (failure) result.push_back(std::move(*failure));
  }
  return result;
}

std::optional<Failure> check(const Case& test, const Setting& setting, Fault fault) {
  Tally tally;
  std::vector<Prepared> one;
  one.push_back(prepare(test));
  if (fault == Fault::gradient) return check_gradients(one[0], tally);
  std::vector<Setting> settings{setting};
  if (fault == Fault::bits) {
    Setting cpu = setting;
    cpu.name = "run";
    cpu.flags = "mode=run" + setting.flags.substr(setting.flags.find(','));
    settings.insert(settings.begin(), cpu);
  }
  one[0].expect(setting.freedom);  // raises if the program is invalid
  auto failures = run_batch(one, settings, {.probe = fault == Fault::requirement}, tally);
  if (failures.empty() || failures[0].fault != fault) return std::nullopt;
  return failures[0];
}

std::optional<Failure> check_gradients(Prepared& p, Tally& tally) {
  Random random(p.test.seed);
  std::vector<Variable> costs;
  for (const Variable& root : p.roots) {
    if (ct::is_float(root.dtype())) costs.push_back(root);
  }
  std::vector<std::size_t> leaves;
  for (std::size_t i = 0; i < p.test.nodes.size(); ++i) {
    const Node& node = p.test.nodes[i];
    if (node.is_leaf() && node.leaf.role != Leaf::Role::constant && node.leaf.type.dtype == DType::float64)
      leaves.push_back(i);
  }
  if (costs.empty() || leaves.empty()) return std::nullopt;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    const std::size_t leaf = random.of(leaves);
    const Variable& x = p.built.nodes[leaf];
    Variable cost, slope;
    try {
      cost = ct::sum(ct::cast(costs[k], DType::float64) * ct::cos(ct::cast(costs[k], DType::float64)));
      slope = ct::grad(cost, x);
    } catch (const ct::Error&) {
      continue;  // it does not depend on x, or has no gradient
    }
    const Array at = p.test.nodes[leaf].leaf.value;
    if (at.size() == 0) continue;
    // Intermediate numbers of fewer digits make steps.
    const auto order = ct::builder::topological_order({cost});
    if (std::ranges::any_of(order, [](const ct::builder::Node* node) {
          return ct::is_float(node->type.dtype) && node->type.dtype != DType::float64 && !node->inputs.empty();
        }))
      continue;
    Array direction = Array::uniform(DType::float64, at.shape(), random.bits(), -1, 1);
    const auto cost_at = [&](double step) {
      Values values;
      values.known = p.leaves;
      Array moved = at.copy();
      for (std::int64_t i = 0; i < moved.size(); ++i)
        moved.data<double>()[static_cast<std::size_t>(i)] += step * direction.as_double(i);
      values.known[x.node()] = moved;
      return values.of(cost).as_double(0);
    };
    double exact = 0, middle, forward, backward, near_forward, near_backward, nearest;
    constexpr double h = 1e-5;
    try {
      Values values;
      values.known = p.leaves;
      const Array& g = values.of(slope);
      for (std::int64_t i = 0; i < at.size(); ++i) exact += g.as_double(i) * direction.as_double(i);
      if (has_kinks(values)) continue;
      middle = cost_at(0);
      forward = (cost_at(h) - middle) / h;
      backward = (middle - cost_at(-h)) / h;
      near_forward = (cost_at(h / 4) - middle) / (h / 4);
      near_backward = (middle - cost_at(-h / 4)) / (h / 4);
      nearest = (cost_at(h / 1024) - middle) / (h / 1024);
    } catch (const ct::Error&) {
      continue;
    }
    const double numeric = (near_forward + near_backward) / 2;
    const double size = std::max({std::abs(numeric), std::abs(exact), 1e-3 * std::abs(middle), 1e-3});
    // Kinks and jumps: the slopes on both sides, over short and long distances, must agree.
    const double doubt = std::max({std::abs(forward - backward), std::abs(near_forward - near_backward),
                                   std::abs(forward - near_forward), std::abs(near_forward - nearest)});
    if (!std::isfinite(doubt) || doubt > 1e-3 * size) continue;
    ++tally.gradients;
    if (std::isfinite(exact) && std::abs(exact - numeric) <= 1e-2 * size) continue;
    Failure failure{p.test,
                    {"gradient", "", Freedom::none},
                    Fault::gradient,
                    fmt::format("the gradient with respect to x{} along a direction is {:.9g}, differences give {:.9g}",
                                leaf, exact, numeric)};
    failure.root = static_cast<int>(leaf);
    return failure;
  }
  return std::nullopt;
}

}  // namespace differential
