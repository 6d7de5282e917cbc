#include "shrink.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "builder/node.hpp"
#include "loops.hpp"

namespace differential {
namespace {

class Shrinker {
 public:
  Shrinker(const Failure& failure, int attempts) : best_(failure), attempts_(attempts) {}

  Failure run() {
    keep_one_root();
    for (std::size_t before = 0; attempts_ > 0 && before != size();) {
      before = size();
      fewer_roots();
      cut();
      bypass();
      simpler_bodies();
      plain_leaves();
      smaller_sizes();
      simpler_numbers();
    }
    return best_;
  }

 private:
  /// Accepts the smaller case if it still fails.
  bool accept(Case test) {
    if (attempts_-- <= 0) return false;
    test = test.pruned();
    if (test.outputs.empty() && test.updates.empty()) return false;
    try {
      const auto failure = check(test, best_.setting, best_.fault);
      if (!failure) return false;
      best_ = *failure;
      return true;
    } catch (const std::exception&) {
      return false;  // an invalid program
    }
  }

  std::size_t size() const {
    std::size_t total = best_.test.nodes.size() * 1000;
    for (const Node& node : best_.test.nodes) {
      total += static_cast<std::size_t>(node.leaf.value.size());
      if (!node.is_leaf() && node.step.p.recipe) total += 100 * node.step.p.recipe->lines.size();
    }
    return total;
  }

  void keep_one_root() {
    const Case whole = best_.test;
    const std::size_t outputs = whole.outputs.size();
    for (std::size_t i = 0; i < outputs + whole.updates.size(); ++i) {
      // The root that differs comes first.
      const std::size_t root =
          best_.root < 0 ? i : (i + static_cast<std::size_t>(best_.root)) % (outputs + whole.updates.size());
      Case one = whole;
      one.outputs.clear();
      one.updates.clear();
      if (root < outputs) {
        one.outputs = {whole.outputs[root]};
      } else {
        one.outputs = {whole.updates[root - outputs].value};
      }
      if (accept(one)) return;
    }
  }

