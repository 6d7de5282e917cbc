// Sums and products of many operands: a whole chain of ops is taken apart into terms (or factors), what can be merged
// is merged, and the rest is built again. Each takes time in proportion to the chain, and rebuilds it only if it
// becomes shorter, so that rounding stays as the user wrote it where nothing is gained.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

/// A sum is taken apart through add, sub, neg and products with a constant, as far as its parts have its dtype and no
/// other reader. Equal terms of one sign become one, a x + b x = (a + b) x, and constants one constant. The new sum has
/// its terms by age, positive ones first and the constant last. Integers stay exact modulo 2^n.
expr::NodeId collect_terms(Rewriter& rewriter, expr::NodeId root);
/// The same for terms of both signs: x - x is 0, 3 x - x is 2 x.
expr::NodeId cancel_terms(Rewriter& rewriter, expr::NodeId root);

/// A product is taken apart through mul, true_divide, neg, reciprocal, sqr, sqrt and powers with a constant exponent.
/// Its constants become one (which must be a normal number), factors stay in their order.
expr::NodeId collect_constants(Rewriter& rewriter, expr::NodeId root);
/// Factors above and below the line cancel, sqr(x) / x is x, and powers of one base merge, x^a x^b = x^(a + b).
expr::NodeId cancel_powers(Rewriter& rewriter, expr::NodeId root);

/// Shared factors above and below the line cancel, and signs gather at the front: through parts that have other readers
/// too, in the first 32 factors.
expr::NodeId cancel_factors(Rewriter& rewriter, expr::NodeId root);

}  // namespace croton::rewrite
