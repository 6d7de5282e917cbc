// Explanations: the distance of a function's steps to the limit of a machine.
#include <croton/explain.hpp>

#include "core/bindings.hpp"

namespace croton::python {

void bind_explain(nb::module_& m) {
  nb::class_<ExplainedStep>(m, "ExplainedStep", "A launch of a call, with its distance to the limit of a machine.")
      .def_ro("what", &ExplainedStep::what, "'kernel', 'product', 'routine', 'loop', 'branch', 'host' or 'transfer'.")
      .def_ro("name", &ExplainedStep::name, "The kernel's name, or the sizes of a product.")
      .def_ro("lines", &ExplainedStep::lines, "The user's lines that it computes.")
      .def_ro("launches", &ExplainedStep::launches)
      .def_ro("blocks", &ExplainedStep::blocks, "Of a GPU; 0 elsewhere.")
      .def_ro("threads", &ExplainedStep::threads, "Of a block.")
      .def_ro("registers", &ExplainedStep::registers, "Of a thread.")
      .def_ro("occupancy", &ExplainedStep::occupancy, "The share of the warps that a multiprocessor can have.")
      .def_ro("occupancy_limiter", &ExplainedStep::occupancy_limiter)
      .def_ro("bytes", &ExplainedStep::bytes, "From and to memory.")
      .def_ro("least_bytes", &ExplainedStep::least_bytes, "The same if each operand moves once.")
      .def_ro("operations", &ExplainedStep::operations, "Of a product: additions and multiplications.")
      .def_ro("instructions_per_element", &ExplainedStep::instructions_per_element,
              "Of one thread, from the machine code; None if that is not known.")
      .def_ro("instructions_per_byte", &ExplainedStep::instructions_per_byte, "The same for a byte.")
      .def_ro("seconds", &ExplainedStep::seconds, "Modelled; None if only a call knows the work.")
      .def_ro("floor_seconds", &ExplainedStep::floor_seconds, "At the machine's full rate.")
      .def_ro("measured_seconds", &ExplainedStep::measured_seconds, "The median of recorded calls, or None.")
      .def_ro("limiter", &ExplainedStep::limiter,
              "'memory', 'issue', 'latency', 'parallelism', 'launch' or 'arithmetic'.")
      .def_ro("fusion", &ExplainedStep::fusion,
              "Its operations, the values that it stores, the kernels that it is apart from.")
      .def_ro("change", &ExplainedStep::change, "A way to make it faster.")
      .def_prop_ro("share", &ExplainedStep::share, "The floor by the time: 1 is the limit of the machine.")
      .def("__repr__", [](const ExplainedStep& step) {
        return "<croton.ExplainedStep " + step.name + ", limited by " + (step.limiter.empty() ? "?" : step.limiter) +
               ">";
      });
  nb::class_<Explanation>(m, "Explanation", "The steps of a call with their distance to the limit of a machine.")
      .def_ro("function", &Explanation::function)
      .def_ro("machine", &Explanation::machine)
      .def_ro("architecture", &Explanation::architecture)
      .def_ro("source", &Explanation::source, "Of the machine's numbers: a report or a data sheet.")
      .def_ro("unmeasured", &Explanation::unmeasured, "Why there are no measured times on the host, or ''.")
      .def_ro("machine_code", &Explanation::machine_code, "Why figures of machine code are missing, or ''.")
      .def_ro("steps", &Explanation::steps, "In the order of a call.")
      .def_ro("seconds", &Explanation::seconds, "Of all steps whose time is known.")
      .def_ro("least_bytes", &Explanation::least_bytes, "Of the inputs that are read and the results, each once.")
      .def_ro("floor_seconds", &Explanation::floor_seconds, "No division into steps is faster than this.")
      .def_ro("unknown", &Explanation::unknown, "Steps whose time is not known.")
      .def_prop_ro("measured_by_modelled", &Explanation::measured_by_modelled,
                   "The measured time by the modelled one, or None.")
      .def("to_json", &Explanation::to_json, "One JSON object, with all of these by the same names.")
      .def("__str__", [](const Explanation& explanation) { return to_string(explanation); })
      .def("__repr__", [](const Explanation& explanation) {
        return "<croton.Explanation of " + explanation.function + " on " + explanation.machine + ">";
      });
  m.def("known_gpus", &known_gpus, "The names of GPUs for which functions can be explained.");
}

}  // namespace croton::python
