#include "expr/body.hpp"

#include <algorithm>

#include "expr/print.hpp"

namespace croton::expr {

Body::Body(Graph graph, std::shared_ptr<const void> source)
    : graph_(std::move(graph)), source_(std::move(source)), text_(print(graph_)) {}

bool operator==(const Body& a, const Body& b) {
  // Long constants are cut short when they are printed.
  return a.text_ == b.text_ && std::ranges::equal(a.graph_.constants, b.graph_.constants,
                                                  [](const Array& x, const Array& y) { return x.same_bits(y); });
}

std::uint64_t hash_of(const Body& body) { return std::hash<std::string>{}(body.text()); }
const std::string& text_of(const Body& body) { return body.text(); }
bool same(const Body& a, const Body& b) { return &a == &b || a == b; }

}  // namespace croton::expr
