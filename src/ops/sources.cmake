set(SOURCES activations.cpp contract.cpp elementwise.cpp custom_gradient.cpp from_graph.cpp host_op.cpp generate.cpp kernel_op.cpp
  leaf.cpp losses.cpp nnet.cpp reduce.cpp registry.cpp transfer.cpp view.cpp axes.cpp diagonal.cpp gather.cpp indexing.cpp join.cpp
  ranges.cpp scatter.cpp subtensor.cpp computed.cpp ctc.cpp cumulate.cpp lines.cpp sort.cpp composed.cpp functions.cpp special.cpp
  special_reference.cpp complex.cpp batch_positions.cpp batch_rules.cpp einsum.cpp gradient_marks.cpp products.cpp stable_forms.cpp
  random.cpp random_reference.cpp random_streams.cpp draw_request.cpp draw_states.cpp host_draw.cpp mrg_draws.cpp mrg_streams.cpp
  numpy_draws.cpp numpy_streams.cpp
  convolution.cpp images.cpp layers.cpp pooling.cpp window.cpp
  body_sizes.cpp branch.cpp inspect.cpp loop.cpp loop_gradient.cpp scan.cpp)
