// The module croton.nn.
#include "nn/nn.hpp"

namespace croton::python {

void bind_nn(nb::module_& m) {
  bind_nn_initializers(m);
  bind_nn_layer(m);
  bind_nn_layers(m);
  bind_nn_recurrent_layers(m);
  bind_nn_image_layers(m);
  bind_nn_python_layers(m);
  bind_nn_losses(m);
  bind_nn_metrics(m);
  bind_nn_optimizers(m);
  bind_nn_data(m);
  bind_nn_callbacks(m);
  bind_nn_models(m);
  bind_nn_strategy(m);
}

}  // namespace croton::python
