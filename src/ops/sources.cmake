set(SOURCES
  axes.cpp custom_gradient.cpp leaf.cpp registry.cpp
  elementwise/activations.cpp elementwise/complex.cpp elementwise/composed.cpp elementwise/elementwise.cpp
    elementwise/functions.cpp elementwise/special.cpp elementwise/special_reference.cpp elementwise/stable_forms.cpp
  arrays/axes.cpp arrays/batch_positions.cpp arrays/batch_rules.cpp arrays/computed.cpp arrays/cumulate.cpp
    arrays/diagonal.cpp arrays/gather.cpp arrays/generate.cpp arrays/indexing.cpp arrays/join.cpp arrays/lines.cpp
    arrays/parts.cpp arrays/ranges.cpp arrays/reduce.cpp arrays/scatter.cpp arrays/sort.cpp arrays/subtensor.cpp
    arrays/view.cpp
  linear/contract.cpp linear/einsum.cpp linear/products.cpp
  nnet/convolution.cpp nnet/ctc.cpp nnet/image_options.cpp nnet/nnet.cpp nnet/nnet_layers.cpp nnet/nnet_losses.cpp
    nnet/pooling.cpp nnet/window.cpp
  random/draw_request.cpp random/draw_states.cpp random/host_draw.cpp random/mrg_draws.cpp random/mrg_streams.cpp
    random/numpy_draws.cpp random/numpy_streams.cpp random/random.cpp random/random_reference.cpp
    random/random_streams.cpp
  control/body_sizes.cpp control/branch.cpp control/gradient_marks.cpp control/inspect.cpp control/loop.cpp
    control/loop_gradient.cpp control/scan.cpp control/transfer.cpp
  user/from_graph.cpp user/host_op.cpp user/kernel_op.cpp)
