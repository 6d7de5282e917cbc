#include "patterns.hpp"

#include <map>
#include <numeric>
#include <set>

#include "rewrite/match.hpp"
#include "rewrite/pipeline.hpp"
#include "rows.hpp"

namespace differential {
namespace {

using ct::expr::Term;

/// Fills one pattern: equal names are equal nodes.
class Planter {
 public:
  Planter(Generator& generator, DType dtype, const ct::Sizes& shape) : g_(generator), dtype_(dtype), shape_(shape) {}

  int plant(const Term& term, bool condition = false) {
    switch (term.form) {
      case Term::Form::number:
        return g_.constant(number(term));
      case Term::Form::name: {
        const auto [at, fresh] = holes_.try_emplace(term.text, -1);
        if (fresh) at->second = hole(term, condition);
        return at->second;
      }
      case Term::Form::call:
        break;
      default:
        return -1;
    }
    const ct::expr::Op* op = ct::expr::find_op(term.text);
    if (op == nullptr) return -1;
    Step step{&row_of(*op), {}, {}};
    for (std::size_t i = 0; i < term.arguments.size(); ++i) {
      const int input = plant(term.arguments[i], op->name == "where" && i == 0);
      if (input < 0) return -1;
      step.inputs.push_back(input);
    }
    step.p.attrs = term.attrs;
    for (const auto& [name, variable] : term.attr_holes) {
      const auto [at, fresh] = attrs_.try_emplace(variable, std::int64_t{0});
      if (fresh) at->second = attribute(name, g_.rank(step.inputs[0]));
      step.p.attrs.set(name, at->second);
    }
    return g_.add(step);
  }

 private:
  Array number(const Term& term) const {
    const ct::expr::Scalar& value = *term.value;
    return Array::full(term.typed_number ? value.dtype : dtype_, {}, value.as_double());
  }

  int hole(const Term& term, bool condition) {
    if (term.constraint == "const") return g_.constant(g_.numbers(dtype_, {}, ct::expr::Domain{0.5, 4}));
    const DType dtype = condition ? DType::bool_ : dtype_;
    const int node = g_.find([&](int i) { return g_.dtype(i) == dtype && g_.value(i).shape() == shape_; });
    return node >= 0 && g_.random.chance(0.6) ? node : g_.input(dtype, shape_, positive());
  }
  std::optional<ct::expr::Domain> positive() {
    if (g_.random.chance(0.4)) return std::nullopt;
    return ct::expr::Domain{0.1, 0.9};
  }

  ct::expr::AttrValue attribute(std::string_view name, int rank) {
    if (name == "axis") return std::int64_t{rank - 1};
    ct::expr::Ints ints;
    if (name == "axes") {
      ints.push_back(g_.random.chance(0.5) ? rank - 1 : 0);
    } else {
      ints.resize(static_cast<std::size_t>(rank));
      std::iota(ints.rbegin(), ints.rend(), 0);
    }
    return ints;
  }

  Generator& g_;
  DType dtype_;
  ct::Sizes shape_;
  std::map<std::string, int> holes_;
  std::map<std::string, ct::expr::AttrValue> attrs_;
};

}  // namespace

const std::vector<const ct::rewrite::Rule*>& pattern_rules() {
  static const std::vector<const ct::rewrite::Rule*> rules = [] {
    std::vector<const ct::rewrite::Rule*> all;
    std::set<const ct::rewrite::Rule*> seen;
    for (const ct::rewrite::Group& group : ct::rewrite::groups()) {
      for (const ct::rewrite::Rule& rule : group.rules) {
        if (ct::rewrite::compile(rule).left.form == Term::Form::call && seen.insert(&rule).second) all.push_back(&rule);
      }
    }
    return all;
  }();
  return rules;
}

bool plant(Generator& g, const ct::rewrite::Rule& rule) {
  const Term left = ct::rewrite::compile(rule).left;
  const auto asks = [&](std::string_view condition) {
    return rule.condition.find(condition) != std::string_view::npos;
  };
  for (int attempt = 0; attempt < 5; ++attempt) {
    const DType dtype = g.some_dtype(asks("logical")    ? bool_dtype
                                     : asks("discrete") ? integer_dtype
                                     : attempt < 3      ? float_dtype
                                                        : any_dtype);
    ct::Sizes shape;
    const int rank = static_cast<int>(g.random.whole(1, 3));
    for (int axis = 0; axis < rank; ++axis) shape.push_back(axis < 2 ? g.some_size() : 2);
    if (Planter(g, dtype, shape).plant(left) >= 0) return true;
  }
  return false;
}

}  // namespace differential
