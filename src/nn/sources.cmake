set(SOURCES
  activation_layers.cpp activations.cpp all_reduce.cpp callbacks.cpp class_weights.cpp conv_layers.cpp core_layers.cpp
  data.cpp draws.cpp epochs.cpp evaluate.cpp fit.cpp history.cpp image_layers.cpp initializers.cpp layer.cpp
  learning.cpp losses.cpp merging_layers.cpp metrics.cpp model.cpp model_compile.cpp model_files.cpp noise_layers.cpp
  norm_layers.cpp optimizers.cpp pool_layers.cpp predict.cpp progress.cpp recurrent_layers.cpp replica.cpp
  schedules.cpp steps.cpp strategy.cpp training.cpp wrapper_layers.cpp)
