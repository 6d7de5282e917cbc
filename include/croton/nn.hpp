// Networks: layers, models, losses, metrics, optimizers and `fit`, in Keras's terms. A model is a graph of layers that
// makes a symbolic expression, and `fit` compiles it to one function with model, loss, gradients, optimizer and
// metrics. docs/use/networks.md is the overview, docs/use/first_network.md the tutorial. croton.hpp does not include
// this header.
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
