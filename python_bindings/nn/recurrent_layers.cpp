// Layers that go through steps one after another.
#include "core/operands.hpp"
#include "nn/layer_class.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

/// The three kinds have the same options in C++; `own` is the one that only GRU or LSTM has.
template <class L>
void bind(nb::module_& m, const char* name, const char* own, bool nn::RecurrentOptions::* member, const char* doc) {
  const auto init =
      [member](Handle<L>* self, std::int64_t units, nb::handle activation, nb::handle recurrent_activation,
               bool use_bias, nb::handle kernel_initializer, nb::handle recurrent_initializer,
               nb::handle bias_initializer, bool own_value, nb::handle kernel_regularizer,
               nb::handle recurrent_regularizer, nb::handle bias_regularizer, double dropout, double recurrent_dropout,
               bool return_sequences, bool go_backwards, nb::handle input_shape, std::optional<std::string> its_name) {
        nn::RecurrentOptions options{.activation = to_activation(activation),
                                     .recurrent_activation = to_activation(recurrent_activation),
                                     .use_bias = use_bias,
                                     .return_sequences = return_sequences,
                                     .go_backwards = go_backwards,
                                     .dropout = dropout,
                                     .recurrent_dropout = recurrent_dropout,
                                     .kernel_initializer = to_initializer(kernel_initializer),
                                     .recurrent_initializer = to_initializer(recurrent_initializer),
                                     .bias_initializer = to_initializer(bias_initializer),
                                     .kernel_regularizer = to_regularizer(kernel_regularizer),
                                     .recurrent_regularizer = to_regularizer(recurrent_regularizer),
                                     .bias_regularizer = to_regularizer(bias_regularizer),
                                     .input_shape = to_optional_shape(input_shape),
                                     .name = text_or_empty(std::move(its_name))};
        options.*member = own_value;
        make(self, units, options);
      };
  LayerClass<L>(m, name, doc)
      .def("__init__", init, "units"_a, "activation"_a = "tanh", "recurrent_activation"_a = "sigmoid",
           "use_bias"_a = true, "kernel_initializer"_a = "glorot_uniform", "recurrent_initializer"_a = "orthogonal",
           "bias_initializer"_a = "zeros", nb::kw_only(), nb::arg(own) = true, "kernel_regularizer"_a = nb::none(),
           "recurrent_regularizer"_a = nb::none(), "bias_regularizer"_a = nb::none(), "dropout"_a = 0.0,
           "recurrent_dropout"_a = 0.0, "return_sequences"_a = false, "go_backwards"_a = false,
           "input_shape"_a = nb::none(), "name"_a = nb::none(),
           "return_sequences: all states (batch, steps, units) in place of the last one (batch, units). go_backwards: "
           "reads the steps from the last to the first. dropout, recurrent_dropout: of what comes in, and of the "
           "states, with the same mask in all steps.");
}

void bind_simple(nb::module_& m) {
  const auto init = [](Handle<nn::SimpleRNN>* self, std::int64_t units, nb::handle activation, bool use_bias,
                       nb::handle kernel_initializer, nb::handle recurrent_initializer, nb::handle bias_initializer,
                       nb::handle kernel_regularizer, nb::handle recurrent_regularizer, nb::handle bias_regularizer,
                       double dropout, double recurrent_dropout, bool return_sequences, bool go_backwards,
                       nb::handle input_shape, std::optional<std::string> name) {
    make(self, units,
         nn::RecurrentOptions{.activation = to_activation(activation),
                              .use_bias = use_bias,
                              .return_sequences = return_sequences,
                              .go_backwards = go_backwards,
                              .dropout = dropout,
                              .recurrent_dropout = recurrent_dropout,
                              .kernel_initializer = to_initializer(kernel_initializer),
                              .recurrent_initializer = to_initializer(recurrent_initializer),
                              .bias_initializer = to_initializer(bias_initializer),
                              .kernel_regularizer = to_regularizer(kernel_regularizer),
                              .recurrent_regularizer = to_regularizer(recurrent_regularizer),
                              .bias_regularizer = to_regularizer(bias_regularizer),
                              .input_shape = to_optional_shape(input_shape),
                              .name = text_or_empty(std::move(name))});
  };
  LayerClass<nn::SimpleRNN>(m, "SimpleRNN", "h' = activation(x kernel + h recurrent_kernel + bias) for each step.")
      .def("__init__", init, "units"_a, "activation"_a = "tanh", "use_bias"_a = true,
           "kernel_initializer"_a = "glorot_uniform", "recurrent_initializer"_a = "orthogonal",
           "bias_initializer"_a = "zeros", nb::kw_only(), "kernel_regularizer"_a = nb::none(),
           "recurrent_regularizer"_a = nb::none(), "bias_regularizer"_a = nb::none(), "dropout"_a = 0.0,
           "recurrent_dropout"_a = 0.0, "return_sequences"_a = false, "go_backwards"_a = false,
           "input_shape"_a = nb::none(), "name"_a = nb::none(), "Keywords as of LSTM.");
}

}  // namespace

void bind_nn_recurrent_layers(nb::module_& m) {
  bind_simple(m);
  bind<nn::GRU>(m, "GRU", "reset_after", &nn::RecurrentOptions::reset_after,
                "Gates z, r, h side by side: h' = z h + (1 - z) activation(...). reset_after: the reset gate acts "
                "behind the product, and the bias is (2, 3 units).");
  bind<nn::LSTM>(m, "LSTM", "unit_forget_bias", &nn::RecurrentOptions::unit_forget_bias,
                 "Gates i, f, c, o side by side: c' = f c + i activation(...), h' = o activation(c'). "
                 "unit_forget_bias: the bias of the forget gate begins with 1.");
  LayerClass<nn::Bidirectional>(m, "Bidirectional",
                                "A recurrent layer forwards, and one of the same options backwards, put together by "
                                "merge_mode: side by side ('concat'), 'sum', 'mul' or 'ave'. The layer that is given "
                                "is not used itself. ValueError for one that is not recurrent.")
      .def(
          "__init__",
          [](Handle<nn::Bidirectional>* self, const nn::Layer& layer, const std::string& merge,
             std::optional<std::string> name) { make(self, layer, merge, text_or_empty(std::move(name))); },
          "layer"_a, "merge_mode"_a = "concat", nb::kw_only(), "name"_a = nb::none());
}

}  // namespace croton::python
