// The parts of the Python module, each in a file of its own. module.cpp calls them in the order of their dependencies.
#pragma once

#include <nanobind/nanobind.h>
// Included here for all parts: a part without one of them would convert the same type differently.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>

namespace croton::python {

namespace nb = nanobind;
using namespace nb::literals;

/// Raises a C++ exception in Python, for slots of types, where nanobind does not do so.
void set_python_error(const std::exception_ptr& pointer) noexcept;
/// The exception classes and the translation of C++ errors to them.
void bind_errors(nb::module_& m);
/// Lets errors of calls with an unknown keyword name the nearest keyword, for all functions of the module or class and
/// of the modules and classes in it. Call it after all functions are bound.
void explain_keywords(nb::handle scope);
/// Reads, sets and scopes flags.
void bind_flags(nb::module_& m);
/// Variable, SharedVariable, inputs and constants.
void bind_variables(nb::module_& m);
/// The devices of this machine, device scopes, transfers.
void bind_devices(nb::module_& m);
/// The functions of <croton/ops.hpp>.
void bind_operations(nb::module_& m);
/// The functions of <croton/nnet.hpp>, <croton/activations.hpp> and <croton/nnet_losses.hpp>.
void bind_nnet(nb::module_& nnet);
/// The functions of <croton/convolution.hpp>.
void bind_convolution(nb::module_& nnet);
/// The functions of <croton/nnet_layers.hpp>, except dropout, which needs random streams.
void bind_layers(nb::module_& nnet);
/// KernelOp, OpFromGraph, clone.
void bind_user_ops(nb::module_& m);
/// The functions of <croton/views.hpp>.
void bind_joins(nb::module_& m);
/// The functions of <croton/indexing.hpp>.
void bind_indexing(nb::module_& m);
/// The functions of <croton/sorting.hpp>.
void bind_sorting(nb::module_& m);
/// The functions of <croton/complex.hpp>.
void bind_complex(nb::module_& m);
/// The functions of <croton/elementwise.hpp>.
void bind_elementwise_functions(nb::module_& m);
/// The functions of <croton/products.hpp>.
void bind_products(nb::module_& m);
/// The functions of <croton/grad.hpp>.
void bind_gradients(nb::module_& m);
/// The data of <croton/io.hpp>.
void bind_data(nb::module_& io);
/// The functions of <croton/scan.hpp> and <croton/ifelse.hpp>.
void bind_loops(nb::module_& m);
/// Random streams.
void bind_random(nb::module_& m);
/// The functions of <croton/inspect.hpp>.
void bind_inspection(nb::module_& m);
/// function, Function, KernelInfo.
void bind_functions(nb::module_& m);
/// Explanation, ExplainedStep, known_gpus.
void bind_explain(nb::module_& m);
/// Trace, log_device_placement.
void bind_trace(nb::module_& m);
/// <croton/nn.hpp>.
void bind_nn(nb::module_& nn);

}  // namespace croton::python
