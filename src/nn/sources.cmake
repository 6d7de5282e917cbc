set(SOURCES activations.cpp callbacks.cpp core_layers.cpp data.cpp draws.cpp fit.cpp history.cpp image_layers.cpp initializers.cpp layer.cpp
  losses.cpp merging_layers.cpp metrics.cpp model.cpp model_files.cpp norm_layers.cpp optimizers.cpp progress.cpp recurrent_layers.cpp schedules.cpp)
