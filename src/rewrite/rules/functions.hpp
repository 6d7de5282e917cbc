// The functions of rules that text cannot say, by what they are about; the rows that name them say what each is for.
// All take the root and give the node to use instead, or no_node.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

// reductions.cpp
expr::NodeId reduce_nothing(Rewriter& rewriter, expr::NodeId root);
expr::NodeId reduce_of_reduce(Rewriter& rewriter, expr::NodeId root);
expr::NodeId reduce_of_dimshuffle(Rewriter& rewriter, expr::NodeId root);
expr::NodeId factor_out_of_sum(Rewriter& rewriter, expr::NodeId root);
expr::NodeId sum_of_repeated(Rewriter& rewriter, expr::NodeId root);

// indexing.cpp
expr::NodeId whole_subtensor(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_subtensor(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_map(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_reduce(Rewriter& rewriter, expr::NodeId root);
expr::NodeId subtensor_of_product(Rewriter& rewriter, expr::NodeId root);

// products.cpp
expr::NodeId transpose_of_product(Rewriter& rewriter, expr::NodeId root);
expr::NodeId scaled_product(Rewriter& rewriter, expr::NodeId root);
expr::NodeId product_with_zeros(Rewriter& rewriter, expr::NodeId root);
expr::NodeId outer_product(Rewriter& rewriter, expr::NodeId root);
expr::NodeId chain_of_products(Rewriter& rewriter, expr::NodeId root);

}  // namespace croton::rewrite
