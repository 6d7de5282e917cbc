#include <croton/activations.hpp>
#include <croton/nn/initializers.hpp>
#include <croton/nnet.hpp>

#include "builder/gradient_context.hpp"
#include "nn/by_name.hpp"

namespace croton::nn {
namespace {

using Make = Variable (*)(const Operand& x);
/// NaN is not below 0, so it passes; at 0 the gradient is 0, that of the constant.
Variable relu(const Operand& x) { return where(x <= 0, 0, x); }

constexpr Named<Make> activations[] = {
    {"linear", [](const Operand& x) { return x.variable; }},
    {"relu", relu},
    {"softmax", [](const Operand& x) { return nnet::softmax(x); }},
    {"log_softmax", [](const Operand& x) { return nnet::log_softmax(x); }},
    {"sigmoid", [](const Operand& x) { return nnet::sigmoid(x); }},
    {"tanh", [](const Operand& x) { return tanh(x); }},
    {"elu", [](const Operand& x) { return nnet::elu(x); }},
    {"selu", [](const Operand& x) { return nnet::selu(x); }},
    {"gelu", [](const Operand& x) { return nnet::gelu(x); }},
    {"silu", [](const Operand& x) { return nnet::silu(x); }},
    {"swish", [](const Operand& x) { return nnet::silu(x); }},
    {"softplus", [](const Operand& x) { return nnet::softplus(x); }},
    {"softsign", [](const Operand& x) { return nnet::softsign(x); }},
    {"leaky_relu", [](const Operand& x) { return nnet::leaky_relu(x); }},
    {"relu6", [](const Operand& x) { return nnet::relu6(x); }},
    {"mish", [](const Operand& x) { return nnet::mish(x); }},
    {"exponential", [](const Operand& x) { return nnet::exponential(x); }},
    {"hard_sigmoid", [](const Operand& x) { return nnet::hard_sigmoid(x, 1.0 / 6); }},
    {"hard_silu", [](const Operand& x) { return nnet::hard_silu(x); }},
    {"hard_swish", [](const Operand& x) { return nnet::hard_silu(x); }},
    {"celu", [](const Operand& x) { return nnet::celu(x); }},
    {"hard_tanh", [](const Operand& x) { return nnet::hard_tanh(x); }},
    {"log_sigmoid", [](const Operand& x) { return nnet::log_sigmoid(x); }},
    {"sparse_plus", [](const Operand& x) { return nnet::sparse_plus(x); }},
    {"sparse_sigmoid", [](const Operand& x) { return nnet::sparse_sigmoid(x); }},
    {"sparsemax", [](const Operand& x) { return nnet::sparsemax(x); }},
    {"squareplus", [](const Operand& x) { return nnet::squareplus(x); }},
    {"tanh_shrink", [](const Operand& x) { return nnet::tanh_shrink(x); }},
    {"soft_shrink", [](const Operand& x) { return nnet::soft_shrink(x); }},
    {"hard_shrink", [](const Operand& x) { return nnet::hard_shrink(x); }},
};

}  // namespace

Activation::Activation(std::string_view name) : name_(name.empty() ? "linear" : name) {
  // The op gets the line of x, which errors name.
  function_ = [make = by_name(std::span<const Named<Make>>(activations), name_, "activation")](const Variable& x) {
    const builder::OriginScope origin(x.where());
    return make(x);
  };
}

}  // namespace croton::nn
