set(SOURCES activation_layers.cpp activations.cpp all_reduce.cpp callbacks.cpp conv_layers.cpp core_layers.cpp data.cpp draws.cpp epochs.cpp fit.cpp history.cpp
  image_layers.cpp initializers.cpp layer.cpp losses.cpp merging_layers.cpp metrics.cpp model.cpp model_files.cpp noise_layers.cpp
  norm_layers.cpp optimizers.cpp pool_layers.cpp progress.cpp recurrent_layers.cpp replica.cpp
  schedules.cpp steps.cpp strategy.cpp wrapper_layers.cpp)
