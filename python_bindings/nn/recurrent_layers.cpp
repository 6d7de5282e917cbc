// Layers that go through steps one after another.
#include "core/operands.hpp"
#include "nn/layer_class.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

using Options = nn::RecurrentOptions;

/// `gates`: what the kinds with gates have behind the activation. `own`: what one kind alone has.
template <class L, class... Gates, class... OwnFields>
void bind(nb::module_& m, const char* name, const char* doc, const char* init_doc, const std::tuple<Gates...>& gates,
          const std::tuple<OwnFields...>& own) {
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

/// `own`, a field that only GRU or LSTM has.
template <class L>
void bind_gated(nb::module_& m, const char* name, const char* own, bool Options::* member, const char* doc) {
  bind<L>(m, name, doc,
          "return_sequences: all states (batch, steps, units) in place of the last one (batch, units). go_backwards: "
          "reads the steps from the last to the first. dropout, recurrent_dropout: of what comes in, and of the "
          "states, with the same mask in all steps.",
          std::tuple{Field{"recurrent_activation", &Options::recurrent_activation}}, std::tuple{Field{own, member}});
}

}  // namespace

void bind_nn_recurrent_layers(nb::module_& m) {
  bind<nn::SimpleRNN>(m, "SimpleRNN", "h' = activation(x kernel + h recurrent_kernel + bias) for each step.",
                      "Keywords as of LSTM.", std::tuple{}, std::tuple{});
  bind_gated<nn::GRU>(
      m, "GRU", "reset_after", &nn::RecurrentOptions::reset_after,
      "Gates z, r, h side by side: h' = z h + (1 - z) activation(...). reset_after: the reset gate acts "
      "behind the product, and the bias is (2, 3 units).");
  bind_gated<nn::LSTM>(m, "LSTM", "unit_forget_bias", &nn::RecurrentOptions::unit_forget_bias,
                       "Gates i, f, c, o side by side: c' = f c + i activation(...), h' = o activation(c'). "
                       "unit_forget_bias: the bias of the forget gate begins with 1.");
  bind_named<nn::Bidirectional, nn::Layer, std::string>(
      m, "Bidirectional",
      "A recurrent layer forwards, and one of the same options backwards, put together by merge_mode: side by side "
      "('concat'), 'sum', 'mul' or 'ave'. The layer that is given is not used itself. ValueError for one that is not "
      "recurrent.",
      "layer"_a, "merge_mode"_a = "concat");
}

}  // namespace croton::python
