// Activations of neural networks, elementwise except softmin, sparsemax and glu. Names are Keras's and Theano's; if
// their formulas differ, the comment says whose it is. Integers are computed in floatX. All are stable: a finite x
// never causes an overflow or a nan in the value or the gradient.
#pragma once

#include <croton/ops.hpp>

namespace croton::nnet {

/// x.
Variable linear(Operand x);
/// max(x, 0) + negative_slope min(x, 0); its gradient at 0 is negative_slope (`relu` has the mean of both slopes, as in
/// Theano).
Variable leaky_relu(Operand x, double negative_slope = 0.2);
/// max(x, 0) + slope min(x, 0) with a trainable slope, which broadcasts against x (He et al. 2015, arXiv:1502.01852).
Variable prelu(Operand x, Operand slope);
/// min(max(x, 0), 6).
Variable relu6(Operand x);
/// x where x > 0, else alpha (exp(x) - 1) (Clevert et al. 2015, arXiv:1511.07289).
Variable elu(Operand x, double alpha = 1);
/// scale elu(x, alpha), with alpha 1.6732632423543772 and scale 1.0507009873554805 (Klambauer et al. 2017,
/// arXiv:1706.02515).
Variable selu(Operand x);
/// x where x > 0, else alpha (exp(x / alpha) - 1) (Barron 2017, arXiv:1704.07483).
Variable celu(Operand x, double alpha = 1);
/// x Phi(x), where Phi is the normal distribution function; `approximate`: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715
/// x^3))) (Hendrycks and Gimpel 2016, arXiv:1606.08415).
Variable gelu(Operand x, bool approximate = false);
/// x sigmoid(x), also called swish (Ramachandran et al. 2017, arXiv:1710.05941).
Variable silu(Operand x);
Variable swish(Operand x);
/// x tanh(softplus(x)) (Misra 2019, arXiv:1908.08681).
Variable mish(Operand x);
/// x / (1 + |x|).
Variable softsign(Operand x);
/// clip(slope x + shift, 0, 1), by default as in Theano and Keras 2; Keras 3 and PyTorch have the slope 1 / 6.
Variable hard_sigmoid(Operand x, double slope = 0.2, double shift = 0.5);
/// The piecewise approximation of the sigmoid that Theano has under this name, with errors up to 0.025; it is constant,
/// with gradient 0, beyond |x| = 6.
Variable ultra_fast_sigmoid(Operand x);
/// x relu6(x + 3) / 6, also called hard_swish (Howard et al. 2019, arXiv:1905.02244).
Variable hard_silu(Operand x);
Variable hard_swish(Operand x);
/// clip(x, -1, 1).
Variable hard_tanh(Operand x);
/// log(sigmoid(x)) = -softplus(-x).
Variable log_sigmoid(Operand x);
/// exp(x).
Variable exponential(Operand x);
/// 0.5 (x + sqrt(x^2 + b)) (Barron 2021, arXiv:2112.11687).
Variable squareplus(Operand x, double b = 4);
/// x - tanh(x).
Variable tanh_shrink(Operand x);
/// sgn(x) max(|x| - threshold, 0).
Variable soft_shrink(Operand x, double threshold = 0.5);
/// x where |x| > threshold, else 0.
Variable hard_shrink(Operand x, double threshold = 0.5);
/// x where x > threshold, else `value`.
Variable threshold(Operand x, double threshold, double value = 0);
/// 0 below -1, x above 1, (x + 1)^2 / 4 between (Martins and Astudillo 2016; the integral of sparse_sigmoid).
Variable sparse_plus(Operand x);
/// clip((x + 1) / 2, 0, 1).
Variable sparse_sigmoid(Operand x);
/// softmax(-x) along `axis`.
Variable softmin(Operand x, int axis = -1);
/// The probabilities closest to x, some of them exactly 0: max(x - tau, 0) along `axis`, where tau is such that they
/// sum to 1 (Martins and Astudillo 2016, arXiv:1602.02068). The gradient is g minus its mean over the nonzero elements,
/// and 0 for the others.
Variable sparsemax(Operand x, int axis = -1);
/// a sigmoid(b), where a and b are the halves of x along `axis`, whose size must be even (Dauphin et al. 2016,
/// arXiv:1612.08083).
Variable glu(Operand x, int axis = -1);

}  // namespace croton::nnet
