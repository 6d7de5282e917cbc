// Networks: layers, models, losses, metrics, optimizers and `fit`, in Keras's terms. A model is a graph of layers that
// makes a symbolic expression, and `fit` compiles it to one function with model, loss, gradients, optimizer and
// metrics. docs/use/networks.md is the overview, docs/use/first_network.md the tutorial. croton.hpp does not include
// this header.
//
// Defaults of arguments that are not members of options are constants named default_..., next to the function or in the
// class; the Python module takes its defaults from them and from the options.
#pragma once

#include <croton/nn/callbacks.hpp>
#include <croton/nn/data.hpp>
#include <croton/nn/initializers.hpp>
#include <croton/nn/layer.hpp>
#include <croton/nn/layers.hpp>
#include <croton/nn/losses.hpp>
#include <croton/nn/metrics.hpp>
#include <croton/nn/model.hpp>
#include <croton/nn/optimizers.hpp>
#include <croton/nn/strategy.hpp>
