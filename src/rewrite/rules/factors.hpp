// The factors of numerator and denominator of a product of any length, found through signs, products and quotients.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

struct Factors {
  std::vector<expr::NodeId> numerator, denominator;
  bool negative = false;
};

/// The factors of `root`. Their number is limited: the rest of a longer product is one factor.
Factors factors_of(Rewriter& rewriter, expr::NodeId root);

/// The factors of a product of floats if one of them has one of the `ops`; otherwise nothing. Most products have no
/// such factor: for them no memory is allocated.
std::optional<Factors> factors_with(Rewriter& rewriter, expr::NodeId root, std::initializer_list<const expr::Op*> ops);

/// Cancels common factors of numerator and denominator; returns how many.
int cancel(Factors& f);

/// Builds the product in the dtype of `root`.
expr::NodeId product(Rewriter& rewriter, const Factors& f, expr::NodeId root);

}  // namespace croton::rewrite
