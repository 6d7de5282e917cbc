// The functions of rules that text cannot express, by file; the rows of the rules give their reasons. Each returns the
// node that replaces the root, or no_node.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

// reductions.cpp
expr::NodeId argmax_of_increasing(Rewriter& rewriter, expr::NodeId root);
expr::NodeId reduce_unit_axes(Rewriter& rewriter, expr::NodeId root);
expr::NodeId reduce_of_reduce(Rewriter& rewriter, expr::NodeId root);
expr::NodeId reduce_of_dimshuffle(Rewriter& rewriter, expr::NodeId root);
expr::NodeId factor_out_of_sum(Rewriter& rewriter, expr::NodeId root);
expr::NodeId reduce_of_repeated(Rewriter& rewriter, expr::NodeId root);

// exponentials.cpp
/// sigmoid(-x) exp(x) is sigmoid(x), and exp(x) / (exp(x) + exp(y)) is sigmoid(x - y), anywhere in a product.
expr::NodeId sigmoid_times_exp(Rewriter& rewriter, expr::NodeId root);
/// exp(x) / expm1(x) is -1 / expm1(-x).
expr::NodeId exp_over_expm1(Rewriter& rewriter, expr::NodeId root);
/// exp(x) exp(-x) is 1.
expr::NodeId exp_times_exp_of_minus(Rewriter& rewriter, expr::NodeId root);
/// exp(x x) erfc(x) is erfcx(x), and exp(-x x) / erfc(x) is 1 / erfcx(x).
expr::NodeId erfc_times_exp(Rewriter& rewriter, expr::NodeId root);
/// log(exp(x) + c) is logaddexp(x, log(c)).
expr::NodeId log_of_exp_and_constant(Rewriter& rewriter, expr::NodeId root);

// joins.cpp
expr::NodeId simplify_join(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_join(Rewriter& rewriter, expr::NodeId root);
expr::NodeId write_to_all(Rewriter& rewriter, expr::NodeId root);
expr::NodeId write_same_value(Rewriter& rewriter, expr::NodeId root);
expr::NodeId write_again(Rewriter& rewriter, expr::NodeId root);
expr::NodeId write_among_zeros(Rewriter& rewriter, expr::NodeId root);
expr::NodeId read_written_part(Rewriter& rewriter, expr::NodeId root);

// indexing.cpp
expr::NodeId whole_subtensor(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_added_axis(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_subtensor(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_map(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_reduce(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_product(Rewriter& rewriter, expr::NodeId root);

// one_place.cpp
/// A sum of an array that is zero except at one position of some axes is the value at that position; only above
/// windows.
expr::NodeId sum_of_one_place(Rewriter& rewriter, expr::NodeId root);
/// A maximum whose argmax is also needed is the value at that position; only above windows.
expr::NodeId max_at_argmax(Rewriter& rewriter, expr::NodeId root);

// products.cpp
expr::NodeId transpose_of_product(Rewriter& rewriter, expr::NodeId root);
expr::NodeId scaled_product(Rewriter& rewriter, expr::NodeId root);
expr::NodeId product_with_zeros(Rewriter& rewriter, expr::NodeId root);
expr::NodeId outer_product(Rewriter& rewriter, expr::NodeId root);
expr::NodeId chain_of_products(Rewriter& rewriter, expr::NodeId root);
expr::NodeId power_by_squaring(Rewriter& rewriter, expr::NodeId root);

}  // namespace croton::rewrite
