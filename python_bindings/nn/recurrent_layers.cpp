// Recurrent layers.
#include "core/operands.hpp"
#include "nn/layer_class.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

using Options = nn::RecurrentOptions;

/// Not called bind: std::bind would be found through its arguments, and chosen.
/// `gates`: the fields of gated kinds, after the activation. `own`: the fields of one kind only.
template <class L, class... Gates, class... OwnFields>
void bind_recurrent(nb::module_& m, const char* name, const char* doc, const char* init_doc,
                    const std::tuple<Gates...>& gates, const std::tuple<OwnFields...>& own) {
  const std::tuple activation{Field{"activation", &Options::activation}};
  const std::tuple weights{Field{"use_bias", &Options::use_bias},
                           Field{"kernel_initializer", &Options::kernel_initializer},
                           Field{"recurrent_initializer", &Options::recurrent_initializer},
                           Field{"bias_initializer", &Options::bias_initializer}};
  const std::tuple rest{OptionalField{"kernel_regularizer", &Options::kernel_regularizer},
                        OptionalField{"recurrent_regularizer", &Options::recurrent_regularizer},
                        OptionalField{"bias_regularizer", &Options::bias_regularizer},
                        Field{"dropout", &Options::dropout},
                        Field{"recurrent_dropout", &Options::recurrent_dropout},
                        Field{"return_sequences", &Options::return_sequences},
                        Field{"go_backwards", &Options::go_backwards},
                        OptionalField{"input_shape", &Options::input_shape},
                        OptionalField{"name", &Options::name}};
  bind_layer<L, std::int64_t>(m, name, doc,
                              keywords(std::tuple_cat(activation, gates, weights), std::tuple_cat(own, rest)),
                              "units"_a, init_doc);
}

/// `own`: a field of GRU or LSTM only.
template <class L>
void bind_gated(nb::module_& m, const char* name, const char* own, bool Options::* member, const char* doc) {
  bind_recurrent<L>(
      m, name, doc,
      "return_sequences: returns all states (batch, steps, units) instead of the last one (batch, units). "
      "go_backwards: reads the steps from the last to the first. dropout, recurrent_dropout: the dropout of the "
      "input and of the state, with the same mask in all steps.",
      std::tuple{Field{"recurrent_activation", &Options::recurrent_activation}}, std::tuple{Field{own, member}});
}

}  // namespace

void bind_nn_recurrent_layers(nb::module_& m) {
  bind_recurrent<nn::SimpleRNN>(m, "SimpleRNN", "h' = activation(x kernel + h recurrent_kernel + bias) for each step.",
                                "Keywords as for LSTM.", std::tuple{}, std::tuple{});
  bind_gated<nn::GRU>(m, "GRU", "reset_after", &nn::RecurrentOptions::reset_after,
                      "A gated recurrent unit: gates z, r, h side by side; h' = z h + (1 - z) activation(...). "
                      "reset_after: the reset gate is applied after the product, and the bias is (2, 3 units).");
  bind_gated<nn::LSTM>(m, "LSTM", "unit_forget_bias", &nn::RecurrentOptions::unit_forget_bias,
                       "A long short-term memory: gates i, f, c, o side by side; c' = f c + i activation(...), h' = o "
                       "activation(c'). unit_forget_bias: the initial bias of the forget gate is 1.");
  bind_named<nn::Bidirectional, nn::Layer, std::string>(
      m, "Bidirectional",
      "A recurrent layer and one with the same options that runs backwards, merged by merge_mode: 'concat', 'sum', "
      "'mul' or 'ave'. The given layer itself is not used. ValueError if it is not recurrent.",
      "layer"_a, "merge_mode"_a = nn::Bidirectional::default_merge);
}

}  // namespace croton::python
