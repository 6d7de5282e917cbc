// A product of any length, taken apart: what it multiplies and divides by, through signs, products and quotients.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

struct Factors {
  std::vector<expr::NodeId> above, below;
  bool negative = false;
};

/// Of `root`, a few at most: what is left of a longer product is one factor.
Factors factors_of(Rewriter& rewriter, expr::NodeId root);

/// The same of a product of floats of which one factor is made by one of `ops`. Most products have no such factor: then
/// there is nothing, and nothing is made or stored.
std::optional<Factors> factors_with(Rewriter& rewriter, expr::NodeId root, std::initializer_list<const expr::Op*> ops);

/// Takes from `f` what stands on both sides of its line; how many.
int cancel(Factors& f);

/// The product again, in the dtype of `root`.
expr::NodeId product(Rewriter& rewriter, const Factors& f, expr::NodeId root);

}  // namespace croton::rewrite