  void fewer_roots() {
    for (std::size_t i = best_.test.updates.size(); i-- > 0;) {
      Case fewer = best_.test;
      fewer.updates.erase(fewer.updates.begin() + static_cast<std::ptrdiff_t>(i));
      accept(fewer);
    }
    for (std::size_t i = best_.test.outputs.size(); i-- > 0 && best_.test.outputs.size() > 1;) {
      Case fewer = best_.test;
      fewer.outputs.erase(fewer.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      accept(fewer);
    }
  }

  /// Replaces a step by an input that has its value.
  void cut() {
    for (std::size_t back = 1; back <= best_.test.nodes.size(); ++back) {
      const std::size_t i = best_.test.nodes.size() - back;
      if (best_.test.nodes[i].is_leaf()) continue;
      Case test = best_.test;
      try {
        Prepared p = prepare(test);
        Values values;
        values.known = p.leaves;
        Leaf leaf;
        leaf.value = values.of(p.built.nodes[i]);
        leaf.type = p.built.nodes[i].type();
        Node node;
        node.leaf = std::move(leaf);
        test.nodes[i] = std::move(node);
      } catch (const std::exception&) {
        continue;
      }
      if (std::ranges::find(test.outputs, static_cast<int>(i)) != test.outputs.end() && test.outputs.size() == 1)
        continue;
      accept(test);
    }
  }

  /// Replaces a step by one of its operands.
  void bypass() {
    for (std::size_t i = 0; i < best_.test.nodes.size(); ++i) {
      for (std::size_t k = 0; i < best_.test.nodes.size() && k < best_.test.nodes[i].step.inputs.size(); ++k) {
        Case test = best_.test;
        const int instead = test.nodes[i].step.inputs[k];
        for (Node& node : test.nodes) std::ranges::replace(node.step.inputs, static_cast<int>(i), instead);
        std::ranges::replace(test.outputs, static_cast<int>(i), instead);
        if (test.nodes[static_cast<std::size_t>(test.outputs.empty() ? 0 : test.outputs[0])].is_leaf()) continue;
        if (accept(test)) break;
      }
    }
  }

  /// For loops: lines of the body, and the other parts of a loop.
  void simpler_bodies() {
    for (std::size_t i = 0; i < best_.test.nodes.size(); ++i) {
      for (std::size_t k = 0; i < best_.test.nodes.size() && attempts_ > 0; ++k) {
        const auto recipe = best_.test.nodes[i].step.p.recipe;
        if (!recipe) break;
        const auto all = simpler(*recipe);
        if (k >= all.size()) break;
        Case test = best_.test;
        for (Node& node : test.nodes) {
          if (node.step.p.recipe == recipe) node.step.p.recipe = all[k];
        }
        if (accept(test)) --k;
      }
    }
  }

  void plain_leaves() {
    for (std::size_t i = 0; i < best_.test.nodes.size(); ++i) {
      const Node& node = best_.test.nodes[i];
      if (!node.is_leaf() || node.leaf.role == Leaf::Role::constant) continue;
      if (node.leaf.layout != Layout::plain) {
        Case test = best_.test;
        test.nodes[i].leaf.layout = Layout::plain;
        accept(test);
      }
      if (best_.test.nodes.size() > i && best_.test.nodes[i].leaf.role == Leaf::Role::shared) {
        Case test = best_.test;
        std::erase_if(test.updates, [&](const Update& update) { return update.leaf == static_cast<int>(i); });
        if (test.updates.size() == best_.test.updates.size()) test.nodes[i].leaf.role = Leaf::Role::argument;
        accept(test);
      }
    }
  }

  void smaller_sizes() {
    std::set<std::int64_t> sizes;
    for (const Node& node : best_.test.nodes) {
      for (const std::int64_t size : node.leaf.value.shape()) {
        if (node.is_leaf() && size > 1) sizes.insert(size);
      }
    }
    for (auto at = sizes.rbegin(); at != sizes.rend(); ++at) {
      for (const std::int64_t to : {std::int64_t{1}, *at / 2, *at - 1}) {
        Case test = best_.test;
        for (Node& node : test.nodes) {
          if (node.is_leaf()) resize(node.leaf, *at, to);
        }
        if (to < *at && accept(test)) break;
      }
    }
  }
  static void resize(Leaf& leaf, std::int64_t from, std::int64_t to) {
    for (int axis = 0; axis < leaf.value.rank(); ++axis) {
      if (leaf.value.shape(axis) != from) continue;
      leaf.value = leaf.value.slice(axis, 0, to).copy();
      std::int64_t& stated = leaf.type.shape[static_cast<std::size_t>(axis)];
      if (stated == from) stated = to;
    }
  }

  /// Whole numbers, the same number everywhere, zeros.
  void simpler_numbers() {
    if (best_.fault == Fault::gradient) return;  // kinks are at simple numbers
    for (std::size_t i = 0; i < best_.test.nodes.size(); ++i) {
      if (!best_.test.nodes[i].is_leaf()) continue;
      const Array value = best_.test.nodes[i].leaf.value;
      if (value.size() == 0) continue;
      std::vector<Array> simpler{Array::zeros(value.dtype(), value.shape()),
                                 Array::full(value.dtype(), value.shape(), 1)};
      if (ct::is_float(value.dtype())) {
        for (const double digits : {1.0, 16.0}) {
          Array rounded = Array::empty(DType::float64, value.shape());
          for (std::int64_t k = 0; k < value.size(); ++k) {
            const double x = value.as_double(k);
            rounded.data<double>()[static_cast<std::size_t>(k)] =
                std::isfinite(x) ? std::round(x * digits) / digits : x;
          }
          simpler.push_back(rounded.astype(value.dtype()));
        }
      }
      for (const Array& numbers : simpler) {
        if (numbers.same_bits(value.contiguous())) break;
        Case test = best_.test;
        test.nodes[i].leaf.value = numbers;
        if (accept(test)) break;
      }
    }
  }

  Failure best_;
  int attempts_;
};

}  // namespace

Failure shrink(const Failure& failure, int attempts) { return Shrinker(failure, attempts).run(); }

}  // namespace differential
