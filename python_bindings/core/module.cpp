// The Python module croton._croton: a thin layer over the public C++ interface. Functions that are easier to write in
// Python are in croton/*.py.
#include "core/bindings.hpp"
#include "core/foreign_arrays.hpp"
#include "core/gil.hpp"

NB_MODULE(_croton, m) {
  using namespace croton::python;
  prepare_for_exit();
#ifdef NDEBUG
  // Objects that the user's modules hold at the end, such as functions and their callbacks, are freed with the process.
  nb::set_leak_warnings(false);
#endif
  m.doc() = "Symbolic tensor expressions, compiled: the native part. Use `import croton`.";
  nb::module_ nnet = m.def_submodule("nnet", "Functions for neural networks; formulas and conventions are Theano's.");
  nb::module_ io = m.def_submodule("io", "Data shipped inside the library.");
  bind_errors(m);
  bind_flags(m);
  bind_variables(m);
  bind_devices(m);
  bind_operations(m);
  bind_nnet(nnet);
  bind_convolution(nnet);
  bind_layers(nnet);
  bind_user_ops(m);
  bind_joins(m);
  bind_indexing(m);
  bind_sorting(m);
  bind_complex(m);
  bind_elementwise_functions(m);
  bind_products(m);
  bind_gradients(m);
  bind_loops(m);
  bind_random(m);
  bind_inspection(m);
  bind_explain(m);
  bind_functions(m);
  bind_foreign_arrays(m);
  bind_data(io);
  nb::module_ trace = m.def_submodule("_trace", "Traces of calls, and the log of placements.");
  bind_trace(trace);
  nb::module_ nn = m.def_submodule("_nn", "Networks, in Keras's terms.");
  bind_nn(nn);
  explain_keywords(m);
}
