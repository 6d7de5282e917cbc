// Simplification of sums and products of many operands: each function splits a whole chain of ops into terms (or
// factors), merges equal ones, and builds the chain again. The time is linear in the length of the chain. A chain is
// only rebuilt if it becomes shorter, so that the user's order of roundings is otherwise kept.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

/// Splits a sum at add, sub, neg and products with a constant, as far as its parts have its dtype and no other reader.
/// Equal terms of one sign become one term, a x + b x = (a + b) x, and constants one constant. The new sum has its
/// terms in the order of their nodes, positive ones first and the constant last. Integers stay exact modulo 2^n.
expr::NodeId collect_terms(Rewriter& rewriter, expr::NodeId root);
/// The same for terms of both signs: x - x is 0, 3 x - x is 2 x.
expr::NodeId cancel_terms(Rewriter& rewriter, expr::NodeId root);

/// Splits a product at mul, true_divide, neg, reciprocal, sqr, sqrt and powers with a constant exponent. Its constants
/// become one (which must be a normal number); factors keep their order.
expr::NodeId collect_constants(Rewriter& rewriter, expr::NodeId root);
/// Cancels factors of numerator and denominator, sqr(x) / x is x, and merges powers of one base, x^a x^b = x^(a + b).
expr::NodeId cancel_powers(Rewriter& rewriter, expr::NodeId root);

/// Cancels common factors of numerator and denominator, and moves signs to the front: also in parts with other readers,
/// for the first 32 factors.
expr::NodeId cancel_factors(Rewriter& rewriter, expr::NodeId root);

}  // namespace croton::rewrite
