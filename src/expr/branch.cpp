#include "expr/branch.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/index.hpp"

namespace croton::expr {

Branch::Branch(const Attrs& attrs, std::size_t inputs) : then(attrs.body("then")), otherwise(attrs.body("else")) {
  const auto demand = [](bool holds, std::string_view what) {
    if (!holds) throw AttrFault(fmt::format("a branch needs {}", what));
  };
  demand(inputs >= 1, "a condition");
  captures = inputs - 1;
  results = then->graph().outputs.size();
  for (const BodyPtr& body : {then, otherwise}) {
    demand(body->graph().inputs.size() == captures, "bodies with an input for each capture");
    demand(body->graph().outputs.size() == results, "bodies with equally many outputs");
    demand(body->graph().updates.empty(), "bodies that update nothing");
  }
  const std::int64_t at = attrs.integer("index");
  demand(base::is_index(at, results), "the index of a result that there is");
  index = base::to_size(at);
}

Attrs branch_attrs(BodyPtr then, BodyPtr otherwise, std::size_t index) {
  return {{"then", std::move(then)}, {"else", std::move(otherwise)}, {"index", index}};
}

}  // namespace croton::expr
